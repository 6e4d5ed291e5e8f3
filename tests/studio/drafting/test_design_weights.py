"""A design weight is told by its name and by what it adds up to; a name alone never stops a draft."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.errors import InputError, Problem, SpecError
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting import columns
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft, LeftOut
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.public_file import read_public_file
from synthrelease.studio.drafting.text import Draft
from tests.helpers.drafts import column_alone, draft, write_draft

pytestmark = pytest.mark.slow

RANDOM = np.random.default_rng(4)
N = 400
TABLE = {"sex": RANDOM.choice(["f", "m"], N), "age": RANDOM.integers(18, 90, N)}
STAYS, GRAMS = RANDOM.lognormal(5, 1, N).round(), RANDOM.normal(3300, 500, N).round()


def written(name: str, values: np.ndarray, folder: Path) -> Path:
    pd.DataFrame({**TABLE, name: values}).to_csv(folder / "public.csv", index=False)
    return folder / "public.csv"


def of_file(name: str, values: np.ndarray, folder: Path) -> Sequence[ColumnDraft]:
    """The columns alone: what a whole draft costs beside them is looked at elsewhere."""
    return drafted_columns(read_public_file(written(name, values, folder)), {}, None)[0]


def drafted(name: str, values: np.ndarray, folder: Path) -> Draft:
    return draft("register", written(name, values, folder))


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("weight", STAYS, True),
        ("design_weight", STAYS / STAYS.mean(), True),
        ("pond", STAYS / STAYS.mean(), True),
        ("pond", np.where(np.arange(N) % 50, STAYS / STAYS.mean(), np.nan), True),
        ("Vekt", STAYS, True),
        ("wght", 1000 * STAYS, True),
        ("weight", GRAMS, False),
        ("birth_weight", GRAMS, False),
        ("weight_gain", STAYS, False),
        ("wt", STAYS / 1e4, False),
        ("wt", RANDOM.choice([0.5, 1.2, 1.7, 2.3], N), True),
        ("w", RANDOM.choice([0.5, 1.2, 1.7, 2.3], N), False),
        ("pond", RANDOM.choice([10, 25, 60], N), True),
        ("factor", RANDOM.choice([10, 25, 60], N), False),
    ],
    ids=[
        "to a population",
        "scaled to the rows",
        "of mean 1",
        "some missing",
        "of Norwegian",
        "of a survey of work",
        "grams",
        "of the newborn",
        "a difference",
        "less than the rows",
        "few fractions",
        "few fractions of a letter",
        "few whole numbers",
        "few whole numbers of something else",
    ],
)
def test_a_weight_adds_up_to_the_rows_and_is_no_body_s(name: str, values: np.ndarray, role: bool, tmp_path: Path) -> None:
    (found,) = [column for column in of_file(name, values, tmp_path) if column.name == name]
    assert found.weight == role
    assert ("treats this column as a design weight" in found.doubt) == role
    assert ("design weight" in found.remark) == (not role and name in ("weight", "wt"))


def test_one_weight_is_drafted_and_replicates_are_left_out(tmp_path: Path) -> None:
    replicates = {f"repwgt{i}": RANDOM.permutation(STAYS) for i in range(1, 6)}
    pd.DataFrame({**TABLE, "finalwgt": STAYS, **replicates}).to_csv(tmp_path / "public.csv", index=False)
    found = draft("register", tmp_path / "public.csv")
    assert [column.name for column in found.columns if column.weight] == ["finalwgt"]
    assert not {*replicates} & {column.name for column in found.columns}
    assert {left.source for left in found.left_out if "a second design weight" in left.because} == {*replicates}
    assert 'weight = "finalwgt"' in found.configuration


@pytest.mark.parametrize(
    ("description", "role"),
    [
        ("Final person weight for estimates of the population", True),
        ("Hochrechnungsfaktor der Person", True),
        ("Factor de expansión", True),
        ("Person weight in kg", False),
        ("Paid in the last month", False),
    ],
)
def test_a_weight_may_be_told_by_its_description(description: str, role: bool) -> None:
    texts = {str(value): int(times) for value, times in zip(*np.unique(STAYS.astype(int), return_counts=True), strict=True)}
    found = column_alone(Answers.of("V0815", texts, 0, CodebookEntry(description=description)))
    assert isinstance(found, ColumnDraft)
    assert found.weight == role


def test_a_column_that_cannot_be_loaded_is_left_out_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step below 0 stands for any mistake that a guess may make."""
    made = columns.numbers

    def crooked(answers: Answers, wanted: str, taken: Collection[str], **others: bool) -> ColumnDraft | LeftOut:
        found = made(answers, wanted, taken, **others)  # type: ignore[arg-type]
        assert isinstance(found, ColumnDraft)
        assert found.facts
        return replace(found, facts=replace(found.facts, step=-1.0)) if wanted == "odd" else found

    monkeypatch.setattr(columns, "numbers", crooked)
    found = drafted("odd", STAYS, tmp_path)
    assert "odd" not in [column.name for column in found.columns]
    (left,) = [left for left in found.left_out if left.source == "odd"]
    assert left.because.startswith("the column could not be drafted (expected ")
    assert "toml" not in left.because


def test_what_a_whole_draft_cannot_be_is_told_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: object) -> list[object]:
        raise SpecError([Problem(file="configs/register.toml", path="rules.0", message="The rule is empty")])

    monkeypatch.setattr(sys.modules["synthrelease.studio.drafting.draft"], "suggested_rules", refused)
    with pytest.raises(InputError, match="public.csv: the draft would not be valid. rules.0: The rule is empty") as raised:
        drafted("weight", STAYS, tmp_path)
    assert "toml" not in str(raised.value)


def test_what_a_name_suggested_is_given_up_where_it_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_is_weight", lambda answers: answers.source == "wt")
    found = drafted("wt", np.arange(N) % 60 - 30, tmp_path)
    (column,) = [column for column in found.columns if column.name == "wt"]
    assert not column.weight
    assert 'set role = "weight"' in column.remark


def test_a_draft_says_nothing_in_the_publisher_s_place(tmp_path: Path) -> None:
    drafted("weight", STAYS, tmp_path)
    configuration, _, _ = write_draft("register", tmp_path / "public.csv", tmp_path)
    assert load_spec(configuration).description == ""
