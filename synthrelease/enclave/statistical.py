"""Read the files of Stata, SAS and SPSS in batches, with pyreadstat (extra `formats`), and convert their values to texts.

The text of a value is its code, never its label. A user-missing value of SPSS is read as its code, and special missing values
as .a to .z (Stata) or .A to .Z (SAS), so that the public setting `missing_values` treats them. A system-missing value is read
as null, and a date as 1990-04-01, whatever its display format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.enclave.texts import NO_VALUE, Batch, Numbered, Texts, check_header, float_text, float_texts, too_long
from synthrelease.errors import InputError
from synthrelease.resources import library
from synthrelease.settings import columns as unreadable
from synthrelease.sources.formats import MOST_BYTES, Package
from synthrelease.sources.tables import LONGEST_TEXT

_OTHER_ENCODING = 'Set encoding = "latin-1", "windows-1252" or "windows-1255" (Hebrew) under [input] in the configuration.'
_ENCODINGS = {"latin-1": "ISO-8859-1", "windows-1252": "WINDOWS-1252", "windows-1255": "WINDOWS-1255"}


def package_batches(package: Package, path: Path, needed: Sequence[str], encoding: str, most_rows: int) -> Iterator[Batch]:
    """Yield the batches of a Stata, SAS or SPSS file, with at most `most_rows` rows each, fewer for wide columns.

    Parameters
    ----------
    encoding : the encoding of texts if the file states none, except "utf-8".

    Raises
    ------
    InputError : if the library is missing, the file cannot be read, or it lacks a needed column.
    """
    facts = read_package(package, path, encoding, metadataonly=True)[1]
    check_header(list(facts.column_names), needed)
    width = sum(facts.variable_storage_width.get(name) or 1 for name in needed)
    most_rows = max(1, min(most_rows, MOST_BYTES // width))
    row = 1
    while True:
        table, facts = read_package(package, path, encoding, usecols=list(needed), row_offset=row - 1, row_limit=most_rows)
        if not len(table):
            return
        yield row, {name: _as_texts(name, table[name].to_numpy(), writer(package, facts, name)) for name in needed}
        if len(table) < most_rows:
            return
        row += len(table)


def read_package(package: Package, path: Path, encoding: str, **options: Any) -> tuple[Any, Any]:
    """Return the table and the metadata of a Stata, SAS or SPSS file. If the library fails, raise InputError.

    `options` are further arguments of the library, such as the rows to read.
    """
    # the function behind the functions in the library's documentation, two of which cannot return user-missing codes
    parse = library("pyreadstat.pyreadstat", "pyreadstat", f"files of {package.name}", "formats").parser_entry_point
    damaged = unreadable.damaged(package.name)
    other = f"Some texts are not in the encoding that the {package.name} file states. {_OTHER_ENCODING}"
    if path.stat().st_size % package.block:
        raise InputError(damaged)
    options |= {"parser_format": package.parser, "encoding": _ENCODINGS.get(encoding), "output_format": "pandas"}
    try:
        return parse(str(path.absolute()), user_missing=True, disable_datetime_conversion=True, **options)
    except MemoryError:
        problem = unreadable.TOO_LONG
    except UnicodeDecodeError:
        problem = other
    except Exception as error:  # a damaged file makes the library fail in many ways
        problem = other if "invalid byte sequence" in str(error) or "convert" in str(error) else damaged
    raise InputError(problem)


def writer(package: Package, facts: Any, name: str) -> Callable[[np.ndarray], list[str | None]] | None:
    """Return a function that writes the numbers of a column as texts, such as dates, or None for a column of texts."""
    kind, shown = facts.readstat_variable_types[name], facts.original_variable_types[name] or ""
    if kind == "string":
        return None
    if re.fullmatch(package.dates, shown):
        return lambda numbers: [_moment(package.origin, number, package.day, date=True) for number in numbers]
    if re.fullmatch(package.moments, shown):
        return lambda numbers: [_moment(package.origin, number, package.tick) for number in numbers]
    if re.fullmatch(package.times, shown):
        return lambda numbers: [_time_of_day(number, package.tick) for number in numbers]
    if kind == "float":  # 1.64 if stored in four bytes, not 1.6399999856948853
        return lambda numbers: float_texts(numbers.astype(np.float32))
    return _numbers


def dates_of(package: Package, facts: Any) -> list[str]:
    """Return the columns whose display format shows numbers as dates, with or without a time."""
    shown = {name: facts.original_variable_types[name] or "" for name in facts.column_names}
    numbers = [name for name in shown if facts.readstat_variable_types[name] != "string"]
    return [name for name in numbers if re.fullmatch(f"({package.dates})|({package.moments})", shown[name])]


def _moment(origin: datetime, number: float, unit: timedelta, date: bool = False) -> str | None:
    if np.isnan(number):
        return None
    try:
        moment = origin + float(number) * unit
    except OverflowError:  # beyond the year 9999
        return NO_VALUE
    return str(moment.date() if date else moment)


def _time_of_day(number: float, unit: timedelta) -> str | None:
    if np.isnan(number):
        return None
    inside = 0 <= number * unit.total_seconds() < 86_400
    return str((datetime.min + float(number) * unit).time()) if inside else float_text(float(number))


def _as_texts(name: str, values: np.ndarray, write: Callable[[np.ndarray], list[str | None]] | None) -> Texts:
    """Convert a column to texts. `write` converts its numbers to texts; it is None for a column of texts. In a column of
    numbers, a special missing value becomes a point with its letter, such as ".a".

    Objects that are equal in Python get the same text: a string equals only an identical string, and equal numbers are the same
    64-bit number.
    """
    import pyarrow as pa

    if values.dtype == object:
        distinct = Numbered[Any]()
        codes = np.fromiter(map(distinct.__getitem__, values), dtype=np.int64, count=len(values))
        texts = [object_text(value, write) for value in distinct]
        if max((len(text) for text in texts if text is not None), default=0) > LONGEST_TEXT:
            raise too_long(name)
        return Texts(texts=texts, codes=codes, typed=write is not None)
    encoded = pa.array(values, from_pandas=True).dictionary_encode()
    texts = (write or _numbers)(encoded.dictionary.to_numpy(zero_copy_only=False))
    codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Texts(texts=[*texts, None], codes=codes, typed=write is not None)


def _numbers(numbers: np.ndarray) -> list[str | None]:
    return float_texts(numbers.astype(np.float64))


def object_text(value: Any, write: Callable[[np.ndarray], list[str | None]] | None) -> str | None:
    if isinstance(value, str):
        return value if write is None else f".{value}"
    return None if value is None else (write or _numbers)(np.array([value], dtype=np.float64))[0]
