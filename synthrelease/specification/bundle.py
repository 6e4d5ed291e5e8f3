"""[bundle] against the schema: what its formats cannot hold is said before anything is spent."""

from __future__ import annotations

from synthrelease.domain.schema import Schema
from synthrelease.toml.bundle import SYNTHETIC, BundleTable
from synthrelease.toml.card import CardTable
from synthrelease.toml.problems import Problems

SPSS_LABEL = 120
"""Bytes of UTF-8 that the label of a value has at most in SPSS."""
STATA_VALUES = 65_536
"""Labelled values of one variable in Stata."""


def check_bundle(table: BundleTable, card: CardTable, schema: Schema, problems: Problems) -> None:
    """The column `synthetic` is free, and every label of every alternative fits into the formats."""
    if table.synthetic_column and SYNTHETIC in schema.by_name:
        problems.add(f"columns.{SYNTHETIC}", f"another name: [bundle] adds a column {SYNTHETIC!r}", repr(SYNTHETIC))
    if "dcat" in table.catalogues and not card.url:
        problems.add("card.url", "an address where the release can be had: DCAT-AP demands one", "none")
    for column in schema.columns:
        labels = {label for binning in column.alternatives.values() for label in binning.labels}
        longest = max(labels, key=lambda label: len(label.encode("utf-8")))
        if "spss" in table.formats and len(longest.encode("utf-8")) > SPSS_LABEL:
            expected = f"labels of bins of at most {SPSS_LABEL} bytes, as SPSS holds them, or [bundle] formats without 'spss'"
            problems.add(f"columns.{column.name}", expected, f"one of {len(longest.encode('utf-8'))} bytes")
        most = max(len(binning.labels) for binning in column.alternatives.values())
        if "stata" in table.formats and most > STATA_VALUES:
            expected = f"at most {STATA_VALUES} bins, as Stata labels them, or [bundle] formats without 'stata'"
            problems.add(f"columns.{column.name}", expected, str(most))
