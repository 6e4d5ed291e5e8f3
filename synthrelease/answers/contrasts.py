"""Two groups against each other: differences and ratios of two shares or means, each known with an interval of its own.

An end of the interval of a difference is as far from the estimate as the ends of both intervals together: the square root of
the sum of squares, less what their noises have in common (method of variance estimates recovery: Zou and Donner 2008; theory
13.13, contrasts). Ratios are differences of logarithms, odds ratios those of logits. It takes the intervals of the two groups
as they are, so that it is as lopsided and as wide as these where cells are small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from synthrelease.answers.averages import OPEN, Average, Ratio, known
from synthrelease.answers.words import Term

Interval = tuple[float, float, float]
"""Low end, estimate, high end."""

_NOTHING: Interval = (math.nan, math.nan, math.nan)


def of_shares(first: Average, second: Average, level: float) -> list[Term]:
    """Difference, ratio and odds ratio of two shares; without numbers where the noise does not tell a denominator from 0."""
    return [
        _term("risk difference", "", first, second, level),
        _term("risk ratio", "", first, second, level, _log),
        _term("odds ratio", "", first, second, level, _logit),
    ]


def of_means(unit: str, first: list[Average], second: list[Average], values_told: bool, level: float) -> Term:
    """The difference of two means, by the numbers that stand for bins and for the file's own values.

    Parameters
    ----------
    first, second : of each group by the numbers that stand for bins; and by the ends of these where they are others and known.
    values_told : whether the numbers are the values.
    """
    term = _term("difference of means", unit, first[0], second[0], level)
    if values_told:
        return term
    ends = OPEN
    if len(first) > 1:
        least, most = (_both(first[1], second[2], level), _both(first[2], second[1], level))
        ends = (least[0][0], most[0][2], least[1][0], most[1][2])
    return replace(
        term,
        low=known(ends[0]),
        high=known(ends[1]),
        population_low=known(ends[2]),
        population_high=known(ends[3]),
        binned_low=term.low,
        binned_high=term.high,
        population_binned_low=term.population_low,
        population_binned_high=term.population_high,
    )


def of_medians(unit: str, first: Term, second: Term) -> Term:
    """The difference of two medians, whose intervals hold together (each has half of the risk)."""

    def less(one: float | None, other: float | None) -> float | None:
        return None if one is None or other is None else one - other

    return Term(
        name="difference of medians",
        group="",
        unit=unit,
        estimate=less(first.estimate, second.estimate),
        low=less(first.low, second.high),
        high=less(first.high, second.low),
        population_low=less(first.population_low, second.population_high),
        population_high=less(first.population_high, second.population_low),
    )


def _term(
    name: str,
    unit: str,
    first: Average,
    second: Average,
    level: float,
    scale: Callable[[float], float] | None = None,
) -> Term:
    """A difference, or, on a scale of logarithms, a ratio."""
    back = float if scale is None else math.exp
    (low, middle, high), of_population = _both(first, second, level, scale)
    if not math.isfinite(high):  # a denominator may be 0, or a group without rows
        return Term(name=name, group="", unit=unit)
    errors = [_error(one, other) if scale is None else None for one, other in _pairs(first, second)]
    return Term(
        name=name,
        group="",
        unit=unit,
        estimate=known(back(middle)),
        standard_error=errors[0],
        low=known(back(low)),
        high=known(back(high)),
        population_standard_error=errors[1],
        population_low=known(back(of_population[0])) if math.isfinite(of_population[2]) else None,
        population_high=known(back(of_population[2])) if math.isfinite(of_population[2]) else None,
    )


def _pairs(first: Average, second: Average) -> tuple[tuple[Ratio, Ratio], tuple[Ratio, Ratio]]:
    return (first.file, second.file), (first.population, second.population)


def _both(
    first: Average, second: Average, level: float, scale: Callable[[float], float] | None = None
) -> tuple[Interval, Interval]:
    """For the file and for a population; NaN where one of the groups is told nothing of."""
    of_file, of_population = zip(intervals(first, level, scale), intervals(second, level, scale), strict=True)
    found = [
        less(*groups, _correlation(*ratios))
        for groups, ratios in zip((of_file, of_population), _pairs(first, second), strict=True)
    ]
    if scale is None:  # what the groups can be limits a difference, too
        least = first.file.lowest + first.middle - second.file.highest - second.middle
        most = first.file.highest + first.middle - second.file.lowest - second.middle
        shown = first.file.estimate + first.middle - second.file.estimate - second.middle
        found = [(max(low, least), shown, min(high, most)) if math.isfinite(high) else _NOTHING for low, _, high in found]
    return found[0], found[1]


def intervals(group: Average, level: float, scale: Callable[[float], float] | None) -> list[Interval]:
    """For the file and for a population. On its own scale a number has the interval that is not cut off at what is possible.

    An estimate that is cut off is no longer in the middle of its noise: differences of such ones miss in one direction.
    """
    low, high = group.ends(level)[:2]
    if group.file.denominator <= 0 or (low <= group.file.lowest + group.middle and high >= group.file.highest + group.middle):
        return [_NOTHING, _NOTHING]
    if scale is not None:
        ends = group.ends(level)
        middle = scale(group.file.estimate + group.middle)
        return [(scale(ends[place]), middle, scale(ends[place + 1])) for place in (0, 2)]
    free = Average(
        file=replace(group.file, lowest=-math.inf, highest=math.inf),
        population=replace(group.population, lowest=-math.inf, highest=math.inf),
        middle=group.middle,
    )
    ends = free.ends(level)
    return [(ends[place], free.file.quotient + group.middle, ends[place + 1]) for place in (0, 2)]


def less(one: Interval, other: Interval, correlation: float) -> Interval:
    """One number less another. An infinite end is 0 or 1 of a share, which it cannot be beyond."""
    if not (math.isfinite(one[2]) and math.isfinite(other[0])):  # the denominator of a ratio may be 0
        return _NOTHING
    if not (math.isfinite(one[1]) and math.isfinite(other[1])):  # the estimate is 0: the other end by both ends (Bonferroni)
        return -math.inf, -math.inf, one[2] - other[0]
    middle = one[1] - other[1]
    return (
        middle - _together(one[1] - one[0], other[2] - other[1], correlation),
        middle,
        middle + _together(one[2] - one[1], other[1] - other[0], correlation),
    )


def _together(one: float, other: float, correlation: float) -> float:
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return math.sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))


def _correlation(first: Ratio, second: Ratio) -> float:
    """Of two quotients, to first order: by the noises that both have. Rows of one group are in the other one never.

    Members of one group may have the root of those of the other: then drawing moves both, in the worst case apart.
    """
    errors = first.standard_error * second.standard_error
    return min(1.0, max(-1.0, _covariance(first, second) / errors)) if errors > 0 else 0.0


def _covariance(first: Ratio, second: Ratio) -> float:
    """0 for two releases: neither has a noise or a drawing of the other."""
    if first.noises is not second.noises:
        return 0.0
    of_quotients = [(ratio.weights[:1] - ratio.quotient * ratio.weights[1:]) / ratio.denominator for ratio in (first, second)]
    of_noise = float(first.noises.covariance(of_quotients[0], of_quotients[1])[0, 0])
    return of_noise - (math.sqrt(_drawing(first) * _drawing(second)) if first.clustered else 0.0)


def _drawing(ratio: Ratio) -> float:
    """The variance of a quotient by the drawing of rows alone."""
    along = np.array([1.0, -ratio.quotient]) / ratio.denominator
    return max(0.0, float(along @ ratio.sampling @ along))


def _error(first: Ratio, second: Ratio) -> float | None:
    variance = first.standard_error**2 + second.standard_error**2 - 2 * _covariance(first, second)
    return known(math.sqrt(max(0.0, variance)))


def _logit(share: float) -> float:
    return _log(share) - _log(1 - share)


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf
