"""[unit]: an open question stops everything that promises or spends; a key goes with what sees all rows of a person."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

import synthrelease
from synthrelease.errors import SpecError, so_many
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.verify.charges import charges as check_charges
from synthrelease.settings.tables import NOT_ANSWERED
from synthrelease.spec.load import load_spec
from tests.helpers.command_line import said_by
from tests.helpers.tiny import write_config

OPEN = {"limit = 25": f'limit = 25\n[unit]\nrecords_per_person = "{NOT_ANSWERED}"'}
KEY = '[unit]\nkey = "purse"\nrecords_per_person = {records}\nfirst_by = ["day"]\n'


def keyed(folder: Path, records: int = 1, more: str = "", **changes: str) -> Path:
    """Coins of which each is thrown on several days, and the purse says whose it is."""
    kept = {
        "rows = 400\n": 'missing = "drop"\n',
        'categories = ["head", "tail"]': 'categories = ["head", "tail"]\noutside = "drop"',
    }
    return write_config(folder, kept | changes | {"limit = 25": "limit = 25\n" + KEY.format(records=records) + more})


def purses(folder: Path, persons: int = 400, extra: int = 311) -> Path:
    """Every purse once, and `extra` rows more of some of them, all of later days."""
    rows = [f"p{i},1,{'head' if i % 2 else 'tail'},{i % 6 + 1}" for i in range(persons)]
    rows += [f"p{7 * i % persons},2,head,8" for i in range(extra)]
    (folder / "coins.csv").write_text("purse,day,face,year\n" + "\n".join(rows) + "\n")
    return folder / "coins.csv"


@pytest.mark.parametrize("command", ["plan", "check", "commit", "release"])
def test_what_promises_or_spends_asks_first(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, the question and the lines that answer it; no file is opened, and no ledger is there afterwards."""
    config = str(write_config(tmp_path, OPEN))
    more = {
        "plan": (),
        "check": ("--data", str(tmp_path / "none.csv")),
        "commit": ("--out", str(tmp_path / "commitment.json")),
        "release": ("--data", str(tmp_path / "none.csv"), "--out", str(tmp_path / "out")),
    }[command]
    code, said = said_by(monkeypatch, capsys, command, config, *more)
    assert code == 2
    assert "State how many rows one person can have." in said
    assert '`key = "COLUMN"` and `records_per_person = 1`' in said
    assert said.rstrip().endswith("for any row.")  # the whole of the question is shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["acceptance.toml", "coins.toml"]


def test_the_function_that_plans_asks_too(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="State how many rows one person can have"):
        synthrelease.plan(write_config(tmp_path, OPEN))


def test_public_work_goes_on_without_an_answer_and_without_a_table_each_row_is_a_person(tmp_path: Path) -> None:
    assert not load_spec(write_config(tmp_path, OPEN)).unit.answered
    plain = load_spec(write_config(tmp_path)).unit
    assert (plain.answered, plain.key, plain.records) == (True, None, 1)


@pytest.mark.parametrize(
    ("more", "changes", "expected"),
    [
        (
            "",
            {"[columns.year]": '[columns.year]\nsource = "purse"'},
            r"unit\.key: The key 'purse' must not be released\. Remove \[columns\.year\], which reads it",
        ),
        ("", {'missing = "drop"\n': 'rows = "exact"\nmissing = "drop"\n'}, "exact number of used rows reveals"),
        ('[split]\nby = "number"\npiece = 1\nof = 2\n', {}, "the rows of a person among pieces"),
        (
            '[population]\nsize = 1000000\nsample = "simple random, without replacement"\nsource = "Register"\n',
            {},
            "are a cluster",
        ),
    ],
)
def test_what_cannot_see_all_rows_of_a_person_is_refused(
    more: str, changes: dict[str, str], expected: str, tmp_path: Path
) -> None:
    config = keyed(tmp_path, more=more)
    text = config.read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    config.write_text(text)
    with pytest.raises(SpecError, match=expected):
        load_spec(config)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ('[unit]\nfirst_by = ["day"]\n', "needs a key"),
        ('[unit]\nkey = "purse"\nrecords_per_person = "not answered"\n', r"because \[unit\] has a key"),
        (
            '[unit]\nkey = "purse"\nfirst_by = ["purse"]\n',
            r"Remove the key 'purse', because all rows of a person have the same key",
        ),
        ("[unit]\nrecords_per_person = 0\n", "records_per_person"),
    ],
)
def test_mistakes_in_the_table_are_found(unit: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=expected):
        load_spec(write_config(tmp_path, {"rows = 400": "", "limit = 25": "limit = 25\n" + unit}))


def test_how_many_rows_are_kept_is_counted_wherever_it_is_private(tmp_path: Path) -> None:
    """One row of each person that no rule can leave out: as many as persons, who are public. Else with noise."""
    rule = "\n[[rules]]\nnever = \"face == 'tail' and year > 6\"\n"
    ways = {}
    for records in (1, 2):
        text = keyed(tmp_path, records).read_text()
        assert rule in text
        (tmp_path / "coins.toml").write_text(text)
        ways[records, "rule"] = load_spec(tmp_path / "coins.toml").rows.way
        kept = text.replace(rule, "").replace('missing = "drop"', 'missing = "bin"\noutside = "clip"')
        kept = kept.replace('outside = "drop"', 'outside = "bin"\noutside_label = "other"')
        (tmp_path / "coins.toml").write_text(kept)
        ways[records, "all"] = load_spec(tmp_path / "coins.toml").rows.way
    assert ways == {(1, "rule"): "counted", (1, "all"): "whole", (2, "rule"): "counted", (2, "all"): "counted"}


@pytest.mark.slow
@pytest.mark.parametrize("records", [1, 2])
def test_a_release_tells_the_number_of_persons_and_never_that_of_rows(
    records: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, out = keyed(tmp_path, records, 'missing_keys = ["0"]\n'), tmp_path / "out"
    data = purses(tmp_path, extra=4_311)  # more rows than a noisy number of records, at most 800, can say by chance
    data.write_text(data.read_text() + "0,1,head,8\n" * 30)  # of unknown purses
    code, planned = said_by(monkeypatch, capsys, "plan", str(config))
    assert code == 0
    assert "'purse' identifies the person of each row" in planned
    assert "rows without a key (and with the key '0'), are excluded" in planned
    assert "The number of persons is published; the number of their rows stays secret." in planned
    code, checked = said_by(monkeypatch, capsys, "check", str(config), "--data", str(data))
    assert code == 0
    assert "400 persons (different values of 'purse')" in checked
    code, told = said_by(monkeypatch, capsys, "release", str(config), "--data", str(data), "--out", str(out))
    assert code == 0, told
    code, verified = said_by(monkeypatch, capsys, "verify", str(out))
    assert code == 0, verified
    document = json.loads((out / "release.json").read_text())
    assert document["domain"]["persons"] == 400
    assert document["domain"]["first_by"] == ["day"]
    assert document["domain"]["missing_keys"] == ["0"]
    assert all(
        'Rows whose key is "0" have no key' in html.unescape((out / name).read_text()) for name in ("README.html", "SIGN.md")
    )
    assert all("biased towards persons with few rows" in (out / name).read_text() for name in ("README.html", "SIGN.md"))
    assert document["domain"]["file_rows"] == 400 * records
    assert "N = 400" in document["guarantee"]["invariants"][0]
    assert document["guarantee"]["person"]["records"] == records
    said = (
        planned
        + checked
        + told
        + verified
        + "".join(path.read_text() for path in out.iterdir() if path.suffix not in (".zip", ".parquet"))
    )
    assert not re.search(r"(?<![\d.])4,?7[14]1(?!\d)", re.sub(r"\b[0-9a-f]{16,}\b", "", said))  # rows of the file
    assert "One person, with all rows of the original file" in (out / "README.html").read_text()
    forged = document | {"domain": document["domain"] | {"file_rows": 4_711}}  # as many as the file has
    problems = check_charges(ReleaseDocument.model_validate_json(json.dumps(forged))).problems
    assert any(f"is 4711. It must be 400 persons times {so_many(records, 'row')}" in problem for problem in problems)
    released = synthrelease.load(out).table()
    if records == 1:  # the later rows, all of them heads of year 8, are in nobody's first row
        assert (released["year"] == "7-8").mean() < 0.2


def test_a_key_alone_does_not_say_which_row_of_a_person_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Left out or empty it stops what promises, and no value of a row decides; stated, the plan says how figures lean."""
    for order, code, words in (
        ("", 2, "State which row of a person is used."),
        ("first_by = []", 2, '`first_by = "random"`, which draws one row at random'),
        ('first_by = "random"', 0, "one row of each person that the rules keep, drawn at random"),
        ('first_by = ["day"]', 0, "the first row of each person that the rules keep, ordered by 'day' (ties at random)"),
    ):
        config = keyed(tmp_path)
        config.write_text(config.read_text().replace('first_by = ["day"]', order))
        found, said = said_by(monkeypatch, capsys, "plan", str(config))
        assert (found, words in " ".join(said.split())) == (code, True), order
        assert code or "biased towards persons with few rows" in " ".join(said.split())
