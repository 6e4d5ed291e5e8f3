"""What a catalogue demands of the card."""

from __future__ import annotations

from collections.abc import Collection

from synthrelease.data.schema import Schema
from synthrelease.settings.card import CardTable
from synthrelease.settings.mistakes import Problems


def check(chosen: Collection[str], card: CardTable, schema: Schema, problems: Problems) -> None:
    """An address where the release can be had."""
    if "dcat" in chosen and not card.url:
        problems.add("card.url", "an address where the release can be had: DCAT-AP demands one", "none")


CHECKING = check
