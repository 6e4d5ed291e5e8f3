"""Lines of CSV in which nothing can be read in two ways, read several times faster than by Python's `csv`.

pyarrow's reader is fast, but lets pass what `csv` in strict mode refuses: zero bytes, text after a closing quote, a quote that
is never closed. So it gets only lines for which both must give the same fields, which is found out beforehand from the places
of quotes and line ends. All other lines, and all lines that pyarrow refuses, are left to `csv`, which also finds the words for
what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synthrelease.enclave.arrow import StringTexts, whole_array
from synthrelease.enclave.texts import Texts

_DELIMITERS = ",;\t|"
_NEWLINE, _RETURN, _QUOTE, _SPACE = b'\n\r" '
_MARK = "\ufeff".encode()


class PlainReader:
    """Reads whole lines of one file, those that are plain.

    Lines are plain when `csv` in strict mode, with spaces after a delimiter left out, must read each as one row of `width`
    fields: no zero byte, no blank line, no line end but LF and CR LF, every quote right at the beginning or the end of a field
    of one line that does not begin with a space, and at least two columns. No value is made of a text.

    Parameters
    ----------
    width, places : the number of columns, and which of them are wanted.
    longest : bytes of a line that `csv` might refuse.
    """

    def __init__(self, delimiter: str, width: int, places: Sequence[int], longest: int):
        self._delimiter, self._longest = delimiter, longest
        self._names = [str(place) for place in range(width)]
        self._places = [self._names[place] for place in places]

    def columns(self, data: bytes) -> list[Texts] | None:
        """The columns of whole lines in UTF-8, of which the last may lack its end; None when they are not plain."""
        if len(self._names) < 2 or self._delimiter not in _DELIMITERS or b"\0" in data or data.startswith(_MARK):
            return None
        if not _lines_are_short(data, self._longest) or (b"\r" in data and not _returns_are_plain(data)):
            return None
        if b'"' in data and not _quotes_are_plain(np.frombuffer(data, dtype=np.uint8), ord(self._delimiter)):
            return None
        table = self._table(data)
        if table is None or table.num_rows != data.count(b"\n") + (not data.endswith(b"\n")):  # blank lines are left out
            return None
        return [_texts(table.column(name).chunk(0)) for name in self._places]  # one block, one chunk

    def _table(self, data: bytes) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        try:
            return csv.read_csv(
                pa.py_buffer(data),
                read_options=csv.ReadOptions(column_names=self._names, block_size=len(data) + 1, use_threads=False),
                parse_options=csv.ParseOptions(delimiter=self._delimiter, quote_char='"' if b'"' in data else False),
                convert_options=csv.ConvertOptions(
                    include_columns=self._places, column_types=dict.fromkeys(self._places, pa.string()), check_utf8=False
                ),
            )
        except pa.ArrowException:  # a row of another length, for example: `csv` says which
            return None


def _texts(array: Any) -> Texts:
    encoded = array.dictionary_encode()
    return Texts(texts=StringTexts(encoded.dictionary, strip=" "), codes=whole_array(encoded.indices))


def _lines_are_short(data: bytes, longest: int) -> bool:
    """Whether lines are surely shorter than `longest` bytes: there is a line end in every stretch of half as many."""
    half = max(longest // 2, 1)
    return all(data.find(b"\n", start, start + half) >= 0 for start in range(0, len(data) - half + 1, half))


def _returns_are_plain(data: bytes) -> bool:
    """Whether every CR stands before an LF, and no line consists of these alone."""
    return data[:1] != b"\r" and b"\n\r\n" not in data and data.count(b"\r") == data.count(b"\r\n")


def _quotes_are_plain(values: np.ndarray, delimiter: int) -> bool:
    """Whether quotes stand in pairs around fields of one line, with nothing but a border of the field beyond them."""
    quotes = np.flatnonzero(values == _QUOTE)
    if len(quotes) % 2:
        return False
    first, last = quotes[::2], quotes[1::2]
    ends = np.flatnonzero(values == _NEWLINE)
    around = np.concatenate([[_NEWLINE], values, [_NEWLINE]])  # what stands before place i is at i, what stands after at i + 2
    return bool(
        np.isin(around[first], (delimiter, _NEWLINE)).all()
        and np.isin(around[last + 2], (delimiter, _NEWLINE, _RETURN)).all()
        and (around[first + 2] != _SPACE).all()
        and (np.searchsorted(ends, first) == np.searchsorted(ends, last)).all()
    )
