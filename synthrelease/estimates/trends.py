"""The same number in several releases: how it changed from year to year, and a level of all years together.

The noises of two releases are independent of each other, and so are the drawings of their rows, also where the later one
started from the earlier one: what it started from is in its rows, and never in its noisy tables. So the interval of a change is
put together from those of both years, without a correlation (theory 13.15, changes between releases).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from synthrelease.bounds.measured import measured_times
from synthrelease.bounds.questions import Question, parse_question
from synthrelease.bounds.same_question import other_meaning
from synthrelease.bounds.values import tells_values
from synthrelease.errors import InputError, Unexpected
from synthrelease.estimates.answer import estimate
from synthrelease.estimates.averages import Average, groups, known, term_in
from synthrelease.estimates.contrasts import intervals, of_means, of_medians, of_shares
from synthrelease.estimates.tables import NoisyTables
from synthrelease.estimates.words import Estimate, Term
from synthrelease.published import PublishedRelease, load
from synthrelease.published.document import read_leniently

Weights = Literal["rows", "precision"]
CHANGES = (
    "Changes: the interval of a difference is put together from those of both years, whose noises are independent. Each holds "
    "by itself: of twenty changes that are none, one is beyond its noise."
)
SAME_PERSONS = (
    "Population, changes: the years are taken as samples that were drawn apart. Where the same persons are in them, their "
    "changes are mostly known better than that."
)
LEVEL = {
    "rows": "Level: the mean of the years, each with its released rows as weight.",
    "precision": "Level: the mean of the years, each with the inverse of its squared standard error as weight: the most exact "
    "one, of a number that does not change.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Year:
    """One release, what was asked of it, and the averages of each group."""

    name: str
    tables: NoisyTables
    asked: Question
    found: dict[str, list[Average]]
    times: float
    told: Estimate


def trend(
    releases: Sequence[PublishedRelease | str | Path],
    question: str,
    *,
    confidence: float = 0.95,
    weights: Weights = "rows",
) -> Estimate:
    """A share, mean or median in several releases, each change with an interval, and the level of all years.

    Parameters
    ----------
    releases : at least two, in their order: loaded, or folders.
    question : as of `estimate`, without slopes and without two groups against each other.
    confidence : of each interval by itself.
    weights : of the years in the level: their rows, or the precision of their estimates. Medians have no level.

    Returns
    -------
    The numbers of each year (`terms`, the level among them) and the changes from each to the next, and from the first to the
    last (`contrasts`).

    Raises
    ------
    InputError : as `estimate`, with the name of the release; for releases of the same name or with the same noise, and where
        the bins of a column make another question of the same words.
    """
    years = [_year(one, question, confidence) for one in releases]
    names = [year.name for year in years]
    if len(years) < 2 or len(set(names)) < len(names):
        raise InputError(f"expected at least two releases of different names or years, found {', '.join(names) or 'none'}.")
    first = years[0]
    for place, year in enumerate(years[1:], 1):
        if expected := other_meaning(first.asked, first.tables.release, year.tables.release):
            raise InputError(f"{year.name}: expected what {first.name} has: {expected}.")
        for other in years[:place]:
            if _same_noise(other, year):
                raise InputError(
                    f"{year.name}: expected noisy tables of its own, found those of {other.name}: a copy, or an erratum."
                )
    labels = [label for label in first.found if all(label in year.found for year in years)]
    terms = [replace(term, group=_named(year.name, term.group)) for year in years for term in year.told.terms]
    pairs = list(zip(years, years[1:], strict=False)) + ([(first, years[-1])] if len(years) > 2 else [])
    changes = [
        replace(_change(before, after, label, confidence), name=_named(f"{before.name} to {after.name}", label))
        for label in labels
        for before, after in pairs
    ]
    if first.asked.kind != "median":
        terms += [_level(years, label, confidence, weights) for label in labels]
    approximate = dict.fromkeys(sentence for year in years for sentence in year.told.approximate)
    level = [] if first.asked.kind == "median" else [LEVEL[weights]]
    return Estimate(
        question=question,
        kind=first.asked.kind,
        by=first.asked.by,
        terms=tuple(terms),
        contrasts=tuple(changes),
        confidence=confidence,
        n_rows=sum(year.tables.release.n_rows for year in years),
        about="; ".join(f"{year.name}: {year.told.about}" for year in years),
        binned=first.told.binned,
        approximate=(*approximate, CHANGES, SAME_PERSONS, *level),
        of=first.told.of,
        releases=tuple(names),
    )


def _year(release: PublishedRelease | str | Path, question: str, confidence: float) -> _Year:
    published = release if isinstance(release, PublishedRelease) else load(release)
    name = _name(published.folder)
    try:
        asked = parse_question(question, published)
        if asked.kind == "slope" or asked.groups:
            raise InputError(f"{question!r}: expected a share, mean or median in several releases, found another question.")
        told = estimate(published, question, confidence=confidence)
        tables = NoisyTables(published)
        return _Year(
            name=name,
            tables=tables,
            asked=asked,
            found=dict(groups(tables, asked)),
            times=measured_times(published, None) or 1.0,
            told=told,
        )
    except InputError as error:
        problem = str(error)
    raise InputError(f"{name}: {problem}")


def _same_noise(one: _Year, other: _Year) -> bool:
    """Whether two releases have the very same noisy tables: then one of them tells nothing more."""
    return [table.values.tolist() for table in one.tables.tables] == [table.values.tolist() for table in other.tables.tables]


def _name(folder: Path) -> str:
    """The year in a plan over years, or the name of the folder."""
    try:
        said: Any = read_leniently((folder / "release.json").read_bytes()).parts.get("series")
    except (OSError, Unexpected):
        said = None
    year = None if said is None or said.years is None else said.years.year
    return folder.absolute().name if year is None else str(year)


def _named(year: str, label: str) -> str:
    return f"{year}, {label}" if label else year


def _level_of(years: Sequence[_Year], confidence: float) -> float:
    """At which each interval is taken: what else may go wrong is left to each release, and each may have been chosen."""
    lost = sum(1 - confidence - year.tables.kept.spare(confidence) for year in years)
    left = 1 - confidence - lost
    if not left > 0:
        raise InputError(f"expected a confidence that leaves room for {len(years)} releases, found {confidence:g}.")
    return 1 - left / math.prod(year.times for year in years)


def _change(before: _Year, after: _Year, label: str, confidence: float) -> Term:
    """The later number less the earlier one."""
    level, asked = _level_of([before, after], confidence), after.asked
    one, other = after.found[label], before.found[label]
    if not asked.column:
        return of_shares(one[0], other[0], level)[0]
    column = after.tables.release.by_name[asked.parts[0].column]
    if asked.kind == "mean":
        return of_means(column.unit, one, other, tells_values(column), level)
    half = (1 + level) / 2
    return of_medians(
        column.unit,
        term_in(after.tables, asked, label, one, half),
        term_in(before.tables, before.asked, label, other, half),
    )


def _level(years: Sequence[_Year], label: str, confidence: float, weights: Weights) -> Term:
    """The weighted mean of the years. Of a mean it is that of the numbers that stand for bins."""
    averages = [year.found[label][0] for year in years]
    level = _level_of(years, confidence)
    errors = [average.file.standard_error for average in averages]
    if weights == "rows":
        raw = [float(year.tables.release.n_rows) for year in years]
    else:
        raw = [1 / error**2 if error > 0 else math.inf for error in errors]
    if not all(map(math.isfinite, raw)):  # a year without any error is the level
        raw = [float(each == math.inf) for each in raw]
    share = [each / sum(raw) for each in raw]
    found = [intervals(average, level, None) for average in averages]
    ends = []
    for which in (0, 1):
        middle = sum(part * one[which][1] for part, one in zip(share, found, strict=True))
        below = math.hypot(*(part * (one[which][1] - one[which][0]) for part, one in zip(share, found, strict=True)))
        above = math.hypot(*(part * (one[which][2] - one[which][1]) for part, one in zip(share, found, strict=True)))
        ends += [middle - below, middle + above]
    told = all(map(math.isfinite, ends))
    low, high, population_low, population_high = (known(end) if told else None for end in ends)
    column = years[0].asked.column
    by_bins = bool(column) and not tells_values(years[0].tables.release.by_name[years[0].asked.parts[0].column])
    return Term(
        name=f"level of {column or 'share'}",
        group=_named(f"level, by {weights}", label),
        unit=years[0].told.terms[0].unit,
        estimate=known(sum(part * one[0][1] for part, one in zip(share, found, strict=True))) if told else None,
        standard_error=known(math.hypot(*(part * error for part, error in zip(share, errors, strict=True)))) if told else None,
        low=None if by_bins else low,
        high=None if by_bins else high,
        population_low=None if by_bins else population_low,
        population_high=None if by_bins else population_high,
        binned_low=low if by_bins else None,
        binned_high=high if by_bins else None,
        population_binned_low=population_low if by_bins else None,
        population_binned_high=population_high if by_bins else None,
    )
