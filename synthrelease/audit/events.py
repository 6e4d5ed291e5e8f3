"""Choosing the event on which two neighbouring tables differ most, from draws that are used for nothing else.

An event is a set of outputs {statistic >= threshold}. Three kinds of statistic compete:

- one number of the output, or its negative;
- the likelihood ratio of the whole output, where outputs repeat (few distinct ones);
- the sum of the likelihood ratios of its numbers, each grouped to ranges ("naive Bayes"): near the best event when the
  numbers carry independent noise.

By Neyman and Pearson the best events are those of large likelihood ratio. Ratios are learned on one half of the draws, the
event is chosen on the other half, and both are thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from synthrelease.audit.hits import lower_bounds, shown_by, upper_bounds

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
        """How many of these outputs (n, n_features) are in the event."""
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
        for mine, theirs in zip(left.T, right.T, strict=True):
            pooled = np.concatenate([mine, theirs])
            cuts = np.unique(np.quantile(pooled, np.linspace(0, 1, _RANGES + 1)[1:], method="inverted_cdf"))[:-1]
            counts = [np.bincount(np.searchsorted(cuts, side, side="left"), minlength=len(cuts) + 1) for side in (mine, theirs)]
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
        """None when there are too many distinct outputs."""
        outcomes, which = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
        if len(outcomes) > MOST_OUTCOMES:
            return None
        which = which.ravel()
        mine = np.bincount(which[: len(left)], minlength=len(outcomes))
        theirs = np.bincount(which[len(left) :], minlength=len(outcomes))
        ratios = np.log((mine + 0.5) / (theirs + 0.5))
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
        mine, theirs = statistic(left[judge]), statistic(right[judge])
        thresholds = _thresholds(np.concatenate([mine, theirs]))
        promises = _promises(mine, theirs, thresholds, draws, error, gaussian)
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
    mine: np.ndarray, theirs: np.ndarray, thresholds: np.ndarray, draws: int, error: float, gaussian: bool
) -> np.ndarray:
    """What the test would prove if its shares were these, each moved by one deviation to the pessimistic side."""
    hits = [len(side) - np.searchsorted(np.sort(side), thresholds, side="left") for side in (mine, theirs)]
    shares = [np.maximum(hits[0] - np.sqrt(hits[0]), 0) / len(mine), (hits[1] + np.sqrt(hits[1]) + 1) / len(theirs)]
    low = lower_bounds(shares[0] * draws, draws, error / 2)
    high = upper_bounds(np.minimum(shares[1], 1) * draws, draws, error / 2)
    return shown_by(low, high, gaussian=gaussian)
