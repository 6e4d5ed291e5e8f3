# Answer a question in the grammar of `synthrelease estimate`. Each condition is about one column.

estimate <- function(release, question) {
  data <- if (inherits(release, "synthrelease")) release$tables else release
  if (is.null(data)) {
    stop("This release has no estimates, because it publishes no noisy tables (ask.html).", call. = FALSE)
  }
  measured <- measured_answer(data, question)
  cbind(question = question, if (is.null(measured)) answers(data, read_question(data, question)) else measured)
}

# Return the answer to a question that was measured directly, which was computed when the release was made, or NULL for any other
# question.
measured_answer <- function(data, question) {
  words <- function(text) gsub("\\s+", " ", trimws(text))
  found <- Filter(function(answer) words(answer$question) == words(question), data$measured)
  if (length(found) == 0) return(NULL)
  if (!is.null(found[[1]]$refused)) stop(found[[1]]$refused, call. = FALSE)
  number <- function(value) if (is.null(value)) NA_real_ else as.numeric(value)
  do.call(rbind, lapply(found[[1]]$terms, function(term) {
    ends <- vapply(term$ends, number, 0)
    data.frame(name = term$name, group = term$group, unit = term$unit, estimate = number(term$estimate), low = ends[1],
               high = ends[2], population_low = ends[3], population_high = ends[4])
  }))
}

read_question <- function(data, question) {
  refuse <- function(...) stop(dQuote(question, FALSE), ": ", ..., call. = FALSE)
  quoted <- regmatches(question, gregexpr("'[^']*'|\"[^\"]*\"", question))[[1]] # texts in quotes may contain any word
  text <- question
  for (place in seq_along(quoted)) text <- sub(quoted[place], paste0("\u0001", place, "\u0001"), text, fixed = TRUE)
  found <- regmatches(text, regexec("^(share|mean|median|quantile 0?[.][0-9]+) (.*?)( by ([^ ]+))?( where (.*))?$", trimws(text), perl = TRUE))[[1]]
  if (length(found) == 0) {
    refuse('this question cannot be read. Ask "share CONDITION", "mean COLUMN", "median COLUMN" or "quantile 0.9 COLUMN". Add ',
           '"by COLUMN" and "where CONDITION" if needed. Write a question that was measured directly as ask.html shows it.')
  }
  place <- function(name) {
    if (!name %in% names(data$columns)) {
      refuse(name, " is not a column of the release. The columns are ", toString(names(data$columns)), ".")
    }
    match(name, names(data$columns))
  }
  read <- function(words) if (nzchar(words)) read_condition(data, words, gsub("^.|.$", "", quoted), refuse)
  part <- if (startsWith(found[2], "quantile")) as.numeric(sub("quantile ", "", found[2])) else 0.5
  parsed <- list(kind = sub(" .*", "", found[2]), part = part, by = if (nzchar(found[5])) place(found[5]), where = read(found[7]))
  if (parsed$kind == "share") {
    parsed$met <- read(found[3])
  } else {
    parsed$column <- place(found[3])
    column <- data$columns[[parsed$column]]
    if (parsed$kind == "mean" && is.null(column$numbers)) {
      refuse("the column ", found[3], " has a bin without a number, so it has no mean.")
    }
    if (parsed$kind %in% c("median", "quantile") && !column$ordered) {
      refuse("the bins of the column ", found[3], " have no order, so it has no median and no quantile.")
    }
  }
  parsed
}

# Return the bins that meet a condition. A comparison must be true for all values of a bin or for none of them; otherwise it is
# refused. In the bin of missing values, a comparison is neither true nor false (Kleene's three-valued logic).
read_condition <- function(data, words, quoted, refuse) {
  code <- gsub("\\bis missing\\b", "%is% missing", words)
  code <- gsub("\\bnot in *\\[([^]]*)\\]", "%outside% c(\\1)", code)
  code <- gsub("\\bin *\\[([^]]*)\\]", "%in% c(\\1)", code)
  code <- gsub("\\bnot\\b", "!", gsub("\\bor\\b", "|", gsub("\\band\\b", "&", code)))
  code <- gsub("\u0001([0-9]+)\u0001", "quoted(\\1)", code)
  shown <- words # with the quoted texts
  for (place in seq_along(quoted)) shown <- sub(paste0("\u0001", place, "\u0001"), sQuote(quoted[place], FALSE), shown, fixed = TRUE)
  unread <- function() refuse("the condition ", shown, " cannot be read.")
  parsed <- tryCatch(parse(text = code, keep.source = FALSE), error = function(problem) unread())
  if (length(parsed) != 1) unread()
  columns <- intersect(all.vars(parsed[[1]]), names(data$columns))
  if (length(columns) != 1) refuse("the condition ", shown, " must be about exactly one column of the release.")
  column <- data$columns[[columns]]
  list(column = match(columns, names(data$columns)), met = truth(parsed[[1]], column, quoted, refuse)$true)
}

truth <- function(call, column, quoted, refuse) {
  size <- length(column$labels)
  present <- seq_len(size) <= column$present
  word <- if (is.call(call)) as.character(call[[1]]) else ""
  of <- function(place) truth(call[[place]], column, quoted, refuse)
  if (word == "(") return(of(2))
  if (word == "!") return(list(true = of(2)$false, false = of(2)$true))
  if (word == "&") return(list(true = of(2)$true & of(3)$true, false = of(2)$false | of(3)$false))
  if (word == "|") return(list(true = of(2)$true | of(3)$true, false = of(2)$false & of(3)$false))
  if (word == "%is%") return(list(true = !present, false = present))
  value <- function(of) {
    if (is.call(of) && identical(of[[1]], quote(quoted))) return(quoted[of[[2]]])
    if (is.call(of) && identical(of[[1]], quote(`-`)) && length(of) == 2) return(-of[[2]])
    if (is.numeric(of)) of else refuse(deparse(of), " is neither a number nor a text in quotes.")
  }
  if (word %in% c("%in%", "%outside%")) {
    each <- lapply(as.list(call[[3]])[-1], function(one) compared("==", value(one), column, refuse))
    met <- Reduce(`|`, each)
    if (word == "%outside%") met <- !met
  } else if (word %in% c("<", "<=", ">", ">=", "==", "!=")) {
    met <- compared(word, value(call[[3]]), column, refuse)
  } else {
    refuse("the condition ", deparse(call), " cannot be read.")
  }
  list(true = present & c(met, rep(FALSE, size - column$present)), false = present & !c(met, rep(FALSE, size - column$present)))
}

# Return, for each bin of values, whether it meets a comparison.
compared <- function(word, value, column, refuse) {
  shown <- seq_len(column$present)
  if (column$kind == "category") {
    if (!value %in% column$labels[shown] || !word %in% c("==", "!=")) {
      refuse(column$name, " has categories. Compare it by == or != with one of its bins (", toString(column$labels[shown]),
             "), not with ", value, ".")
    }
    return((column$labels[shown] == value) == (word == "=="))
  }
  if (!is.numeric(value)) refuse(column$name, " must be compared with a number, not with ", dQuote(value, FALSE), ".")
  low <- ifelse(is.na(column$lower), -Inf, column$lower)[shown]
  high <- ifelse(is.na(column$upper), Inf, column$upper)[shown]
  after <- if (column$kind == "integer") floor(value) + 1 else value
  at <- if (column$kind == "integer") ceiling(value) else value
  edges <- switch(word, "<" = at, ">=" = at, "<=" = after, ">" = after, c(at, after))
  cuts <- vapply(shown, function(bin) any(low[bin] < edges & edges < high[bin]), NA)
  if (any(cuts)) {
    refuse(column$name, " ", word, " ", value, " divides the bin ", toString(column$labels[shown][cuts]),
           ". Use a limit between two bins. The bins are ", toString(column$labels[shown]), ".")
  }
  first <- ifelse(is.finite(low), low, if (column$kind == "integer") high - 1 else high - 1e-9 * max(1, abs(high)))
  get(word)(first, value)
}
