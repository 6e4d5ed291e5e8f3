"""Codebooks in the forms that publishers give them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.errors import InputError
from synthrelease.scouting.codebook import CodebookEntry, read_codebook
from synthrelease.scouting.scout import Scouting
from synthrelease.sources.source import Source
from synthrelease.spec.requests import ScoutRequest

SEX = CodebookEntry(
    description="Sex of the person", labels={"1": "Male", "2": "Female", "9": "Unknown"}, missing=frozenset(["9"])
)
AGE = CodebookEntry(description="Age in years", number=True, low=Fraction(0), high=Fraction(99))
TOLD = {
    "SEX": {"description": "Sex of  the\n person", "values": {"1": "Male", "2": "Female", "9": "Unknown"}},
    "AGE": {"description": "Age in years", "values": {"min": 0, "max": 99}},
    "CITY": {"1": "Not a city", "2": "Town"},
    "NOTE": "What was noted",
}
LINES = """Variable;Value;Meaning;Source
SEX;;Sex of the person;form 1
SEX;1;Male;
SEX;2;Female;
;3;nobody;

SEX;9;Unknown;
NOTE;;What was noted;
"""


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "codebook"
    path.write_text(text, encoding=encoding)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_codebook_in_json(tmp_path: Path, encoding: str) -> None:
    found = read_codebook(written(tmp_path, json.dumps(TOLD), encoding)).entries
    assert found["SEX"] == SEX
    assert found["AGE"] == AGE
    assert found["CITY"].labels == {"1": "Not a city", "2": "Town"}
    assert found["CITY"].missing == frozenset()  # what begins like "not available" is not it
    assert found["NOTE"] == CodebookEntry(description="What was noted")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_codebook_in_lines(tmp_path: Path, mark: str) -> None:
    found = read_codebook(written(tmp_path, LINES.replace(";", mark))).entries
    assert found == {"SEX": SEX, "NOTE": CodebookEntry(description="What was noted")}


@pytest.mark.parametrize(
    "meaning",
    ["N/A", "Not applicable", "(unknown)", "Refused", "Don't know", "NO APLICA", "SE IGNORA", "keine Angabe", "NIU (under 16)"],
)  # fmt: skip
def test_meanings_that_say_that_there_is_no_answer(tmp_path: Path, meaning: str) -> None:
    found = read_codebook(
        written(tmp_path, json.dumps({"a": {"values": {"7": meaning, "8": "Nantes", "9": "Notary"}}}))
    ).entries
    assert found["a"].missing == {"7"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ', "the codebook is not valid JSON .line 1"),
        ("[1, 2]", "is a JSON list. It must be a JSON object with an entry for each column"),
        ('{"a": 3}', "the entry of the column 'a' is neither a string nor an object"),
        ('{"a": {"kind": "integer", "limits": ["x"]}}', "the limits of the column 'a' are not a list of numbers"),
        ("a,b\n1,2\n", r"CSV file with the columns 'column', 'code' and 'label'. The header of this file has 'a', 'b'"),
        ("", "The header of this file has no columns"),
        ("[" * 100_000, "the JSON of the codebook is nested too deeply"),
    ],
)
def test_codebooks_that_cannot_be_read_are_explained(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_codebook(written(tmp_path, text))


def test_a_codebook_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the codebook cannot be read"):
        read_codebook(tmp_path / "none.json")
    (tmp_path / "codebook").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="the codebook is not in UTF-8"):
        read_codebook(tmp_path / "codebook")


def test_what_one_source_leaves_open_another_says() -> None:
    both = CodebookEntry(description="Sex").or_else(SEX)
    assert (both.description, both.labels, both.missing) == ("Sex", SEX.labels, SEX.missing)


def test_a_codebook_in_csv_has_kinds_and_bounds(tmp_path: Path) -> None:
    lines = [
        "age,,Age,integer,0,120",
        "income,,,number,,",
        "job,,Occupation,text,,",
        "sex,1,male",
        "sex,2,female",
        "rate,,,,0,1.5",
    ]
    text = "\n".join(["column,code,label,kind,min,max", *lines, ""])
    found = read_codebook(written(tmp_path, text)).entries
    age, rate = found["age"], found["rate"]
    assert (age.number, age.whole, age.low, age.high, age.description) == (True, True, 0, 120, "Age")
    assert (rate.number, rate.whole, rate.high) == (True, False, Fraction(3, 2))
    assert (found["income"].number, found["income"].low) == (True, None)
    assert (found["job"].code, found["job"].number) == (True, False)
    assert found["sex"].labels == {"1": "male", "2": "female"}
    born = json.dumps({"week": {"kind": "integer", "limits": [28, "37.5"]}})
    assert read_codebook(written(tmp_path, born)).entries["week"].limits == (28, Fraction(75, 2))
    names = "column,kind\nage,integer\njob,text\n"
    assert [entry.whole for entry in read_codebook(written(tmp_path, names)).entries.values()] == [True, False]


@pytest.mark.parametrize("beside", [{}, {"kind": "integer"}, {"description": "Age"}, {"missing": ["999"]}])
def test_bounds_stand_in_the_entry_or_among_its_values(tmp_path: Path, beside: dict[str, object]) -> None:
    for stated in ({"min": 0, "max": 99}, {"values": {"min": 0, "max": 99}}):
        age = read_codebook(written(tmp_path, json.dumps({"age": {**beside, **stated}}))).entries["age"]
        assert (age.number, age.low, age.high, age.missing) == (True, 0, 99, frozenset(beside.get("missing", ())))
    codes = {"1": "yes", "2": "no", "missing": "not known"}  # a list of codes alone may have a code "missing"
    assert read_codebook(written(tmp_path, json.dumps({"ill": codes}))).entries["ill"].labels == codes
    sex = read_codebook(written(tmp_path, json.dumps({"sex": {"1": "male", "2": "female", "missing": [9]}}))).entries["sex"]
    assert (sex.labels, sex.missing) == ({"1": "male", "2": "female", "9": "missing"}, {"9"})


def test_the_missing_codes_of_a_key_identify_nobody(tmp_path: Path) -> None:
    """The scout counts one row of each person, so rows with such a code must not count as one person."""
    book = {"patient": {"kind": "text", "missing": ["0", 99999]}, "age": {"min": 0, "max": 99}, "ill": {"1": "yes", "2": "no"}}
    path, places = written(tmp_path, json.dumps(book)), {"data": Source.of(tmp_path), "ledger": tmp_path, "out": tmp_path}
    request = ScoutRequest(codebook=path, cap="2", delta="1e-9", rows=9, unit="patient", first_by=("age",), **places)
    scouting = Scouting.of(request)
    assert (scouting.unit.missing_keys, [column.name for column in scouting.columns]) == (("0", "99999"), ["age", "ill"])
    assert Scouting.of(replace(request, unit="row", first_by=())).unit.missing_keys == ()


def test_a_codebook_has_dates_with_bounds_and_a_format(tmp_path: Path) -> None:
    stated = {"kind": "date", "values": {"min": "2025-01-01", "max": "2025-12-31"}, "format": "%d.%m.%Y"}
    seen = read_codebook(written(tmp_path, json.dumps({"seen": stated, "other": {"kind": "date"}}))).entries
    assert seen["seen"].dates == ("2025-01-01", "2025-12-31", "%d.%m.%Y")
    assert seen["other"].dates == ("None", "None", "%Y-%m-%d")
    assert (seen["seen"].number, seen["seen"].code, seen["seen"].labels) == (False, False, {})
    lines = "column,code,label,kind,min,max\nseen,,Day,date,2025-01-01,2025-12-31\n"
    entry = read_codebook(written(tmp_path, lines)).entries["seen"]
    assert (entry.dates, entry.number, entry.code) == (("2025-01-01", "2025-12-31", "%Y-%m-%d"), False, False)
