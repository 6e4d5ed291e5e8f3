"""The published totals of a margin, from the table or the CSV file that states them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from synthrelease.errors import Unexpected, listing
from synthrelease.settings.options import MarginTable, is_total
from synthrelease.settings.reading import beside, regular_file

MOST_BYTES = 10_000_000
"""Of a file of totals."""
Totals = Mapping[tuple[str, ...], float]


def stated_totals(stated: MarginTable, file: Path) -> Iterator[tuple[tuple[str, ...], float]]:
    """Each combination of labels with its total, as the file has them."""
    if isinstance(stated.totals, str):
        yield from _read(beside(file, stated.totals), stated.columns).items()
        return
    for label, inner in stated.totals.items():
        if isinstance(inner, dict) != (len(stated.columns) == 2) or len(stated.columns) > 2:
            expected = {1: "a number for each group of one column", 2: "a table of numbers for each group of the first column"}
            raise Unexpected(
                expected.get(len(stated.columns), "the name of a CSV file, for three columns or more"),
                f"{label!r} with something else",
            )
        if isinstance(inner, dict):
            yield from (((label, second), float(total)) for second, total in inner.items())
        else:
            yield (label,), float(inner)


def _read(path: Path, columns: Sequence[str]) -> Totals:
    """A CSV file of totals."""
    wanted = [*columns, "total"]
    if not path.is_file():
        raise Unexpected(f"a CSV file of totals of at most {MOST_BYTES // 10**6} MB", f"no file {path}")
    content = regular_file(path, ".csv", MOST_BYTES, readable="a CSV file of totals", named="a CSV file of totals")
    try:
        lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        lines = []
    header = [name.strip() for name in lines[0]] if lines else []
    if sorted(header) != sorted(wanted):
        raise Unexpected(f"a CSV file in UTF-8 with the columns {listing(wanted)}", f"{path} with {listing(header) or 'none'}")
    found: dict[tuple[str, ...], float] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        values = dict(zip(header, (value.strip() for value in line), strict=False))
        total = _number(values.get("total", ""))
        if len(line) != len(header) or total is None:
            raise Unexpected(
                f"{len(header)} values in each line, with a total of at least 0", f"others in line {number} of {path}"
            )
        cell = tuple(values[name] for name in columns)
        if cell in found:
            raise Unexpected("each combination of groups once", f"{' and '.join(cell)} again in line {number} of {path}")
        found[cell] = total
    if not found:
        raise Unexpected("a total for each group", f"none in {path}")
    return found


def _number(text: str) -> float | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return float(value) if value.is_finite() and is_total(value) else None
