"""The part of release.json about earlier releases of the same register."""

from __future__ import annotations

from typing import ClassVar

from synthrelease.published.parts import ExactText, Part


class EarlierPart(Part):
    """A release before this one.

    Attributes
    ----------
    digest : the SHA-256 checksum of its release.json.
    epsilon_exact, delta_exact : what it cost for one record.
    person_epsilon_exact, person_delta_exact : what it cost for a person; null where it promised a person nothing.
    corrects : the digest of the release that it replaced, if it is an erratum, which spent nothing.
    changed : what is otherwise in this release, in bins and rules, one sentence each.
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


class CorrectedPart(Part):
    """The release that this one replaces without spending anything: its digest and version, and what was put right."""

    digest: str
    version: str
    reason: str


class SeriesPart(Part):
    """All releases from records of the same persons.

    Attributes
    ----------
    total_epsilon_exact, total_delta_exact : for a person who is in all of them, this one included (theory 1.1, sequential
        composition); null where one of them promises a person nothing. An erratum and what it corrects count once.
    """

    names_others: ClassVar[bool] = True

    name: str
    earlier: list[EarlierPart]
    corrects: CorrectedPart | None
    total_epsilon_exact: ExactText | None
    total_delta_exact: ExactText | None

    @property
    def several_releases(self) -> bool:
        """Earlier ones are named."""
        return bool(self.earlier)


PUBLISHED = SeriesPart
