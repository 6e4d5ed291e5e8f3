"""A count weighted to published totals, as the source has it: strata are chosen, a noisy table is raked, one count is answered.

What is asked is the same of everybody: weight the table to the totals of [calibration], then count. A release is weighted
afterwards, at no cost; here the weights are made of the file, and all of epsilon goes into one weighted count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.weights import Calibration, NotCalibrated, raked
from synthrelease.rehearsal.baselines.base import AskedNumber, Baseline, ComparedFile, DoesNotFit, MadeAnswers
from synthrelease.rehearsal.baselines.noisy_raking import NotRaked, noisy_counts, raked_to
from synthrelease.rehearsal.baselines.post_stratification import PostStrata, Respondents, choose

WANTED_SHARE = 0.1
"""Of the rows: the bin that is counted is the one whose share is nearest."""

MOST_CELLS = 5_000
"""Of the columns of the margins."""

DRAWS = 40
GAMMA = 4.0


class PostStratification(Baseline):
    """Strata chosen privately, a raked noisy table of respondents, one weighted count (Merrill 2021, chapter 7)."""

    sentence = "weight respondents to published totals, and publish one weighted count with smooth sensitivity"
    makes_tables = False

    def question(self, file: ComparedFile) -> AskedNumber:
        asked = _WeightedCount.of(file, _totals(file))
        return AskedNumber(words=asked.words, of=asked.exact)

    def answers(self, file: ComparedFile) -> list[MadeAnswers]:
        asked, known = _WeightedCount.of(file, _totals(file)), _KnownTotals.of(file, _totals(file))
        random, values, failed = file.generator(11), list[float](), 0
        for _ in range(DRAWS):
            try:
                values.append(known.count(asked.chosen(file.table), file.epsilon, random))
            except NotRaked:
                failed += 1
        if not values:
            raise DoesNotFit("no noisy table of the respondents could be raked to the totals")
        return [
            MadeAnswers(
                name="weighted count",
                guarantee=f"epsilon = {file.epsilon:.7g} for this one number",
                epsilon=file.epsilon,
                question=AskedNumber(words=asked.words, of=asked.exact),
                values=np.array(values),
                notes=(
                    "a tenth of epsilon chooses strata, three are for a raked noisy table, six for the count",
                    *((f"{failed} of {DRAWS} noisy tables could not be raked",) if failed else ()),
                ),
            )
        ]


def _totals(file: ComparedFile) -> Calibration:
    if file.calibration is None:
        raise DoesNotFit("weights need published totals, and the configuration has no [calibration]")
    return file.calibration


@dataclass(frozen=True, kw_only=True, eq=False)
class _WeightedCount:
    """How many people have one value of a column that no margin names, once the table has the totals."""

    file: ComparedFile
    calibration: Calibration
    column: int
    bin: int

    @classmethod
    def of(cls, file: ComparedFile, calibration: Calibration) -> _WeightedCount:
        named = {name for margin in calibration.margins for name in margin.columns} | {calibration.start}
        sizes = file.table.layout.sizes
        free = [column for column, name in enumerate(file.names) if name not in named and sizes[column] > 1]
        if not free:
            raise DoesNotFit("every column has published totals, so nothing is left to ask")
        column = min(free, key=lambda each: (sizes[each], each))
        shares = file.table.marginal((column,)) / max(1, file.table.total)
        return cls(file=file, calibration=calibration, column=column, bin=int(np.argmin(np.abs(shares - WANTED_SHARE))))

    @property
    def words(self) -> str:
        label = self.file.transformation.binnings[self.column].labels[self.bin]
        return f"people with {self.file.names[self.column]} {label!r}, weighted to the published totals"

    def chosen(self, table: Counts) -> np.ndarray:
        """(n_rows,) whether a row is counted."""
        return np.asarray(table.rows(self.column) == self.bin)

    def exact(self, table: Counts) -> float:
        """Of a table that is weighted as a release is."""
        start = None if self.calibration.start is None else self.file.transformation.numbers(self.calibration.start)
        try:
            weights = raked(table, self.calibration, start).of_cells
        except NotCalibrated:
            raise DoesNotFit("the table cannot have the published totals") from None
        return float((weights * table.counts)[table.bins[self.column] == self.bin].sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class _KnownTotals:
    """Who answered, over the groups of the margins' columns, and the totals.

    Attributes
    ----------
    groups : (n_rows, n_axes) the group of each row in each column of the margins. shape : groups of each.
    margins : published totals by their axes. base : (n_rows,) the design weight of each row, 1 where there is none.
    possible : of `shape`, whether the totals leave room for anybody.
    """

    groups: np.ndarray
    shape: tuple[int, ...]
    margins: Mapping[tuple[int, ...], np.ndarray]
    base: np.ndarray
    bounds: tuple[float, float]
    possible: np.ndarray

    @classmethod
    def of(cls, file: ComparedFile, calibration: Calibration) -> _KnownTotals:
        into: dict[str, np.ndarray] = {}
        for margin in calibration.margins:
            for name, groups in zip(margin.columns, margin.into, strict=True):
                if name in into and not np.array_equal(into[name], groups):
                    raise DoesNotFit(
                        f"two margins group {name!r} in different ways, which the source's raked table cannot have"
                    )
                into[name] = np.asarray(groups)
        axes = list(into)
        shape = tuple(int(into[name].max()) + 1 for name in axes)
        if np.prod([float(size) for size in shape]) > MOST_CELLS:
            raise DoesNotFit(f"the columns with published totals have more than {MOST_CELLS:,} cells together")
        margins, possible = dict[tuple[int, ...], np.ndarray](), np.ones(shape, dtype=bool)
        whole = calibration.margins[0].total
        for margin in calibration.margins:
            order = np.argsort([axes.index(name) for name in margin.columns])
            places = tuple(sorted(axes.index(name) for name in margin.columns))
            totals = np.asarray(margin.table, dtype=float).transpose(order) * (whole / margin.total)
            margins[places] = totals
            possible &= totals.reshape([size if axis in places else 1 for axis, size in enumerate(shape)]) > 0
        base, bounds = np.ones(file.table.total), (1.0, 1.0)
        if calibration.start is not None:
            numbers = file.transformation.numbers(calibration.start)
            base = numbers[file.table.rows(file.names.index(calibration.start))].astype(float)
            bounds = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        grouped = np.stack([into[name][file.table.rows(file.names.index(name))] for name in axes], axis=1)
        return cls(groups=grouped, shape=shape, margins=margins, base=base, bounds=bounds, possible=possible)

    def count(self, chosen: np.ndarray, epsilon: float, random: np.random.Generator) -> float:
        """One answer, a record replaced: the shares of epsilon are those of the source's example."""
        places = next(iter(self.margins))
        first = places[0]
        totals = self.margins[places].sum(axis=tuple(range(1, len(places))))
        candidates = [
            PostStrata(into=into, totals=np.bincount(into, totals), smallest_base=self.bounds[0], largest_base=self.bounds[1])
            for into in _coarser(len(totals))
            if np.all(np.bincount(into, totals) > 0)
        ]
        if not candidates:
            raise NotRaked("expected totals above 0")
        of_first = Respondents(bins=self.groups[:, first], base_weights=self.base)
        into = candidates[choose(candidates, of_first, epsilon / 10, "replace one", random)].into
        groups = self.groups.copy()
        groups[:, first] = into[groups[:, first]]
        shape = tuple(int(into.max()) + 1 if axis == first else size for axis, size in enumerate(self.shape))
        counts = np.bincount(np.ravel_multi_index(tuple(groups.T), shape), minlength=int(np.prod(shape))).reshape(shape)
        possible = np.logical_or.reduceat(self.possible, _starts(into), axis=first)
        noisy = noisy_counts(counts, possible, 3 * epsilon / 10, "replace one", random)
        table = raked_to(noisy, possible, {axes: _joined(each, axes, first, into) for axes, each in self.margins.items()})
        stratum = table.stratum[np.ravel_multi_index(tuple(groups.T), shape)]
        inside = stratum >= 0  # a row where the totals have nobody has no weight
        strata = PostStrata(
            into=np.arange(len(table.totals)), totals=table.totals, smallest_base=self.bounds[0], largest_base=self.bounds[1]
        )
        answering = Respondents(bins=stratum[inside], base_weights=self.base[inside])
        return strata.count(answering, chosen[inside], 6 * epsilon / 10, "replace one", random, gamma=GAMMA).value


def _coarser(size: int) -> Sequence[np.ndarray]:
    """Groups of neighbours: each by itself, in twos, in fours, and so on to one group."""
    found, width = [np.arange(size)], 1
    while found[-1].max() > 0:
        width *= 2
        found.append(np.arange(size) // width)
    return found


def _starts(into: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.diff(into, prepend=-1))


def _joined(totals: np.ndarray, axes: tuple[int, ...], first: int, into: np.ndarray) -> np.ndarray:
    """Totals over coarser groups of one axis."""
    return np.add.reduceat(totals, _starts(into), axis=axes.index(first)) if first in axes else totals
