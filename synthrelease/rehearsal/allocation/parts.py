"""What a budget is allocated to: the measured terms of a `marginals` generator, and the joint test; and how it is written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from synthrelease.accounting.charges import decimal_text
from synthrelease.candidates.generators.marginals import Marginals
from synthrelease.errors import InputError
from synthrelease.specification.release_spec import ReleaseSpec

Field = Literal["tables", "only_measured", "sums"]
FIELDS: tuple[Field, ...] = ("tables", "only_measured", "sums")

_TERM = re.compile(r"\s*(?:(?P<weight>[0-9]+(?:\.[0-9]+)?)\s+)?(?P<rest>\S.*?)\s*", re.DOTALL)
_NEXT_TO_NOTHING = Fraction(1, 10**9)
_DIGITS = 3
"""Significant digits of a weight and of the test's epsilon."""

_FINEST = 10**6
"""The generation budget is a multiple of one over this."""


@dataclass(frozen=True, kw_only=True)
class MeasuredPart:
    """One term that is measured: its setting, its place there, what is written after its weight, and how many tables it is."""

    field: Field
    place: int
    text: str
    number: int


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """How a total is shared out.

    Attributes
    ----------
    weights : per part, above 0; only their ratios count.
    test : epsilon of a joint test. The generation budget is what is left of the total.
    """

    weights: tuple[Fraction, ...]
    test: Fraction

    def moved(self, factors: Sequence[float], test: float) -> Allocation:
        """With each weight, and the test's epsilon, times a factor above 0."""
        weights = tuple(_few_digits(weight * Fraction(factor)) for weight, factor in zip(self.weights, factors, strict=True))
        return Allocation(weights=weights, test=_few_digits(self.test * Fraction(test)))


@dataclass(frozen=True, kw_only=True)
class Divisible:
    """A specification whose budget can be allocated anew, under a total.

    Attributes
    ----------
    parts : the terms with a weight above 0.
    """

    spec: ReleaseSpec
    total: Fraction
    parts: tuple[MeasuredPart, ...]

    @classmethod
    def of(cls, spec: ReleaseSpec, total: Fraction | None = None) -> Divisible:
        """With the total that the specification has, or another one.

        Raises
        ------
        InputError : where there is nothing to allocate, or it is not known how.
        """
        generators = spec.space.generators
        texts = {tuple(getattr(each, name) for name in FIELDS) if isinstance(each, Marginals) else None for each in generators}
        if len(texts) > 1 or None in texts or not spec.shared_measurements or spec.joint_test is None:
            raise InputError(
                f"{spec.path}: expected what an allocation is for: generators of the family 'marginals' that measure the same, "
                f'measurements = "shared" and test = "joint" in [selection]; found otherwise.'
            )
        if not all(charge.pure for charge in (*spec.plan.once, *spec.plan.per_round, *spec.plan.after)):
            raise InputError(f"{spec.path}: expected pure charges, whose epsilons add up, found others.")
        return cls(spec=spec, total=total or spec.plan.total.epsilon, parts=tuple(_parts(spec, generators[0])))

    @property
    def start(self) -> Allocation:
        """The allocation of the specification: its weights and its test."""
        terms = {(name, place): weight for name in FIELDS for place, weight, _ in _terms(self._text(name))}
        test = Fraction(0) if self.spec.joint_test is None else self.spec.joint_test.epsilon
        return Allocation(weights=tuple(terms[part.field, part.place] for part in self.parts), test=test)

    def _text(self, name: Field) -> str:
        return str(getattr(self.spec.space.generators[0], name) or "")

    def generation(self, allocation: Allocation) -> Fraction:
        """What is left of the total for the generation; 0 or less where the rest costs as much."""
        rest = replace(self._tested(allocation), generation_budget=_NEXT_TO_NOTHING).plan.total.epsilon - _NEXT_TO_NOTHING
        return Fraction(math.floor((self.total - rest) * _FINEST), _FINEST)

    def _tested(self, allocation: Allocation) -> ReleaseSpec:
        test = self.spec.joint_test
        return self.spec if test is None else replace(self.spec, joint_test=replace(test, epsilon=allocation.test))

    def spec_with(self, allocation: Allocation) -> ReleaseSpec | None:
        """The specification with this allocation; None where the test leaves nothing for the generation."""
        generation = self.generation(allocation)
        if generation <= 0:
            return None
        texts = {name: text for name in FIELDS if (text := self.written(allocation, name))}
        generators = tuple(type(each).model_validate(each.model_dump() | texts) for each in self.spec.space.generators)
        space = replace(self.spec.space, generators=generators)
        return replace(self._tested(allocation), space=space, generation_budget=generation)

    def written(self, allocation: Allocation, name: Field) -> str:
        """One of the settings with the weights of this allocation, about thousandths of epsilon; empty where it is not set."""
        thousandths = (
            self.generation(allocation)
            * 1000
            / sum((weight * part.number for part, weight in zip(self.parts, allocation.weights, strict=True)), Fraction(0))
        )
        new = {
            part.place: _few_digits(weight * thousandths)
            for part, weight in zip(self.parts, allocation.weights, strict=True)
            if part.field == name
        }
        terms = [f"{decimal_text(new.get(place, Fraction(0)))} {rest}" for place, _, rest in _terms(self._text(name))]
        return "\n+ ".join(terms)


def _parts(spec: ReleaseSpec, generator: object) -> Iterator[MeasuredPart]:
    layout = spec.space.common.layout
    for name in FIELDS:
        for place, weight, rest in _terms(str(getattr(generator, name) or "")):
            if weight:
                number = 1 if name == "sums" else len(list(Marginals(tables=rest).terms[0].sets(layout)))
                yield MeasuredPart(field=name, place=place, text=" ".join(rest.split()), number=number)


def _terms(formula: str) -> Iterator[tuple[int, Fraction, str]]:
    """Place, weight and the rest of every term of a formula."""
    for place, term in enumerate(formula.split("+") if formula else ()):
        match = _TERM.fullmatch(term)
        if match is not None:
            yield place, Fraction(match["weight"] or 1), match["rest"]


def _few_digits(value: Fraction) -> Fraction:
    """Rounded to a few significant digits; above 0."""
    return Fraction(f"{float(value):.{_DIGITS - 1}e}")
