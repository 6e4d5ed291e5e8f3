"""Dates in declared formats against strptime, and the numbers that are taken from them against the calendar module."""

from __future__ import annotations

import calendar
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.data.dates import ISO, PARTS, DateFormat
from synthrelease.errors import Unexpected

FORMATS = [ISO, "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d%b%Y", "%d-%b-%Y", "%Y.%m.%d", "(%d) %m: %Y"]
DAYS = st.dates(date(1000, 1, 1), date(9999, 12, 31))


@given(DAYS, st.sampled_from(FORMATS), st.sampled_from(["", " 13:45", "T13:45:00", " 13:45:00.000+02:00", ":00:00:00"]))
def test_a_date_is_read_as_it_was_written(day: date, text: str, time_of_day: str) -> None:
    assert DateFormat(text).read(day.strftime(text) + time_of_day) == day


@given(st.text(st.sampled_from("0123456789.-/ JanFebT:"), max_size=12), st.sampled_from(FORMATS))
def test_what_is_read_is_what_strptime_reads(written: str, text: str) -> None:
    found = DateFormat(text).read(written)
    if found is not None and ":" not in written:
        assert found == datetime.strptime(written, text).date()


@given(DAYS)
def test_parts_are_those_of_the_calendar(day: date) -> None:
    found = {name: part(day) for name, part in PARTS.items()}
    assert found["quarter"] == {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 4, 11: 4, 12: 4}[day.month]
    assert found["weekday"] == calendar.weekday(day.year, day.month, day.day) + 1
    assert (found["year"], found["month"], found["day"]) == (day.year, day.month, day.day)
    thursday = day.toordinal() - calendar.weekday(day.year, day.month, day.day) + 3  # of the same ISO week
    if 1 <= thursday <= date.max.toordinal():
        assert found["week"] == (date.fromordinal(thursday).timetuple().tm_yday - 1) // 7 + 1


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("%d.%m.%Y", "1.2.2014", date(2014, 2, 1)),
        ("%d.%m.%Y", "01.2.2014", date(2014, 2, 1)),
        ("%d%b%Y", "01JAN2014", date(2014, 1, 1)),
        ("%m/%Y", "7/2014", date(2014, 7, 1)),
        ("%Y", "2014", date(2014, 1, 1)),
        (ISO, "2014-1-5", None),
        (ISO, "20140105", None),
        ("%Y%m%d", "2014015", None),
        ("%d.%m.%Y", "30.02.2014", None),
        ("%d.%m.%Y", "29.02.2013", None),
        ("%d.%m.%Y", "2014-02-01", None),
        ("%d.%m.%Y", "1.2.14", None),
        ("%d.%m.%Y", "1x2x2014", None),
        ("%d.%m.%Y", "13.45", None),
        ("%d%b%Y", "01MAI2014", None),
        ("%d.%m.%Y", "\u0661.2.2014", None),
        (ISO, "9999-99-99", None),
        (ISO, "0000-01-01", None),
        ("%Y-%m-%d or %d/%m/%Y", "2014-02-01", date(2014, 2, 1)),
        ("%Y-%m-%d or %d/%m/%Y", "1/2/2014 10:30", date(2014, 2, 1)),
        ("%Y-%m-%d or %d/%m/%Y", "2014-2-1", None),
    ],
)
def test_texts_that_are_dates_and_texts_that_are_none(text: str, written: str, read: date | None) -> None:
    assert DateFormat(text).read(written) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%d.%m.%y", r"^The date format '%d.%m.%y' contains %y: two digits do not determine the century\. Write"),
        ("%d.%B.%Y", r"^The date format '%d.%B.%Y' contains %B: this directive cannot be used\. Write the year as %Y"),
        ("%Y-%m-%d%", r"contains %: this directive cannot be used\. Write the year as %Y, the month as %m or %b"),
        ("%d.%m", r"must contain the year \(%Y\) once\. It may contain the month once and, with the month,"),
        ("%Y-%d", r"must contain the year \(%Y\) once\. It may contain the month once and, with the month,"),
        ("%Y-%m-%b", r"must contain the year \(%Y\) once\. It may contain the month once and, with the month,"),
        ("dd.mm.yyyy", r"must contain the year \(%Y\) once\. It may contain the month once and, with the month,"),
        ("", r"must contain the year \(%Y\) once\. It may contain the month once and, with the month,"),
        ("%Y-%m-%d or %d/%m", r"must contain the year \(%Y\) once\. It may contain the month once and, with the month,"),
        ("%d/%m/%Y or %m/%d/%Y", "differ only in the order of day and month"),
        ("%Y-%d-%m or %d.%m.%Y or %Y-%m-%d", "differ only in the order of day and month"),
    ],
)
def test_a_format_that_leaves_no_date_is_refused(text: str, message: str) -> None:
    with pytest.raises(Unexpected, match=message):
        DateFormat(text)


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        (ISO, []),
        ("%Y or %Y-%m", [None, "quarter", "month", "week", "day", "weekday"]),
        ("%b %Y", [None, "week", "day", "weekday"]),
        ("%Y", [None, "quarter", "month", "week", "day", "weekday"]),
    ],
)
def test_what_a_format_does_not_tell(text: str, lacking: list[str | None]) -> None:
    assert [part for part in (None, *PARTS) if DateFormat(text).lacks(part)] == lacking


@given(st.sampled_from(FORMATS))
def test_the_example_of_a_format_is_in_it(text: str) -> None:
    assert DateFormat(text).read(DateFormat(text).example) == date(2014, 12, 31)
