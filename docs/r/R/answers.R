# Answers from published noisy tables, by the rules of the command `synthrelease estimate` and of the page ask.html. docs/theory.md
# of the program proves the formulas: distributions of noise (13.5), ratios (13.8), numbers of the file (13.10), values in bins
# (13.11). The constants equal the constants of the program, so that both give the same numbers.

WIDEST <- 0.5 # an interval that covers at least this share of the possible range is not reported
FAR <- 12 # if a share is further from 1/2 than this number of standard errors, the bin of the median is known without an interval
TIE <- 1e-12 # a share that is closer to 1/2 than this number counts as 1/2 (likewise for other quantiles)

# Read the data of ask.html, and compute some values from them once.
read_page <- function(path) {
  text <- paste(readLines(path, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  found <- regmatches(text, regexec('(?s)<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, perl = TRUE))[[1]]
  if (length(found) != 2) stop(path, ": this page has no noisy tables. Use the page ask.html of a release.", call. = FALSE)
  noisy_tables(jsonlite::fromJSON(found[2], simplifyVector = FALSE))
}

noisy_tables <- function(data) {
  numbers <- function(values) vapply(values, function(value) if (is.null(value)) NA_real_ else as.numeric(value), 0)
  data$columns <- lapply(data$columns, function(column) {
    column$labels <- unlist(column$labels)
    column$impossible <- unlist(column$impossible) + 1
    for (name in c("numbers", "least", "most", "lower", "upper")) {
      if (!is.null(column[[name]])) column[[name]] <- numbers(column[[name]])
    }
    column$exact <- !is.null(column$numbers) && is.null(column$open)
    column
  })
  names(data$columns) <- vapply(data$columns, function(column) column$name, "")
  data$tables <- lapply(data$tables, function(table) {
    table$columns <- unlist(table$columns) + 1
    table$counts <- numbers(table$counts)
    table$noises <- rep_len(unlist(table$noises), length(table$counts))
    table$law <- paste(table$noise, table$scale)
    table
  })
  data
}

# The logarithm of the characteristic function of a noise. It is real, because every distribution is symmetric around 0.
log_characteristic <- function(noise, scale, angle) {
  if (noise == "discrete Laplace") {
    return(-log1p(4 * exp(-1 / scale) / expm1(-1 / scale)^2 * sin(angle / 2)^2))
  }
  turned <- angle - 2 * pi * floor((angle + pi) / (2 * pi))
  near <- -(scale * turned)^2 / 2
  sinc <- function(x) ifelse(x == 0, 1, sin(pi * x) / (pi * x))
  shifted <- outer(turned, 2 * pi * (-4:4), "+")
  terms <- exp(pmin(-(scale * shifted)^2 / 2 - near, 700)) * sinc(shifted / (2 * pi))
  ifelse(near <= -60, near, near + suppressWarnings(log(rowSums(terms))))
}

# The distribution of a weighted sum of noise terms is computed modulo PERIOD standard deviations, from its characteristic function
# at these angles.
STEPS <- 64
PERIOD <- 60
UNIT <- 2 * pi / PERIOD
ANGLES <- (seq_len(ceiling(120 / UNIT)) - 0.5) * UNIT
LEAST <- -45
ALLOWANCE <- 1e-5

# Return a number t with Pr[|Z| <= t] >= level, where Z is the weighted sum of the noise terms plus a normal error.
half_width <- function(noises, weights, normal_variance, level, step) {
  used <- weights != 0 & noises$count != 0
  count <- noises$count[used]
  law <- noises$law[used]
  own <- weights[used]^2 * noises$laws$variance[law]
  variance <- normal_variance + sum(own * count)
  if (!(variance > 0)) return(0)
  size <- max(if (normal_variance > 0) step else 0, abs(weights[used]))
  # noise terms of about equal size are combined, with the sum of their variances; the smallest count as a normal error
  kind <- if (length(own)) round(sqrt(own / max(own)) * STEPS) else numeric()
  lesser <- normal_variance + sum((own * count)[kind == 0])
  deviation <- sqrt(variance)
  logs <- -ANGLES^2 * lesser / variance / 2
  for (alike in split(which(kind > 0), list(law[kind > 0], kind[kind > 0]), drop = TRUE)) {
    of_kind <- sum(count[alike])
    weight <- sqrt(sum(weights[used][alike]^2 * count[alike]) / of_kind)
    of <- noises$laws[law[alike[1]], ]
    logs <- logs + of_kind * log_characteristic(of$noise, of$scale, ANGLES * weight / deviation)
  }
  parts <- ifelse(is.finite(logs) & logs > LEAST, exp(logs), 0) * 4 / PERIOD / ANGLES
  if (size > 0) parts <- parts * sin(ANGLES * size / deviation / 2) / (ANGLES * size / deviation / 2)
  low <- 0
  high <- PERIOD / 2
  while (high - low > PERIOD / 2^41) {
    middle <- (low + high) / 2
    if (sum(parts * sin(ANGLES * middle)) >= level + ALLOWANCE) high <- middle else low <- middle
  }
  high * deviation + size / 2
}

# A covariance matrix [[a, b], [b, c]] is stored as c(a, b, c). Return the variance of numerator - x * denominator, or 0 if its
# terms cancel up to rounding errors.
along <- function(covariance, x) {
  terms <- covariance * c(1, -2 * x, x^2)
  if (sum(terms) > 1e-11 * sum(abs(terms))) sum(terms) else 0
}

nearest_covariance <- function(covariance) {
  middle <- (covariance[1] + covariance[3]) / 2
  radius <- sqrt(((covariance[1] - covariance[3]) / 2)^2 + covariance[2]^2)
  if (middle - radius >= 0) return(covariance)
  if (middle + radius <= 0) return(c(0, 0, 0))
  c(covariance[1] - middle + radius, covariance[2], covariance[3] - middle + radius) / (2 * radius) * (middle + radius)
}

# Return the ratio of two sums over the rows with noise. `sampling` is the covariance matrix of the two sums under the random drawing
# of rows.
ratio <- function(numerator, denominator, noises, sampling, figure) {
  of_noise <- noises$count * noises$laws$variance[noises$law]
  product <- function(one, other) sum(one$weights * other$weights * of_noise)
  covariance <- c(product(numerator, numerator), product(numerator, denominator), product(denominator, denominator)) + sampling
  known <- denominator$value > 0
  quotient <- if (known) numerator$value / denominator$value else NaN
  list(numerator = numerator, denominator = denominator, noises = noises, sampling = sampling, figure = figure,
       covariance = covariance, known = known, quotient = quotient,
       estimate = if (known) min(figure$highest, max(figure$lowest, quotient)) else NaN,
       error = if (known) sqrt(along(covariance, quotient)) / denominator$value else NaN)
}

# Return the interval of a ratio: all ratios that the noise does not contradict (Fieller 1954).
interval <- function(of, level) {
  lowest <- of$figure$lowest
  highest <- of$figure$highest
  if (!of$known) return(c(lowest, highest))
  width <- function(at) {
    half_width(of$noises, of$numerator$weights - at * of$denominator$weights, along(of$sampling, at), level, of$figure$step)
  }
  first <- width(of$quotient)
  end <- function(side) {
    at <- of$quotient
    for (repetition in 1:3) {
      spread <- along(of$covariance, at)
      if (!(spread > 0)) return(at)
      factor <- (if (repetition > 1) width(at) else first)^2 / spread
      square <- of$denominator$value^2 - factor * of$covariance[3]
      middle <- of$numerator$value * of$denominator$value - factor * of$covariance[2]
      inside <- middle^2 - square * (of$numerator$value^2 - factor * of$covariance[1])
      if (!(square > 0 && inside >= 0)) return(side * Inf)
      before <- at
      at <- (middle + side * sqrt(inside)) / square
      if (abs(at - before) <= 1e-6 * abs(at - of$quotient)) break
    }
    at
  }
  ends <- c(end(-1), end(1))
  nearest <- of$estimate - of$quotient # an interval outside of the possible range begins at the nearest possible ratio
  if (ends[1] > highest) ends[1] <- ends[1] + nearest
  if (ends[2] < lowest) ends[2] <- ends[2] + nearest
  c(max(ends[1], lowest), min(ends[2], highest))
}

# Return, for each cell of some columns, the mean over all tables with these columns, weighted by the inverse of their variances.
combined <- function(data, columns) {
  sizes <- vapply(data$columns, function(column) length(column$labels), 0)
  holding <- Filter(function(table) all(columns %in% table$columns), data$tables)
  if (length(holding) == 0) not_together(data, columns)
  n <- prod(sizes[columns])
  added_up <- function(table, values) {
    bins <- cells_of(sizes[table$columns], length(values))[, match(columns, table$columns), drop = FALSE]
    stride <- rev(cumprod(c(1, rev(sizes[columns]))))[-1]
    as.vector(rowsum(values, factor(1 + as.vector((bins - 1) %*% stride), seq_len(n))))
  }
  values <- matrix(sapply(holding, function(table) added_up(table, table$counts)), n)
  counts <- matrix(sapply(holding, function(table) added_up(table, table$noises)), n)
  of_law <- vapply(holding, function(table) table$variance, 0)
  precisions <- 1 / sweep(counts, 2, of_law, "*")
  empty <- rowSums(counts == 0) > 0
  variances <- ifelse(empty, 0, 1 / rowSums(precisions))
  shares <- ifelse(is.finite(precisions), precisions, 0) * variances
  # the last noise term is the noise of the number of kept rows, if this number was counted
  keys <- vapply(holding, function(table) table$law, "")
  first <- match(unique(keys), keys)
  last <- if (is.null(data$kept$scale)) 1 else data$kept$scale
  laws <- data.frame(
    noise = c(vapply(holding[first], function(table) table$noise, ""), "discrete Laplace"),
    scale = c(vapply(holding[first], function(table) as.numeric(table$scale), 0), last),
    variance = c(of_law[first], 2 * exp(-1 / last) / expm1(-1 / last)^2)
  )
  list(
    columns = columns, n = n, values = rowSums(shares * values), variances = variances, shares = shares,
    bins = cells_of(sizes[columns], n),
    noises = list(laws = laws, law = c(rep(match(keys, unique(keys)), each = n), nrow(laws)),
                  count = c(as.vector(counts), as.numeric(!is.null(data$kept$scale))))
  )
}

# Return the bins of every cell, as a matrix with n rows and one column for each column of the table. The last column varies fastest.
cells_of <- function(sizes, n) {
  if (length(sizes) == 0) return(matrix(1, n, 0))
  after <- rev(cumprod(c(1, rev(sizes))))[-1]
  matrix(sapply(seq_along(sizes), function(axis) ((seq_len(n) - 1) %/% after[axis]) %% sizes[axis] + 1), n)
}

not_together <- function(data, columns) {
  beside <- vapply(columns, function(column) {
    together <- unique(unlist(lapply(Filter(function(table) column %in% table$columns, data$tables), function(table) table$columns)))
    others <- names(data$columns)[setdiff(together, column)]
    paste0(names(data$columns)[column], " was measured with ", if (length(others)) toString(others) else "no other column")
  }, "")
  stop("No noisy table contains all these columns: ", toString(names(data$columns)[columns]), ". ",
       paste(beside, collapse = "; "), ".", call. = FALSE)
}

# Return the sum of a figure (a number for each cell) over the rows, and the weights of the noise terms in its error. The noisy
# counts are adjusted so that they add up to the number of rows.
sum_of <- function(data, table, figure) {
  moved <- if (sum(table$variances) > 0) sum(figure * table$variances) / sum(table$variances) else 0
  own <- ifelse(table$variances == 0, 0, figure - moved)
  list(value = sum(own * table$values) + moved * data$rows, weights = c(as.vector(own * table$shares), 0))
}

# Return the answer to a question, with a line for every group that can have rows.
answers <- function(data, question) {
  where <- narrowed(data, question$where)
  met <- if (question$kind == "share") narrowed(data, question$met) else list(all = TRUE)
  of <- if (question$kind == "share") integer() else question$column
  columns <- sort(unique(c(where$column, met$column, question$by, of)))
  table <- combined(data, columns)
  inside <- function(condition) {
    if (is.null(condition$column)) return(rep(as.numeric(condition$all), table$n))
    as.numeric(condition$met[table$bins[, match(condition$column, columns)]])
  }
  column <- if (length(of)) data$columns[[of]]
  own <- if (length(of)) table$bins[, match(of, columns)]
  counts <- inside(where) * (if (length(of)) own <= column$present else 1)
  about <- c(of, met$column) # the column whose design effect applies, if there is one
  sampled <- if (length(about)) data$columns[[about]]$population
  if (is.null(sampled)) sampled <- data$population
  asked <- list(kind = question$kind, part = question$part, column = column, level = 1 - data$risk, sampled = sampled)
  figures <- figures_of(asked, own, inside(met))
  groups <- if (is.null(question$by)) "" else data$columns[[question$by]]$labels
  group <- if (is.null(question$by)) rep(1, table$n) else table$bins[, match(question$by, columns)]
  lines <- lapply(seq_along(groups), function(place) {
    in_group <- counts * (group == place)
    size <- sum_of(data, table, in_group)
    if (!(size$value > 0 || any(size$weights != 0))) return(NULL) # the rules allow no row in this group
    averages <- lapply(figures, function(figure) average(data, table, figure, in_group, size, asked))
    line <- switch(question$kind, share = share_of(data, averages[[1]], asked), mean = mean_of(averages, asked),
                   quantile_of(averages, asked))
    data.frame(group = groups[place], line)
  })
  lines <- do.call(rbind, lines)
  if (is.null(lines)) stop("the rules allow no row in this group", call. = FALSE)
  lines
}

# Return the number that a row of each cell contributes. For a mean, it is the representative value of its bin; if values in a bin
# may differ, the smallest and the largest value of the bin follow. For a median, it is 1 in the first 1, 2, ... bins.
figures_of <- function(asked, own, met) {
  column <- asked$column
  share <- function(values) list(values = values, lowest = 0, highest = 1, step = 1)
  if (asked$kind == "share") return(list(share(met)))
  if (asked$kind != "mean") return(lapply(seq_len(column$present - 1), function(bin) share(as.numeric(own <= bin))))
  ends <- if (column$exact || anyNA(c(column$least, column$most))) list() else list(column$least, column$most)
  lapply(c(list(column$numbers), ends), function(numbers) {
    values <- ifelse(own <= column$present, numbers[pmin(own, column$present)], 0)
    list(values = values, lowest = min(numbers), highest = max(numbers), step = 0)
  })
}

average <- function(data, table, figure, in_group, size, asked) {
  middle <- if (asked$kind == "mean") (figure$lowest + figure$highest) / 2 else 0
  shifted <- (figure$values - middle) * in_group
  total <- sum_of(data, table, shifted)
  sampling <- if (asked$kind == "mean") {
    nearest_covariance(c(sum_of(data, table, shifted^2)$value, total$value, size$value))
  } else {
    c(0, -0.5, -1) * size$value # `along` then gives x (1 - x) times the size for a share x
  }
  figure$lowest <- figure$lowest - middle
  figure$highest <- figure$highest - middle
  of <- function(factor) ratio(total, size, table$noises, sampling * factor, figure)
  list(middle = middle, file = of(data$kept$leftOut), population = of(asked$sampled$factor))
}

# Return the interval for the file and the interval for a population. The second always contains the first, because the file is drawn
# from the population.
ends_of <- function(average, asked) {
  file <- interval(average$file, asked$level) + average$middle
  population <- interval(average$population, asked$level) + average$middle
  c(file, min(file[1], population[1]), max(file[2], population[2]))
}

is_told <- function(low, high, possible) is.finite(low) && is.finite(high) && high - low < WIDEST * possible

told <- function(estimable, ends, asked) {
  ends <- if (estimable) ifelse(is.finite(ends), ends, NA) else rep(NA_real_, 4)
  if (length(asked$sampled$reasons) > 0) ends[3:4] <- NA
  data.frame(low = ends[1], high = ends[2], population_low = ends[3], population_high = ends[4])
}

share_of <- function(data, average, asked) {
  ends <- ends_of(average, asked)
  estimable <- is.finite(average$file$estimate) && is_told(ends[1], ends[2], 1)
  data.frame(estimate = if (estimable) average$file$estimate else NA_real_, told(estimable, ends, asked),
             rows_of(data, average$file, asked$level))
}

# Return the number of rows of the file that the numerator counts, among the rows that the rules keep: theory 13.10 (b).
rows_of <- function(data, of, level) {
  kept <- data$kept
  stated <- kept$way == "stated"
  part <- min(max(of$numerator$value / kept$drawn, 0), 1)
  likely <- (part * kept$drawn + 1) / (kept$drawn + 2)
  each <- if (stated) 1 else kept$number / kept$drawn
  weights <- of$numerator$weights * each
  weights[length(weights)] <- part
  drawing <- kept$leftOut * kept$drawn * likely * (1 - likely)
  half <- half_width(of$noises, weights, each^2 * drawing, level, each)
  counted <- min(max(each * of$numerator$value, 0), each * kept$drawn)
  rows <- round(round(counted, 6))
  low <- (counted - half) * (if (stated) kept$number else kept$drawn) / kept$drawn
  high <- (counted + half) * (if (stated) kept$most else kept$drawn) / kept$drawn
  low <- if (kept$way == "few") 0 else min(rows, max(0, ceiling(low - 1e-9)))
  high <- max(rows, min(kept$most, floor(high + 1e-9)))
  if (!is_told(low, high, kept$most)) return(data.frame(rows = NA_real_, rows_low = NA_real_, rows_high = NA_real_))
  data.frame(rows = if (stated) NA_real_ else rows, rows_low = low, rows_high = high)
}

# Return a mean with two intervals: one for representative values, and one for exact values. The second reaches from the mean of the
# smallest values of the bins to the mean of the largest values.
mean_of <- function(averages, asked) {
  column <- asked$column
  estimate <- averages[[1]]$file$estimate + averages[[1]]$middle
  ends <- ends_of(averages[[1]], asked)
  possible <- max(column$numbers) - min(column$numbers)
  if (column$exact) {
    estimable <- is.finite(estimate) && is_told(ends[1], ends[2], possible)
    return(data.frame(estimate = if (estimable) estimate else NA_real_, told(estimable, ends, asked), binned_low = NA_real_,
                      binned_high = NA_real_))
  }
  values <- rep(NA_real_, 4)
  if (length(averages) > 1) {
    least <- ends_of(averages[[2]], asked)
    most <- ends_of(averages[[3]], asked)
    values <- c(least[1], most[2], least[3], most[4])
  }
  by_bins <- is.finite(ends[1])
  own_told <- is_told(values[1], values[2], possible)
  estimable <- is.finite(estimate) && (if (by_bins) is_told(ends[1], ends[2], possible) else own_told) &&
    (own_told || !by_bins || !isTRUE(column$open))
  binned <- told(estimable, ends, asked)
  data.frame(estimate = if (estimable) estimate else NA_real_, told(estimable && (own_told || !by_bins), values, asked),
             binned_low = binned$low, binned_high = binned$high)
}

# Return the bin of the median or another quantile, and the bins of its interval: theory 13.11 (b).
quantile_of <- function(shares, asked) {
  column <- asked$column
  last <- column$present
  ends <- lapply(shares, function(share) {
    of <- share$population
    if (of$known && abs(of$estimate - asked$part) > FAR * of$error) rep(of$estimate, 4) else ends_of(share, asked)
  })
  first_of <- function(test) c(which(test), last)[1]
  at <- function(place) vapply(ends, function(of) of[place], 0)
  between <- function(low, high) {
    first <- first_of(at(high) >= asked$part - TIE)
    after <- max(0, which(at(low) <= asked$part + TIE)) + 1
    c(min(first, after), max(first, after))
  }
  middle <- first_of(vapply(shares, function(share) isTRUE(share$file$estimate >= asked$part - TIE), NA))
  bins <- between(1, 2)
  population <- between(3, 4)
  known <- all(vapply(shares, function(share) share$file$known, NA))
  estimable <- known && (bins[1] == bins[2] || bins[2] - bins[1] < WIDEST * (last - 1))
  numbered <- !is.null(column$numbers) && estimable
  least <- if (column$exact) column$numbers else column$least
  most <- if (column$exact) column$numbers else column$most
  ends <- if (numbered) c(least[bins[1]], most[bins[2]], least[population[1]], most[population[2]]) else rep(NA_real_, 4)
  label <- function(bin) if (estimable) column$labels[bin] else NA_character_
  data.frame(estimate = if (numbered) column$numbers[middle] else NA_real_, told(numbered, ends, asked), bin_low = label(bins[1]),
             bin = label(middle), bin_high = label(bins[2]))
}

# Return a condition on one column. If the rules allow only rows that meet it, or no row that meets it, the result names no column.
narrowed <- function(data, condition) {
  if (is.null(condition)) return(list(all = TRUE))
  met <- condition$met
  possible <- !(seq_along(met) %in% data$columns[[condition$column]]$impossible)
  if (!any(possible)) return(condition)
  if (all(met[possible]) || !any(met[possible])) return(list(all = any(met[possible])))
  list(column = condition$column, met = ifelse(possible, met, met[which(possible)[1]]))
}
