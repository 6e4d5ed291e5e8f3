"""Bins as people write them: "<18", "18-19", "18..44", "1500-4499 by 100", ">44".

All bins are left-closed intervals on public numbers. For whole numbers "18-19" is [18, 20); for real numbers intervals
are written "500 to 1000" (500 is in, 1000 is not), "<500" and ">=1000".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from synthrelease.errors import Unexpected

MAX_BINS = 20_000
"""Bins of one column: more than any table of counts could hold beside other columns."""
_NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?)"
_PATTERNS = {
    "below": re.compile(rf"(<=?) ?{_NUMBER}"),
    "above": re.compile(rf"(>=?) ?{_NUMBER}"),
    "single": re.compile(_NUMBER),
    "range": re.compile(rf"{_NUMBER} ?- ?{_NUMBER}"),
    "run": re.compile(rf"{_NUMBER} ?\.\. ?{_NUMBER}"),
    "steps": re.compile(rf"{_NUMBER} ?- ?{_NUMBER} by {_NUMBER}"),
    "half_open": re.compile(rf"{_NUMBER} to {_NUMBER}"),
}


@dataclass(frozen=True, kw_only=True)
class IntervalBin:
    """One left-closed bin [lower, upper) with its label and the number that stands for it in means and regressions.

    The number follows the reference release: the single value of a bin; the mean of its bounds (2-3 gives 2.5); the
    edge of an unbounded bin (>10 gives 10).
    """

    label: str
    lower: float
    upper: float
    number: float


def parse_bins(texts: Sequence[str], *, whole_numbers: bool) -> tuple[IntervalBin, ...]:
    """Intervals for a list of bin labels, in increasing order and without gaps.

    Parameters
    ----------
    texts : bin labels, lowest first; "a..b" stands for one bin per whole number, "a-b by s" for bins of width s.
    whole_numbers : True for integer columns.

    Raises
    ------
    Unexpected : when a label cannot be read or the bins overlap or leave a gap.
    """
    intervals: list[IntervalBin] = []
    for text in texts:
        intervals += _parse(" ".join(str(text).split()), whole_numbers)
        if len(intervals) > MAX_BINS:
            raise Unexpected(f"at most {MAX_BINS} bins", "more")
    if not intervals:
        raise Unexpected("at least one bin", "none")
    for left, right in zip(intervals, intervals[1:], strict=False):
        if left.upper != right.lower:
            wrong = "are out of order" if left.lower > right.lower else "overlap"
            wrong = wrong if left.upper > right.lower else "leave a gap"
            raise Unexpected("bins in increasing order that touch", f"{left.label!r} and {right.label!r}, which {wrong}")
    return tuple(intervals)


def _parse(text: str, whole_numbers: bool) -> list[IntervalBin]:
    matches = ((name, pattern.fullmatch(text)) for name, pattern in _PATTERNS.items())
    name, match = next(((name, match) for name, match in matches if match), ("", None))
    if match is None:
        examples = "'<18', '18-19', '18..44' or '>44'" if whole_numbers else "'<500', '500 to 1000' or '>=1000'"
        raise Unexpected(f"a bin such as {examples}", repr(text))
    if name in ("below", "above"):
        value = _number(match[2], whole_numbers, text)
        return [_open_ended(text, match[1], value, whole_numbers)]
    numbers = [_number(part, whole_numbers, text) for part in match.groups()]
    if name == "half_open":
        if whole_numbers:
            raise Unexpected("'a-b' for a column of whole numbers", repr(text))
        _increasing(numbers[0], numbers[1], text)
        return [IntervalBin(label=text, lower=numbers[0], upper=numbers[1], number=(numbers[0] + numbers[1]) / 2)]
    if not whole_numbers:
        raise Unexpected("'a to b', '<a' or '>=b' for a column of real numbers", repr(text))
    if name == "single":
        return [_closed(numbers[0], numbers[0])]
    first, last = numbers[0], numbers[1]
    if name == "range":
        _increasing(first, last, text)
        return [_closed(first, last)]
    step = 1.0 if name == "run" else numbers[2]
    count = (last - first + 1) / step if step > 0 else 0.0
    if count < 1 or count != int(count):
        raise Unexpected("an increasing range that the step divides evenly", repr(text))
    if count > MAX_BINS:
        raise Unexpected(f"at most {MAX_BINS} bins", repr(text))
    return [_closed(first + i * step, first + (i + 1) * step - 1) for i in range(int(count))]


def _open_ended(text: str, sign: str, value: float, whole_numbers: bool) -> IntervalBin:
    """ "<18" and ">44": the number is the edge as it is written."""
    if not whole_numbers and sign in ("<=", ">"):
        raise Unexpected("'<a' or '>=b' at the ends of a column of real numbers", repr(text))
    edge = value + 1 if sign in ("<=", ">") else value
    if sign.startswith("<"):
        return IntervalBin(label=text, lower=-math.inf, upper=edge, number=value)
    return IntervalBin(label=text, lower=edge, upper=math.inf, number=value)


def _closed(first: float, last: float) -> IntervalBin:
    between = "-" if first >= 0 else " to "  # a spreadsheet would compute -5--3
    label = f"{first:.0f}" if first == last else f"{first:.0f}{between}{last:.0f}"
    return IntervalBin(label=label, lower=first, upper=last + 1, number=(first + last) / 2)


def _number(text: str, whole_numbers: bool, label: str) -> float:
    value = float(text)
    if not math.isfinite(value) or abs(value) > 1e15:
        raise Unexpected("numbers between -1e15 and 1e15", repr(label))
    if whole_numbers and value != int(value):
        raise Unexpected("whole numbers", repr(label))
    return value


def _increasing(first: float, last: float, text: str) -> None:
    if not first < last:
        raise Unexpected("a bin from a lower to a higher number", repr(text))
