"""Read Parquet files, and convert Arrow columns, also of databases, to strings.

Every number has exactly one text (see `texts.decimal_text`). A date is written 1990-04-01, a time of day 13:45:00, and a date
with a time as both, with a space, in the time zone of its column. A boolean is written "True" or "False". A dictionary-encoded
column has the texts of its values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.data.ahead import Ahead
from synthrelease.enclave.texts import NO_VALUE, Batch, LazyTexts, Texts, check_header, decimal_text, float_texts, too_long
from synthrelease.sources.formats import check_parquet, rows_within
from synthrelease.sources.tables import LONGEST_TEXT, check_type, is_text, is_uuid

_PLAIN = r"^-?(?:\d{{1,30}}(?:{mark}\d{{0,30}})?|{mark}\d{{1,30}})$"
_NARROW = 2**14  # Whole numbers are used directly as codes if their range is at most this


class StringTexts(LazyTexts):
    """The texts in an Arrow array of strings that has no nulls.

    Parameters
    ----------
    strip : a character that is removed from the beginning of each text.
    """

    def __init__(self, array: Any, strip: str = ""):
        self._array, self._strip = array, strip

    def __len__(self) -> int:
        return len(self._array)

    def made(self) -> list[str | None]:
        texts = self._array.to_pylist()
        return [text.lstrip(self._strip) for text in texts] if self._strip else texts

    def numbers(self, decimal: str) -> tuple[np.ndarray, np.ndarray]:
        """Convert texts of an optional minus, digits and one decimal mark to the numbers of `float`. The mask is False for
        other forms, such as 1e5 or " 1"."""
        from pyarrow import compute

        matched = compute.match_substring_regex(self._array, _PLAIN.format(mark=re.escape(decimal)))
        with_point = compute.replace_substring(self._array.filter(matched), decimal, ".")
        numbers, plain = np.zeros(len(self)), whole_array(compute.cast(matched, "uint8")).astype(bool)
        numbers[plain] = whole_array(compute.cast(with_point, "float64"))
        return numbers, plain


class NumberTexts(LazyTexts):
    """The texts of numbers that the file stores as numbers (see `texts.float_text`).

    Parameters
    ----------
    values : (n,) integers of any type, or float64.
    """

    def __init__(self, values: np.ndarray):
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def made(self) -> list[str | None]:
        if self._values.dtype.kind == "f":
            return float_texts(self._values)
        return list(map(str, self._values.tolist()))

    def numbers(self, decimal: str) -> tuple[np.ndarray, np.ndarray]:
        numbers = self._values.astype(np.float64)
        finite = np.isfinite(numbers)
        return np.where(finite, numbers, 0.0), finite


class WithNull(LazyTexts):
    """The distinct texts of a column, followed by an entry for the nulls."""

    def __init__(self, texts: LazyTexts):
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts) + 1

    def made(self) -> list[str | None]:
        return [*self._texts, None]

    def numbers(self, decimal: str) -> tuple[np.ndarray, np.ndarray]:
        numbers, plain = self._texts.numbers(decimal)
        return np.append(numbers, 0.0), np.append(plain, False)


def batches_of_batches(
    batches: Iterable[Any], needed: Sequence[str], most_rows: int, texts_of: Callable[[str, Any], Texts] | None = None
) -> Iterator[Batch]:
    """Convert Arrow record batches to batches of texts, each column by `texts_of` (by default `column_texts`)."""
    row = 1
    for batch in batches:
        for start in range(0, batch.num_rows, most_rows):
            part = batch.slice(start, most_rows)
            yield row, {name: (texts_of or column_texts)(name, part.column(name)) for name in needed}
            row += part.num_rows


def column_texts(name: str, array: Any) -> Texts:
    """Convert an Arrow column to texts. Raises InputError for long texts before they fill the memory."""
    from pyarrow import compute, types

    values = array.dictionary if types.is_dictionary(array.type) else array
    lengths = (compute.binary_length, compute.utf8_length)  # for short columns, count the letters
    if is_text(values.type) and all((compute.max(length(values)).as_py() or 0) > LONGEST_TEXT for length in lengths):
        raise too_long(name)
    return as_texts(array)


def as_texts(array: Any) -> Texts:
    from pyarrow import types

    if is_uuid(array.type):
        encoded = array.storage.dictionary_encode()
        names = [_as_text(value) for value in type(array).from_storage(array.type, encoded.dictionary)]
        return Texts(texts=[*names, None], codes=whole_array(encoded.indices.fill_null(len(names))), typed=True)
    if types.is_float16(array.type):  # pyarrow cannot encode this type
        numbers, codes = np.unique(array.to_numpy(zero_copy_only=False), return_inverse=True)
        return Texts(texts=float_texts(numbers), codes=codes.astype(np.int64), typed=True)
    if types.is_integer(array.type) and not array.null_count and len(array):
        values = whole_array(array)
        low, high = int(values.min()), int(values.max())
        if low >= 0 and high < _NARROW:  # this takes a tenth of the time of comparing the texts, and no memory
            codes = values.view(np.int64) if values.dtype == np.uint64 else values  # NumPy 1.26 does not count uint64
            return Texts(texts=NumberTexts(np.arange(high + 1)), codes=codes, typed=True)
        if high - low < _NARROW and max(-low, high) < 2**62:
            codes = (values.astype(np.int64) - low).astype(np.uint16)
            return Texts(texts=NumberTexts(np.arange(low, high + 1)), codes=codes, typed=True)
    encoded = array.dictionary_encode()
    values, codes = encoded.dictionary, encoded.indices
    typed = not is_text(values.type)
    texts = _texts_of(values)
    if codes.null_count:
        texts = WithNull(texts) if isinstance(texts, LazyTexts) else [*texts, None]
        codes = codes.fill_null(len(values))
    return Texts(texts=texts, codes=whole_array(codes), typed=typed)


def whole_array(array: Any) -> np.ndarray:
    """Convert an Arrow array of numbers without nulls to NumPy, without `to_numpy`, which loads pandas in half a second."""
    return np.from_dlpack(array)


def _texts_of(values: Any) -> Sequence[str | None]:
    from pyarrow import types

    if not values.null_count:
        if types.is_string(values.type) and _is_utf_8(values):
            return StringTexts(values)
        if types.is_integer(values.type) or types.is_float64(values.type):
            return NumberTexts(whole_array(values))
    if types.is_floating(values.type):
        return float_texts(values.to_numpy(zero_copy_only=False))
    return [_as_text(value) for value in values]


def _is_utf_8(values: Any) -> bool:
    try:
        values.validate(full=True)
    except Exception:  # the library may raise any error; such a text is no value
        return False
    return True


def _as_text(scalar: Any) -> str | None:
    try:
        value = scalar.as_py()
    except Exception:  # a date beyond the year 9999, for example
        return NO_VALUE
    if isinstance(value, Decimal):
        return decimal_text(str(value))
    return None if value is None else str(value)


def parquet_batches(file: Path, needed: Sequence[str], most_rows: int, most_bytes: int) -> Iterator[Batch]:
    """Yield the batches of a Parquet file, with at most `most_rows` rows and, if the file states its size, `most_bytes` bytes
    each.

    Raises
    ------
    InputError : if a needed column is missing, or its type does not consist of single values. A damaged file can cause other
        errors of the library (`reading.whole`).
    """
    import pyarrow.parquet as pq

    def texts_of(batch: Any) -> dict[str, Texts]:
        return {name: column_texts(name, batch.column(name)) for name in needed}

    with file.open("rb") as source, pq.ParquetFile(source) as opened:
        schema = opened.schema_arrow
        check_header(schema.names, needed)
        for name in needed:
            check_type(name, schema.field(name).type, "Parquet")
    # as dictionaries, which store a text only once if many rows share it
    texts = [name for name in needed if is_text(schema.field(name).type)]
    with file.open("rb") as source, pq.ParquetFile(source, read_dictionary=texts) as opened:
        check_parquet(opened.metadata, needed)
        size = rows_within(opened.metadata, most_rows, most_bytes)
        batches = opened.iter_batches(batch_size=size, columns=list(needed), use_threads=False)
        with Ahead(texts_of, lambda: next(batches, None)) as ahead:
            row = 1
            for batch, columns in ahead:
                yield row, columns
                row += batch.num_rows
