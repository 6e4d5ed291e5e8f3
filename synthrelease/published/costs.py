"""The guarantee, its domain and the charges in release.json; each part made of the value it stands for, and that value again.

Every epsilon stands there twice: as a number, rounded up, and as an exact fraction in a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from pydantic import AliasChoices, Field

from synthrelease.privacy.charges import REPLACING, SHORTFALL, Charge, RowsRule, Way
from synthrelease.privacy.curves import RenyiCurve
from synthrelease.privacy.plan import Guarantee
from synthrelease.published.parts import ExactText, Fact, Number, Part, upwards


class PersonPart(Part):
    """What a person is promised who stands in several records: `records` of them at most, each a `unit`.

    `epsilon` and `delta` are null where nothing is promised.
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
    """The guarantee by its building blocks (theory 10, statement of the guarantee)."""

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
        return cls(
            epsilon=upwards(guarantee.epsilon),
            epsilon_exact=str(guarantee.epsilon),
            delta=upwards(guarantee.delta),
            delta_exact=str(guarantee.delta),
            neighbours=guarantee.neighbours,
            unit=guarantee.unit,
            invariants=list(guarantee.invariants),
            person=PersonPart.of(guarantee),
        )

    def guarantee(self) -> Guarantee:
        """The guarantee as it is stated; what a person is promised follows from it."""
        return Guarantee(
            epsilon=Fraction(self.epsilon_exact),
            delta=Fraction(self.delta_exact),
            neighbours=self.neighbours,
            unit=self.unit,
            invariants=tuple(self.invariants),
            unit_name=self.person.unit,
            records_per_person=self.person.records,
            why=self.person.why,
        )


class DomainPart(Part):
    """Which files the guarantee is about: what the public rules did with their rows (theory 1.7, resizing).

    With the columns' `bounds`, `missing` and `outside`, and the rules for raw rows, the domain can be written down from here.

    Attributes
    ----------
    way : where the number of rows comes from that the release works with: "whole", "counted", "stated" or "exact"
        (`accounting.rows.RowsRule`); "rows" in the file.
    file_rows : the rows of the private file; None where the number of kept rows is published instead ("exact").
    margin, shortfall : of a counted number: what was taken off the noisy count, and the probability with which it may
        nevertheless lie above the number of kept rows; public rows then filled up.
    missing_values : the texts that count as missing.
    persons : of the private file, where a key tells their rows: how many different keys it has. `file_rows` is then the most
        records that they can have, so many times `records` of the guarantee's person: how many rows the file has is not told.
    """

    way: Way = Field(validation_alias=AliasChoices("rows", "way"), serialization_alias="rows")
    file_rows: int | None
    margin: int | None
    shortfall: ExactText | None
    missing_values: list[str]
    persons: int | None = None

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """The number of persons, where a key tells their rows."""
        return () if self.persons is None else (("private_file", "domain.persons"),)

    @classmethod
    def of(
        cls, rule: RowsRule, file_rows: int | None, missing_values: tuple[str, ...], persons: int | None = None
    ) -> DomainPart:
        counted = rule.way == "counted"
        return cls(
            way=rule.way,
            file_rows=file_rows,
            margin=rule.margin if counted else None,
            shortfall=str(SHORTFALL) if counted else None,
            missing_values=list(missing_values),
            persons=persons,
        )


class CurvePart(Part):
    """A Renyi divergence of order a of at most rho a + constant + log_mean / (a - 1), for every a > 1."""

    rho: ExactText
    constant: ExactText
    log_mean: ExactText

    @classmethod
    def of(cls, curve: RenyiCurve) -> CurvePart:
        return cls(rho=str(curve.rho), constant=str(curve.constant), log_mean=str(curve.log_mean))

    def curve(self) -> RenyiCurve:
        return RenyiCurve(rho=Fraction(self.rho), constant=Fraction(self.constant), log_mean=Fraction(self.log_mean))


class ChargePart(Part):
    """A node of the charge tree; `rule` says how it follows from its parts.

    `reason` is what the steward says about it. `renyi` is there where the node is a curve: epsilon and delta are then 0, and a
    node above it states both. `gaussian` is there where a mechanism with the curve rho a is also mu-Gaussian, rho = mu^2 / 2.
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
        return cls(
            name=charge.name,
            rule=charge.rule,
            epsilon=upwards(charge.epsilon),
            epsilon_exact=str(charge.epsilon),
            delta=upwards(charge.delta),
            delta_exact=str(charge.delta),
            because=charge.because,
            reason=charge.reason,
            renyi=None if charge.renyi is None else CurvePart.of(charge.renyi),
            gaussian=charge.gaussian,
            parts=[cls.of(part) for part in charge.parts],
        )

    def charge(self) -> Charge:
        """The node as it is stated, whether it follows from its parts or not.

        Raises
        ------
        BudgetError : for a delta of 1 or more, or a node that is stated both as a curve and as an epsilon.
        """
        return Charge(
            name=self.name,
            rule=self.rule,
            epsilon=Fraction(self.epsilon_exact),
            delta=Fraction(self.delta_exact),
            because=self.because,
            reason=self.reason,
            renyi=None if self.renyi is None else self.renyi.curve(),
            gaussian=self.gaussian,
            parts=tuple(part.charge() for part in self.parts),
        )

    @property
    def rules(self) -> set[str]:
        """The rules of this node and of all below it."""
        return {node.rule for node in self.nodes()}

    def nodes(self) -> Iterator[ChargePart]:
        """This node and all below it."""
        yield self
        for part in self.parts:
            yield from part.nodes()

    def planned(self) -> Iterator[ChargePart]:
        """The charges that a release planned: a library's own statement below one is none."""
        if not self.parts or self.rule == REPLACING:
            yield self
            return
        for part in self.parts:
            yield from part.planned()

    def leaves(self) -> Iterator[ChargePart]:
        """The single mechanisms below this node (the node itself when it has no parts)."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()
