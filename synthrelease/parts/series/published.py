"""The part of release.json about earlier releases of the same register."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from synthrelease.published.base import ExactText, Part
from synthrelease.published.measurements import IntendedEstimatePart
from synthrelease.published.years import PlanOfYearsPart


class EarlierPart(Part):
    """A release before this one.

    Attributes
    ----------
    digest : the SHA-256 checksum of its release.json.
    epsilon_exact, delta_exact : what it cost for one record.
    person_epsilon_exact, person_delta_exact : what it cost for a person; null where it promised a person nothing.
    corrects : the digest of the release that it replaced, if it is an erratum, which spent nothing.
    changed : what is otherwise in this release, in bins and rules, one sentence each.
    year, again : of a plan over years, absent without one: which year it is of, and whether it replaced one that
        released nothing (absent where it did not).
    estimated : of a plan over years, what it states of questions about columns whose bins are the same in this release; absent
        where there is nothing.
    """

    title: str
    version: str
    published: str
    digest: str
    epsilon_exact: ExactText
    delta_exact: ExactText
    person_epsilon_exact: ExactText | None
    person_delta_exact: ExactText | None
    corrects: str | None
    changed: list[str]
    year: int | None = None
    again: Literal[True] | None = None
    estimated: list[IntendedEstimatePart] = []


class CorrectedPart(Part):
    """The release that this one replaces without spending anything: its digest and version, and what was put right."""

    digest: str
    version: str
    reason: str


class YearsPart(PlanOfYearsPart):
    """The plan over years, and what of it this release is (theory 11.13, a promise over years).

    Attributes
    ----------
    again : whether this release replaces one of its year that released nothing.
    promised_epsilon_exact, promised_delta_exact : to a person, for all years together.
    paid_epsilon_exact, paid_delta_exact : by a person at most so far, for all years up to this one.
    """

    again: bool
    promised_epsilon_exact: ExactText
    promised_delta_exact: ExactText
    paid_epsilon_exact: ExactText
    paid_delta_exact: ExactText


class SeriesPart(Part):
    """All releases from records of the same persons.

    Attributes
    ----------
    total_epsilon_exact, total_delta_exact : for a person who is in all of them, this one included (theory 1.1, sequential
        composition); null where one of them promises a person nothing. An erratum and what it corrects count once.
    years : the plan over years; absent without one.
    """

    names_others: ClassVar[bool] = True

    name: str
    earlier: list[EarlierPart]
    corrects: CorrectedPart | None
    total_epsilon_exact: ExactText | None
    total_delta_exact: ExactText | None
    years: YearsPart | None = None

    @property
    def fixed(self) -> dict[str, Any] | None:
        """Which release of which plan over years it is."""
        if self.years is None:
            return None
        return {"name": self.name, **self.years.model_dump(include={*PlanOfYearsPart.model_fields, "again"})}

    @property
    def beyond(self) -> str:
        """Other releases."""
        return "that there are no releases of the same register but those that are named"

    @property
    def several_releases(self) -> bool:
        """Earlier ones are named, or others are planned."""
        return bool(self.earlier) or self.years is not None


PUBLISHED = SeriesPart
