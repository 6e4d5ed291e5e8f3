"""What statistical packages cannot hold."""

from __future__ import annotations

from collections.abc import Collection

from synthrelease.data.schema import Schema
from synthrelease.settings.card import CardTable
from synthrelease.settings.mistakes import Problems

SPSS_LABEL = 120
"""Bytes of UTF-8 that the label of a value has at most in SPSS."""
STATA_VALUES = 65_536
"""Labelled values of one variable in Stata."""


def check(chosen: Collection[str], card: CardTable, schema: Schema, problems: Problems) -> None:
    """Every label of every alternative fits into the formats."""
    for column in schema.columns:
        labels = {label for binning in column.alternatives.values() for label in binning.labels}
        longest = max(labels, key=lambda label: len(label.encode("utf-8")))
        if "spss" in chosen and len(longest.encode("utf-8")) > SPSS_LABEL:
            expected = f"labels of bins of at most {SPSS_LABEL} bytes, as SPSS holds them, or [bundle] formats without 'spss'"
            problems.add(f"columns.{column.name}", expected, f"one of {len(longest.encode('utf-8'))} bytes")
        most = max(len(binning.labels) for binning in column.alternatives.values())
        if "stata" in chosen and most > STATA_VALUES:
            expected = f"at most {STATA_VALUES} bins, as Stata labels them, or [bundle] formats without 'stata'"
            problems.add(f"columns.{column.name}", expected, str(most))


CHECKING = check
