"""Dates of a public file: the declared format, the time of the record by parts, the others by their distance; never a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.enclave.ingest import read_public
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft, LeftOut
from synthrelease.studio.drafting.columns import DateColumn, date_column, date_format, draft_dates, drafted_columns
from synthrelease.studio.drafting.public_file import public_bins, read_public_file
from tests.helpers.drafts import write_draft

RANDOM = np.random.default_rng(11)


def dates(name: str, days: list[date | None], form: str = "%Y-%m-%d") -> DateColumn:
    texts = [day.strftime(form) if day else "" for day in days]
    different, codes = np.unique(texts, return_inverse=True)
    times = {text: texts.count(text) for text in different.tolist() if text}
    answers = Answers.of(name, times, texts.count(""), CodebookEntry())
    found = date_column(answers, different.tolist(), codes)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["2020-02-29", "2019-01-01"], "%Y-%m-%d"),
        (["2020-02-29 12:00", "2019-01-01T08:00:01.5+02:00"], "%Y-%m-%d"),
        (["29.02.2020"], "%d.%m.%Y"),
        (["02/29/2020", "12/31/2020"], "%m/%d/%Y"),
        (["29/02/2020"], "%d/%m/%Y"),
        (["20200229", "20191231"], "%Y%m%d"),
        (["2/9/2020", "12/31/2020 11:00:00 PM"], "%m/%d/%Y"),
        (["29FEB2020", "1-Mar-2020"], None),
        (["29FEB2020", "01MAR2020"], "%d%b%Y"),
        (["Feb 29, 2020"], "%b %d, %Y"),
        (["2020-02", "2019-12"], "%Y-%m"),
        (["2/2020"], "%m/%Y"),
        (["202002", "201912"], "%Y%m"),
        (["202013"], None),
        (["2020-02-30"], None),
        (["20200229", "29.02.2020"], "%d.%m.%Y or %Y%m%d"),
        (["12345678"], None),
        ([], None),
    ],
)
def test_the_format_in_which_all_texts_are_dates(texts: list[str], form: str | None) -> None:
    assert date_format(texts) == form


def test_a_date_that_is_the_same_in_every_row_says_nothing_and_is_no_start_of_another() -> None:
    days: list[date | None] = [date(2020, 1, 1) + timedelta(int(day)) for day in RANDOM.integers(0, 700, 500)]
    found = draft_dates([dates("written", [date(2022, 4, 30)] * 500), dates("came", days)], [])
    assert found["written"] == LeftOut(source="written", because="it has one value only")
    drafted = found["came"]
    assert not isinstance(drafted, LeftOut)
    assert [column.name for column in drafted] == ["came_year", "came_month"]


def test_a_time_of_day_that_the_draft_does_not_use_is_named() -> None:
    days: list[date | None] = [date(2020, 1, 1) + timedelta(int(day)) for day in RANDOM.integers(0, 700, 500)]
    column, said = dates("came", days), list[bool]()
    for hours in (lambda day: day % 24, lambda day: 0):  # midnight in every row is no time
        texts = {f"{text} {hours(n):02d}:00:00": rows for n, (text, rows) in enumerate(column.answers.texts.items())}
        drafted = draft_dates([replace(column, answers=replace(column.answers, texts=texts))], [])["came"]
        assert isinstance(drafted, list)
        said.append(any("the time of day is not used" in draft.remark for draft in drafted))
    assert said == [True, False]


def test_months_without_days_have_years_and_months_and_no_distance() -> None:
    start = [date(2019 + int(month) // 12, int(month) % 12 + 1, 1) for month in RANDOM.integers(0, 36, 2000)]
    found = draft_dates([dates("opened", [*start], "%m/%Y"), dates("closed", [*start], "%m/%Y")], [])
    for name, drafted in found.items():
        assert isinstance(drafted, list)
        assert [(one.name, one.part, one.minus, one.format) for one in drafted] == [
            (f"{name}_year", "year", None, "%m/%Y"),
            (f"{name}_month", "month", None, "%m/%Y"),
        ]


def test_the_complete_column_is_the_time_of_the_record_and_others_are_days_after_it() -> None:
    start = [date(2020, 1, 1) + timedelta(days=int(day)) for day in RANDOM.integers(0, 800, 2000)]
    apart = RANDOM.geometric(0.1, 2000)
    later: list[date | None] = [day + timedelta(days=int(d)) for day, d in zip(start, apart, strict=True)]
    later[::3] = [None] * len(later[::3])
    found = draft_dates([dates("discharge", later), dates("admission", [*start])], [])
    stay = found["discharge"]
    assert isinstance(stay, list)
    assert [(one.name, one.minus, one.part, one.missing_rows) for one in stay] == [
        ("discharge_days_after_admission", "admission", None, len(later[::3]))
    ]
    values = [d for place, d in enumerate(apart.tolist()) if place % 3]
    assert f"{min(values)} to {max(values)}" in stay[0].remark
    record = found["admission"]
    assert isinstance(record, list)
    assert [(one.name, one.part) for one in record] == [("admission_year", "year"), ("admission_month", "month")]
    quarters = record[1].bins
    assert quarters is not None
    assert (quarters.coarse, quarters.groups, quarters.low, quarters.high) == ((4, 7, 10), (4, 7, 10), 1, 12)


def test_a_few_months_are_told_by_weeks_and_one_month_not_at_all() -> None:
    spring = [date(2020, 3, 1) + timedelta(days=int(day)) for day in RANDOM.integers(0, 90, 2000)]
    found = draft_dates([dates("onset", [*spring])], [])["onset"]
    assert isinstance(found, list)
    assert [(one.name, one.part) for one in found] == [("onset_week", "week")]
    once = draft_dates([dates("sent", [date(2020, 4, 30)] * 50)], [])["sent"]
    assert isinstance(once, LeftOut)


@pytest.mark.slow
def test_a_draft_reads_the_dates_as_python_does(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Days between two dates, and the quarter, of every row: by the draft, and by pandas."""
    start = pd.Timestamp("2019-01-01") + pd.to_timedelta(RANDOM.integers(0, 1000, 1500), unit="D")
    end = start + pd.to_timedelta(RANDOM.integers(0, 30, 1500), unit="D")
    frame = pd.DataFrame(
        {"from": start.strftime("%d.%m.%Y"), "to": end.strftime("%d.%m.%Y"), "sex": RANDOM.choice(["f", "m"], 1500)}
    )
    frame.loc[::5, "to"] = "99.99.9999"
    frame.to_csv(tmp_path / "public.csv", index=False)
    configuration, _, _ = write_draft("dates", tmp_path / "public.csv", tmp_path)
    spec = load_spec(configuration)
    assert {column.name for column in spec.schema.columns} == {"from_year", "from_month", "to_days_after_from", "sex"}
    table = read_public(tmp_path / "public.csv", spec.schema, spec.input, spec.raw)
    place = table.layout.columns.index("to_days_after_from")
    column = spec.schema["to_days_after_from"]
    binning = next(iter(column.alternatives.values()))  # the table has single days, of which the draft measures the mean
    counts = np.bincount(binning.of_atom, weights=table.marginal((place,)), minlength=len(binning.labels))
    found = dict(zip(binning.labels, counts.tolist(), strict=True))
    days = (end - start).days.to_series(index=range(1500))
    bins = {label: [int(end) for end in label.split("-")] for label in found if label != "missing"}
    assert (bins["0-4"], len(bins)) == ([0, 4], 6)
    for label, (first, last) in bins.items():
        assert found[label] == int((days.between(first, last) & (frame["to"] != "99.99.9999")).sum())
    assert found["missing"] == 300
    shown = public_bins(read_public_file(tmp_path / "public.csv"), column, spec.input)  # the picture of the desk
    assert shown is not None
    assert (shown.rows, shown.gaps) == (tuple(found[label] for label in bins), 300)


def in_file(tmp_path: Path, name: str, texts: list[str]) -> ColumnDraft | LeftOut | None:
    """The draft of a column beside another one: its first drafted column, or the reason why it is left out."""
    ages = DRAWN.integers(18, 80, len(texts))
    pd.DataFrame({"age": ages, name: texts}).to_csv(tmp_path / "file.csv", index=False)
    columns, left_out, *_ = drafted_columns(read_public_file(tmp_path / "file.csv"), {})
    return next((one for one in [*columns, *left_out] if one.source == name), None)


DRAWN = np.random.default_rng(65)
DAYS = [date(2017, 1, 1) + timedelta(int(day)) for day in DRAWN.integers(0, 1500, 900)]


@pytest.mark.parametrize(
    ("name", "texts", "why"),
    [
        ("date of visit", [str((day - date(1899, 12, 30)).days) for day in DAYS], "dates as numbers of a spreadsheet"),
        ("seen", [str(day if i % 9 else (day - date(1899, 12, 30)).days) for i, day in enumerate(DAYS)], "spreadsheet"),
        ("seen", [day.strftime("%d%m%Y").lstrip("0") for day in DAYS], "lost a leading zero"),
        ("seen", [day.strftime("%m%d%Y").lstrip("0") for day in DAYS], "lost a leading zero"),
    ],
)
def test_dates_of_spreadsheets_and_without_a_zero_are_named(tmp_path: Path, name: str, texts: list[str], why: str) -> None:
    found = in_file(tmp_path, name, texts)
    assert isinstance(found, LeftOut)
    assert why in found.because


def test_other_numbers_of_five_and_of_eight_digits_are_no_dates(tmp_path: Path) -> None:
    for name, low in (("income", 20_000), ("update", 43_000), ("area", 1_000_000)):
        found = in_file(tmp_path, name, [str(low + int(extra)) for extra in DRAWN.exponential(4000, 900)])
        assert not isinstance(found, LeftOut) or "2025-08-31" not in found.because


@pytest.mark.parametrize("filler", ["1900-01-01", "31.12.9999", "99991231"])
def test_fillers_among_dates_of_several_formats_are_missing(tmp_path: Path, filler: str) -> None:
    forms = ["%Y-%m-%d", "%d.%m.%Y", "%Y%m%d"]
    texts = [filler if i % 10 == 0 else day.strftime(forms[i % 3]) for i, day in enumerate(DAYS)]
    found = in_file(tmp_path, "seen", texts)
    assert isinstance(found, ColumnDraft)
    assert filler in found.missing_values
    assert set(found.format.split(" or ")) == set(forms)
