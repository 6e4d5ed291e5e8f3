"""The options that are a folder, as the specification builds them."""

from __future__ import annotations

from synthrelease.parts import each
from synthrelease.specification.part import Building


def buildings() -> dict[str, Building]:
    """The hooks of every option, by its name."""
    return each("building")
