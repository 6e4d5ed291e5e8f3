"""How much likelier an answer can be in one of two worlds than in the other: the loss of one draw, from its exact law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

_NODES = 200
"""Of the quadrature: it is exact for polynomials of a degree below 400, so for permute-and-flip among as many candidates."""
_COARSE = 64
"""Scale from which on rounding takes less than a part in 10,000 of a mean loss."""


def mean_of_gaussian(change: np.ndarray, scale: float) -> float:
    """The mean loss of rounded Gaussian noise on integers that differ by `change`: the mean of ln(p / q) under p.

    That of continuous noise, change^2 / (2 scale^2) for each, is a little more: rounding is post-processing.
    """
    from scipy.special import ndtr

    found, reach = 0.0, math.ceil(8 * scale)
    for moved, times in zip(*np.unique(np.abs(change), return_counts=True), strict=True):
        if scale > _COARSE:
            found += int(times) * float(moved) ** 2 / (2 * scale**2)
        elif moved:
            ends = np.arange(-reach, reach + int(moved) + 1) - 0.5
            masses = [np.diff(ndtr((ends - shift) / scale)) for shift in (0, int(moved))]
            kept = (masses[0] > 0) & (masses[1] > 0)
            found += int(times) * float((masses[0] * np.log(masses[0] / masses[1], where=kept, out=np.zeros(len(kept)))).sum())
    return found


def log_shares(losses: Sequence[int], rate: Fraction, mechanism: str) -> np.ndarray:
    """(candidates,) the logarithm of the probability of each candidate of a private choice, in floating point.

    Parameters
    ----------
    losses : how far each lies below the best, a loss of 1 by the factor exp(-rate) less likely.
    """
    exponents = np.array([float(-loss * rate) for loss in losses])
    if mechanism == "exponential":
        return exponents - np.log(np.exp(exponents).sum())
    if len(losses) >= 2 * _NODES:
        raise ValueError(f"expected fewer than {2 * _NODES} candidates, found {len(losses)}")
    # candidate i is taken when its coin shows heads and no candidate before it does; in uniformly random order that is
    # w_i * (integral over t from 0 to 1 of the product over j != i of 1 - t w_j)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    tails = np.log1p(-np.outer((nodes + 1) / 2, np.exp(exponents)))
    others = np.exp(tails.sum(axis=1, keepdims=True) - tails)
    return exponents + np.log((others * (weights / 2)[:, None]).sum(axis=0))
