"""Random private files and their neighbours, in formats that keep what a program wrote into a cell."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from tests.whole.fuzz.columns import MISSING
from tests.whole.fuzz.specifications import Drawn

Record = tuple[object, ...]
"""The values of a row of a file: texts, and in a database also numbers."""
FORMATS = ("csv", "csv", "folder", "sqlite")


def neighbours(random: Random, spec: Drawn, number: int) -> tuple[list[Record], list[list[Record]]]:
    """The rows of a file, and those of so many neighbours of it, each of which differs in one row, or in none.

    Often it is the first row: readers that look at a value to tell what a column is look there.
    """
    pool = [record(random, spec) for _ in range(random.randint(1, spec.n_file))]
    one = [random.choice(pool) for _ in range(spec.n_file)]
    others = []
    for _ in range(number):
        others.append(list(one))
        place = 0 if random.random() < 0.3 else random.randrange(spec.n_file)
        others[-1][place] = random.choice([*pool, *(record(random, spec) for _ in range(3))])
    return one, others


def record(random: Random, spec: Drawn, *, missing: float = 0.1) -> Record:
    return tuple(
        random.choice(MISSING if random.random() < missing else each.texts) for each in spec.columns for _ in each.sources
    )


def header(spec: Drawn) -> list[str]:
    return [name for each in spec.columns for name in each.sources]


def write_public(random: Random, spec: Drawn, folder: Path) -> None:
    """The prior that generators may start from, of rows that are mostly complete."""
    _write_csv(folder / "public.csv", header(spec), [record(random, spec, missing=0.02) for _ in range(20)])


def write(rows: Sequence[Record], spec: Drawn, folder: Path, kind: str, random: Random) -> Path:
    """A private file of these rows in this order."""
    return write_rows(header(spec), rows, folder, kind, random)


def write_rows(names: Sequence[str], rows: Sequence[Record], folder: Path, kind: str, random: Random) -> Path:
    if kind == "csv":
        return _write_csv(folder / "private.csv", names, rows)
    if kind == "folder":
        place = folder / "private"
        place.mkdir()
        cut = len(rows) // 2
        _write_csv(place / "1.csv", names, rows[:cut])
        _write_csv(place / "2.csv", names, rows[cut:])
        return place
    path = folder / "private.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE register ({', '.join(f'[{name}]' for name in names)})")
        places = ", ".join("?" for _ in names)
        connection.executemany(
            f"INSERT INTO register VALUES ({places})", [[_typed(random, value) for value in row] for row in rows]
        )
    return path


def _write_csv(path: Path, names: Sequence[str], rows: Sequence[Record]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if len(names) == 1 else csv.QUOTE_MINIMAL)
        writer.writerows([names, *rows])
    return path


def _typed(random: Random, value: object) -> object:
    """A text as it stands, or the number that it writes, in a column without a type."""
    text, way = str(value), random.random()
    if way < 0.6 or not text.replace(".", "", 1).lstrip("-").isdigit():
        return text
    return float(text) if way < 0.8 or "." in text else int(text)
