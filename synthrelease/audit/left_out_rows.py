"""Files in which rows are left out, by enumeration: what the program makes of every file, and of every neighbour of it.

A file has N rows; each lies in a cell or is left out. The program works with m of the kept rows, or fills up with public rows
(`resizing`). For all files, all neighbours (one row of the file replaced, kept or not) and all m from 1 to N:

- the coupling of the resizing theorem is written down from its proof. Its two laws must be, as fractions, the laws of the
  program's own tables, found by running the program on every way in which its draws can come out;
- the two tables of every pair in it must be equal or differ in one replaced row.

A figure then moves between the two files by no more than between those pairs, all of which `sensitivity` compares.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, islice, permutations

import numpy as np

from synthrelease.audit.worlds import World
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import FillerRows, Plausibility
from synthrelease.generators.marginals import Marginals
from synthrelease.privacy.noise import SystemEntropy

Rows = tuple[int, ...]
"""Cells of rows, increasing."""
Law = dict[Rows, Fraction]
Coupling = dict[tuple[Rows, Rows], Fraction]


class Decided(SystemEntropy):
    """One of the ways in which different indices can be drawn, all of which are equally likely; `ways` counts them.

    Adds no noise, and keeps what it would have been added to.
    """

    def __init__(self, way: int) -> None:
        self.way, self.ways = way, 1
        self.seen = np.zeros(0, dtype=np.int64)

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.seen = np.array(values, dtype=np.int64)
        return self.seen

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        n_choices, size = int(bounds[0]), len(bounds)
        self.ways = math.perm(n_choices, size)
        return np.array(next(islice(permutations(range(n_choices), size), self.way, None)), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class FilePair:
    """Two files that share N - 1 rows. A last row that is left out is None."""

    shared: Rows
    lasts: tuple[int, int | None]

    def kept(self, side: int) -> Rows:
        last = self.lasts[side]
        return self.shared if last is None else tuple(sorted((*self.shared, last)))


def file_pairs(n_cells: int, n_file: int) -> Iterator[FilePair]:
    """All unordered pairs of neighbouring files of `n_file` rows; files are multisets of rows."""
    for shared in combinations_with_replacement(range(n_cells + 1), n_file - 1):
        kept = tuple(row for row in shared if row < n_cells)
        for one, other in combinations(range(n_cells + 1), 2):
            yield FilePair(shared=kept, lasts=(one, other if other < n_cells else None))


def program_law(world: World, kept: Rows, size: int, n_file: int) -> Law:
    """The law of the table that the program works with, from every way in which its draws can come out.

    The table is what the generator of noisy marginals adds noise to when it measures all columns together.
    """
    generator = Marginals(tables=":".join(world.layout.columns))
    charge = generator.charge(Fraction(1))
    found: Counter[Rows] = Counter()
    way = ways = 0
    while way == 0 or way < ways:
        entropy = Decided(way)
        chosen = world.rows(kept, n_file, entropy).some_of_them(size, filler(world.layout))
        generator.measure(chosen.with_plan([charge]), charge)
        found[tuple(np.repeat(np.arange(len(entropy.seen)), entropy.seen).tolist())] += 1
        way, ways = way + 1, entropy.ways
    return {rows: Fraction(count, ways) for rows, count in found.items()}


def filler(layout: Layout) -> FillerRows:
    return FillerRows(Plausibility(layout=layout, masks=()))


def _rows(counts: Counts) -> Rows:
    return tuple(np.repeat(counts.codes, counts.counts).tolist())


def public_sequence(layout: Layout, size: int) -> Rows:
    """The filler rows, one after the other: what every prefix has more than the one before it."""
    prefixes = [Counter(_rows(filler(layout).first(length))) for length in range(size + 1)]
    return tuple(next(iter((longer - shorter).elements())) for shorter, longer in zip(prefixes, prefixes[1:], strict=False))


def coupling(pair: FilePair, size: int, sequence: Sequence[int]) -> Coupling:
    """The two resized tables drawn together, as in the proof (theory 1.6, coupling of resized tables)."""
    shared, (one, other) = pair.shared, pair.lasts
    most = len(shared) + 1  # kept in the first file
    if size >= most:
        fill = tuple(sequence[: size - most])
        beside = sequence[size - most] if other is None else other
        return {(_sorted(*shared, one, *fill), _sorted(*shared, beside, *fill)): Fraction(1)}
    if other is not None:  # the same places of both
        left, right, ways = (*shared, one), (*shared, other), math.comb(most, size)
        return _weighed(
            [(tuple(left[i] for i in c), tuple(right[i] for i in c), 1) for c in combinations(range(most), size)], ways
        )
    ways = math.comb(len(shared), size) * most  # the extra row takes a random place with probability size / most
    found: list[tuple[Rows, Rows, int]] = []
    for rows in combinations(shared, size):
        found.append((rows, rows, most - size))
        found += [((*rows[:place], one, *rows[place + 1 :]), rows, 1) for place in range(size)]
    return _weighed(found, ways)


def _weighed(pairs: Sequence[tuple[Rows, Rows, int]], ways: int) -> Coupling:
    weights: Counter[tuple[Rows, Rows]] = Counter()
    for left, right, weight in pairs:
        weights[_sorted(*left), _sorted(*right)] += weight
    return {tables: Fraction(weight, ways) for tables, weight in weights.items()}


def _sorted(*rows: int) -> Rows:
    return tuple(sorted(rows))


def marginal(coupled: Coupling, side: int) -> Law:
    law: dict[Rows, Fraction] = {}
    for tables, probability in coupled.items():
        law[tables[side]] = law.get(tables[side], Fraction(0)) + probability
    return law


@dataclass(frozen=True, kw_only=True)
class ResizedPairs:
    """All pairs of neighbouring files, and the pairs of tables of m rows that they lead to.

    Attributes
    ----------
    files : pairs of files; those in which every row is kept and used, which are pairs of tables, are not among them.
    coupled : pairs of tables in the couplings.
    contradictions : pairs of files where the program's tables have another law than the coupling, or a pair of tables in it is
        further apart than one replaced row.
    apart : (k,) pairs of different tables, as `first * number of tables + second`, first < second, and `of_file` (k,) the pair
        of files that each belongs to.
    """

    files: int
    coupled: int
    contradictions: int
    apart: np.ndarray
    of_file: np.ndarray

    @classmethod
    def none(cls) -> ResizedPairs:
        """No files: what is left out of one is enumerated over other cells, and the proof asks nothing of cells."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(files=0, coupled=0, contradictions=0, apart=nothing, of_file=nothing)

    def touched(self, worse: np.ndarray) -> int:
        """How many pairs of files lead to one of these pairs of tables (k,), numbered as in `apart`."""
        return len(np.unique(self.of_file[np.isin(self.apart, worse)])) if len(worse) else 0


def pair_numbers(first: np.ndarray, second: np.ndarray, tables: int) -> np.ndarray:
    """One number for each pair of tables, whatever their order."""
    return np.minimum(first, second) * tables + np.maximum(first, second)


@lru_cache(maxsize=64)
def resized_pairs(highs: tuple[tuple[str, int], ...], size: int, n_file: int) -> ResizedPairs:
    """Enumerate all pairs of neighbouring files of `n_file` rows over a world, resized to `size` rows."""
    world = World(dict(highs))
    layout = world.layout
    place = {table: index for index, table in enumerate(world.all_tables(size))}
    sequence = public_sequence(layout, n_file)
    laws: dict[Rows, Law] = {}
    files = coupled = contradictions = 0
    apart: list[tuple[int, int]] = []
    of_file: list[int] = []
    for pair in file_pairs(layout.n_cells, n_file):
        if size == n_file == len(pair.kept(1)):
            continue  # nothing is left out of either, and all of it is used
        together = coupling(pair, size, sequence)
        right = True
        for side in (0, 1):
            kept = pair.kept(side)
            if kept not in laws:
                laws[kept] = program_law(world, kept, size, n_file)
            right &= laws[kept] == marginal(together, side)
        for one, other in together:
            right &= (Counter(one) - Counter(other)).total() <= 1
            if one != other:
                apart.append((place[one], place[other]))
                of_file.append(files)
        files, coupled, contradictions = files + 1, coupled + len(together), contradictions + (not right)
    numbers = np.array(apart, dtype=np.int64).reshape(-1, 2)
    return ResizedPairs(
        files=files,
        coupled=coupled,
        contradictions=contradictions,
        apart=pair_numbers(numbers[:, 0], numbers[:, 1], len(place)),
        of_file=np.array(of_file, dtype=np.int64),
    )
