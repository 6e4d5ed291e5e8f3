"""Dates of a public file: one column of them by year and month or week, the others by their distance in days. Never a day."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from synthrelease.data.dates import DateFormat
from synthrelease.drafting.bins import NumberBins
from synthrelease.drafting.column_draft import Answers, ColumnDraft, LeftOut, plain_name
from synthrelease.drafting.columns import numbers

FORMATS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d", "%d%b%Y", "%d-%b-%Y", "%b %d, %Y"),
    *("%Y-%m", "%m/%Y", "%m.%Y", "%Y%m"),
)
"""As they are tried: where a file allows two readings, the first one is taken, and the draft says which."""

_FORMATS = {form: DateFormat(form) for form in FORMATS}
_YEARS = range(1850, 2101)
_QUARTERS = (4.0, 7.0, 10.0)
_MONTHS = NumberBins(low=1.0, high=12.0, coarse=_QUARTERS, fine=tuple(float(month) for month in range(2, 13)), groups=_QUARTERS)


@dataclass(frozen=True, kw_only=True)
class DateColumn:
    """A column of dates.

    Attributes
    ----------
    days : (n_rows,) days since year 1, or -1 where there is no answer.
    """

    answers: Answers
    format: str
    days: np.ndarray

    @property
    def name(self) -> str:
        return self.answers.source


def date_format(texts: Collection[str], formats: Collection[str] = FORMATS) -> str | None:
    """The format in which all texts are dates between 1850 and 2100; None where there is none."""
    return next((form for form in formats if texts and all(_parsed(text, form) for text in texts)), None)


def _parsed(text: str, form: str) -> date | None:
    """As a release reads it, in a year that dates of registers have."""
    found = _FORMATS[form].read(text)
    return found if found is not None and found.year in _YEARS else None


def date_column(answers: Answers, texts: list[str], codes: np.ndarray) -> DateColumn | None:
    """A column of the file as dates; None where it is not one.

    Parameters
    ----------
    texts, codes : the different texts of the column, without surrounding blanks, and (n_rows,) which of them every row has.
    """
    form = date_format(answers.texts)
    if form is None:
        return None
    days = [found.toordinal() if (found := _parsed(text, form)) else -1 for text in texts]
    return DateColumn(answers=answers, format=form, days=np.array([*days, -1])[codes])


def draft_dates(dates: list[DateColumn], taken: Collection[str]) -> dict[str, list[ColumnDraft] | LeftOut]:
    """What becomes of all columns of dates: by source, what is drafted, or why nothing is.

    The column with the fewest gaps, of these the earliest, stands for the time of the record. Of every other one it is how many
    days later it is that people ask for.
    """
    constant = [column for column in dates if len(np.unique(column.days)) == 1]
    found: dict[str, list[ColumnDraft] | LeftOut] = {
        column.name: LeftOut(source=column.name, because="it has one value only") for column in constant
    }
    dates = [column for column in dates if column.name not in found]
    if not dates:
        return found
    first = min(dates, key=lambda column: (column.answers.missing_rows, float(np.median(column.days[column.days >= 0]))))
    used = list(taken)
    for column in [first, *(column for column in dates if column is not first)]:
        drafted = [] if column is first else _later(column, first, used)
        drafted = drafted or _parts(column, used)
        used += [each.name for each in drafted]
        found[column.name] = drafted or LeftOut(source=column.name, because="all dates are in one month")
    return found


def _later(column: DateColumn, first: DateColumn, taken: Collection[str]) -> list[ColumnDraft]:
    """Days between the first date and this one, from the one that mostly is the earlier; none where they are written unlike."""
    both = (column.days >= 0) & (first.days >= 0)
    if not both.any():
        return []
    earlier, later = (first, column) if np.median((column.days - first.days)[both]) >= 0 else (column, first)
    apart, times = np.unique((later.days - earlier.days)[both], return_counts=True)
    if later.format != earlier.format or _FORMATS[later.format].lacks(None):
        return []
    answers = _with_numbers(later, dict(zip(apart.tolist(), times.tolist(), strict=True)), int((~both).sum()))
    gone = dict.fromkeys([*later.answers.missing_values, *earlier.answers.missing_values])
    answers = replace(answers, missing_values=tuple(gone))
    date = {"minus": earlier.name, "format": later.format}
    drafted = numbers(answers, f"{later.name}_days_after_{plain_name(earlier.name, ())}", taken, date=date)
    if isinstance(drafted, LeftOut):
        return []
    return [replace(drafted, remark=f"days from {earlier.name} to {later.name}; {drafted.remark}")]


def _parts(column: DateColumn, taken: Collection[str]) -> list[ColumnDraft]:
    """The year where there are several; and the month, or the ISO week where there are few months."""
    given = column.days[column.days >= 0]
    different, times = np.unique(given, return_counts=True)
    dates = [date.fromordinal(int(day)) for day in different]
    found: list[ColumnDraft] = []
    months = {(day.year, day.month) for day in dates}
    weeks = {day.isocalendar()[:2] for day in dates}
    few = len(months) <= 6 and len(weeks) > 6 and len({year for year, _ in weeks}) == 1
    fine = "week" if few and not _FORMATS[column.format].lacks("week") else "month"
    for part in ("year", fine):
        sums: dict[int, int] = {}
        for day, rows in zip(dates, times.tolist(), strict=True):
            value = day.isocalendar().week if part == "week" else getattr(day, part)
            sums[value] = sums.get(value, 0) + rows
        answers = _with_numbers(column, sums, column.answers.missing_rows)
        named = {"part": part, "format": column.format}
        drafted = numbers(answers, f"{column.name}_{part}", taken, date=named, known=_MONTHS if part == "month" else None)
        if isinstance(drafted, LeftOut):
            continue
        found.append(replace(drafted, remark=f"only the {part} of the date is used"))
    return found


def _with_numbers(column: DateColumn, sums: Mapping[int, int], missing_rows: int) -> Answers:
    """The answers of a column of dates with numbers in place of the dates."""
    return replace(column.answers, texts={str(value): times for value, times in sums.items()}, missing_rows=missing_rows)
