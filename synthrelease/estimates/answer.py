"""A share, a mean or the slopes of a regression, with intervals that hold the original table's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from synthrelease.bounds.answer import check_numbers
from synthrelease.bounds.conditions import Condition, parse_condition
from synthrelease.bounds.measured import measured_times
from synthrelease.errors import InputError, listing
from synthrelease.estimates.ratios import Ratio, possible
from synthrelease.estimates.slopes import slopes
from synthrelease.estimates.tables import NoisyTables
from synthrelease.estimates.words import Estimate, Term
from synthrelease.published import PublishedRelease, load

RATIO = "Original table: the law of the noise is computed as that of a law without steps, and rounded up; nothing else."
SAMPLE = (
    "Population: the error of sampling is taken as normal, with a variance that is itself estimated from the noisy tables. Small "
    "groups and rare values need more rows for that than they may have."
)
SLOPES = (
    "Original table: the noise of the sums of products is known, but that of the other columns' part in a slope is followed to "
    "first order (and its bias to second)."
)
EQUAL = "Population: equal variances around the line are assumed, because no published table holds all columns together."
ROBUST = "Population: variances around the line may differ between rows (robust standard errors)."
SELECTED = (
    "The tables were measured {times:.3g} times on average at most until a release was accepted; each interval is made wider for "
    "it (by Bonferroni)."
)


def estimate(
    release: PublishedRelease | str | Path,
    query: str = "",
    *,
    given: str = "",
    mean_of: str | None = None,
    slopes_of: str | None = None,
    on: Sequence[str] = (),
    confidence: float = 0.95,
) -> Estimate:
    """Estimate a number of the original table from published noisy tables. Needs no private data, costs nothing.

    Parameters
    ----------
    release : a loaded release, or its folder.
    query : a condition on released bins, in the grammar of the plausibility rules. Asks for the share of rows that meet it.
    given : a second condition; asks for the share among the rows that meet it.
    mean_of : a column; asks for its mean, by the numbers of its bins, over the rows that meet `query` and `given` and that are
        not missing there.
    slopes_of, on : a column and others; asks for the slopes of the least-squares line of the first on the others (with an
        intercept), over the rows that meet `query` and `given` and that are missing in none of them.
    confidence : of each interval by itself, at least 0.5 and below 1. Over all noise of the run, a table is released and an
        interval does not hold its number with probability 1 - confidence (theory 13.8, measured ratios).

    Raises
    ------
    InputError : when the question cannot be read or cuts a bin; when no noisy tables are published, or none holds the columns
        together; when the noise leaves no estimate.

    Examples
    --------
    >>> import synthrelease
    >>> found = synthrelease.estimate("measured", "face == 'head'")
    >>> [share] = found.terms
    >>> share.low <= share.estimate <= share.high
    True
    """
    if not 0.5 <= confidence < 1:
        raise InputError(f"expected a confidence of at least 0.5 and below 1, found {confidence:g}.")
    published = release if isinstance(release, PublishedRelease) else load(release)
    tables = NoisyTables(published)
    times = measured_times(published, None)
    if times is None:
        raise InputError(
            "expected tables that were measured a known number of times before the release, found a search that might never have "
            "ended: nothing can be said of the noise of the tables that were published."
        )
    read, group = parse_condition(query, published), parse_condition(given, published)
    level = 1 - (1 - confidence) / times
    if slopes_of is not None:
        if mean_of is not None:
            raise InputError("expected a mean or slopes, found both.")
        return _slopes(tables, slopes_of, on, _both(read, group, published), confidence, level, times)
    if on:
        raise InputError("expected the column whose slopes are asked for, found only the columns to regress it on.")
    if mean_of is not None:
        return _mean(tables, mean_of, _both(read, group, published), confidence, level, times)
    return _share(tables, read, group, confidence, level, times)


def _share(tables: NoisyTables, read: Condition, group: Condition, confidence: float, level: float, times: float) -> Estimate:
    names = read.columns | group.columns
    if not read.columns:
        raise InputError("expected a condition on columns, a column to average, or slopes; found none of these.")
    columns = tables.columns(names)
    base, met = group.mask(columns).ravel().astype(float), read.mask(columns).ravel().astype(float)
    exact, sampled = _ratios(tables, names, met * base, base, (0.0, 1.0), group.text)
    question = f"share of rows with {read.text}" + (f" among rows with {group.text}" if group.text else "")
    return Estimate(
        question=question,
        kind="share",
        terms=(_term("share", "", exact, sampled, level),),
        confidence=confidence,
        n_rows=tables.release.n_rows,
        tables=tables.number(names),
        approximate=(RATIO, SAMPLE, *_selected(times)),
    )


def _mean(tables: NoisyTables, name: str, group: Condition, confidence: float, level: float, times: float) -> Estimate:
    check_numbers(tables.release, name)
    names = {name} | group.columns
    columns = tables.columns(names)
    column = tables.release.by_name[name]
    shape = [len(each.labels) for each in columns]
    places = np.indices(shape)[[each.name for each in columns].index(name)].ravel()
    base = (group.mask(columns).ravel() & (places < column.present)).astype(float)
    numbers = np.array([number or 0.0 for number in column.numbers])
    possible_numbers = numbers[: column.present]
    middle = (possible_numbers.max() + possible_numbers.min()) / 2
    ends = (float(possible_numbers.min() - middle), float(possible_numbers.max() - middle))
    exact, sampled = _ratios(tables, names, (numbers[places] - middle) * base, base, ends, group.text)
    return Estimate(
        question=f"mean of {name}" + (f" where {group.text}" if group.text else " over all rows"),
        kind="mean",
        terms=(_term("mean", column.unit, exact, sampled, level, middle),),
        confidence=confidence,
        n_rows=tables.release.n_rows,
        tables=tables.number(names),
        approximate=(RATIO, SAMPLE, *_selected(times)),
    )


def _slopes(
    tables: NoisyTables, target: str, on: Sequence[str], group: Condition, confidence: float, level: float, times: float
) -> Estimate:
    for name in (target, *on):
        check_numbers(tables.release, name)
    if not on or len({target, *on}) <= len(on):
        raise InputError(f"expected different columns to regress {target!r} on, found {listing(on) or 'none'}.")
    exact, sampled, robust = slopes(tables, target, on, group)
    return Estimate(
        question=f"slopes of {target} on {listing(on)}" + (f" where {group.text}" if group.text else " over all rows"),
        kind="slopes",
        terms=tuple(
            _term(name, _unit(tables.release, target, name), *both, level)
            for name, *both in zip(on, exact, sampled, strict=True)
        ),
        confidence=confidence,
        n_rows=tables.release.n_rows,
        tables=len([table for table in tables.tables if set(table.columns) & {target, *on}]),
        approximate=(SLOPES, SAMPLE, ROBUST if robust else EQUAL, *_selected(times)),
    )


def _ratios(
    tables: NoisyTables, names: set[str], figure: np.ndarray, base: np.ndarray, ends: tuple[float, float], group: str
) -> tuple[Ratio, Ratio]:
    """sum figure R / sum base R, of the rows and of a population.

    Parameters
    ----------
    figure, base : (n_cells,) figure 0 where base is; base 0 or 1.
    """
    found = tables.sums(names, np.stack([figure, base, figure**2]))
    numerator, denominator, squares = (float(value) for value in found.values)
    sampling = possible(np.array([[squares, numerator], [numerator, denominator]]))
    exact, sampled = (
        Ratio(
            numerator=numerator,
            denominator=denominator,
            weights=found.weights[:2],
            noises=tables.noises,
            lowest=ends[0],
            highest=ends[1],
            sampling=spread,
        )
        for spread in (np.zeros((2, 2)), sampling)
    )
    if not exact.denominator > 0:
        raise InputError(f"{group!r}: expected a group that stands out of the noise, found one that may have no row.")
    return exact, sampled


def _term(name: str, unit: str, exact: Ratio, sampled: Ratio, level: float, middle: float = 0.0) -> Term:
    low, high = exact.interval(level)
    population_low, population_high = sampled.interval(level)
    return Term(
        name=name,
        unit=unit,
        estimate=exact.estimate + middle,
        standard_error=exact.standard_error,
        low=low + middle,
        high=high + middle,
        population_low=min(low, population_low) + middle,
        population_high=max(high, population_high) + middle,
    )


def _unit(release: PublishedRelease, target: str, name: str) -> str:
    """Of a slope: that of the target per one of the column."""
    return f"{release.by_name[target].unit} per {release.by_name[name].unit or 'unit'} of {name}".strip()


def _both(first: Condition, second: Condition, release: PublishedRelease) -> Condition:
    texts = [part.text for part in (first, second) if part.text]
    return parse_condition(texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts), release)


def _selected(times: float) -> tuple[str, ...]:
    return (SELECTED.format(times=times),) if times > 1 and math.isfinite(times) else ()
