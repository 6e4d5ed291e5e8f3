"""Define tiny made-up worlds, and enumerate all their tables and neighbours, and files with excluded rows.

A world is a schema with few cells. A cell, one combination of bins, has a number, its code. A table of records is given by
the codes of its records.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, combinations_with_replacement, islice, pairwise, permutations
from typing import Literal

import numpy as np

from synthrelease.criteria.base import Criterion, Setting
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import FillerRows, Plausibility
from synthrelease.data.schema import Column, Schema, Transformation
from synthrelease.enclave.door import PrivateCounts, PrivateRows
from synthrelease.generators.candidate import Candidate
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.generators.projections import MinimumCount
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Charge, Meter
from synthrelease.privacy.noise import SYSTEM, SystemEntropy
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import Bins, build_column, group_binning

# Tiny made-up worlds: a schema with its setting, all tables of a few records, and all neighbours of these tables.


@dataclass(frozen=True, kw_only=True)
class Coding:
    """The whole numbers of a column's bins, which are called by their codes 0, 1, ...

    If the lowest number is 0, the highest equals the difference between the two, and such worlds alone would miss some
    faults.

    Attributes
    ----------
    lowest : the lowest number of the first bin.
    step : the number of whole numbers in a bin. It is odd, so that the representative value of a bin is a whole number.
    categories : whether the bins are ordered categories with these numbers.
    """

    lowest: int = 0
    step: int = 1
    categories: bool = False

    def number(self, code: int) -> int:
        return self.lowest + self.step * code + self.step // 2

    def labels(self, text: str) -> list[str]:
        """Return the labels of the bins whose codes a text gives, such as "1-2" or "1"."""
        if self.categories:
            return [str(self.number(code)) for code in codes_of(text)]
        return [_interval(self._ends(code, code), "-" if self.lowest >= 0 else " to ") for code in codes_of(text)]

    def bins(self, texts: Sequence[str]) -> Bins:
        """Return bins in the notation of a configuration. Each text gives the codes of one bin, such as "1-2"."""
        if self.categories:
            return {" or ".join(self.labels(text)): self.labels(text) for text in texts}
        return [_interval(self._ends(codes_of(text)[0], codes_of(text)[-1]), " - ") for text in texts]

    def _ends(self, first: int, last: int) -> tuple[int, int]:
        return self.lowest + self.step * first, self.lowest + self.step * (last + 1) - 1


def codes_of(text: str) -> range:
    """Return the codes that a text names, as a range: 1 and 2 for "1-2", only 1 for "1"."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _interval(ends: tuple[int, int], between: str) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}{between}{ends[1]}"


FROM_0 = Coding()


def integer_column(
    name: str, low: int, high: int, groups: Bins | None = None, *, missing: bool = False, step: int = 1
) -> Column:
    """Return a column of whole numbers with a bin for each `step` numbers, and perhaps a bin of missing values."""
    alternatives: dict[str, list[str] | dict[str, list[str]]] = {"single": [f"{low}-{high} by {step}"]}
    policy: Literal["bin", "error"] = "bin" if missing else "error"
    table = ColumnTable(kind="integer", bounds=(low, high), alternatives=alternatives, missing=policy)
    return build_column(name, table, InputTable(), [], groups)


def _category_column(name: str, high: int, coding: Coding, groups: Bins | None, *, missing: bool) -> Column:
    labels = coding.labels(f"0-{high}")
    numbers = {label: float(coding.number(code)) for code, label in enumerate(labels)}
    policy: Literal["bin", "error"] = "bin" if missing else "error"
    table = ColumnTable(kind="category", categories=labels, numbers=numbers, ordered=True, missing=policy)
    column = build_column(name, table, InputTable(), [], groups)
    return replace(column, alternatives={"single": column.alternatives["categories"]})


def behind_a_door(counts: Counts, charges: Sequence[Charge], entropy: SystemEntropy = SYSTEM) -> PrivateCounts:
    return PrivateCounts(counts, Meter(charges), entropy)


class World:
    """A tiny world without rules. Its columns have the whole numbers from 0 to a highest value, each with a bin.

    Columns in `missing` have one more bin, the last, for missing values. The code of a cell numbers all combinations of
    values, with the last column varying fastest.

    Parameters
    ----------
    groups : groups of the bins of columns, by their codes: {"b": ["0", "1-2"]}.
    linked : for linked tables, how columns belong to a root and its members. Only the cells of possible roots are used.
    coding : the numbers of the bins, in all columns but the number of members.
    """

    def __init__(
        self,
        highs: Mapping[str, int],
        groups: Mapping[str, Sequence[str]] | None = None,
        missing: Collection[str] = (),
        linked: Linked | None = None,
        coding: Coding = FROM_0,
    ):
        self.missing, self.linked, self._coding = frozenset(missing), linked, coding
        bins = {name: self.coding(name).bins(texts) for name, texts in (groups or {}).items()}
        self.schema = Schema(
            columns=tuple(self._column(name, high, bins.get(name)) for name, high in highs.items()), linked=linked
        )
        self.transformation = Transformation(
            schema=self.schema, binnings=tuple(column.alternatives["single"] for column in self.schema.columns)
        )
        self.layout = self.transformation.layout
        self.groups = {name: group_binning(self.schema[name], groups) for name, groups in bins.items()}

    def coding(self, name: str) -> Coding:
        """Return the numbers of a column's bins: those of the world, with two exceptions.

        The number of members counts from 0. The bins of a difference "a - b" are one step wide and centred on multiples of
        the step.
        """
        if self.linked is not None and name == self.linked.size:
            return FROM_0
        return Coding(step=self._coding.step, lowest=-(self._coding.step // 2)) if " - " in name else self._coding

    def label(self, name: str, text: str) -> str:
        """Return the label of the bin, or group of bins, that a text of codes such as "1-2" means."""
        if name not in self.groups:
            return self.coding(name).labels(text)[0]
        return self.groups[name].labels[self.groups[name].of_atom[codes_of(text)[0]]]

    def _column(self, name: str, high: int, groups: Bins | None) -> Column:
        coding, missing = self.coding(name), name in self.missing
        if coding.categories:
            return _category_column(name, high, coding, groups, missing=missing)
        last = coding.lowest + coding.step * (high + 1) - 1
        return integer_column(name, coding.lowest, last, groups, missing=missing, step=coding.step)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        every = range(self.layout.n_cells)
        return tuple(every) if self.linked is None else tuple(cell for cell in every if self._fits(self.linked, cell))

    def _fits(self, linked: Linked, cell: int) -> bool:
        """Return whether a cell is a possible root: present members have values, unless these may be missing, and absent
        ones none.
        """
        bins = dict(zip(self.layout.columns, np.unravel_index(cell, self.layout.sizes), strict=True))
        last = {name: size - 1 for name, size in zip(self.layout.columns, self.layout.sizes, strict=True)}
        number = int(bins[linked.size]) + linked.least
        return all(
            (bins[name] < last[name] or plain not in linked.whole) if index < number else bins[name] == last[name]
            for index, slot in enumerate(linked.slots)
            for name, plain in zip(slot, linked.names, strict=True)
        )

    def setting(self, *criteria: Criterion) -> Setting:
        return Setting(
            schema=self.schema,
            groups=self.groups,
            raw=Plausibility(layout=self.schema.layout, masks=()),
            transformations=(self.transformation,),
            criteria={criterion.name: criterion for criterion in criteria},
        )

    def counts(self, codes: Sequence[int]) -> Counts:
        return Counts(self.layout, np.array(codes, dtype=np.int64))

    def private(self, codes: Sequence[int], charges: Sequence[Charge], entropy: SystemEntropy = SYSTEM) -> PrivateCounts:
        return behind_a_door(self.counts(codes), charges, entropy)

    def rows(self, codes: Sequence[int], n_file: int, entropy: SystemEntropy) -> PrivateRows:
        return PrivateRows(self.counts(codes), n_file, entropy)

    def candidate(self, codes: Sequence[int]) -> Candidate:
        configuration = Configuration(
            transformation=self.transformation,
            generator=PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(1, 2)),
            projection=MinimumCount(minimum_count=1),
        )
        return Candidate(configuration=configuration, counts=self.counts(codes))

    def dense(self, tables: Sequence[Sequence[int]]) -> np.ndarray:
        return np.array([np.bincount(table, minlength=self.layout.n_cells) for table in tables])

    def in_words(self, table: Sequence[int]) -> str:
        """Return the records of a table in words, such as "[0 1, 1 2]": for each record, the labels of its bins."""
        labels = [binning.labels for binning in self.transformation.binnings]
        records = (np.unravel_index(cell, self.layout.sizes) for cell in table)
        return "[" + ", ".join(" ".join(of[int(bin_)] for of, bin_ in zip(labels, bins, strict=True)) for bins in records) + "]"

    def all_tables(self, n: int) -> list[tuple[int, ...]]:
        return list(combinations_with_replacement(self.cells, n))

    def neighbours(self, table: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield every table that differs from this one in one replaced record."""
        for index in range(len(table)):
            for cell in self.cells:
                if cell != table[index]:
                    yield tuple(sorted((*table[:index], cell, *table[index + 1 :])))


# Files with excluded rows: the tables that the program draws from every file and from every neighbour of the file.
#
# A file has N rows. Each row lies in a cell or is excluded. The program draws m of the other rows, or adds public rows until
# there are m (`resizing`). For all files, all m from 1 to N, and all neighbours (one row is replaced, excluded or not), two
# facts are checked:
#
# - The coupling follows the proof of the resizing theorem. Its two distributions must equal the distributions of the program's
#   tables, as fractions. To find these, the program runs with every possible result of its draws.
# - The two tables of every pair in the coupling must be equal or differ in one replaced row.
#
# So a criterion value changes between the two files at most as much as between the tables of a pair. `sensitivity` compares all
# these pairs.

Rows = tuple[int, ...]
"""The numbers of the cells that contain rows, in increasing order."""
Law = dict[Rows, Fraction]
Coupling = dict[tuple[Rows, Rows], Fraction]


class Decided(SystemEntropy):
    """A source of entropy that draws rows in way number `way` of `ways` equally likely ones, so that all draws can be tried.

    It adds no noise, and records the values to which noise would be added.
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
    """Two neighbouring files of N rows: they share N - 1 rows and differ in the last.

    Attributes
    ----------
    shared : the shared rows that the rules do not exclude.
    lasts : the last row of each file. None if the rules exclude it.
    """

    shared: Rows
    lasts: tuple[int, int | None]

    def kept(self, side: int) -> Rows:
        last = self.lasts[side]
        return self.shared if last is None else tuple(sorted((*self.shared, last)))


def file_pairs(n_cells: int, n_file: int) -> Iterator[FilePair]:
    """Yield all pairs of files of `n_file` rows, as multisets, that differ in one row; the rules may exclude rows."""
    for shared in combinations_with_replacement(range(n_cells + 1), n_file - 1):
        inside = tuple(row for row in shared if row < n_cells)
        for first, second in combinations(range(n_cells + 1), 2):
            yield FilePair(shared=inside, lasts=(first, second if second < n_cells else None))


def program_law(world: World, rows: Rows, size: int, n_file: int) -> Law:
    """Return the distribution of the table of `size` rows that the program makes from a file, over all its possible draws.

    The generator of noisy marginals adds noise to this table when it measures all columns together.
    """
    generator = Marginals(tables=":".join(world.layout.columns))
    charge = generator.charge(Fraction(1))
    tables: Counter[Rows] = Counter()
    way = ways = 0
    while way == 0 or way < ways:
        entropy = Decided(way)
        chosen = world.rows(rows, n_file, entropy).some_of_them(size, filler(world.layout))
        generator.measure(chosen.with_plan([charge]), charge)
        tables[tuple(np.repeat(np.arange(len(entropy.seen)), entropy.seen).tolist())] += 1
        way, ways = way + 1, entropy.ways
    return {rows: Fraction(count, ways) for rows, count in tables.items()}


def filler(layout: Layout) -> FillerRows:
    return FillerRows(Plausibility(layout=layout, masks=()))


def _rows(counts: Counts) -> Rows:
    return tuple(np.repeat(counts.codes, counts.counts).tolist())


def public_sequence(layout: Layout, size: int) -> Rows:
    """Return the public rows that fill up a table that is too small, in the order of the program."""
    prefixes = [Counter(_rows(filler(layout).first(length))) for length in range(size + 1)]
    return tuple(next(iter((longer - shorter).elements())) for shorter, longer in pairwise(prefixes))


def coupling(pair: FilePair, size: int, sequence: Sequence[int]) -> Coupling:
    """Return a joint distribution of the resized tables of two neighbouring files.

    In every outcome, the two tables differ by at most one replaced row. The distribution follows the proof (theory 1.6,
    coupling of resized tables).
    """
    shared, (last, other_last) = pair.shared, pair.lasts
    most = len(shared) + 1  # number of rows of the first file that are not excluded
    if size >= most:
        fill = tuple(sequence[: size - most])
        beside = sequence[size - most] if other_last is None else other_last
        return {(_sorted(*shared, last, *fill), _sorted(*shared, beside, *fill)): Fraction(1)}
    if other_last is not None:  # draw the same positions in both files
        left, right, ways = (*shared, last), (*shared, other_last), math.comb(most, size)
        return _weighed(
            [(tuple(left[i] for i in c), tuple(right[i] for i in c), 1) for c in combinations(range(most), size)], ways
        )
    ways = math.comb(len(shared), size) * most  # the extra row replaces a random row with probability size / most
    drawn_pairs: list[tuple[Rows, Rows, int]] = []
    for rows in combinations(shared, size):
        drawn_pairs.append((rows, rows, most - size))
        drawn_pairs += [((*rows[:index], last, *rows[index + 1 :]), rows, 1) for index in range(size)]
    return _weighed(drawn_pairs, ways)


def _weighed(pairs: Sequence[tuple[Rows, Rows, int]], ways: int) -> Coupling:
    weights: Counter[tuple[Rows, Rows]] = Counter()
    for left, right, weight in pairs:
        weights[_sorted(*left), _sorted(*right)] += weight
    return {tables: Fraction(weight, ways) for tables, weight in weights.items()}


def _sorted(*rows: int) -> Rows:
    return tuple(sorted(rows))


def marginal(coupled: Coupling, side: int) -> Law:
    """Return the distribution of one of the two tables (0 or 1) in a joint distribution of resized tables."""
    law: dict[Rows, Fraction] = {}
    for tables, probability in coupled.items():
        law[tables[side]] = law.get(tables[side], Fraction(0)) + probability
    return law


@dataclass(frozen=True, kw_only=True)
class ResizedPairs:
    """All pairs of neighbouring files, and the pairs of tables of m rows drawn from them, to check the resizing theorem.

    Attributes
    ----------
    files : number of pairs of files with an unused row; others are pairs of tables.
    contradictions : number of pairs of files that contradict the proof: the tables have another distribution than the
        coupling, or two coupled tables differ in more than one replaced row.
    apart : (k, 2) indices of pairs of different tables, the lower first; `of_file`, (k,), has the pair of files of each.
    """

    files: int
    coupled: int
    contradictions: int
    apart: np.ndarray
    of_file: np.ndarray

    @classmethod
    def none(cls) -> ResizedPairs:
        """Return an empty result, for a world in which excluded rows need no enumeration: the proof does not depend on the
        cells.
        """
        nothing = np.zeros((0, 2), dtype=np.int64)
        return cls(files=0, coupled=0, contradictions=0, apart=nothing, of_file=nothing[:, 0])

    def touched(self, first: np.ndarray, second: np.ndarray) -> int:
        """Return how many pairs of neighbouring files lead to at least one of the pairs of tables (first[i], second[i])."""
        if not len(first):
            return 0
        pairs = {(min(pair), max(pair)) for pair in zip(first.tolist(), second.tolist(), strict=True)}
        return len({file for (a, b), file in zip(self.apart.tolist(), self.of_file.tolist(), strict=True) if (a, b) in pairs})


@lru_cache(maxsize=64)
def resized_pairs(highs: tuple[tuple[str, int], ...], size: int, n_file: int) -> ResizedPairs:
    """Check the resizing theorem for all pairs of neighbouring files of `n_file` rows and tables of `size` rows in a tiny
    world.
    """
    world = World(dict(highs))
    layout = world.layout
    index_of = {table: index for index, table in enumerate(world.all_tables(size))}
    sequence = public_sequence(layout, n_file)
    laws: dict[Rows, Law] = {}
    files = coupled = contradictions = 0
    apart: list[tuple[int, ...]] = []
    of_file: list[int] = []
    for pair in file_pairs(layout.n_cells, n_file):
        if size == n_file == len(pair.kept(1)):
            continue  # no row of either file is left out, and all rows are used
        together = coupling(pair, size, sequence)
        right = True
        for side in (0, 1):
            rows = pair.kept(side)
            if rows not in laws:
                laws[rows] = program_law(world, rows, size, n_file)
            right &= laws[rows] == marginal(together, side)
        for first, other in together:
            right &= (Counter(first) - Counter(other)).total() <= 1
            if first != other:
                apart.append(tuple(sorted((index_of[first], index_of[other]))))
                of_file.append(files)
        files, coupled, contradictions = files + 1, coupled + len(together), contradictions + (not right)
    return ResizedPairs(
        files=files,
        coupled=coupled,
        contradictions=contradictions,
        apart=np.array(apart, dtype=np.int64).reshape(-1, 2),
        of_file=np.array(of_file, dtype=np.int64),
    )
