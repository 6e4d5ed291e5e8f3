"""Count the rows of one piece of a register, whatever the others hold.

Which these are, record numbers tell, which are public (`record_numbers`): a piece is handed in, and looks at that column alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np

from synthrelease.data.schema import Schema
from synthrelease.enclave.counting import CountedRows, count_batches
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Batch, Texts
from synthrelease.privacy.subsets import SplitRule
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source, unwritten


class Numbers(Protocol):
    """The record numbers of `n_rows` rows."""

    n_rows: int

    def add(self, texts: Texts) -> np.ndarray:
        """Return (n_rows,) the piece of each of some more rows."""
        ...

    def digest(self) -> str:
        """Return a digest of all numbers, each of which occurs once."""
        ...


class RegisterPiece(Protocol):
    """A piece of a register."""

    @property
    def rule(self) -> SplitRule: ...

    def numbers(self, policy: InputTable) -> Numbers: ...

    @property
    def of_first_version(self) -> RegisterPiece:
        """The piece in a register that version 1.0.0 split, by numbers as they are written."""
        ...

    def fits(self, numbers: Numbers) -> bool: ...

    def check(self, numbers: Numbers) -> None: ...


def count_piece(source: Source, schema: Schema, policy: InputTable, piece: RegisterPiece) -> CountedRows:
    """Yield what the rows of one piece add up to; `n_rows` is the number of rows of the whole file, which is public.

    Values in the rows of other pieces have no effect, whatever they are.

    Raises
    ------
    InputError : as `count_batches`; for numbers that are missing, that occur twice, or that are others than when the register
        was split; for a file that was written meanwhile.
    """

    def counted(piece: RegisterPiece) -> tuple[CountedRows, Numbers]:
        numbers = piece.numbers(policy)

        def own() -> Iterator[Batch]:
            for row, columns in batches(source, schema, policy, [piece.rule.by]):
                inside = numbers.add(columns[piece.rule.by]) == piece.rule.piece
                columns_of_rows = {name: texts for name, texts in columns.items() if name != piece.rule.by}
                yield row, {name: replace(texts, codes=texts.codes[inside]) for name, texts in columns_of_rows.items()}

        return count_batches(own(), schema, policy), numbers

    with unwritten(lambda: [source.files()]):
        rows, numbers = counted(piece)
        if not piece.fits(numbers):  # of record numbers alone, which are public
            again = counted(piece.of_first_version)
            rows, numbers = again if piece.fits(again[1]) else (rows, numbers)
        piece.check(numbers)
    return replace(rows, n_rows=numbers.n_rows)
