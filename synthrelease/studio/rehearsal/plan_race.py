"""Which generator a draft names, and at which budget: the cheapest that keeps enough, as fits to the public file show it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import InputError, RejectedRound, percent
from synthrelease.generators.adaptive import Adaptive, AdaptivePure
from synthrelease.generators.base import Background, Generator
from synthrelease.generators.marginals import GaussianMarginals, Marginals
from synthrelease.generators.measured_noise import DiscreteLaplace, RoundedGaussian
from synthrelease.generators.measurements import formula_by_cells
from synthrelease.privacy.charges import GENERATION, Charge, Meter, exact, gaussian, mechanism, rounded_down
from synthrelease.privacy.curves import rho_within
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.baselines.base import independent_columns
from synthrelease.studio.rehearsal.closer_look import halves
from synthrelease.studio.rehearsal.dependence import (
    Pair,
    Purse,
    TellingTables,
    pairs_off,
    strongest_pairs,
    telling_tables,
    tied_pairs,
)

DELTA = Fraction(1, 10**9)
ENOUGH, PROMISED = 0.85, 0.8
"""Parts of the dependence that fits to the public file keep: what a cheaper budget must reach, and what a draft aims at."""
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2), Fraction(100)
"""Of a whole release that can be drafted."""
_TOTALS = tuple(map(Fraction, ("0.5", "0.7", "1", "1.4", "2", "3", "5")))
"""Epsilons of a whole release that are tried."""
AIMED = Fraction(2)
"""Epsilon of a whole release above which a draft asks whether it is worth it."""
_FARTHER = (*_TOTALS, Fraction(8), Fraction(12))
"""At which it is asked what would be kept."""
TOLD = 1.25
"""Distance of independent columns from other rows over that of the rows themselves, from which on it can be told what is
kept."""
_BETTER = 0.05
"""A generator that publishes no tables has to keep so much more to be drafted."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a steward asks of the guarantee.

    Attributes
    ----------
    epsilon : of the whole release, at most; None leaves it to the race.
    pure : whether delta is to be 0.
    important : columns whose pairs are measured first and promised, by their names in the file, later in the release.
    """

    epsilon: Fraction | None = None
    pure: bool = False
    important: tuple[str, ...] = ()

    @classmethod
    def of(cls, epsilon: str | None, *, pure: bool, important: tuple[str, ...] = ()) -> Promise:
        """From what a user typed.

        Raises
        ------
        InputError : for what is no epsilon from `LEAST_EPSILON` to `MOST_EPSILON`.
        """
        try:
            most = None if epsilon is None else exact(epsilon)
        except ValueError:
            most = Fraction(0)
        if most is not None and not LEAST_EPSILON <= most <= MOST_EPSILON:
            within = f"a number from {float(LEAST_EPSILON):g} to {float(MOST_EPSILON):g}"
            raise InputError(f"--epsilon: expected {within}, the epsilon of the whole release, found {epsilon!r}.")
        return cls(epsilon=most, pure=pure, important=important)

    @property
    def delta(self) -> Fraction:
        return Fraction(0) if self.pure else DELTA

    @property
    def totals(self) -> tuple[Fraction, ...]:
        """Epsilons of the whole release to try: the first is aimed at, and each of the next is for a draft that is not good."""
        if self.epsilon is not None:
            return (self.epsilon,)
        return (Fraction(5),) if self.pure else _TOTALS[-3:]

    def purse(self, epsilon: Fraction) -> Purse:
        """For tables that cost so much in all."""
        if self.pure:
            return Purse(kind=DiscreteLaplace, cost=rounded_down(epsilon))
        return Purse(kind=RoundedGaussian, cost=rounded_down(rho_within(epsilon, self.delta)))


@dataclass(frozen=True, kw_only=True)
class Raced:
    """One plan, and what fits of it keep.

    Attributes
    ----------
    total : epsilon of the whole release.
    purse : for the tables.
    told : the tables.
    kept : of the dependence of pairs, from 0 for independent columns to 1 for another sample: of all, or where that cannot be
        told of those with the strongest associations; None where neither can be.
    good : whether enough is kept of both, as far as it can be told.
    adaptive : what a generator that finds its own tables keeps at the same price; None where it was not tried.
    prior_weight : how many records the uniform table is worth against the noise of these tables.
    """

    total: Fraction
    purse: Purse
    told: TellingTables
    kept: float | None
    good: bool
    adaptive: float | None = None
    prior_weight: int

    @property
    def family(self) -> str:
        """Of the generator that is drafted."""
        pure = self.purse.kind is DiscreteLaplace
        if self.finds_its_own:
            return "adaptive_pure" if pure else "adaptive"
        return "marginals" if pure else "gaussian_marginals"

    @property
    def finds_its_own(self) -> bool:
        """Whether the generator that finds its own tables is so much better that it is drafted."""
        return self.adaptive is not None and self.kept is not None and self.adaptive >= self.kept + _BETTER


OTHER_HALF = "the other half"


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What a release keeps of the associations, as a reader finds it who has other rows.

    Each fit is made to one half of the public rows and compared with the other half; its noise is as large beside so many rows
    as that of a release is beside all of them.

    Attributes
    ----------
    every, strongest : of the dependence of all pairs, and of the pairs most associated, from 0 for independent columns
        to 1 for the rows that were fitted; None where that cannot be told.
    error : standard deviation of these between fits.
    off, independent, sample : the share of the other half's rows in a wrong cell of a table of two columns, on average: of the
        fits, of independent columns, and of the rows that were fitted.
    strong : how many pairs are associated.
    lost : associated pairs, also in few rows alone, and that most fits lose.
    beside : the rows that fits are compared with, in words.
    """

    every: float | None
    strongest: float | None
    error: float
    off: float
    independent: float
    sample: float
    strong: int
    lost: tuple[Pair, ...]
    beside: str = OTHER_HALF

    @property
    def share(self) -> float | None:
        """Of all pairs, or where that cannot be told of those with the strongest associations; None where neither can be."""
        return self.strongest if self.every is None else self.every

    @property
    def strong_lost(self) -> tuple[Pair, ...]:
        """The lost pairs that are not associated in few rows alone."""
        return tuple(pair for pair in self.lost if pair.strong)

    def better(self, other: Kept) -> bool:
        """Whether fewer pairs are lost, and as much is kept of all."""
        as_much = all(
            mine is None or theirs is None or mine >= theirs - _CLEARLY
            for mine, theirs in ((self.every, other.every), (self.strongest, other.strongest))
        )
        return as_much and len(self.lost) < len(other.lost)

    @property
    def words(self) -> str:
        """The figure in sentences."""
        if self.beside != OTHER_HALF:  # what leans is no loss of a fit
            more = (
                " That is more than independent columns have beside rows that are released."
                if self.off > self.independent
                else ""
            )
            return (
                f"Beside {self.beside}, {percent(self.off)} of the rows of a table of two columns are in a wrong cell, on "
                f"average.{more} The release describes persons, each with as many rows as are released, and not all rows."
            )
        if self.share is None:
            return "On so few rows nobody can tell how much of the dependence between columns its fits keep."
        strong = "pair of columns that are associated" if self.strong == 1 else "pairs of associated columns"
        lost = len(self.strong_lost)
        found = (
            f"A fit to one half of the public file keeps {shown_share(self.share)} of the pairwise associations in "
            f"{self.beside}, give or take {self.error:.0%} (100%: a sample of the same population; 0%: independent columns). "
            f"Of a table of two columns {percent(self.off)} of the rows are in a wrong cell, on average; with independent "
            f"columns {percent(self.independent)} would be, with a sample {percent(self.sample)}. "
            f"Of {self.strong} {strong} {lost or 'none'} {'are' if lost > 1 else 'is'} lost."
        )
        faint = faint_words(len(self.lost) - lost)
        return f"{found} {faint}" if faint else found


def shown_share(share: float) -> str:
    """A kept share in percent, from 0% to 100%."""
    return f"{max(0.0, min(1.0, share)):.0%}"


class PlanRace:
    """Fits to the rows of the public file, in the drafted bins, with the noise of a release.

    Parameters
    ----------
    table : the rows; the private file is taken to have about as many.
    pairs : all pairs of columns.
    ordered : of the columns (`Background.ordered`).
    missing : columns whose last bin is no value.
    narrower : the race in the bins that these are made up of, and for every column the bin that each of those is in.
    progress : told of every fit.
    """

    def __init__(
        self,
        table: Counts,
        plausibility: Plausibility,
        pairs: Sequence[Pair],
        ordered: tuple[int, ...],
        missing: Collection[str],
        promise: Promise,
        seed: int,
        narrower: tuple[PlanRace, Sequence[np.ndarray]] | None = None,
        progress: Callable[[str], None] = lambda doing: None,
    ):
        self._progress = progress
        self._table, self._pairs, self._missing, self._promise, self._seed = table, pairs, missing, promise, seed
        self._background = Background(plausibility=plausibility, ordered=ordered)
        self._found: dict[tuple[Fraction, Fraction, int | None, bool], Raced] = {}
        self._narrower = narrower
        self._halves = halves(table, SeededEntropy(seed, 11).generator())
        if narrower is not None:  # the same rows
            left, right = (half.merge(table.layout, narrower[1]) for half in narrower[0]._halves)
            self._halves = left, right
        self._yardsticks = _yardsticks(self._halves, (pairs, tied_pairs(pairs)[: len(table.layout.columns)]), seed)

    @property
    def _telling(self) -> list[_Yardstick]:
        return [each for each in self._yardsticks if each.tells]

    def cheapest(self, most: Fraction, others: Fraction, above: Fraction = Fraction(0), *, only_pairs: bool = False) -> Raced:
        """The plan of the least epsilon, at most `most`, of which enough is kept; at `most` where that does not keep enough.

        Parameters
        ----------
        others : epsilon of everything beside the tables.
        above : what the release has to cost more than.
        """
        best = self._weighted(self._searched(most, others, only_pairs=only_pairs))
        weight = best.prior_weight
        for total in sorted((total for total in _TOTALS if above < total < most), reverse=True):
            if not best.good or total < others * Fraction(3, 2):
                break
            cheaper = self._fitted(total, others, best.told, weight)
            if not cheaper.good:
                cheaper = self._searched(total, others, weight, only_pairs=only_pairs)
            if not cheaper.good:
                break
            best = cheaper
        aims = best.kept is not None and best.kept >= PROMISED
        if best.good or aims or self._promise.important:  # a generator that finds its own tables promises none
            return best
        return replace(best, adaptive=self._finding_its_own(best.purse))

    def paid(self, raced: Raced, others: Fraction) -> Raced:
        """The same plan, once it is known what everything beside the tables costs."""
        return replace(raced, purse=self._purse(raced.total, others))

    def keeps(self, total: Fraction, others: Fraction) -> float | None:
        """What a fit keeps at this epsilon of the whole release, as `cheapest` would begin; None where nobody can tell. It is
        measured in the narrower bins, where there are any: a wider one stands for its rows as the public file has them.

        Parameters
        ----------
        others : epsilon of everything beside the tables.
        """
        raced = self._searched(total, others, only_pairs=False)
        if self._narrower is None:
            return raced.kept
        return self.kept_in_narrower(raced)

    @one_thread
    def kept_in_narrower(self, raced: Raced) -> float | None:
        """What a plan keeps in the bins that these are made up of; None where nobody can tell, or there are none."""
        if self._narrower is None or not self._narrower[0]._telling:
            return None
        race, maps = self._narrower
        spread = [_spread(race._table.marginal((place,)), places) for place, places in enumerate(maps)]
        first, charge, kept = race._telling[0], _charge(raced.purse, self._part), list[float]()
        for number in (0, 1):
            drawn = self._drawn(self._generator_of(raced), charge, self._halves[number], self._background, number)
            if drawn is None:
                return -math.inf
            kept.append(first.kept(pairs_off(race._halves[1 - number], drawn, first.pairs, spread)))
        return float(np.mean(kept))

    def _weighted(self, best: Raced) -> Raced:
        """With the prior weight that keeps most: it must follow rows and noise, and no rule is known that does.

        Small files need little of it: a hundred records of the uniform table draw the rows of a thousand towards it.
        """
        if not self._telling or ((best.kept or 0.0) >= PROMISED and self._table.total >= _MANY_ROWS):
            return best
        usual = best.prior_weight
        kept = {usual: [self._kept_with(best, usual, 1)]}

        # as far as it keeps more: the lightest weights have the longest fits
        lighter = sorted((weight for weight in PRIOR_WEIGHTS if weight < usual), reverse=True)
        heavier = sorted(weight for weight in PRIOR_WEIGHTS if weight > usual)
        for weights in (lighter, heavier):
            before = usual
            for weight in weights:
                kept[weight] = [self._kept_with(best, weight, 1)]
                if not _gain(kept, weight, usual) > _gain(kept, before, usual):
                    break
                before = weight
        chosen = max(kept, key=lambda weight: _gain(kept, weight, usual))
        if chosen == usual:
            return best

        # again beside the usual one, with the same noise for both
        for number in (2, 3):
            for weight in (usual, chosen):
                kept[weight].append(self._kept_with(best, weight, number))
        if not _gain(kept, chosen, usual) > _CLEARLY:
            return best
        fresh = self._kept_with(best, chosen, 0)  # of noise that nothing was chosen by
        return replace(best, kept=fresh[0], good=min(fresh) >= ENOUGH, prior_weight=chosen)

    def _kept_with(self, raced: Raced, prior_weight: int, number: int) -> list[float]:
        """What a fit of these tables keeps at a prior weight."""
        return self._kept(self.generator(raced.told, raced.purse, prior_weight), raced.purse, number)

    def reached(self, raced: Raced, others: Fraction) -> Fraction | None:
        """The epsilon of the whole release at which these tables keep what a draft aims at; None where no tried one does."""
        for total in (total for total in _FARTHER if total > raced.total):
            if (self._fitted(total, others, raced.told, raced.prior_weight).kept or 0.0) >= PROMISED:
                return total
        return None

    def widest(self, told: TellingTables, most: int = 3) -> list[tuple[str, int]]:
        """The columns whose tables have the most cells, each of which gets noise; with how many bins they have."""
        names, sizes = self._table.layout.columns, self._table.layout.sizes
        cells = [0] * len(sizes)
        for columns in told.tables:
            for column in columns:
                cells[column] += math.prod(sizes[other] for other in columns)
        order = sorted(range(len(sizes)), key=lambda column: -cells[column])
        return [(names[column], sizes[column]) for column in order[:most]]

    def _searched(self, total: Fraction, others: Fraction, weight: int | None = None, *, only_pairs: bool) -> Raced:
        asked = (total, others, weight, only_pairs)
        if asked not in self._found:
            purse = self._purse(total, others)
            plausibility = self._background.plausibility
            told = telling_tables(
                self._table,
                plausibility,
                purse,
                self._seed,
                self._missing,
                self._important(),
                only_pairs=only_pairs,
                progress=self._progress,
            )
            self._found[asked] = self._fitted(total, others, told, weight)
        return self._found[asked]

    def _important(self) -> list[tuple[int, ...]]:
        """The pairs with an important column, the closest first."""
        names, important = self._table.layout.columns, {*self._promise.important}
        pairs = sorted(self._pairs, key=lambda pair: -pair.cramers_v)
        return [tuple(sorted(map(names.index, pair.columns))) for pair in pairs if important & {*pair.columns}]

    def _fitted(self, total: Fraction, others: Fraction, told: TellingTables, weight: int | None = None) -> Raced:
        purse = self._purse(total, others)
        weight = weight or PRIOR_WEIGHT[purse.kind is DiscreteLaplace]
        fits = [self._kept(self.generator(told, purse, weight), purse, number) for number in (0, 1)]
        kept = np.mean(fits, axis=0).tolist()
        good = min(kept, default=1.0) >= ENOUGH
        return Raced(total=total, purse=purse, told=told, kept=kept[0] if kept else None, good=good, prior_weight=weight)

    def _purse(self, total: Fraction, others: Fraction) -> Purse:
        return self._promise.purse(max(total - others, total / 4))

    def generator(self, told: TellingTables, purse: Purse, prior_weight: int) -> Generator:
        """What measures these tables."""
        family = Marginals if purse.kind is DiscreteLaplace else GaussianMarginals
        tables = formula_by_cells(self.terms(told), self._table.layout.columns)
        return family(tables=tables, prior_weight=prior_weight, draw="evenly")

    def terms(self, told: TellingTables) -> tuple[str, ...]:
        """The tables, as a configuration names them."""
        names = self._table.layout.columns
        return tuple(":".join(names[column] for column in columns) for columns in told.tables)

    def _generator_of(self, raced: Raced) -> Generator:
        return self._own() if raced.finds_its_own else self.generator(raced.told, raced.purse, raced.prior_weight)

    def _own(self) -> Generator:
        """What finds its own tables."""
        return (AdaptivePure if self._promise.pure else Adaptive)(draw="evenly")

    def _finding_its_own(self, purse: Purse) -> float | None:
        kept = self._kept(self._own(), purse)
        return kept[0] if kept else None

    @one_thread
    def _kept(self, generator: Generator, purse: Purse, number: int = 0) -> list[float]:
        """What a fit to one half keeps of the associations in the other half: of all pairs, and of the strongest ones, where
        that can be told.

        Parameters
        ----------
        number : fits of the same number have the same noise, up to its scale; odd ones are made to the second half.
        """
        drawn = self._drawn(generator, _charge(purse, self._part), self._halves[number % 2], self._background, number)
        if drawn is None:
            return [-math.inf] * len(self._telling)
        return [each.kept(pairs_off(self._halves[1 - number % 2], drawn, each.pairs)) for each in self._telling]

    @property
    def _part(self) -> Fraction:
        """Of the rows, that a half has."""
        return Fraction(round(self._halves[0].total), round(self._table.total))

    def _drawn(self, generator: Generator, charge: Charge, table: Counts, background: Background, number: int) -> Counts | None:
        """Rows of a fit; None where the fit fails."""
        self._progress("fitting one half of the public file, to compare it with the other")
        private = PrivateCounts(table, Meter([charge])).rehearsed(SeededEntropy(self._seed, 12, number))
        try:
            model = generator.fit(private, charge, background)
        except RejectedRound:
            return None
        return model.sample(round(table.total), SeededEntropy(self._seed, 13, number).generator())

    @one_thread
    def figure(self, raced: Raced, whole: Counts | None = None) -> Kept | None:
        """What a plan keeps, and loses, by several fits; None where a fit fails.

        Parameters
        ----------
        whole : the rows that a reader compares with, where they are more than those of the other half: all rows of persons of
            whom a release has some.
        """
        return self._figure(self._generator_of(raced), _charge(raced.purse, self._part), self._halves, self._background, whole)

    @one_thread
    def tested(self, spec: ReleaseSpec, rows: Counts) -> Kept | None:
        """As `figure`, of a whole draft, which may have further columns behind those of the race.

        Parameters
        ----------
        rows : of the public file over the atomic cells of the draft.
        """
        one = spec.space[0]
        transformation = one.transformation
        cost = spec.generation_budget / self._part ** (2 if spec.delta else 1)
        sides = [half.merge(transformation.layout, transformation.maps) for half in halves(rows, SeededEntropy(0).generator())]
        background = Background(plausibility=spec.synthetic.merge(transformation), ordered=transformation.ordered)
        return self._figure(one.generator, one.generator.charge(cost), sides, background)

    def _figure(
        self,
        generator: Generator,
        charge: Charge,
        sides: Sequence[Counts],
        background: Background,
        whole: Counts | None = None,
    ) -> Kept | None:
        n_rows = round(self._table.total)
        tied = [pair for pair in self._pairs if pair.strong or pair.faint(n_rows)]
        off, kept, times = list[list[float]](), list[list[float]](), Counter[tuple[str, str]]()
        while len(off) < _FITS and (len(off) < 2 or _apart(kept[0], kept[-1]) > _CLEARLY):
            number = len(off)
            drawn = self._drawn(generator, charge, sides[number % 2], background, number)
            if drawn is None:
                return None
            others = self._halves[1 - number % 2] if whole is None else whole
            off.append([pairs_off(others, drawn, each.pairs) for each in self._yardsticks])
            kept.append(
                [each.kept(value) if each.tells else math.nan for each, value in zip(self._yardsticks, off[-1], strict=True)]
            )
            now = {pair.columns: pair.cramers_v for pair in strongest_pairs(drawn, missing=self._missing)}
            times.update(pair.columns for pair in tied if now[pair.columns] < _LOST * pair.cramers_v)
        every, strongest = (None if math.isnan(share) else float(share) for share in np.mean(kept, axis=0))
        told = np.array(kept)[:, 0 if every is not None else 1]
        lost = (pair for pair in tied if 2 * times[pair.columns] > len(off))
        return Kept(
            every=every,
            strongest=strongest,
            error=0.0 if np.isnan(told).any() else float(told.std(ddof=1)),
            off=float(np.mean([first for first, _ in off])),
            independent=self._yardsticks[0].independent,
            sample=self._yardsticks[0].sample,
            strong=sum(pair.strong for pair in self._pairs),
            lost=tuple(sorted(lost, key=lambda pair: -pair.cramers_v)),
            beside=OTHER_HALF if whole is None else "all rows of the public file, also those that are not released of a person",
        )


def _gain(kept: Mapping[int, Sequence[Sequence[float]]], weight: int, usual: int) -> float:
    """How much more fits at a prior weight keep than at the usual one, the less of all pairs and of the strongest."""
    return float((np.mean(kept[weight], axis=0) - np.mean(kept[usual], axis=0)).min())


def _apart(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest difference of two lists, of what can be told."""
    return max((abs(a - b) for a, b in zip(one, other, strict=True) if not math.isnan(a + b)), default=0.0)


def _spread(margin: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(n_wide, n_narrow) how the rows of each wider bin lie in the narrower ones that it is made up of."""
    inside = (places == np.arange(places.max() + 1)[:, None]) * np.maximum(margin, 1e-9)
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))


@dataclass(frozen=True, kw_only=True)
class _Yardstick:
    """Mean distances over the tables of some pairs of columns: of another sample as large, and of independent columns."""

    pairs: Sequence[Pair]
    sample: float
    independent: float

    @property
    def tells(self) -> bool:
        """Whether the two are far enough apart to tell what a fit keeps."""
        return self.independent > TOLD * self.sample

    def kept(self, distance: float) -> float:
        return 1 - (distance - self.sample) / (self.independent - self.sample)


def _yardsticks(sides: tuple[Counts, Counts], of: Sequence[Sequence[Pair]], seed: int) -> list[_Yardstick]:
    """How far two halves of the rows are apart in pairs of columns, and independent columns of one from the other."""
    (left, right), random = sides, SeededEntropy(seed, 14).generator()
    alone = independent_columns(left, random), independent_columns(right, random)
    return [
        _Yardstick(
            pairs=pairs,
            sample=pairs_off(left, right, pairs),
            independent=(pairs_off(right, alone[0], pairs) + pairs_off(left, alone[1], pairs)) / 2,
        )
        for pairs in of
    ]


PRIOR_WEIGHT = {True: 100, False: 30}
"""Where a race begins, by whether the noise is pure: that of Gaussian noise is smaller, and bears less of a prior."""
PRIOR_WEIGHTS = (1, 5, 300)
"""That are raced against it."""
_MANY_ROWS = 20_000
"""From which on prior weights are not raced where enough is kept."""
_FITS, _LOST = 4, 0.5
"""Fits that a figure rests on, at most: the third and fourth only where the first two differ. A pair of which a fit keeps a
smaller part of Cramer's V is lost in it."""
_CLEARLY = 0.02
"""So much more has to be kept: by less, single fits differ by their noise."""


def _charge(purse: Purse, part: Fraction) -> Charge:
    """For a fit to this part of the rows, beside which its noise is as large as that of the purse beside all of them."""
    if purse.kind is DiscreteLaplace:
        return mechanism(GENERATION, purse.cost / part, "a fit to public rows")
    return gaussian(GENERATION, purse.cost / part**2, "a fit to public rows")


def faint_words(faint: int) -> str:
    """How many pairs of rare values are not kept, a sentence; empty for none."""
    pairs = "One pair of rare values that come together is"
    if faint != 1:
        pairs = f"{faint} pairs of rare values that come together are"
    return f"{pairs} not kept: the acceptance file says which." if faint else ""


def plan_words(race: PlanRace, raced: Raced, kept: Kept, others: Fraction, *, asks: bool = False) -> str:
    """What the plan costs and keeps, in sentences.

    Parameters
    ----------
    others : epsilon of everything beside the tables.
    asks : whether the steward is asked about an epsilon above the one that a draft aims at.
    """
    delta = "delta 0" if raced.purse.kind is DiscreteLaplace else "delta 1e-9"
    found = [f"The plan costs at most epsilon {float(raced.total):g}, {delta}.", kept.words]
    if asks and raced.total > AIMED:
        least = race.keeps(AIMED, others)
        would = "" if least is None else f" At epsilon {float(AIMED):g} fits keep {shown_share(least)}."
        found.append(
            f"QUESTION: is that worth an epsilon of {float(raced.total):g}?{would} `--epsilon {float(AIMED):g}` drafts it."
        )
    if kept.share is not None and kept.share < PROMISED:
        reached = race.reached(raced, others)
        found.append(
            f"{PROMISED:.0%} would take an epsilon of about {float(reached):g}."
            if reached is not None
            else f"{PROMISED:.0%} is out of reach for these tables, up to an epsilon of {float(_FARTHER[-1]):g}."
        )
        names = ", ".join(f"{name} ({bins} bins)" for name, bins in race.widest(raced.told))
        found.append(f"Most cells that get noise are those of {names}: with coarser bins there, or without them, more is kept.")
    return " ".join(found)
