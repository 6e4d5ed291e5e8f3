"""Define a drafted column, recognise missing answers, and leave out keys, duplicate columns and columns beyond the limit."""

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
from synthrelease.generators.associations import LEAST_STRENGTH, cramers_v
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import MAX_TABLES
from synthrelease.studio.drafting.bins import NumberBins, NumberFacts
from synthrelease.studio.drafting.words import NAMES, PARTS, WORDS, unaccented, words_in

# Strings that stand for a missing answer, by the codebook or by the conventions of registers.

NUMBER = re.compile(r"[+-]?(\d{1,15}\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?", re.ASCII)
_MARKS, _NO_ANSWERS, _AMONG_NUMBERS = (frozenset(WORDS["missing"][name]) for name in ("marks", "words", "among_numbers"))
_NO_DATE = re.compile(
    r"(9999|0000|8888)[-/.]?(99|00|88|12|01)[-/.]?(99|00|88|31|01)|(99|00|88)[-/.](99|00|88)[-/.](9999|0000|8888)"
)
_TOTAL = re.compile(rf"({'|'.join(WORDS['missing']['totals'])})\b", re.IGNORECASE)
_NINES = re.compile(r"-?(9{2,}|[789]|9+[6789]|8{2,}|7{2,}|214748364[78])(\.0*)?")
_FAR = 5  # A 99 or 999 is missing if it is more than 5 times the largest other number of the column
_FEW_WORDS = 3
_FEW_NUMBERS = 10
# A 777, 888 or 999 is missing if it exceeds at least 20 other numbers by more than twice their range.
_GAP, _MANY_MISSING = 2, 20


def missing_texts(texts: Mapping[str, int], entry: CodebookEntry) -> tuple[str, ...]:
    """Return the strings of a column that mean a missing answer, in the order of `texts`.

    These are the strings that the codebook declares, words such as "?" and "unknown", "N" or "U" among numbers, and dates
    such as 9999-99-99. Codes such as 98, 999 or -9 count if they have no label and are far from all other numbers, and
    codes such as -1 in a quantity that is otherwise not negative.

    Parameters
    ----------
    texts : how often each string occurs, without surrounding blanks.
    """
    unnamed = [text for text in texts if text not in entry.missing and text not in entry.labels]
    n_numbers = sum(1 for text in texts if NUMBER.fullmatch(text))
    mostly_numbers = n_numbers >= 2 and n_numbers >= len(texts) - 3
    words = _MARKS | _NO_ANSWERS | (_AMONG_NUMBERS if mostly_numbers else frozenset())
    missing = {text for text in unnamed if text.lower() in words or _NO_DATE.fullmatch(text)} | (texts.keys() & entry.missing)
    missing |= _words_among_numbers(unnamed, texts) | _far_codes(texts, entry, unnamed) | {*codes_below_zero(texts, entry)}
    return tuple(text for text in texts if text in missing)


def codes_below_zero(texts: Mapping[str, int], entry: CodebookEntry) -> tuple[str, ...]:
    """Return up to three codes from -1 to -9, such as -1 for "never", beside ten or more numbers that are not negative.

    Negative numbers may also be the lower end of a quantity. So the codebook must label all codes, or -1 or 0 must not
    occur, or there must be one code beside 20 other numbers, or each code must be more frequent than 0 and 1. The result is
    empty if the codebook says that the column holds numbers, or labels most of them.
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
    if -1.0 not in rows or 0.0 not in rows_of_others or all(text in entry.labels for text in below):
        return tuple(below)
    frequent = max(rows_of_others.get(0.0, 0), rows_of_others.get(1.0, 0))
    alone = len(rows) == 1 and len(rows_of_others) >= _MANY_MISSING
    return tuple(below) if alone or min(rows.values()) > frequent else ()


def _words_among_numbers(unnamed: Sequence[str], texts: Mapping[str, int]) -> frozenset[str]:
    """Return up to three rare words without digits, or lines such as "Total: 812", in a column of at least 20 numbers."""
    words = frozenset(text for text in unnamed if not NUMBER.fullmatch(text))
    plain = len(words) <= _FEW_WORDS and all(_TOTAL.match(text) or re.fullmatch(r"\D*[^\W\d_]\D*", text) for text in words)
    rare = sum(texts[text] for text in words) < sum(texts.values()) / 4
    return words if plain and rare and len(texts) - len(words) >= _MANY_MISSING else frozenset()


def _last_codes(texts: Mapping[str, int], values: Mapping[str, float]) -> frozenset[str]:
    """Return the codes 97, 98 and 99 (or 997 to 999) if they are much more frequent than the numbers before them.

    Together they are more than three times as frequent as all numbers from 90 to 96 (900 to 996), in at most a fifth of the
    rows. A single code has more than ten rows.
    """
    end = next((end for end in (100, 1000) if max(values.values()) < end), math.inf)
    codes = {text: texts[text] for text, value in values.items() if end - 3 <= value}
    rows = sum(codes.values())
    rows_before = sum(texts[text] for text, value in values.items() if 0.9 * end <= value < end - 3)
    some = len(values) >= _FEW_NUMBERS and (len(codes) > 1 or rows > _FEW_NUMBERS) and all(map(_NINES.fullmatch, codes))
    return frozenset(codes) if some and 3 * max(1, rows_before) < rows <= sum(texts.values()) / 5 else frozenset()


def _far_codes(texts: Mapping[str, int], entry: CodebookEntry, unnamed: Sequence[str]) -> frozenset[str]:
    """Return codes such as 99 or 999 that probably mean a missing answer, because other numbers are far from them."""
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

    return (_last_codes(texts, values) & {*unnamed}) | {text for text in suspects if is_far(values[text])}


KEEP_MISSING = 20
"""If at most this number of rows lack an answer, these rows are excluded. Otherwise missing values have a bin."""
_AFTER_MARK = re.compile("([,;|\"'])[\\s=+@-]+")
_RESERVED = {"and", "or", "not", "in"}


@dataclass(frozen=True, kw_only=True)
class CodeDraft:
    """A code or category of a drafted column.

    Attributes
    ----------
    rows : the number of public rows with the code.
    spellings : other spellings of the code in the file.
    """

    label: str
    rows: int
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ColumnDraft:
    """The draft of one column: its name, its kind and its bins in the release.

    Attributes
    ----------
    name, source : name of the column in the release, and name of the column of the file from which it comes.
    kind : "integer", "real", "code" or "category".
    part, minus : for a date, the part that is used, such as "month", and the name of the date that is subtracted.
    format, minus_format : the format of the date, and the format of the subtracted date if it differs.
    bins, facts : the bins of a column of numbers, and its settings for criteria with numbers; None for other columns.
    codes : for each string of a column of codes or categories, the label and the frequency of the string.
    ordered : whether the categories have an order, so that neighbours may be merged.
    within : for each category, the larger category that contains it, such as the sector of an industry; otherwise empty.
    groups : label of each released group of categories, with their strings; empty if each category has its own bin.
    characters : the number of leading characters of a string that form its code, or None for the whole string.
    common : codes with a bin of their own if all others, also codes that the public file lacks, share a bin; otherwise empty.
    levels : for the smallest areas: by column of larger areas, the label of the area that contains each code. Otherwise
        empty.
    missing_values : strings that mean a missing answer in this column alone.
    missing_bin : whether even few missing values have a bin, because exclusions in many columns add up.
    calendar : whether the numbers are calendar years, whose mean nobody needs.
    kind_doubt : the question whether the column holds numbers or codes, which a draft may drop.
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
    calendar: bool = False
    doubt: str = ""
    kind_doubt: str = ""

    @classmethod
    def of(cls, answers: Answers, **settings: Any) -> ColumnDraft:
        """Create a draft with these settings; its description and missing values are taken from `answers`."""
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
        return replace(self, doubt="; ".join(filter(None, [self.doubt, *questions])))

    @property
    def is_whole(self) -> bool:
        return self.kind == "integer"

    @property
    def texts_of_bins(self) -> list[str]:
        """The coarse bins of a column of numbers, as a configuration writes them; empty for other columns."""
        return self.bins.texts(whole=self.is_whole, weight=self.weight)["coarse"] if self.bins else []

    @property
    def numbers_of_bins(self) -> dict[str, float]:
        """The value that represents each coarse bin, by label, in means and regressions. Default values are omitted."""
        labels = [interval.label for interval in parse_bins(self.texts_of_bins, whole_numbers=self.is_whole)]
        return {label: self.facts.numbers[label] for label in labels if label in self.facts.numbers} if self.facts else {}

    @property
    def derived(self) -> bool:
        return self.of_date or self.characters is not None

    @property
    def n_bins(self) -> int:
        if self.bins:
            return len(self.bins.coarse) + 1
        return len(self.common) + 1 if self.common else len(self.groups or self.codes)

    @property
    def alternative(self) -> str:
        """The name of the binning that the release uses, such as "coarse" for numbers or "categories"."""
        if self.bins or self.groups:
            return "coarse"
        return "common" if self.common else "codes" if self.kind == "code" else "categories"

    @property
    def keeps_missing(self) -> bool:
        """Whether missing values have a bin. Otherwise their rows are excluded, which biases other columns if there are
        many.
        """
        return self.missing_bin or (self.missing_rows > KEEP_MISSING and not self.weight)  # a row needs a weight


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A column that is left out of a draft, with the reason.

    Attributes
    ----------
    rows_of_one, mean_rows : the largest and the mean number of public rows per value of a key with repeated values, or 0.
    besides : a phrase that names the values of a key that mean no key, such as "besides '0', ", which the other attributes
        do not count; otherwise empty.
    design : "clusters" or "strata" if the column looks like those of a sample; otherwise empty.
    """

    source: str
    because: str
    rows_of_one: int = 0
    mean_rows: float = 0.0
    besides: str = ""
    design: Literal["", "clusters", "strata"] = ""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The strings of one column of the public file, without missing answers.

    Attributes
    ----------
    texts : how often each string occurs.
    missing_rows : number of rows without an answer.
    below_zero : the negative codes without a label in `missing_values`. All other numbers of the column are not negative.
    shared : whether another column that is no key has many of these strings, such as a second diagnosis.
    named_by : column of the file from which the labels come; otherwise empty.
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
        """Return the answers of a column, after a search for strings such as "unknown" or 999 that mean a missing answer.

        Parameters
        ----------
        empty : number of rows without a text.
        """
        below_zero = tuple(text for text in codes_below_zero(texts, entry) if text not in entry.labels)
        whole = cls(source=source, texts=texts, missing_values=(), missing_rows=empty, entry=entry, below_zero=below_zero)
        unseen = tuple(code for code in entry.labels if code in entry.missing and code not in texts)
        answers = whole.without(missing_texts(texts, entry))
        return replace(answers, missing_values=(*answers.missing_values, *unseen))

    def without(self, missing: Collection[str]) -> Answers:
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
        """Whether all strings are numbers. False if there are no strings."""
        return bool(self.texts) and all(map(NUMBER.fullmatch, self.texts))

    @cached_property
    def are_whole(self) -> bool:
        return bool(self.texts) and all(map(WHOLE.fullmatch, self.texts))

    @cached_property
    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Two arrays (n_values,): the different numbers in increasing order, and the number of rows with each number."""
        values, of_text = np.unique(np.array([*map(float, self.texts)]), return_inverse=True)
        return values, np.bincount(of_text, weights=np.array([*self.texts.values()])).astype(np.int64)

    @property
    def label_of_missing(self) -> str:
        """The label of the bin of missing values, such as "missing" or "code -1".

        It is the common label of all missing codes in the codebook, or states a single negative code without a label.
        """
        labels = {self.entry.labels[text] for text in self.missing_values if text in self.entry.labels}
        if len(self.below_zero) == len(self.missing_values) == 1:
            return plain_label(f"code {self.below_zero[0]}")
        return plain_label(labels.pop()) if len(labels) == 1 else "missing"


def plain_label(text: str) -> str:
    """Return a text as a label: one line of at most 200 characters that no spreadsheet executes as a formula."""
    label = " ".join(text.split())[:190] or "empty"
    if is_executable(label):
        label = f"code {label}"
    return _AFTER_MARK.sub(r"\1 ", label).strip() if is_executable(label) else label


def plain_name(source: str, used_names: Collection[str]) -> str:
    """Return a unique name for a column, with the ASCII letters, digits and underscores that rules and TOML keys allow."""
    name = re.sub(r"\W+", "_", unaccented(source.strip()), flags=re.ASCII).strip("_") or "column"
    if not name.isidentifier() or name in _RESERVED:
        name = f"column_{name}"
    return next(unique for unique in chain([name], (f"{name}_{i}" for i in count(2))) if unique not in used_names)


# Selection of the columns that are drafted: the requested columns, and if there are too many, those with the strongest
# associations.

MOST_COLUMNS = MAX_TABLES
"""Largest number of columns in a draft. A release can have more columns, but its rehearsal then takes hours."""
LOOKED_AT = 4_000
"""Columns are compared on this number of rows. Cramer's V then has an error of about 0.02."""
PARTNERS = 10
# For the comparison, a column of strings has a group for each of its 8 most frequent strings. All other strings form one more
# group.
_GROUPS = 8
_TOGETHER = 32  # Number of columns whose tables with other columns are counted together: a faster product of matrices

ORDER = (
    f"columns are ranked by the mean Cramer's V with their {PARTNERS} most associated columns, times their share of rows with "
    "a value; a design weight ranks first"
)
ORDER_BY_IMPORTANT = (
    "columns are ranked by Cramer's V with the most associated of the columns that --important names, times their share of "
    f"rows with a value, and below {LEAST_STRENGTH:g} by the mean V with their {PARTNERS} most associated columns"
)


@dataclass(frozen=True, kw_only=True)
class AskedFor:
    """The columns that a user selects with the option --only or excludes with --leave-out, by their names in the file.

    Attributes
    ----------
    only : the columns to draft, or None for all columns.
    """

    only: tuple[str, ...] | None = None
    leave_out: tuple[str, ...] = ()

    def of(self, names: Sequence[str]) -> tuple[list[str], list[LeftOut]]:
        """Return the names of the columns to read, in the order of the file, and the columns that are left out.

        Raises
        ------
        InputError : when both lists are given, when the file lacks a named column, or when no column remains.
        """
        if self.only is not None and self.leave_out:
            raise InputError("--only and --leave-out cannot be used together. Use only one of the two options.")
        requested, option = (self.leave_out, "--leave-out") if self.only is None else (self.only, "--only")
        if unknown := [name for name in dict.fromkeys(requested) if name not in names]:
            guesses = [f" Did you mean {near!r} instead of {name!r}?" for name in unknown if (near := closest(name, names))]
            raise InputError(
                f"{option}: the file has no column {listing(unknown)}. Its columns are {listing(names)}."
                f"{''.join(guesses)}{' Put a name with a comma into double quotes.' * any(',' in name for name in names)}"
            )
        stay = [name for name in names if (name in requested) == (self.only is not None)]
        if not stay:
            raise InputError(f"{option} leaves no column for the draft. Keep at least one column.")
        because = "--leave-out names it" if self.only is None else "--only does not name it"
        return stay, [LeftOut(source=name, because=because) for name in names if name not in stay]


ALL = AskedFor()


def chosen_columns(
    columns: Sequence[ColumnDraft],
    batches: Iterable[Mapping[str, Texts]],
    n_rows: int,
    important: Collection[str] = (),
    most: int = MOST_COLUMNS,
) -> tuple[list[ColumnDraft], list[LeftOut]]:
    """Select at most `most` columns for a draft, preferably with strong associations.

    Return them in the order of the file, and the other columns with the reason for leaving them out. The constants `ORDER`
    and `ORDER_BY_IMPORTANT` state the ranking. If several columns are drafted from a column of the file, such as year and
    month of a date, each counts.

    Parameters
    ----------
    batches, n_rows : the rows of the file in batches, and their number.
    important : names in the file of the columns that the steward called important.
    """
    sources = list(dict.fromkeys(column.source for column in columns))
    ties = dict(zip(sources, _ties(sources, columns, batches, n_rows, important), strict=True))
    weights = {column.source for column in columns if column.weight}
    order = sorted(sources, key=lambda source: (source not in weights, source not in important, *ties[source]))
    width, stay = Counter(column.source for column in columns), set[str]()
    for source in order:
        if sum(width[other] for other in stay) + width[source] <= most:
            stay.add(source)
    ranking = ORDER_BY_IMPORTANT if important else ORDER
    because = (
        f"a draft has at most {most} columns, and other columns rank before this one ({ranking}; --important names the columns "
        "that matter, --only and --leave-out choose other columns)"
    )
    left_out = [LeftOut(source=source, because=because) for source in order if source not in stay]
    return [column for column in columns if column.source in stay], left_out


def _ties(
    sources: list[str], columns: Sequence[ColumnDraft], parts: Iterable[Mapping[str, Texts]], n: int, important: Collection[str]
) -> list[list[float]]:
    """Return two sort keys for each column of the file, smallest for columns with strong associations.

    The first is the column's strongest association with an important column, or 0 if no association is strong; the second
    is the mean with its most associated columns. Both are multiplied by minus the share of rows with a value.
    """
    missing = {column.source: {*InputTable().missing_values, *column.missing_values} for column in columns}
    numbers = {column.source for column in columns if column.bins and not column.of_date}
    rows: dict[str, list[str | None]] = {source: [] for source in sources}
    for batch in parts:  # rows are taken from the whole file, because neighbouring rows are often similar
        for source in sources:
            texts = batch[source]
            rows[source] += map([*texts.texts].__getitem__, texts.codes[:: -(-n // LOOKED_AT)].tolist())
    groups = np.stack([_grouped(rows[source], missing[source], source in numbers) for source in sources])
    strengths, filled = _strengths(groups), (groups >= 0).mean(axis=1)
    with_important = strengths[[place for place, source in enumerate(sources) if source in important]].max(axis=0, initial=0.0)
    closest = np.sort(strengths, axis=1)[:, -PARTNERS:].mean(axis=1)
    return (-filled[:, None] * np.stack([with_important * (with_important >= LEAST_STRENGTH), closest], axis=1)).tolist()


def _grouped(texts: Sequence[str | None], missing: Collection[str], is_number: bool) -> np.ndarray:
    """Return the (n_rows,) group of each row by its value in one column, for Cramer's V, or -1 without a value.

    Numbers are divided at their quantiles into eight groups. The eight most frequent strings are groups, and all others
    share one.
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}  # each different text is examined once
    codes = np.fromiter(map(places.__getitem__, texts), dtype=np.int64, count=len(texts))
    plain = ["" if text is None or text.strip() in missing else text.strip() for text in places]
    if is_number:
        decimal = (text.replace(",", ".") for text in plain)
        values = np.array([float(text) if NUMBER.fullmatch(text) else math.nan for text in decimal])[codes]
        valid = ~np.isnan(values)
        limits = np.unique(np.quantile(values[valid], np.arange(1, _GROUPS) / _GROUPS)) if valid.any() else np.empty(0)
        return np.where(valid, np.searchsorted(limits, values, side="right"), -1)
    of_row = np.unique(plain, return_inverse=True)[1][codes]
    rank = np.minimum(np.argsort(np.argsort(-np.bincount(of_row), kind="stable"), kind="stable"), _GROUPS)
    return np.where(np.array([not text for text in plain])[codes], -1, rank[of_row])


def _strengths(groups: np.ndarray) -> np.ndarray:
    """Return the (n_columns, n_columns) matrix of Cramer's V of every two columns, over the rows with both values; 0 on the
    diagonal.
    """
    n_columns, width = len(groups), _GROUPS + 1
    held = groups[:, None, :] == np.arange(width)[None, :, None]
    used = held.any(axis=2)  # many columns have fewer groups
    flat, ends = held[used].astype(np.float32), [0, *np.cumsum(used.sum(axis=1)).tolist()]
    strengths = np.zeros((n_columns, n_columns))
    for first in range(0, n_columns, _TOGETHER):
        last = min(first + _TOGETHER, n_columns)
        tables = np.zeros((last, width, last - first, width), dtype=np.float32)
        cells = np.ix_(used[:last].ravel(), used[first:last].ravel())
        tables.reshape(last * width, -1)[cells] = flat[: ends[last]] @ flat[ends[first] : ends[last]].T
        for column in range(first, last):
            strengths[column, :column] = cramers_v(tables[:column, :, column - first].astype(float))
    return strengths + strengths.T


# Keys: columns that identify single persons, events, records or places. A draft leaves out such columns.
#
# A key is recognised by its number of values and by how often values repeat, compared with a random quantity. The name of the
# column decides if the values allow both kinds. Whether a key identifies persons cannot be seen in the values, so `[unit]` of
# the draft asks.

_DIGITS = re.compile(r"\d{1,18}(\.0*)?", re.ASCII)
# The digits of a date, optionally followed by a time of day.
_MOMENT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(([01]\d|2[0-3])([0-5]\d){1,2})?(\.0*)?", re.ASCII)
_FEWEST_ROWS = 50
_CHANCE = 10  # If all numbers differ, they differ by design if chance would give at least this number of equal pairs
# A column with repeated values can be a key by its name or range only if it has at least this number of different values.
_MANY = 500
_OWN = 0.9  # The reason says "nearly every row" if at least this share of the rows has a unique value
# The draft asks whether a key identifies persons if at least this share of the rows has a value that other rows share.
_SHARED = 0.05
_SPREAD = 5  # The number of standard deviations by which the number of different values must differ from a random quantity
# The number of parts of the range with equally many values, in each of which a quantity has about constant density.
_WINDOWS = 20
# The largest mean number of rows per value of a key with six digits or more, and with fewer digits. Codes have more.
_ROWS_OF_ONE = {"wide": 20, "narrow": 3}
# From this number of digits on, all rows of a quantity have equally many digits only if most numbers are rounded.
_SURELY_WIDE = 8
_HEAVY = 10  # A value of a key with more than this multiple of the rows of any other value may stand for a missing key
_TOP = 0.05
# The largest share of rows that the most frequent 5% of the values of a key have. Codes and amounts have a larger share.
_OF_TOP = 0.35


def left_out_as_key(answers: Answers) -> LeftOut | None:
    """Return why a column of keys (of persons, events or places) or of free text is left out, or None."""
    named = PARTS["key"].search(answers.source) or PARTS["identity"].search(answers.source)
    none = missing_keys(answers.texts) if named else ()
    left_out = _as_key(replace(answers, texts={text: times for text, times in answers.texts.items() if text not in none}))
    besides = f"besides {listing(none)}, " * bool(none)
    return left_out and replace(left_out, because=besides + left_out.because, besides=besides)


def _as_key(answers: Answers) -> LeftOut | None:
    texts, rows = answers.texts, answers.rows
    if answers.entry.number or len(texts) <= _FEWEST_ROWS:
        return None
    whole = all(map(_DIGITS.fullmatch, texts))
    if all(map(_MOMENT.fullmatch, texts)) or (not answers.are_numbers and (answers.shared or _are_classified(answers))):
        return None
    if len(texts) > rows / 2 and (not answers.are_numbers or (whole and PARTS["named"].search(answers.source))):
        return _key(answers, "the column holds free text or names" if _are_words(texts) else "it may identify persons")
    if not answers.are_numbers and NAMES["person"].search(words_in(answers.source)):
        return LeftOut(source=answers.source, because="according to its name, the column holds names of persons")
    if answers.entry.labels or not (whole or not answers.are_numbers):
        return None
    if whole and not answers.missing_rows and len(texts) == rows and _differ_by_design(answers):
        return LeftOut(source=answers.source, because="no two rows have the same number: it may identify persons")
    of_few_rows = PARTS["identity"].search(answers.source) and rows <= _ROWS_OF_ONE["wide"] * len(texts)
    if of_few_rows or (len(texts) >= _MANY and PARTS["key"].search(answers.source)):
        return _key(answers, "its name looks like the name of a key")
    why = _why_numbers_are_a_key(answers) if whole else _why_texts_are_a_key(answers)
    return _key(answers, why) if why else None


# The pattern of codes of diagnoses, procedures, drugs and industries, such as I21.4, N02BE01 and 01.11.
_CLASSIFIED = re.compile(r"[A-Z]\d{2}([.-]?[0-9A-Z]{1,2})?|[A-Z]\d{2}[A-Z]{1,2}\d{0,2}|\d{1,3}\.\d{1,3}(\.\d{1,3})*", re.ASCII)


def _are_classified(answers: Answers) -> bool:
    """Return whether nearly all strings look like codes of a classification, such as I21.4, and many share their beginnings.

    The result is false if the name of the column suggests a key.
    """
    n_written = sum(bool(_CLASSIFIED.fullmatch(text.upper())) for text in answers.texts)
    beginnings, n = len({text[:3] for text in answers.texts}), len(answers.texts)
    return n_written >= 0.98 * n and beginnings < 0.9 * n and not PARTS["key"].search(answers.source)


def _are_words(texts: Collection[str]) -> bool:
    return sum(bool(re.search(r"[^\W\d_]{2,}[\s,]+[^\W\d_]", text)) for text in texts) > 0.8 * len(texts)


def _key(answers: Answers, why: str) -> LeftOut:
    times, largest = answers.texts.values(), max(answers.texts.values())
    own_share = sum(often == 1 for often in times) / answers.rows
    because = f"nearly every row has a different value: {why}"
    if own_share < _OWN:
        share = f"{own_share:.0%} of the rows have a unique value" if own_share else "every value occurs in several rows"
        like = "" if _are_words(answers.texts) else ", like a key of persons, events or places"
        because = f"it has {len(times):,} different values, up to {largest:,} rows each{like} ({share}): {why}"
    if largest == 1 or 1 - own_share < _SHARED:
        return LeftOut(source=answers.source, because=because)
    return LeftOut(source=answers.source, because=because, rows_of_one=largest, mean_rows=answers.rows / len(times))


def of_many_texts(answers: Answers) -> LeftOut:
    """Return why a column with too many different strings is left out, and whether its strings may be a key."""
    times, n = np.array([*answers.texts.values()]), len(answers.texts)
    because = f"it has {n:,} different texts, and most texts are rare (group the texts first)"
    if not _is_even(times) or _are_words(answers.texts):
        return LeftOut(source=answers.source, because=because)
    because = f"{because}. It may be a key of persons, events or places (up to {times.max():,} rows each)"
    return LeftOut(source=answers.source, because=because, rows_of_one=int(times.max()), mean_rows=answers.rows / n)


_STANDS_FOR_NONE = re.compile(r"0+|9+|-\d+|x+|" + "|".join(map(re.escape, sorted(_MARKS | _NO_ANSWERS))), re.IGNORECASE)


def missing_keys(times: Mapping[str, int]) -> tuple[str, ...]:
    """Return the values of a key, such as 0 or 99999, that far more rows have than any other: the key seems unknown there."""
    most = max(times, key=times.__getitem__, default="")
    others = {text: often for text, often in times.items() if text != most and not _STANDS_FOR_NONE.fullmatch(text)}
    if not others:
        return ()
    enough = max(_FEWEST_ROWS, _HEAVY * max(others.values()))
    return tuple(text for text, often in times.items() if text not in others and often >= enough)


def _differ_by_design(answers: Answers) -> bool:
    """Return whether numbers that are all different were assigned to the rows, as serial numbers are.

    This holds if chance would give at least ten pairs of equal numbers, or if all numbers have the same number of digits,
    at least nine.
    """
    values, rows = np.array([float(text) for text in answers.texts]), answers.rows
    pairs = rows * (rows - 1) / 2 / (values.max() - values.min() + 1)
    return bool(pairs >= _CHANCE or (values.min() >= 1e8 and len(_widths(answers)) == 1))


def _why_numbers_are_a_key(answers: Answers) -> str:
    """Return the evidence that whole numbers are a key, or an empty string if they may be a quantity or codes.

    A quantity has about constant density in each part of its range, which gives an expected number of different values.
    Serial numbers have more different values; numbers of persons who occur several times have fewer, but so have rounded
    amounts and codes, so further properties are tested.
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
        return "fewer numbers in the range are missing than chance explains"
    if len(widths) == 1 and n >= _MANY and _fill_a_range(values, times, min(widths)):
        return "most numbers in the range occur, about equally often in both halves of the range"
    kind = "wide" if min(widths) >= 6 and len(widths) == 1 else "narrow"
    comes_again = n < mean - max(_SPREAD * spread, 0.02 * mean)
    quantity = NAMES["quantity"].search(words_in(answers.source)) and not PARTS["named"].search(answers.source)
    # the last of many digits may be a check digit, or a number within a family
    unrounded = _ends_evenly(values, times) or (min(widths) >= _SURELY_WIDE and _ends_evenly(values // 10, times))
    if quantity or not (comes_again and few_each and rows / n <= _ROWS_OF_ONE[kind] and unrounded):
        return ""
    lie_evenly = np.abs((values - values[0]) / (values[-1] - values[0]) - np.linspace(0, 1, n)).max() < 0.1
    again = "numbers repeat more often than chance explains, about equally often and without rounding"
    return again if kind == "wide" or lie_evenly else ""


def _by_chance(values: np.ndarray, times: np.ndarray) -> tuple[float, float]:
    """Return the mean and standard deviation of the number of different values of a random quantity with the same rows and
    density.
    """
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
    """Return whether numbers of five digits or more fill most of their range, about equally in both halves, as serial
    numbers do.
    """
    low, high = values[0], values[-1]
    lower_half = times[values <= (low + high) / 2].sum() / times.sum()
    return bool(digits >= 5 and len(values) / (high - low + 1) > 0.5 and 0.35 < lower_half < 0.65)


def _is_even(times: np.ndarray) -> bool:
    """Return whether values are about equally frequent: the most frequent 5% of them have at most 35% of the rows."""
    top = max(1, round(_TOP * len(times)))
    return bool(np.sort(times)[-top:].sum() <= _OF_TOP * times.sum())


def _ends_evenly(values: np.ndarray, times: np.ndarray) -> bool:
    """Return whether numbers seem not to be rounded: no last digit has 20% or more of the rows or of the values."""
    digits = (values % 10).astype(np.int64)
    return bool(all(np.bincount(digits, weights=rows, minlength=10).max() < 0.2 * rows.sum() for rows in (times, times > 0)))


def _why_texts_are_a_key(answers: Answers) -> str:
    """Return the evidence that strings are assigned identifiers, or an empty string.

    Identifiers have the same pattern, at least four digits in the median, and about equal frequencies.
    """
    times = np.array(list(answers.texts.values()))
    if answers.rows / len(times) > _ROWS_OF_ONE["wide"] or not _is_even(times):
        return ""
    shapes = Counter(_shape(text) for text in answers.texts)
    alike = shapes.most_common(1)[0][1] >= 0.95 * len(times) or len({len(text) for text in answers.texts}) == 1
    digits = np.array([sum(letter.isdigit() for letter in text) for text in answers.texts])
    no_words = all(re.fullmatch(r"[\w./:-]+", text) for text in answers.texts)
    return "all texts have the same pattern, with digits" if alike and no_words and np.median(digits) >= 4 else ""


def _shape(text: str) -> str:
    """Return the pattern of a string, such as "A-999" for "AB-123": 9 for each digit, A for each run of letters."""
    kinds = ("9" if letter.isdigit() else "A" if letter.isalpha() else letter for letter in text)
    return "".join(letter if letter == "A" else letter * len(list(run)) for letter, run in groupby(kinds))


def _widths(answers: Answers) -> set[int]:
    return {len(text.partition(".")[0]) for text in answers.texts}


# Columns with the same information in every row of the public file, of which one is enough.

LEAST = 5
"""A column counts only if its second most frequent bin has at least this number of rows. Nearly constant columns agree by
chance.
"""

SOME = 1_000
"""The number of rows that are compared before all rows. Most pairs of columns already differ in them."""


def said_twice(columns: Sequence[ColumnDraft], table: Counts) -> dict[str, LeftOut]:
    """Find columns that repeat another column: each value (bin) of one occurs with a single value of the other.

    Return the columns to leave out, by name: a column computed from a date or from the first characters of a code,
    otherwise the later one. Dummy variables are left out if they state all or all but one of the values of another column.

    Parameters
    ----------
    table : counts of the public rows in the drafted bins of these columns.
    """
    bins = {column.name: table.digits(i) for i, column in enumerate(columns)}
    rows_of = {name: np.sort(np.bincount(digits, weights=table.counts)) for name, digits in bins.items()}
    varies = {name for name, rows in rows_of.items() if rows[-2:][0] >= LEAST}
    frequencies = {name: np.trim_zeros(rows, "f").tobytes() for name, rows in rows_of.items()}
    n_used = {name: _used(digits) for name, digits in bins.items()}
    left_out: dict[str, LeftOut] = {}
    some = slice(None, None, 1 + len(table) // SOME)
    for first, second in combinations([column for column in columns if column.name in varies], 2):
        if frequencies[first.name] != frequencies[second.name] or {first.name, second.name} & left_out.keys():
            continue
        width = int(bins[second.name].max()) + 1
        together = (bins[first.name][rows] * width + bins[second.name][rows] for rows in (some, slice(None)))
        if all(_used(one_to_one) <= n_used[first.name] for one_to_one in together):
            gone, stays = (first, second) if first.derived and not second.derived else (second, first)
            named = f"{gone.name!r}, which is computed from it," if gone.name != gone.source else "it"
            because = f"in the drafted bins, {named} has the same information as {stays.name!r} in every row of the public file"
            left_out[gone.name] = LeftOut(source=gone.source, because=because)
    states = {side.tobytes(): name for name in varies if n_used[name] == 2 for side in (bins[name] == 0, bins[name] == 1)}
    for column in columns:
        dummies = {states.get((bins[column.name] == place).tobytes()) for place in np.unique(bins[column.name])} - {None}
        if len(dummies) >= max(n_used[column.name] - 1, 2):
            because = f"it states one value of {column.name!r} in every row of the public file"
            left_out |= {each.name: LeftOut(source=each.source, because=because) for each in columns if each.name in dummies}
    return left_out


def _used(digits: np.ndarray) -> int:
    return int(np.count_nonzero(np.bincount(digits)))
