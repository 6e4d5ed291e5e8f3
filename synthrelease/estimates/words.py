"""An estimate, and the same in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Term:
    """One estimated number.

    Attributes
    ----------
    name : "share", "mean", or the column whose slope it is.
    unit : "" for shares, the column's unit for means, that of the target per unit of the column for slopes.
    estimate : from the noisy tables.
    standard_error : of their noise alone (delta method).
    low, high : the interval for the rows that the release worked with.
    population_low, population_high : the interval for a population of which these rows are a simple random sample.
    """

    name: str
    unit: str
    estimate: float
    standard_error: float
    low: float
    high: float
    population_low: float
    population_high: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Numbers of the original table, estimated from published noisy tables.

    Attributes
    ----------
    question : what was asked, in words.
    kind : "share", "mean" or "slopes".
    terms : the estimated numbers: one share, one mean, or one slope of each column.
    confidence : of each interval by itself.
    n_rows : of the release.
    tables : how many published tables hold the columns asked about.
    approximate : what is not exact, one sentence each.
    """

    question: str
    kind: str
    terms: tuple[Term, ...]
    confidence: float
    n_rows: int
    tables: int
    approximate: tuple[str, ...]

    def __str__(self) -> str:
        return explained(self)


def explained(found: Estimate) -> str:
    """The text that `synthrelease estimate` prints."""
    source = "one published noisy table" if found.tables == 1 else f"{found.tables} published noisy tables"
    lines = [found.question]
    for term in found.terms:
        name = f"slope of {term.name}" if found.kind == "slopes" else term.name
        lines += [
            f"  {name}: {_value(found, term, term.estimate)}",
            f"    original table   {_value(found, term, term.low)} to {_value(found, term, term.high)}",
            f"    population       {_value(found, term, term.population_low)} to {_value(found, term, term.population_high)}",
        ]
    lines += [
        "",
        f"Each interval holds what it is about with probability {found.confidence:.4g}, over the noise of {source}; the rows of the "
        "released table were not used. Original table: the rows that the release worked with, on the released bins and their "
        "numbers. Population: what these rows would be a simple random sample of; if they are not, the second interval has no "
        "meaning.",
        "",
        "What is approximate:",
        *(f"  - {text}" for text in found.approximate),
    ]
    return "\n".join(lines)


def _value(found: Estimate, term: Term, number: float) -> str:
    if found.kind == "share":
        return f"{number:.3%}"
    return f"{number:,.6g}" + (f" {term.unit}" if term.unit else "")
