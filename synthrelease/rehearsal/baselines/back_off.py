"""p(x | z) of a public table: the shares of x in the finest group of records like z that is large enough, under a prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

LEAST_ROWS = 20
"""Rows of the smallest group whose frequencies are used."""

PRIOR = 0.5
"""Of each bin: the Dirichlet prior of Jeffreys for the shares of a group."""

ROWS_PER_PRIOR = 10
"""Rows of a group that is used, for each that the prior weighs: of 32 bins it weighs 16, as much as a group of 20 rows has."""

MOST_PREDICTORS = 8
"""Columns that a group is made of at most; deeper groups are hardly ever large enough."""

_AT_ONCE = 2**22
"""Numbers of rows times bins that are held at once."""


def least_rows(size: int, prior: float = PRIOR) -> int:
    """Rows of the smallest group whose shares of so many bins are used, so that the prior does not drown them."""
    return max(LEAST_ROWS, round(ROWS_PER_PRIOR * prior * size))


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalTable:
    """Groups of records by their first 0, 1, 2, ... predictors, as a tree.

    Attributes
    ----------
    sizes : bins of each predictor.
    keys, children : per level, the increasing numbers (group above) * size + bin of the groups that are large enough, and the
        numbers of these groups.
    counts : (n_groups, n_bins) rows of each bin of x in each group. Group 0 is the whole table.
    """

    sizes: tuple[int, ...]
    keys: tuple[np.ndarray, ...]
    children: tuple[np.ndarray, ...]
    counts: np.ndarray

    @classmethod
    def of(
        cls,
        x: np.ndarray,
        size: int,
        predictors: Sequence[np.ndarray],
        sizes: Sequence[int],
        least: int = LEAST_ROWS,
    ) -> ConditionalTable:
        """Count.

        Parameters
        ----------
        x, size : (n_rows,) bins of the column to be drawn, and how many bins it has.
        predictors, sizes : the same of the columns z, the one that tells most first; at most `MOST_PREDICTORS` are used.
        least : rows of the smallest group that is used.
        """
        predictors, sizes = predictors[:MOST_PREDICTORS], tuple(sizes[:MOST_PREDICTORS])
        counts = [np.bincount(x, minlength=size)[None]]
        keys, children = [], []
        rows, group, first = np.arange(len(x)), np.zeros(len(x), dtype=np.int64), 1
        for z, width in zip(predictors, sizes, strict=True):
            key = group * width + z[rows]
            found, place, many = np.unique(key, return_inverse=True, return_counts=True)
            large = many >= least
            number = np.full(len(found), -1)
            number[large] = np.arange(first, first + large.sum())
            keys.append(found[large])
            children.append(number[large])
            group = number[place]
            rows, group = rows[group >= 0], group[group >= 0]
            counts.append(np.bincount((group - first) * size + x[rows], minlength=int(large.sum()) * size).reshape(-1, size))
            first += int(large.sum())
        return cls(sizes=sizes, keys=tuple(keys), children=tuple(children), counts=np.concatenate(counts))

    def groups(self, predictors: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """(n_rows,) for rows with these predictors, the finest of their groups that is large enough."""
        group, rows = np.zeros(n_rows, dtype=np.int64), np.arange(n_rows)
        for z, width, keys, children in zip(predictors, self.sizes, self.keys, self.children, strict=False):
            if not len(keys) or not len(rows):
                break
            key = group[rows] * width + z[rows]
            at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            there = keys[at] == key
            rows, at = rows[there], at[there]
            group[rows] = children[at]
        return group

    def draw(self, groups: np.ndarray, generator: np.random.Generator, prior: float = PRIOR) -> np.ndarray:
        """(n_rows,) bins, each drawn with the posterior mean of the shares of its group: counts, and the prior for each bin."""
        n_bins = self.counts.shape[1]
        sums = np.cumsum(self.counts.ravel())
        totals = self.counts.sum(axis=1)
        before = np.cumsum(totals) - totals
        aim = generator.random(len(groups)) * (totals[groups] + prior * n_bins)
        at = before[groups] + np.minimum(aim.astype(np.int64), totals[groups] - 1)
        found = np.searchsorted(sums, at, side="right") - groups * n_bins
        of_prior = aim >= totals[groups]
        found[of_prior] = np.minimum((aim - totals[groups])[of_prior] / prior, n_bins - 1).astype(np.int64)
        return found

    def posterior(self, generator: np.random.Generator) -> np.ndarray:
        """(n_groups, n_bins) shares of each group, drawn from their posterior: Dirichlet, the prior and the counts."""
        drawn = generator.standard_gamma(self.counts + PRIOR)
        return drawn / drawn.sum(axis=1, keepdims=True)


def draw_weighted(
    shares: np.ndarray, groups: np.ndarray, likelihood: Callable[[slice], np.ndarray], generator: np.random.Generator
) -> np.ndarray:
    """(n_rows,) bins, each drawn with a weight of shares[its group, bin] times the likelihood of the bin.

    Parameters
    ----------
    shares : (n_groups, n_bins). groups : (n_rows,) the group of each row.
    likelihood : of some rows, (n_rows of these, n_bins) the probability of what is known of the row if the bin is right. Where
        all weights of a row are 0 the likelihood alone counts.
    """
    found = np.empty(len(groups), dtype=np.int64)
    step = max(1, _AT_ONCE // shares.shape[1])
    for start in range(0, len(groups), step):
        part = slice(start, start + step)
        known = likelihood(part)
        weights = shares[groups[part]] * known
        weights = np.cumsum(np.where(weights.sum(axis=1, keepdims=True) > 0, weights, known), axis=1)
        aim = generator.random(len(weights)) * weights[:, -1]
        found[part] = (weights[:, :-1] <= aim[:, None]).sum(axis=1)
    return found
