"""The options that are a folder, as the specification builds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from synthrelease.parts import each
from synthrelease.settings.tables import ReleaseFile
from synthrelease.spec.part import Building

if TYPE_CHECKING:
    from synthrelease.privacy.subsets import PartitionRule, SplitRule


def buildings() -> Mapping[str, Building]:
    """The hooks of every option, by its name."""
    return each("building")


def division(release: ReleaseFile) -> PartitionRule | None:
    """How the rows are divided at random; None where they are not."""
    hooks = buildings()
    rules = (hooks[name].division(table) for name, table in release.parts.items())
    return next((rule for rule in rules if rule is not None), None)


def piece_of_register(release: ReleaseFile) -> SplitRule | None:
    """Which piece of a register is read; None where all rows are."""
    hooks = buildings()
    pieces = (hooks[name].piece_of_register(table) for name, table in release.parts.items())
    return next((piece for piece in pieces if piece is not None), None)


def rows_texts(values: Mapping[str, object]) -> list[str]:
    """What options say of the rows that a release works with, where `values` are what the specification holds of them."""
    hooks = buildings()
    return [text for name, value in values.items() if (text := hooks[name].rows_text(value))]
