"""A code and its text, and columns that say the same, found on raw values: in every row, by all rows of the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.studio.drafting import public_file as rows
from synthrelease.studio.drafting.column_draft import ColumnDraft, LeftOut
from tests.studio.drafting.test_kinds import N, column, drafted

RANDOM = np.random.default_rng(11)
CODES = RANDOM.choice([11, 12, 21, 35, 36, 70], N)
WORDS = {11: "Stadt", 12: "Land", 21: "Küste", 35: "Inseln", 36: "Gebirge", 70: "Wald"}


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"sex": RANDOM.choice(["f", "m"], N), **columns})


def because(found: dict[str, ColumnDraft | LeftOut], name: str) -> str:
    one = found[name]
    assert isinstance(one, LeftOut), one
    return one.because


@pytest.mark.parametrize("first", ["code", "text"])
def test_of_a_code_and_its_text_the_text_becomes_the_codelist(first: str, tmp_path: Path) -> None:
    both = {"code": CODES, "text": [WORDS[code] for code in CODES.tolist()]}
    found = drafted(frame(**dict(sorted(both.items(), reverse=first == "text"))), tmp_path)
    code = column(found, "code")
    assert code.kind == "code"
    assert {text: one.label for text, one in code.codes.items()} == {str(each): word for each, word in WORDS.items()}
    assert "'text' has labels for the codes" in code.remark
    assert because(found, "text").startswith("it holds the labels of 'code'")


def test_codes_of_letters_have_texts_too_and_a_number_in_words_is_a_number(tmp_path: Path) -> None:
    letters = np.array(["AL", "BR", "CT"])[CODES % 3]
    ages = RANDOM.integers(20, 60, N)
    found = drafted(
        frame(
            s=letters,
            name=[{"AL": "Alabama", "BR": "Bretagne", "CT": "Connecticut"}[one] for one in letters],
            age=ages,
            words=[f"{age} Jahre" for age in ages],
        ),
        tmp_path,
    )
    assert column(found, "s").codes["BR"].label == "Bretagne"
    assert column(found, "age").bins is not None
    assert because(found, "words").startswith("it has the same information as 'age'")


def test_of_numbers_that_tell_each_other_one_stays(tmp_path: Path) -> None:
    ages = RANDOM.integers(20, 60, N)
    found = drafted(frame(age=ages, born=2000 - ages), tmp_path)
    assert column(found, "age").kind == "integer"
    assert because(found, "born").startswith("it has the same information as 'age'")


def test_a_text_that_several_codes_share_is_no_codelist(tmp_path: Path) -> None:
    found = drafted(frame(code=CODES, chapter=["A" if code < 30 else "B" for code in CODES.tolist()]), tmp_path)
    assert column(found, "code").codes["11"].label == "11"
    assert column(found, "chapter").kind == "category"


def test_a_gap_in_one_of_them_alone_keeps_both(tmp_path: Path) -> None:
    words = [WORDS[code] for code in CODES.tolist()]
    found = drafted(frame(code=np.where(CODES == 70, "", CODES.astype(str)), text=words), tmp_path)
    assert isinstance(found["text"], ColumnDraft)


def test_columns_with_a_few_differences_both_stay(tmp_path: Path) -> None:
    words = [WORDS[code] for code in CODES.tolist()]
    words[5], words[6] = words[6] + " ", "Stat"
    found = drafted(frame(code=CODES, text=words), tmp_path)
    assert isinstance(found["code"], ColumnDraft)
    assert isinstance(found["text"], ColumnDraft)


def test_every_row_of_a_long_file_is_looked_at_before_a_column_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows that are looked at together are every second one; a difference stands in another."""
    monkeypatch.setattr(rows, "MOST_ROWS", N // 2)
    words = [WORDS[code] for code in CODES.tolist()]
    assert isinstance(drafted(frame(code=CODES, text=words), tmp_path)["text"], LeftOut)
    words[1] = "Stadt" if words[1] != "Stadt" else "Land"
    assert isinstance(drafted(frame(code=CODES, text=words), tmp_path)["text"], ColumnDraft)


def test_keys_and_columns_that_are_nearly_constant_are_not_joined(tmp_path: Path) -> None:
    numbers = RANDOM.permutation(np.arange(10_000, 10_000 + N))
    rare = (np.arange(N) < 3).astype(int)
    found = drafted(frame(id=numbers, name=[f"p{number}" for number in numbers], a=rare, b=rare + 1), tmp_path)
    assert "may identify" in because(found, "id")
    assert "may identify" in because(found, "name")
    assert isinstance(found["b"], ColumnDraft)
    shared = RANDOM.choice(RANDOM.integers(10**7, 10**8, 600), N)
    words = [f"{chr(97 + number % 26)}{number}" for number in shared.tolist()]
    found = drafted(frame(number=shared, name=words), tmp_path)
    assert "like a key" in because(found, "number")


def test_texts_of_many_codes_do_not_keep_them_from_their_first_characters(tmp_path: Path) -> None:
    """Of 400 diagnoses that are all rare the letter tells more than "all others"; their texts are left out all the same."""
    codes = [f"{letter}{number:02d}" for letter in "ACIJ" for number in range(100)]
    picked = RANDOM.integers(0, 400, N)
    texts = {code: f"disease of the kind {place}" for place, code in enumerate(codes)}
    found = drafted(frame(d=np.array(codes)[picked], t=[texts[codes[place]] for place in picked]), tmp_path)
    assert column(found, "d").characters == 1
    assert set(column(found, "d").codes) == {"A", "C", "I", "J"}
    assert because(found, "t").startswith("it holds the labels of 'd'")
