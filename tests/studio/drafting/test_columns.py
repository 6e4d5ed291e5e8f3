"""What becomes of a column: codes stay codes, numbers numbers, weights are recognised, and identifiers are left out."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pytest

from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft, LeftOut
from synthrelease.studio.drafting.text import column_settings, settings_text
from tests.helpers.drafts import column_alone

pytestmark = pytest.mark.slow

RANDOM = np.random.default_rng(7)


def texts_of(values: np.ndarray) -> dict[str, int]:
    different, times = np.unique(values.astype(str), return_counts=True)
    return dict(zip(different.tolist(), times.tolist(), strict=True))


Values = np.ndarray | dict[str, int]


def drafted(source: str, values: Values, entry: CodebookEntry | None = None, empty: int = 0) -> ColumnDraft | LeftOut:
    texts = values if isinstance(values, dict) else texts_of(values)
    return column_alone(Answers.of(source, texts, empty, entry or CodebookEntry()))


def column(source: str, values: Values, entry: CodebookEntry | None = None, empty: int = 0) -> ColumnDraft:
    found = drafted(source, values, entry, empty)
    assert isinstance(found, ColumnDraft), found
    return found


@pytest.mark.parametrize(
    ("source", "values", "kind"),
    [
        ("age", RANDOM.integers(0, 95, 9000), "integer"),
        ("children", RANDOM.poisson(1.2, 9000), "integer"),
        ("marital", RANDOM.choice([1, 2, 3, 4, 5, 6], 9000, p=[0.5, 0.06, 0.03, 0.1, 0.01, 0.3]), "code"),
        ("sex", RANDOM.choice([1, 2], 9000), "code"),
        ("state", np.char.zfill(RANDOM.integers(1, 33, 9000).astype(str), 2), "code"),
        ("area", RANDOM.choice([56000, 41000, 10003, 70121, 99], 9000), "code"),  # codes of places, far apart
        ("icd", RANDOM.choice([101, 250, 401, 414, 427, 428, 486, 518, 584, 599, 715, 780, 786, 789, 820, 850],
                              9000), "code"),
        ("temperature", np.round(RANDOM.normal(37, 0.8, 9000), 1), "real"),
        ("income", np.round(RANDOM.lognormal(10, 1, 9000)), "integer"),
        ("sector", RANDOM.choice(["public", "private", "own"], 9000), "category"),
    ],
)  # fmt: skip
def test_codes_stay_codes_and_numbers_numbers(source: str, values: np.ndarray, kind: str) -> None:
    if values.dtype.kind == "f" and (values == np.round(values)).all():
        values = values.astype(int)
    assert column(source, values).kind == kind


def test_no_two_codes_are_ever_merged_into_a_range() -> None:
    found = column("marital", RANDOM.choice([1, 2, 3, 5], 5000, p=[0.9, 0.09, 0.005, 0.005]))
    assert found.bins is None
    assert {text: draft.label for text, draft in found.codes.items()} == {"1": "1", "2": "2", "3": "3", "5": "5"}
    assert "below 1% of the rows: 3, 5" in found.remark


def test_the_codebook_decides_and_gives_labels() -> None:
    entry = CodebookEntry(description="Wing", labels={"1": "North", "2": "North", "3": "=SUM(A1)", "8": "East"})
    found = column("wing", texts_of(RANDOM.integers(1, 4, 3000)), entry)
    assert found.kind == "code"
    labels = {text: draft.label for text, draft in found.codes.items()}
    assert labels["1"] == "North (1)"  # two codes do not become one
    assert labels["2"] == "North (2)"
    assert labels["3"].startswith("code")  # no spreadsheet computes it
    assert labels["8"] == "East"  # although no public row has it
    assert (found.codes["8"].rows, found.description) == (0, "Wing")
    number = column("grade", texts_of(RANDOM.choice([10, 20, 30], 3000)), CodebookEntry(number=True))
    assert number.kind == "integer"


@pytest.mark.parametrize("name", ["PWGTP", "fnlwgt", "weight", "design_weight", "WT", "FAC_EXP", "Gewicht", "wgt2"])
def test_design_weights_are_recognised_by_name(name: str) -> None:
    assert column(name, RANDOM.integers(20, 4000, 5000)).weight


@pytest.mark.parametrize("name", ["birth_weight", "BIRTHWEIGHT", "body weight", "weighting_class_kg", "age", "height"])
def test_weights_of_bodies_are_none(name: str) -> None:
    assert not column(name, RANDOM.integers(20, 4000, 5000)).weight


def test_a_column_that_is_only_called_weight_is_told_by_its_numbers() -> None:
    assert not column("weight", np.round(RANDOM.normal(76, 14, 5000), 1)).weight
    assert column("weight", np.round(RANDOM.lognormal(4.3, 0.8, 5000), 1)).weight
    assert column("design_weight", np.round(RANDOM.normal(76, 14, 5000), 1)).weight


@pytest.mark.parametrize(
    ("source", "values", "because"),
    [
        ("id", np.arange(5000), "may identify persons"),
        ("PERSON_ID", np.arange(5000), "may identify persons"),
        ("remark", np.array([f"text {i}" for i in range(5000)]), "may identify persons"),
        ("lopnr", np.arange(70_000, 75_000), "no two rows have the same number"),
        ("folk", np.arange(5000) * 7919 + 10**11, "no two rows have the same number"),
        ("patient_id", RANDOM.integers(10**7, 10**8, 700).repeat(7), "700 different values, up to 7 rows each, like a key"),
        ("prescriber", RANDOM.integers(100_000, 101_000, 9000), "like a key"),
        ("household", RANDOM.integers(10**8, 10**9, 800).repeat(3), "like a key"),
        ("ward", {f"ward {number}": 12 for number in range(300)}, "and most texts are rare"),
        ("turnover", {f"{thousands},{rest:03d}.50": 3 for thousands in range(1, 30) for rest in range(100)}, "plain numbers"),
        ("share", {f"{share}%": 30 for share in range(60)}, "plain numbers"),
        ("price", {f"€ {cents / 100:.2f}": 5 for cents in range(300)}, "plain numbers"),
        ("born", {f"{day}.{month}.{year}": 9 for day in range(1, 29) for month in (1, 12) for year in (15, 99)}, "two digits"),
        ("time", {f"{hour:02d}:{minute:02d}": 4 for hour in range(24) for minute in range(60)}, "times of day"),
        ("empty", {"?": 5000}, "no values"),
        ("country", {"IL": 5000}, "one value only"),
        ("flag", {"1": 4999, "?": 1}, "nearly all rows have one value"),
        ("large", RANDOM.integers(10**15, 10**16, 20_000), "too large|identify"),
    ],
)
def test_what_is_left_out_and_why(source: str, values: np.ndarray, because: str) -> None:
    found = drafted(source, values)
    assert isinstance(found, LeftOut)
    assert re.search(because, found.because), found.because


def test_of_many_codes_the_rare_ones_stand_together() -> None:
    rows = {f"{100 + code}": 1000 if code < 30 else 1 for code in range(300)}
    found = column("municipality", {f"0{code}": times for code, times in rows.items()})
    assert len(found.codes) == 300  # all are in the codelist
    assert set(found.common) == {f"0{100 + code}" for code in range(30)}
    assert found.n_bins == 31
    assert found.alternative == "common"


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("income", np.unique(RANDOM.integers(0, 10**6, 400))[:300]),  # all differ, by chance
        ("salary", 10_000 + np.minimum(89_999, RANDOM.exponential(9000, 60_000)).astype(int)),  # five digits, mostly low
        ("number_of_steps", RANDOM.integers(0, 30_000, 9000)),
        ("paid", RANDOM.integers(1, 10**6, 900)),
    ],
)
def test_amounts_are_no_keys(source: str, values: np.ndarray) -> None:
    assert column(source, values).kind == "integer"


def spread_out(codes: list[str]) -> dict[str, int]:
    """None is frequent, so that of the 39 most frequent ones most rows would say nothing."""
    return dict.fromkeys(codes, 10)


@pytest.mark.parametrize(
    ("codes", "characters"),
    [
        ([f"{letter}{number:02d}.{digit}" for letter in "ACIJ" for number in range(90) for digit in range(3)], 1),  # diagnoses
        ([f"{county:02d}{place:02d}" for county in range(1, 27) for place in range(10, 30)], 2),  # municipalities
        ([f"01{group}{unit}" for group in range(10) for unit in range(10)], 3),  # all begin with 01
        ([f"A{letter}{group:03d}" for letter in "ABCDEF" for group in range(200)], 2),
        ([f"{first}{second}{n}" for first in "ABCDEFGHIJK" for second in "ABCDEFGHIJK" for n in range(3)], None),  # 121 groups
        ([f"{division:02d}.{group}" for division in range(1, 50) for group in range(1, 8)], 2),  # activities
        ([f"{number}" for number in range(1000, 1090)], 2),
        ([f"{number:03d}" for number in range(300)], None),  # three digits may be a mere number
        ([str(number) for number in range(980, 1700)], None),  # zeros may be lost
        ([f"S{number:03d}" for number in range(300)], None),  # one group
        ([f"{letter}{number}" for letter in ["A", "BC"] for number in range(60)], None),
    ],
)
def test_codes_of_a_classification_are_told_by_their_first_characters(codes: list[str], characters: int | None) -> None:
    if all(code.isdigit() for code in codes):  # numbers are taken for codes where one begins with a 0
        codes = [f"0{code[1:]}" if code == codes[0] else code for code in codes]
    found = drafted("code", spread_out(codes))
    if characters is None:
        assert not isinstance(found, ColumnDraft) or found.characters is None
    else:
        assert isinstance(found, ColumnDraft), found
        assert found.characters == characters
        assert {text: draft.rows for text, draft in found.codes.items()} == {
            begin: 10 * sum(code.startswith(begin) for code in codes) for begin in {code[:characters] for code in codes}
        }
        assert not found.common


def test_codes_that_are_frequent_or_named_are_told_by_themselves() -> None:
    codes = spread_out([f"{letter}{number:02d}" for letter in "ACIJ" for number in range(30)])
    frequent = codes | {f"A{number:02d}": 5000 for number in range(10)}
    assert column("diagnosis", frequent).characters is None
    assert len(column("diagnosis", frequent).common) == 10
    assert (
        "; the 10 most frequent, each with at least 0.25% of the rows, and all others together" in column("d", frequent).remark
    )
    more = column("diagnosis", codes | {f"A{number:02d}": 2000 + 8000 * (number < 39) for number in range(70)})
    assert "; the 39 most frequent, each with at least 0.25% of the rows, and all others together" in more.remark
    named = CodebookEntry(labels={code: f"Illness {code}" for code in codes})
    assert column("diagnosis", codes, named).characters is None


def test_a_draft_says_how_many_codes_are_frequent_and_calls_no_rare_code_frequent() -> None:
    codes = dict.fromkeys([f"{letter}{number:03d}" for letter in "ACIJ" for number in range(125)], 50)
    for many, have in (
        (0, "0 frequent codes with 0% of the rows"),
        (1, "1 frequent code with 4% of the rows"),
        (3, "3 frequent codes with 11% of the rows"),
    ):
        found = column("diagnosis", codes | {f"A{number:03d}": 1000 for number in range(many)})
        assert found.remark.startswith(f"the first character of 500 codes; {have}")
    assert "often" not in column("answer", np.array([1, 2, 3] * 300 + [4])).remark


def test_a_scale_whose_ends_have_names_is_a_number_and_a_list_of_answers_is_not() -> None:
    rows = RANDOM.binomial(10, 0.6, 5000)
    ends = {"0": "Not at all", "10": "Completely", **{str(point): str(point) for point in range(1, 10)}}
    assert column("trust", rows, CodebookEntry(labels=ends)).kind == "integer"
    assert column("trust", rows, CodebookEntry(labels={code: f"Answer {code}" for code in ends})).kind == "code"


def test_occupations_are_codes_and_rounded_amounts_are_none() -> None:
    groups = RANDOM.choice([1120, 1211, 2310, 2411, 3111, 4110, 5120, 5221, 7231, 9112], 5400)
    assert column("job", groups + RANDOM.integers(0, 9, 5400)).kind == "code"
    assert column("isco08", RANDOM.integers(1000, 2000, 5400)).kind == "code"  # by its name
    assert column("rent", 50 * RANDOM.integers(4, 60, 5400)).kind == "integer"


def test_categories_that_are_well_filled_stand_by_themselves() -> None:
    assert not column("region", {f"AT{number}": 100 for number in range(100)}).common
    assert column("region", {f"AT{number}": 99 for number in range(60)}).common
    countries = {f"country {number}": 10**6 if not number else 5 for number in range(60)}
    assert len(column("nationality", countries).common) == 1


def test_a_code_for_no_answer_that_no_public_row_has_means_so_in_the_private_file() -> None:
    entry = CodebookEntry(labels={"1": "yes", "2": "no", "8": "Refused", "9": "Don't know"}, missing=frozenset(["8", "9"]))
    found = column("smokes", {"1": 60, "2": 900, "9": 40}, entry)
    assert found.missing_values == ("9", "8")
    assert set(found.codes) == {"1", "2"}


def test_spellings_of_a_word_are_one_category_and_codes_keep_theirs() -> None:
    found = column("answer", {"Ja": 500, "ja": 300, "JA": 20, "Nein": 400, "weiß  nicht": 9, "Weiß nicht": 30})
    assert {draft.label: (text, *draft.spellings) for text, draft in found.codes.items()} == {
        "Ja": ("Ja", "ja", "JA"),
        "Nein": ("Nein",),
        "Weiß nicht": ("Weiß nicht", "weiß  nicht"),
    }
    assert found.codes["Ja"].rows == 820
    assert set(column("answer", {"a": 50, "A": 70}, CodebookEntry(labels={"a": "small", "A": "large"})).codes) == {"a", "A"}
    assert {text: draft.label for text, draft in column("class", {"1.0": 50, "1": 5, "2.0": 60}).codes.items()} == {
        "1": "1",
        "2": "2",
    }


def test_texts_that_look_the_same_are_one_category_and_the_draft_lists_them() -> None:
    texts = {"Orl\xe9ans": 423, "Orle\u0301ans": 393, "Par\u200bis": 400, "Paris": 370, "Lyon": 300, "lyon": 20}
    found = column("city", texts)
    assert {draft.label: draft.spellings for draft in found.codes.values()} == {
        "Orl\xe9ans": ("Orle\u0301ans",),
        "Paris": ("Par\u200bis",),  # which no list can hold as a label, though it is more frequent
        "Lyon": ("lyon",),
    }
    written = settings_text(column_settings("release", found))
    assert written.isascii() or set(written) - set(map(chr, range(128))) == {"\xe9"}  # nothing hidden, no accent by itself
    (line,) = [line for line in written.splitlines() if line.startswith("categories")]
    assert tomllib.loads(line)["categories"] == {draft.label: [text, *draft.spellings] for text, draft in found.codes.items()}


def test_missing_values_are_a_bin_where_they_are_more_than_a_few() -> None:
    few, many = (column("age", texts_of(RANDOM.integers(0, 80, 9000)), empty=rows) for rows in (20, 21))
    assert not few.keeps_missing
    assert many.keeps_missing
    entry = CodebookEntry(labels={"1": "yes", "2": "no", "97": "Not applicable"}, missing=frozenset(["97"]))
    found = column("pregnant", {"1": 60, "2": 900, "97": 4000}, entry)
    assert (found.missing_values, found.missing_label, found.missing_rows) == (("97",), "Not applicable", 4000)


def test_a_name_that_cannot_be_kept_is_the_description() -> None:
    named = [column(name, {"1": 500, "2": 400}) for name in ("מין", "пол", "sex", "תא 2", "Größe")]
    described = ["מין", "пол", "", "", ""]
    assert [column_settings("release", draft).get("description", "") for draft in named] == described
    given = column("מין", {"1": 500, "2": 400}, CodebookEntry(description="Sex"))
    assert column_settings("release", given)["description"] == "Sex"


def test_rows_whose_text_no_list_can_hold_stand_with_all_others() -> None:
    """A line break, a space that does not break, and 201 letters: a release would leave their rows out."""
    texts = {"here": 300, "there": 250, "two\nlines": 120, "Île de\xa0France": 90, "x" * 201: 40}
    found = column("place", texts)
    assert found.common == ("here", "there")
    unlisted = r"3 texts unprintable or longer than 200 characters, such as 'two\nlines' (250 rows), count among all others"
    assert f"; {unlisted}" in found.remark
    assert column_settings(found.name, found)["outside_label"] == "all others"


def test_a_far_value_that_moves_the_mean_is_asked_about() -> None:
    """A waiting time of 61,370 hours made the mean of the last bin 800, and that of the released column 12 in place of 3."""
    hours = RANDOM.gamma(1.5, 2, 7700).round(1)
    found = column("hours", np.append(hours, 61370.2))
    mean, without = np.append(hours, 61370.2).mean(), hours.mean()
    assert found.doubt.startswith(
        f"is 61370.2 an error (1 row of the public file)? The mean is {mean:.4g} with this value and {without:.4g} without it."
    )
    assert "61370.2" in column("hours", np.append(-hours, [-61370.2] * 3)).doubt
    for usual in (hours, np.append(hours, 30), RANDOM.lognormal(7, 1.8, 4000).round(), RANDOM.integers(18, 95, 3000)):
        assert "the mean" not in column("hours", usual).doubt
