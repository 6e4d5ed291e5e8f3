"""The lines of data.csv as bins: read in pieces, since a table of many columns has far more texts than it has labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

ROWS_PER_PIECE = 50_000
MARK = "1"
"""What stands in every row of the column `synthetic`, where a table has one."""


class WrongLine(Exception):
    """A line that no released table has.

    Attributes
    ----------
    line : its number, from 2 on: the header is the first.
    fields : how many fields it has.
    column, label : where a field is no label of its column, the column's place and the text; else None.
    is_weight, is_mark : whether the field that does not fit is the weight, or says that the row is synthetic; `label` its text.
    """

    def __init__(
        self,
        line: int,
        fields: int,
        column: int | None = None,
        label: str | None = None,
        *,
        is_weight: bool = False,
        is_mark: bool = False,
    ):
        super().__init__("a line that does not fit the schema")
        self.is_weight, self.is_mark = is_weight, is_mark
        self.line, self.fields, self.column, self.label = line, fields, column, label


def bins_of_lines(lines: Iterable[Sequence[str]], labels: Sequence[Sequence[str]]) -> Iterator[list[np.ndarray]]:
    """Pieces of the table: for every column, (rows of the piece,) the bins, in the smallest type that holds them.

    Parameters
    ----------
    lines : the fields of every line after the header.
    labels : for every column, the labels of its bins.

    Raises
    ------
    WrongLine : at the first piece with a line that does not fit.
    """
    places = [{label: place for place, label in enumerate(known)} for known in labels]
    types = [np.min_scalar_type(max(len(known) - 1, 0)) for known in labels]
    read, line = iter(lines), 2
    while rows := list(islice(read, ROWS_PER_PIECE)):
        yield _bins(rows, places, types, line)
        line += len(rows)


def without_weights(lines: Iterable[Sequence[str]], weights: list[float]) -> Iterator[Sequence[str]]:
    """The fields of every line but the last one, a weight of at least 0, which is put at the end of `weights`.

    Raises
    ------
    WrongLine : at the first line whose last field is no weight.
    """
    for number, line in enumerate(lines, start=2):
        try:
            weight = float(line[-1]) if line else math.nan
        except ValueError:
            weight = math.nan
        if not 0 <= weight < math.inf:
            raise WrongLine(number, len(line), label=line[-1] if line else "", is_weight=True)
        weights.append(weight)
        yield line[:-1]


def without_marks(lines: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The fields of every line but the last one, which says that the row is synthetic.

    Raises
    ------
    WrongLine : at the first line that does not end with MARK.
    """
    for number, line in enumerate(lines, start=2):
        if not line or line[-1] != MARK:
            raise WrongLine(number, len(line), label=line[-1] if line else "", is_mark=True)
        yield line[:-1]


def _bins(rows: list[Sequence[str]], places: list[dict[str, int]], types: list[np.dtype], line: int) -> list[np.ndarray]:
    ragged = next((i for i, row in enumerate(rows) if len(row) != len(places)), None)
    if ragged is not None:
        raise WrongLine(line + ragged, len(rows[ragged]))
    found = []
    for column, (texts, known, kind) in enumerate(zip(zip(*rows, strict=True), places, types, strict=True)):
        unknown = set(texts) - known.keys()
        if unknown:
            first = next(i for i, text in enumerate(texts) if text in unknown)
            raise WrongLine(line + first, len(places), column, texts[first])
        found.append(np.fromiter(map(known.__getitem__, texts), dtype=kind, count=len(texts)))
    return found
