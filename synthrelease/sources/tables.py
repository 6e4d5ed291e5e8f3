"""Check the types of columns, open databases and find their tables, without reading a row.

The names of a database's tables are shown when the one that was asked for is not among them. They are no rows: whoever set up
the database chose them, they are there when every table is empty, and whoever runs the command may list them. Nothing that a
library says is shown, because it may hold the URI with its password.
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

# Which declared types of columns hold single values that have a text. The type is public: no value is looked at.

_VALUES = (bool, int, float, str, Decimal, date, time)

LONGEST_TEXT = 2**17
"""Characters of one value, in every format; Python's `csv` has the same limit."""
_TYPE_NAME = re.compile("[a-z0-9_]+")


def check_type(name: str, kind: Any, format_name: str) -> None:
    """Raise InputError when a column of this Arrow type holds no single values that have a text."""
    from pyarrow import types

    if is_uuid(kind):
        return
    values = kind.value_type if types.is_dictionary(kind) else kind
    plain = (
        types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_string, types.is_large_string,
        types.is_string_view, types.is_date, types.is_time, types.is_timestamp, types.is_null,
    )  # fmt: skip
    if not any(accepts(values) for accepts in plain):
        type_name = _TYPE_NAME.match(str(kind))  # what follows may hold names of fields
        problem = f"the {format_name} type {type_name[0] if type_name else 'of an extension'}"
        raise InputError(f"column {name!r}: expected numbers, texts, booleans, dates or times, found {problem}.")
    if types.is_timestamp(values) and values.tz is not None and not _can_be_read(values):
        raise InputError(
            f"column {name!r}: expected dates without a time zone, or in one that this machine knows, found another one. "
            "Write the dates as texts such as 2014-12-31."
        )


def check_is_number(name: str, kind: Any, format_name: str, *, dates: bool) -> None:
    """Raise InputError when a column of this Arrow type holds no number, or no date where `dates` are requested."""
    from pyarrow import types

    values = kind.value_type if types.is_dictionary(kind) else kind
    not_read = [types.is_boolean, types.is_time, is_uuid, *([] if dates else [types.is_date, types.is_timestamp])]
    if any(is_of(values) for is_of in not_read):
        type_name = "a UUID" if is_uuid(values) else f"the {format_name} type {_TYPE_NAME.match(str(values))[0]}"  # type: ignore[index]
        advice = (
            ""
            if dates or not (types.is_date(values) or types.is_timestamp(values))
            else (' Set part = "year" for the column in the configuration, where the year of a date is meant.')
        )
        raise InputError(f"column {name!r}: expected {'dates' if dates else 'numbers'}, found {type_name}.{advice}")


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
    """Raise InputError when a needed column of an Arrow schema holds no single values."""
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
        problem = f"the database type {type(kind).__name__}"
        raise InputError(f"column {name!r}: expected numbers, texts, booleans, dates or times, found {problem}.")


def quoted(*names: str) -> str:
    """Return a name as standard SQL writes it, whatever characters it has: "registry"."births"."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def chosen_table(asked: str | None, tables: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return (schema, name) of the requested table, by `name` or `schema.name`; without a request the only one.

    Parameters
    ----------
    tables : (schema, name) of all tables and views.

    Raises
    ------
    InputError : when there is no such table, several, or none was asked for and there are several.
    """
    several = len({schema for schema, _ in tables}) > 1
    listed = [f"{schema}.{name}" if several else name for schema, name in tables]
    advice = 'Name one by --table, or by table = "..." under [input] in the configuration.'
    if asked is None:
        if len(tables) == 1:
            return tables[0]
        raise InputError(f"expected the name of one table of the database, found the tables {listing(listed)}. {advice}")
    matching = [table for table in tables if asked in (table[1], ".".join(table))]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InputError(
            f"expected one table {asked!r}, found one in several schemas: {listing('.'.join(t) for t in matching)}."
        )
    same = (name for name in listed if asked.casefold() in (name.casefold(), name.rpartition(".")[2].casefold()))
    guess = next(same, None) or closest(asked, listed)
    meant = f" Is it {guess!r}?" if guess else ""
    raise InputError(f"expected the table {asked!r} in the database, found the tables {listing(listed) or 'none'}.{meant}")


def _with_login(uri: str, user: str | None, password: str | None) -> Any:
    url = library("sqlalchemy", "sqlalchemy", "this database", "database").make_url(uri)
    return url if user is None and password is None else url.set(username=user, password=password)


def engine_of(uri: str) -> Any:
    sqlalchemy, lacks = library("sqlalchemy", "sqlalchemy", "this database", "database"), False
    try:
        return sqlalchemy.create_engine(_with_login(uri, *_credentials()), hide_parameters=True)
    except (ImportError, sqlalchemy.exc.NoSuchModuleError):  # of the dialect, or of its driver
        lacks = True
    except Exception:
        lacks = False
    kind = re.split(r"[^A-Za-z0-9_+]", uri)[0]
    if lacks:
        raise InputError(f"expected the libraries of SQLAlchemy for {kind!r}, found none. Install its dialect and driver.")
    raise InputError("expected the URI of a database such as postgresql://server/registry, found something else.")


def sql_tables(inspector: Any, asked: str | None) -> list[tuple[str, str]]:
    """Return (schema, name) of the tables and views of the default schema, and the requested one in another."""
    schema, _, name = (asked or "").rpartition(".")
    if schema and (inspector.has_table(name, schema=schema) or name in inspector.get_view_names(schema)):
        return [(schema, name)]
    names = [*inspector.get_table_names(), *inspector.get_view_names()]
    return [("", table) for table in sorted(names)]


def _credentials() -> tuple[str | None, str | None]:
    return os.environ.get(USER), os.environ.get(PASSWORD)
