"""Tiny public worlds for tests: those of the audit, and bare layouts."""

from __future__ import annotations

from synthrelease.data.layout import Layout
from synthrelease.studio.audit.tiny import World, integer_column

__all__ = ["World", "integer_column", "layout_of"]


def layout_of(*sizes: int) -> Layout:
    return Layout(columns=tuple(f"c{i}" for i in range(len(sizes))), sizes=sizes)
