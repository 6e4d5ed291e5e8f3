"""read.R and read.do: the table with ordered factors and labels, the numbers of bins, and the released figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from synthrelease.bundle.card.numbers import labelled_title
from synthrelease.bundle.formats import STATA, Variable, further_labels, key_name, renamed, variables
from synthrelease.criteria.facts import words
from synthrelease.data.weights import WEIGHT
from synthrelease.published.charges import CriterionPart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE, TableFile
from synthrelease.settings.tables import SYNTHETIC

R_NAME, STATA_NAME = "read.R", "read.do"


def scripts(document: ReleaseDocument) -> dict[str, bytes]:
    """Return the scripts for the packages that [bundle] formats names, by the names of the files."""
    chosen, files = document.bundle.formats, dict[str, bytes]()
    if "r" in chosen:
        files[R_NAME] = ("\n".join(_r(document)) + "\n").encode("ascii")
    if "stata" in chosen:
        files[STATA_NAME] = ("\n".join(_stata(document)) + "\n").encode("utf-8")
    return files


def r_text(text: str) -> str:
    """Return a text as R reads it in any encoding."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    signs = (sign if sign.isascii() and sign.isprintable() else f"\\U{{{ord(sign):x}}}" for sign in plain)
    return f'"{"".join(signs)}"'


# R: nothing but what comes with it, and ASCII alone, whatever the machine takes for the encoding of a script.


def _r(document: ReleaseDocument) -> Iterator[str]:
    yield f"# {NOTICE}"
    yield f"# {_ascii(labelled_title(document))}, version {_ascii(document.card.version)}. Written from release.json."
    yield '# source("read.R", chdir = TRUE) makes: data, the rows as factors; numbers, what stands for a bin in means and'
    yield "# regressions; missing, the level that stands for a missing value; figures, the released figures of the criteria."
    if document.linked is not None:
        yield "# members, numbers_of_members and missing_of_members are those of the members."
        key = r_text(document.linked.key)
        yield f"# merge(data, members, by = {key}) has a row for each member, with the columns of its root."
    for file in document.table_files:
        yield from _r_table(document, file)
    yield "figures <- data.frame("
    yield f"  criterion = {_vector([r_text(one.name) for one in document.criteria])},"
    for name, shown in _figures(document.criteria).items():
        end = "," if name != "high" else ""
        yield f"  {name} = {_vector(['NA_real_' if value is None else repr(value) for value in shown])}{end}"
    yield ")"


def _r_table(document: ReleaseDocument, file: TableFile) -> Iterator[str]:
    """One table, what stands for its bins, and for its missing values."""
    data, of = ("members", "_of_members") if file.of_members else ("data", "")
    start = f"{data} <- read.csv("
    yield f'{start}{r_text(file.named("csv"))}, colClasses = "character", na.strings = character(0), check.names = FALSE,'
    yield f'{" " * len(start)}fileEncoding = "UTF-8")'
    if file.key:
        yield f"{data}[[{r_text(file.key)}]] <- as.integer({data}[[{r_text(file.key)}]])"
    for column in file.columns:
        name = r_text(column.name)
        levels = _vector([r_text(label) for label in column.labels])
        ordered = "TRUE" if column.ordered else "FALSE"
        yield f"{data}[[{name}]] <- factor({data}[[{name}]], levels = {levels}, ordered = {ordered})"
        yield f"stopifnot(!anyNA({data}[[{name}]]))"
        yield f'attr({data}[[{name}]], "label") <- {r_text(_title(document, column))}'
    for name, label in further_labels(document).items():
        if name == WEIGHT and file.of_members:
            continue
        yield f"{data}[[{r_text(name)}]] <- as.numeric({data}[[{r_text(name)}]])"
        yield f'attr({data}[[{r_text(name)}]], "label") <- {r_text(label)}'
    yield f"numbers{of} <- list()"
    for column in file.columns:
        if any(one.number is not None for one in column.bins):
            values = ["NA" if one.number is None else repr(one.number) for one in column.bins]
            named = f"setNames({_vector(values)}, levels({data}[[{r_text(column.name)}]]))"
            yield f"numbers{of}[[{r_text(column.name)}]] <- {named}"
    yield f"missing{of} <- character(0)"
    for column in file.columns:
        for one in column.bins:
            if one.missing:
                yield f"missing{of}[[{r_text(column.name)}]] <- {r_text(one.label)}"


def _title(document: ReleaseDocument, column: ColumnPart) -> str:
    text = document.card.columns.get(column.name) or column.description or words(column.name)
    return " ".join(f"{text} ({column.unit})".split()) if column.unit else " ".join(text.split())


def _ascii(text: str) -> str:
    """A text for a comment."""
    return " ".join(text.split()).encode("ascii", errors="backslashreplace").decode("ascii")


def _vector(values: list[str]) -> str:
    return f"c({', '.join(values)})"


def _figures(criteria: list[CriterionPart]) -> dict[str, list[float | int | None]]:
    """Released figures, thresholds and the intervals for the exact figures, per criterion."""
    return {
        "value": [one.value for one in criteria],
        "threshold": [one.threshold for one in criteria],
        "low": [None if one.interval is None else one.interval.low for one in criteria],
        "high": [None if one.interval is None else one.interval.high for one in criteria],
    }


# Stata.


def _stata(document: ReleaseDocument) -> Iterator[str]:
    table = document.table_files[0]
    known = variables(document, STATA, table)
    yield f"* {NOTICE}"
    yield f"* {_comment(labelled_title(document))}, version {_comment(document.card.version)}. Written from release.json."
    yield f"* Adds to {document.bundle.stem}.dta, whose variables have their labels, the numbers that stand for bins in means"
    yield "* and regressions (variables that end in _number), and the released figures of the criteria as the matrix figures."
    yield "version 14"
    if len(document.table_files) > 1:
        members = document.table_files[1]
        key = key_name(members.key, STATA)
        yield f"* The same for {members.named('dta')}, which it saves as members_with_numbers.dta. A row for each member, with"
        yield f"* the columns of its root: merge 1:m {key} using members_with_numbers.dta (where no name is in both)."
        yield "set type double"
        yield f'use "{members.named("dta")}", clear'
        yield f"notes: {NOTICE}"
        yield from _stata_numbers(variables(document, STATA, members))
        yield 'save "members_with_numbers.dta", replace'
    yield f'use "{document.bundle.stem}.dta", clear'
    yield f"notes: {NOTICE}"
    yield "set type double"
    yield from _stata_numbers(known)
    if document.weighted:
        yield f"svyset [pweight = {WEIGHT}]"
    rows = [
        ", ".join("." if value is None else repr(value) for value in row)
        for row in zip(*_figures(document.criteria).values(), strict=True)
    ]
    yield "matrix figures = (" + " \\ ".join(rows) + ")"
    yield "matrix colnames figures = value threshold low high"
    names = renamed([one.name for one in document.criteria], STATA, ())
    yield f"matrix rownames figures = {' '.join(names[one.name] for one in document.criteria)}"
    yield "matrix list figures"


def _stata_numbers(known: Sequence[Variable]) -> Iterator[str]:
    """A variable of numbers for every column that has some."""
    wanted = {f"{one.name}_number": one for one in known if any(bin_.number is not None for bin_ in one.column.bins)}
    names = renamed(list(wanted), STATA, [one.name for one in known] + [WEIGHT, SYNTHETIC])
    for name, one in wanted.items():
        pairs = [(place, bin_.number) for place, bin_ in enumerate(one.column.bins, start=1)]
        rules = " ".join(f"({place} = {number!r})" for place, number in pairs if number is not None)
        yield f"recode {one.name} {rules} (else = .), generate({names[name]})"


def _comment(text: str) -> str:
    """A text in a comment: no sign that opens another one, and no macro."""
    return re.sub(r"[`$\"'/*\\]", " ", " ".join(text.split()))
