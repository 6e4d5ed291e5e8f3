"""Which generator a draft names, and at which budget: the cheapest that keeps enough, as fits to the public file show it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import InputError, RejectedRound
from synthrelease.generators.adaptive import Adaptive, AdaptivePure
from synthrelease.generators.base import Background, Generator
from synthrelease.generators.marginals import GaussianMarginals, Marginals
from synthrelease.generators.measured_noise import DiscreteLaplace, RoundedGaussian
from synthrelease.privacy.charges import GENERATION, Charge, Meter, decimal_text, exact, gaussian, mechanism, rounded_down
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
    weight_of,
)

DELTA = Fraction(1, 10**9)
ENOUGH, PROMISED = 0.85, 0.8
"""Parts of the dependence that fits to the public file keep: what a cheaper budget must reach, and what a draft aims at."""
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2), Fraction(100)
"""Of a whole release that can be drafted."""
_TOTALS = tuple(map(Fraction, ("0.5", "0.7", "1", "1.4", "2", "3", "5")))
"""Epsilons of a whole release that are tried."""
_FARTHER = (*_TOTALS, Fraction(8), Fraction(12))
"""At which it is asked what would be kept."""
TOLD = 1.3
"""Distance of independent columns over that of another sample, from which on it can be told what is kept."""
_BETTER = 0.05
"""A generator that publishes no tables has to keep so much more to be drafted."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a steward asks of the guarantee.

    Attributes
    ----------
    epsilon : of the whole release, at most; None leaves it to the race.
    pure : whether delta is to be 0.
    """

    epsilon: Fraction | None = None
    pure: bool = False

    @classmethod
    def of(cls, epsilon: str | None, *, pure: bool) -> Promise:
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
        return cls(epsilon=most, pure=pure)

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
        told of those that hang together most; None where neither can be.
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


@dataclass(frozen=True, kw_only=True)
class KeptByFits:
    """What fits of a draft to the public file lose.

    Attributes
    ----------
    kept : of the dependence of all pairs, and of those that hang together most, where that can be told.
    lost : pairs that hang together, also in few rows alone, and that most fits lose.
    """

    kept: tuple[float, ...]
    lost: tuple[Pair, ...]

    def better(self, other: KeptByFits) -> bool:
        """Whether fewer pairs are lost, and as much is kept of all."""
        kept = all(mine >= theirs - _CLEARLY for mine, theirs in zip(self.kept, other.kept, strict=True))
        return kept and len(self.lost) < len(other.lost)


class PlanRace:
    """Fits to the rows of the public file, in the drafted bins, with the noise of a release.

    Parameters
    ----------
    table : the rows; the private file is taken to have about as many.
    pairs : all pairs of columns.
    ordered : of the columns (`Background.ordered`).
    missing : columns whose last bin is no value.
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
    ):
        self._table, self._missing, self._promise, self._seed = table, missing, promise, seed
        self._background = Background(plausibility=plausibility, ordered=ordered)
        self._found: dict[tuple[Fraction, Fraction, int | None, bool], Raced] = {}
        random = SeededEntropy(seed, 11).generator()
        alone, (left, right) = independent_columns(table, random), halves(table, random)
        strongest = tied_pairs(pairs)[: len(table.layout.columns)]
        # halves have half of the rows each, so that two samples of all rows are nearer by the root of 2
        yardsticks = [
            _Yardstick(
                pairs=chosen,
                sample=pairs_off(left, right, chosen) / math.sqrt(2),
                independent=pairs_off(table, alone, chosen),
            )
            for chosen in (pairs, strongest)
        ]
        self._yardsticks = [each for each in yardsticks if each.tells]

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
        return best if best.good else replace(best, adaptive=self._finding_its_own(best.purse))

    def keeps(self, total: Fraction, others: Fraction) -> float | None:
        """What a fit keeps at this epsilon of the whole release, as `cheapest` would begin; None where nobody can tell.

        Parameters
        ----------
        others : epsilon of everything beside the tables.
        """
        return self._searched(total, others, only_pairs=False).kept

    def paid(self, raced: Raced, others: Fraction) -> Raced:
        """The same plan, with what its fits keep once it is known what everything beside the tables costs."""
        if raced.finds_its_own:
            return raced
        return self._fitted(raced.total, others, raced.told, raced.prior_weight)

    def _weighted(self, best: Raced) -> Raced:
        """With the prior weight that keeps most: it must follow rows and noise, and no rule is known that does.

        Small files need little of it: a hundred records of the uniform table draw the rows of a thousand towards it.
        """
        if not self._yardsticks:
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

    def kept_by(self, raced: Raced) -> float | None:
        """What the generator that is drafted keeps."""
        return raced.adaptive if raced.finds_its_own else raced.kept

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
            told = telling_tables(self._table, plausibility, purse, self._seed, self._missing, only_pairs=only_pairs)
            self._found[asked] = self._fitted(total, others, told, weight)
        return self._found[asked]

    def _fitted(self, total: Fraction, others: Fraction, told: TellingTables, weight: int | None = None) -> Raced:
        purse = self._purse(total, others)
        weight = weight or PRIOR_WEIGHT[purse.kind is DiscreteLaplace]
        kept = self._kept(self.generator(told, purse, weight), purse)
        good = min(kept, default=1.0) >= ENOUGH
        return Raced(total=total, purse=purse, told=told, kept=kept[0] if kept else None, good=good, prior_weight=weight)

    def _purse(self, total: Fraction, others: Fraction) -> Purse:
        return self._promise.purse(max(total - others, total / 4))

    def generator(self, told: TellingTables, purse: Purse, prior_weight: int) -> Generator:
        """What measures these tables."""
        family = Marginals if purse.kind is DiscreteLaplace else GaussianMarginals
        return family(tables=" + ".join(self.terms(told)), prior_weight=prior_weight, draw="evenly")

    def terms(self, told: TellingTables) -> tuple[str, ...]:
        """The tables, each with its weight in the budget, as a configuration names them."""
        names, sizes = self._table.layout.columns, self._table.layout.sizes
        weights = [weight_of(columns, sizes) for columns in told.tables]
        tables = [":".join(names[column] for column in columns) for columns in told.tables]
        return tuple(f"{decimal_text(weight)} {table}" for weight, table in zip(weights, tables, strict=True))

    def _finding_its_own(self, purse: Purse) -> float | None:
        kept = self._kept((AdaptivePure if self._promise.pure else Adaptive)(draw="evenly"), purse)
        return kept[0] if kept else None

    @one_thread
    def _kept(self, generator: Generator, purse: Purse, number: int = 0) -> list[float]:
        """What a fit keeps of the dependence of all pairs, and of the pairs that hang together most, where that can be told.

        Parameters
        ----------
        number : fits of the same number have the same noise, up to its scale.
        """
        drawn = self._drawn(generator, _charge(purse), self._table, self._background, number)
        if drawn is None:
            return [-math.inf] * len(self._yardsticks)
        return [each.kept(pairs_off(self._table, drawn, each.pairs)) for each in self._yardsticks]

    def _drawn(self, generator: Generator, charge: Charge, table: Counts, background: Background, number: int) -> Counts | None:
        """Rows of a fit; None where the fit fails."""
        private = PrivateCounts(table, Meter([charge])).rehearsed(SeededEntropy(self._seed, 12, number))
        try:
            model = generator.fit(private, charge, background)
        except RejectedRound:
            return None
        return model.sample(round(table.total), SeededEntropy(self._seed, 13, number).generator())

    @one_thread
    def tested(self, spec: ReleaseSpec, rows: Counts, pairs: Sequence[Pair]) -> KeptByFits | None:
        """What fits of a whole draft lose, which may have further columns behind those of the race; None where a fit fails.

        Parameters
        ----------
        rows : of the public file over the atomic cells of the draft.
        pairs : all pairs of the columns of the race.
        """
        one = spec.space[0]
        transformation, charge = one.transformation, one.generator.charge(spec.generation_budget)
        table = rows.merge(transformation.layout, transformation.maps)
        background = Background(plausibility=spec.synthetic.merge(transformation), ordered=transformation.ordered)
        tied = [pair for pair in pairs if pair.strong or pair.faint(round(table.total))]
        kept, times = list[list[float]](), Counter[tuple[str, str]]()
        for number in range(_FITS):
            drawn = self._drawn(one.generator, charge, table, background, number)
            if drawn is None:
                return None
            kept.append([each.kept(pairs_off(self._table, drawn, each.pairs)) for each in self._yardsticks])
            now = {pair.columns: pair.cramers_v for pair in strongest_pairs(drawn, missing=self._missing)}
            times.update(pair.columns for pair in tied if now[pair.columns] < _LOST * pair.cramers_v)
        lost = (pair for pair in tied if 2 * times[pair.columns] > _FITS)
        return KeptByFits(
            kept=tuple(np.mean(kept, axis=0).tolist()), lost=tuple(sorted(lost, key=lambda pair: -pair.cramers_v))
        )


def _gain(kept: Mapping[int, Sequence[Sequence[float]]], weight: int, usual: int) -> float:
    """How much more fits at a prior weight keep than at the usual one, the less of all pairs and of the strongest."""
    return float((np.mean(kept[weight], axis=0) - np.mean(kept[usual], axis=0)).min())


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


PRIOR_WEIGHT = {True: 100, False: 30}
"""Where a race begins, by whether the noise is pure: that of Gaussian noise is smaller, and bears less of a prior."""
PRIOR_WEIGHTS = (1, 5, 300)
"""That are raced against it."""
_FITS, _LOST = 3, 0.5
"""Of a draft that is tested; a pair of which a fit keeps a smaller part of Cramer's V is lost in it."""
_CLEARLY = 0.02
"""So much more has to be kept: by less, single fits differ by their noise."""


def _charge(purse: Purse) -> Charge:
    of = mechanism if purse.kind is DiscreteLaplace else gaussian
    return of(GENERATION, purse.cost, "a fit to public rows")


def faint_words(faint: int) -> str:
    """How many pairs of rare values are not kept, a sentence; empty for none."""
    pairs = "One pair of rare values that come together is"
    if faint != 1:
        pairs = f"{faint} pairs of rare values that come together are"
    return f"{pairs} not kept: the acceptance file says which." if faint else ""


def plan_words(race: PlanRace, raced: Raced, others: Fraction) -> str:
    """What the plan costs and keeps, in sentences.

    Parameters
    ----------
    others : epsilon of everything beside the tables.
    """
    delta = "delta 0" if raced.purse.kind is DiscreteLaplace else "delta 1e-9"
    found = [f"The plan costs at most epsilon {float(raced.total):g}, {delta}."]
    kept = race.kept_by(raced)
    if kept is None:
        return f"{found[0]} On so few rows nobody can tell how much of the dependence between columns its fits keep."
    found.append(
        f"Fits to the public file keep {max(0.0, min(kept, 1.0)):.0%} of how columns hang together in pairs (100%: another "
        "sample of the same population; 0%: independent columns)."
    )
    if faint := faint_words(len(raced.told.faint)):
        found.append(faint)
    if kept < PROMISED:
        reached = race.reached(raced, others)
        found.append(
            f"{PROMISED:.0%} would take an epsilon of about {float(reached):g}."
            if reached is not None
            else f"{PROMISED:.0%} is out of reach for these tables, up to an epsilon of {float(_FARTHER[-1]):g}."
        )
        names = ", ".join(f"{name} ({bins} bins)" for name, bins in race.widest(raced.told))
        found.append(f"Most cells that get noise are those of {names}: with coarser bins there, or without them, more is kept.")
    return " ".join(found)


def with_marks_in(words: str, faint: int, found: KeptByFits) -> str:
    """These sentences, of a plan that has numbers of marks, too.

    Parameters
    ----------
    faint : pairs of rare values that the plan loses without them.
    """
    before, now = faint_words(faint), faint_words(sum(not pair.strong for pair in found.lost))
    words = words.replace(f" {before}", "") if before else words
    kept = f"With the numbers of marks they keep {max(0.0, min(1.0, found.kept[0])):.0%}." if found.kept else ""
    return " ".join(filter(None, (words, kept, now)))
