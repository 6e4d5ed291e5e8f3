"""Connect to databases, find the requested table, and check the declared types of its columns. No row is read.

If the requested table does not exist, a message lists the names of the tables. They reveal nothing about rows: an administrator
chose them, and they exist even if every table is empty. Messages of database libraries are never shown, because they may
contain the URI with its password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

from synthrelease.errors import InputError, closest, listing
from synthrelease.resources import library
from synthrelease.sources.source import PASSWORD, USER

# Python types whose values can be written as text. The declared type of a column is public; no value is read to find it.

_VALUES = (bool, int, float, str, Decimal, date, time)

LONGEST_TEXT = 2**17
"""The largest number of characters of one value, in every format. Python's `csv` has the same limit."""
_TYPE_NAME = re.compile("[a-z0-9_]+")


def check_type(name: str, kind: Any, format_name: str) -> None:
    """Raise InputError unless the values of this Arrow type are numbers, texts, booleans, dates, times or UUIDs."""
    from pyarrow import types

    if is_uuid(kind):
        return
    values = kind.value_type if types.is_dictionary(kind) else kind
    plain = (
        types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_string, types.is_large_string,
        types.is_string_view, types.is_date, types.is_time, types.is_timestamp, types.is_null,
    )  # fmt: skip
    if not any(accepts(values) for accepts in plain):
        type_name = _TYPE_NAME.match(str(kind))  # the text behind the name may hold names of fields
        raise _not_read(name, f"the {format_name} type {type_name[0] if type_name else 'of an extension'}")
    if types.is_timestamp(values) and values.tz is not None and not _can_be_read(values):
        raise InputError(f"column {name!r}: The time zone is unknown. Write the dates as texts such as 2014-12-31.")


def check_is_number(name: str, kind: Any, format_name: str, *, dates: bool) -> None:
    """Raise InputError if a column of this Arrow type cannot be read as numbers (or as dates if `dates` is true)."""
    from pyarrow import types

    values = kind.value_type if types.is_dictionary(kind) else kind
    not_read = [types.is_boolean, types.is_time, is_uuid, *([] if dates else [types.is_date, types.is_timestamp])]
    if any(is_of(values) for is_of in not_read):
        type_name = "UUID" if is_uuid(values) else f"{format_name} type {_TYPE_NAME.match(str(values))[0]}"  # type: ignore[index]
        advice = ' To use the year of the date, set part = "year" for the column in the configuration.'
        advice = "" if dates or not (types.is_date(values) or types.is_timestamp(values)) else advice
        raise InputError(f"column {name!r}: The {type_name} cannot be read as a {'date' if dates else 'number'}.{advice}")


def _not_read(name: str, kind: str) -> InputError:
    return InputError(f"column {name!r}: A column can have numbers, texts, booleans, dates or times, but not {kind}.")


def is_uuid(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def _can_be_read(kind: Any) -> bool:
    import pyarrow as pa

    try:
        pa.scalar(0, kind).as_py()
    except Exception:  # libraries of time zones raise errors of different types
        return False
    return True


def is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def check_types(schema: Any, needed: Sequence[str]) -> None:
    """Raise the error of `check_type` for the needed columns in the Arrow schema of a database."""
    for name in needed:
        kind = schema.field(name).type
        # a type without a Python equivalent, such as PostgreSQL's numeric, arrives as text
        if getattr(kind, "type_name", None) is not None:
            kind = kind.storage_type
        check_type(name, kind, "database")


def check_database_type(name: str, kind: Any) -> None:
    """Raise the error of `check_type` for a SQLAlchemy type."""
    try:
        of_python = kind.python_type
    except NotImplementedError:
        of_python = type(None)
    untold = type(kind).__name__ in ("NullType", "YEAR")  # without a declared type, each value is converted by itself
    if not (untold or issubclass(of_python, _VALUES) or of_python.__name__ == "UUID"):
        raise _not_read(name, f"the database type {type(kind).__name__}")


def quoted(*names: str) -> str:
    """Quote the parts of a qualified name as in standard SQL, such as `"registry"."births"`."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def chosen_table(asked: str | None, tables: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return the schema and the name of the requested table.

    Parameters
    ----------
    asked : the requested table, as `name` or `schema.name`, or None for the only table.
    tables : the schema and the name of each table and view of the database.

    Raises
    ------
    InputError : if not exactly one table has the requested name or, without a request, is in the database.
    """
    several = len({schema for schema, _ in tables}) > 1
    listed = [f"{schema}.{name}" if several else name for schema, name in tables]
    advice = 'Name one with --table, or with table = "..." under [input] in the configuration.'
    if asked is None:
        if len(tables) == 1:
            return tables[0]
        raise InputError(f"The database has {f'the tables {listing(listed)}. {advice}' if listed else 'no tables.'}")
    matching = [table for table in tables if asked in (table[1], ".".join(table))]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = listing(".".join(table) for table in matching)
        raise InputError(f"Several tables are called {asked!r}. Name one with its schema: {names}.")
    same = (name for name in listed if asked.casefold() in (name.casefold(), name.rpartition(".")[2].casefold()))
    guess = next(same, None) or closest(asked, listed)
    meant = f" Did you mean {guess!r}?" if guess else ""
    has = f" Its tables are {listing(listed)}." if listed else " It has no tables."
    raise InputError(f"The database has no table {asked!r}.{has}{meant}")


def _with_login(uri: str, user: str | None, password: str | None) -> Any:
    url = library("sqlalchemy", "sqlalchemy", "this database", "database").make_url(uri)
    return url if user is None and password is None else url.set(username=user, password=password)


def engine_of(uri: str) -> Any:
    """Return the SQLAlchemy engine for a URI, with the user and the password from environment variables.

    Raises
    ------
    InputError : if the URI names no database, or its dialect or driver is not installed.
    """
    sqlalchemy, lacks = library("sqlalchemy", "sqlalchemy", "this database", "database"), False
    try:
        return sqlalchemy.create_engine(_with_login(uri, *_credentials()), hide_parameters=True)
    except (ImportError, sqlalchemy.exc.NoSuchModuleError):  # the dialect or its driver is not installed
        lacks = True
    except Exception:
        lacks = False
    kind = re.split(r"[^A-Za-z0-9_+]", uri)[0]
    if lacks:
        advice = "Install the SQLAlchemy dialect and its driver."
        raise InputError(f"The libraries for {kind!r} databases are not installed. {advice}")
    raise InputError("This is not the URI of a database. An example of a URI is postgresql://server/registry.")


def sql_tables(inspector: Any, asked: str | None) -> list[tuple[str, str]]:
    """Return the schema ("" for the default) and the name of each table and view that may be the requested table.

    If `asked` names an existing table in a schema (`schema.name`), the result contains only this table.
    """
    schema, _, name = (asked or "").rpartition(".")
    if schema and (inspector.has_table(name, schema=schema) or name in inspector.get_view_names(schema)):
        return [(schema, name)]
    names = [*inspector.get_table_names(), *inspector.get_view_names()]
    return [("", table) for table in sorted(names)]


def _credentials() -> tuple[str | None, str | None]:
    return os.environ.get(USER), os.environ.get(PASSWORD)
