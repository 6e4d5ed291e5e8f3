"""Examples of every kind of projection, as their tables stand in the TOML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EXAMPLES: Mapping[str, Sequence[dict[str, Any]]] = {
    # Single columns, and pairs.
    "frequent_combinations": ({"columns": 1, "minimum_count": 4}, {"columns": 2, "minimum_count": 3}),
    # Every way to keep rows, for small and larger counts.
    "minimum_count": (
        {"minimum_count": 1},
        {"minimum_count": 2},
        {"minimum_count": 5},
        {"minimum_count": 3, "keep": "spread"},
        {"minimum_count": 4, "keep": "nested"},
    ),
}
