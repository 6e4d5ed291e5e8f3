"""Tiny public worlds for tests: those of the audit, and bare layouts."""

from __future__ import annotations

from synthrelease.audit.worlds import World, integer_column
from synthrelease.data.layout import Layout

__all__ = ["World", "integer_column", "layout_of"]


def layout_of(*sizes: int) -> Layout:
    return Layout(columns=tuple(f"c{i}" for i in range(len(sizes))), sizes=sizes)
