"""Shares, means or the slopes of a regression, with intervals that hold the original table's."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from synthrelease.bounds.conditions import over_cells
from synthrelease.bounds.measured import measured_times
from synthrelease.errors import InputError
from synthrelease.estimates.questions import Question, parse_question
from synthrelease.estimates.ratios import Ratio, possible
from synthrelease.estimates.slopes import slopes
from synthrelease.estimates.tables import NoisyTables
from synthrelease.estimates.words import Estimate, Term
from synthrelease.published import PublishedRelease, load

RATIO = "Original table: the law of the noise is computed to about five digits of a probability; nothing else is approximate."
SAMPLE = (
    "Population: the error of sampling is taken as normal, with a variance that is itself estimated from the noisy tables. "
    "Small groups and rare values need more rows for that than they may have."
)
SLOPES = (
    "Original table: the noise of the sums of products is known, but that of the other columns' part in a slope is followed to "
    "first order (and its bias to second)."
)
EQUAL = "Population: equal variances around the line are assumed, because no published table holds all columns together."
ROBUST = "Population: variances around the line may differ between rows (robust standard errors)."
SELECTED = (
    "Which noisy tables were published, and on which bins, depends on their noise: there were {times:.3g} ways on average at "
    "most, and each interval is wider for it (by Bonferroni)."
)


def estimate(release: PublishedRelease | str | Path, question: str, *, confidence: float = 0.95) -> Estimate:
    """Estimate a number of the original table from published noisy tables. Needs no private data, costs nothing.

    Parameters
    ----------
    release : a loaded release, or its folder.
    question : one of

        - `share CONDITION [by COLUMN] [where CONDITION]`: the share of rows that meet the condition, among the rows that meet
          the second one, for each bin of a column;
        - `mean COLUMN [by COLUMN] [where CONDITION]`: the mean of a column, by the numbers of its bins, over the rows that are
          not missing there;
        - `slope COLUMN on COLUMN, COLUMN, ... [where CONDITION]`: the slopes of the least-squares line of the first column on
          the others (with an intercept), over the rows that are missing in none of them.

        Conditions have the grammar of the plausibility rules, with limits between released bins.
    confidence : of each interval by itself, at least 0.5 and below 1. Over all noise of the run, a table is released and an
        interval does not hold its number with probability 1 - confidence (theory 13.8, measured ratios).

    Raises
    ------
    InputError : when the question cannot be read or cuts a bin; when no noisy tables are published, or none holds the columns
        together; when the noise leaves no estimate.

    Examples
    --------
    >>> import synthrelease
    >>> found = synthrelease.estimate("measured", "share face == 'head' by year")
    >>> [term.group for term in found.terms]
    ['1-2', '3-4', '5-6', '7-8']
    >>> all(term.low <= term.estimate <= term.high for term in found.terms)
    True
    """
    if not 0.5 <= confidence < 1:
        raise InputError(f"expected a confidence of at least 0.5 and below 1, found {confidence:g}.")
    published = release if isinstance(release, PublishedRelease) else load(release)
    tables = NoisyTables(published)
    times = measured_times(published, None)
    if times is None:
        raise InputError(
            "expected tables that were measured a known number of times before the release, found a search that might never "
            "have ended: nothing can be said of the noise of the tables that were published."
        )
    asked = parse_question(question, published)
    level = 1 - (1 - confidence) / times
    if asked.kind == "slope":
        lines = slopes(tables, asked)
        units = [_unit(published, asked.column, name) for name in asked.on]
        parts = zip(asked.on, units, lines.table, lines.population, strict=True)
        terms = [_term(name, "", unit, table, population, level) for name, unit, table, population in parts]
        approximate = [SLOPES, SAMPLE, ROBUST if lines.robust else EQUAL]
    else:
        terms = _averages(tables, asked, level)
        approximate = [RATIO, SAMPLE]
    if times > 1:
        approximate.append(SELECTED.format(times=times))
    return Estimate(
        question=asked.text,
        kind=asked.kind,
        by=asked.by,
        terms=tuple(terms),
        confidence=confidence,
        n_rows=published.n_rows,
        approximate=tuple(approximate),
    )


def _averages(tables: NoisyTables, asked: Question, level: float) -> list[Term]:
    """The share or mean over all rows that count, or over those of each bin of `by` in which there can be any."""
    columns = tables.columns(asked.columns)
    base = asked.where.mask(columns).ravel()
    unit, middle, lowest, highest = "", 0.0, 0.0, 1.0
    figure = asked.met.mask(columns).ravel().astype(float)
    if asked.kind == "mean":
        column = tables.release.by_name[asked.column]
        numbers = np.array([number or 0.0 for number in column.numbers])
        base = base & over_cells(columns, column.name, np.arange(len(numbers)) < column.present)
        lowest, highest = float(numbers[: column.present].min()), float(numbers[: column.present].max())
        middle, unit = (lowest + highest) / 2, column.unit
        figure = over_cells(columns, column.name, numbers) - middle
    labels = tables.release.by_name[asked.by].labels if asked.by else ("",)
    bins = over_cells(columns, asked.by, np.arange(len(labels))) if asked.by else np.zeros(len(base))
    inside = [(base & (bins == place)).astype(float) for place in range(len(labels))]
    found = tables.sums(asked.columns, np.concatenate([[figure * rows, rows, figure**2 * rows] for rows in inside]))
    terms = []
    for place, label in enumerate(labels):
        numerator, denominator, squares = (float(value) for value in found.values[3 * place : 3 * place + 3])
        weights = found.weights[3 * place : 3 * place + 2]
        if not (denominator > 0 or weights[1].any()):
            continue  # no row can be in it
        ratio = Ratio(
            numerator=numerator,
            denominator=denominator,
            weights=weights,
            noises=tables.noises,
            lowest=lowest - middle,
            highest=highest - middle,
        )
        sampling = possible(np.array([[squares, numerator], [numerator, denominator]]))
        terms.append(_term(asked.column or "share", label, unit, ratio, replace(ratio, sampling=sampling), level, middle))
    if not terms:
        raise InputError(f"{asked.text!r}: expected rows that there can be, found a group that the rules leave empty.")
    return terms


def _term(name: str, group: str, unit: str, table: Ratio, population: Ratio, level: float, middle: float = 0.0) -> Term:
    low, high = table.interval(level)
    population_low, population_high = population.interval(level)
    return Term(
        name=name,
        group=group,
        unit=unit,
        estimate=_known(table.estimate + middle),
        standard_error=_known(table.standard_error),
        low=_known(low + middle),
        high=_known(high + middle),
        population_standard_error=_known(population.standard_error),
        population_low=_known(min(low, population_low) + middle),
        population_high=_known(max(high, population_high) + middle),
    )


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _unit(release: PublishedRelease, target: str, name: str) -> str:
    """Of a slope: that of the target per one unit of the column."""
    per = release.by_name[name].unit
    return f"{release.by_name[target].unit} per unit of {name}{f' ({per})' if per else ''}".strip()
