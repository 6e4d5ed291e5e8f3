"""A column of a public file is drafted as what it probably is: a date, whole numbers, real numbers, categories, or left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from synthrelease.drafting.bins import NumberBins, number_bins
from synthrelease.toml.tables import InputTable

MAX_CATEGORIES = 40
_RESERVED = {"and", "or", "not", "in"}
_WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,15}\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})([T ]\d{2}:\d{2}.*)?", re.ASCII)
_IDENTIFIER = re.compile(
    r"(^|_)(id|ids|number|no|nr|num|key|code|serial|ssn|name|address|phone|email)($|_)|Id$|ID$", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class ColumnDraft:
    """One drafted column.

    Attributes
    ----------
    name, source : in the release, and in the file.
    kind : "integer", "real" or "category".
    part : "year" or "month" of a date.
    bins : of a column of numbers.
    categories : labels with their text in the file and how often it occurs, for a category.
    remark : for the steward.
    """

    name: str
    source: str
    kind: str
    remark: str
    part: str | None = None
    bins: NumberBins | None = None
    categories: Mapping[str, tuple[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A column that is not drafted, and why."""

    source: str
    because: str


def draft_column(source: str, texts: Counter[str | None], taken: Collection[str]) -> list[ColumnDraft] | LeftOut:
    """What becomes of one column of the file.

    Parameters
    ----------
    texts : how often each text occurs; None is a null.
    taken : names that other columns have.
    """
    missing = InputTable().missing_values
    present = Counter[str]()
    for text, times in texts.items():
        if text is not None and text.strip() not in missing:
            present[text.strip()] += times
    if not present:
        return LeftOut(source=source, because="it has no values")
    if len(present) == 1:
        return LeftOut(source=source, because="it has one value only")
    name = _plain_name(source, taken)
    rows = sum(present.values())
    if all(_DATE.fullmatch(text) for text in present):
        return _date(name, source, present, taken)
    if len(present) > 50 and (_IDENTIFIER.search(source) or not _numbers(present)) and len(present) > rows / 2:
        return LeftOut(source=source, because="nearly every row has a value of its own: it may identify persons")
    if _numbers(present) and len(present) > 2:
        return _number(name, source, present)
    if len(present) > MAX_CATEGORIES:
        return LeftOut(source=source, because=f"it has {len(present)} different texts: group them into categories first")
    return [_category(name, source, present)]


def _numbers(texts: Collection[str]) -> bool:
    return all(_NUMBER.fullmatch(text) for text in texts)


def _number(name: str, source: str, texts: Counter[str]) -> list[ColumnDraft] | LeftOut:
    whole = all(_WHOLE.fullmatch(text) for text in texts)
    sums = Counter[float]()
    for text, times in texts.items():
        sums[float(text)] += times
    values = np.array(sorted(sums))
    if max(abs(values[0]), abs(values[-1])) > 1e14:
        return LeftOut(source=source, because="its numbers are too large: it may be a code")
    counts = np.array([sums[value] for value in values])
    bins = number_bins(values, counts, whole=whole)
    if not bins.coarse:
        return LeftOut(source=source, because="nearly all rows have one value")
    remark = f"public file: {values[0]:.12g} to {values[-1]:.12g}, {len(values)} different values"
    return [ColumnDraft(name=name, source=source, kind="integer" if whole else "real", remark=remark, bins=bins)]


def _date(name: str, source: str, texts: Counter[str], taken: Collection[str]) -> list[ColumnDraft] | LeftOut:
    """The month, and the year where there are several: never the day."""
    found = []
    for part, place in (("year", 1), ("month", 2)):
        sums = Counter[float]()
        for text, times in texts.items():
            match = _DATE.fullmatch(text)
            if match:
                sums[float(match[place])] += times
        values = np.array(sorted(sums))
        if len(values) < 2:
            continue
        bins = number_bins(values, np.array([sums[value] for value in values]), whole=True)
        if part == "month":
            months = tuple(float(month) for month in range(2, 13))
            bins = replace(bins, low=1, high=12, coarse=(4.0, 7.0, 10.0), fine=months)
        if bins.coarse:
            chosen = _plain_name(f"{name}_{part}", taken)
            remark = f"only the {part} of the date is used"
            found.append(ColumnDraft(name=chosen, source=source, kind="integer", remark=remark, part=part, bins=bins))
    return found or LeftOut(source=source, because="all dates are in one month")


def _category(name: str, source: str, texts: Counter[str]) -> ColumnDraft:
    categories: dict[str, tuple[str, int]] = {}
    for text in sorted(texts, key=_in_order):
        label = text if text[0] not in "=+-@" else f"code {text}"  # a spreadsheet would compute it
        categories[label[:200]] = (text, texts[text])
    rare = [label for label, (_, times) in categories.items() if times < 0.01 * sum(texts.values())]
    remark = f"{len(categories)} categories in the public file" + (f"; below 1% of its rows: {', '.join(rare)}" if rare else "")
    return ColumnDraft(name=name, source=source, kind="category", remark=remark, categories=categories)


def _in_order(text: str) -> tuple[int, float, str]:
    """Numbers by size, before texts."""
    return (0, float(text), text) if _NUMBER.fullmatch(text) else (1, 0.0, text)


def _plain_name(source: str, taken: Collection[str]) -> str:
    """A column name of plain letters, digits and underscores, as rules and TOML keys need it, that no other column has."""
    name = re.sub(r"\W+", "_", source.strip(), flags=re.ASCII).strip("_") or "column"
    if not name.isidentifier() or name in _RESERVED:
        name = f"column_{name}"
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    return unique
