"""An example of a package: a Gaussian copula from noisy tables, and a criterion for the share of one bin."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from scipy.stats import norm

from synthrelease import OutsideCriterion, OutsideGenerator
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout


class Copula(OutsideGenerator):
    """Single columns and correlations of normal scores, from noisy tables of one and two columns."""

    words: ClassVar[str] = "A Gaussian copula: noisy tables of single columns and of pairs give shares and correlations."
    single: Fraction = Fraction(1, 2)  # the share of the budget for single columns

    def build(self, ask, background):
        columns, pairs = range(len(ask.layout.sizes)), list(combinations(range(len(ask.layout.sizes)), 2))
        single = self.single if pairs else Fraction(1)
        shares = [np.maximum(ask.table([column], single / len(columns)), 0.5) for column in columns]
        ends = [np.cumsum(share) / share.sum() for share in shares]
        scores = [norm.ppf(end - share / share.sum() / 2) for end, share in zip(ends, shares, strict=True)]
        ties = np.eye(len(columns))
        for i, j in pairs:
            table = np.maximum(ask.table([i, j], (1 - single) / len(pairs)), 0) + 1e-9
            x, y, weights = np.repeat(scores[i], len(scores[j])), np.tile(scores[j], len(scores[i])), table.ravel()
            ties[i, j] = ties[j, i] = 0 if 1 in table.shape else np.nan_to_num(_correlation(x, y, weights))
        values, vectors = np.linalg.eigh(ties)
        return CopulaModel(ask.layout, ends, vectors * np.sqrt(np.maximum(values, 0)))


def _correlation(x, y, weights):
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    return (weights * x * y).sum() / np.sqrt((weights * x**2).sum() * (weights * y**2).sum())


@dataclass
class CopulaModel:
    layout: Layout
    ends: list[np.ndarray]
    roots: np.ndarray

    def sample(self, n, generator):
        normal = norm.cdf(generator.standard_normal((n, len(self.ends))) @ self.roots.T)
        bins = [np.searchsorted(end[:-1], normal[:, column], "right") for column, end in enumerate(self.ends)]
        return Counts.of(self.layout, bins)


class ShareGap(OutsideCriterion):
    """The error of the share of one bin of a column."""

    words: ClassVar[str] = "The error of the share of one bin."
    unit: ClassVar[str] = "share of the rows"
    column: str
    bin: int = 0  # the first one is 0

    def figure(self, table, candidate, setting):
        shares = [
            counts.marginal([counts.layout.index(self.column)])[self.bin] / counts.total for counts in (table, candidate.counts)
        ]
        return float(abs(shares[0] - shares[1]))

    def sensitivity(self, n, candidate, setting):
        return 1 / n  # one replaced record moves the count of a bin by at most 1

    @classmethod
    def examples(cls):
        return [{"column": "b"}, {"column": "c", "bin": 3}]
