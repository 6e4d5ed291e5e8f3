"""Reading Parquet files in pieces, their values as texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.enclave.texts import Piece, Texts, check_header
from synthrelease.errors import InputError

_TYPE_NAME = re.compile("[a-z0-9_]+")
_NO_VALUE = "\0"
"""What no specification and no CSV file can hold stands for a value that Python cannot express."""


def parquet_pieces(path: Path, needed: list[str], most_rows: int, most_bytes: int) -> Iterator[Piece]:
    """The pieces of the file, each of at most so many rows, and bytes as far as the file tells how many it holds.

    Raises
    ------
    InputError : when the file cannot be read, lacks a column or has one of a type that holds no single values.
    """
    import pyarrow.parquet as pq

    row, problem = 1, None
    try:
        schema = pq.read_schema(path)
        check_header(schema.names, needed)
        for name in needed:
            _check_type(name, schema.field(name).type)
        # as dictionaries, in which a long text that many rows share stands once
        with pq.ParquetFile(path, read_dictionary=[name for name in needed if _is_text(schema.field(name).type)]) as file:
            for batch in file.iter_batches(batch_size=_rows_per_batch(file.metadata, most_rows, most_bytes), columns=needed):
                yield row, {name: _as_texts(batch.column(name)) for name in needed}
                row += batch.num_rows
    except InputError:
        raise
    except MemoryError:
        problem = "expected rows that fit into the memory of this machine, found longer ones."
    except Exception:  # a damaged file makes the library fail in many ways
        problem = "expected a whole Parquet file, found one that is cut off, damaged or unreadable."
    if problem:
        raise InputError(problem)


def _rows_per_batch(metadata: Any, most_rows: int, most_bytes: int) -> int:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=0.0)
    return int(max(1, min(most_rows, most_bytes / max(1.0, size))))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _check_type(name: str, kind: Any) -> None:
    from pyarrow import types

    values = kind.value_type if types.is_dictionary(kind) else kind
    plain = (
        types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_string, types.is_large_string,
        types.is_string_view, types.is_date, types.is_timestamp, types.is_null,
    )  # fmt: skip
    if not any(accepts(values) for accepts in plain):
        shown = _TYPE_NAME.match(str(kind))  # what follows may hold names of fields
        found = f"the Parquet type {shown[0] if shown else 'of an extension'}"
        raise InputError(f"column {name!r}: expected numbers, texts, booleans or dates, found {found}.")
    if types.is_timestamp(values) and values.tz is not None and not _can_be_read(values):
        raise InputError(
            f"column {name!r}: expected dates without a time zone, or in one that this machine knows, found another one. "
            "Write the dates as texts such as 2014-12-31."
        )


def _can_be_read(kind: Any) -> bool:
    import pyarrow as pa

    try:
        pa.scalar(0, kind).as_py()
    except Exception:  # whatever the libraries of time zones raise
        return False
    return True


def _as_texts(array: Any) -> Texts:
    """A column of Parquet as texts; nulls and NaN as None."""
    from pyarrow import types

    if types.is_float16(array.type):  # which pyarrow cannot encode
        numbers, codes = np.unique(array.to_numpy(zero_copy_only=False), return_inverse=True)
        return Texts(texts=_float_texts(numbers), codes=codes.astype(np.int64))
    encoded = array.dictionary_encode()
    values = encoded.dictionary
    if types.is_floating(values.type):
        texts = _float_texts(values.to_numpy(zero_copy_only=False))
    else:
        texts = [_as_text(value) for value in values]
    codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Texts(texts=[*texts, None], codes=codes)


def _float_texts(values: np.ndarray) -> list[str | None]:
    """As numpy scalars, for the shortest text in their own precision."""
    return [None if np.isnan(value) else str(value) for value in values]


def _as_text(scalar: Any) -> str | None:
    try:
        value = scalar.as_py()
    except Exception:  # a date beyond the year 9999, for example
        return _NO_VALUE
    return None if value is None else str(value)
