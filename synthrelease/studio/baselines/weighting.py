"""A count weighted to published totals, as the source has it: strata are chosen, a noisy table is raked, one count is answered.

What is asked is the same of everybody: weight the table to the totals of [calibration], then count. A release is weighted
afterwards, at no cost; here the weights are made of the file, and all of epsilon goes into one weighted count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.weights import Calibration, NotCalibrated, raked
from synthrelease.studio.baselines.base import AskedNumber, Baseline, CauchyNoise, ComparedFile, DoesNotFit, MadeAnswers
from synthrelease.studio.baselines.imputation import STEPS, Answer, Neighbours
from synthrelease.studio.rehearsal.surrogates import GroupSums, fit

# A noisy table of respondents, raked to known margins; its cells then are strata with totals (Merrill 2021, section 7.3).
#
# Theory 11.8, weighted count.
#
# All counts get Laplace noise. Cells that came out at 0 or below, though people can be there, are joined with a neighbour, as
# whole slices, so that the cells stay a product of groups: this looks at the noisy table alone. Iterative proportional fitting
# then gives every cell an estimate of its population, and the private file is not looked at again for it.

TOLERANCE = 1e-6
"""How far a fitted margin may be off, as a share of the population."""


class NotRaked(ValueError):
    """Totals that no table has, or a noisy table that no joining makes positive."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RakedTable:
    """Cells that are products of groups of bins, with their estimated population.

    Attributes
    ----------
    into : per axis, (n_bins,) the group of every bin.
    population : one axis of groups per axis of bins; 0 where nobody can be.
    """

    into: tuple[np.ndarray, ...]
    population: np.ndarray

    @property
    def stratum(self) -> np.ndarray:
        """Return (n_cells,) the stratum of every cell of the fine table, counted in the order of the cells; -1 where nobody
        can be."""
        strata = np.full(self.population.size, -1)
        inhabited = np.flatnonzero(self.population.ravel() > 0)
        strata[inhabited] = np.arange(len(inhabited))
        return strata.reshape(self.population.shape)[np.ix_(*self.into)].ravel()

    @property
    def totals(self) -> np.ndarray:
        """Return (n_strata,) the population of every stratum."""
        return self.population.ravel()[self.population.ravel() > 0]


def noisy_counts(
    counts: np.ndarray, possible: np.ndarray, epsilon: float, neighbours: Neighbours, generator: np.random.Generator
) -> np.ndarray:
    """Counts with discrete Laplace noise, 0 where nobody can be.

    Privacy: epsilon-DP. One added or removed record moves one count by 1: scale 1 / epsilon. A replaced one moves two: 2 /
    epsilon.

    Parameters
    ----------
    counts, possible : of one shape; whether anybody can be in a cell is public.
    """
    stop = -np.expm1(-epsilon / STEPS[neighbours])
    noise = generator.geometric(stop, counts.shape) - generator.geometric(stop, counts.shape)
    return np.where(possible, counts + noise, 0)


def raked_to(noisy: np.ndarray, possible: np.ndarray, margins: Mapping[tuple[int, ...], np.ndarray]) -> RakedTable:
    """Join until all cells that can hold people are positive, then fit the margins. Post-processing of a noisy table.

    Parameters
    ----------
    margins : known totals over some axes, in their order, of the fine bins.

    Raises
    ------
    NotRaked : for totals that contradict each other or the cells in which nobody can be, or a noisy table without people.
    """
    _check(margins)
    into = [np.arange(size) for size in noisy.shape]
    table, open_ = noisy.astype(float), possible
    while np.any(open_ & (table <= 0)):
        axis, group = _to_join(table, open_)
        table, open_ = _joined_noisy(table, axis, group, np.add), _joined_noisy(open_, axis, group, np.logical_or)
        into[axis] = into[axis] - (into[axis] > group)
    fitted = []
    cell_indices = np.indices(table.shape)
    for axes, totals in margins.items():
        coarse = totals
        for position, axis in enumerate(axes):
            coarse = np.stack(
                [coarse.compress(into[axis] == group, position).sum(position) for group in range(table.shape[axis])], position
            )
        cells = np.ravel_multi_index(tuple(cell_indices[axis].ravel() for axis in axes), coarse.shape)
        fitted.append(GroupSums(groups=cells, target=coarse.ravel().astype(float)))
    population = fit(table.ravel(), fitted)
    whole = population.sum()
    if not all(np.allclose(margin.of(population), margin.target, rtol=0, atol=TOLERANCE * whole) for margin in fitted):
        raise NotRaked("expected totals that a table with these cells can have")
    return RakedTable(into=tuple(into), population=population.reshape(table.shape))


def _check(margins: Mapping[tuple[int, ...], np.ndarray]) -> None:
    """Raise NotRaked unless the margins agree in the axes that they share."""
    for axes, totals in margins.items():
        if not (np.all(totals >= 0) and totals.sum() > 0):
            raise NotRaked("expected totals of at least 0, and not all of them 0")
        for further_axes, further_totals in margins.items():
            shared = set(axes) & set(further_axes)
            first, second = (
                margin.sum(axis=tuple(position for position, axis in enumerate(margin_axes) if axis not in shared))
                for margin_axes, margin in ((axes, totals), (further_axes, further_totals))
            )
            if not np.allclose(first, second, rtol=1e-9):
                raise NotRaked("expected margins that agree in what they share, found totals that contradict each other")


def _to_join(table: np.ndarray, open_: np.ndarray) -> tuple[int, int]:
    """The axis with the most groups left, and the lower of two groups: the first bad cell's and its smaller neighbour."""
    axis = int(np.argmax(table.shape))
    if table.shape[axis] == 1:
        raise NotRaked("expected a noisy table with people in it")
    group = int(np.argwhere(open_ & (table <= 0))[0][axis])
    sizes = table.sum(axis=tuple(axis_ for axis_ in range(table.ndim) if axis_ != axis))
    if group == len(sizes) - 1 or (group and sizes[group - 1] <= sizes[group + 1]):
        group -= 1
    return axis, group


def _joined_noisy(table: np.ndarray, axis: int, group: int, join: np.ufunc) -> np.ndarray:
    """The table with slice `group` + 1 taken into slice `group`."""
    return join.reduceat(table, [index for index in range(table.shape[axis]) if index != group + 1], axis=axis)


# Post-stratified weights, how large they can get, a choice of strata, and one weighted count (Merrill 2021, chapter 7).
#
# A respondent's weight is its base weight times the known total of its stratum over the base weights of all who answered there.
# So it depends on who else answered, and one record can move a weighted count by as much as the largest weight, here bounded by
# smooth sensitivity (theory 11.7, potential weights; theory 11.8, weighted count; theory 11.9, choice of strata). For public
# data alone: a release refuses it and weights the accepted table afterwards, at no cost (docs/weights.md).


@dataclass(frozen=True, kw_only=True, eq=False)
class Respondents:
    """Public records of those who answered.

    Attributes
    ----------
    bins : (n,) the finest bin of each, from 0 up.
    base_weights : (n,) > 0, by the design of the survey alone.
    """

    bins: np.ndarray
    base_weights: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class PostStrata:
    """A set of strata with known totals.

    Attributes
    ----------
    into : (n_bins,) the stratum of each finest bin.
    totals : (n_strata,) the known population of each stratum, > 0.
    smallest_base, largest_base : public bounds of the base weights.
    """

    into: np.ndarray
    totals: np.ndarray
    smallest_base: float = 1.0
    largest_base: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.smallest_base <= self.largest_base < math.inf):
            raise ValueError("expected bounds of the base weights above 0")
        if not np.all(self.totals > 0) or set(self.into.tolist()) != set(range(len(self.totals))):
            raise ValueError("expected a total above 0 for every stratum that some bin belongs to")

    def weights(self, respondents: Respondents) -> np.ndarray:
        """Return (n,) the weight of every respondent: base weight x total / base weights of the stratum."""
        strata, base = self._strata(respondents), respondents.base_weights
        return base * (self.totals / np.maximum(self._sums(respondents), np.finfo(float).tiny))[strata]

    def largest_weight(self, respondents: Respondents, steps: int = 0) -> float:
        """W_k: the largest weight that a record has, or would have if it were added, in any file k = `steps` records away.

        In a stratum of k records or fewer all may be gone: its total. Else the k heaviest may be gone but for one that stays,
        or the k heaviest and one of the largest base weight comes. A fact of single records: **private**.
        """
        return max(float(weights[min(steps, len(weights) - 1)]) for weights in self._potential(respondents))

    def smooth_bound(self, respondents: Respondents, beta: float) -> float:
        """max over k of e^(-beta k) W_k: a smooth bound on how far a weighted count moves when a record is added or removed.

        **Private**, as is any scale that is made of it.
        """
        if not beta > 0:
            raise ValueError("expected a smoothness above 0")
        bounds = (weights * np.exp(-beta * np.arange(len(weights))) for weights in self._potential(respondents))
        return max(float(bound.max()) for bound in bounds)

    def score(self, respondents: Respondents) -> float:
        """Strata over the largest potential weight: many strata, and none with heavy weights."""
        return len(self.totals) / self.largest_weight(respondents)

    def count(
        self,
        respondents: Respondents,
        chosen: np.ndarray,
        epsilon: float,
        neighbours: Neighbours,
        generator: np.random.Generator,
        *,
        gamma: float = 4.0,
    ) -> Answer:
        """The weighted count of the chosen with smooth sensitivity.

        Privacy: epsilon-DP. Adding or removing a record moves it by at most W_0, replacing one by at most 2 W_0; the bound is
        smooth for beta = epsilon / (2 (gamma - 1)) (theory 11.8, weighted count).

        Parameters
        ----------
        chosen : (n,) whether a record counts, by a rule that looks at each record alone.
        gamma : at least 2.
        """
        noise = CauchyNoise.printed_with_gamma(epsilon, gamma)
        exact = float(self.weights(respondents)[chosen].sum())
        bound = STEPS[neighbours] * self.smooth_bound(respondents, noise.beta)
        return Answer(value=exact + noise.draw(bound, generator), epsilon=epsilon, neighbours=neighbours)

    def _potential(self, respondents: Respondents) -> Iterator[np.ndarray]:
        """Yield for each stratum (n + 1,) its largest potential weight when 0 to n of its n records may be gone, or more."""
        strata = self._strata(respondents)
        for stratum, total in enumerate(self.totals):
            base = np.sort(respondents.base_weights[strata == stratum])[::-1]
            remaining = np.append(np.cumsum(base[::-1])[::-1], 0.0)  # the sum without the k heaviest
            comes = self.largest_base / (self.largest_base + remaining)
            stays = base[0] / (base[0] + remaining[1:]) if len(base) else base
            yield total * np.maximum(comes, np.append(stays, 1.0))

    def _strata(self, respondents: Respondents) -> np.ndarray:
        base = respondents.base_weights
        if len(base) and not (self.smallest_base <= base.min() and base.max() <= self.largest_base):
            raise ValueError("expected base weights within their public bounds")
        return self.into[respondents.bins]

    def _sums(self, respondents: Respondents) -> np.ndarray:
        return np.bincount(self._strata(respondents), weights=respondents.base_weights, minlength=len(self.totals))


def score_sensitivity(candidates: Sequence[PostStrata]) -> float:
    """Delta: how far any score moves at most when a record is added, removed or replaced.

    Strata x largest over smallest base weight / the least total, the maximum over the candidates (Merrill 2021, Theorem 7.1.3).
    """
    return max(
        len(strata.totals) * strata.largest_base / (strata.smallest_base * float(strata.totals.min())) for strata in candidates
    )


def selection_epsilon(alpha: float, sensitivity: float, neighbours: Neighbours) -> float:
    """Return what a choice with probability proportional to exp(alpha x score) costs.

    alpha Delta for adding and removing, half of what the source states, as no score falls when a record is added; twice that
    for replacing (theory 11.9, choice of strata).
    """
    return STEPS[neighbours] * alpha * sensitivity


def choice_law(scores: Sequence[float], alpha: float) -> np.ndarray:
    """Return (n_candidates,) probabilities proportional to exp(alpha x score)."""
    exponents = alpha * (np.asarray(scores) - np.max(scores))
    return np.exp(exponents) / np.exp(exponents).sum()


def choose(
    candidates: Sequence[PostStrata],
    respondents: Respondents,
    epsilon: float,
    neighbours: Neighbours,
    generator: np.random.Generator,
) -> int:
    """The place of the chosen strata among the candidates, by the exponential mechanism.

    Privacy: epsilon-DP; alpha is the one that `selection_epsilon` gives epsilon for.
    """
    alpha = epsilon / selection_epsilon(1, score_sensitivity(candidates), neighbours)
    law = choice_law([candidate.score(respondents) for candidate in candidates], alpha)
    return int(generator.choice(len(candidates), p=law))


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
        count = _WeightedCount.of(file, _totals(file))
        return AskedNumber(words=count.words, of=count.exact)

    def answers(self, file: ComparedFile) -> list[MadeAnswers]:
        count, totals = _WeightedCount.of(file, _totals(file)), _KnownTotals.of(file, _totals(file))
        random, values, failed = file.generator(11), list[float](), 0
        for _ in range(DRAWS):
            try:
                values.append(totals.count(count.chosen(file.table), file.epsilon, random))
            except NotRaked:
                failed += 1
        if not values:
            raise DoesNotFit("no noisy table of the respondents could be raked to the totals")
        return [
            MadeAnswers(
                name="weighted count",
                guarantee=f"epsilon = {file.epsilon:.7g} for this one number",
                epsilon=file.epsilon,
                question=AskedNumber(words=count.words, of=count.exact),
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
    """The number of people with one value of a column that no margin names, once the table has the totals."""

    file: ComparedFile
    calibration: Calibration
    column: int
    bin: int

    @classmethod
    def of(cls, file: ComparedFile, calibration: Calibration) -> _WeightedCount:
        constrained = {name for margin in calibration.margins for name in margin.columns} | {calibration.start}
        sizes = file.table.layout.sizes
        free = [column for column, name in enumerate(file.names) if name not in constrained and sizes[column] > 1]
        if not free:
            raise DoesNotFit("every column has published totals, so nothing is left to ask")
        column = min(free, key=lambda candidate: (sizes[candidate], candidate))
        shares = file.table.marginal((column,)) / max(1, file.table.total)
        return cls(file=file, calibration=calibration, column=column, bin=int(np.argmin(np.abs(shares - WANTED_SHARE))))

    @property
    def words(self) -> str:
        label = self.file.transformation.binnings[self.column].labels[self.bin]
        return f"people with {self.file.names[self.column]} {label!r}, weighted to the published totals"

    def chosen(self, table: Counts) -> np.ndarray:
        """Return (n_rows,) whether a row is counted."""
        return np.asarray(table.rows(self.column) == self.bin)

    def exact(self, table: Counts) -> float:
        """Count in a table that is weighted as a release is."""
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
            weights = file.transformation.numbers(calibration.start)
            base = weights[file.table.rows(file.names.index(calibration.start))].astype(float)
            bounds = float(np.nanmin(weights)), float(np.nanmax(weights))
        grouped = np.stack([into[name][file.table.rows(file.names.index(name))] for name in axes], axis=1)
        return cls(groups=grouped, shape=shape, margins=margins, base=base, bounds=bounds, possible=possible)

    def count(self, chosen: np.ndarray, epsilon: float, random: np.random.Generator) -> float:
        """One answer, a record replaced: the shares of epsilon are those of the source's example."""
        axes_of_count = next(iter(self.margins))
        first = axes_of_count[0]
        totals = self.margins[axes_of_count].sum(axis=tuple(range(1, len(axes_of_count))))
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
    edges, width = [np.arange(size)], 1
    while edges[-1].max() > 0:
        width *= 2
        edges.append(np.arange(size) // width)
    return edges


def _starts(into: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.diff(into, prepend=-1))


def _joined(totals: np.ndarray, axes: tuple[int, ...], first: int, into: np.ndarray) -> np.ndarray:
    """Totals over coarser groups of one axis."""
    return np.add.reduceat(totals, _starts(into), axis=axes.index(first)) if first in axes else totals
