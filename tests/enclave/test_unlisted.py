"""Texts of columns without a list: each counted by a rule for that text alone, read behind a door."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.enclave.unlisted import LONGEST, count_texts, normal_form
from synthrelease.errors import BudgetError, InputError, PrivateFailure
from synthrelease.privacy.charges import gaussian
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source

CHARGE = gaussian("texts", Fraction(1, 10), "")
POLICY = InputTable()
LINES = ["a,1", "a ,2", '"b, c",1', "12.0,1", "12,", "NA,9", ",9", "x" * 150 + ",1", "x" * LONGEST + "y,1"]


def counted(folder: Path, lines: list[str]) -> dict[str, dict[str, int]]:
    path = folder / "texts.csv"
    path.write_text("\n".join(["word,other", *lines]) + "\n", encoding="utf-8")
    door = count_texts(Source.of(path), {"word": (), "other": ("9",)}, POLICY, [CHARGE])
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
    door = count_texts(Source.of(path), {"word": ()}, POLICY, [CHARGE])
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
        count_texts(Source.of(path), {"word": ()}, POLICY, [CHARGE])
    assert "secret" not in str(failed.value)


def test_a_decimal_comma_makes_other_numbers() -> None:
    assert normal_form("12,0", InputTable(decimal=",")) == "12"
    assert normal_form("12,0", POLICY) == "12,0"
    assert normal_form(None, POLICY) == ""
