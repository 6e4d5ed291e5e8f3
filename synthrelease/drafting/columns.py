"""A column of a public file is drafted as what it probably is: dates, numbers, codes, categories, a weight, or left out."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from synthrelease.drafting.bins import NumberBins, number_bins
from synthrelease.drafting.codebook import Entry
from synthrelease.drafting.missing import NUMBER, missing_texts
from synthrelease.spreadsheets import is_executable

MAX_CATEGORIES = 40
"""Categories that are released each by itself; of more, the frequent ones, and the others together."""
COMMON = 0.0025
"""Share of the rows from which on a category stays by itself where there are too many of them."""
MAX_CODES = 20_000
KEEP_MISSING = 20
"""Rows without an answer up to which they may be left out."""
_MANY = 50
"""Rows for each different number from which on numbers with gaps are taken for codes."""
_FEW = 20
"""Different whole numbers that are taken for codes where they have gaps."""
_AFTER_MARK = re.compile("([,;|\"'])[\\s=+@-]+")
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ı": "i", "Ø": "O", "Æ": "AE", "Ł": "L"}
)
"""Letters that are not made of a plain one and a mark."""
_RESERVED = {"and", "or", "not", "in"}
_WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?", re.ASCII)
_IDENTIFIER = re.compile(
    r"(^|_)(id|ids|number|no|nr|num|key|code|serial|ssn|name|address|phone|email)($|_)|Id$|ID$", re.IGNORECASE
)
_WEIGHT = re.compile(
    r"(^|[_. ])([a-z]*we?i?g?h?ts?|wt|wgt|fnlwgt|[ph]?wgtp|factor|fac_?exp|fexp|expansion|poids|gewicht|peso_?exp\w*)"
    r"(\d*)($|[_. ])",
    re.IGNORECASE,
)
_BARE = re.compile(r"weights?|wt|peso|poids|gewicht", re.IGNORECASE)
_BODY = re.compile(r"birth|body|baby|bab|kg|gram|newborn|born|infant|f[oe]et|geburts|körper|koerper|peso_?nac", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class CodeDraft:
    """A code or category: what it means in the release, and how often it occurs in the public file."""

    label: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class ColumnDraft:
    """One drafted column.

    Attributes
    ----------
    name, source : in the release, and in the file.
    kind : "integer", "real", "code" or "category".
    remark : for the steward.
    description : what a codebook says.
    part, minus, format : of a date: the part that is used, the column that is subtracted, and how it is written.
    bins : of a column of numbers.
    codes : text of the file -> what it becomes, of a code or category.
    common : codes that stay apart where all others are grouped together; empty where none are.
    missing_values : texts of this column that stand for no answer, beside those of every column.
    missing_label : what the bin of missing values is called.
    missing_rows : how many rows of the public file have no answer here.
    weight : whether it is a design weight.
    """

    name: str
    source: str
    kind: str
    remark: str
    description: str = ""
    part: str | None = None
    minus: str | None = None
    format: str | None = None
    bins: NumberBins | None = None
    codes: Mapping[str, CodeDraft] = field(default_factory=dict)
    common: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    missing_label: str = "missing"
    missing_rows: int = 0
    weight: bool = False

    @property
    def of_date(self) -> bool:
        return self.part is not None or self.minus is not None

    @property
    def n_bins(self) -> int:
        """How many values it is released in, the missing one apart."""
        if self.bins:
            return len(self.bins.coarse) + 1
        return len(self.common) + 1 if self.common else len(self.codes)

    @property
    def alternative(self) -> str:
        """What the bins that it is released in are called."""
        if self.bins:
            return "coarse"
        return "common" if self.common else "codes" if self.kind == "code" else "categories"

    @property
    def keeps_missing(self) -> bool:
        """Whether missing values are a bin: where there are more than a few, dropping their rows would bias the others."""
        return self.missing_rows > KEEP_MISSING


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A column that is not drafted, and why."""

    source: str
    because: str


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The texts of one column, apart from those that stand for no answer.

    Attributes
    ----------
    texts : how often each occurs.
    missing_values : texts that stand for no answer in this column.
    missing_rows : rows without an answer.
    """

    source: str
    texts: Mapping[str, int]
    missing_values: tuple[str, ...]
    missing_rows: int
    entry: Entry

    @classmethod
    def of(cls, source: str, texts: Mapping[str, int], empty: int, entry: Entry) -> Answers:
        """Tell apart what is no answer; `empty` rows have none to begin with."""
        gone = missing_texts(texts, entry)
        return cls(
            source=source,
            texts={text: times for text, times in texts.items() if text not in gone},
            missing_values=gone,
            missing_rows=empty + sum(texts[text] for text in gone),
            entry=entry,
        )

    @property
    def rows(self) -> int:
        return sum(self.texts.values())

    @property
    def label_of_missing(self) -> str:
        """The codebook's words where one code stands for all of it."""
        labels = {self.entry.labels[text] for text in self.missing_values if text in self.entry.labels}
        return _label(labels.pop()) if len(labels) == 1 else "missing"


def draft_column(answers: Answers, taken: Collection[str]) -> ColumnDraft | LeftOut:
    """What becomes of one column that holds no dates.

    Parameters
    ----------
    taken : names that other columns have.
    """
    texts, source = answers.texts, answers.source
    if not texts:
        return LeftOut(source=source, because="it has no values")
    if len(texts) == 1 and not answers.missing_rows:
        return LeftOut(source=source, because="it has one value only")
    if len(texts) == 1 and answers.rows + answers.missing_rows < 50 * min(answers.rows, answers.missing_rows):
        return _codes(answers, taken, "one value, or none")
    if len(texts) == 1:
        return LeftOut(source=source, because="nearly all rows have one value")
    numeric = all(NUMBER.fullmatch(text) for text in texts)
    own = len(texts) > 50 and len(texts) > answers.rows / 2
    if own and (_IDENTIFIER.search(source) or not numeric) and not answers.entry.number:
        return LeftOut(source=source, because="nearly every row has a value of its own: it may identify persons")
    if numeric:
        return _numeric(answers, taken)
    if len(texts) > MAX_CODES or (len(texts) > 1000 and answers.rows < 5 * len(texts)):
        return LeftOut(source=source, because=f"it has {len(texts)} different texts: group them into categories first")
    return _codes(answers, taken, f"{len(texts)} categories in the public file")


def _numeric(answers: Answers, taken: Collection[str]) -> ColumnDraft | LeftOut:
    """Numbers, codes that are written as numbers, or a weight."""
    values = np.array(sorted({float(text) for text in answers.texts}))
    whole = all(_WHOLE.fullmatch(text) for text in answers.texts)
    weight = _is_weight(answers, values)
    why = "" if weight or answers.entry.number else _why_codes(answers, values, whole)
    if why and len(answers.texts) <= MAX_CODES:
        return _codes(answers, taken, f"{len(answers.texts)} codes, not numbers: {why}")
    if max(abs(values[0]), abs(values[-1])) > 1e14:
        return LeftOut(source=answers.source, because="its numbers are too large: it may be a code")
    return numbers(answers, answers.source, taken, weight=weight)


def _is_weight(answers: Answers, values: np.ndarray) -> bool:
    """Whether it is named like a design weight; where that may be a body's, its numbers must not be kilograms or pounds."""
    if not _WEIGHT.search(answers.source) or _BODY.search(answers.source) or len(values) <= 20 or values[0] < 0:
        return False
    if not _BARE.fullmatch(answers.source):
        return True
    cumulated = np.cumsum(_numbers_and_rows(answers.texts)[1]) / answers.rows
    low, middle, high = (float(values[np.searchsorted(cumulated, share)]) for share in (0.1, 0.5, 0.9))
    return not (40 <= middle <= 220 and high < 3 * low)


def _why_codes(answers: Answers, values: np.ndarray, whole: bool) -> str:
    """Why numbers are taken for codes; empty where they are taken for numbers."""
    texts, entry = answers.texts, answers.entry
    named = sum(times for text, times in texts.items() if text in entry.labels)
    if named >= 0.9 * answers.rows:
        return "the codebook names them"
    if any(re.fullmatch(r"0\d+", text) for text in texts):
        return "some start with a 0"
    if not whole:
        return ""
    if len(values) <= 2:
        return "two values"
    filled = len(values) / (values[-1] - values[0] + 1)
    if len(values) <= _FEW:
        counting = values[0] in (0, 1, 2) and filled > 0.75 and len(values) > 5 and _falls(texts)
        return "" if counting else "few, and each often"
    often = answers.rows / len(values) >= _MANY
    return "few of the numbers between occur, and those often" if often and filled < 0.2 and values[0] > 0 else ""


def _falls(texts: Mapping[str, int]) -> bool:
    """Whether numbers get rarer beyond a most frequent one near the start, as numbers of things do and codes do not."""
    times = [texts[text] for text in sorted(texts, key=float)]
    most = times.index(max(times))
    return most < len(times) / 3 and all(b <= a + 3 * math.sqrt(a) for a, b in pairwise(times[most:]))


def numbers(
    answers: Answers, wanted: str, taken: Collection[str], *, weight: bool = False, date: Mapping[str, str] | None = None
) -> ColumnDraft | LeftOut:
    """A column of numbers in bins.

    Parameters
    ----------
    wanted : its name, of which one is made that rules and TOML can hold.
    date : `part`, `minus`, `format` of a date.
    """
    values, counts = _numbers_and_rows(answers.texts)
    if len(values) < 2:
        return LeftOut(source=answers.source, because="it has one value only")
    whole = all(_WHOLE.fullmatch(text) for text in answers.texts)
    bins = number_bins(values, counts, whole=whole)
    if not bins.coarse:
        return LeftOut(source=answers.source, because="nearly all rows have one value")
    remark = f"public file: {values[0]:.12g} to {values[-1]:.12g}, {len(values)} different values"
    return ColumnDraft(
        name=plain_name(wanted, taken),
        source=answers.source,
        kind="integer" if whole else "real",
        remark=f"a weight, in classes; {remark}" if weight else remark,
        description=answers.entry.description,
        bins=bins,
        missing_values=answers.missing_values,
        missing_label=answers.label_of_missing,
        missing_rows=answers.missing_rows,
        weight=weight,
        **(date or {}),  # type: ignore[arg-type]
    )


def _numbers_and_rows(texts: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """(n_values,) the different numbers, increasing, and how many rows have each: "1" and "1.0" are one."""
    sums: dict[float, int] = {}
    for text, times in texts.items():
        sums[float(text)] = sums.get(float(text), 0) + times
    values = sorted(sums)
    return np.array(values), np.array([sums[value] for value in values])


def _codes(answers: Answers, taken: Collection[str], remark: str) -> ColumnDraft:
    """A column whose texts are codes or categories, with the labels that the codebook gives them."""
    known = {**{text: text for text in answers.texts}, **answers.entry.labels}
    order = [text for text in known if text not in answers.missing_values and text.isprintable() and len(text) <= 200]
    unwritten = len(set(answers.texts) - set(order))
    remark += f"; {unwritten} with characters that cannot be printed are not among them" if unwritten else ""
    named = bool(answers.entry.labels)
    order.sort(key=_in_order)
    used = [_label(known[text]) for text in order]
    codes = {}
    for text, label in zip(order, used, strict=True):
        shown = label if used.count(label) == 1 else _label(f"{label} ({text})")
        codes[text] = CodeDraft(label=shown, rows=answers.texts.get(text, 0))
    rows = answers.rows
    rare = [draft.label for draft in codes.values() if draft.rows < 0.01 * rows]
    common: tuple[str, ...] = ()
    if len(codes) > MAX_CATEGORIES:
        frequent = sorted(codes, key=lambda text: -codes[text].rows)[: MAX_CATEGORIES - 1]
        common = tuple(text for text in order if text in frequent and codes[text].rows >= COMMON * rows)
        remark += f"; the {len(common)} with at least {COMMON:.2%} of its rows, and all others together"
    elif rare:
        remark += f"; below 1% of its rows: {', '.join(rare)}"
    as_numbers = all(NUMBER.fullmatch(text) for text in answers.texts)
    return ColumnDraft(
        name=plain_name(answers.source, taken),
        source=answers.source,
        kind="code" if named or as_numbers or common else "category",
        remark=remark,
        description=answers.entry.description,
        codes=codes,
        common=common,
        missing_values=answers.missing_values,
        missing_label=answers.label_of_missing,
        missing_rows=answers.missing_rows,
    )


def _label(text: str) -> str:
    """One line of at most 200 characters that no spreadsheet would compute."""
    shown = " ".join(text.split())[:190] or "empty"
    if is_executable(shown):
        shown = f"code {shown}"
    return _AFTER_MARK.sub(r"\1 ", shown).strip() if is_executable(shown) else shown


def _in_order(text: str) -> tuple[int, float, str]:
    """Numbers by size, before texts."""
    return (0, float(text), text) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else (1, 0.0, text)


def plain_name(source: str, taken: Collection[str]) -> str:
    """A column name of plain letters, digits and underscores, as rules and TOML keys need it, that no other column has."""
    plain = unicodedata.normalize("NFKD", source.strip().translate(_LETTERS))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    name = re.sub(r"\W+", "_", plain, flags=re.ASCII).strip("_") or "column"
    if not name.isidentifier() or name in _RESERVED:
        name = f"column_{name}"
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    return unique
