"""Shares, means, medians or the slopes of a regression, with intervals that hold the file's."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from synthrelease.bounds.kept import RISK
from synthrelease.bounds.limits import check_confidence
from synthrelease.bounds.measured import measured_times
from synthrelease.bounds.questions import Question, about, parse_question
from synthrelease.bounds.values import tells_values
from synthrelease.errors import InputError, listing
from synthrelease.estimates.averages import Average, groups, term_in, term_of
from synthrelease.estimates.estimable import asked_of, judged, open_bins
from synthrelease.estimates.tables import NoisyTables
from synthrelease.estimates.words import Estimate, Term
from synthrelease.published import PublishedRelease, load

RATIO = "The file: the law of the noise is computed to about five digits of a probability."
TOGETHER = (
    "Two groups: the interval of a difference is put together from those of the two groups, with what their noises have in "
    "common. A ratio has none where the noise does not tell its denominator from 0."
)
SAMPLE = (
    "Population: the error of sampling is taken as normal, with a variance that is itself estimated from the noisy tables. "
    "Small groups and rare values need more rows for that than they may have."
)
DRAWN = (
    "The file: a release works with rows that are drawn from those that the rules keep. The error of drawing is taken as "
    "normal, with a variance that is estimated from the noisy tables."
)
SLOPES = (
    "The file: the noise of the sums of products is known, but that of the other columns' part in a slope is followed to "
    "first order (and its bias to second)."
)
EQUAL = "Population: equal variances around the line are assumed, because no published table holds all columns together."
ROBUST = "Population: variances around the line may differ between rows (robust standard errors)."
OF_MEMBERS = (
    "Members: roots are drawn with all their members. How alike these are is estimated where a noisy table holds two of them "
    "together; where none does they are taken to be as alike as can be, and intervals are wider than they need be."
)
SELECTED = (
    "The noise decides which noisy tables were published, and on which bins: at most {times:.3g} choices were possible on "
    "average. The risk of each interval is shared among them, which makes it wider (Bonferroni)."
)


def estimate(
    release: PublishedRelease | str | Path, question: str, *, confidence: float = 0.95, together: bool = False
) -> Estimate:
    """Estimate a number of the file from published noisy tables. Needs no private data, costs nothing.

    The file: those of its rows that the public rules keep. That a release works with a part of them is one more error.

    Parameters
    ----------
    release : a loaded release, or its folder.
    question : one of

        - `share CONDITION [by COLUMN] [where CONDITION]`: the share of rows that meet the condition, among the rows that meet
          the second one, for each bin of a column, and how many rows of the file meet both;
        - `mean COLUMN [by COLUMN] [where CONDITION]`: the mean of a column over the rows that are not missing there, by the
          numbers of its bins, and with the interval in which that of the file's own values lies;
        - `median COLUMN [by COLUMN] [where CONDITION]`: the bin that holds the median of these rows;
        - `slope COLUMN on COLUMN, COLUMN, ... [where CONDITION]`: the slopes of the least-squares line of the first column on
          the others (with an intercept), over the rows that are missing in none of them;
        - the same of members, where a release has some and columns of a member are named: "mean age by region" is over all
          members, "mean age_1 by region" over the first ones;
        - `share CONDITION: CONDITION against CONDITION [where CONDITION]`, and likewise with a mean or median: two groups
          against each other. The second may leave out the column of the first ("age >= 35 against < 35") or be "the rest".
          Of shares the difference, the ratio and the odds ratio, of means and medians the difference (theory 13.13, contrasts).

        Conditions have the grammar of the plausibility rules, with limits between released bins.
    confidence : of each interval by itself, at least 0.5 and below 1. Over all noise of the run and the drawing of rows, a
        table is released and an interval does not hold its number with probability 1 - confidence (theory 13.10, numbers of
        the file).
    together : whether all intervals of the answer for the file hold at once with that confidence, and all for a population;
        they are wider (Bonferroni).

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
    before: bool = False,
) -> Estimate:
    """As `estimate`.

    Parameters
    ----------
    among : intervals that share the risk, these and others.
    before : as 1.0.0 answered: with numbers that are not estimable and those of a population whatever is declared, and from
        tables with all columns that a condition names. For `verify`.
    """
    check_confidence(confidence)
    tables = NoisyTables(published)
    times = measured_times(published, None)
    if times is None:
        raise InputError(
            "expected tables that were measured a known number of times before the release, found a search that might never "
            "have ended: nothing can be said of the noise of the tables that were published."
        )
    asked = parse_question(question, published) if before else asked_of(question, published)
    found = [] if asked.kind == "slope" else list(groups(tables, asked))
    if asked.kind != "slope" and len(found) < max(1, len(asked.groups)):
        raise InputError(f"{asked.text!r}: expected rows that there can be, found a group that the rules leave empty.")
    number = intervals_of(asked, published, len(found))
    level = 1 - tables.kept.spare(confidence) / times / (number if together else among)
    compared: list[Term] = []
    if asked.kind == "slope":
        terms, robust = _slopes(tables, asked, level)
        approximate = [SLOPES, SAMPLE, ROBUST if robust else EQUAL]
    else:
        terms = [term_in(tables, asked, label, each, level) for label, each in found]
        approximate = [RATIO, SAMPLE]
    if asked.groups:
        compared = _compared(tables, asked, found, level)
        approximate = [RATIO, TOGETHER, SAMPLE]
    if published.not_a_sample:
        approximate = [text for text in approximate if text not in (SAMPLE, ROBUST, EQUAL)]
    if not before:
        terms = [judged(asked.kind, term, tables, asked) for term in terms]
        compared = [judged(term.name, term, tables, asked) for term in compared]
    if tables.kept.left_out:
        approximate.insert(1, DRAWN)
    if asked.slots:
        approximate.append(OF_MEMBERS)
    if times > 1:
        approximate.append(SELECTED.format(times=times))
    return Estimate(
        question=asked.text,
        kind=asked.kind,
        by=asked.by,
        terms=tuple(terms),
        contrasts=tuple(compared),
        confidence=confidence,
        together=together,
        n_intervals=number,
        not_a_sample=published.not_a_sample,
        n_rows=published.n_rows,
        about=about(published, asked, tables.kept.in_words(RISK * (1 - confidence))),
        of="members" if asked.slots else "rows",
        binned=_of_bins(published, asked),
        approximate=tuple(approximate),
    )


def intervals_of(asked: Question, release: PublishedRelease, n_groups: int) -> int:
    """How many intervals for the file an answer has: a share has one of its rows as well, a mean of bins two."""
    if asked.kind == "slope":
        return len(asked.on)
    by_bins = asked.kind == "mean" and not tells_values(release.by_name[asked.parts[0].column])
    contrasts = (3 if asked.kind == "share" else 2 if by_bins else 1) if asked.groups else 0
    return n_groups * (2 if asked.kind == "share" or by_bins else 1) + contrasts


def _compared(tables: NoisyTables, asked: Question, found: list[tuple[str, list[Average]]], level: float) -> list[Term]:
    """Two groups against each other."""
    from synthrelease.estimates.contrasts import of_means, of_medians, of_shares

    (_, first), (_, second) = found
    if not asked.column:
        return of_shares(first[0], second[0], level)
    column = tables.release.by_name[asked.parts[0].column]
    if asked.kind == "mean":
        return [of_means(column.unit, first, second, tells_values(column), level)]
    one, other = (term_in(tables, asked, label, each, (1 + level) / 2) for label, each in found)
    return [of_medians(column.unit, one, other)]


def _slopes(tables: NoisyTables, asked: Question, level: float) -> tuple[list[Term], bool]:
    """The slope of each column, and whether variances around the line may differ between rows."""
    from synthrelease.estimates.slopes import slopes

    found, published = slopes(tables, asked), tables.release
    part = asked.parts[0]  # the columns of a member are the same in all slots
    exact = all(tells_values(published.by_name[name]) for name in (part.column, *part.on))
    made = []
    for name, own, of_file, of_population in zip(asked.on, part.on, found.file, found.population, strict=True):
        slope = Average(file=of_file, population=of_population)
        made.append(term_of(name, "", _unit(published, part.column, own, name), slope, slope.ends(level)))
    if not exact:  # what the values in a bin do to a slope does not follow from its limits
        made = [_of_numbers(term) for term in made]
    return made, found.robust


def _of_numbers(term: Term) -> Term:
    """A slope of the numbers that stand for bins, of which nothing is said for the file's own values."""
    return replace(
        term,
        low=None,
        high=None,
        population_low=None,
        population_high=None,
        binned_low=term.low,
        binned_high=term.high,
        population_binned_low=term.population_low,
        population_binned_high=term.population_high,
    )


def _of_bins(release: PublishedRelease, asked: Question) -> str:
    """What the numbers of bins mean for an answer; empty where they are the values of the rows."""
    names = [name for name in (asked.parts[0].column, *asked.parts[0].on) if name]
    if asked.kind == "median" or all(tells_values(release.by_name[name]) for name in names):
        said = ""
    elif asked.kind == "mean":
        said = (
            "Of bin numbers: every row counts with the number that stands for its bin. The file's own values lie anywhere "
            "between the limits of their bins; the interval for them leaves room for that."
        )
        column = release.by_name[names[0]]
        if ends := open_bins(column):
            low, high = column.bounds or (-math.inf, math.inf)
            said += f" Open bins of {column.name} ({listing(ends)}) end at its public bounds, {low:.15g} and {high:.15g}."
    else:
        said = (
            "A slope of bin numbers: every row counts with the numbers that stand for its bins. It is not the slope of the "
            "file's own values, of which nothing is said."
        )
    clipped = [release.by_name[name] for name in names if release.by_name[name].clipped and release.by_name[name].bounds]
    for column in clipped:
        low, high = column.bounds or (0.0, 0.0)
        said += f" Values of {column.name} below {low:.15g} or above {high:.15g} count as these bounds."
    return said.strip()


def _unit(release: PublishedRelease, target: str, own: str, name: str) -> str:
    """Of a slope: that of the target per one unit of the column, which is asked for by this name."""
    per = release.by_name[own].unit
    return f"{release.by_name[target].unit} per unit of {name}{f' ({per})' if per else ''}".strip()
