"""Columns that name persons, records or places one by one: they are left out of a draft, and say how rows hang together."""

from __future__ import annotations

import re

import numpy as np

from synthrelease.drafting.column_draft import Answers, LeftOut
from synthrelease.drafting.missing import NUMBER

_NAMED = re.compile(
    r"(^|_)(id|ids|number(?!_of)|no|nr|num(?!_of)|key|code|serial|ssn|name|address|phone|email)($|_)|(?-i:Id$|ID$)",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(^|[_. ])(hh|person|patient|case|pat|pers|household|subject|client|resp)?_?(id|ids|ident|idnr|nr|no|key|serial)($|[_. ])"
    r"|(?-i:Id$|ID$)|lopnr|l[oö]pnummer|serialno|personnummer"
    r"|(^|_)(ssn|nhs|cpr|bsn|pesel|curp|nif|dni|uuid|guid|hash|pseudonym)($|_)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\d{1,18}(\.0*)?", re.ASCII)
_FEWEST_ROWS = 50
_CHANCE = 10
"""Pairs of rows that would have the same number by chance, from which on it is none that no two have."""
_MANY = 500
"""Different values of a key whose values come again; codes and quantities of that name have fewer."""


def left_out_as_key(answers: Answers) -> LeftOut | None:
    """Why a column is a key and no answer; None where it is none.

    A key is told by values of which nearly every row has one of its own, or no two rows the same; where they come again, by its
    name, or by digits that no quantity has: always eight or more, or always five or more of which most numbers occur, and in
    both halves of their range.
    """
    texts, rows = answers.texts, answers.rows
    numeric = all(map(NUMBER.fullmatch, texts))
    if answers.entry.number or len(texts) <= _FEWEST_ROWS:
        return None
    if len(texts) > rows / 2 and (_NAMED.search(answers.source) or not numeric):
        return LeftOut(source=answers.source, because="nearly every row has a value of its own: it may identify persons")
    whole = all(map(_WHOLE.fullmatch, texts))
    if whole and not answers.missing_rows and len(texts) == rows and _differ_by_design(answers):
        return LeftOut(source=answers.source, because="no two rows have the same number: it may identify persons")
    if len(texts) < _MANY or answers.entry.labels or not (whole or not numeric):
        return None
    if _KEY.search(answers.source) or (whole and _are_serial_numbers(answers)):
        most = max(texts.values())
        because = f"it has {len(texts)} different values, up to {most} rows each, as a key of persons, records or places has"
        return LeftOut(source=answers.source, because=because, rows_of_one=most)
    return None


def _differ_by_design(answers: Answers) -> bool:
    """Whether somebody saw to it that numbers differ: by chance ten pairs of rows would be equal, or all have nine digits."""
    values, rows = np.array([float(text) for text in answers.texts]), answers.rows
    pairs = rows * (rows - 1) / 2 / (values.max() - values.min() + 1)
    return bool(pairs >= _CHANCE or (values.min() >= 1e8 and len(_widths(answers)) == 1))


def _are_serial_numbers(answers: Answers) -> bool:
    if len(widths := _widths(answers)) > 1:
        return False
    values = np.array([float(text) for text in answers.texts])
    times = np.array(list(answers.texts.values()))
    low, high = values.min(), values.max()
    lower_half = times[values <= (low + high) / 2].sum() / answers.rows
    filled = len(values) / (high - low + 1)
    return min(widths) >= 8 or (min(widths) >= 5 and filled > 0.5 and 0.35 < lower_half < 0.65)


def _widths(answers: Answers) -> set[int]:
    return {len(text.partition(".")[0]) for text in answers.texts}
