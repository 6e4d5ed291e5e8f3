"""Read dates in the formats that a specification states, and compute parts of a date, such as the year.

A format consists of %Y (four digits), %m and %d (one or two digits), %b (Jan to Dec, in English, in any case), and other,
literal characters. A month or day next to another directive must have two digits, and so must both in the ISO 8601 format
yyyy-mm-dd, if it is the only one. A time of day after T, a space or a colon is ignored. Formats may be joined by " or "; each
date is read by the first that matches it. Two-digit years are refused, because they do not determine the century, and month
names in other languages, because the result could differ between computers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from synthrelease.errors import Unexpected

ISO, OR = "%Y-%m-%d", " or "
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
PARTS = {
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "week": lambda day: day.isocalendar().week,
    "day": lambda day: day.day,
    "weekday": lambda day: day.isoweekday(),
}
"""The parts of a date that a column may use, with their functions: quarter 1 to 4, ISO week 1 to 53, weekday 1 (Monday) to 7.
"""
_EPOCH = date(1970, 1, 1).toordinal()
# Directives that a part of a date needs; a part that is not listed needs all three.
_NEEDS = {"year": "Y", "quarter": "Ym", "month": "Ym"}
_DIRECTIVE = re.compile("%(.?)", re.DOTALL)
_DIGITS = {"Y": "[0-9]{4}", "m": "[0-9]{1,2}", "d": "[0-9]{1,2}", "b": "[A-Za-z]{3}"}
_TWO_DIGITS = ("{1,2}", "{2}")
_TIME = "([T :][0-9]{1,2}:[0-9]{2}.*)?"


@dataclass(frozen=True)
class DateFormat:
    """One or several formats of dates, with the directives of strptime, such as "%d.%m.%Y".

    Raises
    ------
    Unexpected : if a directive is unknown or occurs twice, a format has no year, or a day but no month, or two formats are
        equal or differ only in the order of day and month.
    """

    text: str

    def __post_init__(self) -> None:
        if are_exchanged(self.text.split(OR)):
            raise Unexpected(
                f"Two of the formats {self.text!r} are equal, or differ only in the order of day and month, so a date may be "
                "ambiguous. State only the order that the file uses"
            )
        for directives in map(_DIRECTIVE.findall, self.text.split(OR)):
            names = ["m" if name == "b" else name for name in directives]
            if unknown := [name for name in directives if name not in _DIGITS]:
                reason = "two digits do not determine the century" if unknown[0] == "y" else "this directive cannot be used"
                fault = f"The date format {self.text!r} contains %{unknown[0]}: {reason}"
                raise Unexpected(f"{fault}. Write the year as %Y, the month as %m or %b, and the day as %d")
            if "Y" not in names or ("d" in names and "m" not in names) or len(set(names)) < len(names):
                raise Unexpected(
                    f"The date format {self.text!r} must contain the year (%Y) once. It may contain the month once and, with "
                    "the month, the day once"
                )

    def lacks(self, part: str | None) -> bool:
        """Return whether a part of a date, such as "month" (None: the whole date), cannot be computed in one of these
        formats."""
        numeric = self.text.replace("%b", "%m").split(OR)
        return any(f"%{letter}" not in way for letter in _NEEDS.get(part or "", "Ymd") for way in numeric)

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        return [_pattern(text) for text in self.text.split(OR)]

    def read(self, text: str) -> date | None:
        """Return the date in a string, or None if no format matches or the day does not exist. Without a day or month in the
        format, the first one is used."""
        for match in filter(None, (pattern.fullmatch(text) for pattern in self.patterns)):
            groups = {"m": "1", "d": "1"} | match.groupdict()
            try:
                month = MONTHS.index(groups["b"].lower()) + 1 if "b" in groups else int(groups["m"])
                return date(int(groups["Y"]), month, int(groups["d"]))
            except ValueError:  # such as 30 February
                continue
        return None

    def texts(self, day: date) -> list[str]:
        """Return the usual ways to write a day in each format: with and without leading zeros, and with Jan, JAN or jan."""
        month, written = MONTHS[day.month - 1], list[str]()
        for digits in ("02", ""):
            ways = (
                self.text.replace("%Y", f"{day.year:04}")
                .replace("%m", f"{day.month:{digits}}")
                .replace("%d", f"{day.day:{digits}}")
            )
            written += [way.replace("%b", name) for way in ways.split(OR) for name in (month.title(), month.upper(), month)]
        return [text for text in dict.fromkeys(written) if self.read(text) == day]

    @property
    def example(self) -> str:
        return self.text.replace("%Y", "2014").replace("%m", "12").replace("%b", "Dec").replace("%d", "31")


def are_exchanged(formats: Sequence[str]) -> bool:
    """Return whether two formats are equal or differ only in the order of day and month."""
    return len({re.sub("%[dm]", "%", form) for form in formats}) < len(formats)


def _pattern(text: str) -> re.Pattern[str]:
    pieces = re.split("(%[Ymdb])", text)  # directives at odd places
    for index in range(1, len(pieces), 2):
        letter = pieces[index][1]
        touches = (index > 1 and not pieces[index - 1]) or (index < len(pieces) - 2 and not pieces[index + 1])
        digits = _DIGITS[letter].replace(*_TWO_DIGITS) if touches or text == ISO else _DIGITS[letter]
        pieces[index] = f"(?P<{letter}>{digits})"
    pieces[::2] = map(re.escape, pieces[::2])
    return re.compile("".join(pieces) + _TIME, re.DOTALL)


def years_between(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the number of completed years between dates, like ages. From 29 February, a year is completed on 1 March.

    Parameters
    ----------
    starts, ends : (n,) day numbers as returned by `date.toordinal`.
    """
    years, days = [], []
    for ordinals in (starts, ends):
        dates = (ordinals - _EPOCH).astype("M8[D]")
        months = dates.astype("M8[M]")
        years.append(dates.astype("M8[Y]").astype(np.int64))
        days.append(months.astype(np.int64) % 12 * 31 + (dates - months).astype(np.int64))
    return years[1] - years[0] - (days[1] < days[0])
