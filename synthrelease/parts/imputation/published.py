"""The complete copies of a released table in release.json: how gaps were filled, or why they were not."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from synthrelease.published.base import Part
from synthrelease.settings.tables import BundleTable

Natural = Annotated[int, Field(ge=1)]
IMPUTED = "imputed.csv"
"""The file with the copies, where [bundle] asks for no other names."""


class ImputationPart(Part):
    """Complete copies in imputed.csv.

    Attributes
    ----------
    donors : rows that had to agree, before fewer columns had to.
    match : columns in which rows should agree, the most important first.
    rows : released rows that lack a value which the rules do not demand to be missing.
    smallest : rows that got the values of one donor, at least: how often each row of a copy occurs at least.
    failed : why there are no copies; empty where there are.
    """

    copies: Natural
    donors: Natural
    match: list[str]
    rows: Annotated[int, Field(ge=0)]
    smallest: Natural
    failed: str

    def file(self, bundle: BundleTable) -> str:
        """The name of the file with the copies."""
        return bundle.named(IMPUTED)

    def file_names(self, bundle: BundleTable) -> tuple[str, ...]:
        """The copies, where they could be made."""
        return () if self.failed else (self.file(bundle),)

    @property
    def beyond(self) -> str:
        """How donors were drawn."""
        return "that donors were drawn at random for the complete copies"


PUBLISHED = ImputationPart
