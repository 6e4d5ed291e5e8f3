"""A tiny private file about people: its schema, its rows as plain Python, and the same rows in every format."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.data.schema import Schema
from synthrelease.enclave.ingest import ingest
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column

STRICT = InputTable(missing="error", outside="error")
"""Whatever does not fit refuses the file: what a test asks for that says what does not."""
HEADER = "age,sex,date_of_birth,height\n"
ROW = "34,F,1990-04-01,1.64\n"
TABLES = {
    "age": {"kind": "integer", "bounds": (0, 120), "alternatives": {"decades": ["0-119 by 10", ">119"]}},
    "sex": {"kind": "category", "categories": {"male": ["M", "0", "False"], "female": ["F", "1", "True"]}},
    "month": {
        "kind": "integer",
        "source": "date_of_birth",
        "part": "month",
        "bounds": (1, 12),
        "alternatives": {"months": ["1..12"]},
    },
    "height": {"kind": "real", "bounds": (0, 3), "alternatives": {"three": ["<0.7", "0.7 to 1.5", ">=1.5"]}},
}


class Person(NamedTuple):
    """A row; None is a missing value."""

    age: int | None
    sex: bool | None
    born: date | None
    height: float | None


def schema_of(*names: str, policy: InputTable | None = None, **changes: Any) -> Schema:
    """The columns `names` (all, when there are none), each with `changes` to its table."""
    tables = {name: ColumnTable(**(TABLES[name] | changes)) for name in names or TABLES}
    policy = policy or STRICT
    return Schema(columns=tuple(build_column(name, table, policy, [], None) for name, table in tables.items()))


def anything(schema: Schema) -> Plausibility:
    """No plausibility rules."""
    return Plausibility(layout=schema.layout, masks=())


def no_old_men(schema: Schema) -> Plausibility:
    """No men of 60 or more: a rule over the first two columns."""
    forbidden = np.zeros(schema.layout.sizes[:2], dtype=bool)
    forbidden[6:, 0] = True
    return Plausibility(layout=schema.layout, masks=(Mask(columns=(0, 1), forbidden=forbidden),))


def read(path: Path, schema: Schema, policy: InputTable | None = None, raw: Plausibility | None = None) -> dict[tuple, int]:
    """{bin of each column: count} of the atomic counts of a file."""
    private = ingest(path, schema, policy or STRICT, raw or anything(schema))
    counts = private._Door__counts  # type: ignore[attr-defined]
    cells = zip(*(digits.tolist() for digits in counts.bins), strict=True)
    return dict(zip(cells, counts.counts.tolist(), strict=True))


def slow_counts(people: Sequence[Person]) -> dict[tuple, int]:
    """What `read` gives with missing="drop", outside="clip" and no_old_men, one person at a time."""
    cells: Counter[tuple] = Counter()
    for person in people:
        if None in person or (person.age >= 60 and person.sex is False):
            continue
        decade = 0 if person.age < 0 else 12 if person.age > 119 else int(str(person.age // 10))
        cells[
            decade, int(person.sex), person.born.month - 1, 0 if person.height < 0.7 else 1 if person.height < 1.5 else 2
        ] += 1
    return dict(cells)


def write_csv(path: Path, people: Sequence[Person], compressed: bool = False, missing: str = "") -> Path:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["age", "sex", "date_of_birth", "height"])
    writer.writerows([missing if value is None else value for value in person] for person in people)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if compressed else content)
    return path


def write_parquet(path: Path, people: Sequence[Person], dictionaries: bool = False, **types: pa.DataType) -> Path:
    """The rows in Parquet; `types` gives the type of some of the columns."""
    plain = {"age": pa.int64(), "sex": pa.bool_(), "born": pa.date32(), "height": pa.float64()}
    arrays = {name: pa.array([getattr(person, name) for person in people], kind) for name, kind in plain.items()}
    arrays |= {name: arrays[name].cast(kind) for name, kind in types.items()}
    if dictionaries:
        arrays = {name: array.dictionary_encode() for name, array in arrays.items()}
    arrays["date_of_birth"] = arrays.pop("born")
    pq.write_table(pa.table(arrays), path)
    return path
