"""Compare two groups: differences and ratios of two shares or means, with intervals.

For a difference, the squared distance from the estimate to an end of its interval is the sum of these squared distances for
the two groups, corrected for noise that both groups share. This is the method of variance estimates recovery (Zou and
Donner 2008; theory 13.13, contrasts). Ratios are computed as differences of logarithms, and odds ratios as differences of
logits. For small cells, all these intervals are asymmetric.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from synthrelease.answers.averages import OPEN, Average, Ratio
from synthrelease.answers.words import INTERVAL, Term, known

Interval = tuple[float, float, float]
"""Low end, estimate and high end of an interval."""

_NOTHING: Interval = (math.nan, math.nan, math.nan)


def of_shares(first: Average, second: Average, level: float) -> list[Term]:
    """Return the difference, ratio and odds ratio of two shares. A ratio has no estimate and no interval if its denominator
    may be 0.
    """
    scales: dict[str, Callable[[float], float] | None] = {"risk difference": None, "risk ratio": _log, "odds ratio": _logit}
    terms = []
    for name, scale in scales.items():
        term = _term(name, "", first, second, level, scale)
        if first.own and second.own:  # the smallest and largest contrast for weights within their limits
            low, high = (_term(name, "", first.own[side], second.own[1 - side], level, scale) for side in (0, 1))
            ends = (low.low, high.high, low.population_low, high.population_high)
            fields: dict[str, Any] = dict(zip(INTERVAL, ends, strict=True))
            term = replace(term.of_bin_numbers(), **fields)
        terms.append(term)
    return terms


def of_means(unit: str, first: list[Average], second: list[Average], values_told: bool, level: float) -> Term:
    """Return the difference of two means, by representative values of bins and for the exact values.

    Parameters
    ----------
    first, second : the averages of each group: by representative values, then, if values in a bin may differ within known
        limits, by the ends of the bins.
    values_told : whether the representative values equal the exact values.
    """
    term = _term("difference of means", unit, first[0], second[0], level)
    in_classes = any(average.own for average in (*first, *second))  # nothing is stated about the exact weights in the file
    if values_told and not in_classes:
        return term
    ends = OPEN
    if len(first) > 1 and not in_classes:
        lowest, highest = (_both(first[1], second[2], level, None), _both(first[2], second[1], level, None))
        ends = (lowest[0][0], highest[0][2], lowest[1][0], highest[1][2])
    return term.of_bin_numbers().within(ends)


def of_medians(name: str, unit: str, first: Term, second: Term) -> Term:
    """Return the difference of two quantiles, whose intervals hold at the same time because each gets half of the risk."""

    def difference(first_end: float | None, second_end: float | None) -> float | None:
        return None if first_end is None or second_end is None else first_end - second_end

    return Term(
        name=name,
        group="",
        unit=unit,
        estimate=difference(first.estimate, second.estimate),
        low=difference(first.low, second.high),
        high=difference(first.high, second.low),
        population_low=difference(first.population_low, second.population_high),
        population_high=difference(first.population_high, second.population_low),
    )


def _term(
    name: str, unit: str, first: Average, second: Average, level: float, scale: Callable[[float], float] | None = None
) -> Term:
    """Return the difference of two shares or means or, with `scale` (such as the logarithm), their ratio, with intervals."""
    back = float if scale is None else math.exp
    (low, middle, high), of_population = _both(first, second, level, scale)
    if not math.isfinite(high):  # a denominator may be 0, or a group may have no rows
        return Term(name=name, group="", unit=unit)
    of_file, of_all = (_error(ratio, against) if scale is None else None for ratio, against in _pairs(first, second))
    low_of_population, _, high_of_population = of_population if math.isfinite(of_population[2]) else _NOTHING
    return Term(
        name=name, group="", unit=unit, estimate=known(back(middle)), standard_error=of_file, population_standard_error=of_all
    ).within((back(low), back(high), back(low_of_population), back(high_of_population)))


def _pairs(first: Average, second: Average) -> tuple[tuple[Ratio, Ratio], tuple[Ratio, Ratio]]:
    return (first.file, second.file), (first.population, second.population)


def _both(first: Average, second: Average, level: float, scale: Callable[[float], float] | None) -> tuple[Interval, Interval]:
    """Return the confidence intervals for a difference, for the file and for a population, or NaN if nothing is known about
    a group.
    """
    of_file, of_population = zip(intervals(first, level, scale), intervals(second, level, scale), strict=True)
    pair = [
        difference_of_intervals(*groups, _correlation(*ratios))
        for groups, ratios in zip((of_file, of_population), _pairs(first, second), strict=True)
    ]
    if scale is None:  # the possible range of the groups also limits a difference
        lowest = first.file.lowest + first.middle - second.file.highest - second.middle
        highest = first.file.highest + first.middle - second.file.lowest - second.middle
        estimate = first.file.estimate + first.middle - second.file.estimate - second.middle
        pair = [(max(low, lowest), estimate, min(high, highest)) if math.isfinite(high) else _NOTHING for low, _, high in pair]
    return pair[0], pair[1]


def intervals(group: Average, level: float, scale: Callable[[float], float] | None) -> list[Interval]:
    """Return the intervals of a group for the file and for a population. Without `scale`, they may extend beyond the
    possible range.

    A difference of two estimates limited to this range would be biased, because the limit cuts the noise on one side.
    """
    low, high = group.ends(level)[:2]
    if group.file.denominator <= 0 or (low <= group.file.lowest + group.middle and high >= group.file.highest + group.middle):
        return [_NOTHING, _NOTHING]
    if scale is not None:
        ends = group.ends(level)
        middle = scale(group.file.estimate + group.middle)
        return [(scale(ends[side]), middle, scale(ends[side + 1])) for side in (0, 2)]
    free = Average(
        file=replace(group.file, lowest=-math.inf, highest=math.inf),
        population=replace(group.population, lowest=-math.inf, highest=math.inf),
        middle=group.middle,
    )
    ends = free.ends(level)
    return [(ends[side], free.file.quotient + group.middle, ends[side + 1]) for side in (0, 2)]


def difference_of_intervals(first: Interval, second: Interval, correlation: float) -> Interval:
    """Subtract two estimates whose errors have a known correlation. For shares, an infinite end means a share of 0 or 1."""
    if not (math.isfinite(first[2]) and math.isfinite(second[0])):  # the denominator of a ratio may be 0
        return _NOTHING
    if not (math.isfinite(first[1]) and math.isfinite(second[1])):  # an estimate of 0 (Bonferroni)
        return -math.inf, -math.inf, first[2] - second[0]
    middle = first[1] - second[1]
    return (
        middle - _together(first[1] - first[0], second[2] - second[1], correlation),
        middle,
        middle + _together(first[2] - first[1], second[1] - second[0], correlation),
    )


def _together(first: float, second: float, correlation: float) -> float:
    if not (math.isfinite(first) and math.isfinite(second)):
        return math.inf
    return math.sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second))


def _correlation(first: Ratio, second: Ratio) -> float:
    """Return, to first order, the correlation between the errors of two shares or means over different rows.

    It comes from shared noise and from drawing roots (households): in the worst case, a root moves the two quotients in
    opposite directions.
    """
    errors = first.standard_error * second.standard_error
    return min(1.0, max(-1.0, _covariance(first, second) / errors)) if errors > 0 else 0.0


def _covariance(first: Ratio, second: Ratio) -> float:
    """Return the covariance of two estimated ratios, which is 0 for two releases with independent noise and samples."""
    if first.noises is not second.noises:
        return 0.0
    of_quotients = [(ratio.weights[:1] - ratio.quotient * ratio.weights[1:]) / ratio.denominator for ratio in (first, second)]
    of_noise = float(first.noises.covariance(of_quotients[0], of_quotients[1])[0, 0])
    if len(first.between) and len(second.between):  # of the same clusters
        between = np.cov(first.between / first.denominator, second.between / second.denominator)[0, 1]
        return of_noise + len(first.between) * float(between)
    return of_noise - (math.sqrt(_drawing(first) * _drawing(second)) if first.clustered else 0.0)


def _drawing(ratio: Ratio) -> float:
    along = np.array([1.0, -ratio.quotient]) / ratio.denominator
    return max(0.0, float(along @ ratio.sampling @ along))


def _error(first: Ratio, second: Ratio) -> float | None:
    variance = first.standard_error**2 + second.standard_error**2 - 2 * _covariance(first, second)
    return known(math.sqrt(max(0.0, variance)))


def _logit(share: float) -> float:
    return _log(share) - _log(1 - share)


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf
