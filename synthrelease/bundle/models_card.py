"""Describe the questions that were measured directly for the card."""

from __future__ import annotations

from fractions import Fraction

from synthrelease.criteria.facts import figure
from synthrelease.privacy.charges import decimal_text
from synthrelease.published.measurements import NOT_ESTIMABLE
from synthrelease.published.models import ModelsPart, ModelTermPart


def sentences(part: ModelsPart) -> tuple[str, ...]:
    """Return the card's paragraphs about the questions that had their own measurements ([[models]])."""
    return (
        "These questions were measured directly in the original file, after the table was accepted. They cost epsilon "
        f"{decimal_text(Fraction(part.epsilon))} together. The answers do not come from the released rows.",
        f"Each interval contains the true value in at least {100 * part.level:g}% of runs. Values beyond the limits in "
        "release.json count as the limit. The intervals for a population assume that the rows of the file are a simple random "
        "sample of it.",
    )


def rows(part: ModelsPart) -> tuple[tuple[str, ...], ...]:
    """Return a table for the card, with the question, name, estimate and intervals of each number in the answers."""
    lines = []
    for answer in part.answers:
        if not answer.terms:
            lines.append((answer.question, "", NOT_ESTIMABLE, "", ""))
        for term in answer.terms:
            name = f"{term.group or term.name}{f' ({term.unit})' if term.unit else ''}"
            estimate = NOT_ESTIMABLE if term.estimate is None else figure(float(term.estimate))
            lines.append((answer.question, name, estimate, *_intervals(term)))
    return tuple(lines)


def _intervals(term: ModelTermPart) -> tuple[str, str]:
    ends = ((term.low, term.high), (term.population_low, term.population_high))
    of_file, of_population = (
        "–" if low is None or high is None else f"{figure(float(low))} to {figure(float(high))}" for low, high in ends
    )
    return of_file, of_population
