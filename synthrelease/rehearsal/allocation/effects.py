"""What the noise of every part costs, told from tries in which the noise of one bundle of parts is there alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from synthrelease.rehearsal.allocation.calculating import Effects
from synthrelease.rehearsal.allocation.trying import Try

_MOST_BUNDLES = 16
"""Of more parts those of tables that are about as large are tried together: tries take time."""


def bundles_of(cells: Sequence[int]) -> list[list[int]]:
    """Parts whose noise is tried together: each by itself, or of many parts those of tables that are about as large."""
    order = sorted(range(len(cells)), key=lambda part: cells[part])
    if len(order) <= _MOST_BUNDLES:
        return [[part] for part in range(len(order))]
    ends = np.linspace(0, len(order), _MOST_BUNDLES + 1).round().astype(int).tolist()
    return [order[start:end] for start, end in pairwise(ends)]


def spread_over(bundles: Sequence[Sequence[int]], cells: Sequence[int], squares: np.ndarray) -> np.ndarray:
    """(n_bundles, I) of what the noise of a bundle costs, what is taken to be the part of each of its parts at a budget of 1.

    In a bundle it is taken to go with the cells of a table.

    Parameters
    ----------
    squares : (I,) how many times the square of a part's noise at a budget of 1 is that of the noise that was tried.
    """
    spread = np.zeros((len(bundles), len(cells)))
    for place, bundle in enumerate(bundles):
        of = np.array([cells[part] for part in bundle], dtype=float)
        spread[place, list(bundle)] = of / (of / squares[list(bundle)]).sum()
    return spread


def effects_of(tries: Sequence[Sequence[Try]], spread: np.ndarray) -> Effects | None:
    """From tries without noise, and for each bundle of parts tries with its noise alone; None where no criterion asks anything.

    The least of the slacks of all populations counts, and the mean of the variances. A second moment counts as at least
    its own standard error, so no part is taken to be without any effect.

    Parameters
    ----------
    spread : (n_bundles, I) what of the costs of each bundle is that of each part (`spread_over`).
    """
    populations = sorted({one.population for one in tries[0]})

    def aspects(of: Sequence[Try], population: int) -> np.ndarray:
        return np.array([one.aspects for one in of if one.population == population and one.aspects]).reshape(-1, n)

    n = max(len(one.aspects) for one in tries[0])
    quiet = [aspects(tries[0], population) for population in populations]
    if n == 0 or not all(len(each) > 1 for each in quiet):
        return None
    asked = np.isfinite(np.concatenate(quiet)).all(axis=0)
    means = [each[:, asked].mean(axis=0) for each in quiet]
    drawn = np.mean([each[:, asked].var(axis=0, ddof=1) for each in quiet], axis=0)
    units = []
    for of in tries[1:]:
        losses = [aspects(of, population)[:, asked] - mean for population, mean in zip(populations, means, strict=True)]
        squares = np.concatenate(losses) ** 2
        moment = squares.mean(axis=0) - drawn if len(squares) else means[0] ** 2
        error = drawn * math.sqrt(2 / max(len(squares), 1))
        units.append(np.maximum(moment, error))
    if not asked.any():
        return None
    return Effects(
        aspects=tuple(np.flatnonzero(asked).tolist()),
        slacks=np.min(means, axis=0),
        drawn=drawn,
        units=np.array(units).T @ spread,
    )
