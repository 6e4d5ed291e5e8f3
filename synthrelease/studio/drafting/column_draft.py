"""A drafted column, what its texts answer, which columns are chosen, and which are left out as keys or as said twice."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, count, groupby, pairwise
from typing import Any, Literal

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.schema import parse_bins
from synthrelease.data.texts import is_executable
from synthrelease.enclave.texts import Texts
from synthrelease.errors import InputError, closest, listing
from synthrelease.generators.associations import cramers_v
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import MAX_TABLES
from synthrelease.studio.drafting.bins import NumberBins, NumberFacts
from synthrelease.studio.drafting.words import PARTS, WORDS, unaccented

# Which texts of a column stand for no answer: what a codebook says, and what registers use by custom.

NUMBER = re.compile(r"[+-]?(\d{1,15}\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?", re.ASCII)
_MARKS, _NO_ANSWERS, _AMONG_NUMBERS = (frozenset(WORDS["missing"][name]) for name in ("marks", "words", "among_numbers"))
_NO_DATE = re.compile(
    r"(9999|0000|8888)[-/.]?(99|00|88|12|01)[-/.]?(99|00|88|31|01)|(99|00|88)[-/.](99|00|88)[-/.](9999|0000|8888)"
)
_NINES = re.compile(r"-?(9{2,}|[789]|9+[6789]|8{2,}|7{2,}|214748364[78])(\.0*)?")
_FAR = 5
"""How many times the largest other number a 99 or 999 must be, where a column holds many numbers."""
_FEW_WORDS = 3
_FEW_NUMBERS = 10
_GAP, _MANY_MISSING = 2, 20
"""How many times the range of at least 20 other numbers lies between them and a 777, 888 or 999."""


def missing_texts(texts: Mapping[str, int], entry: CodebookEntry) -> tuple[str, ...]:
    """Return the texts of a column that stand for no answer, in the order of the file's texts.

    Beside what the codebook says: words such as "?" and "unknown"; "N" or "U" among numbers; dates such as 9999-99-99; codes of
    nines (97, 98, 99, 999; also -9, 777, 888) far from all other numbers of the column, unless the codebook says what they
    mean; -1 and the like below a quantity that is never negative.

    Parameters
    ----------
    texts : how often each text occurs, without surrounding blanks.
    """
    unnamed = [text for text in texts if text not in entry.missing and text not in entry.labels]
    n_numbers = sum(1 for text in texts if NUMBER.fullmatch(text))
    mostly_numbers = n_numbers >= 2 and n_numbers >= len(texts) - 3
    words = _MARKS | _NO_ANSWERS | (_AMONG_NUMBERS if mostly_numbers else frozenset())
    missing = {text for text in unnamed if text.lower() in words or _NO_DATE.fullmatch(text)} | (texts.keys() & entry.missing)
    missing |= _words_among_numbers(unnamed, texts) | _far_codes(texts, entry, unnamed) | {*codes_below_zero(texts, entry)}
    return tuple(text for text in texts if text in missing)


def codes_below_zero(texts: Mapping[str, int], entry: CodebookEntry) -> tuple[str, ...]:
    """Return up to three codes from -1 to -9 apart from at least ten other numbers that are never negative, such as "never".

    They are no tail of the other numbers: the codebook names them, -1 is not among them, or it is alone or more frequent than 0
    and 1. A column whose other numbers have names, too, holds codes, of which these may be some.
    """
    below = [text for text in texts if text[:1] == "-" and NUMBER.fullmatch(text) and not _NINES.fullmatch(text)]
    if not 1 <= len(below) <= 2 * _FEW_WORDS:
        return ()
    values = {text: float(text) for text in texts if NUMBER.fullmatch(text)}
    rows = {values[text]: texts[text] for text in below}
    rows_of_others = {value: texts[text] for text, value in values.items() if value >= 0}
    if not 1 <= len(rows) <= _FEW_WORDS or len(rows_of_others) < _FEW_NUMBERS or not rows.keys() <= set(range(-9, 0)):
        return ()
    if entry.number or sum(text in entry.labels for text in values) > len(values) / 2:
        return ()
    if -1.0 not in rows or all(text in entry.labels for text in below):
        return tuple(below)
    frequent = max(rows_of_others.get(0.0, 0), rows_of_others.get(1.0, 0))
    alone = len(rows) == 1 and len(rows_of_others) >= _MANY_MISSING
    return tuple(below) if alone or min(rows.values()) > frequent else ()


def _words_among_numbers(unnamed: Sequence[str], texts: Mapping[str, int]) -> frozenset[str]:
    """Return at most three words without a digit in a column of many numbers; "<5" and "100+" say something."""
    words = frozenset(text for text in unnamed if not NUMBER.fullmatch(text))
    plain = len(words) <= _FEW_WORDS and all(re.fullmatch(r"\D*[^\W\d_]\D*", text) for text in words)
    rare = sum(texts[text] for text in words) < sum(texts.values()) / 4
    return words if plain and rare and len(texts) - len(words) >= _MANY_MISSING else frozenset()


def _spikes(texts: Mapping[str, int], values: Mapping[str, float]) -> frozenset[str]:
    """Return 97, 98 and 99 where each is far more frequent than every number from 80 to 96.

    Of ages or hours the last ones are the rarest; a code that stands for no answer is not.
    """
    last = frozenset(text for text, value in values.items() if value in (97, 98, 99))
    rows_before = max((texts[text] for text, value in values.items() if 80 <= value < 97), default=0)
    usual = len(values) >= _MANY_MISSING and max(values.values()) <= 99
    return last if usual and all(texts[text] > max(3 * rows_before, _FEW_NUMBERS) for text in last) else frozenset()


def _far_codes(texts: Mapping[str, int], entry: CodebookEntry, unnamed: Sequence[str]) -> frozenset[str]:
    """Return codes of nines with a wide gap to the other numbers of the column."""
    values = {text: float(text) for text in texts if NUMBER.fullmatch(text) and text not in entry.missing}
    suspects = {text for text in unnamed if text in values and _NINES.fullmatch(text) and texts[text] > 1}
    values_of_others = [value for text, value in values.items() if text not in suspects]
    if not values_of_others and len(texts) > len(suspects) + 1:
        return frozenset(text for text in suspects if len(text) > 1)  # 99 among words
    if not suspects or len(values_of_others) < 2:
        return frozenset()
    low, high = min(values_of_others), max(values_of_others)
    are_few = len(values_of_others) <= 60 and high < 80
    gap = _GAP * (high - low) if len(values_of_others) >= _MANY_MISSING else math.inf

    def is_far(value: float) -> bool:
        far_above = (value >= 99 and value > _FAR * max(high, 1)) or (value >= 777 and value - high > gap)
        return far_above or low >= 0 > value or (are_few and abs(value) >= 10 and value > max(high + 5, 1.5 * high))

    return _spikes(texts, values) & suspects | {text for text in suspects if is_far(values[text])}


KEEP_MISSING = 20
"""Rows without an answer up to which they may be left out."""
_AFTER_MARK = re.compile("([,;|\"'])[\\s=+@-]+")
_RESERVED = {"and", "or", "not", "in"}


@dataclass(frozen=True, kw_only=True)
class CodeDraft:
    """A code or category: its meaning in the release, its frequency in the public file, and its other spellings."""

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
    part, minus, format, minus_format : of a date: the part that is used, the column that is subtracted, how it is written, and
        how the subtracted one is where that differs.
    bins, facts : of a column of numbers.
    codes : text of the file -> what it becomes, of a code or category.
    ordered : whether its categories stand in an order, so that neighbours may be joined.
    within : for each of its categories a larger one that another column tells, as the sector of an industry; empty where none
        does.
    groups : neighbouring categories, or those of one larger category, that are released together: label -> their texts; empty
        where each is by itself.
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
    kind_doubt : of that, whether it holds numbers or codes, before it is known how much is asked of all columns.
    """

    name: str
    source: str
    kind: str
    remark: str
    description: str = ""
    part: str | None = None
    minus: str | None = None
    format: str | None = None
    minus_format: str | None = None
    bins: NumberBins | None = None
    facts: NumberFacts | None = None
    codes: Mapping[str, CodeDraft] = field(default_factory=dict)
    ordered: bool = False
    within: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    characters: int | None = None
    common: tuple[str, ...] = ()
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing_values: tuple[str, ...] = ()
    missing_label: str = "missing"
    missing_rows: int = 0
    missing_bin: bool = False
    weight: bool = False
    doubt: str = ""
    kind_doubt: str = ""

    @classmethod
    def of(cls, answers: Answers, **settings: Any) -> ColumnDraft:
        """Return a draft with the description of the column and its missing values that the file gives."""
        return cls(
            source=answers.source,
            description=answers.entry.description,
            missing_values=answers.missing_values,
            missing_label=answers.label_of_missing,
            missing_rows=answers.missing_rows,
            **settings,
        )

    @property
    def of_date(self) -> bool:
        return self.part is not None or self.minus is not None

    def asking(self, *questions: str) -> ColumnDraft:
        """Return the column with further questions for the steward."""
        return replace(self, doubt="; ".join(filter(None, [self.doubt, *questions])))

    @property
    def is_whole(self) -> bool:
        return self.kind == "integer"

    @property
    def texts_of_bins(self) -> list[str]:
        """The bins of a column of numbers as a configuration has them."""
        return self.bins.texts(whole=self.is_whole, weight=self.weight)["coarse"] if self.bins else []

    @property
    def numbers_of_bins(self) -> dict[str, float]:
        """The numbers that stand for these bins, by their labels."""
        labels = {interval.label for interval in parse_bins(self.texts_of_bins, whole_numbers=self.is_whole)}
        return {label: value for label, value in self.facts.numbers.items() if label in labels} if self.facts else {}

    @property
    def derived(self) -> bool:
        """Return whether the column is more than a grouping of the values of the column in the file."""
        return self.of_date or self.characters is not None

    @property
    def n_bins(self) -> int:
        """Return the number of released values, without the missing one."""
        if self.bins:
            return len(self.bins.coarse) + 1
        return len(self.common) + 1 if self.common else len(self.groups or self.codes)

    @property
    def alternative(self) -> str:
        """Return the name of the released bins."""
        if self.bins or self.groups:
            return "coarse"
        return "common" if self.common else "codes" if self.kind == "code" else "categories"

    @property
    def keeps_missing(self) -> bool:
        """Whether missing values are a bin: where there are more than a few, dropping their rows would bias the others."""
        return self.missing_bin or (self.missing_rows > KEEP_MISSING and not self.weight)  # nobody stands for no one


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A column that is not drafted, and why.

    Attributes
    ----------
    rows_of_one, mean_rows : of a key whose values come again, the most rows of the public file that have the same one, and the
        mean; 0 for all others.
    heavy : of such a key the value that far more rows have than any other, in words; empty where there is none.
    design : what it looks like in the design of a sample, as [design] calls it; empty for all others.
    """

    source: str
    because: str
    rows_of_one: int = 0
    mean_rows: float = 0.0
    heavy: str = ""
    design: Literal["", "clusters", "strata"] = ""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The texts of one column, without those that stand for no answer.

    Attributes
    ----------
    texts : how often each occurs.
    missing_values : texts that stand for no answer in this column.
    missing_rows : rows without an answer.
    below_zero : of `missing_values` the negative codes of a quantity that is never negative, which nobody named.
    shared : whether another column that is no key has many of these texts, as a second diagnosis shares those of the first.
    named_by : the column of the file that gave the labels; empty where a codebook did, or nothing.
    """

    source: str
    texts: Mapping[str, int]
    missing_values: tuple[str, ...]
    missing_rows: int
    entry: CodebookEntry
    below_zero: tuple[str, ...] = ()
    shared: bool = False
    named_by: str = ""

    @classmethod
    def of(cls, source: str, texts: Mapping[str, int], empty: int, entry: CodebookEntry) -> Answers:
        """Separate answers from non-answers; `empty` rows have none to begin with."""
        below_zero = tuple(text for text in codes_below_zero(texts, entry) if text not in entry.labels)
        whole = cls(source=source, texts=texts, missing_values=(), missing_rows=empty, entry=entry, below_zero=below_zero)
        unseen = tuple(code for code in entry.labels if code in entry.missing and code not in texts)
        answers = whole.without(missing_texts(texts, entry))
        return replace(answers, missing_values=(*answers.missing_values, *unseen))

    def without(self, missing: Collection[str]) -> Answers:
        """Return the answers without some texts, which stand for no answer."""
        return replace(
            self,
            texts={text: times for text, times in self.texts.items() if text not in missing},
            missing_values=(*self.missing_values, *missing),
            missing_rows=self.missing_rows + sum(self.texts[text] for text in missing),
        )

    @property
    def rows(self) -> int:
        return sum(self.texts.values())

    @cached_property
    def are_numbers(self) -> bool:
        return bool(self.texts) and all(map(NUMBER.fullmatch, self.texts))

    @cached_property
    def are_whole(self) -> bool:
        return bool(self.texts) and all(map(WHOLE.fullmatch, self.texts))

    @cached_property
    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n_values,) the different numbers, increasing, and how many rows have each: "1" and "1.0" are one."""
        values, of_text = np.unique(np.array([*map(float, self.texts)]), return_inverse=True)
        return values, np.bincount(of_text, weights=np.array([*self.texts.values()])).astype(np.int64)

    @property
    def label_of_missing(self) -> str:
        """Return the codebook's label of missing values, where one code stands for all."""
        labels = {self.entry.labels[text] for text in self.missing_values if text in self.entry.labels}
        if len(self.below_zero) == len(self.missing_values) == 1:
            return plain_label(f"code {self.below_zero[0]}")
        return plain_label(labels.pop()) if len(labels) == 1 else "missing"


def plain_label(text: str) -> str:
    """Return one line of at most 200 characters that no spreadsheet would compute."""
    label = " ".join(text.split())[:190] or "empty"
    if is_executable(label):
        label = f"code {label}"
    return _AFTER_MARK.sub(r"\1 ", label).strip() if is_executable(label) else label


def plain_name(source: str, used_names: Collection[str]) -> str:
    """Return a name of plain letters, digits and underscores, as rules and TOML keys need it, that no other column has."""
    name = re.sub(r"\W+", "_", unaccented(source.strip()), flags=re.ASCII).strip("_") or "column"
    if not name.isidentifier() or name in _RESERVED:
        name = f"column_{name}"
    return next(unique for unique in chain([name], (f"{name}_{i}" for i in count(2))) if unique not in used_names)


# Which columns of a public file are drafted: those that were asked for, and of very many those with the strongest associations.

MOST_COLUMNS = MAX_TABLES
"""Columns of a draft: a rehearsal of more takes hours. A release can have more."""
LOOKED_AT = 4_000
"""Rows by which columns are compared: Cramer's V of two columns is then known to about 0.02."""
PARTNERS = 10
_GROUPS = 8
"""Of the values of a column, for comparing: the most frequent ones, and the rest."""

ORDER = (
    f"first those with the strongest associations: the mean Cramer's V with the {PARTNERS} columns that a column is tied "
    "to most, times its share of rows with a value; a design weight before all"
)


@dataclass(frozen=True, kw_only=True)
class AskedFor:
    """The columns of the file that a user requests, by their names in it.

    Attributes
    ----------
    only : these and no others; None for all.
    leave_out : all but these.
    """

    only: tuple[str, ...] | None = None
    leave_out: tuple[str, ...] = ()

    def of(self, names: Sequence[str]) -> tuple[list[str], list[LeftOut]]:
        """Return the columns to read, in the order of the file, and the others.

        Raises
        ------
        InputError : when both lists are given, the file has no column of such a name, or none is left.
        """
        if self.only is not None and self.leave_out:
            raise InputError("expected --only or --leave-out, found both. Name the columns to keep, or those to leave out.")
        requested, option = (self.leave_out, "--leave-out") if self.only is None else (self.only, "--only")
        if unknown := [name for name in dict.fromkeys(requested) if name not in names]:
            guesses = "; ".join(f"{name!r}: did you mean {near!r}?" for name in unknown if (near := closest(name, names)))
            raise InputError(
                f"{option}: expected columns of the file ({listing(names)}), found {listing(unknown)}."
                f"{guesses and f' {guesses}'} A name that has a comma stands in double quotes."
            )
        stay = [name for name in names if (name in requested) == (self.only is not None)]
        if not stay:
            raise InputError(f"{option}: expected that some column is left to draft, found none.")
        because = "it was asked to leave it out" if self.only is None else "it was not asked for"
        return stay, [LeftOut(source=name, because=f"{because} ({option})") for name in names if name not in stay]


ALL = AskedFor()


def chosen_columns(
    columns: Sequence[ColumnDraft], batches: Iterable[Mapping[str, Texts]], n_rows: int, most: int = MOST_COLUMNS
) -> tuple[list[ColumnDraft], list[LeftOut]]:
    """Return at most so many drafted columns, in the order of the file, and the others with the reason.

    Whoever releases a table wants to keep the associations of its columns: a column that is tied to no other one loses nothing
    by being released on its own, and one that is nearly always empty ties nothing. So the columns of the file come in this
    `ORDER`; one that became several (a date: its year and its month) takes as many places.
    """
    sources = list(dict.fromkeys(column.source for column in columns))
    ties = dict(zip(sources, _ties(sources, columns, batches, n_rows), strict=True))
    weights = {column.source for column in columns if column.weight}
    order = sorted(sources, key=lambda source: (source not in weights, -ties[source]))
    width, stay = Counter(column.source for column in columns), set[str]()
    for source in order:
        if sum(width[other] for other in stay) + width[source] <= most:
            stay.add(source)
    because = (
        f"a release has at most {most} columns, and it was not among those that were chosen ({ORDER}; --only and --leave-out "
        "choose others)"
    )
    left_out = [LeftOut(source=source, because=because) for source in order if source not in stay]
    return [column for column in columns if column.source in stay], left_out


def _ties(
    sources: Sequence[str], columns: Sequence[ColumnDraft], batches: Iterable[Mapping[str, Texts]], n_rows: int
) -> list[float]:
    """Return, for each column of the file, its association with others times its share of rows with a value."""
    missing = {column.source: {*InputTable().missing_values, *column.missing_values} for column in columns}
    numbers = {column.source for column in columns if column.bins and not column.of_date}
    rows: dict[str, list[str | None]] = {source: [] for source in sources}
    for batch in batches:  # rows from all of the file: neighbours in a file are often alike
        for source in sources:
            texts = batch[source]
            rows[source] += [texts.texts[code] for code in texts.codes[:: -(-n_rows // LOOKED_AT)].tolist()]
    groups = np.stack([_grouped(rows[source], missing[source], source in numbers) for source in sources])
    strongest = np.sort(_strengths(groups), axis=1)[:, -PARTNERS:]
    return (strongest.mean(axis=1) * (groups >= 0).mean(axis=1)).tolist()


def _grouped(texts: Sequence[str | None], missing: Collection[str], is_number: bool) -> np.ndarray:
    """Return (n_rows,) the group of each row: eighths of numbers, the most frequent texts and the rest; -1 without a value."""
    plain = ["" if text is None or text.strip() in missing else text.strip() for text in texts]
    if is_number:
        decimal = (text.replace(",", ".") for text in plain)
        values = np.array([float(text) if NUMBER.fullmatch(text) else math.nan for text in decimal])
        valid = ~np.isnan(values)
        limits = np.unique(np.quantile(values[valid], np.arange(1, _GROUPS) / _GROUPS)) if valid.any() else np.empty(0)
        return np.where(valid, np.searchsorted(limits, values, side="right"), -1)
    _different, of_row, times = np.unique(plain, return_inverse=True, return_counts=True)
    rank = np.minimum(np.argsort(np.argsort(-times, kind="stable"), kind="stable"), _GROUPS)
    return np.where([not text for text in plain], -1, rank[of_row])


def _strengths(groups: np.ndarray) -> np.ndarray:
    """Return (n_columns, n_columns) Cramer's V of every two columns over rows with values of both; 0 of a column with itself.

    Tables of two columns are products of indicators.
    """
    n_columns, width = len(groups), _GROUPS + 1
    indicators = (groups[:, None, :] == np.arange(width)[None, :, None]).astype(np.float32)
    flat, strengths = indicators.reshape(n_columns * width, -1), np.zeros((n_columns, n_columns))
    for first in range(n_columns):
        tables = (indicators[first] @ flat[: first * width].T).astype(float).reshape(width, first, width)
        strengths[first, :first] = [cramers_v(tables[:, second]) for second in range(first)]
    return strengths + strengths.T


# Columns that name persons, events, records or places one by one: they are left out of a draft, and are questions.
#
# A key is told by its shape: how many values it has, how often they come again, and whether that is what a quantity would do
# by chance. Names decide where the shape allows both. Whether a key stands for a person no shape tells: `[unit]` of the draft
# asks.

_DIGITS = re.compile(r"\d{1,18}(\.0*)?", re.ASCII)
_MOMENT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(([01]\d|2[0-3])([0-5]\d){1,2})?(\.0*)?", re.ASCII)
"""Digits of a date, and perhaps of a time of day behind it."""
_FEWEST_ROWS = 50
_CHANCE = 10
"""Pairs of rows that would have the same number by chance, from which on it is none that no two have."""
_MANY = 500
"""Different values of a key whose values come again and whose shape says no more; codes and quantities have fewer."""
_OWN = 0.9
"""Share of the rows with a value of their own that is "nearly every row"."""
_SHARED = 0.05
"""Share of the rows with a value that others have, too, from which on it is a question whose rows these are."""
_SPREAD = 5
"""Standard deviations from the number of different values that a quantity would have by chance."""
_WINDOWS = 20
"""Parts of the range of a column, of about as many values each, in which a quantity is about as dense everywhere."""
_ROWS_OF_ONE = {"wide": 20, "narrow": 3}
"""Rows for each value, at most, of keys with six digits or more, and with fewer; of codes there are more."""
_HEAVY = 10
"""Times the rows of any other value, from which on it is a question whether a value of a key stands for none."""
_TOP = 0.05
_OF_TOP = 0.35
"""Share of the rows that the most frequent twentieth of the values has, at most; of codes and amounts few have most rows."""


def left_out_as_key(answers: Answers) -> LeftOut | None:
    """Return why a column is a key and not an answer; None where it is none."""
    texts, rows = answers.texts, answers.rows
    if answers.entry.number or len(texts) <= _FEWEST_ROWS:
        return None
    whole = all(map(_DIGITS.fullmatch, texts))
    if all(map(_MOMENT.fullmatch, texts)) or (not answers.are_numbers and (answers.shared or _are_classified(answers))):
        return None
    if len(texts) > rows / 2 and (not answers.are_numbers or (whole and PARTS["named"].search(answers.source))):
        return _key(answers, "free text, or names" if _are_words(texts) else "it may identify persons")
    if answers.entry.labels or not (whole or not answers.are_numbers):
        return None
    if whole and not answers.missing_rows and len(texts) == rows and _differ_by_design(answers):
        return LeftOut(source=answers.source, because="no two rows have the same number: it may identify persons")
    if len(texts) >= _MANY and PARTS["key"].search(answers.source):
        return _key(answers, "so it is named")
    why = _number_of_something(answers) if whole else _mark_of_something(answers)
    return _key(answers, why) if why else None


_CLASSIFIED = re.compile(r"[A-Z]\d{2}([.-]?[0-9A-Z]{1,2})?|[A-Z]\d{2}[A-Z]{1,2}\d{0,2}|\d{1,3}\.\d{1,3}(\.\d{1,3})*", re.ASCII)
"""How codes of diagnoses, procedures, drugs and industries are written: I21.4, N02BE01, 01.11."""


def _are_classified(answers: Answers) -> bool:
    """Return whether nearly all texts are codes of a classification, with several that begin alike; no key is named so."""
    n_written = sum(bool(_CLASSIFIED.fullmatch(text.upper())) for text in answers.texts)
    beginnings, n = len({text[:3] for text in answers.texts}), len(answers.texts)
    return n_written >= 0.98 * n and beginnings < 0.9 * n and not PARTS["key"].search(answers.source)


def _are_words(texts: Collection[str]) -> bool:
    """Return whether most texts are several words, as remarks and names are, and keys are not."""
    return sum(bool(re.search(r"[^\W\d_]{2,}[\s,]+[^\W\d_]", text)) for text in texts) > 0.8 * len(texts)


def _key(answers: Answers, why: str) -> LeftOut:
    """Leave a key out, with how many rows have a value of their own and how many share one."""
    times, largest = answers.texts.values(), max(answers.texts.values())
    own_share = sum(often == 1 for often in times) / answers.rows
    because = f"nearly every row has a value of its own: {why}"
    if own_share < _OWN:
        share = f"{own_share:.0%} of the rows have one of their own" if own_share else "no row has one of its own"
        like = "" if _are_words(answers.texts) else ", as a key of persons, events or places has"
        because = f"it has {len(times)} different values, up to {largest} rows each{like} ({share}): {why}"
    if largest == 1 or 1 - own_share < _SHARED:
        return LeftOut(source=answers.source, because=because)
    mean, heavy = answers.rows / len(times), heavy_value(answers.texts)
    return LeftOut(source=answers.source, because=because, rows_of_one=largest, mean_rows=mean, heavy=heavy)


def heavy_value(times: Mapping[str, int]) -> str:
    """Name the value of a key that far more rows have than any other: it may mean that there is none. Empty without one.

    Parameters
    ----------
    times : how many rows of the public file have each value.
    """
    (value, largest), (_, next_most) = Counter(times).most_common(2)
    if largest < max(_FEWEST_ROWS, _HEAVY * next_most):
        return ""
    return f"{value!r} in {largest} rows, and no other value in more than {next_most}"


def _differ_by_design(answers: Answers) -> bool:
    """Return whether the numbers were made to differ: by chance ten pairs of rows would be equal, or all have nine digits."""
    values, rows = np.array([float(text) for text in answers.texts]), answers.rows
    pairs = rows * (rows - 1) / 2 / (values.max() - values.min() + 1)
    return bool(pairs >= _CHANCE or (values.min() >= 1e8 and len(_widths(answers)) == 1))


def _number_of_something(answers: Answers) -> str:
    """Describe whole numbers that are no quantity, by a property quantities lack; empty where a quantity may have all of it.

    A quantity is about as dense in neighbouring parts of its range, so chance says how many different values so many rows have.
    Running numbers have more: hardly one is left out. Numbers that were given to somebody who comes again have fewer. So do
    amounts that are rounded, that few values have most of, or that are dense at one end; and codes, which have many rows each.
    """
    by_value = Counter[int]()
    for text, often in answers.texts.items():
        by_value[int(text.partition(".")[0])] += often
    values = np.array(sorted(by_value), dtype=np.float64)
    times = np.array([by_value[value] for value in sorted(by_value)])
    rows, widths, n = answers.rows, _widths(answers), len(values)
    mean, spread = _by_chance(values, times)
    few_each = _is_even(times) and rows / n <= _ROWS_OF_ONE["wide"] and max(times) <= max(_FEWEST_ROWS, 0.02 * rows)
    if few_each and n > mean + max(_SPREAD * spread, 0.03 * mean):
        return "fewer numbers are left out than by chance"
    if len(widths) == 1 and n >= _MANY and _fill_a_range(values, times, min(widths)):
        return "most numbers of so many digits occur, and about as often in both halves"
    kind = "wide" if min(widths) >= 6 and len(widths) == 1 else "narrow"
    comes_again = n < mean - max(_SPREAD * spread, 0.02 * mean)
    if not (comes_again and few_each and rows / n <= _ROWS_OF_ONE[kind] and _ends_evenly(values, times)):
        return ""
    lie_evenly = np.abs((values - values[0]) / (values[-1] - values[0]) - np.linspace(0, 1, n)).max() < 0.1
    again = "the same numbers come again oftener than by chance, evenly and without being rounded"
    return again if kind == "wide" or lie_evenly else ""


def _by_chance(values: np.ndarray, times: np.ndarray) -> tuple[float, float]:
    """Return how many different values so many rows of a quantity would have, in the mean and as a standard deviation."""
    step = float(np.gcd.reduce((values - values[0]).astype(np.int64)))
    cuts = np.linspace(0, len(values), min(_WINDOWS, len(values) // 10) + 1).astype(int)
    mean = variance = 0.0
    for start, stop in pairwise(cuts):
        begin = values[start - 1] + step if start else values[0]
        width = (values[stop - 1] - begin) / step + 1
        rate = times[start:stop].sum() / width
        none = np.exp(-rate)
        mean += width * -np.expm1(-rate)
        variance += width * none * (1 - (1 + rate) * none)
    return float(mean), float(np.sqrt(max(variance, 1.0)))


def _fill_a_range(values: np.ndarray, times: np.ndarray, digits: int) -> bool:
    """Return whether most numbers occur, and in both halves of their range about as often."""
    low, high = values[0], values[-1]
    lower_half = times[values <= (low + high) / 2].sum() / times.sum()
    return bool(digits >= 5 and len(values) / (high - low + 1) > 0.5 and 0.35 < lower_half < 0.65)


def _is_even(times: np.ndarray) -> bool:
    """Return whether the most frequent values have no more than a few times their part of the rows."""
    top = max(1, round(_TOP * len(times)))
    return bool(np.sort(times)[-top:].sum() <= _OF_TOP * times.sum())


def _ends_evenly(values: np.ndarray, times: np.ndarray) -> bool:
    """Return whether no last digit is much more frequent than others, as in rounded numbers."""
    digits = (values % 10).astype(np.int64)
    return bool(all(np.bincount(digits, weights=rows, minlength=10).max() < 0.2 * rows.sum() for rows in (times, times > 0)))


def _mark_of_something(answers: Answers) -> str:
    """Describe marks that were assigned: they are made alike, with digits, and recur evenly. Empty for others."""
    times = np.array(list(answers.texts.values()))
    if answers.rows / len(times) > _ROWS_OF_ONE["wide"] or not _is_even(times):
        return ""
    shapes = Counter(_shape(text) for text in answers.texts)
    alike = shapes.most_common(1)[0][1] >= 0.95 * len(times) or len({len(text) for text in answers.texts}) == 1
    digits = np.array([sum(letter.isdigit() for letter in text) for text in answers.texts])
    no_words = all(re.fullmatch(r"[\w./:-]+", text) for text in answers.texts)
    return "all are written alike, with digits" if alike and no_words and np.median(digits) >= 4 else ""


def _shape(text: str) -> str:
    """Return the pattern of a text: digits and letters by kind, runs of letters as one."""
    kinds = ("9" if letter.isdigit() else "A" if letter.isalpha() else letter for letter in text)
    return "".join(letter if letter == "A" else letter * len(list(run)) for letter, run in groupby(kinds))


def _widths(answers: Answers) -> set[int]:
    return {len(text.partition(".")[0]) for text in answers.texts}


# Columns that say the same as another one in every row of the public file: one of them is enough.

LEAST = 5
"""Rows in a second bin, at least: of a column that is nearly constant agreement says little."""


def said_twice(columns: Sequence[ColumnDraft], table: Counts) -> dict[str, LeftOut]:
    """Return, by name, the columns whose bins can be computed from another remaining column's bins, and vice versa.

    A table measured with noise would let rows contradict themselves (a stay of 3 days from Monday to Tuesday), and a mean of
    one by the other is no finding. What is made of dates, or of the first characters of a code, goes first, then the later
    column.

    Parameters
    ----------
    table : the rows of the public file in the drafted bins of these columns.
    """
    bins = {column.name: table.digits(i) for i, column in enumerate(columns)}
    varies = {name for name, digits in bins.items() if np.sort(np.bincount(digits, weights=table.counts))[-2:][0] >= LEAST}
    n_used = {name: _used(digits) for name, digits in bins.items()}
    left_out: dict[str, LeftOut] = {}
    for first, second in combinations([column for column in columns if column.name in varies], 2):
        if n_used[first.name] != n_used[second.name] or {first.name, second.name} & left_out.keys():
            continue
        one_to_one = bins[first.name].astype(np.int64) * (int(bins[second.name].max()) + 1) + bins[second.name]
        if _used(one_to_one) == n_used[first.name]:
            gone, stays = (first, second) if first.derived and not second.derived else (second, first)
            of_it = f"{gone.name!r}, made of it," if gone.derived else "it"
            because = f"{of_it} says the same as {stays.name!r} in every row of the public file, in these bins"
            left_out[gone.name] = LeftOut(source=gone.source, because=because)
    return left_out


def _used(digits: np.ndarray) -> int:
    """Return how many bins occur."""
    return int(np.count_nonzero(np.bincount(digits)))
