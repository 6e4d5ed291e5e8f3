"""Bound the sampling error of shares when a release uses n rows drawn without replacement from the file (theory 13.17,
drawn shares).

The n rows are a uniform subset of the K rows of the file that the rules keep (theory 1.7, resizing). Only an upper limit on
K is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

MOST_CANDIDATES = 20_000
"""The closed form is used if more than this number of rows were drawn, and more than this number of rows were omitted. Its
limit is up to a quarter wider, but the exact limit would take seconds.
"""
# For more shares than this number, the closed form is used, because the exact probabilities would underflow.
_MOST_SHARES = 10**100
_MOST_CELLS = 100_000  # Tables with more cells than this number have no useful limit on their distance
_ROUNDING = 1e-6  # Upper bound of the relative error of summed probabilities
_FEW = 32
_OF_FEW = np.array([math.lgamma(number + 1) for number in range(_FEW)])


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A simple random sample of `n` of the K rows of a table, with K unpublished between n and `most`, and limits on how
    far its shares differ from those of the table.

    Attributes
    ----------
    most : the largest possible K.
    risk : largest probability, over the sampling, that any limit of one call is wrong.
    ways : the number of alternative binnings of each column, by default 1. The released binning may depend on the sample,
        so the risk is divided among them.

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
        """Return a limit on how far any of `shares` shares differs between the drawn rows and all K rows, except with
        probability `risk`.

        It is 0 if all rows are drawn.
        """
        if self.most <= self.n:
            return 0.0
        closed = closed_limit(self.n, self.most, shares, self.risk)
        if shares > _MOST_SHARES:
            return closed
        return min(closed, one_sided_limit(self.n, self.most, self.risk / 4 / shares) + 1 / self.most)

    def of_cells(self, bins: Mapping[str, int], largest: int, tables_named: Sequence[Sequence[str]] = ()) -> float:
        """Return a limit on how far the share of any cell differs between the drawn rows and all K rows, in all tables of
        at most `largest` columns and in `tables_named`.

        Parameters
        ----------
        bins : the number of released bins of each column.
        """
        ways = {name: self.ways.get(name, 1) for name in bins}
        if max(ways.values()) == 1:
            cells = sum(size if size > 2 else 1 for size in bins.values()) if largest else 0  # of two bins, one suffices
            cells += sum(_sum_of_products(list(bins.values()), number) for number in range(2, largest + 1))
            return self.of_shares(cells + sum(math.prod(bins[name] for name in table) for table in tables_named))
        times = {name: size * ways[name] for name, size in bins.items()}
        most = [math.prod(sorted(times.values())[-largest:])] if largest else []
        most += [math.prod(times[name] for name in table) for table in tables_named]
        tables = sum(math.comb(len(bins), number) for number in range(1, largest + 1)) + len(tables_named)
        return self.of_shares(tables * max(most))

    def of_distances(self, tables: Sequence[Sequence[str]], bins: Mapping[str, int]) -> float:
        """Return a limit on the total variation distance between each of these tables of the drawn rows and of all K rows.

        The distance is the largest difference of shares over all sets of cells; a set and its complement have the same
        difference.
        """
        cells = max(math.prod(bins[name] for name in table) for table in tables)
        if cells > _MOST_CELLS:
            return 1.0
        ways = max(math.prod(self.ways.get(name, 1) for name in table) for table in tables)
        return self.of_shares(len(tables) * ways << cells - 1)


def _sum_of_products(sizes: Sequence[int], number: int) -> int:
    """Return the number of cells of all tables of `number` columns."""
    sums = [1] + [0] * number
    for size in sizes:
        for taken in range(number, 0, -1):
            sums[taken] += size * sums[taken - 1]
    return sums[number]


def closed_limit(n: int, rows: int, shares: int, risk: float) -> float:
    """Return a limit on how far `shares` shares of a sample differ from those of all K rows, for every K up to `rows`, in
    closed form: by Hoeffding's inequality for the omitted rows, or Serfling's for the drawn rows.
    """
    logarithm = math.log(2 * shares) - math.log(risk)
    left_out = rows - n
    return min(math.sqrt(left_out * logarithm / 2) / n, math.sqrt((1 - (n - 1) / rows) * logarithm / (2 * n)), 1.0)


@lru_cache(maxsize=256)
def one_sided_limit(n: int, rows: int, risk: float) -> float:
    """Return a limit on how far a share of the n drawn rows exceeds the share of all K = `rows` rows.

    If G of the K rows satisfy a condition, the number X of drawn rows that satisfy it is hypergeometric. The limit is the
    smallest t with Pr[X/n - G/K > t] <= risk for every G = 0, ..., K.

    The same limit holds for G/K - X/n. With Y = G - X among the omitted rows, X K - n G = -(Y K - (K - n) G), so the fewer
    of drawn and omitted rows are used. More than `MOST_CANDIDATES` rows get the closed form.
    """
    smaller, closed = min(n, rows - n), closed_limit(n, rows, 1, 2 * risk)
    if smaller > MOST_CANDIDATES:
        return closed
    low, high, h = -1, math.ceil(closed * n * rows), np.arange(1, smaller + 1)
    while high - low > (1 if low < 0 else smaller):
        middle = (low + high) // 2
        likely = tails(h, smaller, rows, middle) > risk
        if likely.any():
            low, h = middle, h[likely]  # at a larger distance, the other events are even less likely
        else:
            high = middle
    if low >= 0:  # from `low` to `high`, G falls by 1 for each h that is left, and only then is its event less likely than risk
        high = int(np.max(h * rows - (h * rows - low - 1) // smaller * smaller))
    return high / (n * rows)


def tails(h: np.ndarray, m: int, rows: int, distance: int) -> np.ndarray:
    """For each h from 1 to m, return the largest probability that a sample of m of the K = `rows` rows contains at least h
    rows that satisfy a condition, over all numbers G of such rows with h/m - G/K > distance / (m K).

    For a fixed h the probability increases with G, so only the largest possible G is needed. If it is negative, the
    probability is 0.
    """
    return _upper_tail(h, (h * rows - distance - 1) // m, m, rows) * (1 + _ROUNDING)


def _upper_tail(x: np.ndarray, g: np.ndarray, m: int, rows: int) -> np.ndarray:
    """Return, for each pair of x and g, the hypergeometric probability that a sample of m of the `rows` rows contains at
    least x of g rows.
    """
    x = np.maximum(x, np.maximum(0, m - (rows - g))).astype(float)
    possible = x <= np.minimum(g, m)
    x, ones = x[possible], g[possible].astype(float)
    term = np.exp(
        _log_choices(ones, x) + _log_choices(rows - ones, m - x) - _log_choices(np.array(float(rows)), np.array(float(m)))
    )
    total, at = term.copy(), x
    while np.any(term > 1e-12 * total):
        term = term * ((ones - at) * (m - at) / ((at + 1) * (at + (rows + 1 - m - ones))))
        total, at = total + term, at + 1
    tails = np.zeros(len(g))
    tails[possible] = total
    return tails


def _log_choices(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    return log_factorials(n) - log_factorials(k) - log_factorials(n - k)


def log_factorials(n: np.ndarray) -> np.ndarray:
    """Return ln n! for whole numbers n: from a table below `_FEW`, otherwise by Stirling's series, with an error below
    1e-15. SciPy's function loads slowly.
    """
    x = np.maximum(n, _FEW) + 1.0
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * x**2)) / x**2) / x**2) / x
    of_many = (x - 0.5) * np.log(x) - x + math.log(2 * math.pi) / 2 + series
    return np.where(n < _FEW, _OF_FEW[np.minimum(n, _FEW - 1).astype(int)], of_many)
