"""The table [bundle]: in which further formats a release is written, and how it is labelled as synthetic."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator

from synthrelease.errors import Unexpected
from synthrelease.toml.fields import SpecTable

SYNTHETIC = "synthetic"
"""The constant column that says so in every row."""

StatisticalFormat = Literal["stata", "spss", "r"]
Catalogue = Literal["dcat", "croissant", "ddi"]


class BundleTable(SpecTable):
    """[bundle]: further files of a release, made from the accepted table and its figures at no cost.

    Attributes
    ----------
    formats : for statistical packages: "stata" (data.dta, and read.do, which adds numbers and figures), "spss" (data.sav, which
        SAS reads, too), "r" (read.R, which needs nothing but R). "stata" and "spss" need the extra `formats`.
        Example: `formats = ["stata", "spss", "r"]`.
    catalogues : descriptions for catalogues of data: "dcat" (DCAT-AP 3 with the fields of HealthDCAT-AP, as dcat.jsonld and
        dcat.ttl; it needs the extra `catalogue`), "croissant" (Croissant 1.0, for machine learning), "ddi" (DDI-Codebook 2.5).
        Example: `catalogues = ["dcat", "croissant", "ddi"]`.
    synthetic_names : files with rows are called synthetic-data.csv and so on, in place of data.csv.
        Example: `synthetic_names = true`.
    synthetic_column : files with rows have one more column, the last one, "synthetic", which is 1 in every row.
        Example: `synthetic_column = true`.
    """

    formats: tuple[StatisticalFormat, ...] = ()
    catalogues: tuple[Catalogue, ...] = ()
    synthetic_names: bool = False
    synthetic_column: bool = False

    @field_validator("formats", "catalogues")
    @classmethod
    def _each_once(cls, named: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(named)) != len(named):
            raise Unexpected("each name once")
        return named

    @property
    def stem(self) -> str:
        """What the files of the table are called before their ending."""
        return self.named("data")

    def named(self, name: str) -> str:
        """What a file with rows is called."""
        return f"synthetic-{name}" if self.synthetic_names else name
