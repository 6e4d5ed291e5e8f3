"""A plan over years as it is published: in release.json, and in a commitment."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from synthrelease.published.base import ExactText, Part

if TYPE_CHECKING:
    from synthrelease.privacy.plan import Horizon, YearOfSeries

MOST_YEARS = 100
"""`privacy.plan.MOST_YEARS`, which a reader need not load."""


class PlanOfYearsPart(Part):
    """A plan over years, made before the first of them, and the year that the rest of the document is about.

    Attributes
    ----------
    first : the first year; there are as many as `epsilons_exact` has numbers.
    year : the one that the rest is about.
    records_in_year, records_in_all : how many records a person has at most in the file of a year, and in those of all years.
    epsilons_exact, delta_exact : the most that the release of each year costs a record.
    fallbacks, fallback_epsilon_exact : how many years may have a second release, and what it may cost a record.
    """

    first: int
    year: int
    records_in_year: Annotated[int, Field(ge=1)]
    records_in_all: Annotated[int, Field(ge=1)]
    epsilons_exact: Annotated[list[ExactText], Field(min_length=1, max_length=MOST_YEARS)]
    delta_exact: ExactText
    fallbacks: Annotated[int, Field(ge=0)]
    fallback_epsilon_exact: ExactText

    @classmethod
    def of_plan(cls, asked: YearOfSeries) -> PlanOfYearsPart:
        """The plan, with the year of a release."""
        plan = asked.horizon
        return PlanOfYearsPart(
            first=plan.first,
            year=asked.year,
            records_in_year=plan.in_year,
            records_in_all=plan.in_all,
            epsilons_exact=[str(epsilon) for epsilon in plan.epsilons],
            delta_exact=str(plan.delta),
            fallbacks=plan.fallbacks,
            fallback_epsilon_exact=str(plan.fallback_epsilon),
        )

    @property
    def horizon(self) -> Horizon:
        """The plan."""
        from synthrelease.privacy.plan import Horizon

        return Horizon(
            first=self.first,
            epsilons=tuple(map(Fraction, self.epsilons_exact)),
            delta=Fraction(self.delta_exact),
            in_year=self.records_in_year,
            in_all=self.records_in_all,
            fallbacks=self.fallbacks,
            fallback_epsilon=Fraction(self.fallback_epsilon_exact),
        )
