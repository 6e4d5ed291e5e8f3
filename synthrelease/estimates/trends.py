"""The same number in several releases: how it changed from year to year, and a level of all years together.

The noises of two releases are independent of each other, and so are the drawings of their rows, also where the later one
started from the earlier one: what it started from is in its rows, and never in its noisy tables. So the interval of a change is
put together from those of both years, without a correlation (theory 13.15, changes between releases).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from synthrelease.bounds.measured import measured_times
from synthrelease.bounds.questions import Question
from synthrelease.bounds.same_question import other_meaning
from synthrelease.bounds.values import tells_values
from synthrelease.errors import InputError, Unexpected
from synthrelease.estimates.answer import answered, intervals_of
from synthrelease.estimates.averages import Average, groups, known, term_in
from synthrelease.estimates.contrasts import intervals, of_means, of_medians, of_shares
from synthrelease.estimates.estimable import POPULATION, asked_of, judged
from synthrelease.estimates.tables import NoisyTables
from synthrelease.estimates.words import Estimate, Term
from synthrelease.published import PublishedRelease, load
from synthrelease.published.document import read_leniently

T = TypeVar("T")
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


def trend(
    releases: Sequence[PublishedRelease | str | Path],
    question: str,
    *,
    confidence: float = 0.95,
    weights: Weights = "rows",
    together: bool = False,
) -> Estimate:
    """A share, mean or median in several releases, each change with an interval, and the level of all years.

    Parameters
    ----------
    releases : at least two, in their order: loaded, or folders.
    question : as of `estimate`, without slopes and without two groups against each other.
    confidence : of each interval by itself.
    weights : of the years in the level: their rows, or the precision of their estimates. Medians have no level.
    together : as of `estimate`: the intervals of all years, changes and levels hold at once.

    Returns
    -------
    The numbers of each year (`terms`, the level among them) and the changes from each to the next, and from the first to the
    last (`contrasts`).

    Raises
    ------
    InputError : as `estimate`, with the name of the release; for releases of the same name or with the same noise, and where
        the bins of a column make another question of the same words.
    """
    years = [_year(one, question) for one in releases]
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
    pairs = list(zip(years, years[1:], strict=False)) + ([(first, years[-1])] if len(years) > 2 else [])
    by_bins = first.asked.kind == "mean" and not _tells_values(first)
    has_level = first.asked.kind != "median"
    number = sum(intervals_of(year.asked, year.tables.release, len(year.found)) for year in years)
    number += len(labels) * (len(pairs) * (2 if by_bins else 1) + has_level)
    among = number if together else 1
    ask = partial(answered, question=question, confidence=confidence, among=among)
    told = [_of_year(year.name, partial(ask, year.tables.release)) for year in years]
    terms = [
        replace(term, group=_named(year.name, term.group)) for year, of in zip(years, told, strict=True) for term in of.terms
    ]
    changes = [
        replace(_change(before, after, label, confidence, among), name=_named(f"{before.name} to {after.name}", label))
        for label in labels
        for before, after in pairs
    ]
    terms += [_level(years, label, confidence, weights, among) for label in labels if has_level]
    approximate = dict.fromkeys(sentence for of in told for sentence in of.approximate)
    not_a_sample = tuple(dict.fromkeys(reason for of in told for reason in of.not_a_sample))
    if not_a_sample:
        terms, changes = ([term.without(POPULATION) for term in each] for each in (terms, changes))
    level = [LEVEL[weights]] if has_level else []
    return Estimate(
        question=question,
        kind=first.asked.kind,
        by=first.asked.by,
        terms=tuple(terms),
        contrasts=tuple(changes),
        confidence=confidence,
        together=together,
        n_intervals=number,
        not_a_sample=not_a_sample,
        n_rows=sum(year.tables.release.n_rows for year in years),
        about="; ".join(f"{year.name}: {of.about}" for year, of in zip(years, told, strict=True)),
        binned=told[0].binned,
        approximate=(*approximate, CHANGES, *([] if not_a_sample else [SAME_PERSONS]), *level),
        of=told[0].of,
        releases=tuple(names),
    )


def _year(release: PublishedRelease | str | Path, question: str) -> _Year:
    published = release if isinstance(release, PublishedRelease) else load(release)
    name = _name(published.folder)

    def read() -> _Year:
        asked = asked_of(question, published)
        if asked.kind == "slope" or asked.groups:
            raise InputError(f"{question!r}: expected a share, mean or median in several releases, found another question.")
        tables, times = NoisyTables(published), measured_times(published, None) or 1.0
        return _Year(name=name, tables=tables, asked=asked, found=dict(groups(tables, asked)), times=times)

    return _of_year(name, read)


def _of_year(name: str, asked: Callable[[], T]) -> T:
    """What is found in a year. Raises InputError with its name."""
    try:
        return asked()
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


def _tells_values(year: _Year) -> bool:
    return tells_values(year.tables.release.by_name[year.asked.parts[0].column])


def _level_of(years: Sequence[_Year], confidence: float, among: int) -> float:
    """At which each interval is taken: what else may go wrong is left to each release, and each may have been chosen.

    Parameters
    ----------
    among : intervals that share the risk.
    """
    lost = sum(1 - confidence - year.tables.kept.spare(confidence) for year in years)
    left = 1 - confidence - lost
    if not left > 0:
        raise InputError(f"expected a confidence that leaves room for {len(years)} releases, found {confidence:g}.")
    return 1 - left / math.prod(year.times for year in years) / among


def _change(before: _Year, after: _Year, label: str, confidence: float, among: int) -> Term:
    """The later number less the earlier one."""
    level, asked = _level_of([before, after], confidence, among), after.asked
    one, other = after.found[label], before.found[label]
    if not asked.column:
        term = of_shares(one[0], other[0], level)[0]
    elif asked.kind == "mean":
        column = after.tables.release.by_name[asked.parts[0].column]
        term = of_means(column.unit, one, other, tells_values(column), level)
    else:
        half = (1 + level) / 2
        term = of_medians(
            after.tables.release.by_name[asked.parts[0].column].unit,
            term_in(after.tables, asked, label, one, half),
            term_in(before.tables, before.asked, label, other, half),
        )
    return judged(term.name, term, after.tables, asked)


def _level(years: Sequence[_Year], label: str, confidence: float, weights: Weights, among: int) -> Term:
    """The weighted mean of the years. Of a mean it is that of the numbers that stand for bins."""
    averages = [year.found[label][0] for year in years]
    level = _level_of(years, confidence, among)
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
    by_bins = bool(column) and not _tells_values(years[0])
    return Term(
        estimable=told,
        name=f"level of {column or 'share'}",
        group=_named(f"level, by {weights}", label),
        unit=years[0].tables.release.by_name[years[0].asked.parts[0].column].unit if column else "",
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
