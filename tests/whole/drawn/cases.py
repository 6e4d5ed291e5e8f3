"""A case of the audit: one mechanism, two neighbouring tables, and the epsilon that is claimed for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

# What counts of hits prove about epsilon: Clopper-Pearson bounds, and how many draws a wrong scale takes to be found.


@dataclass(frozen=True, kw_only=True)
class Hits:
    """The number of hits of an event in independent draws."""

    hits: int
    draws: int


def lower_bounds(hits: np.ndarray, draws: int, error: float) -> np.ndarray:
    """One-sided lower bounds of probabilities, each too high with probability at most `error` (Clopper & Pearson 1934).

    Parameters
    ----------
    hits : (k,) numbers in [0, draws]; they need not be whole, which is used to look ahead.
    """
    from scipy.special import betaincinv

    hits = np.asarray(hits, dtype=float)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), draws - hits + 1, error), 0.0)


def upper_bounds(hits: np.ndarray, draws: int, error: float) -> np.ndarray:
    """One-sided upper bounds of probabilities, each too low with probability at most `error`."""
    return 1.0 - lower_bounds(draws - np.asarray(hits, dtype=float), draws, error)


def shown_by(low: np.ndarray, high: np.ndarray, *, gaussian: bool) -> np.ndarray:
    """The epsilon, or the mu, of events that have at least one probability on the left and at most another on the right.

    Pr[E | left] <= e^eps Pr[E | right] for every event of an eps-DP mechanism. Of a mu-Gaussian one the quantile of N(0, 1) at
    Pr[E | left] is at most mu above that at Pr[E | right] (Dong, Roth & Su 2022, Definition 2.6).
    """
    from scipy.special import ndtri

    if gaussian:
        return np.where(low > 0, ndtri(np.clip(low, 1e-300, 1)) - ndtri(np.clip(high, 1e-300, 1)), -np.inf)
    return np.log(np.maximum(low, 1e-300)) - np.log(high)


def proven(left: Hits, right: Hits, error: float, *, gaussian: bool = False) -> float:
    """An epsilon, or a mu, that a mechanism exceeds with confidence 1 - error, from bounds of both probabilities.

    The event must have been fixed before these draws. Minus infinity when there was no hit on the left.
    """
    low = lower_bounds(np.array([left.hits]), left.draws, error / 2)
    high = upper_bounds(np.array([right.hits]), right.draws, error / 2)
    return float(shown_by(low, high, gaussian=gaussian)[0]) if low[0] > 0 else -math.inf


def draws_to_find(more: float, less: float, claim: float, *, error: float, power: float = 0.999) -> int:
    """Draws on each side after which an event is found to be above a claim with this probability.

    The logarithm of a share of hits has deviation sqrt((1 - p) / (p draws)) about; the difference of two has to exceed the
    claim in spite of both bounds and of bad luck.

    Parameters
    ----------
    more, less : the probabilities of the event on the two sides, ln(more / less) > claim.
    error : of `proven`.
    """
    from scipy.special import ndtri

    first, second = (math.sqrt((1 - p) / p) for p in (more, less))
    deviations = float(ndtri(1 - error / 2)) * (first + second) + float(ndtri(power)) * math.hypot(first, second)
    return math.ceil((deviations / (math.log(more / less) - claim)) ** 2)


# Choosing the event on which two neighbouring tables differ most, from draws that are used for nothing else.
#
# An event is a set of outputs {statistic >= threshold}. Three kinds of statistic compete:
#
# - one number of the output, or its negative;
# - the likelihood ratio of the whole output, where outputs repeat (few distinct ones);
# - the sum of the likelihood ratios of its numbers, each grouped to ranges ("naive Bayes"): near the best event when the
#   numbers carry independent noise.
#
# By Neyman and Pearson the best events are those of large likelihood ratio. Ratios are learned on one half of the draws, the
# event is chosen on the other half, and both are thrown away.

MOST_OUTCOMES = 4096
"""Distinct outputs up to which the likelihood ratio of the whole output is looked at."""

_RANGES = 24
_THRESHOLDS = 400


@dataclass(frozen=True, kw_only=True)
class Event:
    """{output : statistic(output) >= threshold}, with words for it."""

    text: str
    statistic: Callable[[np.ndarray], np.ndarray]
    threshold: float

    def hits(self, outputs: np.ndarray) -> int:
        """Return how many of these outputs (n, n_features) are in the event."""
        return int((self.statistic(outputs) >= self.threshold).sum())


@dataclass(frozen=True, kw_only=True)
class OneNumber:
    """sign * outputs[:, index]."""

    index: int
    sign: int

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        return self.sign * outputs[:, self.index]


@dataclass(frozen=True, kw_only=True)
class SumOfRatios:
    """Sum over the numbers of an output of ln(share on the left / share on the right) of the range that it falls in."""

    edges: tuple[np.ndarray, ...]
    ratios: tuple[np.ndarray, ...]

    @classmethod
    def learned(cls, left: np.ndarray, right: np.ndarray) -> SumOfRatios:
        edges, ratios = [], []
        for of_left, of_right in zip(left.T, right.T, strict=True):
            pooled = np.concatenate([of_left, of_right])
            cuts = np.unique(np.quantile(pooled, np.linspace(0, 1, _RANGES + 1)[1:], method="inverted_cdf"))[:-1]
            counts = [
                np.bincount(np.searchsorted(cuts, side, side="left"), minlength=len(cuts) + 1) for side in (of_left, of_right)
            ]
            edges.append(cuts)
            ratios.append(np.log((counts[0] + 1) / (counts[1] + 1)))
        return cls(edges=tuple(edges), ratios=tuple(ratios))

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        total = np.zeros(len(outputs))
        for column, cuts, ratio in zip(outputs.T, self.edges, self.ratios, strict=True):
            total += ratio[np.searchsorted(cuts, column, side="left")]
        return total


@dataclass(frozen=True, kw_only=True)
class RatioOfOutcome:
    """ln(share on the left / share on the right) of the whole output; outputs never seen have ratio 1."""

    ratios: dict[bytes, float]

    @classmethod
    def learned(cls, left: np.ndarray, right: np.ndarray) -> RatioOfOutcome | None:
        """Learn the ratios; None when there are too many distinct outputs."""
        outcomes, which = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
        if len(outcomes) > MOST_OUTCOMES:
            return None
        which = which.ravel()
        of_left = np.bincount(which[: len(left)], minlength=len(outcomes))
        of_right = np.bincount(which[len(left) :], minlength=len(outcomes))
        ratios = np.log((of_left + 0.5) / (of_right + 0.5))
        return cls(ratios={row.tobytes(): float(ratio) for row, ratio in zip(outcomes, ratios, strict=True)})

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        outcomes, which = np.unique(outputs, axis=0, return_inverse=True)
        return np.array([self.ratios.get(row.tobytes(), 0.0) for row in outcomes])[which.ravel()]


def best_event(
    left: np.ndarray, right: np.ndarray, features: tuple[str, ...], draws: int, error: float, *, gaussian: bool = False
) -> Event:
    """The event that promises the largest proven epsilon, or mu, of left over right.

    Parameters
    ----------
    left, right : (n, n_features) held-out draws, used for this choice alone.
    draws, error : of the test that follows: the promise is for as many draws and bounds of this error.
    """
    learn, judge = slice(0, len(left) // 2), slice(len(left) // 2, None)
    best: tuple[float, Event] | None = None
    for text, statistic in _statistics(left[learn], right[learn], features):
        of_left, of_right = statistic(left[judge]), statistic(right[judge])
        thresholds = _thresholds(np.concatenate([of_left, of_right]))
        promises = _promises(of_left, of_right, thresholds, draws, error, gaussian)
        top = int(np.argmax(promises))
        if best is None or promises[top] > best[0]:
            threshold = float(thresholds[top])
            best = float(promises[top]), Event(text=f"{text} >= {threshold:.6g}", statistic=statistic, threshold=threshold)
    if best is None:
        raise ValueError("an output needs at least one number")
    return best[1]


def _statistics(
    left: np.ndarray, right: np.ndarray, features: tuple[str, ...]
) -> Iterator[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
    for index, name in enumerate(features):
        yield name, OneNumber(index=index, sign=1)
        yield f"-({name})", OneNumber(index=index, sign=-1)
    if len(features) > 1:
        yield "sum of log-likelihood ratios", SumOfRatios.learned(left, right)
    outcomes = RatioOfOutcome.learned(left, right)
    if outcomes is not None:
        yield "log-likelihood ratio of the output", outcomes


def _thresholds(values: np.ndarray) -> np.ndarray:
    distinct = np.unique(values)
    if len(distinct) <= _THRESHOLDS:
        return distinct
    return np.unique(np.quantile(values, np.linspace(0, 1, _THRESHOLDS), method="inverted_cdf"))


def _promises(
    on_left: np.ndarray, on_right: np.ndarray, thresholds: np.ndarray, draws: int, error: float, gaussian: bool
) -> np.ndarray:
    """Compute what the test would prove if its shares were these, each moved by one deviation to the pessimistic side."""
    hits = [len(side) - np.searchsorted(np.sort(side), thresholds, side="left") for side in (on_left, on_right)]
    shares = [np.maximum(hits[0] - np.sqrt(hits[0]), 0) / len(on_left), (hits[1] + np.sqrt(hits[1]) + 1) / len(on_right)]
    low = lower_bounds(shares[0] * draws, draws, error / 2)
    high = upper_bounds(np.minimum(shares[1], 1) * draws, draws, error / 2)
    return shown_by(low, high, gaussian=gaussian)


Draw = Callable[[Any, int], np.ndarray]
"""(table, draws) -> (draws, n_features) outputs of independent runs of a mechanism on a table."""

Side = Literal["left", "right"]

NOT_A_NUMBER = 1e300
"""Stands for NaN among the features, so that outputs can be compared."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Two neighbours and what is claimed of them.

    Attributes
    ----------
    family : the mechanism, for the table of results.
    name : unique among all cases.
    claim : the epsilon that the program states for this mechanism. Natural logarithms, as everywhere. Or its mu.
    draw : the mechanism's outputs on a table; each output is a row of numbers.
    sides : the two tables, as `draw` takes them.
    features : a name for each number of an output.
    draws : draws on each side when nothing else is asked for, besides those that choose the events.
    event : fixed beforehand; None has the events chosen on held-out draws.
    faulty : the claim is known to be wrong, and the audit must find it.
    gaussian : the claim is a mu: telling the tables apart is as hard as telling N(mu, 1) from N(0, 1), or harder.
    alone : the mechanism runs worker processes of its own, so the case runs in the main process.
    """

    family: str
    name: str
    claim: float
    draw: Draw
    sides: tuple[Any, Any]
    features: tuple[str, ...]
    draws: int
    event: Event | None = None
    faulty: bool = False
    gaussian: bool = False
    alone: bool = False

    def sample(self, side: Side, draws: int) -> np.ndarray:
        """Return (draws, n_features) outputs on the table of one side, without NaN."""
        outputs = np.asarray(self.draw(self.sides[side == "right"], draws), dtype=float).reshape(draws, -1)
        if outputs.shape[1] != len(self.features):
            raise ValueError(f"{self.name}: expected {len(self.features)} numbers for each output, found {outputs.shape[1]}")
        return np.nan_to_num(outputs, nan=NOT_A_NUMBER, posinf=NOT_A_NUMBER, neginf=-NOT_A_NUMBER)
