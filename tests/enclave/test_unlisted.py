"""Texts of columns without a list: each counted by a rule for that text alone, read behind a door."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.enclave import csv, persons, reading, unlisted
from synthrelease.enclave.texts import Texts
from synthrelease.enclave.unlisted import LONGEST, count_texts, normal_form
from synthrelease.enclave.values import Digits
from synthrelease.errors import BudgetError, InputError, PrivateFailure
from synthrelease.privacy.charges import gaussian
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source

CHARGE = gaussian("texts", Fraction(1, 10), "")
POLICY = InputTable()
ROWS = UnitTable()
LINES = ["a,1", "a ,2", '"b, c",1', "12.0,1", "12,", "NA,9", ",9", "x" * 150 + ",1", "x" * LONGEST + "y,1"]


def counted(folder: Path, lines: list[str]) -> dict[str, dict[str, int]]:
    path = folder / "texts.csv"
    path.write_text("\n".join(["word,other", *lines]) + "\n", encoding="utf-8")
    door = count_texts(Source.of(path), {"word": (), "other": ("9",)}, POLICY, [CHARGE], ROWS)
    return door.spend(CHARGE, lambda columns: {name: dict(counts) for name, counts in columns.items()})


def test_texts_are_counted_in_their_normal_form(tmp_path: Path) -> None:
    found = counted(tmp_path, LINES)
    assert found["word"] == {"a": 2, "b, c": 1, "12": 2, "": 2, "x" * LONGEST: 2}
    assert found["other"] == {"1": 5, "2": 1, "": 3}


def test_each_row_adds_its_own_text_whatever_the_others_are(tmp_path: Path) -> None:
    """Theory 1.8, reading row by row: counts of the file are the sum of those of its rows."""
    alone = [counted(tmp_path, [line]) for line in LINES]
    together = counted(tmp_path, LINES)
    for name in ("word", "other"):
        total: dict[str, int] = {}
        for one in alone:
            for text, count in one[name].items():
                total[text] = total.get(text, 0) + count
        assert total == together[name]


def test_a_text_is_spent_on_once_and_fails_opaquely(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("word\nsecret\n")
    door = count_texts(Source.of(path), {"word": ()}, POLICY, [CHARGE], ROWS)
    with pytest.raises(PrivateFailure) as failed:
        door.spend(CHARGE, lambda columns: columns["no such column"])
    assert "secret" not in str(failed.value)
    assert failed.value.__cause__ is None
    with pytest.raises(BudgetError, match="not planned"):
        door.spend(CHARGE, lambda columns: 0)


def test_a_line_that_is_no_row_is_named_without_its_text(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("word,other\na,1\nsecret,2,3\n")
    with pytest.raises(InputError) as failed:
        count_texts(Source.of(path), {"word": ()}, POLICY, [CHARGE], ROWS)
    assert "secret" not in str(failed.value)


def test_a_decimal_comma_makes_other_numbers() -> None:
    assert normal_form("12,0", InputTable(decimal=",")) == "12"
    assert normal_form("12,0", POLICY) == "12,0"
    assert normal_form(None, POLICY) == ""


VISITS = ["1,2,a,x", "2,1,b,x", "1,1,c,y", ",1,nobody,x", "2.0,3,a,z", "3,,,y"]
"""The key, the day, and two columns of texts: the first rows are c,y of the first person, b,x of the second and a gap of 3."""


def of_persons(folder: Path, lines: list[str], first_by: object = ("day",)) -> dict[str, dict[str, int]]:
    path = folder / "visits.csv"
    path.write_text("\n".join(["person,day,word,other", *lines]) + "\n", encoding="utf-8")
    unit = UnitTable(key="person", first_by=first_by if first_by == "random" else [*first_by])  # type: ignore[misc]
    door = count_texts(Source.of(path), {"word": (), "other": ("z",)}, POLICY, [CHARGE], unit)
    return door.spend(CHARGE, lambda columns: {name: dict(counts) for name, counts in columns.items()})


def test_with_a_key_the_first_row_of_each_person_counts(tmp_path: Path) -> None:
    assert of_persons(tmp_path, VISITS) == {"word": {"c": 1, "b": 1, "": 1}, "other": {"y": 2, "x": 1}}
    for _ in range(5):
        drawn = of_persons(tmp_path, VISITS, "random")
        assert [sum(counts.values()) for counts in drawn.values()] == [3, 3]


def test_a_person_of_any_number_of_rows_moves_two_counts_of_a_column(tmp_path: Path) -> None:
    """Theory 1.9, first rows of a person, and 9.20: texts that nobody has in a first row are not even candidates."""
    others = [line for line in VISITS if not line.startswith("1,")]
    before = of_persons(tmp_path, VISITS)
    for rows in (["1,5,new,x"], [f"1,{day},text {day},{day}" for day in range(3_000)], ["1,,,", "1,9,a,x"] * 50):
        after = of_persons(tmp_path, [*others, *rows])
        for name in ("word", "other"):
            texts = {**before[name], **after[name]}
            moved = [abs(before[name].get(text, 0) - after[name].get(text, 0)) for text in texts]
            assert sum(moved) <= 2
            assert max(moved, default=0) <= 1
        assert "text 1" not in after["word"]


def test_what_a_first_row_adds_is_a_function_of_that_row(tmp_path: Path) -> None:
    """Theory 1.8, reading row by row: counts of all persons are the sum of those of each, in any order of the file."""
    persons = [[line for line in VISITS if line.startswith(key)] for key in "123"]
    alone = [of_persons(tmp_path, lines)["word"] for lines in persons]
    assert of_persons(tmp_path, VISITS[::-1])["word"] == {text: count for counts in alone for text, count in counts.items()}


@pytest.mark.parametrize("key", ["{person}", ""], ids=["rows of three persons", "rows without a key"])
def test_texts_of_rows_that_cannot_be_first_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """Else memory grows with all rows, and the check before the charge knows the number of persons only."""
    monkeypatch.setattr(persons, "ROOM", 10)
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 5)
    monkeypatch.setattr(csv, "BLOCK", 60)
    held, true = [], unlisted._Numbered.bins

    def watched(rule: unlisted._Numbered, columns: dict[str, Texts]) -> list[Digits]:
        bins = true(rule, columns)
        held.append(len(rule.numbers[0]))
        return bins

    monkeypatch.setattr(unlisted._Numbered, "bins", watched)
    first = [f"{number},0,first {number},{number}" for number in range(3)]
    later = [f"{key.format(person=day % 3)},{day},text {day},{day}" for day in range(1, 400)]
    assert of_persons(tmp_path, [*later[:200], *first, *later[200:]])["word"] == {f"first {number}": 1 for number in range(3)}
    assert len(held) > 70
    assert max(held) <= 2 * 3 + 10 + 5
