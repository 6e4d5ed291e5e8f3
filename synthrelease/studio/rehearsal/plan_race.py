"""Choose the generator, tables and budget of a draft: the cheapest plan whose fits to the public file preserve enough
associations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.counting import CountedRows, count_batches
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.persons import first_rows, marker
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Batch
from synthrelease.errors import InputError, RejectedRound, so_many
from synthrelease.generators.adaptive import Adaptive, AdaptivePure
from synthrelease.generators.associations import mean_square_contingency
from synthrelease.generators.base import Background, Generator
from synthrelease.generators.marginals import GaussianMarginals, Marginals
from synthrelease.generators.measured_noise import DiscreteLaplace, RoundedGaussian
from synthrelease.generators.measurements import formula_by_cells
from synthrelease.privacy.charges import GENERATION, Charge, Meter, exact, gaussian, mechanism, rounded_down
from synthrelease.privacy.curves import rho_within
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.selection import one_thread
from synthrelease.sources.source import Source
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.baselines.base import independent_columns
from synthrelease.studio.rehearsal.closer_look import halves
from synthrelease.studio.rehearsal.dependence import (
    Pair,
    PairTables,
    Purse,
    TellingTables,
    distances,
    shares_of_pairs,
    strongest_pairs,
    telling_tables,
    tied_pairs,
    valued,
)

DELTA = Fraction(1, 10**9)
ENOUGH, PROMISED, HALF = 0.85, 0.8, 0.5
"""Shares of the associations that fits to public rows should preserve: the share for a cheaper plan, the share at which a draft
aims, and the share below which the coarsest bins are tried.
"""
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2), Fraction(100)
"""Smallest and largest epsilon of a whole release that can be drafted."""
_TOTALS = tuple(map(Fraction, ("0.5", "0.7", "1", "1.4", "2", "3", "5")))  # Epsilons of a whole release to try
AIMED = Fraction(2)
"""Epsilon of a whole release above which the draft asks the steward whether the release is worth its cost."""
TELLING = 1.25
"""The preserved share is estimated only if the distance of independent columns from the file is at least this multiple of the
distance of another sample.
"""
BETTER = 0.05
"""Least gain in the preserved share for which a draft uses wider bins or a generator without published tables."""
CLEARLY = 0.02
"""Smaller differences between shares may be due to the noise of single fits."""
MOST_EXCESS = 0.05
"""Fits are as near as independent columns if their distance is larger by at most this share, which may be due to chance."""
PRIOR_WEIGHT = 30
"""Number of records that the uniform prior of a drafted generator counts for. With 100 records, pure fits to 2,000 rows of
Adult lose twice as many pairs (docs/appendix/benchmarks.md, agreements of pairs)."""
MANY, MOST_TRIED = 100, 20_000
"""With more columns than the first number, trials use at most the second number of rows, drawn at random, and make two fits."""
# Largest number of fits for a share (the third and fourth only if the first two differ). The least part of Cramer's V that a
# fit must preserve of a pair, or the pair is lost. (V is proportional to the root of the mean square contingency.)
_FITS, _LOST = 4, 0.5
# At a smaller epsilon, new tables are searched only if the old tables miss the wanted share by at most this difference. A plan
# that misses its share by more in the first fit is fitted only once.
_WITHIN_REACH = 0.03


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a steward requires of the drafted release.

    Attributes
    ----------
    epsilon : epsilon of the whole release, or None to let `init` choose.
    pure : whether delta is 0.
    important : the columns whose pairs are measured first and get a criterion: first names in the file, later names in the
        release.
    """

    epsilon: Fraction | None = None
    pure: bool = False
    important: tuple[str, ...] = ()

    @classmethod
    def of(cls, epsilon: str | None, *, pure: bool, important: tuple[str, ...] = ()) -> Promise:
        """Check the epsilon that a user typed as an option, and return the requirements.

        Raises
        ------
        InputError : if the epsilon is no number from `LEAST_EPSILON` to `MOST_EPSILON`.
        """
        try:
            most = None if epsilon is None else exact(epsilon)
        except ValueError:
            most = Fraction(0)
        if most is not None and not LEAST_EPSILON <= most <= MOST_EPSILON:
            within = f"a number from {float(LEAST_EPSILON):g} to {float(MOST_EPSILON):g}"
            raise InputError(f"--epsilon, the epsilon of the whole release, must be {within}, not {epsilon!r}.")
        return cls(epsilon=most, pure=pure, important=important)

    @property
    def delta(self) -> Fraction:
        return Fraction(0) if self.pure else DELTA

    @property
    def totals(self) -> tuple[Fraction, ...]:
        """Return the epsilons with which a release may be drafted: the aim, then larger ones if a draft preserves too
        little.
        """
        if self.epsilon is not None:
            return (self.epsilon,)
        return (Fraction(5),) if self.pure else _TOTALS[-3:]

    def purse(self, epsilon: Fraction) -> Purse:
        if self.pure:
            return Purse(kind=DiscreteLaplace, cost=rounded_down(epsilon))
        return Purse(kind=RoundedGaussian, cost=rounded_down(rho_within(epsilon, self.delta)))


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How much of the associations between columns a plan preserves, on rows to which its model was not fitted.

    Each fit is made to one half of the public rows and compared with the other half, with the noise of a release relative
    to the number of rows.

    Attributes
    ----------
    share : preserved share of the dependence of all pairs, or of the strongest pairs: 0 for independent columns, 1 for
        another sample, None if it cannot be estimated.
    error : standard deviation of the share between the fits, whose number is `fits`.
    off, independent, sample : share of the held-out rows in a wrong cell of an average table of two columns, for the fits,
        for independent columns, and for another sample.
    strong : number of pairs of associated columns.
    lost : associated pairs that most fits lose, including pairs that are associated only in few rows.
    strongest_alone : whether the share is only about the strongest pairs.
    of_all_rows : whether the held-out rows include all rows of each person, while a release uses only some of them.
    in_first_bins : whether the share comes from narrower bins than the draft's. It is computed in both, and the smaller
        counts.
    drawn : number of rows of both halves if they were drawn at random from the public file, or 0 if they are all rows.
    """

    share: float | None
    error: float
    off: float
    independent: float
    sample: float
    strong: int
    fits: int = 2
    lost: tuple[Pair, ...] = ()
    strongest_alone: bool = False
    of_all_rows: bool = False
    in_first_bins: bool = False
    drawn: int = 0

    @property
    def strong_lost(self) -> tuple[Pair, ...]:
        """Return the lost pairs whose association occurs in more than a few rows."""
        return tuple(pair for pair in self.lost if pair.strong)

    @property
    def comparable(self) -> float:
        """Return the preserved share or, if it is unknown, a substitute that compares plans by their distances.

        The substitute is 1 for fits as near to the other half as independent columns, and `PROMISED` for fits farther away
        by `MOST_EXCESS`.
        """
        return min(1.0, 1 - self.excess * (1 - PROMISED) / MOST_EXCESS) if self.share is None else self.share

    @property
    def excess(self) -> float:
        """Return how much farther the fits are from the other half than independent columns, as a share; below 0 if nearer."""
        return self.off / max(self.independent, 1e-9) - 1

    def better(self, other: Kept) -> bool:
        """Return whether this plan loses the association of fewer pairs than the other, without preserving clearly less.

        The preserved share may be smaller by one standard error or by `CLEARLY`, whichever is more.
        """
        slack = max(CLEARLY, math.hypot(*(kept.error / math.sqrt(kept.fits) for kept in (self, other))))
        as_much = self.share is None or other.share is None or self.share >= other.share - slack
        return as_much and len(self.lost) < len(other.lost)

    @property
    def words(self) -> str:
        """Say how much of the associations fits preserved, and how many associated pairs they lost."""
        if self.share is None:
            drawn = f"The trials used {self.drawn:,} rows drawn at random from the public file, which are"
            few = f"{drawn if self.drawn else 'The public file has'} too few rows to estimate how much of the associations a "
            few += "release preserves."
            worse = f" The fits are {self.excess:.0%} farther from the other half than independent columns."
            worse *= self.excess > 0.01
            return f"{few}{worse} {self._lost_in_words}" if self.lost else few + worse
        rows = "all rows of the persons in the other half" if self.of_all_rows else "the other half"
        bins = ", in the narrower bins of the first draft" if self.in_first_bins else ""
        tried = f"{self.drawn:,} rows drawn at random from the public file" if self.drawn else "the public file"
        return (
            f"In trials, fits to one half of {tried} preserved {shown_share(self.share)} of the "
            f"{'strongest ' if self.strongest_alone else ''}associations in {rows}{bins} (100%: another sample of the same "
            f"population, 0%: independent columns). Strong pairs count most in this percentage. {self._lost_in_words}"
        )

    @property
    def _lost_in_words(self) -> str:
        if not self.lost:
            return "The fits lost no associated pair."
        n_lost = len(self.strong_lost)
        lost = [f"{n_lost} of {so_many(self.strong, 'associated pair')}"] if n_lost else []
        if n_rare := len(self.lost) - n_lost:
            lost.append(f"{so_many(n_rare, 'pair')} of rare values that occur together")
        return f"The fits lost {' and '.join(lost)}."


def shown_share(share: float) -> str:
    return f"{max(0.0, min(1.0, share)):.0%}"


class Comparison:
    """Two halves of public rows: the rows of a fit to one half are compared with the other half.

    A distance is the share of the rows in a wrong cell of a table of two columns (total variation distance), as a mean over
    pairs.

    Parameters
    ----------
    sides : the two halves, in the bins in which differences are measured.
    missing : columns whose last bin is the bin of missing values.
    """

    def __init__(self, sides: tuple[Counts, Counts], pairs: Sequence[Pair], missing: Collection[str], seed: int):
        self.sides, self.pairs, self.missing, self.seed = sides, tuple(pairs), frozenset(missing), seed
        self.columns = sides[0].layout.columns
        places = {frozenset(pair): index for index, pair in enumerate(combinations(self.columns, 2))}
        self.places = np.array([places[frozenset(pair.columns)] for pair in self.pairs], dtype=int)

    @cached_property
    def shares(self) -> tuple[PairTables, PairTables]:
        left, right = (shares_of_pairs(side, self.columns) for side in self.sides)
        return left, right

    @cached_property
    def yardsticks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two distances for each pair, as (n_pairs,) arrays: between the halves, and from a half to independent
        columns.
        """
        random = SeededEntropy(self.seed, 14).generator()
        alone = [shares_of_pairs(independent_columns(side, random), self.columns) for side in self.sides]
        independent = (distances(self.shares[1 - side], alone[side])[self.places] for side in (0, 1))
        return distances(*self.shares)[self.places], sum(independent, np.zeros(len(self.pairs))) / 2

    @cached_property
    def telling(self) -> tuple[list[int], bool]:
        """Return the indices of the pairs that estimate the preserved share, and whether the estimate is possible.

        Independent columns must be clearly farther from a half than another sample (`TELLING`), for all pairs or else for
        the strongest.
        """
        index = {pair: place for place, pair in enumerate(self.pairs)}
        strongest = [index[pair] for pair in tied_pairs(self.pairs)[: len(self.columns)]]
        every, (sample, independent) = list(range(len(self.pairs))), self.yardsticks
        for indices in (every, strongest):
            if indices and independent[indices].mean() > TELLING * sample[indices].mean():
                return indices, True
        return every, False

    def distance(self, side: int, drawn: PairTables) -> float:
        """Return the mean distance of drawn rows from one half, over the pairs of columns that `telling` returns."""
        return float(distances(self.shares[side], drawn)[self.places[self.telling[0]]].mean())

    def preserved(self, off: Sequence[float]) -> list[float]:
        """Return the preserved share of each fit from its distance to the other half; empty if it cannot be estimated.

        The share is 0 at the distance of independent columns, and 1 at the distance of another sample.
        """
        sample, independent = self.means
        return [1 - (distance - sample) / (independent - sample) for distance in off] if self.telling[1] else []

    @cached_property
    def means(self) -> tuple[float, float]:
        """Return two mean distances from a half: to another sample (the other half), and to independent columns."""
        sample, independent = (float(yardstick[self.telling[0]].mean()) for yardstick in self.yardsticks)
        return sample, independent

    @cached_property
    def associated(self) -> dict[int, float]:
        """Return the mean square contingency of each associated pair by its index, including pairs associated in only a few
        rows.
        """
        n_rows = sum(round(side.total) for side in self.sides)
        tied = [index for index, pair in enumerate(self.pairs) if pair.strong or pair.faint(n_rows)]
        left, right = (side.tables() for side in self.shares)
        places = self.places.tolist()
        return {index: self.contingency(index, (left[places[index]] + right[places[index]]) / 2 * n_rows) for index in tied}

    def contingency(self, index: int, counts: np.ndarray) -> float:
        """Return the mean square contingency of a pair in these counts, over the rows with a value of both columns."""
        names = sorted(self.pairs[index].columns, key=self.columns.index)
        return float(mean_square_contingency(valued(counts, *(name in self.missing for name in names))))

    def of(self, columns: Sequence[str]) -> Comparison:
        if tuple(columns) == self.columns:
            return self
        left, right = (side.project([self.columns.index(name) for name in columns]) for side in self.sides)
        pairs = [pair for pair in self.pairs if {*pair.columns} <= {*columns}]
        return Comparison((left, right), pairs, self.missing & {*columns}, self.seed)


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """Public rows in two halves: models are fitted to one half and compared with the other.

    Attributes
    ----------
    fitted : the halves with the rows that a release would use, in the bins of a draft.
    comparison : the halves with the rows to compare with.
    spread : for every column, (n_wide, n_narrow) shares of each bin of the draft in the bins of the comparison, or None for
        the same bins.
    of_all_rows : whether the comparison has rows that a release leaves out.
    own : the comparison in the bins of the draft, or None for the same bins.
    drawn_from : number of rows from which the halves were drawn at random, or 0 if they have all rows.
    """

    fitted: tuple[Counts, Counts]
    comparison: Comparison
    spread: tuple[np.ndarray, ...] | None = None
    of_all_rows: bool = False
    own: Comparison | None = None
    drawn_from: int = 0

    @property
    def part(self) -> Fraction:
        left, right = (round(side.total) for side in self.fitted)
        return Fraction(left, self.drawn_from or left + right)

    @classmethod
    def of_rows(
        cls,
        table: Counts,
        pairs: Sequence[Pair],
        missing: Collection[str],
        seed: int,
        columns: Sequence[str] | None = None,
        drawn_from: int = 0,
    ) -> HeldOut:
        """Divide public rows at random into two halves.

        Parameters
        ----------
        columns : the compared columns, or None for all.
        drawn_from : number of rows from which these rows were drawn, or 0 if they are all rows.
        """
        left, right = halves(table, SeededEntropy(seed, 11).generator())
        positions = [table.layout.index(name) for name in columns or table.layout.columns]
        compared = left.project(positions), right.project(positions)
        return cls(fitted=(left, right), comparison=Comparison(compared, pairs, missing, seed), drawn_from=drawn_from)

    @classmethod
    def of_persons(cls, source: Source, spec: ReleaseSpec, missing: Collection[str], seed: int) -> HeldOut:
        """Divide the persons of a public file into two halves, and compare fits to the rows of a release with all rows.

        Rows without a key are divided by their positions in the file.
        """
        mark = marker(spec.input, bytes(32), missing_keys=spec.unit.missing_keys)
        transformation, key = spec.space[0].transformation, str(spec.unit.key)

        def rows_of(half: int) -> Iterator[Batch]:
            for row, columns in batches(source, spec.schema, spec.input, [key, *spec.unit.order]):
                marks, has_key = mark(columns[key])
                own = np.where(has_key, marks[:, 0] % 2, np.arange(len(marks)) % 2) == half
                yield row, {name: replace(texts, codes=texts.codes[own]) for name, texts in columns.items()}

        def in_bins(rows: CountedRows) -> Counts:
            return spec.raw.filter(rows.cells).merge(transformation.layout, transformation.maps)

        coins = SeededEntropy(seed, 15)
        first = [in_bins(first_rows(rows_of(half), spec.schema, spec.input, spec.raw, spec.unit, coins)) for half in (0, 1)]
        left, right = (in_bins(count_batches(rows_of(half), spec.schema, spec.input)) for half in (0, 1))
        comparison = Comparison((left, right), strongest_pairs(left + right, missing), missing, seed)
        return cls(fitted=(first[0], first[1]), comparison=comparison, of_all_rows=True)

    def kept_without_noise(self) -> float | None:
        """Return the share of the associations that a release of the rows without noise would preserve, or None if unknown."""
        beside = self.comparison
        counted = (
            (self.own or beside).shares if not self.of_all_rows else [shares_of_pairs(s, beside.columns) for s in self.fitted]
        )
        preserved = beside.preserved([beside.distance(1 - side, self._in_first_bins(fit)) for side, fit in enumerate(counted)])
        return float(np.mean(preserved)) if preserved else None

    def in_bins(self, layout: Layout, maps: Sequence[np.ndarray]) -> HeldOut:
        """Return the same halves with wider bins for the fits. The comparison keeps its narrower bins.

        Parameters
        ----------
        maps : for every column of the layout, the new bin of each present bin.
        """
        positions = [self.fitted[0].layout.index(name) for name in layout.columns]
        narrow = [side.project(positions) for side in self.fitted]
        rows = [narrow[0].marginal((position,)) + narrow[1].marginal((position,)) for position in range(len(positions))]
        spread = [_spread(margin, bins) for margin, bins in zip(rows, maps, strict=True)]
        if self.spread is not None:
            spread = [step @ self.spread[position] for step, position in zip(spread, positions, strict=True)]
        left, right = (side.merge(layout, maps) for side in narrow)
        same = all(len(bins) == size for bins, size in zip(maps, layout.sizes, strict=True)) and self.spread is None
        return HeldOut(
            fitted=(left, right),
            comparison=self.comparison.of(layout.columns),
            spread=None if same else tuple(spread),
            of_all_rows=self.of_all_rows,
            own=None if same else self._compared_in(layout, maps),
            drawn_from=self.drawn_from,
        )

    def _compared_in(self, layout: Layout, maps: Sequence[np.ndarray]) -> Comparison:
        before = self.own or self.comparison
        places = [before.columns.index(name) for name in layout.columns]
        first, second = (side.project(places).merge(layout, maps) for side in before.sides)
        missing = before.missing & {*layout.columns}
        return Comparison((first, second), strongest_pairs(first + second, missing), missing, before.seed)

    @one_thread
    def fit_and_compare(
        self,
        generator: Generator,
        charge: Charge,
        background: Background,
        progress: Callable[[str], None],
        *,
        final: bool = False,
        least: float = -math.inf,
    ) -> Kept | None:
        """Fit a generator to each half, and return how much of the associations in the other half its rows preserve.

        Return None if a fit fails.

        Parameters
        ----------
        final : whether lost pairs are counted, too.
        least : the share that the generator must preserve to be of use. No further fit is made once all fits are clearly
            below it.
        """
        beside, own = self.comparison, self.own
        sample, independent = beside.means
        off, off_own, times = list[float](), list[float](), Counter[int]()
        slack = CLEARLY * (independent - sample) if beside.telling[1] else math.inf
        most = _FITS if len(beside.columns) <= MANY else 2
        while len(off) < 2 or (len(off) < most and abs(off[0] - off[-1]) > slack):
            if off and max(beside.preserved(off), default=math.inf) < least - _WITHIN_REACH:
                break
            number = len(off)
            progress(f"fitting one half of the public file, to compare it with the other: fit {number + 1}")
            drawn = _drawn(generator, charge, self.fitted[number % 2], background, beside.seed, number)
            if drawn is None:
                return None
            shares = shares_of_pairs(drawn, beside.columns)
            off.append(beside.distance(1 - number % 2, self._in_first_bins(shares)))
            if own is not None:
                same = own.columns == beside.columns
                off_own.append(own.distance(1 - number % 2, shares if same else shares_of_pairs(drawn, own.columns)))
            if final:
                tables, places = shares.tables(), beside.places.tolist()
                contingencies = {
                    index: beside.contingency(index, tables[places[index]] * drawn.total) for index in beside.associated
                }
                times.update(
                    index for index, contingency in beside.associated.items() if contingencies[index] < _LOST**2 * contingency
                )
        preserved, in_first_bins = beside.preserved(off), self.spread is not None
        if own is not None and (fewer := own.preserved(off_own)) and np.mean(fewer) < np.mean(preserved or 1):
            # a reader of the release computes the share in its own bins
            preserved, off, in_first_bins = fewer, off_own, False
            sample, independent = own.means
        lost = (beside.pairs[index] for index, n_fits in times.items() if 2 * n_fits > len(off))
        return Kept(
            share=float(np.mean(preserved)) if preserved else None,
            error=float(np.std(preserved, ddof=1)) if len(preserved) > 1 else 0.0,
            fits=len(off),
            off=float(np.mean(off)),
            independent=independent,
            sample=sample,
            strong=sum(pair.strong for pair in beside.pairs),
            lost=tuple(sorted(lost, key=lambda pair: -pair.cramers_v)),
            strongest_alone=len((beside if own is None or in_first_bins else own).telling[0]) < len(beside.pairs),
            of_all_rows=self.of_all_rows,
            in_first_bins=in_first_bins,
            drawn=sum(round(side.total) for side in self.fitted) if self.drawn_from else 0,
        )

    def _in_first_bins(self, shares: PairTables) -> PairTables:
        """Divide the rows of each wider bin among the narrower bins of the comparison, in the joint tables of all pairs."""
        spread = self.spread
        if spread is None:
            return shares
        positions = combinations(range(len(spread)), 2)
        divided = [spread[a].T @ table @ spread[b] for (a, b), table in zip(positions, shares.tables(), strict=True)]
        return PairTables.stacked(divided)

    def kept_by_draft(self, spec: ReleaseSpec, progress: Callable[[str], None]) -> Kept | None:
        """Return how much of the associations the first configuration of a specification preserves in fits to the halves."""
        one = spec.space[0]
        charge = one.generator.charge(spec.budget.generation / self.part ** (2 if spec.budget.delta else 1))
        plausibility = spec.synthetic.merge(one.transformation)
        background = Background(plausibility=plausibility, ordered=one.transformation.ordered)
        return self.fit_and_compare(one.generator, charge, background, progress, final=True)


def _drawn(generator: Generator, charge: Charge, table: Counts, background: Background, seed: int, index: int) -> Counts | None:
    """Fit a generator to public rows and draw as many rows from its model; None if the fit fails.

    Fits with the same index differ only in the scale of their noise.
    """
    private = PrivateCounts(table, Meter([charge])).rehearsed(SeededEntropy(seed, 12, index))
    try:
        model = generator.fit(private, charge, background)
    except RejectedRound:
        return None
    return model.sample(round(table.total), SeededEntropy(seed, 13, index).generator())


def _spread(margin: np.ndarray, wide_bins: np.ndarray) -> np.ndarray:
    """Return (n_wide, n_narrow) shares of the rows of each wider bin in the narrower bins inside it."""
    inside = (wide_bins == np.arange(wide_bins.max() + 1)[:, None]) * np.maximum(margin, 1e-9)
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))


@dataclass(frozen=True, kw_only=True)
class Raced:
    """A plan that takes part in the comparison.

    Attributes
    ----------
    total, purse : epsilon of the whole release, and budget of the tables.
    told : the tables that are measured.
    kept : the share of the associations that the fits preserve, or None if a fit fails.
    unpublished : the measuring method in place of published tables, or empty for published tables.
    """

    total: Fraction
    purse: Purse
    told: TellingTables
    kept: Kept | None
    unpublished: Literal["", "agreements", "adaptive"] = ""

    @property
    def share(self) -> float:
        """Return the preserved share as a number for comparing plans; minus infinity if a fit fails."""
        return -math.inf if self.kept is None else self.kept.comparable

    @property
    def surely(self) -> float:
        return self.share - (self.kept.error / math.sqrt(self.kept.fits) if self.kept else 0.0)

    @property
    def pure(self) -> bool:
        return self.purse.kind is DiscreteLaplace

    @property
    def way(self) -> str:
        ways = {"": "published tables", "agreements": "agreements of pairs", "adaptive": "tables that the generator finds"}
        return ways[self.unpublished] + (" with delta 0" if self.pure else "")

    @property
    def family(self) -> str:
        if self.unpublished == "adaptive":
            return "adaptive_pure" if self.pure else "adaptive"
        return "marginals" if self.pure else "gaussian_marginals"


class PlanRace:
    """Compares plans by the share of the associations that they preserve in fits to the public file, with the noise of a
    release.

    Parameters
    ----------
    table : the rows, in the drafted bins. The private file is assumed to have about the same number.
    held_out : the rows in two halves.
    ordered : order of the columns (`Background.ordered`).
    missing : columns whose last bin is the bin of missing values.
    others : cost of all parts except the tables, as a function of the epsilon of the whole release.
    progress : called for every fit.
    """

    def __init__(
        self,
        table: Counts,
        held_out: HeldOut,
        plausibility: Plausibility,
        pairs: Sequence[Pair],
        ordered: tuple[int, ...],
        missing: Collection[str],
        promise: Promise,
        others: Callable[[Fraction], Fraction],
        seed: int,
        progress: Callable[[str], None] = lambda doing: None,
    ):
        self.held_out, self._table, self._pairs, self._missing = held_out, table, pairs, missing
        self._promise, self._others, self._seed, self._progress = promise, others, seed, progress
        self._background = Background(plausibility=plausibility, ordered=ordered)
        self._raced: dict[Fraction, Raced] = {}
        self._first_trials: dict[tuple[object, ...], Kept | None] = {}

    def cheapest(
        self, most: Fraction, above: Fraction = Fraction(0), told: TellingTables | None = None, least: float = -math.inf
    ) -> Raced:
        """Return the cheapest plan that preserves enough, or about as much as the plan with epsilon `most`.

        Parameters
        ----------
        most, above : largest epsilon of the whole release, and a bound that this epsilon must exceed.
        told : the tables, or None to search for tables.
        least : the share that a plan must preserve to be of use. If the first plan preserves less, it is returned.
        """
        best = self.at(most) if told is None else self.fitted(most, told, least)
        if best.share < least:
            return best
        needed = needed_of(best.share)
        for total in sorted((total for total in _TOTALS if above < total < most), reverse=True):
            if needed > best.share - CLEARLY / 2 or total < self._others(total) * Fraction(3, 2):
                break  # a smaller epsilon preserves less, so no cheaper plan is possible
            cheaper = self.fitted(total, best.told, needed)  # first try the same tables with less budget
            if told is None and best.share >= ENOUGH and needed - _WITHIN_REACH <= cheaper.surely < needed:
                cheaper = self.at(total)
            if cheaper.surely < needed:
                break
            best = cheaper
        return best

    def at(self, total: Fraction) -> Raced:
        """Return the plan for this epsilon of the whole release, with the tables that are worth their noise."""
        if total not in self._raced:
            own, rows = self._purse(total), self.held_out.drawn_from or self._table.total
            told = telling_tables(
                self._table,
                self._background.plausibility,
                replace(own, cost=_cost_for(own, Fraction(round(self._table.total), round(rows)))),
                self._seed,
                self._missing,
                self._important(),
                progress=self._progress,
            )
            self._raced[total] = self.fitted(total, told)
        return self._raced[total]

    def next_cheaper(self, total: Fraction) -> Fraction | None:
        lower = [other for other in _TOTALS if other < total and other >= self._others(other) * Fraction(3, 2)]
        return max(lower, default=None)

    def unpublished_if_better(self, raced: Raced) -> Raced:
        """Return this plan or, if it preserves too little, the best plan without published tables that preserves clearly
        more.
        """
        plans, least = [] if raced.share >= PROMISED else self._unpublished(raced), raced.share + BETTER
        best = max((replace(plan, kept=self.trial(plan, least)) for plan in plans), key=lambda plan: plan.share, default=raced)
        return best if best.share >= least else raced

    def _unpublished(self, raced: Raced) -> list[Raced]:
        """Return the plans worth trying that publish no tables, with the budget of the given plan.

        There are none if the user named important columns, because such plans may not measure their pairs.
        """
        if self._promise.important:
            return []
        plans = [replace(raced, unpublished="agreements")] if self._has_agreements(raced) else []
        if len(self._table.layout.sizes) <= (_MOST_FOR_OWN_TABLES if raced.share < PROMISED else _MOST_BESIDE_ENOUGH):
            plans.append(replace(raced, unpublished="adaptive"))
        return plans

    def every_way(self, drafted: Raced) -> list[Raced]:
        """Return the drafted plan and the plans of all other measuring methods, with the same epsilon.

        A method that preserves about as much as the draft is also fitted with smaller epsilons, until it preserves less.
        The list is empty if no share can be estimated.
        """
        if drafted.kept is None or drafted.kept.share is None:
            return []
        tables = self.fitted(drafted.total, drafted.told)
        ways = [(way, self._promise) for way in (tables, *self._unpublished(tables))]
        plans, as_much = list[Raced](), drafted.share - CLEARLY
        for way, promise in [*ways, *([] if drafted.pure else [(tables, replace(self._promise, pure=True))])]:
            total: Fraction | None = drafted.total
            while total is not None:
                plan = replace(way, total=total, purse=self._purse(total, promise))
                plans.append(replace(plan, kept=self.trial(plan, as_much)))
                total = self.next_cheaper(total) if plans[-1].share >= as_much else None
        return [plan for plan in plans if plan.kept is not None]

    def _has_agreements(self, raced: Raced) -> bool:
        """Return whether agreements (the number of rows in which two columns of two bins agree) are worth measuring.

        This needs enough columns with two bins, few others, and a model of small tables.
        """
        layout, tied = self._table.layout, [mask.columns for mask in self._background.plausibility.masks]
        of_two = layout.sizes.count(2)  # all their pairs are measured, so they are in one clique
        few, many = of_two < _LEAST_FOR_AGREEMENTS, 2**of_two > _MOST_CELLS_OF_AGREEMENTS
        if few or many or len(layout.sizes) - of_two > _MOST_FOR_OWN_TABLES:
            return False
        generator = self.generator(raced.told, raced.purse, agreements=True)
        return generator.effort(layout) <= _MOST_CELLS_OF_AGREEMENTS and not any(generator.mistakes(layout, tied))

    def trial(self, raced: Raced, least: float = -math.inf, *, final: bool = False) -> Kept | None:
        """Fit a plan to the halves, and return how much of the associations it preserves, or None if a fit fails.

        Unless `final`, the result is cached. A plan that preserves clearly less than `least` gets only one fit.
        """
        plan = raced.unpublished, raced.purse, raced.told.tables
        if final:
            return self._fits(raced, final=True)
        if plan not in self._first_trials:
            self._first_trials[plan] = self._fits(raced, least=least)
        return self._first_trials[plan]

    def _fits(self, raced: Raced, *, final: bool = False, least: float = -math.inf) -> Kept | None:
        own = AdaptivePure if raced.pure else Adaptive
        if raced.unpublished == "adaptive":
            generator: Generator = own(draw="evenly")
        else:
            generator = self.generator(raced.told, raced.purse, agreements=bool(raced.unpublished))
        charge = _charge(raced.purse, self.held_out.part)
        return self.held_out.fit_and_compare(generator, charge, self._background, self._progress, final=final, least=least)

    def _important(self) -> list[tuple[int, ...]]:
        """Return the pairs with at least one column that is important to the user, the strongest association first."""
        names, important = self._table.layout.columns, {*self._promise.important}
        pairs = sorted(self._pairs, key=lambda pair: -pair.cramers_v)
        return [tuple(sorted(map(names.index, pair.columns))) for pair in pairs if important & {*pair.columns}]

    def fitted(self, total: Fraction, told: TellingTables, least: float = -math.inf) -> Raced:
        raced = Raced(total=total, purse=self._purse(total), told=told, kept=None)
        return replace(raced, kept=self.trial(raced, least))

    def _purse(self, total: Fraction, promise: Promise | None = None) -> Purse:
        return (promise or self._promise).purse(self.of_tables(total))

    def of_tables(self, total: Fraction) -> Fraction:
        return max(total - self._others(total), total / 4)

    def generator(self, told: TellingTables, purse: Purse, *, agreements: bool = False) -> Generator:
        """Return a generator of these tables. `agreements` replace the tables of pairs of columns with two bins."""
        pure, pairs = purse.kind is DiscreteLaplace, "agreements" if agreements else None
        tables = formula_by_cells(self.terms(told, agreements=agreements), self._table.layout.columns)
        family = Marginals if pure else GaussianMarginals
        return family.model_validate({"tables": tables, "pairs": pairs, "prior_weight": PRIOR_WEIGHT, "draw": "evenly"})

    def terms(self, told: TellingTables, *, agreements: bool = False) -> tuple[str, ...]:
        names, sizes = self._table.layout.columns, self._table.layout.sizes
        of_two = [column for column, size in enumerate(sizes) if size == 2] if agreements else []
        tables = dict.fromkeys([*told.tables, *combinations(of_two, 2)])
        return tuple(":".join(names[column] for column in columns) for columns in tables)


# The smallest number of columns with two bins for which agreements of pairs are tried. With fewer columns, agreements reduce
# the noise too little (docs/generators.md).
_LEAST_FOR_AGREEMENTS = 5

# Largest clique with which agreements are tried. A fit to agreements needs hundreds of passes over the cliques: for the films
# of ggplot2movies (a clique of 388,800 cells), one fit had not ended after 100 CPU s.
_MOST_CELLS_OF_AGREEMENTS = 2**18

# The largest number of columns for which fits that find their own tables are tried, and the largest number of columns with
# more than two bins for which agreements are tried. For 50,000 rows and 50 columns, trials of such fits took 160 CPU s
# (2026-11-27), and trials of agreements 257 (2026-11-28).
_MOST_FOR_OWN_TABLES = 30

# Largest number of columns for fits that find their own tables if published tables preserve enough. For 23 columns of NIST's
# excerpt, two such fits took 11 CPU s.
_MOST_BESIDE_ENOUGH = 15


def needed_of(most: float) -> float:
    """Return the share that a plan with less epsilon must preserve to replace the best plan, which preserves `most`."""
    return min(ENOUGH, max(most - CLEARLY, min(most, PROMISED)))


def _charge(purse: Purse, part: Fraction) -> Charge:
    charge = mechanism if purse.kind is DiscreteLaplace else gaussian
    return charge(GENERATION, _cost_for(purse, part), "a fit to public rows")


def _cost_for(purse: Purse, part: Fraction) -> Fraction:
    """Return the epsilon or rho that gives a part of the rows the relative noise of a release."""
    return purse.cost / (part if purse.kind is DiscreteLaplace else part**2)


def is_it_worth_it(raced: Raced, at_aimed: float | None) -> str:
    """Ask whether the release is worth its epsilon if the draft needs a large one; otherwise return an empty text.

    `at_aimed` is the share that a draft with the usual epsilon preserves.
    """
    if raced.total <= AIMED or at_aimed is None:
        return ""
    return (
        f"QUESTION: is this worth an epsilon of {float(raced.total):g}? At epsilon {float(AIMED):g}, fits of all columns "
        f"preserve {shown_share(at_aimed)}, and `--epsilon {float(AIMED):g}` tries fewer columns and coarser bins."
    )


def race_words(plans: Sequence[Raced], drafted: Raced) -> str:
    """Say which measuring method preserved most at the epsilon of the draft, and how much less the others preserved.

    The text is empty if only one method was tried, or if no share can be estimated.
    """
    best, *others = sorted((plan for plan in plans if plan.total == drafted.total), key=lambda plan: -plan.share) or [drafted]
    if not others or best.kept is None or best.kept.share is None:
        return ""
    points = (so_many(round(100 * (best.share - plan.share)), "point") for plan in others)
    less = (
        f"{plan.way} ({f'{by} less' if plan.share >= 0 else 'worse than independent columns'})"
        for plan, by in zip(others, points, strict=True)
    )
    why = " The draft nevertheless publishes noisy tables, because readers can query them."
    return (
        f"In first trials at epsilon {float(drafted.total):g}, {best.way} preserved the largest share of the "
        f"associations. Next came {', '.join(less)}.{why * bool(best.unpublished and not drafted.unpublished)}"
    )
