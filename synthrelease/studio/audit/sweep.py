"""Define sweeps: a criterion in a tiny world (`tiny`) in which every table and every neighbour can be enumerated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.functional import LinearModel
from synthrelease.data.linked import Linked, slot_name
from synthrelease.studio.audit.tiny import FROM_0, Coding, World

WIDE = {"a": 1, "b": 2}
TALL = {"a": 2, "b": 1}
FLAT = {"a": 5}
SMALL = {"a": 1, "b": 1}
"""The columns of a world with their highest whole number; the lowest is 0."""
HALVES = {"b": ["0", "1-2"]}
"""Table [groups] of the made-up tables with the columns `WIDE`."""

CODINGS = {
    "7 more": Coding(lowest=7),
    "7 less": Coding(lowest=-7),
    "3 apart": Coding(lowest=4, step=3),
    "categories": Coding(lowest=18, step=5, categories=True),
}
"""Codings of worlds whose lowest number is not 0."""
MOVED_RECORDS = 2
"""Number of records of the tables in these worlds."""

Table = tuple[int, ...]
"""A table, given by the codes of the cells of its records."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One criterion (or joint test) to compute on all tables of a tiny world, to see whether its sensitivity is right.

    Attributes
    ----------
    highs, groups, missing : as for the `World`, like `linked` and `coding`.
    criteria : the last criterion is enumerated and may refer to earlier ones; with `joint`, the least slack of all is.
    fitted : the private regression line, for a criterion that uses one. It is public when the criterion is scored.
    tight : whether some triple of tables (`enumeration`) is claimed to reach the bound on the sensitivity.
    most : the largest number of records in a table, for a world that is larger than usual.
    """

    name: str
    highs: Mapping[str, int]
    criteria: tuple[Criterion, ...]
    groups: Mapping[str, list[str]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    fitted: LinearModel | None = None
    tight: bool = True
    attained: int = 2
    joint: bool = False
    linked: Linked | None = None
    most: int | None = None
    coding: Coding = FROM_0

    @property
    def world(self) -> World:
        return World(self.highs, self.groups, self.missing, self.linked, self.coding)

    def moved(self) -> Iterator[Sweep]:
        """Yield the same check in worlds with other numbers than 0, 1, ... and with fewer records, where possible.

        If the lowest number is 0, a sum of numbers changes by at most the highest minus the lowest, and noise that covers
        only this difference looks sufficient.
        """
        for words, coding in CODINGS.items():
            world = World(self.highs, self.groups, self.missing, self.linked, coding)
            criteria = tuple(recoded(criterion, world) for criterion in self.criteria)
            setting, by_name = world.setting(*criteria), {criterion.name: criterion for criterion in criteria}
            if any(mistake for criterion in criteria for mistake in criterion.mistakes(setting, by_name)):
                continue
            line = self.fitted
            if line is not None:  # the line passes through the same points of a and b
                first, slope = coding.number(0), line.coefficients
                line = LinearModel(intercept=coding.step * line.intercept + first - float(slope[0]) * first, coefficients=slope)
            yield replace(
                self,
                name=f"{self.name}, {words}",
                criteria=criteria,
                fitted=line,
                most=MOVED_RECORDS if self.linked is None else 1,
                tight=self.tight and self.attained <= MOVED_RECORDS and self.linked is None,
                coding=coding,
            )

    @property
    def kind(self) -> str:
        return "joint test" if self.joint else self.criteria[-1].kind

    @property
    def asked(self) -> tuple[Criterion, ...]:
        if not self.joint:
            return self.criteria[-1:]
        return tuple(criterion for criterion in self.criteria if criterion.figure_gets_noise)


@dataclass(frozen=True, kw_only=True)
class Households:
    """A tiny world of linked tables: roots, such as households, with `least` to `most` members, such as persons.

    Attributes
    ----------
    members, roots : columns of members and of roots, with their highest whole number. The lowest is 0.
    lacking : columns of members in which a value may be missing.
    """

    members: Mapping[str, int]
    most: int
    least: int = 0
    roots: Mapping[str, int] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()

    def sweep(
        self, kind: str, name: str, of: str, settings: Mapping[str, object], *, tight: bool = True, attained: int = 1
    ) -> Sweep:
        """Return a check of a criterion about members (with `of = ""`, about roots), in which every root is replaced in
        turn.
        """
        slots = range(1, self.most + 1)
        in_slots = {slot_name(column, slot): high for slot in slots for column, high in self.members.items()}
        return Sweep(
            name=f"{kind.replace('_', ' ')} of {name}, roots of {self.least} to {self.most}",
            highs={**self.roots, "n": self.most - self.least, **in_slots},
            criteria=(criterion(kind, **({"of": of} if of else {}), **settings),),
            missing=tuple(in_slots),
            tight=tight,
            attained=attained,
            linked=Linked(
                key="k",
                size="n",
                names=tuple(self.members),
                slots=tuple(tuple(slot_name(column, slot) for column in self.members) for slot in slots),
                whole=frozenset(self.members) - set(self.lacking),
                least=self.least,
            ),
            most=2,
        )


def criterion(kind: str, **fields: object) -> Criterion:
    return CRITERIA[kind].model_validate({"name": kind, "kind": kind, "threshold": 1.5, "epsilon": 1, **fields})


def recoded(judged: Criterion, world: World) -> Criterion:
    """Translate the range and the bins of a criterion from the numbers 0, 1, ... to the numbers of another world."""
    column = str(getattr(judged, "column", getattr(judged, "target", "b")))
    coding, settings = world.coding(column), judged.model_dump(exclude_unset=True)
    for name in {"bins", "positive"} & settings.keys():
        settings[name] = [world.label(column, text) for text in settings[name]]
    number = settings.get("number")
    if (ends := settings.get("range")) and number != "agreement" and not (number == "sum" and settings.get("bins")):
        settings["range"] = [coding.number(0) + coding.step * end for end in ends]
    if coding.step > 1 and "values" in type(judged).model_fields:
        settings["values"] = "bins"  # a bin of several numbers has one representative value
    return type(judged).model_validate(settings)


def sweep(
    kind: str,
    name: str,
    highs: Mapping[str, int],
    settings: Mapping[str, object],
    *,
    before: tuple[Criterion, ...] = (),
    **more: Any,
) -> Sweep:
    """Return a check of one kind of criterion, from its settings as in an acceptance file."""
    return Sweep(name=name, highs=highs, criteria=(*before, criterion(kind, **settings)), **more)
