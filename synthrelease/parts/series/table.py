"""The table [series]: earlier releases of the same register, a plan over years, and the release that an erratum replaces."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from synthrelease.privacy.plan import MOST_YEARS, Horizon
from synthrelease.settings.base import Line, Reason, SpecTable

Positive = Annotated[Fraction, Field(gt=0)]


class SeriesTable(SpecTable):
    """[series]: which releases of the same register there were before. The card shows what each cost and the sum for a person
    who is in all of them; `verify --with` checks it.

    Attributes
    ----------
    name : of the series. Example: `name = "Live births, yearly"`.
    earlier : the files release.json of all earlier releases from records of the same persons, relative to this file, the oldest
        first. Example: `earlier = ["../births-2022/release.json", "../births-2023/release.json"]`.
    years : how many years the plan has, with one release each. It is promised to a person before the first one what all of them
        cost together; `ledger years` notes it, and every release of the series names that ledger.
        Example: `years = 5`, `first = 2019`, `year = 2020`, `epsilon = [0.85, 0.5]`, `records = 1`,
        `name = "Live births, yearly"`.
    first : the first year. Example: `first = 2019`, `years = 5`, `year = 2020`, `epsilon = 0.5`, `name = "Births"`.
    year : that of this release. Example: `year = 2020`, `years = 5`, `first = 2019`, `epsilon = 0.5`, `name = "Births"`.
    epsilon : the most that the release of a year may cost a record: one number, or one for each year, the last of which
        stands for those that follow. Example: `epsilon = [0.85, 0.5]`, `years = 5`, `first = 2019`, `year = 2020`,
        `name = "Births"`.
    delta : the same of delta, for every year. Example: `delta = 1e-9`, `epsilon = 0.5`, `years = 5`, `first = 2019`,
        `year = 2020`, `name = "Births"`.
    records : how many records one person can have in the files of all years together, at most: 1 where each record is in one
        year and of somebody else, 4 where a mother has four births at most. Without it everybody can be in every year, with as
        many records as [unit] says. Example: `records = 4`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`,
        `name = "Births"`.
    fallbacks : in how many years a second release may follow where the first one released nothing, as with last year's release
        as public table it may. They count in what is promised, whether they are needed or not.
        Example: `fallbacks = 1`, `fallback_epsilon = 0.85`, `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`,
        `name = "Births"`.
    fallback_epsilon : the most that such a release may cost a record. Example: `fallback_epsilon = 0.85`, `fallbacks = 1`,
        `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    again : whether this release is such a second one. Example: `again = true`, `fallbacks = 1`, `fallback_epsilon = 0.85`,
        `epsilon = 0.5`, `years = 5`, `first = 2019`, `year = 2020`, `name = "Births"`.
    corrects : the file release.json of the release that an erratum replaces. `card --bundle` writes errata, at no cost;
        a new release cannot be one. Example: `corrects = "../births-2024/release.json"`, `reason = "A wrong unit."`,
        `name = "Live births, yearly"`.
    reason : what the erratum puts right; required with `corrects`, and for it alone.
        Example: `reason = "The unit of the weight was wrong."`, `corrects = "../births-2024/release.json"`,
        `name = "Live births, yearly"`.
    """

    only_words: ClassVar[bool] = True

    name: Line = Field(min_length=1, max_length=300)
    earlier: tuple[str, ...] = Field(default=(), max_length=1000)
    years: Annotated[int, Field(ge=2, le=MOST_YEARS)] | None = None
    first: Annotated[int, Field(ge=-9999, le=9899)] | None = None
    year: int | None = None
    epsilon: Positive | Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MOST_YEARS)] | None = None
    delta: Annotated[Fraction, Field(ge=0, lt=1)] = Fraction(0)
    records: Annotated[int, Field(ge=1, le=100_000)] | None = None
    fallbacks: Annotated[int, Field(ge=0, le=MOST_YEARS)] = 0
    fallback_epsilon: Positive | None = None
    again: bool = False
    corrects: str | None = None
    reason: Reason = ""

    @property
    def fixed(self) -> frozenset[str]:
        """Which release of which plan it is: all that a plan over years has."""
        return frozenset(() if self.years is None else set(type(self).model_fields) - {"earlier", "corrects", "reason"})

    def horizon(self, records: int) -> Horizon:
        """The plan, where a person has so many records in the file of a year."""
        count = self.years or 1
        in_all = min(self.records or records * count, records * count)
        return Horizon(
            first=self.first or 0,
            epsilons=self.epsilons,
            delta=self.delta,
            in_year=min(records, in_all),
            in_all=in_all,
            fallbacks=self.fallbacks,
            fallback_epsilon=self.fallback_epsilon or Fraction(0),
        )

    @property
    def several_releases(self) -> bool:
        """Earlier ones are named, or others are planned."""
        return bool(self.earlier) or self.years is not None

    @model_validator(mode="after")
    def _an_erratum_has_a_reason(self) -> SeriesTable:
        if (self.corrects is None) != (not self.reason):
            raise ValueError("corrects and reason need each other")
        return self

    @model_validator(mode="after")
    def _a_plan_is_whole(self) -> SeriesTable:
        needed = {"first": self.first, "year": self.year, "epsilon": self.epsilon}
        if self.years is None:
            named = [name for name, value in needed.items() if value is not None]
            named += [name for name in ("delta", "records", "fallbacks", "fallback_epsilon", "again") if getattr(self, name)]
            if named:
                raise ValueError(f"{named[0]} belongs to a plan over years, so it needs years")
            return self
        if missing := [name for name, value in needed.items() if value is None]:
            raise ValueError(f"a plan over years needs {missing[0]}")
        last = (self.first or 0) + self.years - 1
        if not (self.first or 0) <= (self.year or 0) <= last:
            raise ValueError(f"year must be one of the plan, {self.first} to {last}, found {self.year}")
        if isinstance(self.epsilon, tuple) and len(self.epsilon) > self.years:
            raise ValueError(f"epsilon has {len(self.epsilon)} numbers for {self.years} years")
        if (self.fallbacks > 0) != (self.fallback_epsilon is not None):
            raise ValueError("fallbacks and fallback_epsilon need each other")
        if self.fallbacks > self.years or (self.again and not self.fallbacks):
            raise ValueError(f"there are {self.years} years and {self.fallbacks} second releases of a year")
        return self

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """By year."""
        stated = self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon or Fraction(0),)
        return (*stated, *stated[-1:] * ((self.years or 0) - len(stated)))


TABLE = SeriesTable
