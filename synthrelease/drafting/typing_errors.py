"""Typing errors of a public file: one text that is no number must not make a column of numbers one of codes.

In a column of numbers a release takes a text that is no number for a missing value, and one that is no date in a column of
dates. A draft lists such texts as missing values where they are few, and asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from synthrelease.drafting.column_draft import Answers
from synthrelease.drafting.dates import FORMATS, date_format
from synthrelease.drafting.missing import NUMBER
from synthrelease.errors import so_many

_ONE_IN = 1000
"""Of so many rows at most one has such a text."""
_MANY = 20
"""Different texts of which a column has more, where it is one of numbers or dates."""
_TWICE = 2
"""How often a typing error occurs; a code that is seldom used may occur more often."""
_NAMED = 3


def without_typing_errors(answers: Answers) -> tuple[Answers, str]:
    """The column with such texts as missing values, and what the steward is asked about them; empty where there are none."""
    texts, entry = answers.texts, answers.entry
    most = answers.rows // _ONE_IN
    if not most or len(texts) <= _MANY or entry.labels or entry.code:
        return answers, ""
    if all(map(NUMBER.fullmatch, texts)) or date_format(texts):
        return answers, ""
    strays = _strays(texts, lambda text: bool(NUMBER.fullmatch(text)), most)
    if strays and max(strays.values()) <= _TWICE:
        other = json.dumps({answers.source: {"kind": "code"}}, ensure_ascii=False)
        if_not = f"If it holds codes, draft again with a codebook: {other}"
        return _without(answers, strays), f"no number is in it in {_rows(strays)}. {_TAKEN}. {if_not}"
    for form in FORMATS:
        if strays := _strays(texts, partial(_is_date, (form,)), most):
            return _without(answers, strays), f"no date of the years 1850 to 2100 is in it in {_rows(strays)}. {_TAKEN}"
    return answers, ""


_TAKEN = "Such texts are listed as missing values"


def _is_date(formats: tuple[str, ...], text: str) -> bool:
    return date_format([text], formats) is not None


def _strays(texts: Mapping[str, int], fits: Callable[[str], bool], most: int) -> dict[str, int]:
    """The texts that do not fit, where some do not and no more rows than `most` have one; else none."""
    found, rows = dict[str, int](), 0
    for text, times in texts.items():
        if not fits(text):
            found[text], rows = times, rows + times
            if rows > most:
                return {}
    return found


def _without(answers: Answers, strays: Mapping[str, int]) -> Answers:
    texts = {text: times for text, times in answers.texts.items() if text not in strays}
    missing = (*answers.missing_values, *strays)
    return replace(answers, texts=texts, missing_values=missing, missing_rows=answers.missing_rows + sum(strays.values()))


def _rows(strays: Mapping[str, int]) -> str:
    named = ", ".join(map(repr, list(strays)[:_NAMED])) + (", ..." if len(strays) > _NAMED else "")
    return f"{so_many(sum(strays.values()), 'row')} of the public file ({named})"
