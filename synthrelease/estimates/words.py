"""An estimate, and the same in words and as a table for other programs."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import asdict, dataclass, fields
from functools import partial
from textwrap import fill

from synthrelease.domain.questions import Kind

_MOST_DECIMALS = 8
_WIDTH = 100
"""Of the sentences under the numbers, in characters."""

_BINNED = "of bin numbers"
CANNOT_BE_TOLD = "cannot be told"


@dataclass(frozen=True, kw_only=True)
class Term:
    """One estimated number. What the noise leaves open is None, and what does not belong to its kind.

    Attributes
    ----------
    name : "share", the column whose mean or median it is, or the one whose slope it is; of a contrast what it is: "risk
        difference", "risk ratio", "odds ratio", "difference of means" or "difference of medians".
    group : the bin of the column after "by", or the condition of one of two groups; "" without one.
    unit : "" for shares, the column's unit for means and medians, that of the target per unit of the column for slopes.
    estimate : from the noisy tables, with the numbers that stand for bins; None for a group that may have no row, as far as the
        noise tells.
    standard_error : of the noise and of the drawing of rows (delta method).
    low, high : the interval for the rows of the file that the rules keep: for shares, means and medians with their own values.
    population_standard_error : of noise and sampling.
    population_low, population_high : the same for a population of which these rows are a simple random sample.
    binned_low, binned_high : where the numbers that stand for bins are not the values of their rows: the interval for the mean
        of these numbers, over the same rows of the file. None otherwise. Slopes have no other interval than this one then: low,
        high and those of the population are None.
    population_binned_low, population_binned_high : the same for a population.
    rows, rows_low, rows_high : of shares: how many rows of the file meet both conditions. `rows` is None where the number of
        rows that the rules keep is stated as a least one.
    bins : of medians: the labels of the first bin that may hold it, the one that does by the estimate, and the last one.
    """

    name: str
    group: str
    unit: str
    estimate: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    population_standard_error: float | None = None
    population_low: float | None = None
    population_high: float | None = None
    binned_low: float | None = None
    binned_high: float | None = None
    population_binned_low: float | None = None
    population_binned_high: float | None = None
    rows: int | None = None
    rows_low: int | None = None
    rows_high: int | None = None
    bins: tuple[str, str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Numbers of the file, estimated from published noisy tables.

    Attributes
    ----------
    question : what was asked.
    kind : "share", "mean", "median" or "slope".
    by : the column for whose bins there are numbers; "" without one.
    terms : the estimated numbers: one share, mean or median, one of each bin of `by` that can have rows, or one slope of each
        column.
    contrasts : of two groups, whose numbers are the terms, against each other; empty without two groups.
    confidence : of each interval by itself.
    n_rows : of the release.
    about : which rows of the file are meant, in words.
    binned : what the numbers that stand for bins mean for these, in words; empty where they are the values of the rows.
    approximate : what is not exact, one sentence each.
    of : "rows"; or "members", which are counted in place of rows.
    releases : of several releases their names: terms are then the number of each, and contrasts its changes; empty for one.
    """

    question: str
    kind: Kind
    by: str
    terms: tuple[Term, ...]
    confidence: float
    n_rows: int
    about: str
    binned: str
    approximate: tuple[str, ...]
    contrasts: tuple[Term, ...] = ()
    of: str = "rows"
    releases: tuple[str, ...] = ()

    @staticmethod
    def within_noise(term: Term) -> bool:
        """Whether a change or difference may be none as far as noise and drawing tell: by bin numbers where it has these."""
        low, high = (term.low, term.high) if term.binned_low is None else (term.binned_low, term.binned_high)
        return low is None or high is None or low <= 0 <= high

    def __str__(self) -> str:
        return explained(self)

    @property
    def short(self) -> str:
        """The question and its numbers, without the notes."""
        return "\n".join([self.question, *_numbers(self)])

    @property
    def csv(self) -> str:
        """The terms as a table, numbers in full, for R, Stata or a spreadsheet; what is open is an empty field."""
        out = io.StringIO()
        names = [field.name for field in fields(Term) if field.name != "bins"]
        of_bins = ["bin_low", "bin", "bin_high"] if self.kind == "median" else []
        table = csv.DictWriter(out, [*names, *of_bins, "confidence"], lineterminator="\n")
        table.writeheader()
        for term in (*self.terms, *self.contrasts):
            line = (
                asdict(term)
                | {"confidence": self.confidence}
                | dict(zip(of_bins, term.bins or ("",) * len(of_bins), strict=True))
            )
            table.writerow({name: value for name, value in line.items() if name != "bins"})
        return out.getvalue()


def explained(found: Estimate) -> str:
    """The text that `synthrelease estimate` prints."""
    known = all(term.estimate is not None or term.bins for term in found.terms)
    notes = [
        f"Over all noise of the run and the drawing of rows, a table is released and such an interval does not hold its number "
        f"with a probability of {1 - found.confidence:.4g} at most: each interval by itself. They are from published noisy "
        "tables alone; the released rows were not used.",
        f"The file: {found.about}.",
        *([found.binned] if found.binned else []),
        "Population: what these rows would be a simple random sample of. If they are no such sample, it has no meaning.",
        *([] if known else ["No estimate (?): as far as the noise tells there may be no row in the group."]),
    ]
    return "\n".join(
        [
            found.short,
            "",
            *(_wrapped(note, "") for note in notes),
            "",
            "What is approximate:",
            *(_wrapped(text, "  - ") for text in found.approximate),
        ]
    )


def _numbers(found: Estimate) -> list[str]:
    cells = _table([_header(found), *(_line(found, term) for term in found.terms)])
    if found.contrasts:
        cells += ["", *_table([_header_of_two(found), *(_line_of_two(found, term) for term in found.contrasts)])]
    return [f"  {line}".rstrip() for line in cells]


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _header_of_two(found: Estimate) -> list[str]:
    own = ["the file's own values", "population's own values"]
    heading = "change" if found.releases else "against each other"
    if found.kind != "mean" or not found.binned:
        return [heading, "estimate", *(own if found.kind == "median" else ["the file", "population"]), ""]
    return [heading, f"estimate {_BINNED}", f"the file, {_BINNED}", *own, ""]


def _line_of_two(found: Estimate, term: Term) -> list[str]:
    """A contrast; a difference of shares in percentage points, a ratio as a plain number with three digits."""
    if term.low is None and term.binned_low is None:
        return [term.name, CANNOT_BE_TOLD, *[""] * (len(_header_of_two(found)) - 2)]
    of_shares = term.name == "risk difference" or (found.kind == "share" and bool(found.releases))
    points = 2 if of_shares else 0
    if found.kind == "share" and not of_shares:
        width = (term.high or 0.0) - (term.low or 0.0)
        decimals = min(_MOST_DECIMALS, max(2, 1 - math.floor(math.log10(width)))) if width > 0 else 2
    else:
        decimals = max(0, _decimals(found))

    def value(number: float | None) -> str:
        return "?" if number is None else f"{number * 10**points:,.{decimals}f}"

    def between(low: float | None, high: float | None) -> str:
        return CANNOT_BE_TOLD if low is None and high is None else f"{value(low)} to {value(high)}"

    binned = [between(term.binned_low, term.binned_high)] if found.kind == "mean" and found.binned else []
    own = [between(term.low, term.high), between(term.population_low, term.population_high)]
    unit = "percentage points" if of_shares else term.unit
    if found.releases and found.within_noise(term):
        unit = f"{unit} (within noise)".strip()
    return [term.name, value(term.estimate), *binned, *own, unit]


def _header(found: Estimate) -> list[str]:
    if found.kind == "share":
        return ["", "estimate", "the file", f"{found.of} of the file", "population", ""]
    if found.kind == "median":
        return ["", "in the bin", "or between", "the file's own values", "population's own values", ""]
    if not found.binned:
        return ["", "estimate", "the file", "population", ""]
    if found.kind == "slope":
        return ["", f"estimate {_BINNED}", f"the file, {_BINNED}", f"population, {_BINNED}", ""]
    return ["", f"estimate {_BINNED}", f"the file, {_BINNED}", "the file's own values", "population's own values", ""]


def _line(found: Estimate, term: Term) -> list[str]:
    value = partial(_value, found.kind, _decimals(found))

    def between(low: float | None, high: float | None) -> str:
        return f"{value(low)} to {value(high)}"

    name = f"slope of {term.name}" if found.kind == "slope" else term.group or term.name
    of_file, of_population = between(term.low, term.high), between(term.population_low, term.population_high)
    binned = between(term.binned_low, term.binned_high)
    if found.kind == "share":
        rows = f"{_rows(term.rows_low)} to {_rows(term.rows_high)}"
        rows = rows if term.rows is None else f"{_rows(term.rows)} ({rows})"
        return [name, value(term.estimate), of_file, rows, of_population, term.unit]
    if found.kind == "median":
        first, middle, last = term.bins or ("?", "?", "?")
        return [name, middle or "?", first if first == last else f"{first} and {last}", of_file, of_population, term.unit]
    if not found.binned:
        return [name, value(term.estimate), of_file, of_population, term.unit]
    if found.kind == "slope":
        population = between(term.population_binned_low, term.population_binned_high)
        return [name, value(term.estimate), binned, population, term.unit]
    return [name, value(term.estimate), binned, of_file, of_population, term.unit]


def _rows(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _wrapped(text: str, before: str) -> str:
    return fill(text, _WIDTH, initial_indent=before, subsequent_indent=" " * len(before))


def _decimals(found: Estimate) -> int:
    """Of the printed numbers: two digits of the smallest standard error; of medians, those of the ends of bins."""
    if found.kind == "median":
        ends = [end for term in found.terms for end in (term.low, term.high, term.population_low, term.population_high)]
        texts = [f"{end:.15g}".partition(".")[2] for end in ends if end is not None]
        return min(_MOST_DECIMALS, max(map(len, texts), default=0))
    errors = [term.standard_error * (100 if found.kind == "share" else 1) for term in found.terms if term.standard_error]
    return min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(min(errors))))) if errors else _MOST_DECIMALS // 2


def _value(kind: Kind, decimals: int, number: float | None) -> str:
    if number is None:
        return "?"
    return f"{number:.{decimals}%}" if kind == "share" else f"{number:,.{decimals}f}"
