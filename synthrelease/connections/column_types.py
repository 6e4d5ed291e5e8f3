"""Which declared types of columns hold single values that have a text. The type is public: no value is looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

from synthrelease.errors import InputError

_VALUES = (bool, int, float, str, Decimal, date, time)

LONGEST_TEXT = 2**17
"""Characters of one value, in every format; Python's `csv` has the same limit."""
_TYPE_NAME = re.compile("[a-z0-9_]+")


def check_type(name: str, kind: Any, format_name: str) -> None:
    """Raises InputError when a column of this Arrow type holds no single values that have a text."""
    from pyarrow import types

    if is_uuid(kind):
        return
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


def check_is_number(name: str, kind: Any, format_name: str, *, dates: bool) -> None:
    """Raises InputError when a column of this Arrow type holds no number, or no date where `dates` are asked for."""
    from pyarrow import types

    values = kind.value_type if types.is_dictionary(kind) else kind
    not_read = [types.is_boolean, types.is_time, is_uuid, *([] if dates else [types.is_date, types.is_timestamp])]
    if any(is_of(values) for is_of in not_read):
        shown = "a UUID" if is_uuid(values) else f"the {format_name} type {_TYPE_NAME.match(str(values))[0]}"  # type: ignore[index]
        advice = (
            ""
            if dates or not (types.is_date(values) or types.is_timestamp(values))
            else (' Set part = "year" for the column in the configuration, where the year of a date is meant.')
        )
        raise InputError(f"column {name!r}: expected {'dates' if dates else 'numbers'}, found {shown}.{advice}")


def is_uuid(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def _can_be_read(kind: Any) -> bool:
    import pyarrow as pa

    try:
        pa.scalar(0, kind).as_py()
    except Exception:  # whatever the libraries of time zones raise
        return False
    return True


def is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def check_types(schema: Any, needed: Sequence[str]) -> None:
    """Raises InputError when a needed column of an Arrow schema holds no single values."""
    for name in needed:
        kind = schema.field(name).type
        if getattr(kind, "type_name", None) is not None:  # such as PostgreSQL's numeric, which comes as a text
            kind = kind.storage_type
        check_type(name, kind, "database")


def check_database_type(name: str, kind: Any) -> None:
    try:
        of_python = kind.python_type
    except NotImplementedError:
        of_python = type(None)
    untold = type(kind).__name__ in ("NullType", "YEAR")  # of a type that nobody told each value is looked at
    if not (untold or issubclass(of_python, _VALUES) or of_python.__name__ == "UUID"):
        found = f"the database type {type(kind).__name__}"
        raise InputError(f"column {name!r}: expected numbers, texts, booleans, dates or times, found {found}.")
