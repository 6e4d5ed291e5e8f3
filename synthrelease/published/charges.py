"""Define the sections of release.json about the guarantee: its domain, the charges, the criteria and the selection.

Every epsilon is written twice: as a number that is rounded up, and as a string with the exact fraction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, Field, model_validator

from synthrelease.errors import BudgetError
from synthrelease.privacy.charges import REPLACING, SHORTFALL, Charge, RowsRule, Way
from synthrelease.privacy.curves import RenyiCurve
from synthrelease.privacy.plan import Guarantee
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.published.base import ExactText, Fact, Number, Part, number, upwards

if TYPE_CHECKING:
    from synthrelease.criteria.base import Criterion
    from synthrelease.criteria.facts import OneNoise, Score


def in_both(loss: Guarantee | Charge) -> dict[str, Any]:
    """Return epsilon and delta of a guarantee or charge as fields of release.json: rounded up, and as exact fractions."""
    values = {"epsilon": loss.epsilon, "delta": loss.delta}
    exact = {f"{name}_exact": str(value) for name, value in values.items()}
    return exact | {name: upwards(value) for name, value in values.items()}


class PersonPart(Part):
    """The guarantee for a person with at most `records` records.

    Attributes
    ----------
    unit : what one record is, such as "hospital stay".
    why : the steward's reason for the number `records`.
    epsilon_exact, delta_exact : the privacy loss of a person, or null if the release promises nothing to a person.
    """

    unit: str
    records: int
    why: str
    epsilon_exact: ExactText | None
    delta_exact: ExactText | None

    @classmethod
    def of(cls, guarantee: Guarantee) -> PersonPart:
        loss = guarantee.of_a_person
        return cls(
            unit=guarantee.unit_name,
            records=guarantee.records_per_person,
            why=guarantee.why,
            epsilon_exact=None if loss is None else str(loss.epsilon),
            delta_exact=None if loss is None else str(loss.delta),
        )


class GuaranteePart(Part):
    """The guarantee, with all facts that are needed to state it (theory 10, statement of the guarantee).

    Attributes
    ----------
    neighbours, unit : how two neighbouring files differ, and what epsilon and delta are for, such as "one record".
    invariants : the facts that are published exactly, in words.
    person : the guarantee for a person, which follows from the guarantee for one record.
    """

    epsilon: Number
    epsilon_exact: ExactText
    delta: Number
    delta_exact: ExactText
    neighbours: str
    unit: str
    invariants: list[str]
    person: PersonPart

    @classmethod
    def of(cls, guarantee: Guarantee) -> GuaranteePart:
        return cls.like(guarantee, **in_both(guarantee), person=PersonPart.of(guarantee))

    def guarantee(self) -> Guarantee:
        person = self.person
        return self.value_of(Guarantee, unit_name=person.unit, records_per_person=person.records, why=person.why)


class DomainPart(Part):
    """The files to which the guarantee applies, and the public rules for the rows of these files (theory 1.7, resizing).

    The bounds of columns, the treatment of missing and outside values, and the rules for private rows determine it, too.

    Attributes
    ----------
    way : how the number of used rows was determined: "whole", "counted", "stated" or "exact" (`privacy.charges.RowsRule`).
        In the file, this field is "rows".
    file_rows : number of rows in the private file, or None if the number of rows that the rules keep is published
        ("exact").
    margin, shortfall : for a counted number, the margin subtracted from the noisy count, and a bound on the probability
        that the result exceeds the number of rows that the rules keep, so that public rows complete the table.
    missing_values : the strings that count as missing values.
    persons : number of different keys in the private file, if a key identifies persons. `file_rows` is then `persons` times
        the largest number of rows of a person; the number of rows in the file is not published.
    first_by : with `persons`, the columns that order a person's rows, or "random". None in earlier versions, which ordered
        rows by released values.
    missing_keys : with `persons`, the strings in the key column that mean "no key".
    """

    way: Way = Field(validation_alias=AliasChoices("rows", "way"), serialization_alias="rows")
    file_rows: int | None
    margin: int | None
    shortfall: ExactText | None
    missing_values: list[str]
    persons: int | None = None
    first_by: list[str] | Literal["random"] | None = None
    missing_keys: list[str] = []

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        return () if self.persons is None else (("private_file", "domain.persons"),)

    @classmethod
    def of(
        cls,
        rule: RowsRule,
        file_rows: int | None,
        missing_values: tuple[str, ...],
        persons: int | None = None,
        first_by: list[str] | Literal["random"] | None = None,
        missing_keys: tuple[str, ...] = (),
    ) -> DomainPart:
        counted = rule.way == "counted"
        return cls(
            way=rule.way,
            file_rows=file_rows,
            margin=rule.margin if counted else None,
            shortfall=str(SHORTFALL) if counted else None,
            missing_values=list(missing_values),
            persons=persons,
            first_by=first_by,
            missing_keys=list(missing_keys),
        )


class CurvePart(Part):
    """The privacy loss of a mechanism as a curve: rho a + constant + log_mean / (a - 1) bounds the Renyi divergence for
    every order a > 1.
    """

    rho: ExactText
    constant: ExactText
    log_mean: ExactText

    @classmethod
    def of(cls, curve: RenyiCurve) -> CurvePart:
        return cls.like(curve)

    def curve(self) -> RenyiCurve:
        return self.value_of(RenyiCurve)


class ChargePart(Part):
    """A node of the charge tree. `rule` names how its privacy cost is composed from the costs of its parts.

    `reason` is the steward's reason for the charge. `renyi` is present if the cost is a curve. Epsilon and delta of this
    node are then 0, and a node above it states epsilon and delta. `gaussian` is present if the mechanism has the curve rho
    a and is also mu-Gaussian, with rho = mu^2 / 2.
    """

    name: str
    rule: str
    epsilon: Number
    epsilon_exact: ExactText
    delta: Number
    delta_exact: ExactText
    because: str
    reason: str = ""
    renyi: CurvePart | None = None
    gaussian: bool = False
    parts: list[ChargePart] = []

    @classmethod
    def of(cls, charge: Charge) -> ChargePart:
        renyi = None if charge.renyi is None else CurvePart.of(charge.renyi)
        return cls.like(charge, **in_both(charge), renyi=renyi, parts=[cls.of(part) for part in charge.parts])

    def charge(self) -> Charge:
        """Convert this node and all nodes below it to a tree of charges, without checking the stated costs.

        Raises
        ------
        BudgetError : if delta is 1 or more, or if a node states both a curve and an epsilon.
        """
        curve = None if self.renyi is None else self.renyi.curve()
        return self.value_of(Charge, renyi=curve, parts=tuple(part.charge() for part in self.parts))

    @property
    def rules(self) -> set[str]:
        return {node.rule for node in self.nodes()}

    def nodes(self) -> Iterator[ChargePart]:
        yield self
        for part in self.parts:
            yield from part.nodes()

    def planned(self) -> Iterator[ChargePart]:
        """Yield the charges of the single steps planned before the run, without the more detailed charges that libraries
        report.
        """
        if not self.parts or self.rule == REPLACING:
            yield self
            return
        for part in self.parts:
            yield from part.planned()

    def leaves(self) -> Iterator[ChargePart]:
        """Return the charges of the individual mechanisms below this charge, or this charge itself if it has no parts."""
        return (node for node in self.nodes() if not node.parts)


# A criterion in release.json: the threshold, the released value, and an interval for the exact value.

MOST_SHARING = 100
"""Largest number of criterion values that share one noise vector. It equals `generators.measured_noise.MOST_NUMBERS`, and is
repeated here so that readers need not load that module.
"""

How = Literal["noise and selection", "noise", "redrawn noise", "measurements", "exact"]


class IntervalPart(Part):
    """An interval for the exact (noiseless) criterion value on the rows that the release used. `high` is null if there is
    no upper bound.

    Attributes
    ----------
    file_high : a 95% upper limit on the criterion value for all rows of the file that the rules keep, if the used rows were
        drawn from them. Absent if no rows were drawn (`high` then holds for the file), or if there is no limit.
    """

    level: Number
    low: Number
    high: Number | None
    how: How
    file_high: Number | None = None


class OneNoisePart(Part):
    """The number of criterion values that share one vector of noise, and the total cost of the vector."""

    figures: Annotated[int, Field(ge=2, le=MOST_SHARING)]
    epsilon_exact: Annotated[ExactText, Field(pattern="^[^0]")]

    @classmethod
    def of(cls, noise: OneNoise) -> OneNoisePart:
        return cls.like(noise)

    def noise(self) -> OneNoise:
        from synthrelease.criteria.facts import OneNoise

        return self.value_of(OneNoise)


class CriterionPart(Part):
    """A criterion with its threshold and the released value.

    Attributes
    ----------
    best, worst : the range of possible exact criterion values. `worst` is null if there is no bound.
    decides : whether this noisy criterion value was compared with its threshold to accept or reject the round.
    parameters : all other settings of the criterion in the acceptance file.
    one_noise : the noise that this criterion value shares with others, or absent. `epsilon` is then this criterion's share
        of the cost.
    """

    name: str
    kind: str
    threshold: Number
    value: Number
    epsilon: Number
    epsilon_exact: ExactText
    mechanism: str
    sensitivity: Annotated[Number, Field(gt=0)] | None
    noise_sd: Annotated[Number, Field(ge=0)] | None
    noise_bound: Annotated[Number, Field(ge=0)] | None
    passed: bool
    decides: bool
    best: Number
    worst: Number | None
    interval: IntervalPart | None
    parameters: dict[str, Any]
    one_noise: OneNoisePart | None = None

    @property
    def noise(self) -> OneNoise | None:
        return None if self.one_noise is None else self.one_noise.noise()

    @property
    def answered(self) -> bool:
        """Whether the published noisy measurements give `value`, at no further epsilon. `value` is then an upper bound on
        the exact value.
        """
        return self.parameters.get("answered_by") == "measurements"

    def criterion(self) -> Criterion | None:
        """Return an object that can evaluate this criterion, or None if no installed package defines its kind.

        Raises
        ------
        ValueError : for parameters that the kind does not accept.
        """
        return self._criterion

    @cached_property
    def _criterion(self) -> Criterion | None:
        from synthrelease.criteria import published_criterion

        return published_criterion(
            self.kind, name=self.name, threshold=self.threshold, epsilon=self.epsilon_exact, parameters=self.parameters
        )

    @classmethod
    def of(cls, score: Score, figure_range: tuple[float, float], parameters: dict[str, Any]) -> CriterionPart:
        """Convert the released value of a criterion to a section of release.json. `bundle.limits` fills in its interval
        later.
        """
        best, worst = figure_range
        return cls.like(
            score,
            threshold=number(score.threshold),
            value=number(score.value),
            epsilon=upwards(score.epsilon),
            best=number(best),
            worst=number(worst) if math.isfinite(worst) else None,
            interval=None,
            parameters=parameters,
            one_noise=None if score.one_noise is None else OneNoisePart.of(score.one_noise),
        )

    def score(self) -> Score:
        from synthrelease.criteria.facts import Score

        return self.value_of(Score, one_noise=self.noise)


# The selection in release.json. The selection states how rounds were repeated, and how each round was judged.


class JointTestPart(Part):
    """The noisy test that accepted or rejected a round, that is, one attempt to make a table.

    The slack of a criterion is how far its value lies below its threshold, in units of the sensitivity. A round was
    accepted if the smallest slack, plus noise, was at least `margin`. `false_acceptance` bounds the probability that a
    round passes with a criterion above its threshold.
    """

    epsilon_exact: ExactText
    false_acceptance: ExactText
    margin: Number


class BoundsPart(Part):
    """The probability (`risk_exact`) that at least one bound on a criterion value is too low.

    Such bounds are computed from published noisy measurements. The probability is divided evenly among the possible
    `transformations`, and then among the sums that the bounds of each use.
    """

    risk_exact: ExactText
    transformations: Annotated[int, Field(ge=1)]


class SelectionPart(Part):
    """How the released table was selected. A round is one attempt to make a table.

    `configurations` is the number of possible settings of bins, generator and projection. `joint_test` is null if each
    criterion value was compared with its own threshold. `shape` belongs to a truncated negative binomial number of rounds.
    `rounds` lists the probabilities of a distribution with finitely many values; only then is `stop_probability` null.
    `bounds` is absent if measurements answer no criterion.
    """

    configurations: int
    stop_probability: ExactText | None
    shape: ExactText | None
    shared_measurements: bool
    joint_test: JointTestPart | None
    rounds: dict[str, ExactText] | None = None
    bounds: BoundsPart | None = None

    @model_validator(mode="after")
    def _one_law(self) -> SelectionPart:
        try:
            _ = self.rule.law
        except BudgetError as error:
            problem = str(error)
        else:
            return self
        raise ValueError(problem)

    @property
    def rule(self) -> SelectionRule:
        """The rule that determines the number of rounds.

        Raises
        ------
        ValueError : if this section does not state exactly one valid distribution.
        """
        if (self.rounds is None) != (self.stop_probability is not None) or (self.rounds is not None and self.shape is not None):
            raise ValueError("the number of rounds must have exactly one distribution")
        if self.rounds is not None:
            return SelectionRule(rounds=FiniteLaw.of({int(k): Fraction(share) for k, share in self.rounds.items()}))
        shape = None if self.shape is None else Fraction(self.shape)
        return SelectionRule(stop_probability=Fraction(self.stop_probability or 0), shape=shape)

    @property
    def measured_times(self) -> float:
        """An upper bound on the expected number of measurements before a release.

        It is 1 if all rounds share the measurements, otherwise the mean number of rounds, or infinity.
        """
        if self.shared_measurements:
            return 1.0
        law = self.rule.law
        return math.inf if law is None else law.mean
