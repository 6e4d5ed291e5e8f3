"""The law of the noise that is drawn in bulk, at sizes that show an error of 1e-4, and the time of a draw.

    python tests/benchmarks/noise.py [--draws 100000000] [--runs 12]

Every run draws anew from the operating system's entropy. For each law: the smallest of the p-values of all runs, four a run
(cells, distance, digits, neighbours; tests/helpers/noise_laws.py), times their number (Bonferroni); that of Kolmogorov's test
that those of the cells, which are independent, are uniform; and the largest error of a cumulative probability over all draws
together, beside what chance allows at one in a thousand (the inequality of Dvoretzky, Kiefer and Wolfowitz). Exit code 1 if
a corrected p-value is below 0.001.

Then known faults, which must be seen: a bound of a table moved by 1e-4, and the first 16 bits deciding every draw.
"""

from __future__ import annotations

import argparse
import math
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, replace
from fractions import Fraction

import numpy as np
from scipy import stats

from synthrelease.privacy.samplers import Read, Scale, Table, digit_tables, laplace, normals
from tests.helpers.noise_laws import Cumulative, cells, counted, gaussian_below, laplace_below, p_values

LEVEL = 0.001
PIECE = 10_000_000
"""Draws that are looked at together."""
FAULT_DRAWS = 1_200_000_000
LAWS = (
    ("laplace", Fraction(1, 2)),
    ("laplace", Fraction(15, 4)),
    ("laplace", Fraction(33)),
    ("laplace", Fraction(5000)),
    ("laplace", Fraction(2**40, 3)),
    ("gaussian", Fraction(1, 2)),
    ("gaussian", Fraction(3)),
    ("gaussian", Fraction(300)),
)


class Pooled:
    """Cells of all draws of a law together."""

    def __init__(self, below: Cumulative, scale: float):
        self._ends, self._shift = cells(below, scale, PIECE), max(0, math.ceil(math.log2(scale)) - 8)
        self._below = below(self._ends)
        self._counts = np.zeros(len(self._ends) + 1, dtype=np.int64)

    def add(self, noise: np.ndarray) -> None:
        self._counts += counted(noise, self._ends, self._shift)

    def draws(self) -> int:
        return int(self._counts.sum())

    def p_value(self) -> float:
        expected = self.draws() * np.diff(self._below, prepend=0.0, append=1.0)
        return float(stats.chisquare(self._counts, expected).pvalue)

    def error(self) -> float:
        """Largest difference between the share of draws up to the end of a cell and its probability."""
        return float(np.abs(np.cumsum(self._counts)[:-1] / self.draws() - self._below).max())


def gaussian(scale: Fraction, size: int, read: Read) -> np.ndarray:
    return normals(Scale.at_least(scale), size, read)


def examined(name: str, scale: Fraction, draws: int, runs: int) -> bool:
    """Print two lines; whether nothing speaks against the law."""
    draw, below = (laplace, laplace_below) if name == "laplace" else (gaussian, gaussian_below)
    pooled, found, independent, seconds = Pooled(below(float(scale)), float(scale)), list[float](), list[float](), 0.0
    for _ in range(runs):
        for size in [PIECE] * max(draws // PIECE, 1):
            start = time.process_time()
            noise = draw(scale, size, secrets.token_bytes)
            seconds += time.process_time() - start
            judged = p_values(noise, below(float(scale)), scale=float(scale), laplace=name == "laplace")
            found += [value for value in astuple(judged) if value < 1]
            independent.append(judged.cells)
            pooled.add(noise)
    found.append(pooled.p_value())
    allowed = math.sqrt(math.log(2 / LEVEL) / (2 * pooled.draws()))
    smallest, uniform = min(1.0, min(found) * len(found)), float(stats.kstest(independent, "uniform").pvalue)
    print(
        f"{name:9} scale {float(scale):<12g} {pooled.draws():.1e} draws, {1e9 * seconds / pooled.draws():4.0f} ns each\n"
        f"    {len(found)} p-values: smallest, corrected {smallest:.3f}; uniform {uniform:.3f}; of all draws {found[-1]:.3f}; "
        f"largest error {pooled.error():.1e}, chance {allowed:.1e}",
        flush=True,
    )
    return smallest > LEVEL and pooled.error() < allowed


def moved(table: Table) -> Table:
    """The first bound 1e-4 too high."""
    floors = table.floors.copy()
    floors[0] += np.uint64(2**64 // 10_000)
    first = np.searchsorted(floors, np.arange(2**16, dtype=np.uint64) << np.uint64(48)).astype(np.int16)
    first[floors >> np.uint64(48)] = -1
    return replace(table, floors=floors, first=first)


def hasty(table: Table) -> Table:
    """What 16 bits leave open is the lowest value that it can be."""
    starts = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    return replace(table, first=np.searchsorted(table.floors, starts).astype(np.int16))


def fault_is_seen(fault: Callable[[Table], Table]) -> bool:
    """Against the right law; noise of scale 1/2, of which the moved bound moves the mass of 0 by 1.5e-4."""
    table, pooled = fault(digit_tables(Fraction(1, 2))[0]), Pooled(laplace_below(0.5), 0.5)
    while pooled.draws() < FAULT_DRAWS:
        bits = np.frombuffer(secrets.token_bytes(4 * PIECE), dtype=np.uint16).reshape(2, PIECE)
        pooled.add(table.draw(bits[0], secrets.token_bytes) - table.draw(bits[1], secrets.token_bytes))
        if pooled.p_value() < 1e-9:
            break
    print(f"fault {fault.__name__}: p = {pooled.p_value():.2g} after {pooled.draws():.0e} draws")
    return pooled.p_value() < 1e-9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=12)
    options = parser.parse_args()
    right = [examined(name, scale, options.draws, options.runs) for name, scale in LAWS]
    seen = [fault_is_seen(fault) for fault in (moved, hasty)]
    return 0 if all(right) and all(seen) else 1


if __name__ == "__main__":
    sys.exit(main())
