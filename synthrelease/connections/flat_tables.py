"""Tables of a FlatBuffer, in which Arrow says how long each part of a file is, and whose they are. No value stands in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class FlatTable:
    """A table of a FlatBuffer: numbers and tables in numbered fields, which may lack.

    Parameters
    ----------
    data : the buffer.
    at : where the table begins.
    """

    def __init__(self, data: bytes, at: int):
        self._data, self._at = data, at
        self._fields = at - self._number(at, 4)

    @classmethod
    def first(cls, buffer: Any) -> FlatTable:
        data = buffer.to_pybytes()
        return cls(data, int.from_bytes(data[:4], "little"))

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._data[at : at + size], "little", signed=size >= 4)

    def _place(self, field: int) -> int:
        """Where the field is; 0 where it lacks."""
        slot = 4 + 2 * field
        offset = self._number(self._fields + slot, 2) if slot < self._number(self._fields, 2) else 0
        return self._at + offset if offset else 0

    def has(self, field: int) -> bool:
        return bool(self._place(field))

    def byte(self, field: int) -> int:
        return self._data[place] if (place := self._place(field)) else 0

    def number(self, field: int) -> int:
        return self._number(place, 8) if (place := self._place(field)) else 0

    def table(self, field: int) -> FlatTable:
        place = self._place(field)
        return FlatTable(self._data, place + self._number(place, 4))

    def pairs(self, field: int) -> Iterator[tuple[int, int]]:
        """The structures of two numbers of a vector."""
        if place := self._place(field):
            start = place + self._number(place, 4)
            for number in range(self._number(start, 4)):
                at = start + 4 + 16 * number
                yield self._number(at, 8), self._number(at + 8, 8)


def buffers_of(schema: Any) -> list[tuple[str, int, int]]:
    """(name, first buffer, behind the last one) of each column of an Arrow schema in a batch."""
    places, first = [], 0
    for field in schema:
        last = first + _n_buffers(field.type)
        places.append((field.name, first, last))
        first = last
    return places


def _n_buffers(kind: Any) -> int:
    from pyarrow import types

    kind = getattr(kind, "storage_type", kind)
    inside = 0 if types.is_dictionary(kind) else sum(_n_buffers(kind.field(place).type) for place in range(kind.num_fields))
    return inside + (0 if types.is_null(kind) else kind.num_buffers)
