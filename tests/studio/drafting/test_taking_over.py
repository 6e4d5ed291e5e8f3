"""Tables that are handed down, copied where they are to be changed: the copy says the same, and the other file stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthrelease.errors import InputError, OutputError
from synthrelease.settings.reading import read_configuration
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.edits import leave_out
from synthrelease.studio.drafting.toml_edit import own_acceptance, taken_over
from tests.helpers.tiny import write_config

CHILD = """extends = "coins.toml"
title = "Child"  # mine

[override.columns.year]
bounds = [1, 7]        # of the child

[override.budget]
limit = 30
"""


@pytest.fixture
def child(tmp_path: Path) -> Path:
    write_config(tmp_path, {'[columns.year]\nkind = "integer"': '# in years\n[columns.year]  # of minting\nkind = "integer"'})
    path = tmp_path / "child.toml"
    path.write_text(CHILD, encoding="utf-8")
    return path


def test_a_copy_says_what_was_handed_down_and_overridden(child: Path) -> None:
    before, digest = child.with_name("coins.toml").read_bytes(), load_spec(child).digest
    content = taken_over(read_configuration(child), child.read_bytes(), ["columns", "rules"])
    child.write_bytes(content)
    assert load_spec(child).digest == digest
    text = content.decode()
    assert "# in years\n[columns.year]  # of minting\n" in text
    assert "override.columns" not in text
    assert "[override.budget]\nlimit = 30" in text
    assert 'title = "Child"  # mine' in text
    assert {"columns", "rules"}.isdisjoint(read_configuration(child).inherited)
    assert child.with_name("coins.toml").read_bytes() == before
    assert load_spec(child).schema["year"].bounds == (1, 7)


def test_the_last_override_goes_with_its_header_and_line_ends_stay(child: Path) -> None:
    child.write_bytes(CHILD.partition("[override.budget]")[0].replace("\n", "\r\n").encode())
    digest = load_spec(child).digest
    content = taken_over(read_configuration(child), child.read_bytes(), ["columns"])
    assert b"override" not in content
    assert content.count(b"\r\n") == content.count(b"\n")
    child.write_bytes(content)
    assert load_spec(child).digest == digest


def test_a_table_without_a_header_is_copied_as_one_line(child: Path) -> None:
    base = child.with_name("coins.toml")
    text = (
        base.read_text(encoding="utf-8")
        .replace("[input]\nrows = 400\n", "")
        .replace("title =", "input = { rows = 400 }\ntitle =")
    )
    base.write_text(text, encoding="utf-8")
    before = read_configuration(child).tables["input"]
    child.write_bytes(taken_over(read_configuration(child), child.read_bytes(), ["input"]))
    assert "input = { " in child.read_text(encoding="utf-8")
    assert (read_configuration(child).tables["input"], "input" in read_configuration(child).inherited) == (before, False)


def test_a_column_of_the_other_file_is_left_out_in_copies_where_that_is_asked_for(child: Path) -> None:
    base = child.with_name("coins.toml")
    more = '[columns.mint]\nkind = "category"\ncategories = ["a", "b"]\n\n[[rules]]\n'
    more += "never = \"mint == 'a' and year > 6\"\n\n[[rules]]"
    base.write_text(base.read_text(encoding="utf-8").replace("[[rules]]", more, 1), encoding="utf-8")
    before = base.read_bytes()
    with pytest.raises(InputError, match="Leave the column out in that file"):
        leave_out(child, ["mint"])
    done = leave_out(child, ["mint"], take_over=True)
    assert [each for each in done.taken if "is copied here first" in each] == [
        f"[columns] of {base} is copied here first",
        f"[rules] of {base} is copied here first",
    ]
    assert base.read_bytes() == before
    assert load_spec(child).schema.names == ("face", "year")
    assert len(load_spec(child).tables["rules"]) == 1


def test_a_copy_of_the_acceptance_file_has_a_name_that_no_file_has(child: Path) -> None:
    elsewhere = child.parent / "acceptance" / "coins.toml"
    path, edit = own_acceptance(read_configuration(child), elsewhere)
    assert (path, edit.toml) == (elsewhere.with_name("child.toml"), '"acceptance/child.toml"')
    path, _ = own_acceptance(read_configuration(child), child.with_name("acceptance.toml"))
    assert path == child.with_name("child-acceptance.toml")
    path.write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="A copy of the criteria has no free name: .* contains "):
        own_acceptance(read_configuration(child), child.with_name("acceptance.toml"))
