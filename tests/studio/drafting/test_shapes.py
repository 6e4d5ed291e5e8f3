"""Shapes of tables that people report in public trackers, each with made-up rows of our own.

Reported in the issues of these repositories on GitHub.

| reported in | shape | what a draft does |
|---|---|---|
| DataResponsibly/DataSynthesizer#38, sdv-dev/SDV#1375 | TRUE, yes and 1 in one column | two categories, and a question |
| exmergo/dex#218 | a flag with more than two values | the third value stays |
| sdv-dev/SDV#1099, capitalone/DataProfiler#1130 | codes that lost leading zeros | one code, and a question |
| bnowok/synthpop#20 | a second diagnosis that is mostly empty | first characters, no key |
| sdv-dev/SDV#2318, sdv-dev/SDV#2637 | date of birth and a date of the record | age in years, month of the record |
| sdv-dev/SDV#1402 | arrival and departure | days between them, month of arrival |
| sdv-dev/SDV#2275 | dates in two columns, written differently | days between them |
| sdv-dev/SDV#2594 | two ways of writing dates in one column | left out, naming both |
| metaodi/swissparlpy#64 | 1753-01-01 and 9999-12-31 for no date | missing values |
| alvarodiez20/pysuricata#28 | people born before 1906 | stay dates |
| kjhealy/gssr#8 | 98 and 99 in some columns of a battery | missing in all columns of it |
| Big-Life-Lab/cchsflow#39 | 7, 8, 9 named in the codebook of one column | missing in all columns of its block |
| Data-Centric-AI-Community/fg-data-profiling#461 | a ratio with hundreds of values | a number |
| Data-Centric-AI-Community/fg-data-profiling#935 | names and remarks beside numbers of persons | left out, by its own words |
"""

from __future__ import annotations

import tomllib
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.data.dates import DateFormat
from synthrelease.studio.drafting.column_draft import LeftOut
from synthrelease.studio.drafting.columns import date_format, drafted_columns
from synthrelease.studio.drafting.public_file import PublicFile, read_public_file
from tests.helpers.drafts import draft
from tests.studio.drafting.test_kinds import column, drafted

N = 1200


def chance(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def days_after(start: date, days: np.ndarray, written: str = "%Y-%m-%d") -> list[str]:
    return [(start + timedelta(days=int(day))).strftime(written) for day in days]


# --- Values in several spellings


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        (["TRUE", "true", "1"], ["FALSE", "0"]),
        (["Yes", "Y"], ["No", "N", "n"]),
        (["ja", "1"], ["nein", "0"]),
        (["sí", "s"], ["no"]),
    ],
)
def test_words_for_yes_and_no_are_two_categories_and_asked(yes: list[str], no: list[str], tmp_path: Path) -> None:
    random = chance(1)
    flag = np.where(random.random(N) < 0.3, random.choice(yes, N), random.choice(no, N))
    found = column(drafted(pd.DataFrame({"x": random.integers(0, 90, N), "flag": flag}), tmp_path), "flag")
    assert [sorted([text, *draft.spellings]) for text, draft in found.codes.items()] in (
        [sorted(yes), sorted(no)],
        [sorted(no), sorted(yes)],
    )
    assert "do these texts mean the same" in found.doubt


def test_a_flag_with_a_third_value_keeps_it(tmp_path: Path) -> None:
    random = chance(2)
    frame = pd.DataFrame({"x": random.integers(0, 90, N), "flag": random.choice(["yes", "no", "Y", "later"], N)})
    assert len(column(drafted(frame, tmp_path), "flag").codes) == 4


def test_codes_that_lost_their_zeros_are_the_codes_that_kept_them_and_asked(tmp_path: Path) -> None:
    random = chance(3)
    codes = random.choice(["0021", "0450", "1209", "2310"], N)
    lost = np.where(random.random(N) < 0.2, [code.lstrip("0") for code in codes], codes)
    found = drafted(pd.DataFrame({"kept": codes, "lost": lost, "x": random.integers(0, 90, N)}), tmp_path)
    assert list(column(found, "kept").codes) == ["0021", "0450", "1209", "2310"]
    assert not column(found, "kept").doubt
    merged = column(found, "lost")
    assert {text: draft.spellings for text, draft in merged.codes.items()} == {
        "0021": ("21",), "0450": ("450",), "1209": (), "2310": (),
    }  # fmt: skip
    assert "'0021' = '21'" in merged.doubt


def test_of_many_codes_those_without_their_zeros_are_asked_about(tmp_path: Path) -> None:
    random = chance(4)
    codes = np.array([f"{number:05}" for number in random.choice(60_000, 90, replace=False)])
    drawn = random.choice(codes, N)
    lost = np.where(random.random(N) < 0.2, [code.lstrip("0") for code in drawn], drawn)
    found = column(drafted(pd.DataFrame({"place": lost, "x": random.integers(0, 90, N)}), tmp_path), "place")
    assert "have lost their leading zeros" in found.doubt


# --- Codes that look like keys, and keys


def test_a_second_diagnosis_is_grouped_as_the_first_one_is(tmp_path: Path) -> None:
    random = chance(5)
    codes = np.array([f"{letter}{two:02}.{one}" for letter in "ABCDEFGHIJ" for two in range(15) for one in range(10)])
    second = np.where(random.random(N) < 0.4, random.choice(codes, N), "")
    found = drafted(
        pd.DataFrame({"first": random.choice(codes, N), "second": second, "sex": random.choice(["f", "m"], N)}), tmp_path
    )
    assert [column(found, name).characters for name in ("first", "second")] == [1, 1]
    assert column(found, "second").missing_rows == int((second == "").sum())


def test_what_is_said_of_a_key_is_said_of_keys_alone(tmp_path: Path) -> None:
    random = chance(6)
    persons = np.array([f"P{number:06}" for number in random.choice(10**6, N, replace=False)])
    words = [f"{random.choice(['Anna', 'Bo', 'Cai'])} {''.join(random.choice(list('abcdefgh'), 9))}" for _ in range(N)]
    frame = pd.DataFrame(
        {"person": persons, "other": random.choice(persons, N), "words": words, "x": random.integers(0, 90, N)}
    )
    found = drafted(frame, tmp_path)
    left = {name: str(found[name].because) for name in ("person", "other", "words") if isinstance(found[name], LeftOut)}
    assert "identify persons" in left["person"]
    assert "like a key of persons" in left["other"]
    assert "free text" in left["words"]
    assert "key" not in left["words"]


# --- Dates


def of_dates(frame: pd.DataFrame, folder: Path) -> list[tuple[str, str, str | None, str | None, str | None]]:
    """Name, source, part, minus and minus_format of the drafted columns that read a date."""
    frame.to_csv(folder / "public.csv", index=False)
    columns = drafted_columns(read_public_file(folder / "public.csv"), {})[0]
    return [(one.name, one.source, one.part, one.minus, one.minus_format) for one in columns if one.of_date]


def test_a_birth_date_becomes_the_age_at_the_record_whose_month_stays(tmp_path: Path) -> None:
    random = chance(7)
    visits = random.integers(0, 700, N)
    frame = pd.DataFrame(
        {
            "born": days_after(date(1930, 1, 1), random.integers(0, 30_000, N), "%d/%m/%Y"),
            "visit": days_after(date(2020, 1, 1), visits),
            "report": days_after(date(2020, 1, 1), visits + random.geometric(0.2, N)),
            "sex": random.choice(["f", "m"], N),
        }
    )
    assert of_dates(frame, tmp_path) == [
        ("age_at_visit", "visit", "year", "born", "%d/%m/%Y"),
        ("visit_year", "visit", "year", None, None),
        ("visit_month", "visit", "month", None, None),
        ("report_days_after_visit", "report", None, "visit", None),
    ]


def test_a_contract_lasts_years_and_a_stay_days_whichever_way_they_are_written(tmp_path: Path) -> None:
    random = chance(8)
    begun = random.integers(0, 1400, N)
    frame = pd.DataFrame(
        {
            "signed": days_after(date(2010, 1, 1), begun, "%d.%m.%Y"),
            "ended": days_after(date(2010, 1, 1), begun + random.integers(400, 3000, N)),
            "paid": days_after(date(2010, 1, 1), begun + random.integers(0, 40, N), "%m/%d/%Y"),
            "sex": random.choice(["f", "m"], N),
        }
    )
    assert of_dates(frame, tmp_path)[2:] == [
        ("ended_years_after_signed", "ended", "year", "signed", "%d.%m.%Y"),
        ("paid_days_after_signed", "paid", None, "signed", "%d.%m.%Y"),
    ]


@pytest.mark.parametrize("share_wrong", [0.0, 0.1])
def test_a_time_between_dates_that_the_file_has_as_a_number_is_not_drafted_again(share_wrong: float, tmp_path: Path) -> None:
    """The number may count both days, have the other sign, or be an age at the end of the year; it is right in most rows."""
    random = chance(11)
    came, born, stay, wait = (random.integers(0, most, N) for most in (700, 25_000, 60, 90))
    day, birth = date(2020, 1, 1), date(1930, 1, 1)
    years = [(day + timedelta(int(a))).year - (birth + timedelta(int(b))).year for a, b in zip(came, born, strict=True)]
    wrong = np.where(random.random(N) < share_wrong, 5, 0)
    frame = pd.DataFrame({"came": days_after(day, came), "born": days_after(birth, born)})
    frame["left"], frame["told"] = days_after(day, came + stay), days_after(day, came + wait)
    frame["stay"], frame["wait"], frame["age"] = stay + 1 + wrong, -wait - wrong, np.array(years) + wrong
    frame.to_csv(tmp_path / "public.csv", index=False)
    columns, left_out, *_ = drafted_columns(read_public_file(tmp_path / "public.csv"), {})
    assert {column.name for column in columns} >= {"came_year", "came_month", "stay", "wait", "age"}
    assert {column.source for column in left_out} == (set() if share_wrong else {"born", "left", "told"})
    reason = "'stay' has nearly the same numbers as the days from came to left"
    assert [column.because for column in left_out if column.source == "left"] == ([] if share_wrong else [reason])


def test_a_newborn_has_an_age_in_days(tmp_path: Path) -> None:
    random = chance(9)
    born = random.integers(0, 700, N)
    admitted = born + random.integers(0, 60, N)
    frame = pd.DataFrame({"born": days_after(date(2020, 1, 1), born), "admitted": days_after(date(2020, 1, 1), admitted)})
    assert [name for name, *_ in of_dates(frame, tmp_path)] == ["born_year", "born_month", "admitted_days_after_born"]


def test_a_filler_of_one_date_makes_no_ages(tmp_path: Path) -> None:
    random = chance(9)
    born = np.array(days_after(date(1930, 1, 1), random.integers(0, 25_000, N), "%d/%m/%Y"))
    born[::6] = "01/01/1900"
    frame = pd.DataFrame({"born": born, "visit": days_after(date(2020, 1, 1), random.integers(0, 700, N))})
    frame.to_csv(tmp_path / "public.csv", index=False)
    age = drafted_columns(read_public_file(tmp_path / "public.csv"), {})[0][0]
    assert (age.name, age.missing_rows) == ("age_at_visit", N // 6)
    assert age.bins is not None
    assert age.bins.high < 100  # the oldest are 91


def test_a_date_at_a_fixed_distance_is_left_out_with_the_distance(tmp_path: Path) -> None:
    random = chance(9)
    days = random.integers(0, 700, N)
    frame = pd.DataFrame({"came": days_after(date(2020, 1, 1), days), "bed": days_after(date(2020, 1, 4), days)})
    frame["left"] = days_after(date(2020, 1, 4), days + random.integers(0, 9, N))
    frame.to_csv(tmp_path / "public.csv", index=False)
    columns, left_out, *_ = drafted_columns(read_public_file(tmp_path / "public.csv"), {})
    assert [each.name for each in columns] == ["came_year", "came_month", "left_days_after_came"]
    assert [(each.source, each.because) for each in left_out] == [("bed", "the time from came to bed is always 3 days")]


def written_in_two_ways(other: str, folder: Path) -> tuple[pd.DataFrame, PublicFile]:
    """A table of days, of which four in ten are written in the other format, and its public file."""
    random = chance(10)
    days, is_other = random.integers(0, 700, N), random.random(N) < 0.4
    one, two = days_after(date(2020, 1, 1), days), days_after(date(2020, 1, 1), days, other)
    frame = pd.DataFrame({"seen": np.where(is_other, two, one), "x": random.integers(0, 90, N), "iso": one})
    frame[["seen", "x"]].to_csv(folder / "public.csv", index=False)
    return frame, read_public_file(folder / "public.csv")


@pytest.mark.parametrize("other", ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%b %d, %Y"])
def test_two_formats_of_dates_are_read_where_each_text_fits_one(other: str, tmp_path: Path) -> None:
    """The reference is the same table with all dates in the first format."""
    frame, file = written_in_two_ways(other, tmp_path)
    columns = {each.name: each for each in drafted_columns(file, {})[0]}
    assert {columns[name].format for name in ("seen_year", "seen_month")} == {f"%Y-%m-%d or {other}"}
    asked = [each.doubt or each.remark for each in columns.values()]
    assert any("its dates have several formats" in each for each in asked)
    format_ = DateFormat(f"%Y-%m-%d or {other}")
    assert [str(format_.read(text)) for text in frame.seen] == [*frame.iso]
    frame[["iso", "x"]].rename(columns={"iso": "seen"}).to_csv(tmp_path / "public.csv", index=False)
    plain = {each.name: each for each in drafted_columns(read_public_file(tmp_path / "public.csv"), {})[0]}
    assert {name: each.bins for name, each in columns.items()} == {name: each.bins for name, each in plain.items()}


@pytest.mark.parametrize("other", ["%d-%b-%y", "%Y-%m-00", "00.%m.%Y"])
def test_dates_that_no_format_has_are_left_out(other: str, tmp_path: Path) -> None:
    (gone,) = drafted_columns(written_in_two_ways(other, tmp_path)[1], {})[1]
    assert (gone.source, gone.because[:43]) == ("seen", "some of its dates have no known format, or ")


@pytest.mark.parametrize(("texts", "format_"), [
    (["2020-01-31", "2020-01-05", "05/02/2020", "06/02/2020"], None),  # day or month: nothing settles it
    (["2020-01-31", "2020-01-05", "05/02/2020", "16/02/2020"], "%Y-%m-%d or %d/%m/%Y"),
    (["2020-01-31", "2020-01-05", "05/02/2020", "02/16/2020"], "%Y-%m-%d or %m/%d/%Y"),
    (["2020-01-31", "25/02/2020", "02/16/2020"], None),  # another text may fit the last two
    (["2020-01-31", "25/02/2020", "02/16/2020", "05/02/2020"], None),  # each of two formats fits the last
    (["05/02/2020", "06/02/2020"], "%d/%m/%Y"),
    (["20200131", "31012020"], None),  # numbers
])  # fmt: skip
def test_formats_are_chosen_only_where_no_text_fits_two_of_them(texts: list[str], format_: str | None) -> None:
    assert date_format(texts) == format_


@pytest.mark.parametrize(
    ("filler", "written"),
    [
        *[("9999-12-31", "%Y-%m-%d"), ("31/12/9999", "%d/%m/%Y"), ("1900-01-01", "%Y-%m-%d"), ("01.01.1753", "%d.%m.%Y")],
        *[("0", "%Y%m%d"), ("00000000", "%Y%m%d"), ("19000101", "%Y%m%d"), ("1899-12-30", "%Y-%m-%d")],
    ],
)
def test_a_date_that_stands_for_none_is_missing(filler: str, written: str, tmp_path: Path) -> None:
    random = chance(11)
    days = days_after(date(2015, 1, 1), random.integers(0, 1500, N), written)
    ended = np.where(random.random(N) < 0.2, filler, days)
    found = drafted(pd.DataFrame({"ended": ended, "x": random.integers(0, 90, N)}), tmp_path)["ended"]
    assert not isinstance(found, LeftOut)
    assert filler in found.missing_values
    assert found.missing_rows == int((ended == filler).sum())
    years = next(each for each in drafted_columns(read_public_file(tmp_path / "public.csv"), {})[0] if each.part == "year")
    assert years.bins is not None
    assert (years.bins.low, years.bins.high) == (2015, 2019)  # the filler is in no bin


def test_somebody_may_be_born_on_the_first_of_january_1900(tmp_path: Path) -> None:
    random = chance(12)
    born = days_after(date(1890, 1, 1), random.integers(0, 12_000, N))
    born[:2] = ["1900-01-01"] * 2
    found = drafted(pd.DataFrame({"born": born, "x": random.integers(0, 90, N)}), tmp_path)["born"]
    assert not isinstance(found, LeftOut)
    assert not found.missing_values


# --- Codes that stand for no answer, in blocks


def test_a_missing_code_of_one_question_is_one_in_the_whole_battery(tmp_path: Path) -> None:
    """The codebook names 8 and 9 for the first question alone; -7 occurs once in the last one."""
    random = chance(13)
    frame = pd.DataFrame({f"trust_{k}": random.choice([1, 2, 3, 4, 8, 9], N) for k in "abcd"})
    frame["children"] = np.minimum(random.poisson(1.5, N), 9)
    book = {"trust_a": {"values": {"1": "none", "2": "some", "3": "much", "4": "all", "8": "Don't know", "9": "Refused"}}}
    found = drafted(frame, tmp_path, book)
    for name in ("trust_a", "trust_b", "trust_c", "trust_d"):
        assert sorted(column(found, name).codes) == ["1", "2", "3", "4"]
        assert column(found, name).missing_rows == int(frame[name].isin([8, 9]).sum())
    assert not column(found, "children").missing_values  # eight children are eight children


def test_a_code_that_one_question_names_stays_there(tmp_path: Path) -> None:
    random = chance(14)
    frame = pd.DataFrame({f"q{k}": random.choice([1, 2, 3, 9], N) for k in (1, 2, 3)})
    named = {"1": "low", "2": "middle", "3": "high"}
    book = {"q1": {"values": {**named, "9": "Not stated"}}, "q3": {"values": {**named, "9": "very high"}}}
    found = drafted(frame, tmp_path, book)
    assert [len(column(found, name).codes) for name in ("q1", "q2", "q3")] == [3, 3, 4]


@pytest.mark.parametrize(("above", "codes"), [((), (97, 98, 99)), ((100, 112, 126), (998, 999))])
def test_codes_of_hours_are_missing_as_those_of_wages_are(
    above: tuple[int, ...], codes: tuple[int, ...], tmp_path: Path
) -> None:
    random = chance(15)
    hours = np.clip(np.round(random.normal(38, 13, N)), 1, 94).astype(int)
    hours[: len(above)] = above
    hours[20:140] = random.choice(codes, 120)
    found = column(drafted(pd.DataFrame({"hours": hours, "sex": random.choice(["f", "m"], N)}), tmp_path), "hours")
    assert found.kind == "integer"
    assert set(found.missing_values) == {str(code) for code in codes}


# --- Numbers and codes, and how much is asked


def test_a_ratio_with_hundreds_of_values_is_a_number(tmp_path: Path) -> None:
    """Income in percent of the poverty line, all above 500 as 501, beside codes of as many values."""
    random = chance(16)
    income = random.lognormal(5.3, 0.8, 5 * N)
    frame = pd.DataFrame(
        {
            "ratio": np.minimum(np.round(income), 501).astype(int),
            "poor": np.where(income < 100, "yes", "no"),
            "x": np.round(random.normal(0, 1, 5 * N), 1),
        }
    )
    found = column(drafted(frame, tmp_path), "ratio")
    assert (found.kind, found.doubt) == ("integer", "")
    alone = column(drafted(frame[["ratio", "x"]], tmp_path), "ratio")
    assert (alone.kind, alone.doubt) == ("integer", "")


def test_an_age_is_not_doubtful(tmp_path: Path) -> None:
    random = chance(17)
    for n in (90, 18, 6):
        frame = pd.DataFrame({"age": random.integers(0, n, N), "sex": random.choice(["f", "m"], N)})
        assert not column(drafted(frame, tmp_path), "age").doubt


def test_at_most_three_columns_in_ten_are_asked_about_and_each_question_says_what_it_would_change(tmp_path: Path) -> None:
    random = chance(18)
    frame = pd.DataFrame({f"c{k}": np.minimum(random.geometric(0.05 + k / 100, N), 60) for k in range(10)})
    found = drafted(frame, tmp_path)
    asked = [name for name in found if column(found, name).doubt]
    assert 1 <= len(asked) <= 3
    assert all("categories and no mean" in column(found, name).doubt for name in asked)
    assert all("perhaps codes" in column(found, name).remark for name in found if name not in asked)


# --- Weak associations


@pytest.mark.slow
def test_weak_associations_get_no_epsilon_above_the_one_that_is_aimed_at(tmp_path: Path) -> None:
    """Four columns that one hidden value ties, more and less: in each the same noise, uniform margins and as many rows."""
    limits = []
    for tie in (0.1, 0.4, 0.5, 0.8):
        random = chance(19)
        hidden = random.normal(size=2000)
        frame = pd.DataFrame(
            {
                name: np.array([f"{name}{group}" for group in range(n)])[
                    pd.qcut(tie * hidden + random.normal(size=2000), n, labels=False)
                ]
                for name, n in zip("abcd", (3, 4, 2, 5), strict=True)
            }
        )
        frame.to_csv(tmp_path / f"{tie}.csv", index=False)
        written = draft("tied", tmp_path / f"{tie}.csv", unit="row").configuration
        limits.append(float(tomllib.loads(written)["budget"]["limit"]))
    assert max(limits) <= 2
    assert min(limits) == limits[0]  # what noise hides in any case costs least
