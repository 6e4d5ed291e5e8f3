"""Weight respondents by published totals of strata, and choose the strata privately, as in Merrill (2021), chapter 7.

The module is only used for the tables of the source. The weight of a respondent is the known total of its stratum divided by
the number of respondents in the stratum. A release is weighted after acceptance, at no cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tests.reproduction.imputation import STEPS, Neighbours


@dataclass(frozen=True, kw_only=True, eq=False)
class Respondents:
    """Public records of respondents.

    Attributes
    ----------
    bins : (n,) the finest bin of each respondent, from 0 up.
    base_weights : (n,) weights above 0, which depend only on the design of the survey.
    """

    bins: np.ndarray
    base_weights: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class PostStrata:
    """A set of strata with known totals.

    Attributes
    ----------
    into : (n_bins,) the stratum of each finest bin.
    totals : (n_strata,) the known population of each stratum, > 0.
    smallest_base, largest_base : public bounds on the base weights.
    """

    into: np.ndarray
    totals: np.ndarray
    smallest_base: float = 1.0
    largest_base: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.smallest_base <= self.largest_base < math.inf):
            raise ValueError("the bounds of the base weights must be finite, above 0 and in increasing order")
        if not np.all(self.totals > 0) or set(self.into.tolist()) != set(range(len(self.totals))):
            raise ValueError("each stratum must have a total above 0, and must contain a bin")

    def weights(self, respondents: Respondents) -> np.ndarray:
        """Return the (n,) weights of the respondents: base weight x total of the stratum / sum of the base weights in the
        stratum.
        """
        strata, base = self._strata(respondents), respondents.base_weights
        return base * (self.totals / np.maximum(self._sums(respondents), np.finfo(float).tiny))[strata]

    def largest_weight(self, respondents: Respondents, steps: int = 0) -> float:
        """Return W_k: the largest weight that a present or added record has in any file that differs in k = `steps` records. In
        a stratum of at most k records, all records may be removed, and the weight of an added record is the total. In a larger
        stratum, the k records with the largest base weights may be removed. The largest weight then belongs to a remaining
        record, or to an added record with the largest base weight. The result depends on single records: **private**.
        """
        return max(float(weights[min(steps, len(weights) - 1)]) for weights in self._potential(respondents))

    def smooth_bound(self, respondents: Respondents, beta: float) -> float:
        """Return max over k of e^(-beta k) W_k: a smooth bound on the change of a weighted count if a record is added or
        removed.

        The bound is **private**, like any scale that uses it.
        """
        if not beta > 0:
            raise ValueError("beta must be above 0")
        bounds = (weights * np.exp(-beta * np.arange(len(weights))) for weights in self._potential(respondents))
        return max(float(bound.max()) for bound in bounds)

    def score(self, respondents: Respondents) -> float:
        """Return the score by which a set of strata is chosen: the number of strata divided by the largest potential weight."""
        return len(self.totals) / self.largest_weight(respondents)

    def _potential(self, respondents: Respondents) -> Iterator[np.ndarray]:
        """Yield, for each stratum of n records, (n + 1,) largest potential weights: if 0, 1, ..., n records may be removed."""
        strata = self._strata(respondents)
        for stratum, total in enumerate(self.totals):
            base = np.sort(respondents.base_weights[strata == stratum])[::-1]
            remaining = np.append(np.cumsum(base[::-1])[::-1], 0.0)  # the sum of the base weights without the k largest weights
            comes = self.largest_base / (self.largest_base + remaining)
            stays = base[0] / (base[0] + remaining[1:]) if len(base) else base
            yield total * np.maximum(comes, np.append(stays, 1.0))

    def _strata(self, respondents: Respondents) -> np.ndarray:
        base = respondents.base_weights
        if len(base) and not (self.smallest_base <= base.min() and base.max() <= self.largest_base):
            raise ValueError("a base weight is outside the public bounds")
        return self.into[respondents.bins]

    def _sums(self, respondents: Respondents) -> np.ndarray:
        return np.bincount(self._strata(respondents), weights=respondents.base_weights, minlength=len(self.totals))


def score_sensitivity(candidates: Sequence[PostStrata]) -> float:
    """Return Delta: the largest change of the score of any set of strata if a record is added, removed or replaced.

    Delta is the maximum, over all sets, of the number of strata x largest base weight / smallest base weight / smallest total
    (Merrill 2021, Theorem 7.1.3).
    """
    return max(
        len(strata.totals) * strata.largest_base / (strata.smallest_base * float(strata.totals.min())) for strata in candidates
    )


def selection_epsilon(alpha: float, sensitivity: float, neighbours: Neighbours) -> float:
    """Return the epsilon of choosing a set of strata with probability proportional to exp(alpha x score).

    The epsilon is alpha Delta if neighbours add or remove a record. The source states twice this value. Half is enough,
    because no score falls if a record is added. The epsilon is 2 alpha Delta if neighbours replace a record (theory 11.9,
    choice of strata).
    """
    return STEPS[neighbours] * alpha * sensitivity


def choice_law(scores: Sequence[float], alpha: float) -> np.ndarray:
    """Return the (n_candidates,) probability of choosing each set of strata, proportional to exp(alpha x score)."""
    exponents = alpha * (np.asarray(scores) - np.max(scores))
    return np.exp(exponents) / np.exp(exponents).sum()
