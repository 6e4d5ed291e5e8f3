"""Columns of codes and categories: each by itself, the frequent ones, or what the first characters of a code say."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from synthrelease.data.texts import alike, bare
from synthrelease.errors import so_many
from synthrelease.studio.drafting.column_draft import NUMBER, Answers, CodeDraft, ColumnDraft, plain_label, plain_name

MAX_CATEGORIES = 40
"""Categories that are released each by itself; of more, the frequent ones, and the others together."""
MAX_WELL_FILLED, WELL_FILLED = 100, 100
"""Categories that are released each by itself where at least half of them have so many rows."""
COMMON = 0.0025
"""Share of the rows from which on a category stays by itself where there are too many of them."""
MOST_TOGETHER = 0.2
"""Share of the rows of which no more than "all others" is told; above, the first characters of structured codes tell more."""
MAX_BEGINNINGS = 100
_LONGEST = 200
"""Characters of a code, at most, as a codelist has them."""
_WITH_POINT = re.compile(r"\d+(\.0+)?", re.ASCII)
_LETTERS_FIRST = re.compile(r"([A-Za-z]{1,2})\d[0-9A-Za-z]*([.\-/][0-9A-Za-z]+)*", re.ASCII)
_DOTTED = re.compile(r"(\d{1,3})\.[0-9A-Za-z.]+", re.ASCII)


def draft_by_beginning(answers: Answers, taken: Collection[str]) -> ColumnDraft | None:
    """Codes of a classification by their first characters, where these make at most 100 groups.

    Such are the chapters of diagnoses (I21.4: I), groups of occupations (2310: 23), the counties of municipalities. Codes that
    the public file does not have lie in one of the groups, too.

    Returns
    -------
    None for few codes, codes that the codebook names, texts that are built in no such way, and where the frequent codes
    tell more.
    """
    texts = answers.texts
    if not are_too_many(texts) or (texts.keys() & answers.entry.labels.keys() and not answers.named_by):
        return None
    characters, named = _beginning(texts), share_of_frequent(texts)
    if not characters or named >= 1 - MOST_TOGETHER:
        return None
    groups = _together(texts, lambda text: text[:characters])
    first = "first character" if characters == 1 else f"first {characters} characters"
    many = len(_frequent(texts))
    have = "the most frequent has" if many == 1 else f"the {many} most frequent have"
    frequent = f"{have} {named:.0%} of its rows" if many else "none is frequent"
    remark = f"the {first} of {len(texts)} codes, of which {frequent}"
    grouped = replace(answers, texts=groups, entry=replace(answers.entry, labels={}) if answers.named_by else answers.entry)
    return replace(draft_codes(grouped, taken, remark, apart=True), kind="code", characters=characters)


def _beginning(texts: Collection[str]) -> int:
    """How many first characters say what a code is about; 0 where they do not tell, or make more than 100 groups.

    The letters before digits, the digits before a point, or the first two of at least four digits (more where all begin so).
    """
    for pattern in (_LETTERS_FIRST, _DOTTED):
        if found := [match[1] for text in texts if (match := pattern.fullmatch(text))]:
            same = len(found) == len(texts) and len({len(letters) for letters in found}) == 1
            return len(found[0]) if same and 1 < len(set(found)) <= MAX_BEGINNINGS else 0
    lengths = {len(text) for text in texts}
    if not all(map(str.isdigit, texts)) or len(lengths) > 1 or min(lengths) < 4:
        return 0  # of numbers that lost their leading zeros the first digits say nothing
    groups = {k: len({text[:k] for text in texts}) for k in range(2, min(lengths))}
    first = next((k for k, n in groups.items() if n > 1), 0)
    return first if first and groups[first] <= MAX_BEGINNINGS else 0


def _together(texts: Mapping[str, int], named: Callable[[str], str]) -> Mapping[str, int]:
    """How often each name occurs that texts are given."""
    found = Counter[str]()
    for text, times in texts.items():
        found[named(text)] += times
    return found


def are_too_many(texts: Mapping[str, int]) -> bool:
    """Whether categories are too many to stand by themselves."""
    well_filled = len(texts) <= MAX_WELL_FILLED and statistics.median(texts.values()) >= WELL_FILLED
    return len(texts) > MAX_CATEGORIES and not well_filled


def share_of_frequent(texts: Mapping[str, int]) -> float:
    """Share of the rows that have one of the codes that would stay by themselves."""
    return sum(texts[text] for text in _frequent(texts)) / sum(texts.values())


def _frequent(texts: Mapping[str, int]) -> list[str]:
    """The codes that stay by themselves where there are too many of them."""
    rows = sum(texts.values())
    first = sorted(texts, key=lambda text: -texts[text])[: MAX_CATEGORIES - 1]
    return [text for text in first if texts[text] >= COMMON * rows]


def draft_codes(answers: Answers, taken: Collection[str], remark: str, *, apart: bool = False) -> ColumnDraft:
    """A column whose texts are codes or categories, with the labels that the codebook gives them.

    Parameters
    ----------
    apart : whether each stays apart, however many there are.
    """
    written = answers
    answers, spellings = _in_one_spelling(answers)
    known = {**{text: text for text in answers.texts}, **answers.entry.labels}
    order = [text for text in known if text not in answers.missing_values and text.isprintable() and len(text) <= _LONGEST]
    listed = set(order)
    unlisted = {text: times for text, times in answers.texts.items() if text not in listed}
    named = bool(answers.entry.labels)
    order.sort(key=_in_order)
    used = [plain_label(known[text]) for text in order]
    codes = {}
    for text, label in zip(order, used, strict=True):
        shown = label if used.count(label) == 1 else plain_label(f"{label} ({text})")
        codes[text] = CodeDraft(label=shown, rows=answers.texts.get(text, 0), spellings=spellings.get(text, ()))
    rows = answers.rows
    rare = [draft.label for draft in codes.values() if draft.rows < 0.01 * rows]
    common: tuple[str, ...] = ()
    rows_of = {text: draft.rows for text, draft in codes.items()}
    if not apart and are_too_many(rows_of):
        frequent = set(_frequent(rows_of))
        common = tuple(text for text in order if text in frequent)
        each = f"each with at least {COMMON:.2%} of its rows"
        remark += f"; the {len(common)} most frequent, {each}, and all others together"
    elif unlisted and order and not apart:
        common = tuple(order)
        remark += f"; {_unlisted_in_words(unlisted)} ({so_many(sum(unlisted.values()), 'row')}) as all others"
    elif rare:
        remark += f"; below 1% of its rows: {', '.join(rare)}"
    remark += _spellings_in_words(spellings)
    as_numbers = all(NUMBER.fullmatch(text) for text in answers.texts)
    return ColumnDraft(
        name=plain_name(answers.source, taken),
        source=answers.source,
        kind="code" if named or common or (as_numbers and not any(spellings.values())) else "category",
        remark=remark,
        doubt=_spelling_question(written, spellings),
        description=answers.entry.description,
        codes=codes,
        common=common,
        missing_values=answers.missing_values,
        missing_label=answers.label_of_missing,
        missing_rows=answers.missing_rows,
    )


_YES = frozenset(
    [
        "true",
        "t",
        "yes",
        "y",
        "1",
        "1.0",
        "on",
        "ja",
        "j",
        "oui",
        "o",
        "si",
        "sí",
        "s",
        "sim",
        "sì",
        "tak",
        "wahr",
        "vrai",
        "verdadero",
    ]
)
_NO = frozenset(["false", "f", "no", "n", "0", "0.0", "off", "nein", "non", "não", "nao", "nie", "falsch", "faux", "falso"])
_ZERO_FIRST = re.compile(r"0\d+", re.ASCII)


def _in_one_spelling(answers: Answers) -> tuple[Answers, Mapping[str, tuple[str, ...]]]:
    """Merge the texts that are one answer in several spellings; return the other spellings of each remaining text.

    Texts are one answer when they differ by capitals, spaces, hidden characters or how an accent is stored ("Ja", "JA "), when
    a column holds nothing but words for yes and no ("TRUE", "yes", "1"), and when a code lost its leading zeros ("7", "0007").
    The most frequent spelling stays; 1.0 is 1. Codes of a codebook stay as they are, and so do texts of which there are many.
    """
    texts = answers.texts
    padded = {text for text in texts if _ZERO_FIRST.fullmatch(text)}
    if all(map(_WITH_POINT.fullmatch, texts)) and not padded and not texts.keys() & answers.entry.labels.keys():
        return replace(answers, texts=_together(texts, lambda text: text.partition(".")[0])), {}
    width = _code_width(texts)
    words = {text: " ".join(bare(text).casefold().split()) for text in texts}
    if set(words.values()) <= _YES | _NO and not _YES.isdisjoint(words.values()) and not _NO.isdisjoint(words.values()):
        words = {text: "yes" if word in _YES else "no" for text, word in words.items()}
    of_word: dict[str, list[str]] = {}
    for text in sorted(texts, key=lambda text: -texts[text]):
        of_word.setdefault(words[text].zfill(width), []).append(text)
    if answers.entry.labels or len(of_word) == len(texts) or len(texts) > MAX_CATEGORIES:
        return answers, {}
    for group in of_word.values():
        group.sort(key=lambda text: (not text.isprintable(), len(text) != width if width else False))
    merged = {group[0]: sum(texts[text] for text in group) for group in of_word.values()}
    return replace(answers, texts=merged), {group[0]: tuple(group[1:]) for group in of_word.values()}


def _code_width(texts: Collection[str]) -> int:
    """Return how many digits all codes have that start with 0 where shorter ones have lost their zeros; 0 elsewhere."""
    padded = {len(text) for text in texts if _ZERO_FIRST.fullmatch(text)}
    lengths = {len(text) for text in texts}
    return max(padded) if len(padded) == 1 and all(map(str.isdigit, texts)) and max(lengths) in padded else 0


def _spelling_question(answers: Answers, spellings: Mapping[str, tuple[str, ...]]) -> str:
    """Return the question about spellings that mean the same only if the steward says so; empty where there are none."""
    lost = [text for text in answers.texts if len(text) < _code_width(answers.texts)]
    if lost and not spellings:
        return (
            f"{len(lost)} of {len(answers.texts)} codes have lost their leading zeros, such as {lost[0]!r}. As they are, each "
            f"counts as a code of its own. Write all codes with {_code_width(answers.texts)} digits and draft again"
        )
    merged = [
        (first, *rest) for first, rest in spellings.items() if len({bare(text).casefold() for text in (first, *rest)}) > 1
    ]
    if not merged or not (lost or {bare(text).casefold() for text in merged[0]} <= _YES | _NO):
        return ""
    shown = "; ".join(" = ".join(map(repr, group)) for group in merged[:3])
    change = f"Apart, the column would have {len(answers.texts)} categories and not {len(spellings)}"
    return f"taken for one answer each: {shown}. {change}. If they differ, list them apart under categories"


def _unlisted_in_words(texts: Collection[str]) -> str:
    """Texts that no list can hold, and why."""
    unprintable = [ascii(text) for text in texts if len(text) <= _LONGEST]
    shown = ", ".join(unprintable[:3]) + (f" and {len(unprintable) - 3} more" if len(unprintable) > 3 else "")
    long = len(texts) - len(unprintable)
    reasons = [f"{so_many(len(unprintable), 'text')} with characters that cannot be printed ({shown})"] if unprintable else []
    return " and ".join([*reasons, *([f"{so_many(long, 'text')} of more than {_LONGEST} characters"] if long else [])])


def _spellings_in_words(spellings: Mapping[str, tuple[str, ...]]) -> str:
    """Which texts count as one category, for a remark; texts that look the same are shown with their codes."""
    groups = [(first, *others) for first, others in spellings.items() if others]
    shown = [" = ".join(map(ascii if alike(group) else repr, group)) for group in groups[:3]]
    more = f", and {len(groups) - 3} more" if len(groups) > 3 else ""
    return f"; counted as one category: {', '.join(shown)}{more}" if groups else ""


def _in_order(text: str) -> tuple[int, float, str]:
    """Numbers by size, before texts."""
    return (0, float(text), text) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else (1, 0.0, text)
