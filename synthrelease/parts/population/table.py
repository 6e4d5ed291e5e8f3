"""The table [population]: what the private file is a simple random sample of."""

from __future__ import annotations

from pydantic import Field, field_validator

from synthrelease.errors import Unexpected
from synthrelease.settings.base import Line, SpecTable

SIMPLE = "simple random, without replacement"
"""The one design for which the second sentence is proved."""


class PopulationTable(SpecTable):
    """[population]: the private file is a simple random sample of so many records. Plan, card and release.json then have a
    second sentence: what a member of the population is promised of whom nobody knows whether he was drawn (theory 11.3,
    amplification by a subset). It lowers no charge, and the ledger has the whole.

    Attributes
    ----------
    size : records of the population, each in the file at most once. Example: `size = 2000000`,
        `sample = "simple random, without replacement"`, `source = "Population register, 1 January 2024"`.
    sample : how the file was drawn from them. "simple random, without replacement" is the only design for which this is proved:
        strata, clusters, panels and unequal weights are refused. Example: `sample = "simple random, without replacement"`,
        `size = 2000000`, `source = "Population register, 1 January 2024"`.
    source : where the number of records is published. Example: `source = "Population register, 1 January 2024"`,
        `size = 2000000`, `sample = "simple random, without replacement"`.
    """

    size: int = Field(ge=1, le=10**12)
    sample: Line
    source: Line = Field(min_length=1, max_length=500)

    @field_validator("sample")
    @classmethod
    def _proved(cls, sample: str) -> str:
        if sample != SIMPLE:
            raise Unexpected(f"{SIMPLE!r}: for strata, clusters, panels and other designs there is no such bound", repr(sample))
        return sample


TABLE = PopulationTable
