"""What becomes of every row of a table: its text, and its bin by many public rules at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from synthrelease.data.schema import Schema
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Batch
from synthrelease.enclave.values import atomic_bins
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.sources.source import Source
from synthrelease.spec.columns import build_column

Rows = Counter[tuple[str | None, bool, tuple[int, ...]]]
"""How many rows have each text, whether it was typed, and the bins by all rules."""

POLICIES = {
    mark: InputTable(decimal=mark, missing="bin", missing_values=["", "NA", "97.0", "-9", f"9{mark}50"], outside="drop", **more)
    for mark, more in ((".", {}), (",", {"delimiter": ";"}))
}
_NUMBERS = ["<-1", "-1 to 0", "0 to 0.1", "0.1 to 1.25", "1.25 to 1.5", "1.5 to 13", ">=13"]
_TABLES = {
    "category": {
        "kind": "category",
        "categories": {
            "one": ["1", "True"],
            "half": ["1.5", "1,5"],
            "quarter": ["1.250"],
            "none": ["0", "False"],
            "large": ["10000000000000000"],
            "larger": ["9007199254740993", "9007199254740992"],
            "words": ["x", " y", "é"],
            "dates": ["1990-04-01", "1990-04-01 13:45:00", "13:45:00", "1990-04-01 11:45:00+00:00"],
        },
        "outside": "bin",
    },
    "code": {"kind": "code", "codes": {"1": "a", "10": "b", "19": "c", "x": "d", "0.": "e"}, "characters": 2, "outside": "bin"},
    "integer": {"kind": "integer", "bounds": (-100, 10**6), "alternatives": {"all": ["<0", "0..13", "14-9999", ">=10000"]}},
    "real": {"kind": "real", "bounds": (-1e9, 1e9), "alternatives": {"all": _NUMBERS}},
    "month": {"kind": "integer", "part": "month", "bounds": (1, 12), "alternatives": {"all": ["1..12"]}},
}


@cache
def schema_of_one_column(mark: str, source: str) -> Schema:
    """Every kind of column, all of them from one column of the file."""
    policy = POLICIES[mark]
    tables = {name: ColumnTable(**(table | {"source": source})) for name, table in _TABLES.items()}
    return Schema(columns=tuple(build_column(name, table, policy, [], None) for name, table in tables.items()))


def rows_of(source: str | Path, mark: str = ".", name: str = "v", **changes: str) -> Rows:
    """The rows of a table with a column of this name."""
    policy = POLICIES[mark].model_copy(update=changes)
    return rows_of_pieces(batches(Source.of(source), schema_of_one_column(mark, name), policy), mark, name)


def rows_of_pieces(parts: Iterable[Batch], mark: str = ".", name: str = "v") -> Rows:
    found: Rows = Counter()
    known: list[dict] = [{} for _ in schema_of_one_column(mark, name).columns]
    for _, columns in parts:
        digits = [
            atomic_bins(columns, column, POLICIES[mark], each).rows().tolist()
            for column, each in zip(schema_of_one_column(mark, name).columns, known, strict=True)
        ]
        cells = columns[name]
        for code, bins in zip(cells.codes.tolist(), zip(*digits, strict=True), strict=True):
            typed = bool(cells.typed if isinstance(cells.typed, bool) else cells.typed[code])
            found[cells.texts[code], typed or cells.texts[code] is None, bins] += 1
    return found
