"""[bundle] against the schema: what its formats cannot hold is said before anything is spent."""

from __future__ import annotations

from synthrelease.domain.schema import Schema
from synthrelease.parts import each
from synthrelease.specification.part import Checking
from synthrelease.toml.bundle import SYNTHETIC, BundleTable
from synthrelease.toml.card import CardTable
from synthrelease.toml.problems import Problems


def check_bundle(table: BundleTable, card: CardTable, schema: Schema, problems: Problems) -> None:
    """The column `synthetic` is free, and what each list asks for can be written."""
    if table.synthetic_column and SYNTHETIC in schema.by_name:
        problems.add(f"columns.{SYNTHETIC}", f"another name: [bundle] adds a column {SYNTHETIC!r}", repr(SYNTHETIC))
    checks: dict[str, Checking] = each("checking")
    for name, chosen in table.chosen.items():
        if name in checks:
            checks[name](chosen, card, schema, problems)
