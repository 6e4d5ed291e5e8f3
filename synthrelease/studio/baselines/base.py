"""Define the interface of methods for comparison (`Baseline`), and the draws and masks that several methods use."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation

# p(x | z) of a public table: the shares of x among records that are similar to z, with a prior. The group of similar records is
# the smallest one that has enough rows.

LEAST_ROWS = 20
"""Smallest number of rows of a group whose frequencies are used."""

PRIOR = 0.5
"""Parameter of each bin in Jeffreys' Dirichlet prior for the shares of a group."""

ROWS_PER_PRIOR = 10
"""Smallest ratio of the rows of a used group to the rows for which the prior counts. With this ratio, a column with 32 bins
needs 16 rows."""

MOST_PREDICTORS = 8
"""At most this number of columns define a group. Groups by more columns rarely have enough rows."""

_AT_ONCE = 2**22  # Largest number of rows times bins in memory at once


def least_rows(size: int, prior: float = PRIOR) -> int:
    """Return the smallest number of rows of a group in which the prior does not dominate, for a column with `size` bins."""
    return max(LEAST_ROWS, round(ROWS_PER_PRIOR * prior * size))


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalTable:
    """Groups of records with similar values, as a tree: each group with enough records is divided by the next predictor.

    Attributes
    ----------
    keys, children : for each level, two arrays about the large groups: `children` has the number of each, and `keys`,
        increasing, the number group * size + bin that leads to it from the group above by the bin of the next predictor.
    counts : (n_groups, n_bins) number of rows of each bin of x in each group. Group 0 is the whole table.
    """

    sizes: tuple[int, ...]
    keys: tuple[np.ndarray, ...]
    children: tuple[np.ndarray, ...]
    counts: np.ndarray

    @classmethod
    def of(
        cls, x: np.ndarray, size: int, predictors: Sequence[np.ndarray], sizes: Sequence[int], least: int = LEAST_ROWS
    ) -> ConditionalTable:
        """Divide the rows of a table into groups by the predictors, and count the bins of a column in each group.

        Parameters
        ----------
        x, size : (n_rows,) bins of the column to be drawn, and the number of bins of this column.
        predictors, sizes : the same for the columns z, the most informative first; at most `MOST_PREDICTORS` are used.
        """
        predictors, sizes = predictors[:MOST_PREDICTORS], tuple(sizes[:MOST_PREDICTORS])
        counts = [np.bincount(x, minlength=size)[None]]
        keys, children = [], []
        rows, group, first = np.arange(len(x)), np.zeros(len(x), dtype=np.int64), 1
        for z, width in zip(predictors, sizes, strict=True):
            key = group * width + z[rows]
            occurring, position, sizes_of_groups = np.unique(key, return_inverse=True, return_counts=True)
            large = sizes_of_groups >= least
            group_number = np.full(len(occurring), -1)
            group_number[large] = np.arange(first, first + large.sum())
            keys.append(occurring[large])
            children.append(group_number[large])
            group = group_number[position]
            rows, group = rows[group >= 0], group[group >= 0]
            counts.append(np.bincount((group - first) * size + x[rows], minlength=int(large.sum()) * size).reshape(-1, size))
            first += int(large.sum())
        return cls(sizes=sizes, keys=tuple(keys), children=tuple(children), counts=np.concatenate(counts))

    def groups(self, predictors: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return the (n_rows,) finest group of each row that has enough rows, by the (n_rows,) bins of the predictors."""
        group, rows = np.zeros(n_rows, dtype=np.int64), np.arange(n_rows)
        for z, width, keys, children in zip(predictors, self.sizes, self.keys, self.children, strict=False):
            if not len(keys) or not len(rows):
                break
            key = group[rows] * width + z[rows]
            at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            is_kept = keys[at] == key
            rows, at = rows[is_kept], at[is_kept]
            group[rows] = children[at]
        return group

    def draw(self, groups: np.ndarray, generator: np.random.Generator, prior: float = PRIOR) -> np.ndarray:
        """Draw one bin for each row, as an (n_rows,) array, from the posterior mean shares of the row's group."""
        n_bins = self.counts.shape[1]
        sums = np.cumsum(self.counts.ravel())
        totals = self.counts.sum(axis=1)
        starts = np.cumsum(totals) - totals
        aim = generator.random(len(groups)) * (totals[groups] + prior * n_bins)
        at = starts[groups] + np.minimum(aim.astype(np.int64), totals[groups] - 1)
        bins = np.searchsorted(sums, at, side="right") - groups * n_bins
        of_prior = aim >= totals[groups]
        bins[of_prior] = np.minimum((aim - totals[groups])[of_prior] / prior, n_bins - 1).astype(np.int64)
        return bins

    def posterior(self, generator: np.random.Generator) -> np.ndarray:
        """Draw (n_groups, n_bins) shares of each group from their posterior, a Dirichlet distribution with prior and counts."""
        gammas = generator.standard_gamma(self.counts + PRIOR)
        return gammas / gammas.sum(axis=1, keepdims=True)


def draw_weighted(
    shares: np.ndarray, groups: np.ndarray, likelihood: Callable[[slice], np.ndarray], generator: np.random.Generator
) -> np.ndarray:
    """Draw one bin for each row, as an (n_rows,) array, with probability proportional to share times likelihood.

    Parameters
    ----------
    shares : (n_groups, n_bins) shares of the bins in each group.
    groups : (n_rows,) the group of each row.
    likelihood : a function of a slice of rows. For each row and bin, it returns the probability of the known values of the
        row given the bin. If share times likelihood is 0 for every bin, the likelihood alone counts.
    """
    bins = np.empty(len(groups), dtype=np.int64)
    step = max(1, _AT_ONCE // shares.shape[1])
    for start in range(0, len(groups), step):
        part = slice(start, start + step)
        probabilities = likelihood(part)
        weights = shares[groups[part]] * probabilities
        weights = np.cumsum(np.where(weights.sum(axis=1, keepdims=True) > 0, weights, probabilities), axis=1)
        aim = generator.random(len(weights)) * weights[:, -1]
        bins[part] = (weights[:, :-1] <= aim[:, None]).sum(axis=1)
    return bins


NO_GUARANTEE = "no guarantee"

CopyRule = Literal["simple", "partial"]
"""Rule for combining statistics of copies, which come from one fit or from separate fits (`studio.rehearsal.utility`)."""


class DoesNotFit(ValueError):
    """Raised if a method cannot be used for this file. The message says why, in one sentence without a full stop."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedFile:
    """The public rows in the bins of one configuration, and the settings that every method for comparison gets.

    Attributes
    ----------
    known : columns that an intruder is assumed to know.
    generator : a function that returns the random generator of a key of whole numbers.
    strength : a function that returns the association of two columns, from 0 to 1 (Cramer's V).
    risk : a function that returns (n_cells,) the risk group of each cell.
    epsilon : epsilon of the whole release, which a method with a guarantee gets, too.
    swap, swap_key, swap_rate : the swapped columns, the columns in which swapped records must agree (None: the method
        chooses), and the probability that a record is selected.
    """

    table: Counts
    transformation: Transformation
    plausibility: Plausibility
    known: Sequence[int]
    copies: int
    generator: Callable[..., np.random.Generator]
    strength: Callable[[int, int], float]
    risk: Callable[[], np.ndarray]
    epsilon: float
    swap: tuple[str, ...] = ()
    swap_key: tuple[str, ...] | None = None
    swap_rate: Fraction = Fraction(1, 20)

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.layout.columns

    def numbers(self, column: int) -> np.ndarray | None:
        """Return the (n_bins,) numbers that represent the bins of a column, NaN for missing values, or None if a bin has
        none.
        """
        values = self.transformation.numbers(self.names[column])
        return values if np.isfinite(values[: self.transformation.binnings[column].present]).all() else None

    def by_strength(self, column: int, columns: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(columns, key=lambda candidate: (-self.strength(column, candidate), candidate)))


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeTables:
    """The tables that a method makes from one file: several copies of the whole table, and the guarantee of the method.

    Attributes
    ----------
    guarantee : `NO_GUARANTEE`, or the nominal guarantee.
    epsilon : the epsilon of the guarantee, or None if the method has no guarantee.
    """

    name: str
    guarantee: str
    copies: Sequence[Counts]
    epsilon: float | None = None
    rule: CopyRule = "partial"
    notes: tuple[str, ...] = ()


class Baseline(ABC):
    """Base class of methods for comparison. To add a method, write a file with a subclass, and add a line to `BASELINES`."""

    @abstractmethod
    def tables(self, file: ComparedFile) -> list[MadeTables]:
        """Return one `MadeTables` for each variant of the method. Raises DoesNotFit if it cannot be used for this file."""


# Noisy copies W of a column for data-augmented imputation: how values are masked, and the likelihood of each bin given W.


@dataclass(frozen=True, eq=False)
class MatrixMask:
    """Randomised response: the true bin u of a value is reported as bin v with probability pi[v, u].

    Raises
    ------
    ValueError : if pi is no square matrix of probabilities whose columns sum to 1.
    """

    pi: np.ndarray
    continuous: ClassVar[bool] = False

    def __post_init__(self) -> None:
        pi = self.pi
        if pi.ndim != 2 or pi.shape[0] != pi.shape[1]:
            raise ValueError(f"the matrix of probabilities must be square, but its shape is {pi.shape}")
        if not ((pi >= 0).all() and np.allclose(pi.sum(axis=0), 1, rtol=0, atol=1e-9)):
            raise ValueError("the probabilities in each column of the matrix must be at least 0 and sum to 1")

    @classmethod
    def keeping(cls, n_bins: int, share: float) -> MatrixMask:
        """Return a mask that keeps the true bin with probability `share`, and otherwise draws another bin uniformly."""
        if not 0 <= share <= 1:
            raise ValueError(f"{share} is not a probability")
        if n_bins == 1:
            return cls(np.ones((1, 1)))
        pi = np.full((n_bins, n_bins), (1 - share) / (n_bins - 1))
        np.fill_diagonal(pi, share)
        return cls(pi)

    def draw(self, bins: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        sums = np.cumsum(self.pi, axis=0)
        sums[-1] = 1.0
        masked = np.empty(len(bins), dtype=np.int64)
        aim = generator.random(len(bins))
        for u in np.unique(bins):
            rows = bins == u
            masked[rows] = np.searchsorted(sums[:, u], aim[rows], side="right")
        return masked

    def likelihood(self, copy: np.ndarray) -> np.ndarray:
        return np.asarray(self.pi[copy])

    def local_epsilon(self, masks: int = 1) -> float:
        """Return the epsilon that a masked value spends on the true value: max over v of ln(max_u pi[v, u] / min_u pi[v, u]).

        It is multiplied by the number of separate masks; one mask that all copies share counts once. In data-augmented
        imputation, this epsilon is no guarantee for a record (docs/appendix/baselines.md).
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.pi.max(axis=1) / self.pi.min(axis=1)
        worst = float(np.nanmax(ratios, initial=1.0))  # a value that W never takes has 0 / 0 and tells nothing
        return masks * math.log(worst)


@dataclass(frozen=True)
class OrderedMask:
    """A mask for ordered bins: the number of the bin plus Gaussian noise. Randomised response masks whether a value is
    missing.

    Attributes
    ----------
    present : the number of bins of values, in order; at least 1.
    missing : whether one more bin, the last, is for missing values.
    sd : standard deviation of the noise in bins, above 0.
    kept : probability that W says correctly whether there is a value.
    """

    present: int
    missing: bool
    sd: float
    kept: float = 1.0
    continuous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (self.present >= 1 and 0 < self.sd < math.inf and 0 <= self.kept <= 1):
            raise ValueError("the mask needs a bin of values, a standard deviation above 0, and a probability")

    def draw(self, bins: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the masked values W: the number of the bin plus noise, or NaN for a value that is reported as missing.

        For a missing value that is reported as present, W is uniform over the bins.
        """
        gap = bins >= self.present
        position = np.where(gap, generator.uniform(-0.5, self.present - 0.5, len(bins)), bins)
        copy = np.where(gap, position, position + self.sd * generator.standard_normal(len(bins)))
        if not self.missing:
            return copy
        right = generator.random(len(bins)) < self.kept
        return np.where(gap == right, np.nan, copy)

    def likelihood(self, copy: np.ndarray) -> np.ndarray:
        is_gap, position = np.isnan(copy), np.nan_to_num(copy)
        off = position[:, None] - np.arange(self.present)
        # the largest density of a row becomes 1, so the row does not underflow
        nearest = np.abs(off).min(axis=1, keepdims=True)
        values = np.exp((nearest**2 - off**2) / (2 * self.sd**2))
        if not self.missing:
            return values
        inside = (position > -0.5) & (position < self.present - 0.5)
        density = np.exp(np.minimum(nearest[:, 0] ** 2 / (2 * self.sd**2), 600.0))
        scaled = density * math.sqrt(2 * math.pi) * self.sd / self.present
        of_value = np.where(is_gap[:, None], 1 - self.kept, self.kept * values)
        of_gap = np.where(is_gap, self.kept, (1 - self.kept) * np.where(inside, scaled, 0.0))
        return np.column_stack([of_value, of_gap])


NoiseMask = MatrixMask | OrderedMask
"""A mask, which makes a noisy copy W of a column. `draw` returns (n_rows,) W. `likelihood` returns the (n_rows, n_bins)
probability or density of W given each bin. `continuous` says whether W is a number rather than a bin.
"""


# Independent columns with the exact shares of the file: no method should be worse than this.


class IndependentColumns(Baseline):
    """A method that draws each column independently. A criterion that its tables meet does not test associations."""

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        copies = [independent_columns(file.table, file.generator(5, copy)) for copy in range(file.copies)]
        notes = ("the distribution of each column is exact",)
        return [MadeTables(name="independent columns", guarantee=NO_GUARANTEE, copies=copies, notes=notes)]


def independent_columns(table: Counts, random: np.random.Generator) -> Counts:
    return Counts.of(table.layout, [random.permutation(table.rows(column)) for column in range(len(table.layout.sizes))])
