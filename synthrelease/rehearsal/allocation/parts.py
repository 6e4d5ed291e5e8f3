"""What a budget is allocated to: the measured terms of a `marginals` generator, and the joint test; and how it is written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from synthrelease.errors import InputError
from synthrelease.generators.marginals import GaussianMarginals, Marginals, MarginalsGenerator
from synthrelease.generators.measured_noise import MOST_NUMBERS
from synthrelease.generators.scored_sums import terms_of
from synthrelease.privacy.charges import GENERATION, decimal_text
from synthrelease.privacy.curves import rho_within
from synthrelease.spec.release_spec import ReleaseSpec

Field = Literal["tables", "only_measured", "sums"]
FIELDS: tuple[Field, ...] = ("tables", "only_measured", "sums")

_TERM = re.compile(r"\s*(?:(?P<weight>[0-9]+(?:\.[0-9]+)?)(?:\s+|(?=\{)))?(?P<rest>\S.*?)\s*", re.DOTALL)
_NEXT_TO_NOTHING = Fraction(1, 10**9)
_DIGITS = 3
"""Significant digits of a weight and of the test's epsilon."""

_FINEST = 10**6
"""The generation budget is a multiple of one over this, and a rho one over a thousand times it."""


MOST_PARTS = 32
"""Of more parts weights stay in the ratios that they have: two sets of 32 pairs of tries said different things of 70 parts."""
_ANY_RHO = Fraction(1, 100)
_WIDER, _NEAR_ENOUGH = Fraction(6, 5), Fraction(1005, 1000)
"""Steps of a search for a rho, and where it ends: to state a plan with a curve takes a tenth of a second."""


@dataclass(frozen=True, kw_only=True)
class MeasuredPart:
    """One term of a setting.

    Attributes
    ----------
    place : in its setting.
    texts : what is written after its weight: the sums that share one noise, or one table or sum.
    number : how many tables it is.
    """

    field: Field
    place: int
    texts: tuple[str, ...]
    number: int = 1

    @property
    def text(self) -> str:
        return self.texts[0] if len(self.texts) == 1 else f"{{{' + '.join(self.texts)}}}"


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """How a total is shared out.

    Attributes
    ----------
    parts : the terms with a weight above 0.
    weights : per part, above 0; only their ratios count.
    test : epsilon of a joint test. The generation budget is what is left of the total.
    """

    parts: tuple[MeasuredPart, ...]
    weights: tuple[Fraction, ...]
    test: Fraction

    @property
    def whole(self) -> Fraction:
        """The weights of all tables and noises of sums."""
        return sum((weight * part.number for part, weight in zip(self.parts, self.weights, strict=True)), Fraction(0))

    def moved(self, factors: Sequence[float], test: float) -> Allocation:
        """With each weight, and the test's epsilon, times a factor above 0."""
        weights = tuple(few_digits(weight * Fraction(factor)) for weight, factor in zip(self.weights, factors, strict=True))
        return replace(self, weights=weights, test=few_digits(self.test * Fraction(test)))

    def apart(self) -> Allocation:
        """With every sum by itself, at the noise that it has here."""
        found = []
        for part, weight in zip(self.parts, self.weights, strict=True):
            alone = weight / dearer(len(part.texts))
            found += [(replace(part, texts=(text,)), alone) for text in part.texts]
        placed = [replace(part, place=place) for place, (part, _) in enumerate(found)]
        return replace(self, parts=tuple(placed), weights=tuple(weight for _, weight in found))

    @property
    def too_many(self) -> bool:
        """Whether there are more tables and sums than tries can tell apart, so that weights keep their ratios."""
        return len(self.apart().parts) > MOST_PARTS

    def regrouped(self) -> Allocation:
        """With the cheapest groups of sums that leave no sum with more noise than it has here.

        A sum that has the noise of weight w by itself costs w; m of them that share one cost sqrt((m + 1)(m + 2) / 6) times the
        largest of their weights (theory 9.18, one noise for many numbers). So in a cheapest division each group is a stretch of
        the sums in the order of their weights, and shorter divisions make up longer ones.
        """
        terms = list(zip(self.parts, self.weights, strict=True))
        apart = self.apart()
        alone = [(part.text, weight) for part, weight in zip(apart.parts, apart.weights, strict=True) if part.field == "sums"]
        alone.sort(key=lambda one: -one[1])
        best: list[tuple[Fraction, list[range]]] = [(Fraction(0), [])]
        for end in range(1, len(alone) + 1):
            longest = range(max(0, end - MOST_NUMBERS), end)
            last = ((best[start][0] + alone[start][1] * dearer(end - start), range(start, end)) for start in longest)
            cost, stretch = min(last, key=lambda one: one[0])
            best.append((cost, [*best[stretch.start][1], stretch]))
        kept = [(part, weight) for part, weight in terms if part.field != "sums"]
        for place, stretch in enumerate(best[-1][1]):
            part = MeasuredPart(field="sums", place=place, texts=tuple(alone[one][0] for one in stretch))
            kept.append((part, few_digits(alone[stretch.start][1] * dearer(len(stretch)))))
        return replace(self, parts=tuple(part for part, _ in kept), weights=tuple(weight for _, weight in kept))


@dataclass(frozen=True, kw_only=True)
class Divisible:
    """A specification whose budget can be allocated anew, under a total.

    Attributes
    ----------
    start : the allocation of the specification: its weights and its test.
    unmeasured : terms of weight 0.
    left : what is left for the generation, by what the test costs: plans with a curve take long to state.
    """

    spec: ReleaseSpec
    total: Fraction
    start: Allocation
    unmeasured: tuple[MeasuredPart, ...]
    left: dict[Fraction, Fraction] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, spec: ReleaseSpec, total: Fraction | None = None) -> Divisible:
        """With the total that the specification has, or another one.

        Raises
        ------
        InputError : where there is nothing to allocate, or it is not known how.
        """
        generators = spec.space.generators
        known = (Marginals, GaussianMarginals)  # and not a family that divides its budget in another way
        texts = {_settings_of(each) if isinstance(each, known) and type(each) in known else None for each in generators}
        if len(texts) > 1 or None in texts or not spec.shared_measurements or spec.joint_test is None:
            raise InputError(
                f"{spec.path}: expected what an allocation is for: generators of the family 'marginals' or "
                "'gaussian_marginals' that measure the same, "
                'measurements = "shared" and test = "joint" in [selection]; found otherwise.'
            )
        others = (*spec.plan.once, *spec.plan.per_round, *spec.plan.after)
        if not all(charge.pure for charge in others if charge.name != GENERATION):
            raise InputError(f"{spec.path}: expected pure charges beside the generation, whose epsilons add up, found others.")
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
        """Whether the generation's budget is a rho: squares of noise deviations go with its inverse."""
        return self.spec.space.generators[0].gaussian

    @property
    def power(self) -> int:
        """With which power of a part's budget the square of its noise falls."""
        return 1 if self.gaussian else 2

    @property
    def unit(self) -> str:
        """Of the generation's budget."""
        return "rho" if self.gaussian else "epsilon"

    def generation(self, allocation: Allocation) -> Fraction:
        """What is left of the total for the generation; 0 or less where the rest costs as much."""
        if allocation.test not in self.left:
            self.left[allocation.test] = self._rho_left(allocation) if self.gaussian else self._epsilon_left(allocation)
        return self.left[allocation.test]

    def _epsilon_left(self, allocation: Allocation) -> Fraction:
        rest = replace(self._tested(allocation), generation_budget=_NEXT_TO_NOTHING).plan.total.epsilon - _NEXT_TO_NOTHING
        return Fraction(math.floor((self.total - rest) * _FINEST), _FINEST)

    def _rho_left(self, allocation: Allocation) -> Fraction:
        """Within what is left if the epsilons of all else are added; more where the plan states less than that sum."""
        tested = self._tested(allocation)
        pure = [charge for charge in (*tested.plan.once, *tested.plan.per_round, *tested.plan.after) if charge.pure]
        rest = sum((charge.epsilon for charge in pure), Fraction(0))

        def costs(rho: Fraction) -> Fraction:
            return replace(tested, generation_budget=rho).plan.total.epsilon

        low = rho_within(self.total - rest, tested.delta) if self.total > rest else Fraction(0)
        while low >= Fraction(1, 1000 * _FINEST) and costs(low) > self.total:  # rounds multiply what their parts cost
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
        """The same with its weights as what each table, and each noise of sums, gets of the generation's budget."""
        share = self.generation(allocation) / allocation.whole
        return replace(allocation, weights=tuple(weight * share for weight in allocation.weights))

    def margin(self, allocation: Allocation) -> float:
        """Slack that a candidate needs to pass the joint test."""
        test = self._tested(allocation).joint_test
        return 0.0 if test is None else test.margin

    def _tested(self, allocation: Allocation) -> ReleaseSpec:
        test = self.spec.joint_test
        return self.spec if test is None else replace(self.spec, joint_test=replace(test, epsilon=allocation.test))

    def spec_with(self, allocation: Allocation) -> ReleaseSpec | None:
        """The specification with this allocation; None where the test leaves nothing for the generation."""
        generation = self.generation(allocation)
        return None if generation <= 0 else self._spec_of(allocation, generation)

    def spec_at(self, allocation: Allocation) -> ReleaseSpec:
        """The specification where each table, and each noise of sums, has its weight as its budget, whatever the total."""
        fine = 1000 * _FINEST if self.gaussian else _FINEST
        return self._spec_of(allocation, Fraction(math.ceil(allocation.whole * fine), fine))

    def _spec_of(self, allocation: Allocation, generation: Fraction) -> ReleaseSpec:
        texts = {name: text for name in FIELDS if (text := self.written(allocation, name))}
        generators = tuple(type(each).model_validate(each.model_dump() | texts) for each in self.spec.space.generators)
        space = replace(self.spec.space, generators=generators)
        return replace(self._tested(allocation), space=space, generation_budget=generation)

    def written(self, allocation: Allocation, name: Field) -> str:
        """One of the settings with its weights, about thousandths of the budget; empty where it is not set."""
        weighted = list(zip(allocation.parts, allocation.weights, strict=True))
        thousandths = self.generation(allocation) * 1000 / allocation.whole
        terms = [(part, few_digits(weight * thousandths)) for part, weight in weighted]
        terms += [(part, Fraction(0)) for part in self.unmeasured]
        terms = sorted((one for one in terms if one[0].field == name), key=lambda one: one[0].place)
        return "\n+ ".join(f"{decimal_text(weight)} {part.text}" for part, weight in terms)


def with_delta(spec: ReleaseSpec, delta: Fraction) -> ReleaseSpec:
    """The specification with Gaussian noise on the same tables, at a delta. Its generation budget is a rho then, and any.

    Raises
    ------
    InputError : where a generator measures something that Gaussian noise is not made for.
    """
    generators = spec.space.generators
    if not all(type(each) in (Marginals, GaussianMarginals) and not getattr(each, "sums", None) for each in generators):
        raise InputError(f"{spec.path}: expected, with --delta, generators that measure tables alone; found others, or sums.")
    settings = GaussianMarginals.model_fields.keys() - {"family"}
    gaussian = tuple(GaussianMarginals.model_validate(each.model_dump(include=settings)) for each in generators)
    return replace(spec, space=replace(spec.space, generators=gaussian), generation_budget=_ANY_RHO, delta=delta)


def _terms(spec: ReleaseSpec, generator: object) -> Iterator[tuple[MeasuredPart, Fraction]]:
    """Every term, with its weight."""
    layout = spec.space.common.layout
    for name in FIELDS:
        formula = str(getattr(generator, name, None) or "")
        for place, term in enumerate(terms_of(formula) if formula else ()):
            match = _TERM.fullmatch(term)
            if match is None:
                continue
            text = " ".join(match["rest"].split())
            number = 1 if name == "sums" else len(list(Marginals(tables=text).terms[0].sets(layout)))
            texts = tuple(each.strip() for each in terms_of(text.strip("{} "))) if name == "sums" else (text,)
            yield MeasuredPart(field=name, place=place, texts=texts, number=number), Fraction(match["weight"] or 1)


def _settings_of(generator: MarginalsGenerator) -> tuple[object, ...]:
    """What it measures: of which kind the noise is, and the settings."""
    return (type(generator), *(getattr(generator, name, None) for name in FIELDS))


def dearer(size: int) -> Fraction:
    """How many times what one sum costs so many cost that share a noise, at the same noise for each."""
    return Fraction(math.sqrt((size + 1) * (size + 2) / 6))


def few_digits(value: Fraction) -> Fraction:
    """Rounded to a few significant digits; above 0."""
    return Fraction(f"{float(value):.{_DIGITS - 1}e}")
