"""The mean of a column whose gaps are filled from the nearest records, one answer for the whole epsilon.

What is asked is the same of everybody: fill the gaps of the table from its nearest records, then take the mean. A release
does it in its released rows, at no cost; here it is done in the file, and the mean gets noise of a smooth bound. Gaps that a
rule demands, of those who were not asked, are left out of the question: the other columns of a row tell that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.rehearsal.baselines.base import AskedNumber, Baseline, ComparedFile, DoesNotFit, MadeAnswers
from synthrelease.rehearsal.baselines.imputed_answers import ImputedAnswers, smoothness
from synthrelease.rehearsal.baselines.nearest_neighbours import GappedTable, NearestNeighbours, order_by_distance

MOST_CELLS = 400
"""Of the columns that say who is near: every cell is ordered by its distance from every other."""

MOST_COLUMNS = 3
DRAWS = 400


class Imputation(Baseline):
    """Nearest neighbours with smooth sensitivity, a record replaced (Merrill 2021, chapter 6; Clifton et al. 2022)."""

    sentence = "fill gaps from the nearest records, and publish one mean with smooth sensitivity"
    makes_tables = False

    def question(self, file: ComparedFile) -> AskedNumber:
        asked = _ImputedMean.of(file)
        return AskedNumber(words=asked.words, of=asked.exact)

    def answers(self, file: ComparedFile) -> list[MadeAnswers]:
        least = 2 * smoothness("replace one")
        if not file.epsilon > least:
            raise DoesNotFit(f"one answer needs an epsilon above 2 ln 3 = {least:.4g}, and the release has {file.epsilon:.4g}")
        asked = _ImputedMean.of(file)
        gapped = asked.gapped(file.table)
        scheme = asked.scheme
        method = ImputedAnswers(scheme=scheme, neighbours="replace one", low=asked.low, high=asked.high, sharper=True)
        size = len(gapped.cells)
        noise = method.noise(file.epsilon)
        exact, random = float(scheme.imputed(gapped).mean()), file.generator(9)
        bound = method.bound(gapped, asked.high, asked.high - asked.low) / size
        values = np.array([noise.draw(bound, random) for _ in range(DRAWS)]) + exact
        return [
            MadeAnswers(
                name="imputed mean",
                guarantee=f"epsilon = {file.epsilon:.7g} for this one number, their number of rows taken as known",
                epsilon=file.epsilon,
                question=AskedNumber(words=asked.words, of=asked.exact),
                values=np.clip(values + asked.shift, asked.low + asked.shift, asked.high + asked.shift),
                notes=(f"{int(gapped.gaps.sum()):,} of {size:,} are filled from records near in {asked.near}",),
            )
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class _ImputedMean:
    """The mean of a column with gaps. Numbers are counted from the least one, as the bounds of a sum start at 0."""

    file: ComparedFile
    column: int
    others: tuple[int, ...]
    scheme: NearestNeighbours
    numbers: np.ndarray
    shift: float
    low: float
    high: float

    @classmethod
    def of(cls, file: ComparedFile) -> _ImputedMean:
        """The column with most gaps that no rule demands. Raises DoesNotFit where there is none."""
        gaps = {column: many for column in range(len(file.names)) if (many := _gaps(file, column))}
        if not gaps:
            raise DoesNotFit("no column with numbers has a gap that the rules leave open")
        column = max(gaps, key=lambda each: (gaps[each], -each))
        sizes, others, cells = file.table.layout.sizes, list[int](), 1
        for other in file.by_strength(column, [c for c in range(len(sizes)) if c != column]):
            if len(others) < MOST_COLUMNS and cells * sizes[other] <= MOST_CELLS:
                others.append(other)
                cells *= sizes[other]
        if not others:
            raise DoesNotFit(f"no other column than {file.names[column]!r} has few enough bins to say who is near")
        numbers = file.transformation.numbers(file.names[column]).astype(float)
        shift, high = float(np.nanmin(numbers)), float(np.nanmax(numbers) - np.nanmin(numbers))
        points = np.indices(tuple(sizes[other] for other in others)).reshape(len(others), -1).T
        return cls(
            file=file,
            column=column,
            others=tuple(others),
            scheme=NearestNeighbours(order=order_by_distance(points), k=1, default=high / 2),
            numbers=numbers - shift,
            shift=shift,
            low=0.0,
            high=high,
        )

    @property
    def near(self) -> str:
        return ", ".join(self.file.names[other] for other in self.others)

    @property
    def words(self) -> str:
        return f"mean {self.file.names[self.column]}, gaps filled from the nearest rows by {self.near}"

    def gapped(self, table: Counts) -> GappedTable:
        """The rows that are asked, each with its cell, a label of its own and its number, or a gap."""
        open_ = np.repeat(~_demanded(self.file, self.column, table), table.counts)
        sizes = table.layout.sizes
        cells = np.ravel_multi_index(
            tuple(table.rows(other)[open_] for other in self.others), tuple(sizes[other] for other in self.others)
        )
        values = self.numbers[table.rows(self.column)[open_]]
        return GappedTable(cells=cells, labels=self.file.generator(10).permutation(len(cells)), values=values)

    def exact(self, table: Counts) -> float:
        asked = self.gapped(table)
        if not len(asked.cells):
            raise DoesNotFit("no row is asked")
        return float(self.scheme.imputed(asked).mean()) + self.shift


def _gaps(file: ComparedFile, column: int) -> int:
    """Gaps of a column with numbers that no rule demands."""
    missing = file.transformation.binnings[column].missing
    if missing is None or file.numbers(column) is None or file.transformation.binnings[column].present < 2:
        return 0
    there = (file.table.bins[column] == missing) & ~_demanded(file, column, file.table)
    return int(file.table.counts[there].sum())


def _demanded(file: ComparedFile, column: int, table: Counts) -> np.ndarray:
    """(n_cells,) whether the other columns of a row leave no value to this one."""
    demanded = np.ones(len(table), dtype=bool)
    for value in range(file.transformation.binnings[column].present):
        tried = [np.full(len(table), value) if c == column else bins.astype(np.int64) for c, bins in enumerate(table.bins)]
        demanded &= file.plausibility.forbidden(tried)
        if not demanded.any():
            break
    return demanded
