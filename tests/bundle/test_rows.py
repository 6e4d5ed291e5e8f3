"""Rows on condition: drawn from published noisy tables, for a group, without a new look at the private file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from synthrelease.answers.estimates import estimate
from synthrelease.bundle.rows import ConditionalRows, conditional_rows
from synthrelease.errors import InputError
from tests.helpers.command_line import run
from tests.helpers.tiny import write_measured_release

TAIL = "face == 'tail'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("measured")
    return write_measured_release(work, work / "release")


def lines(drawn: ConditionalRows, path: Path) -> list[dict[str, str]]:
    drawn.write(path)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_row_meets_the_condition_the_rules_and_the_minimum_count(folder: Path, tmp_path: Path) -> None:
    rows = lines(conditional_rows(folder, TAIL, 501), tmp_path / "rows.csv")
    assert len(rows) == 501
    assert {row["face"] for row in rows} == {"tail"}
    assert {row["year"] for row in rows} <= {"1-2", "3-4", "5-6"}  # never face == 'tail' and year > 6
    once = conditional_rows(folder, TAIL, 7).table.counts.counts
    assert once.min() >= 2


def test_shares_among_the_rows_are_those_that_estimate_tells_of_the_group(folder: Path) -> None:
    drawn = conditional_rows(folder, TAIL, 100_000)
    shares = drawn.table.margins[1] / 100_000
    told = [term.estimate for term in estimate(folder, "share year >= 1 and year < 3 where face == 'tail'").terms]
    told += [term.estimate for term in estimate(folder, "share year >= 3 and year < 5 where face == 'tail'").terms]
    np.testing.assert_allclose(shares[:2], np.array(told, dtype=float), atol=0.01)


@pytest.mark.parametrize(
    ("condition", "n", "message"),
    [
        ("face == 'edge'", 10, "'edge' is not a category of 'face'.*'head', 'tail'"),
        ("", 10, "Name the group of rows by a condition"),
        ("year < 2", 10, "divides the bin"),
        ("face == 'tail' and year > 6", 10, "may have no rows"),
        (TAIL, 0, "must be 1 to 1,000,000, not 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(folder: Path, condition: str, n: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        conditional_rows(folder, condition, n)


def test_the_command_says_what_the_rows_are_and_overwrites_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.csv"
    words = ["rows", str(folder), "--where", TAIL, "-n", "50", "--out", str(out)]
    code, printed, _ = run(monkeypatch, capsys, *words)
    said = " ".join(printed.split())
    assert code == 0
    assert "50 rows with face == 'tail' were drawn from 1 published noisy table." in said
    assert "Measured together with the condition: 'year'" in said
    assert "No acceptance criterion tested these rows" in said
    before = out.read_bytes()
    assert run(monkeypatch, capsys, *words)[0] == 2
    assert out.read_bytes() == before
