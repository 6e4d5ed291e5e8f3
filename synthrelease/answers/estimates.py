"""Estimate answers from the published noisy tables, with confidence intervals: the commands `estimate` and `trend`.

docs/estimates.md explains the answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from synthrelease.answers.averages import Average, Sampling, groups, term_in, term_of
from synthrelease.answers.contrasts import Interval, difference_of_intervals, intervals, of_means, of_medians, of_shares
from synthrelease.answers.limits import RISK, check_confidence, measured_times
from synthrelease.answers.models import answered_by_models
from synthrelease.answers.questions import Question, about, other_meaning, parse_question, tells_values
from synthrelease.answers.stated import POPULATION, asked_of, judged, open_bins
from synthrelease.answers.tables import PublishedTables
from synthrelease.answers.words import Estimate, Term, known
from synthrelease.data.questions import QUANTILES
from synthrelease.errors import InputError, Unexpected, listing
from synthrelease.published import PublishedRelease, load
from synthrelease.published.document import read_leniently
from synthrelease.published.measurements import IntendedEstimatePart

# Answers are shares, means, medians and slopes of a regression, with intervals for the file and for a population.

RATIO = "The file: probabilities of the noise are computed to about five digits."
TOGETHER = (
    "Two groups: the interval of a difference combines the intervals of the two groups and allows for the noise that the "
    "groups share. A ratio has no interval if its denominator may be 0."
)
SAMPLE = (
    "Population: the sampling error is treated as normal. Its variance is estimated from the noisy tables. For small groups "
    "and rare values, this approximation may be poor."
)
DRAWN = (
    "The file: the release used a random draw of the rows that the rules keep. The error of this draw is treated as normal. "
    "Its variance is estimated from the noisy tables."
)
SLOPES = (
    "The file: the noise of the sums of products is known. In a slope, the noise of the other columns is approximated to "
    "first order. The bias from this noise is approximated to second order."
)
EQUAL = "Population: no published table contains all columns together, so equal variances around the line are assumed."
ROBUST = "Population: robust standard errors allow for variances around the line that differ between rows."
OF_MEMBERS = (
    "Members: a draw takes a root (such as a household) with all its members. If a noisy table contains two members of a "
    "root, the similarity of members is estimated. Otherwise members are treated as identical, so intervals are wider than "
    "necessary."
)
SELECTED = (
    "The noise decided which noisy tables were published, and on which bins. On average, at most {times:.3g} choices were "
    "possible. The risk of each interval is divided among these choices, so the interval is wider (Bonferroni)."
)


def estimate(
    release: PublishedRelease | str | Path, question: str, *, confidence: float = 0.95, together: bool = False
) -> Estimate:
    """Estimate a statistic of the file from published noisy tables. No private data are read and no budget is spent.

    The statistic describes the rows of the file that the public rules keep, of which a release uses only a random part.

    Parameters
    ----------
    release : a loaded release, or its folder.
    question : one of

        - `share CONDITION [by COLUMN] [where CONDITION]`: the share of rows that meet the first condition, among the rows that
          meet the second condition, for each bin of a column. The answer also has the number of rows of the file that meet both
          conditions;
        - `mean COLUMN [by COLUMN] [where CONDITION]`: the mean of a column over the rows with a value, by the representative
          values of bins, with an interval for the mean of the exact values;
        - `median COLUMN [by COLUMN] [where CONDITION]`: the bin that contains the median of these rows; `quantile 0.9 COLUMN`
          asks for the bin that 9 of 10 rows do not exceed;
        - `slope COLUMN on COLUMN, COLUMN, ... [where CONDITION]`: the slopes of the least-squares line of the first column on
          the other columns (with an intercept), over the rows with a value in all these columns;
        - the same questions for members, with columns of members: "mean age by region" is over all members, "mean age_1 by
          region" over the first members;
        - `share CONDITION: CONDITION against CONDITION [where CONDITION]`, and likewise with a mean or median: a comparison of
          two groups. In the second group, you may leave out the column if it is the column of the first group ("age >= 35
          against < 35"), or you may write "the rest". The answer has the difference, ratio and odds ratio of shares, and the
          difference of means and medians (theory 13.13, contrasts).

        Conditions have the grammar of the plausibility rules, with limits between released bins.
    confidence : the confidence of each interval separately, at least 0.5 and below 1. The probability, over all noise and the
        drawing of rows, that a table is released and the interval misses its true value is at most 1 - confidence (theory
        13.10, numbers of the file).
    together : if True, all intervals for the file hold at once with this confidence, and so do all intervals for a population
        (Bonferroni).

    Raises
    ------
    InputError : if the question cannot be read or divides a bin, if no noisy table is published or contains all columns, or
        if the noise is too large for an estimate.

    Examples
    --------
    >>> import synthrelease
    >>> found = synthrelease.estimate("measured", "share face == 'head' by year")
    >>> [term.group for term in found.terms]
    ['1-2', '3-4', '5-6', '7-8']
    >>> all(term.low <= term.estimate <= term.high for term in found.terms)
    True
    >>> all(term.rows_low <= term.rows_high for term in found.terms)
    True
    """
    published = release if isinstance(release, PublishedRelease) else load(release)
    return answered(published, question, confidence=confidence, together=together)


def answered(
    published: PublishedRelease,
    question: str,
    *,
    confidence: float,
    together: bool = False,
    among: int = 1,
    as_first: bool = False,
) -> Estimate:
    """Estimate a statistic of the file as `estimate` does, with parameters for `verify` and for lists of questions.

    Parameters
    ----------
    among : the total number of intervals among which the risk of an error is divided, including those of this answer.
    as_first : whether to answer as version 1.0.0 did, for `verify`: with numbers that are not estimable, an interval for a
        population in every answer, and only tables with all columns that a condition names.
    """
    check_confidence(confidence)
    if (measured := answered_by_models(published, question, confidence=confidence, together=together, among=among)) is not None:
        return measured
    tables = PublishedTables(published)
    times = measured_times(published, None)
    if times is None:
        raise InputError(
            "This release has no estimates. Its noisy tables come from a search without a limit on the number of measurements, "
            "so no interval can be computed. Use `synthrelease bound` to get the range of answers that agree with the released "
            "criterion values."
        )
    parsed = parse_question(question, published) if as_first else asked_of(question, published)
    averages_by_group = [] if parsed.kind == "slope" else list(groups(tables, parsed))
    if parsed.kind != "slope" and len(averages_by_group) < max(1, len(parsed.groups)):
        raise InputError(f"{parsed.text!r}: the rules allow no row in this group. Ask about another group.")
    n_intervals = intervals_of(parsed, published, len(averages_by_group))
    level = 1 - tables.kept.spare(confidence) / times / (n_intervals if together else among)
    compared: list[Term] = []
    if parsed.kind == "slope":
        terms, robust = _slopes(tables, parsed, level)
        approximate = [SLOPES, SAMPLE, ROBUST if robust else EQUAL]
    else:
        terms = [term_in(tables, parsed, label, averages, level) for label, averages in averages_by_group]
        approximate = [RATIO, SAMPLE]
    if parsed.groups:
        compared = _compared(tables, parsed, averages_by_group, level)
        approximate = [RATIO, TOGETHER, SAMPLE]
    survey = Sampling.of(parsed, published)
    if survey.reasons:
        approximate = [text for text in approximate if text not in (SAMPLE, ROBUST, EQUAL)]
    if not as_first:
        terms = [judged(parsed.kind, term, tables, parsed) for term in terms]
        compared = [judged(term.name, term, tables, parsed) for term in compared]
    if tables.kept.left_out:
        approximate.insert(1, DRAWN)
    if parsed.slots:
        approximate.append(OF_MEMBERS)
    if times > 1:
        approximate.append(SELECTED.format(times=times))
    return Estimate(
        question=parsed.text,
        kind=parsed.kind,
        by=parsed.by,
        terms=tuple(terms),
        contrasts=tuple(compared),
        confidence=confidence,
        together=together,
        n_intervals=n_intervals,
        not_a_sample=survey.reasons,
        weighting=_weighting(published, parsed),
        weighted=bool(parsed.weight),
        design=_design(published, parsed, survey),
        n_rows=published.n_rows,
        about=about(published, parsed, tables.kept.in_words(RISK * (1 - confidence))),
        of="members" if parsed.slots else "rows",
        binned=_of_bins(published, parsed),
        approximate=tuple(approximate),
    )


def _weighting(release: PublishedRelease, question: Question) -> str:
    column = None if release.design is None else release.design.weight
    if column is None:
        return ""
    if not question.weight:
        ask = "To weight the rows, add `weighted` at the end of the question."
        return f"Unweighted: every row counts once, whatever its {column} is. {ask}"
    if tells_values(release.by_name[column]):
        return f"Weighted: every row is weighted by its {column}."
    return (
        f"Weighted: every row is weighted by the representative value of its weight class in {column}. Exact weights may lie "
        "anywhere between the limits of their classes. The interval allows for all such weights."
    )


def _design(release: PublishedRelease, question: Question, survey: Sampling) -> str:
    """Return sentences about the assumptions of the interval for a population, or "" for a simple random sample from a
    large one.
    """
    sentences = []
    if question.weight and survey.effect == 1:
        sentences.append("Rows are treated as drawn one by one with their weights. A gain from strata is not used.")
    if release.design is not None and survey.effect > 1:
        sentences.append(f"The sampling variance includes the design effect {survey.effect:g} ({release.design.source}).")
    if survey.groups:
        n_groups = len(release.by_name[survey.groups].labels)
        sentences.append(f"The sampling variance is estimated from {n_groups} random groups of clusters ({survey.groups}).")
    if survey.not_drawn < 1:
        sentences.append(f"The population has {release.population:,} records ([population]).")
    return " ".join(sentences)


def intervals_of(question: Question, release: PublishedRelease, n_groups: int) -> int:
    """Count the intervals for the file in an answer. A share has a second interval for its number of rows, a mean of a
    column with bins a second one for representative values.
    """
    if question.kind == "slope":
        return len(question.on)
    in_classes = bool(question.weight) and not tells_values(release.by_name[question.weight])
    by_bins = question.kind == "mean" and (in_classes or not tells_values(release.by_name[question.parts[0].column]))
    contrasts = (3 if question.kind == "share" else 2 if by_bins else 1) if question.groups else 0
    if question.kind == "share":
        return (2 + in_classes) * n_groups + contrasts * (1 + in_classes)
    return n_groups * (2 if by_bins else 1) + contrasts


def _compared(tables: PublishedTables, question: Question, groups: list[tuple[str, list[Average]]], level: float) -> list[Term]:
    first, second = ((tables, question, label, averages) for label, averages in groups)
    return _against(first, second, level)


_Side = tuple[PublishedTables, Question, str, list[Average]]
"""The tables of a release, a question, and the label and averages of a group."""


def _against(first: _Side, second: _Side, level: float) -> list[Term]:
    tables, question, _, averages = first
    others = second[-1]
    if not question.column:
        return of_shares(averages[0], others[0], level)
    column = tables.release.by_name[question.parts[0].column]
    if question.kind == "mean":
        return [of_means(column.unit, averages, others, tells_values(column), level)]
    of_first, of_second = (term_in(*side, (1 + level) / 2) for side in (first, second))
    return [of_medians(f"difference of {question.kind}s", column.unit, of_first, of_second)]


def _slopes(tables: PublishedTables, question: Question, level: float) -> tuple[list[Term], bool]:
    """Return the slope of each explanatory column, and whether its error allows different variances around the line in
    different rows.
    """
    from synthrelease.answers.slopes import slopes

    regression, published = slopes(tables, question), tables.release
    part = question.parts[0]  # the columns of a member are the same in all slots
    exact = all(tells_values(published.by_name[name]) for name in filter(None, (part.column, *part.on, part.weight)))
    terms = []
    for name, column, of_file, of_population in zip(question.on, part.on, regression.file, regression.population, strict=True):
        slope = Average(file=of_file, population=of_population)
        terms.append(term_of(name, "", _unit(published, part.column, column, name), slope, slope.ends(level)))
    if not exact:  # the limits of a bin do not show how the values in the bin change a slope
        terms = [term.of_bin_numbers() for term in terms]
    return terms, regression.robust


def _of_bins(release: PublishedRelease, question: Question) -> str:
    """Return sentences on representative values and on values beyond public bounds in an answer, or ""."""
    names = [name for name in (question.parts[0].column, *question.parts[0].on) if name]
    if question.kind in ("share", *QUANTILES) or all(tells_values(release.by_name[name]) for name in names):
        sentence = ""
    elif question.kind == "mean":
        sentence = (
            "Mean of representative values: every row has the representative value of its bin. Exact values may lie anywhere "
            "in their bins. The interval for exact values allows for all such values."
        )
        column = release.by_name[names[0]]
        if ends := open_bins(column):
            low, high = column.bounds or (-math.inf, math.inf)
            sentence += (
                f" The open bins of {column.name} ({listing(ends)}) end at the public bounds {low:.15g} and {high:.15g} of "
                "the column."
            )
    else:
        sentence = (
            "Slope of representative values: every row has the representative values of its bins. Nothing is known about the "
            "slope of the exact values."
        )
    names += [question.weight] if question.weight else []
    clipped = [release.by_name[name] for name in names if release.by_name[name].clipped and release.by_name[name].bounds]
    for column in clipped:
        low, high = column.bounds or (0.0, 0.0)
        sentence += f" Values of {column.name} below {low:.15g} or above {high:.15g} count as these bounds."
    return sentence.strip()


def _unit(release: PublishedRelease, target: str, column: str, name: str) -> str:
    """Return the unit of a slope, such as "kg per unit of height (cm)", for the `name` of the column in the question."""
    per = release.by_name[column].unit
    return f"{release.by_name[target].unit} per unit of {name}{f' ({per})' if per else ''}".strip()


# The change of a number between two yearly releases, computed from release.json, for cards that have no noisy tables.
#
# `trend` computes the same change from the noisy tables (theory 13.15, changes between releases). Here the published intervals
# are used, which have six digits. An end of an interval may have been cut off at the possible range. The distance to this end
# is then taken from the other end.

# Kinds of questions whose intervals follow theory 13.8, measured ratios. (The interval of a median consists of bins.)
_COVERED = ("share ", "mean ")


@dataclass(frozen=True, kw_only=True)
class StatedChange:
    """The change of a published estimate between two releases, with an interval of the same confidence as theirs.

    Attributes
    ----------
    of_bins : whether the numbers use representative values of bins instead of exact values.
    """

    estimate: float
    low: float
    high: float
    unit: str
    of_bins: bool

    @property
    def within_noise(self) -> bool:
        return self.low <= 0 <= self.high


def stated_change(earlier_part: IntendedEstimatePart, later_part: IntendedEstimatePart) -> StatedChange | None:
    """Compute the change between two published estimates, or None if one has no interval or the two are not comparable."""
    later, earlier = _interval(later_part), _interval(earlier_part)
    if later is None or earlier is None or (earlier_part.question, earlier_part.unit) != (later_part.question, later_part.unit):
        return None
    of_bins = later_part.binned_low is not None
    if of_bins != (earlier_part.binned_low is not None):
        return None
    low, middle, high = difference_of_intervals(later, earlier, 0.0)
    return StatedChange(estimate=middle, low=low, high=high, unit=later_part.unit, of_bins=of_bins)


def _interval(part: IntendedEstimatePart) -> Interval | None:
    """Return the lower end, estimate and upper end of a published estimate, or None if no change can be computed from it."""
    low, high = (part.low, part.high) if part.binned_low is None else (part.binned_low, part.binned_high)
    if part.ratios or not part.question.startswith(_COVERED) or None in (part.estimate, low, high):
        return None
    middle, low, high = float(part.estimate or 0), float(low or 0), float(high or 0)
    below, above = middle - low, high - middle
    if part.unit in ("", "rows") and low <= 0:
        below = max(below, above)
    if part.unit == "" and part.question.startswith("share ") and high >= 1:
        above = max(below, above)
    return middle - below, middle, middle + above


# The changes of a statistic over several releases from year to year, and its mean level over all years.
#
# The noise of two releases is independent, and so is the draw of their rows. This also holds if the later release started from
# the earlier release. The start affects the released rows, but never the noisy tables. So the interval of a change combines the
# intervals of the two years without a correlation (theory 13.15, changes between releases).

T = TypeVar("T")

CHANGES = (
    "Changes: the interval of a change combines the intervals of the two years, whose noise is independent. Each interval "
    "holds on its own: if nothing changed, about one of twenty intervals excludes zero."
)
SAME_PERSONS = (
    "Population, changes: the years are treated as independent samples. If both years contain the same persons, the "
    "intervals are usually wider than necessary."
)
LEVEL = "Level: the mean over the years, weighted by the number of released rows in each year."


@dataclass(frozen=True, kw_only=True, eq=False)
class _Year:
    """One year of a trend: the tables of its release, the parsed question, and the averages of each group."""

    name: str
    tables: PublishedTables
    asked: Question
    found: dict[str, list[Average]]
    times: float


def trend(
    releases: Sequence[PublishedRelease | str | Path], question: str, *, confidence: float = 0.95, together: bool = False
) -> Estimate:
    """Estimate a share, mean or median in several releases, with intervals for the changes and for the mean level of all
    years.

    The mean level is the mean over the years, weighted by the number of rows in each year. There is no mean level of
    medians.

    Parameters
    ----------
    releases : at least two releases (loaded releases or their folders), from the earliest to the latest.
    question : a question as in `estimate`. Slopes and comparisons of two groups are not possible.
    confidence : confidence of each interval on its own.
    together : if True, the intervals of all years, changes and levels hold at the same time with this confidence.

    Returns
    -------
    The numbers of each year and the level (`terms`), and the changes from each year to the next and from the first to the
    last (`contrasts`).

    Raises
    ------
    InputError : in the cases of `estimate`, with the name of the release. Also if two releases have the same name or the
        same noise, or if the question has different meanings because the bins or units differ.
    """
    years = [_year(release, question) for release in releases]
    names = [year.name for year in years]
    if len(years) < 2 or len(set(names)) < len(names):
        raise InputError(
            f"A trend needs two or more releases with different names or years. Their names are: {', '.join(names) or 'none'}."
        )
    first = years[0]
    for index, year in enumerate(years[1:], 1):
        if expected := other_meaning(first.asked, first.tables.release, year.tables.release):
            raise InputError(f"The question has different meanings in {first.name} and {year.name}: {expected}.")
        for earlier in years[:index]:
            if _same_noise(earlier, year):
                raise InputError(
                    f"{year.name} has the same noisy tables as {earlier.name}, so it is a copy or an erratum of "
                    f"{earlier.name}. Leave out one of these releases."
                )
    labels = [label for label in first.found if all(label in year.found for year in years)]
    pairs = list(itertools.pairwise(years)) + ([(first, years[-1])] if len(years) > 2 else [])
    in_classes = bool(first.asked.weight) and not tells_values(first.tables.release.by_name[first.asked.weight])
    by_bins = in_classes or (first.asked.kind == "mean" and not _tells_values(first))
    has_level = first.asked.kind not in QUANTILES
    n_intervals = sum(intervals_of(year.asked, year.tables.release, len(year.found)) for year in years)
    n_intervals += len(labels) * (len(pairs) * (2 if by_bins else 1) + has_level)
    among = n_intervals if together else 1
    ask = partial(answered, question=question, confidence=confidence, among=among)
    answers = [_of_year(year.name, partial(ask, year.tables.release)) for year in years]
    by_year = zip(years, answers, strict=True)
    terms = [replace(term, group=_named(year.name, term.group)) for year, answer in by_year for term in answer.terms]
    changes = [
        replace(
            _change(first_year, second_year, label, confidence, among),
            name=_named(f"{first_year.name} to {second_year.name}", label),
        )
        for label in labels
        for first_year, second_year in pairs
    ]
    terms += [_level(years, label, confidence, among) for label in labels if has_level]
    approximate = dict.fromkeys(sentence for of in answers for sentence in of.approximate)
    not_a_sample = tuple(dict.fromkeys(reason for of in answers for reason in of.not_a_sample))
    if not_a_sample:
        terms, changes = ([term.without(POPULATION) for term in of_terms] for of_terms in (terms, changes))
    level = [LEVEL] if has_level else []
    return Estimate(
        question=question,
        kind=first.asked.kind,
        by=first.asked.by,
        terms=tuple(terms),
        contrasts=tuple(changes),
        confidence=confidence,
        together=together,
        n_intervals=n_intervals,
        not_a_sample=not_a_sample,
        weighting=answers[0].weighting,
        weighted=answers[0].weighted,
        design=" ".join(f"{year.name}: {of.design}" for year, of in zip(years, answers, strict=True) if of.design),
        n_rows=sum(year.tables.release.n_rows for year in years),
        about="; ".join(f"{year.name}: {of.about}" for year, of in zip(years, answers, strict=True)),
        binned=answers[0].binned,
        approximate=(*approximate, CHANGES, *([] if not_a_sample else [SAME_PERSONS]), *level),
        of=answers[0].of,
        releases=tuple(names),
    )


def _year(release: PublishedRelease | str | Path, question: str) -> _Year:
    published = release if isinstance(release, PublishedRelease) else load(release)
    name = _name(published.folder)

    def read() -> _Year:
        asked = asked_of(question, published)
        if asked.kind == "slope" or asked.groups:
            raise InputError(f"{question!r}: a trend can only be computed for a share, a mean, a median or a quantile.")
        tables, times = PublishedTables(published), measured_times(published, None) or 1.0
        return _Year(name=name, tables=tables, asked=asked, found=dict(groups(tables, asked)), times=times)

    return _of_year(name, read)


def _of_year(name: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except InputError as error:
        problem = str(error)
    raise InputError(f"{name}: {problem}")


def _same_noise(first: _Year, second: _Year) -> bool:
    return [table.values.tolist() for table in first.tables.tables] == [table.values.tolist() for table in second.tables.tables]


def _name(folder: Path) -> str:
    """Return the year of a release in a multi-year plan, otherwise the name of its folder."""
    try:
        series = read_leniently((folder / "release.json").read_bytes()).series
    except (OSError, Unexpected):
        series = None
    year = None if series is None or series.years is None else series.years.year
    return folder.absolute().name if year is None else str(year)


def _named(year: str, label: str) -> str:
    return f"{year}, {label}" if label else year


def _tells_values(year: _Year) -> bool:
    return tells_values(year.tables.release.by_name[year.asked.parts[0].column])


def _level_of(years: Sequence[_Year], confidence: float, among: int) -> float:
    """Return the confidence of each single interval with which `among` intervals together have the promised confidence."""
    lost = sum(1 - confidence - year.tables.kept.spare(confidence) for year in years)
    risk = 1 - confidence - lost
    if not risk > 0:
        raise InputError(
            f"The confidence {confidence:g} is too high for {len(years)} releases. Ask for a lower confidence or for fewer "
            "releases."
        )
    return 1 - risk / math.prod(year.times for year in years) / among


def _change(earlier_year: _Year, later_year: _Year, label: str, confidence: float, among: int) -> Term:
    level, parsed = _level_of([earlier_year, later_year], confidence, among), later_year.asked
    later, earlier = ((year.tables, year.asked, label, year.found[label]) for year in (later_year, earlier_year))
    term = _against(later, earlier, level)[0]
    return judged(term.name, term, later_year.tables, parsed)


def _level(years: Sequence[_Year], label: str, confidence: float, among: int) -> Term:
    """Compute the mean of the answers of all years for one group, weighted by numbers of rows."""
    averages = [year.found[label][0] for year in years]
    level = _level_of(years, confidence, among)
    n_rows = sum(year.tables.release.n_rows for year in years)
    share = [year.tables.release.n_rows / n_rows for year in years]
    of_averages = [intervals(average, level, None) for average in averages]
    of_file, of_population = (_weighted(share, of_years) for of_years in zip(*of_averages, strict=True))
    ends = of_file[0], of_file[2], of_population[0], of_population[2]
    is_finite = all(map(math.isfinite, ends))
    column = years[0].asked.column
    term = Term(
        estimable=is_finite,
        name=f"level of {column or 'share'}",
        group=_named("level, by rows", label),
        unit=years[0].tables.release.by_name[years[0].asked.parts[0].column].unit if column else "",
    )
    if not is_finite:
        return term
    error = math.hypot(*(part * average.file.standard_error for part, average in zip(share, averages, strict=True)))
    term = replace(term, estimate=known(of_file[1]), standard_error=known(error)).within(ends)
    in_bins = (bool(column) and not _tells_values(years[0])) or any(average.own for average in averages)
    return term.of_bin_numbers() if in_bins else term


def _weighted(shares: Sequence[float], of_years: Sequence[Interval]) -> Interval:
    """Return the confidence interval of a weighted mean of independent estimates.

    The squared distance from the mean to an end is the sum of the squared weighted distances of the estimates.
    """
    middle = sum(share * estimate for share, (_, estimate, _) in zip(shares, of_years, strict=True))
    below = math.hypot(*(share * (estimate - low) for share, (low, estimate, _) in zip(shares, of_years, strict=True)))
    above = math.hypot(*(share * (high - estimate) for share, (_, estimate, high) in zip(shares, of_years, strict=True)))
    return middle - below, middle, middle + above
