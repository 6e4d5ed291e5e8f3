"""What is made of a column of the public file: its answers, and the draft of a column, or why there is none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from synthrelease.data.texts import is_executable
from synthrelease.drafting.bins import NumberBins
from synthrelease.drafting.codebook import CodebookEntry
from synthrelease.drafting.missing import codes_below_zero, missing_texts
from synthrelease.drafting.numbers import NumberFacts

KEEP_MISSING = 20
"""Rows without an answer up to which they may be left out."""
_AFTER_MARK = re.compile("([,;|\"'])[\\s=+@-]+")
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ı": "i", "Ø": "O", "Æ": "AE", "Ł": "L"}
)
"""Letters that are not made of a plain one and a mark."""
_RESERVED = {"and", "or", "not", "in"}


@dataclass(frozen=True, kw_only=True)
class CodeDraft:
    """A code or category: what it means in the release, how often it occurs in the public file, and how else it is written."""

    label: str
    rows: int
    spellings: tuple[str, ...] = ()


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
    bins, facts : of a column of numbers.
    codes : text of the file -> what it becomes, of a code or category.
    characters : how many of the first characters of a text are its code; None for all of them.
    common : codes that stay apart where all others are grouped together, those too that the public file has not; empty where
        none are.
    levels : of areas, for every larger kind of area that the codelist tells, by its column: code -> label.
    missing_values : texts of this column that stand for no answer, beside those of every column.
    missing_label : what the bin of missing values is called.
    missing_rows : how many rows of the public file have no answer here.
    missing_bin : whether missing values are a bin although they are few, since rows with gaps in other columns add up.
    weight : whether it is a design weight.
    doubt : what the steward is asked about it; empty where it is plain.
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
    facts: NumberFacts | None = None
    codes: Mapping[str, CodeDraft] = field(default_factory=dict)
    characters: int | None = None
    common: tuple[str, ...] = ()
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing_values: tuple[str, ...] = ()
    missing_label: str = "missing"
    missing_rows: int = 0
    missing_bin: bool = False
    weight: bool = False
    doubt: str = ""

    @property
    def of_date(self) -> bool:
        return self.part is not None or self.minus is not None

    @property
    def derived(self) -> bool:
        """Whether more than how its values are grouped lies between it and the column of the file."""
        return self.of_date or self.characters is not None

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
        return self.missing_bin or self.missing_rows > KEEP_MISSING


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A column that is not drafted, and why.

    Attributes
    ----------
    rows_of_one, mean_rows : of a key whose values come again, the most rows of the public file that have the same one, and the
        mean; 0 for all others.
    heavy : of such a key the value that far more rows have than any other, in words; empty where there is none.
    """

    source: str
    because: str
    rows_of_one: int = 0
    mean_rows: float = 0.0
    heavy: str = ""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The texts of one column, apart from those that stand for no answer.

    Attributes
    ----------
    texts : how often each occurs.
    missing_values : texts that stand for no answer in this column.
    missing_rows : rows without an answer.
    below_zero : of `missing_values` the negative codes of a quantity that is never negative, which nobody named.
    named_by : the column of the file that gave the labels; empty where a codebook did, or nothing.
    """

    source: str
    texts: Mapping[str, int]
    missing_values: tuple[str, ...]
    missing_rows: int
    entry: CodebookEntry
    below_zero: tuple[str, ...] = ()
    named_by: str = ""

    @classmethod
    def of(cls, source: str, texts: Mapping[str, int], empty: int, entry: CodebookEntry) -> Answers:
        """Tell apart what is no answer; `empty` rows have none to begin with."""
        gone = missing_texts(texts, entry)
        unseen = tuple(code for code in entry.labels if code in entry.missing and code not in texts)
        return cls(
            source=source,
            texts={text: times for text, times in texts.items() if text not in gone},
            missing_values=gone + unseen,
            missing_rows=empty + sum(texts[text] for text in gone),
            entry=entry,
            below_zero=tuple(text for text in codes_below_zero(texts, entry) if text not in entry.labels),
        )

    @property
    def rows(self) -> int:
        return sum(self.texts.values())

    @property
    def label_of_missing(self) -> str:
        """The codebook's words where one code stands for all of it."""
        labels = {self.entry.labels[text] for text in self.missing_values if text in self.entry.labels}
        if len(self.below_zero) == len(self.missing_values) == 1:
            return plain_label(f"code {self.below_zero[0]}")
        return plain_label(labels.pop()) if len(labels) == 1 else "missing"


def plain_label(text: str) -> str:
    """One line of at most 200 characters that no spreadsheet would compute."""
    shown = " ".join(text.split())[:190] or "empty"
    if is_executable(shown):
        shown = f"code {shown}"
    return _AFTER_MARK.sub(r"\1 ", shown).strip() if is_executable(shown) else shown


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
