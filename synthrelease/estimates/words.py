"""An estimate, and the same in words and as a table for other programs."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import asdict, dataclass, fields
from functools import partial
from textwrap import fill

from synthrelease.estimates.questions import Kind

_MOST_DECIMALS = 8
_WIDTH = 100
"""Of the sentences under the numbers, in characters."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """One estimated number. What the noise leaves open is None.

    Attributes
    ----------
    name : "share", the column whose mean it is, or the one whose slope it is.
    group : the bin of the column after "by"; "" without one.
    unit : "" for shares, the column's unit for means, that of the target per unit of the column for slopes.
    estimate : from the noisy tables; None for a group that may have no row, as far as the noise tells.
    standard_error : of their noise alone (delta method).
    low, high : the interval for the rows that the release worked with.
    population_standard_error : of noise and sampling.
    population_low, population_high : the interval for a population of which these rows are a simple random sample.
    """

    name: str
    group: str
    unit: str
    estimate: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    population_standard_error: float | None
    population_low: float | None
    population_high: float | None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Numbers of the original table, estimated from published noisy tables.

    Attributes
    ----------
    question : what was asked.
    kind : "share", "mean" or "slope".
    by : the column for whose bins there are numbers; "" without one.
    terms : the estimated numbers: one share or mean, one of each bin of `by` that can have rows, or one slope of each column.
    confidence : of each interval by itself.
    n_rows : of the release.
    approximate : what is not exact, one sentence each.
    """

    question: str
    kind: Kind
    by: str
    terms: tuple[Term, ...]
    confidence: float
    n_rows: int
    approximate: tuple[str, ...]

    def __str__(self) -> str:
        return explained(self)

    @property
    def csv(self) -> str:
        """The terms as a table, numbers in full, for R, Stata or a spreadsheet; what is open is an empty field."""
        out = io.StringIO()
        table = csv.DictWriter(out, [*(field.name for field in fields(Term)), "confidence"], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(term) | {"confidence": self.confidence} for term in self.terms)
        return out.getvalue()


def explained(found: Estimate) -> str:
    """The text that `synthrelease estimate` prints."""
    value = partial(_value, found.kind, _decimals(found))
    rows = [["", "estimate", "original table", "population", ""]]
    for term in found.terms:
        name = f"slope of {term.name}" if found.kind == "slope" else term.group or term.name
        rows.append(
            [
                name,
                value(term.estimate),
                f"{value(term.low)} to {value(term.high)}",
                f"{value(term.population_low)} to {value(term.population_high)}",
                term.unit,
            ]
        )
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    cells = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    known = all(term.estimate is not None for term in found.terms)
    notes = [
        f"Each interval by itself holds what it is about with probability {found.confidence:.4g}. They are from published "
        "noisy tables alone; the released rows were not used.",
        "Original table: the rows that the release worked with, on the released bins and their numbers; over the noise of the "
        "tables.",
        "Population: what these rows would be a simple random sample of; over noise and sampling. If they are no such sample, "
        "it has no meaning.",
        *([] if known else ["No estimate (?): as far as the noise tells there may be no row in the group."]),
    ]
    return "\n".join(
        [
            found.question,
            *("  " + line.rstrip() for line in cells),
            "",
            *(_wrapped(note, "") for note in notes),
            "",
            "What is approximate:",
            *(_wrapped(text, "  - ") for text in found.approximate),
        ]
    )


def _wrapped(text: str, before: str) -> str:
    return fill(text, _WIDTH, initial_indent=before, subsequent_indent=" " * len(before))


def _decimals(found: Estimate) -> int:
    """Of the printed numbers: two digits of the smallest standard error."""
    errors = [term.standard_error * (100 if found.kind == "share" else 1) for term in found.terms if term.standard_error]
    return min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(min(errors))))) if errors else _MOST_DECIMALS // 2


def _value(kind: Kind, decimals: int, number: float | None) -> str:
    if number is None:
        return "?"
    return f"{number:.{decimals}%}" if kind == "share" else f"{number:,.{decimals}f}"
