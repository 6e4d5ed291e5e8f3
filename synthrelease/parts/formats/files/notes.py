"""A note in a file of Stata, which `notes` shows there: pyreadstat writes none.

Notes are characteristics of the dataset: `note0` of `_dta` is their number, `note1` the first (Stata, help dta, section 5.10).
They stand in the section <characteristics>; the places of the sections behind it, in <map>, move by as many bytes.
"""

from __future__ import annotations

import struct

_EMPTY = b"<characteristics></characteristics>"
MAP = b"<map>"
_NAME = 129
"""Bytes of a name in Stata 14 and later, filled up with zeros."""
SECTIONS, _BEHIND = 14, 9
"""Places in <map>, and how many of them are not behind the characteristics."""


def with_note(content: bytes, note: str) -> bytes:
    """The same file with one note of the dataset.

    Raises
    ------
    ValueError : for a file that has characteristics, or that is none of Stata 14 and later.
    """
    start = content.find(MAP) + len(MAP)
    places = list(struct.unpack_from(f"<{SECTIONS}Q", content, start)) if start >= len(MAP) else []
    if b"<byteorder>LSF</byteorder>" not in content[:start] or content[places[8] : places[9]] != _EMPTY:
        raise ValueError("expected a file of Stata 14 or later, little-endian, without characteristics")
    section = b"<characteristics>" + _characteristic("note0", "1") + _characteristic("note1", note) + b"</characteristics>"
    moved = len(section) - len(_EMPTY)
    after = [place + moved * (number >= _BEHIND) for number, place in enumerate(places)]
    head = content[:start] + struct.pack(f"<{SECTIONS}Q", *after) + content[start + 8 * SECTIONS : places[8]]
    return head + section + content[places[9] :]


def _characteristic(name: str, text: str) -> bytes:
    names = b"".join(each.encode().ljust(_NAME, b"\0") for each in ("_dta", name))
    value = text.encode() + b"\0"
    return b"<ch>" + struct.pack("<I", len(names) + len(value)) + names + value + b"</ch>"
