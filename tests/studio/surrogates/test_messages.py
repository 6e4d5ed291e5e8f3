"""What a statistician is told about a mistake in a facts file, word for word.

Each file of simulation/cases changes one or more lines of the valid simulation/labour_force.toml and gives the message.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from synthrelease.errors import InputError, SpecError
from synthrelease.studio.rehearsal.surrogates import simulate

FOLDER = Path(__file__).parent / "data"
FACTS = FOLDER / "labour_force.toml"
CASES = sorted((FOLDER / "cases").glob("*.toml"))


def message_for(path: Path) -> str:
    """The message of drawing from a facts file, without its folder."""
    with pytest.raises(SpecError) as caught:
        simulate(path, 10)
    return str(caught.value).replace(f"{path.parent}/", "")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_mistake_is_told_in_these_words(path: Path, tmp_path: Path) -> None:
    case = tomllib.loads(path.read_text(encoding="utf-8"))
    text = FACTS.read_text(encoding="utf-8")
    for edit in case["change"]:
        assert text.count(edit["from"]) == 1, f"{edit['from']!r} must stand once"
        text = text.replace(edit["from"], edit["to"])
    (tmp_path / "facts.toml").write_text(text, encoding="utf-8")
    message = message_for(tmp_path / "facts.toml")
    assert message == case["message"].strip()
    assert ("\n" in message) == path.stem.endswith("at_once")  # one mistake gives one problem


def test_a_file_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    assert message_for(tmp_path / "facts.toml") == "facts.toml: There is no such file."


def test_tables_that_are_too_large_together_are_refused_before_they_are_fitted(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(8)]
    columns = "".join(f'[columns.{name}]\nkind = "integer"\nbounds = [1, 9]\n' for name in names)
    tables = "".join(f'[tables.{name}]\nof = "{name}"\nacross = ["1..9"]\nrows = [{[1] * 9}]\n' for name in names[1:])
    last = "".join(
        f'[tables.x0_by_{name}]\nof = "x0"\ngiven = "{name}"\nacross = ["1..9"]\n'
        f"rows = {[[band, *[1] * 9] for band in ('1-3', '4', '5-9')]}\n"
        for name in names[1:]
    )
    (tmp_path / "facts.toml").write_text(f'title = "t"\nsources = {{ a = "b" }}\n{columns}{tables}{last}', encoding="utf-8")
    assert message_for(tmp_path / "facts.toml") == (
        "facts.toml: columns.x0: The tables of 'x0' have 43,046,721 combinations of the bands of 'x0', 'x1', 'x2', 'x3', 'x4', "
        "'x5', 'x6', 'x7'. The limit is 2,000,000."
    )


def test_more_given_columns_than_a_table_can_have_are_refused(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(14)]
    columns = "".join(f'[columns.{name}]\nkind = "category"\ncategories = ["a"]\n' for name in names)
    tables = "".join(f'[tables.{name}]\nof = "{name}"\nrows = [["a", 1]]\n' for name in names[1:])
    last = f'[tables.x0]\nof = "x0"\ngiven = {names[1:]}\nrows = [{["a"] * 14 + [1]}]\n'
    (tmp_path / "facts.toml").write_text(f'title = "t"\nsources = {{ a = "b" }}\n{columns}{tables}{last}', encoding="utf-8")
    expected = "facts.toml: columns.x0: The tables of 'x0' have 13 given columns. The limit is 12."
    assert message_for(tmp_path / "facts.toml") == expected


def test_a_table_with_too_many_combinations_of_bands_is_refused(tmp_path: Path) -> None:
    names = ["x", "y", "z"]
    columns = "".join(f'[columns.{name}]\nkind = "category"\ncategories = {list(map(str, range(50)))}\n' for name in names)
    tables = "".join(
        f'[tables.{name}]\nof = "{name}"\nacross = {list(map(str, range(50)))}\nrows = [{[1] * 50}]\n' for name in names
    )
    last = '[columns.w]\nkind = "integer"\nbounds = [1, 2]\n[tables.w]\nof = "w"\n'
    last += 'given = ["x", "y", "z"]\nrows = [["1", "1", "1", "1-2", 1]]\n'
    (tmp_path / "facts.toml").write_text(f'title = "t"\nsources = {{ a = "b" }}\n{columns}{tables}{last}', encoding="utf-8")
    expected = "facts.toml: tables.w.given: The given columns have 125,000 combinations of bands. The limit is 100,000."
    assert message_for(tmp_path / "facts.toml") == expected


@pytest.mark.parametrize("n", [0, -3, 100_000_001])
def test_a_number_of_rows_that_cannot_be_drawn_is_refused(n: int) -> None:
    with pytest.raises(InputError) as caught:
        simulate(FACTS, n)
    assert str(caught.value) == f"rows: expected a whole number from 1 to 100,000,000, found {n}."


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        simulate(FACTS, 10, seed=-1)
    assert str(caught.value) == "seed: expected a whole number of at least 0, found -1."


def facts_with(tmp_path: Path, name: str, categories: list[str]) -> Path:
    columns = f'[columns."{name}"]\nkind = "category"\ncategories = {categories}\n'
    tables = f'[tables.t]\nof = "{name}"\nacross = {categories}\nrows = [{[1] * len(categories)}]\n'
    (tmp_path / "facts.toml").write_text(f'title = "t"\nsources = {{ a = "b" }}\n{columns}{tables}', encoding="utf-8")
    return tmp_path / "facts.toml"


@pytest.mark.parametrize(("name", "category"), [("=1+1", "a"), ("x", "=1+1"), ("x", " @SUM(1)"), ("a;-b", "a")])
def test_names_and_categories_that_a_spreadsheet_would_execute_are_refused(tmp_path: Path, name: str, category: str) -> None:
    found = message_for(facts_with(tmp_path, name, [category, "-1"]))
    read = name if category == "a" else category
    assert f"A spreadsheet would read {read!r} as a formula. No part of it may start with =, +, - or @." in found


def test_negative_numbers_are_categories(tmp_path: Path) -> None:
    assert set(simulate(facts_with(tmp_path, "x", ["-1", "-2.5"]), 10)["x"]) == {"-1", "-2.5"}


def test_very_many_bands_are_refused_before_they_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    many = ", ".join(f'"{number * 20_000}..{number * 20_000 + 19_999}"' for number in range(1000))
    head = 'title = "t"\nsources = { a = "b" }\n[columns.x]\nkind = "integer"\nbounds = [0, 999999999]\n'
    path.write_text(f'{head}[tables.x]\nof = "x"\nacross = [{many}]\nrows = [[1]]\n', encoding="utf-8")
    assert message_for(path) == "facts.toml: tables.x.across: There are more than 1,000 bands."
    rows = ", ".join(f'["{number}", 1]' for number in range(1001))
    path.write_text(f'{head.replace("999999999", "1000")}[tables.x]\nof = "x"\nrows = [{rows}]\n', encoding="utf-8")
    assert message_for(path) == "facts.toml: tables.x.rows: There are more than 1,000 bands."
    rows = ", ".join(f'["{number}", "0-1000", 1]' for number in range(1001))
    given = '[columns.y]\nkind = "integer"\nbounds = [0, 1000]\n[tables.y]\nof = "y"\nrows = [["0-1000", 1]]\n'
    path.write_text(
        f'{head.replace("999999999", "1000")}{given}[tables.x]\nof = "x"\ngiven = "y"\nrows = [{rows}]\n', encoding="utf-8"
    )
    assert message_for(path) == "facts.toml: tables.x.given: The table has more than 1,000 bands of 'y'."
