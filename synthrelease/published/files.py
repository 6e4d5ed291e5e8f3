"""release.json as pydantic models. What is not needed here is ignored: later formats may say more."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synthrelease.accounting.charges import Charge
from synthrelease.accounting.guarantee import Guarantee
from synthrelease.accounting.renyi import RenyiCurve
from synthrelease.criteria import Score
from synthrelease.errors import InputError
from synthrelease.toml.reading import dotted

Model = TypeVar("Model", bound=BaseModel)


class DocumentTable(BaseModel):
    """Base of everything in release.json."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class CostTable(DocumentTable):
    epsilon: Fraction = Field(alias="epsilon_exact", ge=0)
    delta: Fraction = Field(alias="delta_exact", default=Fraction(0), ge=0, lt=1)


class GuaranteeTable(CostTable):
    neighbours: str
    unit: str
    invariants: tuple[str, ...] = ()

    def guarantee(self) -> Guarantee:
        return Guarantee(**dict(self))


class CurveTable(DocumentTable):
    rho: Fraction = Field(ge=0)
    constant: Fraction = Field(ge=0)
    log_mean: Fraction = Field(ge=0)


class ChargeTable(CostTable):
    name: str
    rule: str
    because: str
    renyi: CurveTable | None = None
    parts: tuple[ChargeTable, ...] = ()

    def charge(self) -> Charge:
        return Charge(
            name=self.name,
            rule=self.rule,
            epsilon=self.epsilon,
            delta=self.delta,
            because=self.because,
            renyi=None if self.renyi is None else RenyiCurve(**dict(self.renyi)),
            parts=tuple(part.charge() for part in self.parts),
        )


class ScoreTable(DocumentTable):
    name: str
    kind: str
    threshold: float = Field(allow_inf_nan=False)
    value: float = Field(allow_inf_nan=False)
    epsilon: Fraction = Field(alias="epsilon_exact", ge=0)
    mechanism: str
    sensitivity: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    noise_sd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    noise_bound: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    passed: bool
    decides: bool
    parameters: dict[str, Any]

    def score(self) -> Score:
        return Score(**{name: value for name, value in dict(self).items() if name != "parameters"})


class BinTable(DocumentTable):
    label: str
    lower: float | None = Field(default=None, alias="from")
    below: float | None = None
    number: float | None = None
    categories: tuple[str, ...] = ()

    def holds(self, other: BinTable) -> bool:
        """Whether all of another bin of the column lies in this one."""
        if self.categories or other.categories:
            return set(other.categories) <= set(self.categories)
        low, high = (-math.inf if self.lower is None else self.lower), (math.inf if self.below is None else self.below)
        return (
            low <= (-math.inf if other.lower is None else other.lower)
            and (math.inf if other.below is None else other.below) <= high
        )


class PublishedColumnTable(DocumentTable):
    name: str
    kind: str
    description: str = ""
    unit: str = ""
    ordered: bool
    bins: tuple[BinTable, ...] = Field(min_length=1)


class RuleTable(DocumentTable):
    never: str
    applies_to: tuple[str, ...]


class DocumentFile(DocumentTable):
    """release.json"""

    format: int = Field(ge=2)
    title: str
    description: str = ""
    guarantee: GuaranteeTable
    charges: ChargeTable
    criteria: tuple[ScoreTable, ...]
    groups: dict[str, tuple[BinTable, ...]] = Field(default_factory=dict)
    configuration: dict[str, Any]
    columns: tuple[PublishedColumnTable, ...] = Field(alias="schema", min_length=1)
    rules: tuple[RuleTable, ...] = ()
    n_rows: int = Field(ge=1)


def read_as(model: type[Model], value: object, where: str) -> Model:
    """The model of a table of release.json.

    Raises
    ------
    InputError : for the first thing that is not as expected, with its place.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    raise InputError(
        f"{where}: {dotted(first['loc']) or 'the whole'}: expected what `synthrelease release` writes; {first['msg'].lower()}."
    )
