"""What all databases have in common: names of tables and columns, and values of Python as texts.

The names of a database's tables are shown when the one that was asked for is not among them. They are no rows: whoever set up
the database chose them, they are there when every table is empty, and whoever runs the command may list them. What a table
holds, how many rows, and what the database says of an error is never shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np

from synthrelease.enclave.arrow import as_texts, check_type, number_texts
from synthrelease.enclave.texts import NO_VALUE, Collected, Piece, Texts
from synthrelease.errors import InputError, closest, listing

_PLAIN = (str, int, Decimal, date, time)
ROWS_AT_ONCE = 10_000
"""Rows that a database hands over together where they are objects of Python."""


def quoted(*names: str) -> str:
    """A name as standard SQL writes it, whatever characters it has: "registry"."births"."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def chosen_table(asked: str | None, tables: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """(schema, name) of the table that was asked for, by `name` or `schema.name`; the only one where none was.

    Parameters
    ----------
    tables : (schema, name) of all tables and views.

    Raises
    ------
    InputError : when there is no such table, several, or none was asked for and there are several.
    """
    several = len({schema for schema, _ in tables}) > 1
    known = [f"{schema}.{name}" if several else name for schema, name in tables]
    advice = 'Name one by --table, or by table = "..." under [input] in the configuration.'
    if asked is None:
        if len(tables) == 1:
            return tables[0]
        raise InputError(f"expected the name of one table of the database, found the tables {listing(known)}. {advice}")
    found = [table for table in tables if asked in (table[1], ".".join(table))]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"expected one table {asked!r}, found one in several schemas: {listing('.'.join(t) for t in found)}.")
    same = (name for name in known if asked.casefold() in (name.casefold(), name.rpartition(".")[2].casefold()))
    guess = next(same, None) or closest(asked, known)
    meant = f" Is it {guess!r}?" if guess else ""
    raise InputError(f"expected the table {asked!r} in the database, found the tables {listing(known) or 'none'}.{meant}")


def header_piece(names: Iterable[str]) -> Piece:
    """The columns of a table as a piece without rows: what a reader that is not told which columns are needed gives."""
    return 0, {name: Texts(texts=(), codes=np.zeros(0, dtype=np.int64)) for name in names}


def check_types(schema: Any, needed: Sequence[str]) -> None:
    """Raises InputError when a needed column of an Arrow schema holds no single values."""
    for name in needed:
        kind = schema.field(name).type
        check_type(name, getattr(kind, "storage_type", kind), "database")  # such as PostgreSQL's numeric, which comes as a text


def pieces_of_batches(batches: Iterable[Any], needed: Sequence[str], most_rows: int) -> Iterator[Piece]:
    """The pieces of Arrow record batches. A moment with a time zone is that of UTC, whatever zone this machine is in."""
    import pyarrow as pa
    from pyarrow import types

    row = 1
    for batch in batches:
        for start in range(0, batch.num_rows, most_rows):
            part = batch.slice(start, most_rows)
            columns = {}
            for name in needed:
                column = part.column(name)
                column = getattr(column, "storage", column)
                if types.is_timestamp(column.type) and column.type.tz is not None:
                    column = column.cast(pa.timestamp(column.type.unit, tz="UTC"))
                columns[name] = as_texts(column)
            yield row, columns
            row += part.num_rows


def pieces_of_rows(batches: Iterable[Sequence[Sequence[Any]]], needed: Sequence[str], most_rows: int) -> Iterator[Piece]:
    """The pieces of rows of Python's values, which come in batches."""
    row, n_rows, collected = 1, 0, Collected[Any](range(len(needed)))
    for batch in batches:
        for values in batch:
            collected.add(values)
        n_rows += len(batch)
        if n_rows + len(batch) > most_rows:
            yield row, _columns(needed, collected)
            row, n_rows, collected = row + n_rows, 0, Collected[Any](range(len(needed)))
    if n_rows:
        yield row, _columns(needed, collected)


def _columns(needed: Sequence[str], collected: Collected[Any]) -> dict[str, Texts]:
    found = zip(needed, collected.columns(), strict=True)
    return {name: Texts(texts=[value_text(value) for value in values], codes=codes) for name, (values, codes) in found}


def value_text(value: Any) -> str | None:
    """One value of a database as a text."""
    if isinstance(value, float):
        return number_texts(np.array([value]))[0]
    if isinstance(value, _PLAIN) or type(value).__name__ == "UUID":
        return str(value)
    return None if value is None else NO_VALUE
