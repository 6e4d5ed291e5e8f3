"""Which libraries are asked for a table: only those that take the type of a column from the database, never from its rows.

A library that looks at the first rows to find the type of a column reads the others by them: with the ADBC driver of SQLite one
0.5 in a column makes "1.000000e+00" of every 1 below it. Then one record decides the bins of others, and no theorem about
replacing one record holds (theory 1.8, reading row by row).
"""

from __future__ import annotations

import re

from synthrelease.errors import InputError

ADBC = re.compile(r"adbc\+(?P<driver>[a-z0-9_]+)(?P<rest>:.*)", re.DOTALL | re.IGNORECASE)
TYPED_ADBC = ("bigquery", "duckdb", "flightsql", "postgresql", "snowflake")
"""ADBC drivers whose columns have the types that the database declares."""
_GUESSING = re.compile(r"(shillelagh|gsheets)\b", re.IGNORECASE)
"""Dialects of SQLAlchemy that read spreadsheets and other files without types."""
_WHY = "it may take the type of a column from the first rows, so that one row would change how others are read."


def check_driver(uri: str) -> None:
    """Raises InputError for a library that is not known to read every row by itself. Looks at the URI alone."""
    found = ADBC.fullmatch(uri)
    if found is not None and (driver := found["driver"].lower()) not in TYPED_ADBC:
        raise InputError(
            f"expected an ADBC driver that takes the types of columns from the database ({', '.join(TYPED_ADBC)}), found "
            f"{driver!r}: {_WHY} Give a SQLite file by its path, and other databases by a URI of SQLAlchemy."
        )
    if guessing := _GUESSING.match(uri):
        raise InputError(f"expected a database, found {guessing[1]!r}: {_WHY} Give the file that it reads, as CSV.")
