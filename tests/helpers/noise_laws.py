"""Statistics of integer noise against closed forms: how far a sample lies from discrete Laplace or Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

Cumulative = Callable[[np.ndarray], np.ndarray]
"""Pr[Z <= z] for integers z, as doubles, with small errors in both tails beside the masses that are compared."""


def laplace_below(scale: float) -> Cumulative:
    """Pr[Z <= z] of Pr[Z = z] = (1 - a) / (1 + a) a^|z|, a = exp(-1 / scale)."""
    a = math.exp(-1 / scale)

    def below(z: np.ndarray) -> np.ndarray:
        far = np.exp(-np.where(z >= 0, z + 1.0, -z * 1.0) / scale) / (1 + a)
        return np.where(z >= 0, 1 - far, far)

    return below


def gaussian_below(scale: float) -> Cumulative:
    """Pr[Z <= z] of the whole number Z next to a normal number of this deviation."""
    return lambda z: special.ndtr((z + 0.5) / scale)


@dataclass(frozen=True, kw_only=True)
class PValues:
    """Of one sample, each uniform or larger when the law is right.

    Attributes
    ----------
    cells : chi-square of the values, in cells of neighbouring values that are expected at least 400 times.
    distance : Kolmogorov's, over the ends of those cells (conservative for integers).
    digits : chi-square of the values modulo 256, discrete Laplace noise alone.
    neighbours : chi-square of independence of each value's fifth and the next one's.
    """

    cells: float
    distance: float
    digits: float
    neighbours: float

    def smallest(self) -> float:
        """The least of the four, times four (Bonferroni)."""
        return 4 * min(self.cells, self.distance, self.digits, self.neighbours)


def p_values(noise: np.ndarray, below: Cumulative, *, scale: float, laplace: bool) -> PValues:
    """Parameters: (n,) integers, and what they should be."""
    ends = cells(below, scale, len(noise))
    shift = max(0, math.ceil(math.log2(scale)) - 8)
    counts = counted(noise, ends, shift)
    masses = np.diff(below(ends), prepend=0.0, append=1.0)
    gap = np.abs(np.cumsum(counts)[:-1] / len(noise) - below(ends)).max(initial=0.0)
    fifths = np.searchsorted(ends, fifth_ends(ends, below))
    part = np.searchsorted(ends[fifths], noise[: 2 * (len(noise) // 2)])
    pairs = np.bincount(part[::2] * 5 + part[1::2], minlength=25).reshape(5, 5).astype(float)
    pairs = pairs[pairs.sum(axis=1) > 0][:, pairs.sum(axis=0) > 0]
    return PValues(
        cells=float(stats.chisquare(counts, len(noise) * masses).pvalue),
        distance=float(stats.kstwobign.sf(math.sqrt(len(noise)) * gap)),
        digits=digits_p_value(noise, scale) if laplace else 1.0,
        neighbours=float(stats.chi2_contingency(pairs).pvalue) if min(pairs.shape) > 1 else 1.0,
    )


def cells(below: Cumulative, scale: float, n: int) -> np.ndarray:
    """Last values of all cells but the last: multiples of a power of two, minus one, at least 400 draws apart."""
    width = 2 ** max(0, math.ceil(math.log2(scale)) - 8)
    reach = math.ceil(12 * scale / width) + 2
    ends = np.arange(-reach, reach) * width + width - 1
    heights = below(ends) * n
    kept, last = list[int](), 0.0
    for place, height in enumerate(heights.tolist()):
        if height - last >= 400 and n - height >= 400:
            kept.append(place)
            last = height
    return ends[kept]


def counted(noise: np.ndarray, ends: np.ndarray, shift: int) -> np.ndarray:
    """(n_cells,) how many values lie in each."""
    lowest, highest = int(ends[0] >> shift), int(ends[-1] >> shift) + 1
    coarse = np.bincount(np.clip(noise >> shift, lowest, highest) - lowest, minlength=highest - lowest + 1)
    places = (ends >> shift) - lowest
    return np.diff(np.append(np.cumsum(coarse)[places], len(noise)), prepend=0)


def fifth_ends(ends: np.ndarray, below: Cumulative) -> np.ndarray:
    return ends[np.minimum(np.searchsorted(below(ends), [0.2, 0.4, 0.6, 0.8]), len(ends) - 1)]


def digits_p_value(noise: np.ndarray, scale: float) -> float:
    """Pr[Z mod 256 = r] = (1 - a) / (1 + a) (a^r + a^(256 - r)) / (1 - a^256), rare ones pooled."""
    a, r = math.exp(-1 / scale), np.arange(256)
    masses = -math.expm1(-1 / scale) / (1 + a) * (a**r + a ** (256 - r)) / -math.expm1(-256 / scale)
    masses[0] = 1 - masses[1:].sum()
    counts = np.bincount((noise & 255).astype(np.int64), minlength=256)
    rare = masses * len(noise) < 400
    counts, masses = np.append(counts[~rare], counts[rare].sum()), np.append(masses[~rare], masses[rare].sum())
    common = masses > 0
    return float(stats.chisquare(counts[common], len(noise) * masses[common]).pvalue) if common.sum() > 1 else 1.0
