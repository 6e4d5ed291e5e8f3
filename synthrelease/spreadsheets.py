"""Texts that a spreadsheet would execute when it opens a CSV file.

A cell that starts with one of = + - @ (or its full-width form) is taken for a formula, also after spaces and invisible
characters. Which text starts a cell depends on the delimiter that the reader's country uses, so a text is looked at after
every comma, semicolon, tab, bar, quote and line break (OWASP, "CSV Injection").

A negative number such as -1 or -2.5 is a number and nothing else in every spreadsheet, so it is no formula here. A single
"-" or "+1" would do no harm either, but the one is the start of a formula that somebody types on, and the other loses its
sign when the file is saved again: both are refused, and the text in the private file may be anything all the same
(`categories = { none = ["-"] }`).
"""

from __future__ import annotations

import re

_SEPARATORS = re.compile("[,;|\"'\t\r\n\v\f\x85\u2028\u2029]")
_INVISIBLE = " \u00a0\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u3000\ufeff"
_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NEGATIVE = re.compile(r"-[0-9]+(\.[0-9]+)?")


def is_executable(text: str) -> bool:
    """Whether a spreadsheet might take the text, or a part of it that it takes for a cell, for a formula."""
    cells = [cell.strip(_INVISIBLE) for cell in _SEPARATORS.split(text)]
    if text[:1] in ("\t", "\r"):
        return True  # some take these for the start of a formula
    if _NEGATIVE.fullmatch(cells[-1]):
        cells.pop()  # only a number that nothing follows: under another delimiter "-1, x" is one cell
    return any(cell.startswith(_STARTS) for cell in cells)
