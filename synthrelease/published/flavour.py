"""The guarantee by its five building blocks, for machines (Bailie, Gong & Meng 2023; theory 10, statement of the guarantee).

Two guarantees may be added up where the first three agree: domain, scope and unit. The scope names the place of every fact in
release.json that is published exactly and that files could differ in; whatever else is said about the file there is the output
of a charged mechanism, or follows from outputs and facts. All of it follows from other parts of release.json: `verify`
compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from synthrelease.privacy.plan import Guarantee
from synthrelease.published.costs import DomainPart
from synthrelease.published.parts import ExactText, Part

DOMAIN = "any file that can be read by the schema and is none of those that were called public"
REPLACED = "records replaced"

Standard = Literal["multiplicative", "(epsilon, delta)", "zCDP"]


class ScopePart(Part):
    """Places of exactly published facts in release.json, by where they come from.

    Attributes
    ----------
    private_file : facts of the private file; nothing about them is protected.
    specification : what was fixed before the file was read.
    published_figures : what others had published.
    """

    private_file: list[str]
    specification: list[str]
    published_figures: list[str]

    @classmethod
    def of(cls, domain: DomainPart, stated: Iterable[Part] = ()) -> ScopePart:
        """What is published exactly.

        Parameters
        ----------
        domain : says where the number of rows comes from. A counted one is an output with noise.
        stated : what else the document says of the file, each with the facts that it publishes exactly.
        """
        of_the_file = {
            "exact": ["n_rows", "domain.rows"],
            "whole": ["domain.file_rows", "n_rows"],
            "stated": ["domain.file_rows"],
            "counted": ["domain.file_rows"],
        }
        known_before = ["schema", "groups", "rules", "domain", *(["n_rows"] if domain.way == "stated" else [])]
        facts = [fact for part in (*stated, domain) for fact in part.exact_facts(domain.way)]
        return cls(
            private_file=[*of_the_file[domain.way], *(place for source, place in facts if source == "private_file")],
            specification=[*known_before, *(place for source, place in facts if source == "specification")],
            published_figures=[place for source, place in facts if source == "published_figures"],
        )

    def places(self) -> list[str]:
        """All places."""
        return [*self.private_file, *self.specification, *self.published_figures]


class IntensityPart(Part):
    """How much; `delta_exact` is "0" for a multiplicative standard."""

    epsilon_exact: ExactText
    delta_exact: ExactText


class FlavourPart(Part):
    """A guarantee by its building blocks.

    Attributes
    ----------
    domain : which files can be protected.
    scope : what is published exactly, and so is the same for all files that the guarantee compares.
    unit : what the distance of two files counts.
    standard : how two laws of outputs are compared: "multiplicative" (pure), "(epsilon, delta)", or "zCDP", which no release
        states at its root; other methods do.
    intensity : how much, for a distance of 1.
    """

    domain: str
    scope: ScopePart
    unit: str
    standard: Standard
    intensity: IntensityPart

    @classmethod
    def of(cls, guarantee: Guarantee, domain: DomainPart, stated: Iterable[Part] = ()) -> FlavourPart:
        """The building blocks of a guarantee; the others as for `ScopePart.of`."""
        return cls(
            domain=DOMAIN,
            scope=ScopePart.of(domain, stated),
            unit=REPLACED,
            standard="(epsilon, delta)" if guarantee.delta else "multiplicative",
            intensity=IntensityPart(epsilon_exact=str(guarantee.epsilon), delta_exact=str(guarantee.delta)),
        )
