"""Divide the epsilon of a release among measured tables, sums and the joint test, by tries on public data (`allocate`).

**Search.** In each stage, tries that change all parts at once (`slopes`) show how much the noise of every part worsens
every criterion. The stage compares the present allocation with the step with which criteria are least likely to fail, at
the same total, and with half of this step. All use the same noise on the same populations (`run_tries`). The comparison
uses the probability of passing with wider noise in the joint test, because shares of successful tries show no differences
if nearly all succeed or nearly all fail.

**Selection bias.** The best of several estimates is too optimistic. So all allocations of the search are compared again on
new noise. Then the chosen and the first allocation are judged on noise and populations that had no influence on the choice.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, Self

import numpy as np
from scipy.optimize import minimize, nnls

from synthrelease.criteria.marginals import RelativeMarginalError
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts, random_pieces, uniform_subset
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, RejectedRound, listing, on_public_data, percent, so_many
from synthrelease.generators.candidate import Candidate
from synthrelease.generators.marginals import GaussianMarginals, Marginals, MarginalsGenerator
from synthrelease.generators.measurements import spelled_out
from synthrelease.generators.scored_sums import terms_of
from synthrelease.privacy.charges import GENERATION, Meter, decimal_text
from synthrelease.privacy.curves import rho_within
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.attempt import generate, prepare, read_priors
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import AllocationRequest
from synthrelease.studio.parallel import Progress, Run, running
from synthrelease.studio.rehearsal.attempts import bounded_mean, exact_scores, passing

# The parts of a budget: the measured terms of a `marginals` generator, and the joint test; and their notation in settings.

Field = Literal["tables", "only_measured", "sums"]
FIELDS: tuple[Field, ...] = ("tables", "only_measured", "sums")

_TERM = re.compile(r"\s*(?:(?P<weight>[0-9]+(?:\.[0-9]+)?)(?:\s+|(?=\{)))?(?P<rest>\S.*?)\s*", re.DOTALL)
_NEXT_TO_NOTHING = Fraction(1, 10**9)
_DIGITS = 3  # Significant digits of a weight and of the epsilon of the joint test

_FINEST = 10**6  # The generation budget is a multiple of 1 / `_FINEST`, and a rho a multiple of 1 / (1000 `_FINEST`)


MOST_PARTS = 32
"""Largest number of parts whose weights are compared by tries. With more parts, weights keep their ratios: for 70 parts, two
sets of 32 pairs of tries contradicted each other.
"""
# Factors in a search for a rho, between the first and the last bounds. A plan with a curve takes a tenth of a second.
_WIDER, _NEAR_ENOUGH = Fraction(6, 5), Fraction(1005, 1000)


@dataclass(frozen=True, kw_only=True)
class MeasuredPart:
    """A measurement with its own share of the budget, such as the term `2 a:b` (weight 2 for the table of a and b).

    Attributes
    ----------
    field, place : the setting, and the index of the term in it.
    texts : the terms that follow the weight: one table, one sum, or several sums that share one noise vector.
    number : the number of tables.
    kept : whether the budget stays unchanged, for tables of the design weight or the random groups of clusters: no
        criterion judges them.
    """

    field: Field
    place: int
    texts: tuple[str, ...]
    number: int = 1
    kept: bool = False

    @property
    def text(self) -> str:
        return self.texts[0] if len(self.texts) == 1 else f"{{{' + '.join(self.texts)}}}"


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """A division of the epsilon of a release among its measured tables and sums and its joint test.

    Attributes
    ----------
    parts, weights : the terms with a weight above 0, and their weights. Only the ratios of weights matter.
    test : epsilon of one joint test. The generation budget is the rest of the total.
    """

    parts: tuple[MeasuredPart, ...]
    weights: tuple[Fraction, ...]
    test: Fraction

    @property
    def whole(self) -> Fraction:
        return sum((weight * part.number for part, weight in zip(self.parts, self.weights, strict=True)), Fraction(0))

    def moved(self, factors: Sequence[float], test: float) -> Allocation:
        """Return the allocation with each weight multiplied by its factor, and the epsilon of the joint test by `test`."""
        weights = tuple(few_digits(weight * Fraction(factor)) for weight, factor in zip(self.weights, factors, strict=True))
        return replace(self, weights=weights, test=few_digits(self.test * Fraction(test)))

    @property
    def terms(self) -> int:
        return sum(len(part.texts) for part in self.parts)

    @property
    def too_many(self) -> bool:
        """Return whether tries cannot find the weight of each table and sum, so that weights keep their ratios."""
        return self.terms > MOST_PARTS


@dataclass(frozen=True, kw_only=True)
class Divisible:
    """A specification whose total epsilon can be divided anew.

    Attributes
    ----------
    total : epsilon of the whole release.
    start : the allocation of the specification.
    unmeasured : the terms of weight 0.
    left : a cache with the generation budget for each epsilon of the test.
    """

    spec: ReleaseSpec
    total: Fraction
    start: Allocation
    unmeasured: tuple[MeasuredPart, ...]
    left: dict[Fraction, Fraction] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, spec: ReleaseSpec, total: Fraction | None = None) -> Divisible:
        """Prepare a specification for dividing its total epsilon, or another total, anew.

        Raises
        ------
        InputError : if there is nothing to allocate, or if the specification has parts that cannot be allocated.
        """
        generators = spec.space.generators
        families = (Marginals, GaussianMarginals)  # and not a family that divides its budget in a different way
        texts = {
            _settings_of(generator)
            if isinstance(generator, families) and type(generator) in families and not generator.pairs
            else None
            for generator in generators
        }
        if len(texts) > 1 or None in texts or not spec.shared_measurements or spec.joint_test is None:
            raise InputError(
                f"{spec.path}: the epsilon of this configuration cannot be divided. All generators must have the family "
                "'marginals' or 'gaussian_marginals', measure the same tables and sums, and measure no agreements of pairs. "
                '[selection] must have measurements = "shared" and test = "joint".'
            )
        beside_generation = (*spec.plan.once, *spec.plan.per_round, *spec.plan.after)
        if not all(charge.pure for charge in beside_generation if charge.name != GENERATION):
            raise InputError(
                f"{spec.path}: all mechanisms except the generation must be pure (without delta), but some of them are not."
            )
        terms = list(_terms(spec, generators[0]))
        start = Allocation(
            parts=tuple(part for part, weight in terms if weight),
            weights=tuple(weight for _, weight in terms if weight),
            test=spec.joint_test.epsilon,
        )
        unmeasured = tuple(part for part, weight in terms if not weight)
        return cls(spec=spec, total=total or spec.plan.total.epsilon, start=start, unmeasured=unmeasured)

    @property
    def gaussian(self) -> bool:
        """Return whether the generation budget is a rho (Gaussian noise) rather than an epsilon."""
        return self.spec.space.generators[0].gaussian

    @property
    def power(self) -> int:
        """Return the power p at which the variance of a part's noise is proportional to budget^-p."""
        return 1 if self.gaussian else 2

    @property
    def unit(self) -> str:
        return "rho" if self.gaussian else "epsilon"

    def generation(self, allocation: Allocation) -> Fraction:
        """Return the generation budget that the joint test and the other costs leave; 0 or less if nothing remains."""
        if allocation.test not in self.left:
            self.left[allocation.test] = self._rho_left(allocation) if self.gaussian else self._epsilon_left(allocation)
        return self.left[allocation.test]

    def _epsilon_left(self, allocation: Allocation) -> Fraction:
        rest = self._tested(allocation).with_budget(generation=_NEXT_TO_NOTHING).plan.total.epsilon - _NEXT_TO_NOTHING
        return Fraction(math.floor((self.total - rest) * _FINEST), _FINEST)

    def _rho_left(self, allocation: Allocation) -> Fraction:
        """Return the largest rho at which the whole release costs at most the total.

        Bisection is needed, because the release may cost less than the sum of the epsilons of its parts.
        """
        tested = self._tested(allocation)
        pure = [charge for charge in (*tested.plan.once, *tested.plan.per_round, *tested.plan.after) if charge.pure]
        rest = sum((charge.epsilon for charge in pure), Fraction(0))

        def costs(rho: Fraction) -> Fraction:
            return tested.with_budget(generation=rho).plan.total.epsilon

        low = rho_within(self.total - rest, tested.budget.delta) if self.total > rest else Fraction(0)
        while low >= Fraction(1, 1000 * _FINEST) and costs(low) > self.total:  # rounds multiply the costs of their parts
            low /= 2
        if low < Fraction(1, 1000 * _FINEST):
            return Fraction(0)
        high = low * _WIDER
        while costs(high) <= self.total:
            low, high = high, high * _WIDER
        while high > low * _NEAR_ENOUGH:
            middle = (low + high) / 2
            low, high = (middle, high) if costs(middle) <= self.total else (low, middle)
        return Fraction(math.floor(low * 1000 * _FINEST), 1000 * _FINEST)

    def in_budgets(self, allocation: Allocation) -> Allocation:
        """Return the allocation with the epsilon or rho of each table, or noise vector of sums, as its weight."""
        share = self.generation(allocation) / allocation.whole
        return replace(allocation, weights=tuple(weight * share for weight in allocation.weights))

    def margin(self, allocation: Allocation) -> float:
        """Return the slack (distance from failing) that a candidate needs in every criterion to pass the joint test."""
        test = self._tested(allocation).joint_test
        return 0.0 if test is None else test.margin

    def _tested(self, allocation: Allocation) -> ReleaseSpec:
        test = self.spec.joint_test
        return self.spec if test is None else replace(self.spec, joint_test=replace(test, epsilon=allocation.test))

    def possible(self, allocation: Allocation) -> bool:
        return self.generation(allocation) > 0

    def spec_with(self, allocation: Allocation) -> ReleaseSpec:
        """Return the specification with its budget divided by this allocation, which must be `possible`."""
        return self._spec_of(allocation, self.generation(allocation))

    def spec_at(self, allocation: Allocation) -> ReleaseSpec:
        """Return the specification in which the weights are the budgets (epsilon or rho) of tables and noise vectors.

        The release may then cost more or less than the total.
        """
        fine = 1000 * _FINEST if self.gaussian else _FINEST
        return self._spec_of(allocation, Fraction(math.ceil(allocation.whole * fine), fine))

    def _spec_of(self, allocation: Allocation, generation: Fraction) -> ReleaseSpec:
        texts = {name: text for name in FIELDS if (text := self.written(allocation, name))}
        planned = self.spec.space.generators
        generators = tuple(type(generator).model_validate(generator.model_dump() | texts) for generator in planned)
        space = replace(self.spec.space, generators=generators)
        return replace(self._tested(allocation).with_budget(generation=generation), space=space)

    def written(self, allocation: Allocation, name: Field) -> str:
        """Return the text of one setting, with weights as thousandths of the generation budget; empty if it is not used."""
        weighted = list(zip(allocation.parts, allocation.weights, strict=True))
        thousandths = self.generation(allocation) * 1000 / allocation.whole
        terms = [(part, few_digits(weight * thousandths)) for part, weight in weighted]
        terms += [(part, Fraction(0)) for part in self.unmeasured]
        terms = sorted((term for term in terms if term[0].field == name), key=lambda term: term[0].place)
        return "\n+ ".join(f"{decimal_text(weight)} {part.text}" for part, weight in terms)


def _terms(spec: ReleaseSpec, generator: object) -> Iterator[tuple[MeasuredPart, Fraction]]:
    layout, design = spec.space.common.layout, spec.options.design
    asked = set[str]() if design is None else set(filter(None, (design.weight, design.groups)))
    for name in FIELDS:
        formula = str(getattr(generator, name, None) or "")
        formula = spelled_out(formula, layout) if formula and name != "sums" else formula
        for position, term in enumerate(terms_of(formula) if formula else ()):
            match = _TERM.fullmatch(term)
            if match is None:
                continue
            text = " ".join(match["rest"].split())
            number = 1 if name == "sums" else len(list(Marginals(tables=text).terms[0].sets(layout)))
            texts = tuple(summand.strip() for summand in terms_of(text.strip("{} "))) if name == "sums" else (text,)
            kept = bool(asked & {column.strip() for column in text.split(":")})
            part = MeasuredPart(field=name, place=position, texts=texts, number=number, kept=kept)
            yield part, Fraction(match["weight"] or 1)


def _settings_of(generator: MarginalsGenerator) -> tuple[object, ...]:
    return (type(generator), *(getattr(generator, name, None) for name in FIELDS))


def few_digits(value: Fraction) -> Fraction:
    return Fraction(f"{float(value):.{_DIGITS - 1}e}")


# Populations on which an allocation is tried. The populations are the public table, and other tables that are made from it by
# removing rows.
#
# The private table is another population than the public table. An allocation that is good on the public table may be good only
# by accident, for example because of the number of rows in its rarest bin. So other populations are made. In three columns,
# drawn at random, the rows on one side of a random cut are kept with probability 0.85. These populations have other shares, and
# about a fifth fewer rows.

_COLUMNS, _KEPT_POPULATIONS = 3, 0.85
_PRIOR_SHARE = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class Populations:
    """The public data on which allocations are tried.

    Attributes
    ----------
    public : the rows of the public file.
    priors : public tables that generators start from, by their name. In place of the public file itself, they start from a
        random fifth of it, and no population has a row of this fifth.
    rows : largest number of rows of a population, or None. Further rows are removed at random.
    """

    public: Counts
    priors: Mapping[str, Counts]
    rows: int | None = None
    seed: int

    @property
    def divided(self) -> bool:
        return any(prior.same_as(self.public) for prior in self.priors.values())

    def of(self, index: int) -> tuple[Counts, dict[str, Counts]]:
        """Return a population in place of the private table, and the public tables that generators start from.

        Population 0 is the public file itself, with at most `rows` rows.
        """
        table, priors = self.public, dict(self.priors)
        if self.divided:
            part = table.total // _PRIOR_SHARE
            fifth, table = random_pieces(table, (part, table.total - part), SeededEntropy(self.seed, 4))
            priors = {name: fifth if prior.same_as(self.public) else prior for name, prior in priors.items()}
        entropy = SeededEntropy(self.seed, 5, index)
        if index:
            table = _thinned(table, entropy.generator())
        if self.rows is not None and table.total > self.rows:
            table = uniform_subset(table, self.rows, entropy)
        return table, priors


def _thinned(table: Counts, generator: np.random.Generator) -> Counts:
    """Keep rows on one side of a random cut in three random columns with probability 0.85."""
    keep = np.ones(len(table))
    sizes = table.layout.sizes
    cut = [column for column, size in enumerate(sizes) if size > 1]
    for column in generator.permutation(cut)[:_COLUMNS].tolist():
        below = table.digits(column) < generator.integers(1, sizes[column])
        keep *= np.where(below == (generator.random() < 0.5), _KEPT_POPULATIONS, 1.0)
    return table.with_counts(generator.binomial(table.counts, keep))


# The slopes: how much the noise of each part worsens each criterion, from tries in which all parts change at once.
#
# Changing one part at a time would need tries for each part. Instead each try is made twice with the same random numbers. A
# coin for each part decides whether the budget of the part is multiplied or divided by a factor. The second try of the pair
# does the opposite. The random numbers cancel in the difference, which is a sum over the parts. Least squares estimate the
# summands from a few dozen pairs of tries, for any number of parts. In this fit, noise helps no criterion, and a part without
# evidence has no effect.
#
# The slack of a criterion is assumed to be linear in the standard deviations of the noise, b^(-p/2) at a budget b, with p = 2
# for an epsilon and p = 1 for a rho. Near an allocation this is true of means and maxima of distances, so a step is bounded.
# The standard deviation of a slack grows in proportion to its loss. A step chooses the weights with which criteria are least
# likely to fail: the smallest sum of exp(-z) over their distances z from failing, in standard deviations.

FACTOR = 1.5
"""The two tries of a pair multiply or divide each budget by this factor."""
_LEAST_PAIRS = 8
_RIDGE = 16  # Weight of the prior assumption that no part has any effect, in numbers of pairs
_TESTS = (0.7, 0.85, 1.0, 1.2, 1.4)  # Factors of the epsilon of the joint test that are tried


@dataclass(frozen=True, kw_only=True, eq=False)
class OppositeTries:
    """Two rounds on public data with the same random numbers and opposite changes of every part's budget.

    Attributes
    ----------
    deviations : (2, I) standard deviations of the noise of every part, in a unit common to all pairs.
    slacks : (2, J) slacks of every aspect (`aspects_of`).
    """

    population: int
    deviations: np.ndarray
    slacks: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class SlopesOfParts:
    """How much the noise of each measured part (such as a table) worsens each criterion near one allocation of the budget.

    Attributes
    ----------
    slacks, spreads : (J,) the mean slack of every aspect, and the standard deviation of this slack within a population.
    losses : (J, I) the slack that each aspect loses by the noise of each part.
    """

    slacks: np.ndarray
    spreads: np.ndarray
    losses: np.ndarray

    @classmethod
    def of(cls, present: Sequence[OppositeTries], earlier: Sequence[OppositeTries], deviations: np.ndarray) -> Self | None:
        """Estimate the slopes from pairs of tries; None with too few pairs or no finite slack.

        Parameters
        ----------
        present, earlier : pairs at this allocation, and at earlier allocations of the same parts.
        deviations : (I,) standard deviations of the noise at this allocation, in the unit of the pairs.
        """
        if len(present) < _LEAST_PAIRS:
            return None
        pairs = [*present, *earlier]
        limited = np.isfinite([pair.slacks for pair in pairs]).all(axis=(0, 1))
        if not limited.any():
            return None
        added = np.array([pair.deviations[1] - pair.deviations[0] for pair in pairs]) / deviations
        lost = np.array([pair.slacks[0, limited] - pair.slacks[1, limited] for pair in pairs])
        ridge = float(added.std()) * np.sqrt(_RIDGE) * np.eye(len(deviations))
        nothing = np.zeros(len(deviations))
        losses = [nnls(np.vstack([added, ridge]), np.concatenate([slack, nothing]))[0] for slack in lost.T]
        middles = np.array([pair.slacks[:, limited].mean(axis=0) for pair in present])
        populations = np.array([pair.population for pair in present])
        within = middles.copy()
        for population in set(populations.tolist()):
            within[populations == population] -= middles[populations == population].mean(axis=0)
        free = max(1, len(present) - len(set(populations.tolist())))
        return cls(slacks=middles.mean(axis=0), spreads=np.sqrt((within**2).sum(axis=0) / free), losses=np.array(losses))

    def deviations(self, noise: np.ndarray, test: float, margin: float) -> np.ndarray:
        """Predict the (J,) distances of the aspects from failing, in standard deviations.

        `noise` has the factor of each part's noise, and `test` is the epsilon of the joint test.
        """
        present, moved = self.losses.sum(axis=1), self.losses @ noise
        grown = np.divide(moved, present, out=np.ones_like(present), where=present > 0)
        variance = (self.spreads * grown) ** 2 + 2 / test**2
        return np.asarray((self.slacks - (moved - present) - margin) / np.sqrt(variance))

    def step(self, divisible: Divisible, present: Allocation, radius: float) -> Allocation:
        """Return the allocation near the present one, with the same total, with which criteria are least likely to fail.

        Parameters
        ----------
        radius : largest change of the logarithm of a budget, before all budgets are scaled to the total.
        """
        budgets = np.array([float(weight) for weight in divisible.in_budgets(present).weights])
        numbers = np.array([part.number for part in present.parts], dtype=float)
        free = np.array([not part.kept for part in present.parts])
        bounds = [(-radius, radius) if is_free else (0.0, 0.0) for is_free in free]
        fixed = float((numbers * budgets)[~free].sum())
        best, least = present, np.inf
        for factor in _TESTS:
            tested = replace(present, test=few_digits(present.test * Fraction(factor)))
            total, margin, test = float(divisible.generation(tested)), divisible.margin(tested), float(tested.test)
            if total <= fixed or not free.any():
                continue

            def at(moves: np.ndarray, total: float = total) -> np.ndarray:
                moved = budgets * np.exp(moves)
                moved[free] *= (total - fixed) / (numbers * moved)[free].sum()
                return np.asarray(moved)

            def failing(x: np.ndarray, test: float = test, margin: float = margin, at: Callable[..., np.ndarray] = at) -> float:
                return float(np.logaddexp.reduce(-self.deviations((budgets / at(x)) ** (divisible.power / 2), test, margin)))

            optimum = minimize(failing, np.zeros(len(budgets)), method="L-BFGS-B", bounds=bounds)
            if optimum.fun < least:
                least = float(optimum.fun)
                best = replace(tested, weights=tuple(few_digits(Fraction(budget)) for budget in at(optimum.x).tolist()))
        return best


# One try of an allocation: a whole round on a public population, with exact criterion values and smooth measures of success.


@dataclass(frozen=True, kw_only=True)
class Try:
    """One round of a release under an allocation, with a public table in place of the private table.

    Attributes
    ----------
    population, number : the number of the population and the number of the noise.
    excess : the smallest slack minus the margin of the joint test, in scales of the test's noise; -inf without a candidate.
    good : whether every criterion value, without noise, is at or below its threshold.
    aspects : the distances of the criteria from failing (`aspects_of`); empty without a candidate.
    reached : for each criterion, whether its slack is at least the margin.
    """

    population: int
    number: int
    excess: float
    good: bool
    aspects: tuple[float, ...]
    reached: tuple[bool, ...]

    def chance(self, scale: float = 1.0) -> float:
        """Return the probability of passing the joint test if its noise is multiplied by `scale`; 0 without a candidate."""
        if not math.isfinite(self.excess):
            return float(self.excess > 0)
        return passing(0.0, self.excess, scale, Fraction(1))


@one_thread
def run_tries(spec: ReleaseSpec, populations: Populations, seed: int, population: int, numbers: Sequence[int]) -> list[Try]:
    """Run rounds of a release with a public table in place of the private table. For public data only.

    The noise depends only on seed, population and number. So two allocations of one specification differ only in the scale
    of the same noise.
    """
    table, priors = populations.of(population)
    public = PrivateCounts(table, Meter(()))
    tries = []
    for number in numbers:
        whole = public.with_plan(spec.plan.once).rehearsed(SeededEntropy(seed, 2, population, number))
        prepared = prepare(spec, whole, priors)
        entropy = SeededEntropy(seed, 3, population, number)
        excess, good, reached = -math.inf, False, (False,) * len(spec.criteria)
        try:
            merged, candidate = generate(spec, spec.space[number % len(spec.space)], whole.rehearsed(entropy), prepared)
            scores, slacks = exact_scores(spec, merged, candidate, prepared)
            aspects = aspects_of(spec, table, candidate, slacks)
        except RejectedRound:
            scores, slacks, aspects = [], [], ()
        if scores and spec.joint_test is not None:
            test = spec.joint_test
            excess = (min(slacks) - test.margin) * float(test.epsilon)
            good = all(score.value <= criterion.threshold for criterion, score in zip(spec.criteria, scores, strict=True))
            reached = tuple(slack >= test.margin for slack in slacks)
        tries.append(Try(population=population, number=number, excess=excess, good=good, aspects=aspects, reached=reached))
    return tries


def aspects_of(spec: ReleaseSpec, public: Counts, candidate: Candidate, slacks: Sequence[float]) -> tuple[float, ...]:
    """Return the distance of a candidate from failing each criterion (its slack), in units of the criterion's sensitivity.

    A criterion on ratios of counts gives the slack of each bin instead. Its own slack is the smallest of these, which small
    noise in the other bins does not change.
    """
    from synthrelease.criteria.marginals_mechanism import bins_inside, one_way

    aspects: list[float] = []
    for criterion, slack in zip(spec.criteria, slacks, strict=True):
        if isinstance(criterion, RelativeMarginalError):
            binned = public.merge(candidate.transformation.layout, candidate.transformation.maps)
            aspects += bins_inside(one_way(binned), one_way(candidate.counts), criterion.threshold).tolist()
        else:
            aspects.append(slack)
    return tuple(aspects)


def success(spec: ReleaseSpec, tries: Sequence[Try]) -> np.ndarray:
    """Return the (n,) probabilities that releases with the random numbers of these tries find a table that meets every
    threshold.

    Several rounds count as repeated tests of one candidate, because the measurements are the same.
    """
    law = spec.selection_rule.law
    chances = np.array([attempt.chance() * attempt.good for attempt in tries])
    return chances if law is None else 1 - np.asarray(law.nothing(1 - chances), dtype=float)


def smoothed(tries: Sequence[Try], scale: float) -> np.ndarray:
    """Return the (n,) probabilities of passing the joint test if its noise is multiplied by `scale`."""
    return np.array([attempt.chance(scale) for attempt in tries])


# The results of tries that judge an allocation.

SMOOTH = 3.0
"""Smallest factor by which the noise of the joint test is widened."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """How often a release finds a table that truly meets every threshold, from new tries on public data.

    Attributes
    ----------
    success, low, high : mean probability of such a table, with its 95% interval (`attempts.bounded_mean`) for the tried
        populations only.
    below : for each criterion, the share of the tries whose slack is below the margin.
    """

    success: float
    low: float
    high: float
    below: tuple[float, ...]
    tries: int


def wide(tries: Sequence[Try]) -> float:
    """Return a factor for the noise of the joint test with which a typical try is sure neither to pass nor to fail."""
    finite = [attempt.excess for attempt in tries if math.isfinite(attempt.excess)]
    return max(SMOOTH, abs(float(np.median(finite))) / 2) if finite else SMOOTH


def judged(spec: ReleaseSpec, tries: Sequence[Try]) -> Judged:
    """Return how often a release succeeds, from tries that had no influence on the choice of the allocation."""
    values = success(spec, tries).tolist()
    low, high = bounded_mean(values)
    below = 1 - np.mean([attempt.reached for attempt in tries], axis=0)
    return Judged(success=math.fsum(values) / len(values), low=low, high=high, below=tuple(below.tolist()), tries=len(values))


POPULATIONS = 4
"""The number of populations for choosing an allocation: the public file and three other populations. The choice is judged on
the same number of new populations.
"""

_PER_POPULATION = 4  # Number of tries of every allocation in a stage, on each population

# Number of tries that judge an allocation on each new population. The public file gets as many tries as all these together.
_JUDGED = 16

_PAIRS = 32  # Largest number of pairs of tries for the slopes of a stage
_FARTHEST = math.log(2.5)  # Largest change of the logarithm of a budget in a step

_MOST_STAGES = 8
_LEAST_STEP = 0.2


@dataclass(frozen=True, kw_only=True)
class AllocationOutcome:
    """The chosen allocation, and how often releases with the first and the chosen allocation succeed in new tries.

    Attributes
    ----------
    chosen : the chosen allocation, which may be the allocation of the specification.
    first_as_is, first_others, chosen_as_is, chosen_others : results of the first and the chosen allocation, on the public
        file (as_is) and on the other populations.
    steps : the number of steps to other weights, or 0 if only the first weights were tried.
    """

    divisible: Divisible
    chosen: Allocation
    first_as_is: Judged
    first_others: Judged
    chosen_as_is: Judged
    chosen_others: Judged
    steps: int


class Search:
    """A search for the best allocation, which is chosen on new noise and judged on further noise and populations."""

    def __init__(
        self,
        divisible: Divisible,
        populations: Populations,
        run: Run,
        *,
        seed: int,
        deadline: float | None = None,
        progress: Progress = lambda phase, done, total: None,
    ):
        self._divisible, self._populations, self._run, self._seed = divisible, populations, run, seed
        self._deadline, self._progress = deadline, progress
        self._next_number = 0

    def outcome(self) -> AllocationOutcome:
        """Run the whole search, and judge the choice even if the time is used up."""
        first = self._divisible.start
        path = self._climbed(first)
        chosen = self._best(path)  # on new noise

        # judge the choice, on noise and populations that had no influence on it
        others = range(POPULATIONS, 2 * POPULATIONS)
        on_file = self._compared([first, chosen], [0], _JUDGED * POPULATIONS, "testing on the public file")
        on_others = self._compared([first, chosen], others, _JUDGED, "testing on other populations")
        specs = [self._divisible.spec_with(allocation) for allocation in (first, chosen)]
        return AllocationOutcome(
            divisible=self._divisible,
            chosen=chosen,
            first_as_is=judged(specs[0], on_file[0]),
            first_others=judged(specs[0], on_others[0]),
            chosen_as_is=judged(specs[1], on_file[1]),
            chosen_others=judged(specs[1], on_others[1]),
            steps=len(path) - 1,
        )

    def _climbed(self, first: Allocation) -> list[Allocation]:
        path, size, earlier = [first], 1.0, list[OppositeTries]()
        if first.too_many:
            return path
        for stage in range(1, _MOST_STAGES + 1):
            if self._late() or size < _LEAST_STEP:
                break
            phase, present = f"stage {stage}", path[-1]
            pairs = self._pairs(present, f"{phase}, all parts changed at once")
            slopes = SlopesOfParts.of(pairs, earlier, self._noise_of(present))
            if slopes is None or self._late():
                break
            earlier += pairs
            whole, half = (slopes.step(self._divisible, present, size * _FARTHEST * part) for part in (1, 0.5))
            steps = list(dict.fromkeys([whole, half]))
            steps = [step for step in steps if step != present and self._divisible.possible(step)]
            tries = self._compared([present, *steps], range(POPULATIONS), _PER_POPULATION, f"{phase}, steps compared")
            scale = wide(tries[0])
            best = int(np.argmax([float(smoothed(of_step, scale).mean()) for of_step in tries]))
            if not best:
                size /= 2
                continue
            path.append(steps[best - 1])
        return path

    def _noise_of(self, allocation: Allocation) -> np.ndarray:
        """Return (I,) numbers proportional to the standard deviation of each part's noise."""
        budgets = np.array([float(weight) for weight in self._divisible.in_budgets(allocation).weights])
        return np.asarray(budgets ** (-self._divisible.power / 2))

    def _pairs(self, allocation: Allocation, phase: str) -> list[OppositeTries]:
        """Run pairs of tries in which budgets are raised or lowered at random, with opposite changes and the same random
        numbers.
        """
        budgets, noise = self._divisible.in_budgets(allocation), self._noise_of(allocation)
        coins = SeededEntropy(self._seed, 6, self._next_number).generator()
        tasks, deviations = list[_Asked](), list[np.ndarray]()
        for pair in range(_PAIRS):
            signs = 2 * coins.integers(0, 2, len(noise)) - 1
            for change in (signs, -signs):
                factors = FACTOR ** change.astype(float)
                spec = self._divisible.spec_at(budgets.moved(factors.tolist(), 1.0))
                tasks.append((len(tasks), spec, pair % POPULATIONS, (self._next_number + pair,)))
                deviations.append(noise * factors ** (-self._divisible.power / 2))
        self._next_number += _PAIRS
        tries = [attempt for (attempt,) in self._run_tries(tasks, phase)]
        return [
            OppositeTries(
                population=tries[first].population,
                deviations=np.array(deviations[first : first + 2]),
                slacks=np.array([attempt.aspects for attempt in tries[first : first + 2]]),
            )
            for first in range(0, len(tries), 2)
            if all(attempt.aspects for attempt in tries[first : first + 2])
        ]

    def _best(self, path: Sequence[Allocation]) -> Allocation:
        """Return the allocation with the best score in new tries, of which the better half gets twice as many in each turn.

        The score is the share of successes plus a smoothed probability of passing the joint test, because a few unlucky
        tries would decide the share alone.
        """
        candidates, per_population = list(path), 2 * _PER_POPULATION
        while len(candidates) > 1:
            phase = f"comparing {len(candidates)} allocations on new noise"
            tries = self._compared(candidates, range(POPULATIONS), per_population, phase)
            values = [
                float(
                    success(self._divisible.spec_with(allocation), of_allocation).mean()
                    + smoothed(of_allocation, SMOOTH).mean()
                )
                for allocation, of_allocation in zip(candidates, tries, strict=True)
            ]
            order = sorted(range(len(candidates)), key=values.__getitem__, reverse=True)
            candidates, per_population = [candidates[index] for index in order[: len(candidates) // 2]], 2 * per_population
        return candidates[0]

    def _compared(
        self, allocations: Sequence[Allocation], populations: Sequence[int], per_population: int, phase: str
    ) -> list[list[Try]]:
        """Try every allocation on the same public tables with the same new random numbers. Return the tries of each
        allocation.
        """
        numbers = range(self._next_number, self._next_number + per_population)
        self._next_number += per_population
        specs = [self._divisible.spec_with(allocation) for allocation in allocations]
        tasks = [(*placed, population, numbers) for placed in enumerate(specs) for population in populations]
        return self._run_tries(tasks, phase)

    def _run_tries(self, tasks: Sequence[_Asked], phase: str) -> list[list[Try]]:
        """Run tries, and return them for each specification, ordered by population and number."""
        total, done = sum(len(numbers) for _, _, _, numbers in tasks), 0
        self._progress(phase, done, total)
        tries: dict[int, list[Try]] = {index: [] for index, _, _, _ in tasks}
        for index, of_place in self._run(_placed, ((*task, self._populations, self._seed) for task in tasks)):
            tries[index].extend(of_place)
            done += len(of_place)
            self._progress(phase, done, total)
        return [sorted(of_place, key=lambda attempt: (attempt.population, attempt.number)) for of_place in tries.values()]

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline


# The index of a specification in a list, the specification, the population, and the numbers of the tries on this population.
_Asked = tuple[int, ReleaseSpec, int, Sequence[int]]


def _placed(
    index: int, spec: ReleaseSpec, population: int, numbers: Sequence[int], populations: Populations, seed: int
) -> tuple[int, list[Try]]:
    return index, run_tries(spec, populations, seed, population, numbers)


# From a specification and a public file to a proposed allocation: in words, as settings and as JSON.


@on_public_data()
def choose_allocation(
    spec: ReleaseSpec, request: AllocationRequest, *, progress: Progress = lambda phase, done, total: None
) -> AllocationOutcome:
    """Choose by tries on a **public** file how the epsilon of a release is divided among tables, sums and the joint test.

    The public file has the layout of the private file. This reads no private data and spends nothing. After the requested
    minutes no further step starts, but the choice is still judged.

    Raises
    ------
    InputError : if the specification cannot be allocated, a number is invalid, or the file does not fit.
    """
    deadline = time.monotonic() + 60 * request.minutes

    # the tables and sums that share the total, and the weights to begin with
    planned = spec.plan.total.epsilon
    total = _above_zero("--total", request.total) or planned
    divisible = Divisible.of(spec, total)
    if not divisible.possible(divisible.start):
        raise InputError(
            f"--total: epsilon = {float(total):g} leaves nothing for the generation, because the number of rows, the joint "
            f"test and the criterion values of {spec.path} cost {_least_total(divisible)}. Give a larger total."
        )
    if divisible.start.too_many:  # no budget is moved, so the test keeps its part of the total
        divisible = replace(divisible, start=divisible.start.moved([1.0] * len(divisible.start.parts), float(total / planned)))

    # the public file, and populations that are made from it
    progress("reading the public file", 0, 0)
    public = read_public(request.source, spec.schema, spec.input, spec.raw, spec.unit)
    populations = Populations(public=public, priors=read_priors(spec), rows=request.rows, seed=request.seed)

    search = Search(divisible, populations, running(request.jobs), seed=request.seed, deadline=deadline, progress=progress)
    return search.outcome()


def _least_total(divisible: Divisible) -> str:
    cost = f"{float(divisible.total - divisible.generation(divisible.start)):g}"
    return "as much" if divisible.gaussian else cost


def _above_zero(option: str, text: str | None) -> Fraction | None:
    if text is None:
        return None
    with suppress(ValueError, ZeroDivisionError):
        if (number := Fraction(text)) > 0:
            return number
    raise InputError(f"{option}: expected a number above 0, found {text!r}.")


def allocation_words(outcome: AllocationOutcome) -> list[str]:
    spec, divisible = outcome.divisible.spec, outcome.divisible
    same = outcome.chosen == divisible.start
    compared = "" if same else f"; the current weights reach {_share(outcome.first_as_is)} and {_share(outcome.first_others)}"
    total = decimal_text(divisible.total)
    sentences = [
        f"At epsilon = {total}, the search found no better allocation than the one in {spec.path}."
        if same
        else f"The lines below are the proposal at epsilon = {total}, after {so_many(outcome.steps, 'step')} of the search.",
        f"A released table meets every threshold in {_share(outcome.chosen_as_is)} of the tries on the public file, and in "
        f"{_share(outcome.chosen_others)} on populations made from this file, with fewer rows and other shares{compared}.",
        f"These shares come from {outcome.chosen_as_is.tries} and {outcome.chosen_others.tries} new tries that had no "
        "influence on the choice. The tries of the choice itself would be too optimistic. All tries used public data. "
        "If the private table differs from the public file in other ways, the share may be lower.",
    ]
    if divisible.gaussian:
        delta = f"{float(spec.budget.delta):g}"
        sentences.append(f"Tables get Gaussian noise. The loss may exceed epsilon with probability {delta}.")
    if outcome.chosen.too_many:
        many = outcome.chosen.terms
        sentences.append(
            f"The weights keep their ratios, because tries cannot show the best weight of each of {many} tables and sums."
        )
    elif not outcome.steps:
        sentences += ["No other weights were tried, because the time was too short (--minutes) or too few tries gave a table."]
    if kept := [part.text for part in outcome.chosen.parts if part.kept]:
        sentences.append(f"No criterion tests weighted answers. These tables keep their current budget: {listing(kept)}.")
    names = [criterion.name for criterion in spec.criteria]
    for where, judged_there in (("the public file", outcome.chosen_as_is), ("the other populations", outcome.chosen_others)):
        shares = sorted(zip(judged_there.below, names, strict=True), reverse=True)
        if failing := [f"{name} ({percent(share)})" for share, name in shares if share > 0]:
            sentences.append(
                f"On {where}, criteria missed the margin of the joint test in this share of tries: {', '.join(failing)}."
            )
    return sentences


def _share(outcome: Judged) -> str:
    return f"{percent(outcome.success)} ({percent(outcome.low)} to {percent(outcome.high)})"


def allocation_lines(outcome: AllocationOutcome) -> str:
    """Return the proposed allocation as settings to paste into the configuration."""
    texts = {name: outcome.divisible.written(outcome.chosen, name) for name in FIELDS}
    settings = "\n".join(f'{name} = """\n{text}"""' for name, text in texts.items() if text)
    generator = outcome.divisible.spec.space.generators[0]
    dumped = generator.model_dump()
    further = "".join(f'{name} = "{dumped[name]}"\n' for name in ("rare_bins", "draw") if dumped[name])
    generation = decimal_text(outcome.divisible.generation(outcome.chosen))
    delta = f"delta = {float(outcome.divisible.spec.budget.delta):g}\n" if outcome.divisible.gaussian else ""
    return (
        f'[[generators]]\nfamily = "{generator.family}"            # weights are thousandths of {outcome.divisible.unit}\n'
        f"{settings}\n"
        f"prior_weight = {dumped['prior_weight']:g}\n{further}\n"
        f"[budget]\ngeneration = {generation}\n{delta}\n"
        f"[selection]\ntest_epsilon = {decimal_text(outcome.chosen.test)}\n"
    )
