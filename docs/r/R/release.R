# A released folder: its rows, the associations that they preserve, and the noisy tables in ask.html.

read_release <- function(folder) {
  path <- function(name) file.path(folder, name)
  if (!file.exists(path("release.json"))) {
    stop(folder, ": this is not the folder of a release, because it has no release.json.", call. = FALSE)
  }
  document <- jsonlite::fromJSON(path("release.json"), simplifyVector = FALSE)
  release <- list(
    folder = folder, title = document$title, n_rows = document$n_rows, guarantee = document$guarantee,
    rows = paste0(if (isTRUE(document$bundle$synthetic_names)) "synthetic-", "data.csv"),
    columns = setNames(document$schema, vapply(document$schema, function(column) column$name, "")),
    tables = if (file.exists(path("ask.html"))) read_page(path("ask.html"))
  )
  class(release) <- "synthrelease"
  release
}

print.synthrelease <- function(x, ...) {
  cat(x$title, ": ", format(x$n_rows, big.mark = ","), " synthetic rows, ", length(x$columns), " columns, epsilon ",
      x$guarantee$epsilon, "\n", sep = "")
  invisible(x)
}

as.data.frame.synthrelease <- function(x, row.names = NULL, optional = FALSE, ..., numbers = FALSE) {
  rows <- read.csv(file.path(x$folder, x$rows), check.names = FALSE, colClasses = "character", encoding = "UTF-8")
  for (column in x$columns) {
    labels <- vapply(column$bins, function(bin) bin$label, "")
    of_bins <- lapply(column$bins, function(bin) bin$number)
    present <- !vapply(column$bins, function(bin) isTRUE(bin$missing), NA)
    if (numbers && !any(vapply(of_bins[present], is.null, NA))) {
      values <- rep(NA_real_, length(labels))
      values[present] <- vapply(of_bins[present], as.numeric, 0)
      rows[[column$name]] <- values[match(rows[[column$name]], labels)]
    } else {
      rows[[column$name]] <- factor(rows[[column$name]], labels, ordered = column$ordered)
    }
  }
  rows
}

carries <- function(release, first, second) {
  path <- file.path(release$folder, "associations.csv")
  if (!file.exists(path)) stop(release$folder, ": this release has no associations.csv.", call. = FALSE)
  pairs <- read.csv(path, check.names = FALSE, encoding = "UTF-8")
  third <- if (is.null(pairs$third)) "" else ifelse(is.na(pairs$third), "", pairs$third)
  found <- which(third == "" & ((pairs$first == first & pairs$second == second) | (pairs$first == second & pairs$second == first)))
  if (length(found) != 1) {
    stop("Give two different columns of the release (", toString(names(release$columns)), "), not ", first, " and ", second, ".",
         call. = FALSE)
  }
  pairs[found, c("first", "second", "carried", "how", "through")]
}
