"""[bundle] against the schema: what its formats cannot hold is said before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping

from synthrelease.data.schema import Schema
from synthrelease.parts import each
from synthrelease.settings.card import CardTable
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import SYNTHETIC, BundleTable
from synthrelease.specification.part import Checking


def check_bundle(table: BundleTable, card: CardTable, schema: Schema, problems: Problems) -> None:
    """The column `synthetic` is free, and what each list asks for can be written."""
    if table.synthetic_column and SYNTHETIC in schema.by_name:
        problems.add(f"columns.{SYNTHETIC}", f"another name: [bundle] adds a column {SYNTHETIC!r}", repr(SYNTHETIC))
    check_lists(table.chosen, card, schema, problems)


def check_lists(lists: Mapping[str, object], card: CardTable, schema: Schema, problems: Problems) -> None:
    """What each list of an option says goes with the rest."""
    checks: Mapping[str, Checking] = each("checking")
    for name, listed in lists.items():
        if name in checks:
            checks[name](listed, card, schema, problems)
