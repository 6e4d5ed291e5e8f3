"""Which columns are drafted: those that were asked for; of more than a release can have, those most associated."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.errors import InputError
from synthrelease.generators.associations import cramers_v
from synthrelease.studio.drafting import column_draft
from synthrelease.studio.drafting.column_draft import AskedFor, ColumnDraft, chosen_columns
from synthrelease.studio.drafting.public_file import read_public_file
from tests.cli.test_cli import run, words
from tests.helpers.drafts import draft

NAMES = ["age", "sex", "income", "net income", "remark, long"]


def test_the_columns_that_were_asked_for_in_the_order_of_the_file_and_the_others_with_the_reason() -> None:
    kept, others = AskedFor(only=("income", "age")).of(NAMES)
    assert kept == ["age", "income"]
    assert [(each.source, "--only" in each.because) for each in others] == [
        ("sex", True),
        ("net income", True),
        ("remark, long", True),
    ]
    kept, others = AskedFor(leave_out=("sex",)).of(NAMES)
    assert kept == ["age", "income", "net income", "remark, long"]
    assert [each.source for each in others] == ["sex"]
    assert AskedFor().of(NAMES) == (NAMES, [])


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (AskedFor(only=("agee", "sex")), ["--only: the file has no column 'agee'", "Did you mean 'age' instead of 'agee'?"]),
        (AskedFor(leave_out=("net_income",)), ["--leave-out", "Did you mean 'net income' instead of 'net_income'?"]),
        (AskedFor(leave_out=tuple(NAMES)), ["--leave-out leaves no column for the draft"]),
        (AskedFor(only=("age",), leave_out=("sex",)), ["cannot be used together"]),
    ],
)
def test_names_that_the_file_has_not_are_told_with_the_nearest(wanted: AskedFor, said: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        wanted.of(NAMES)
    assert [text for text in said if text not in str(caught.value)] == []


def test_an_unknown_name_is_told_before_the_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text("age,sex\n1,2,3,4\n")  # a row that cannot be read
    with pytest.raises(InputError, match="Did you mean 'age'"):
        read_public_file(path, wanted=AskedFor(only=("agee",)))
    with pytest.raises(InputError, match="line 2|row"):
        read_public_file(path, wanted=AskedFor(only=("age",)))


def survey(n: int = 3000) -> pd.DataFrame:
    """Three answers to one question, two that are alone, one that is nearly always empty although it is the first again."""
    random = np.random.default_rng(5)
    first = random.integers(1, 6, n)
    near = [np.where(random.random(n) < share, random.integers(1, 6, n), first) for share in (0.1, 0.3)]
    seldom = np.where(random.random(n) < 0.97, "", first.astype(str))
    alone = [random.integers(1, 6, n) for _ in range(2)]
    columns = {"alone_1": alone[0], "seldom": seldom, "near_1": near[0], "first": first, "alone_2": alone[1], "near_2": near[1]}
    return pd.DataFrame(columns)


def chosen(tmp_path: Path, most: int, *, weight: str = "", important: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    path = tmp_path / "survey.csv"
    survey().to_csv(path, index=False)
    file = read_public_file(path)
    columns = [ColumnDraft(name=name, source=name, kind="code", remark="", weight=name == weight) for name in file.columns]
    kept, others = chosen_columns(columns, file.batches(), file.n_rows, important, most)
    assert all("Cramer's V" in each.because for each in others)
    return [column.name for column in kept], [each.source for each in others]


def test_of_very_many_columns_those_stay_that_hang_together_in_the_order_of_the_file(tmp_path: Path) -> None:
    assert chosen(tmp_path, 3)[0] == ["near_1", "first", "near_2"]
    kept, others = chosen(tmp_path, 2)
    assert kept == ["near_1", "first"]
    assert others[0] == "near_2"  # the next to come in is named first
    assert chosen(tmp_path, 3, weight="alone_2")[0] == ["near_1", "first", "alone_2"]  # no survey without its weight


def test_important_columns_stay_and_after_them_the_columns_most_associated_with_them(tmp_path: Path) -> None:
    assert chosen(tmp_path, 2, important=("near_2",))[0] == ["first", "near_2"]
    assert chosen(tmp_path, 1, important=("alone_1",))[0] == ["alone_1"]
    # with no column associated with it, the others stay that are most associated with each other
    assert chosen(tmp_path, 3, important=("alone_1",))[0] == ["alone_1", "near_1", "first"]


def test_a_date_that_becomes_two_columns_takes_two_places(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    survey().to_csv(path, index=False)
    file = read_public_file(path)
    names = [("first_year", "first"), ("first_month", "first"), ("near_1", "near_1"), ("near_2", "near_2")]
    columns = [ColumnDraft(name=name, source=source, kind="code", remark="") for name, source in names]
    assert [each.name for each in chosen_columns(columns, file.batches(), file.n_rows, (), 3)[0]] == [
        "first_year",
        "first_month",
        "near_1",
    ]
    assert [each.name for each in chosen_columns(columns, file.batches(), file.n_rows, (), 1)[0]] == ["near_1"]


@pytest.mark.parametrize("together", [1, 3, 4])
def test_how_columns_hang_together_is_told_as_by_the_plain_statistic(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_draft, "_TOGETHER", together)
    table = survey()
    groups = np.stack([table[name].to_numpy() - 1 for name in ("first", "near_1", "near_2", "alone_1")])
    found = column_draft._strengths(groups)
    for i in range(4):
        for j in range(i):
            counts = np.zeros((9, 9))
            np.add.at(counts, (groups[i], groups[j]), 1)
            assert found[i, j] == pytest.approx(cramers_v(counts), abs=1e-6)


@pytest.mark.slow
def test_init_drafts_what_was_asked_for_and_says_what_was_left_out(tmp_path: Path) -> None:
    table = survey(600)
    table.columns = [*table.columns[:5], "near, too"]
    table.to_csv(tmp_path / "survey.csv", index=False)
    found = run("init", "survey", "--from", tmp_path / "survey.csv", "--into", tmp_path, "--only", 'first,"near, too",near_1')
    assert found.returncode == 0
    assert "The rows preserve the association of " in found.stdout
    text = (tmp_path / "configs" / "survey.toml").read_text()
    assert "Left out: 'alone_1', 'seldom', 'alone_2', each because --only does not name it." in text
    assert {"first", "near_too"} <= tomllib.loads(text)["columns"].keys() <= {"first", "near_too", "near_1"}
    wrong = run("init", "other", "--from", tmp_path / "survey.csv", "--into", tmp_path, "--leave-out", "alone1")
    assert wrong.returncode == 2
    assert "Did you mean 'alone_1' instead of 'alone1'?" in words(wrong.stderr)


@pytest.mark.slow
def test_a_file_with_more_columns_than_a_release_can_have_is_drafted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of three, so that it takes a second."""
    room = importlib.import_module("synthrelease.studio.drafting.draft")
    survey(600).to_csv(tmp_path / "survey.csv", index=False)
    monkeypatch.setattr(room, "MOST_COLUMNS", 3)
    monkeypatch.setattr(room.chosen_columns, "__defaults__", ((), 3))
    found = draft("survey", tmp_path / "survey.csv")
    assert [column.name for column in found.columns] == ["near_1", "first", "near_2"]
    assert "QUESTION: which columns matter? 6 columns" in found.configuration.replace("\n# ", " ")
    found = draft("survey", tmp_path / "survey.csv", important=("alone_1",))
    assert [column.name for column in found.columns] == ["alone_1", "near_1", "first"]
    assert "This draft has 'alone_1', and the most associated columns" in found.configuration.replace("\n# ", " ")
