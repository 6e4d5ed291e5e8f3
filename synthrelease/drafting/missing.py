"""Which texts of a column stand for no answer: what a codebook says, and what registers use by custom."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from synthrelease.drafting.codebook import CodebookEntry

NUMBER = re.compile(r"[+-]?(\d{1,15}\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_MARKS = frozenset(["?", "??", "-", "--", "---", ".", "..", "...", "*", "#"])
_WORDS = frozenset(
    [
        *(
            "n/a",
            "na",
            "n.a.",
            "#n/a",
            "nan",
            "nil",
            "null",
            "unk",
            "unknown",
            "missing",
            "refused",
            "unspecified",
            "undefined",
        ),
        *("not stated", "not known", "not available", "not applicable", "not specified", "not answered", "not reported"),
        *("no answer", "don't know", "dk"),
        *("k.a.", "keine angabe", "unbekannt", "n.d.", "s/d", "sin dato", "no especificado", "se ignora", "ignorado"),
        *("non renseigné", "inconnu", "sconosciuto", "onbekend", "okänd", "ukjent", "ukendt", "uppgift saknas"),
    ]
)
_AMONG_NUMBERS = frozenset(["n", "u", "x", "none"])
_NO_DATE = re.compile(
    r"(9999|0000|8888)[-/.]?(99|00|88|12|01)[-/.]?(99|00|88|31|01)|(99|00|88)[-/.](99|00|88)[-/.](9999|0000|8888)"
)
_NINES = re.compile(r"-?(9{2,}|[789]|9+[6789]|8{2,}|7{2,})(\.0*)?")
_FAR = 5
"""How many times the largest other number a 99 or 999 must be, where a column holds many numbers."""
_FEW_WORDS = 3
_FEW_NUMBERS = 10
_GAP, _MANY = 2, 20
"""How many times the range of at least 20 other numbers lies between them and a 777, 888 or 999."""


def missing_texts(texts: Mapping[str, int], entry: CodebookEntry) -> tuple[str, ...]:
    """The texts of a column that stand for no answer, in the order of the file's texts.

    Beside what the codebook says: words such as "?" and "unknown"; "N" or "U" among numbers; dates such as 9999-99-99; codes of
    nines (97, 98, 99, 999; also -9, 777, 888) far from all other numbers of the column, unless the codebook says what they
    mean; -1 and the like below a quantity that is never negative.

    Parameters
    ----------
    texts : how often each text occurs, without surrounding blanks.
    """
    said = {text for text in texts if text in entry.missing}
    rest = [text for text in texts if text not in said and text not in entry.labels]
    numbers = [text for text in rest if NUMBER.fullmatch(text)]
    known = _MARKS | _WORDS | (_AMONG_NUMBERS if _mostly_numbers(texts) else frozenset())
    words = {text for text in rest if text.lower() in known}
    dates = {text for text in rest if _NO_DATE.fullmatch(text)}
    found = said | words | dates | _words_among_numbers(rest, texts) | _far_codes(texts, entry, numbers)
    found |= set(codes_below_zero(texts, entry))
    return tuple(text for text in texts if text in found)


def codes_below_zero(texts: Mapping[str, int], entry: CodebookEntry) -> tuple[str, ...]:
    """Up to three codes from -1 to -9 apart from at least ten other numbers that are never negative: "never", "not applicable".

    They are no tail of the other numbers: the codebook names them, -1 is not among them, or it is alone or more frequent than 0
    and 1. A column whose other numbers have names, too, holds codes, of which these may be some.
    """
    below = [text for text in texts if text[:1] == "-" and NUMBER.fullmatch(text) and not _NINES.fullmatch(text)]
    if not 1 <= len(below) <= 2 * _FEW_WORDS:
        return ()
    values = {text: float(text) for text in texts if NUMBER.fullmatch(text)}
    rows = {values[text]: texts[text] for text in below}
    others = {value: texts[text] for text, value in values.items() if value >= 0}
    if not 1 <= len(rows) <= _FEW_WORDS or len(others) < _FEW_NUMBERS or not rows.keys() <= set(range(-9, 0)):
        return ()
    if entry.number or sum(text in entry.labels for text in values) > len(values) / 2:
        return ()
    named = all(text in entry.labels for text in below)
    alone = set(rows) == {-1.0} and (len(others) >= _MANY or rows[-1.0] > max(others.get(0.0, 0), others.get(1.0, 0)))
    spike = -1.0 in rows and min(rows.values()) > max(others.get(0.0, 0), others.get(1.0, 0))
    return tuple(below) if named or -1.0 not in rows or alone or spike else ()


def _words_among_numbers(rest: list[str], texts: Mapping[str, int]) -> frozenset[str]:
    """At most three words without a digit in a column of many numbers; "<5" and "100+" say something."""
    others = [text for text in rest if not NUMBER.fullmatch(text)]
    numbers = len(texts) - len(others)
    words = len(others) <= _FEW_WORDS and all(re.fullmatch(r"\D*[^\W\d_]\D*", text) for text in others)
    rare = sum(texts[text] for text in others) < sum(texts.values()) / 4
    return frozenset(others) if words and rare and numbers >= _MANY else frozenset()


def _spikes(texts: Mapping[str, int], values: Mapping[str, float]) -> frozenset[str]:
    """97, 98 and 99 where they are far more frequent than all of the numbers from 80 to 96, of which there are some.

    Of ages or hours the last ones are the rarest; a code that stands for no answer is not.
    """
    before = [texts[text] for text, value in values.items() if 80 <= value < 97]
    last = [text for text, value in values.items() if value in (97, 98, 99)]
    beyond = any(value > 99 for value in values.values())
    frequent = len(before) >= 3 and not beyond and all(texts[text] > 3 * max(before) for text in last)
    return frozenset(last) if frequent else frozenset()


def _mostly_numbers(texts: Mapping[str, int]) -> bool:
    numbers = sum(1 for text in texts if NUMBER.fullmatch(text))
    return numbers >= 2 and numbers >= len(texts) - 3


def _far_codes(texts: Mapping[str, int], entry: CodebookEntry, unnamed: list[str]) -> frozenset[str]:
    """Codes of nines with a wide gap to the other numbers of the column."""
    values = {text: float(text) for text in texts if NUMBER.fullmatch(text) and text not in entry.missing}
    suspects = {text for text in unnamed if _NINES.fullmatch(text) and texts[text] > 1}
    others = [value for text, value in values.items() if text not in suspects]
    if not others and len(texts) > len(suspects) + 1:
        return frozenset(text for text in suspects if len(text) > 1)  # 99 among words
    if not suspects or len(others) < 2:
        return frozenset()
    low, high = min(others), max(others)
    few = len(others) <= 60 and high < 80
    gap = _GAP * (high - low) if len(others) >= _MANY else math.inf
    spikes = _spikes(texts, values)
    return frozenset(
        text
        for text in suspects
        if text in spikes
        or (low >= 0 and values[text] < 0)
        or (abs(values[text]) >= 10 and few and values[text] > high + 5 and values[text] > 1.5 * high)
        or (values[text] >= 99 and values[text] > _FAR * max(high, 1))
        or (values[text] >= 777 and values[text] - high > gap)
    )
