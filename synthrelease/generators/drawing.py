"""How far shares of the drawn rows are from those of the file: a drawing without replacement (theory 13.17, drawn shares).

A release works with n rows, a uniform subset of the K rows of the file that the rules keep (theory 1.7, resizing). K is known
up to a largest value. Of a share nothing else is known, so limits hold for every number of rows that meet its condition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

MOST_CANDIDATES = 20_000
"""Of more rows, both drawn and left out, the closed form is taken. It is up to a quarter wider; the exact one takes seconds."""
_MOST_SHARES = 10**100
"""Of more shares the closed form is taken: probabilities that are so small are no floats."""
_MOST_CELLS = 100_000
"""Of more cells the drawing limits no distance of tables, for so few rows as there are."""
_ROUNDING = 1e-6
"""Probabilities that are summed here are off by a smaller part of themselves."""
_FEW = 32
_OF_FEW = np.array([math.lgamma(number + 1) for number in range(_FEW)])


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A uniform subset of `n` of K rows, n <= K <= `most`.

    Attributes
    ----------
    risk : what all limits that are asked for at once may be wrong with, over the drawing.
    ways : on how many different bins each column could have been released, 1 where it is not named. Which ones were may depend
        on the drawing: every table has its part of the risk, divided evenly among its ways, and then among its cells.

    Examples
    --------
    >>> round(Drawing(n=876, most=1000, risk=0.01).of_shares(5), 3), round(closed_limit(876, 1000, 5, 0.01), 3)
    (0.021, 0.022)
    """

    n: int
    most: int
    risk: float
    ways: Mapping[str, int] = field(default_factory=dict)

    def of_shares(self, shares: int) -> float:
        """Return a limit on the difference of so many shares between the drawn rows and all K rows: all of them keep it, except
        with a probability of at most `risk`. 0 where all rows were drawn.
        """
        if self.most <= self.n:
            return 0.0
        closed = closed_limit(self.n, self.most, shares, self.risk)
        if shares > _MOST_SHARES:
            return closed
        return min(closed, one_sided_limit(self.n, self.most, self.risk / 4 / shares) + 1 / self.most)

    def of_cells(self, bins: Mapping[str, int], largest: int, tables_named: Sequence[Sequence[str]] = ()) -> float:
        """Return the same for all cells of all tables of at most `largest` columns, and of the named tables.

        Parameters
        ----------
        bins : of each column, as it was released.
        """
        ways = {name: self.ways.get(name, 1) for name in bins}
        if max(ways.values()) == 1:
            cells = sum(size if size > 2 else 1 for size in bins.values()) if largest else 0  # of two bins one tells both
            cells += sum(_sum_of_products(list(bins.values()), number) for number in range(2, largest + 1))
            return self.of_shares(cells + sum(math.prod(bins[name] for name in table) for table in tables_named))
        times = {name: size * ways[name] for name, size in bins.items()}
        most = [math.prod(sorted(times.values())[-largest:])] if largest else []
        most += [math.prod(times[name] for name in table) for table in tables_named]
        tables = sum(math.comb(len(bins), number) for number in range(1, largest + 1)) + len(tables_named)
        return self.of_shares(tables * max(most))

    def of_distances(self, tables: Sequence[Sequence[str]], bins: Mapping[str, int]) -> float:
        """Return the same of half the sum of the absolute differences over the cells of any of these tables.

        That is the largest difference over all sets of its cells, of which each and the rest are one share.
        """
        cells = max(math.prod(bins[name] for name in table) for table in tables)
        if cells > _MOST_CELLS:
            return 1.0
        ways = max(math.prod(self.ways.get(name, 1) for name in table) for table in tables)
        return self.of_shares(len(tables) * ways << cells - 1)


def _sum_of_products(sizes: Sequence[int], number: int) -> int:
    """Return the sum, over all sets of so many columns, of the products of their sizes."""
    sums = [1] + [0] * number
    for size in sizes:
        for taken in range(number, 0, -1):
            sums[taken] += size * sums[taken - 1]
    return sums[number]


def closed_limit(n: int, rows: int, shares: int, risk: float) -> float:
    """Return a limit for K = `rows` and every smaller K: Hoeffding's for the rows left out, or Serfling's for the drawn
    rows.
    """
    logarithm = math.log(2 * shares) - math.log(risk)
    left_out = rows - n
    return min(math.sqrt(left_out * logarithm / 2) / n, math.sqrt((1 - (n - 1) / rows) * logarithm / (2 * n)), 1.0)


@lru_cache(maxsize=256)
def one_sided_limit(n: int, rows: int, risk: float) -> float:
    """Return the least t with Pr[X/n - G/K > t] <= risk for every G = 0, ..., K = `rows`, X hypergeometric. So for the other
    side.

    X K - n G = -(Y K - (K - n) G) for the Y = G - X rows left out, so the smaller of both subsets is looked at. Of more than
    `MOST_CANDIDATES` rows the closed form.
    """
    smaller, closed = min(n, rows - n), closed_limit(n, rows, 1, 2 * risk)
    if smaller > MOST_CANDIDATES:
        return closed
    low, high = -1, math.ceil(closed * n * rows)
    while high - low > 1:
        middle = (low + high) // 2
        if worst_tail(smaller, rows, middle) <= risk:
            high = middle
        else:
            low = middle
    return high / (n * rows)


def worst_tail(m: int, rows: int, distance: int) -> float:
    """Return the largest Pr[X K - m G > distance] over all G, X of a uniform subset of m of K = `rows`.

    That says X >= h for some h. As long as G has the same h the probability grows with G, so the last G of each h is looked at.
    """
    h = np.arange(1, m + 1)
    g = (h * rows - distance - 1) // m
    possible = g >= 0
    return float(_upper_tail(h[possible], np.minimum(g[possible], rows), m, rows).max(initial=0.0)) * (1 + _ROUNDING)


def _upper_tail(x: np.ndarray, g: np.ndarray, m: int, rows: int) -> np.ndarray:
    """Return Pr[X >= x] for each pair of x and G, X hypergeometric: terms are added until the rest is too small to matter."""
    x = np.maximum(x, np.maximum(0, m - (rows - g))).astype(float)
    possible = x <= np.minimum(g, m)
    x, ones = x[possible], g[possible].astype(float)
    term = np.exp(
        _log_choices(ones, x) + _log_choices(rows - ones, m - x) - _log_choices(np.array(float(rows)), np.array(float(m)))
    )
    total = term.copy()
    while np.any(term > 1e-12 * total):
        term = term * (ones - x) * (m - x) / ((x + 1) * (rows - ones - m + x + 1))
        x += 1
        total += term
    tails = np.zeros(len(g))
    tails[possible] = total
    return tails


def _log_choices(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    return log_factorials(n) - log_factorials(k) - log_factorials(n - k)


def log_factorials(n: np.ndarray) -> np.ndarray:
    """Return ln n! of whole numbers, by Stirling's series, with an error below 1e-15 from `_FEW` on. SciPy loads slowly."""
    x = np.maximum(n, _FEW) + 1.0
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * x**2)) / x**2) / x**2) / x
    of_many = (x - 0.5) * np.log(x) - x + math.log(2 * math.pi) / 2 + series
    return np.where(n < _FEW, _OF_FEW[np.minimum(n, _FEW - 1).astype(int)], of_many)
