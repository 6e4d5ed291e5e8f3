"""Columns of a public file that go together one to one, found on raw values: a code and its text, or one thing said twice."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from synthrelease.drafting.column_draft import Answers, LeftOut
from synthrelease.drafting.keys import left_out_as_key
from synthrelease.drafting.missing import NUMBER
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.rows import PublicRows
from synthrelease.drafting.said_twice import LEAST

_ALMOST, _ALMOST_BESIDE = 0.98, 0.9
"""Share of the rows in which columns agree that almost say the same: of all, and of those outside the most frequent pair."""
_FEWEST = 5
"""Values of columns that almost say the same, at least: of fewer, many agree by what they mean."""
_SHORT, _TIMES = 6, 2
"""Characters of a code of letters at most, and how many times as long its texts are on average."""
_WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class OneToOne:
    """What came of it.

    Attributes
    ----------
    answers : of the columns that stay; a code has the labels that its text gave.
    left_out : the other columns.
    doubts : by the name of a column, another one that almost says the same.
    """

    answers: Mapping[str, Answers]
    left_out: Sequence[LeftOut]
    doubts: Mapping[str, str] = field(default_factory=dict)


def one_to_one(answers: Mapping[str, Answers], rows: PublicRows, file: PublicFile) -> OneToOne:
    """One column for each group of columns that tell one another in every row of the public file.

    Of a code and its texts the code stays, and gets the texts as labels; of others the first one stays. Columns that agree in
    nearly every row are asked about.
    """
    counts = {source: counted for source, found in answers.items() if (counted := _counts(found, rows)) is not None}
    alike = [pair for pair in combinations(counts, 2) if _may_tell(counts[pair[0]], counts[pair[1]])]
    shares = {pair: _agreement(rows.codes[pair[0]], rows.codes[pair[1]]) for pair in alike}
    exact = [pair for pair, share in shares.items() if share == 1]
    told = _told(file, exact, answers)
    kept, left_out = dict(answers), list[LeftOut]()
    for source in answers:
        group = [source, *(other for one, other in told if one == source and other in kept and source in kept)]
        if len(group) == 1 or source not in kept:
            continue
        code, text = _code_and_text(group, answers)
        if text:
            labels = told[code, text]
            if not kept[code].entry.labels:
                kept[code] = replace(kept[code], entry=replace(kept[code].entry, labels=labels), named_by=text)
        for other in group:
            if other != code:
                because = f"it is the codelist of {code!r}" if other == text else f"it says the same as {code!r}"
                left_out.append(LeftOut(source=other, because=f"{because} in every row of the public file"))
                del kept[other]
    doubts = {
        other: f"{one!r} says the same in {share:.1%} of the rows: if both mean the same, leave one out"
        for (one, other), share in shares.items()
        if share < 1 and share >= _ALMOST and one in kept and other in kept
    }
    return OneToOne(answers=kept, left_out=left_out, doubts=doubts)


def _counts(found: Answers, rows: PublicRows) -> np.ndarray | None:
    """How often each value occurs, the most frequent first; None for columns that nothing is said of: keys, numbers with
    fractions, and those that are nearly constant.
    """
    texts = found.texts
    if not 2 <= len(texts) <= found.rows / 2 or left_out_as_key(found):
        return None
    if all(map(NUMBER.fullmatch, texts)) and not all(map(_WHOLE.fullmatch, texts)):
        return None
    counts = np.sort(np.bincount(rows.codes[found.source] + 1, minlength=len(texts) + 1))[::-1]
    return counts if counts[1] >= LEAST else None


def _may_tell(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether columns with these frequencies could agree in nearly all rows."""
    n, shorter = one.sum(), min(len(one), len(other))
    apart = np.abs(one[:shorter] - other[:shorter]).sum() + one[shorter:].sum() + other[shorter:].sum()
    return bool(apart <= 2 * (1 - _ALMOST) * n)


def _agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Share of the rows whose two values are each the most frequent one of the other; 0 where that is so by one frequent pair
    alone, or of few values.
    """
    width = int(other.max()) + 2
    pairs, rows = np.unique((one.astype(np.int64) + 1) * width + other + 1, return_counts=True)
    firsts, seconds = pairs // width, pairs % width
    most_of_first, most_of_second = np.zeros(firsts.max() + 1, dtype=np.int64), np.zeros(width, dtype=np.int64)
    np.maximum.at(most_of_first, firsts, rows)
    np.maximum.at(most_of_second, seconds, rows)
    mutual = (rows == most_of_first[firsts]) & (rows == most_of_second[seconds])
    if len(pairs) == len(np.unique(firsts)) == len(np.unique(seconds)):
        gaps = (firsts == 0) == (seconds == 0)
        return 1.0 if gaps.all() else 0.0
    agree, most = rows[mutual].sum(), rows.max()
    beside = (agree - most) / max(len(one) - most, 1)
    few = min(len(np.unique(firsts)), len(np.unique(seconds))) < _FEWEST
    return 0.0 if few or beside < _ALMOST_BESIDE else min(float(agree / len(one)), 1 - 1e-9)


def _told(
    file: PublicFile, pairs: Sequence[tuple[str, str]], answers: Mapping[str, Answers]
) -> dict[tuple[str, str], dict[str, str]]:
    """For the pairs that tell each other in every row, both ways, the text of one for each of the other: all rows are read."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {pair: set() for pair in pairs}
    for batch in file.batches() if pairs else ():
        for one, other in pairs:
            width = len(batch[other].texts)
            both = np.unique(np.asarray(batch[one].codes).astype(np.int64) * width + batch[other].codes).tolist()
            texts, others = batch[one].texts, batch[other].texts
            found[one, other] |= {((texts[at // width] or "").strip(), (others[at % width] or "").strip()) for at in both}
    told = {}
    for (one, other), together in found.items():
        given = {(a, b) for a, b in together if a in answers[one].texts or b in answers[other].texts}
        there, back = dict(given), {b: a for a, b in given}
        if len(there) == len(back) == len(given):
            told[one, other], told[other, one] = there, back
    return told


def _code_and_text(group: Sequence[str], answers: Mapping[str, Answers]) -> tuple[str, str]:
    """The column of a group that stays, and the one that has its labels; empty where none has."""
    numeric = [source for source in group if all(map(NUMBER.fullmatch, answers[source].texts))]
    worded = sorted((source for source in group if source not in numeric), key=lambda source: -_length(answers[source]))
    if numeric and worded and not answers[numeric[0]].entry.number and not _writes_number(answers[worded[0]]):
        return numeric[0], worded[0]
    if numeric:
        return numeric[0], ""
    short = [source for source in worded if max(map(len, answers[source].texts)) <= _SHORT]
    if short and _length(answers[worded[0]]) >= _TIMES * _length(answers[short[-1]]):
        return short[-1], worded[0]
    return group[0], ""


def _length(found: Answers) -> float:
    return sum(map(len, found.texts)) / len(found.texts)


def _writes_number(found: Answers) -> bool:
    """Whether the texts are numbers with the same words: "34 years"."""
    return len({re.sub(r"\d+", "", text) for text in found.texts}) == 1
