"""Changes in the text of a TOML file: what is not changed stays letter by letter."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from synthrelease.errors import OutputError
from synthrelease.studio.drafting.column_draft import ColumnDraft
from synthrelease.studio.drafting.text import column_text
from synthrelease.studio.drafting.toml_edit import Edit, edited, replace_files

TEXT = '''\
title = "Births"   # of one year

[columns.age]      # in years
kind = "integer"

# about what follows

# of the mother
[columns.sex]
kind = "code"
alternatives.a = { x = ["1"], y = ["2"] }  # both

[columns.sex.more]
deep = 1

# --- Rules: [columns.sex] is named in this comment ---

[[rules]]
never = "age < 15"
text = """
[columns.age]
"""

# why this one
[[rules]]
never = "sex == 'F'"

[selection]
mode = "coin"
stop = 0.01        # of the coin

# --- the end ---
'''


def test_nothing_is_changed_without_an_edit() -> None:
    assert edited(TEXT, []) == TEXT


def test_fractions_of_a_table_whose_parts_stand_apart_can_be_changed() -> None:
    apart = '[columns]\nage.kind = "real"\nage.bounds = [1.5, 2]\nsex.kind = "code"\nage.missing = "bin"\n'
    assert edited(apart, [Edit(path=("columns", "age", "bounds"), toml="[22.5, 25]")]) == apart.replace(
        "[1.5, 2]", "[22.5, 25]"
    )


def test_a_table_goes_with_its_own_comment_and_its_tables_and_no_other_comment() -> None:
    found = edited(TEXT, [Edit(path=("columns", "sex"))])
    gone = TEXT[TEXT.index("# of the mother") : TEXT.index("# --- Rules")]
    assert found == TEXT.replace(gone, "")


def test_places_in_lists_are_those_before_the_change() -> None:
    found = edited(TEXT, [Edit(path=("rules", 0)), Edit(path=("rules", 1))])
    assert "[[rules]]" not in found
    assert "# --- Rules" in found
    assert edited(TEXT, [Edit(path=("rules", 1))]) == TEXT.replace("# why this one\n[[rules]]\nnever = \"sex == 'F'\"\n\n", "")


def test_values_keep_their_comments_and_new_keys_stand_with_the_others() -> None:
    edits = [
        Edit(path=("title",), toml='"New"'),
        Edit(path=("selection", "stop")),
        Edit(path=("selection", "rounds"), toml="{ 1 = 0.5, 7 = 0.5 }", remark="by a rehearsal"),
        Edit(path=("columns", "sex", "alternatives", "a", "x")),
        Edit(path=("budget", "generation"), toml="2.5"),
    ]
    found = edited(TEXT, edits)
    assert 'title = "New"   # of one year' in found
    assert 'mode = "coin"\nrounds = { 1 = 0.5, 7 = 0.5 }  # by a rehearsal\n\n# --- the end ---' in found
    assert 'alternatives.a = { y = ["2"] }  # both' in found
    assert found.endswith("\n[budget]\ngeneration = 2.5\n")


@pytest.mark.parametrize(
    ("text", "edit", "wanted"),
    [
        ("columns.a.k = 1\ncolumns.b.k = 2\n", Edit(path=("columns", "a")), "columns.b.k = 2\n"),
        ("[columns]\na = { k = 1 }\nb = { k = 2 }\n", Edit(path=("columns", "a")), "[columns]\nb = { k = 2 }\n"),
        ("r = [{ n = 1 }, { n = 2 }]\n", Edit(path=("r", 0)), "r = [{ n = 2 }]\n"),
        ('by = [\n  "a",  # one\n  "b",  # two\n]\n', Edit(path=("by", 0)), 'by = [\n  "b",  # two\n]\n'),
        ("[a]\nx = [\n[1],\n[2],\n]\n[b]\ny = 1\n", Edit(path=("b",)), "[a]\nx = [\n[1],\n[2],\n]\n"),
        ("[selection]\n# nothing yet\n", Edit(path=("selection", "m"), toml="1"), "[selection]\nm = 1\n# nothing yet\n"),
    ],
)
def test_other_ways_to_write_a_table(text: str, edit: Edit, wanted: str) -> None:
    assert edited(text, [edit]) == wanted


def test_files_are_replaced_together_or_not_at_all(tmp_path: Path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    with pytest.raises(OutputError, match="changed while the command was running"):
        replace_files({one: (b"1", b"new"), two: (b"not what it was", b"new")})
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
    (tmp_path / ".two.toml.new").mkdir()  # cannot be written
    with pytest.raises(OutputError, match="Nothing was changed"):
        replace_files({one: (b"1", b"new"), two: (b"2", b"new")})
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
    (tmp_path / ".two.toml.new").rmdir()
    replace_files({one: (b"1", b"new"), two: (b"2", b"newer")})
    assert (one.read_bytes(), two.read_bytes()) == (b"new", b"newer")
    assert {path.name for path in tmp_path.iterdir()} == {"one.toml", "two.toml"}


def test_the_second_file_that_cannot_be_replaced_leaves_the_first_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import synthrelease.studio.drafting.toml_edit as room

    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    plain = room.os.replace

    def full(source: Path, target: Path) -> None:
        if Path(target).name == "two.toml":
            raise OSError(28, "No space left on device", str(target))
        plain(source, target)

    monkeypatch.setattr(room.os, "replace", full)
    with pytest.raises(OutputError, match="No space left"):
        replace_files({one: (b"1", b"new"), two: (b"2", b"new")})
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
    assert {path.name for path in tmp_path.iterdir()} == {"one.toml", "two.toml"}


def test_a_table_more_stands_behind_the_others_of_its_list_and_its_kind() -> None:
    added = Edit(path=("rules", 2), toml='{ never = "age > 99", why = "x" }')
    column = Edit(path=("columns", "job", "kind"), toml='"code"')
    found = edited(TEXT, [added, column])
    assert 'never = "sex == \'F\'"\n\n[[rules]]\nnever = "age > 99"\nwhy = "x"\n\n[selection]' in found
    assert 'deep = 1\n\n[columns.job]\nkind = "code"\n\n# --- Rules' in found
    assert edited(found, [Edit(path=("rules", 2)), Edit(path=("columns", "job"))]) == TEXT
    first = edited("a = 1\n", [Edit(path=("rules", 0), toml='{ never = "age > 99" }')])
    assert first == 'a = 1\n\n[[rules]]\nnever = "age > 99"\n'
    listed = 'rules = [\n  { never = "a" },  # 3\n  { never = "b" },  # 2\n]\n\n[columns]\n'
    more = edited(listed, [Edit(path=("rules", 2), toml='{ never = "c" }')])
    assert more == listed.replace("# 2\n", '# 2\n  { never = "c" },\n')
    assert edited(more, [Edit(path=("rules", index)) for index in (0, 2)]) == listed.replace('  { never = "a" },  # 3\n', "")


def test_a_column_of_a_table_goes_with_the_question_above_it() -> None:
    before = "# All columns\n[columns]\na = { kind = 'code' }  # 2\n"
    question = "# DOUBTFUL: b?\n# b!\nb.kind = 'code'\nb.codes = ['b']\n"
    behind = "# c?\nc = { kind = 'code' }\n"
    assert edited(before + question + behind, [Edit(path=("columns", "b"))]) == before + behind


def test_a_column_without_a_question_takes_no_comment_with_it() -> None:
    text = "#:schema s\n# notice\ntitle = 'x'\n\n[other]\n# how many\nrows = 1\n\n[columns]\n# all columns\n"
    columns = "title = { kind = 'code' }\nrows = { kind = 'code' }\nc = { kind = 'code' }\n"
    found = edited(text + columns, [Edit(path=("columns", "title")), Edit(path=("columns", "rows"))])
    assert found == text + "c = { kind = 'code' }\n"


@pytest.mark.parametrize(("setting", "toml"), [(("missing",), None), (("alternatives", "coarse"), '["a"]')])
def test_a_drafted_column_in_one_line_can_be_edited(setting: tuple[str, ...], toml: str | None) -> None:
    settings = {"kind": "category", "missing": "bin", "alternatives.coarse": {"x": ["a"]}, "alternatives.fine": ["a", "b"]}
    text = "[columns]\n" + column_text(ColumnDraft(name="job", source="job", kind="category", remark="2"), settings) + "\n"
    expected = tomllib.loads(text)
    table = expected["columns"]["job"]
    for name in setting[:-1]:
        table = table[name]
    del table[setting[-1]]
    if toml is not None:
        table[setting[-1]] = ["a"]
    assert tomllib.loads(edited(text, [Edit(path=("columns", "job", *setting), toml=toml)])) == expected
