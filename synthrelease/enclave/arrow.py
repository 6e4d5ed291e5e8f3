"""Columns of Arrow, which Parquet, Feather and databases give, as texts.

A whole number is written "3" whatever its type, other numbers as the shortest text in their own precision, a date as
1990-04-01, a time of day as 13:45:00, both with a space between, a boolean as "True" or "False", a dictionary as its values.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from synthrelease.enclave.texts import NO_VALUE, Texts
from synthrelease.errors import InputError

_TYPE_NAME = re.compile("[a-z0-9_]+")
_EXACT = 2.0**53
"""Below it every whole number is a float."""


def check_type(name: str, kind: Any, format_name: str) -> None:
    """Raises InputError when a column of this Arrow type holds no single values that have a text."""
    from pyarrow import types

    values = kind.value_type if types.is_dictionary(kind) else kind
    plain = (
        types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_string, types.is_large_string,
        types.is_string_view, types.is_date, types.is_time, types.is_timestamp, types.is_null,
    )  # fmt: skip
    if not any(accepts(values) for accepts in plain):
        shown = _TYPE_NAME.match(str(kind))  # what follows may hold names of fields
        found = f"the {format_name} type {shown[0] if shown else 'of an extension'}"
        raise InputError(f"column {name!r}: expected numbers, texts, booleans, dates or times, found {found}.")
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


def is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def as_texts(array: Any) -> Texts:
    """A column of Arrow as texts; nulls and NaN as None."""
    from pyarrow import types

    if types.is_float16(array.type):  # which pyarrow cannot encode
        numbers, codes = np.unique(array.to_numpy(zero_copy_only=False), return_inverse=True)
        return Texts(texts=number_texts(numbers), codes=codes.astype(np.int64))
    encoded = array.dictionary_encode()
    values = encoded.dictionary
    if types.is_floating(values.type):
        texts = number_texts(values.to_numpy(zero_copy_only=False))
    else:
        texts = [_as_text(value) for value in values]
    codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Texts(texts=[*texts, None], codes=codes)


def number_texts(values: np.ndarray) -> list[str | None]:
    """Floats as texts, from numpy scalars, for the shortest text in their own precision; NaN as None."""
    return [None if np.isnan(value) else str(int(value)) if _is_whole(float(value)) else str(value) for value in values]


def _is_whole(value: float) -> bool:
    return abs(value) < _EXACT and value.is_integer()


def _as_text(scalar: Any) -> str | None:
    try:
        value = scalar.as_py()
    except Exception:  # a date beyond the year 9999, for example
        return NO_VALUE
    return None if value is None else str(value)
