"""Noisy copies W of a column, by which data-augmented imputation is tuned: what is masked how, and what W says of a bin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np


class NoiseMask(Protocol):
    """How a noisy copy of a column of bins is made, and what it tells.

    Attributes
    ----------
    continuous : whether W is a number, and not one of the bins.
    """

    continuous: ClassVar[bool]

    def draw(self, bins: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """(n_rows,) W for these (n_rows,) bins."""
        ...

    def likelihood(self, copy: np.ndarray) -> np.ndarray:
        """(n_rows, n_bins) probability, or density, of W given each bin."""
        ...


@dataclass(frozen=True, eq=False)
class MatrixMask:
    """Pr(W = v | X = u) = pi[v, u]: randomised response.

    Raises
    ------
    ValueError : when it is no square matrix of probabilities whose columns sum to 1.
    """

    pi: np.ndarray
    continuous: ClassVar[bool] = False

    def __post_init__(self) -> None:
        pi = self.pi
        if pi.ndim != 2 or pi.shape[0] != pi.shape[1]:
            raise ValueError(f"expected a square matrix of probabilities, found one of shape {pi.shape}.")
        if not ((pi >= 0).all() and np.allclose(pi.sum(axis=0), 1, rtol=0, atol=1e-9)):
            raise ValueError(
                "expected probabilities of a masked value given the true one: columns of at least 0 that sum to 1."
            )

    @classmethod
    def keeping(cls, n_bins: int, share: float) -> MatrixMask:
        """The bin itself with this probability, else one of the others, each as likely."""
        if not 0 <= share <= 1:
            raise ValueError(f"expected a probability, found {share}.")
        if n_bins == 1:
            return cls(np.ones((1, 1)))
        pi = np.full((n_bins, n_bins), (1 - share) / (n_bins - 1))
        np.fill_diagonal(pi, share)
        return cls(pi)

    def draw(self, bins: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        sums = np.cumsum(self.pi, axis=0)
        sums[-1] = 1.0
        found = np.empty(len(bins), dtype=np.int64)
        aim = generator.random(len(bins))
        for u in np.unique(bins):
            rows = bins == u
            found[rows] = np.searchsorted(sums[:, u], aim[rows], side="right")
        return found

    def likelihood(self, copy: np.ndarray) -> np.ndarray:
        return np.asarray(self.pi[copy])

    def local_epsilon(self, masks: int = 1) -> float:
        """What W tells about one value: max over v of ln(max_u pi[v, u] / min_u pi[v, u]), times the number of fresh masks.

        One mask that all copies share counts once: the copies are functions of it, of the model and of what is published
        beside it. With these as they are in data-augmented imputation it is no guarantee for a record
        (docs/appendix/baselines.md).
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.pi.max(axis=1) / self.pi.min(axis=1)
        worst = float(np.nanmax(ratios, initial=1.0))  # a value that W never takes has 0 / 0 and tells nothing
        return masks * math.log(worst)


@dataclass(frozen=True)
class OrderedMask:
    """W is the number of the bin with Gaussian noise, of `sd` bins. A last bin of gaps is told by randomised response.

    Attributes
    ----------
    present : bins that hold values, in order, at least 1.
    missing : whether one more bin, the last, stands for missing values.
    sd : in bins, above 0. kept : probability that W says rightly whether there is a value.
    """

    present: int
    missing: bool
    sd: float
    kept: float = 1.0
    continuous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (self.present >= 1 and 0 < self.sd < math.inf and 0 <= self.kept <= 1):
            raise ValueError("expected a bin of values or more, a standard deviation above 0 and a probability.")

    def draw(self, bins: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """NaN where W says that there is no value. Of a gap that is told as a value W is uniform over the bins."""
        gap = bins >= self.present
        position = np.where(gap, generator.uniform(-0.5, self.present - 0.5, len(bins)), bins)
        copy = np.where(gap, position, position + self.sd * generator.standard_normal(len(bins)))
        if not self.missing:
            return copy
        right = generator.random(len(bins)) < self.kept
        return np.where(gap == right, np.nan, copy)

    def likelihood(self, copy: np.ndarray) -> np.ndarray:
        told, place = np.isnan(copy), np.nan_to_num(copy)
        off = place[:, None] - np.arange(self.present)
        nearest = np.abs(off).min(axis=1, keepdims=True)  # the largest density is 1 after scaling, so none of a row underflows
        values = np.exp((nearest**2 - off**2) / (2 * self.sd**2))
        if not self.missing:
            return values
        inside = (place > -0.5) & (place < self.present - 0.5)
        scaled = (
            np.exp(np.minimum(nearest[:, 0] ** 2 / (2 * self.sd**2), 600.0)) * math.sqrt(2 * math.pi) * self.sd / self.present
        )
        of_value = np.where(told[:, None], 1 - self.kept, self.kept * values)
        of_gap = np.where(told, self.kept, (1 - self.kept) * np.where(inside, scaled, 0.0))
        return np.column_stack([of_value, of_gap])
