"""The guarantee by its five building blocks, for machines (Bailie, Gong & Meng 2023; theory 10, statement of the guarantee).

Two guarantees may be added up where the first three agree: domain, scope and unit. The scope names the place of every fact in
release.json that is published exactly and that files could differ in; whatever else is said about the file there is the output
of a charged mechanism, or follows from outputs and facts. All of it follows from other parts of release.json: `verify`
compares.
"""

from __future__ import annotations

from typing import Literal

from synthrelease.accounting.guarantee import Guarantee
from synthrelease.accounting.rows import Way
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
    def of(
        cls,
        way: Way,
        calibrated: bool,
        divided: bool = False,
        sampled: bool = False,
        split: bool = False,
        persons: bool = False,
    ) -> ScopePart:
        """What is published exactly.

        Parameters
        ----------
        way : where the number of rows comes from (`accounting.rows.RowsRule`). A counted one is an output with noise.
        calibrated : whether there are totals that rows were weighted to.
        divided : whether the rows were divided into pieces, whose sizes follow from the number of rows.
        sampled : whether the file is said to be a sample, of as many records as it has rows.
        split : whether a piece of a register was read; which one, the specification says.
        persons : whether a key told the rows of a person, so that the number of persons is published.
        """
        sizes = ["partition"] if divided else []
        known = [*(["population.sampled"] if sampled else []), *(["domain.persons"] if persons else [])]
        known_before = ["schema", "groups", "rules", "domain"]
        of_the_file = {
            "exact": ["n_rows", "domain.rows"],
            "whole": ["domain.file_rows", "n_rows"],
            "stated": ["domain.file_rows"],
            "counted": ["domain.file_rows"],
        }
        return cls(
            private_file=[*of_the_file[way], *(sizes if way in ("exact", "whole") else []), *known],
            specification=[*known_before, *(["n_rows", *sizes] if way == "stated" else []), *(["split"] if split else [])],
            published_figures=["calibration.margins"] if calibrated else [],
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
    def of(
        cls,
        guarantee: Guarantee,
        way: Way,
        calibrated: bool,
        divided: bool = False,
        sampled: bool = False,
        split: bool = False,
        persons: bool = False,
    ) -> FlavourPart:
        """The building blocks of a guarantee; the others as for `ScopePart.of`."""
        return cls(
            domain=DOMAIN,
            scope=ScopePart.of(way, calibrated, divided, sampled, split, persons),
            unit=REPLACED,
            standard="(epsilon, delta)" if guarantee.delta else "multiplicative",
            intensity=IntensityPart(epsilon_exact=str(guarantee.epsilon), delta_exact=str(guarantee.delta)),
        )
