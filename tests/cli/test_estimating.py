"""estimate: as text, as JSON and as a table, the same numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from synthrelease.answers.estimates import estimate
from synthrelease.cli import app
from synthrelease.errors import InputError
from tests.helpers.tiny import write_measured_release

QUESTION = "share face == 'head' by year where year <= 6"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("measured")
    return write_measured_release(where, where / "release")


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["estimate", str(folder), *arguments])


def test_all_three_ways_to_print_have_the_same_numbers(folder: Path) -> None:
    text, in_json, in_csv = (run(folder, QUESTION, *option).stdout for option in ((), ("--json",), ("--csv",)))
    terms = json.loads(in_json)["terms"]
    table = list(csv.DictReader(in_csv.splitlines()))
    assert [term["group"] for term in terms] == [row["group"] for row in table] == ["1-2", "3-4", "5-6"]
    assert [term["estimate"] for term in terms] == [float(row["estimate"]) for row in table]
    shown = [line.split() for line in text.splitlines()[3:6]]
    assert [line[0] for line in shown] == ["1-2", "3-4", "5-6"]
    assert [float(line[1].rstrip("%")) / 100 for line in shown] == pytest.approx([t["estimate"] for t in terms], abs=0.001)


def test_the_frame_of_pandas_has_the_lines_of_the_table(folder: Path) -> None:
    found = estimate(folder, QUESTION)
    of_csv = pd.read_csv(io.StringIO(found.csv), dtype={"group": str}, float_precision="round_trip")
    frame = found.to_frame()
    assert frame.columns.tolist() == of_csv.columns.tolist()
    for name in ("group", "estimate", "low", "high", "rows", "confidence"):
        pd.testing.assert_series_equal(frame[name], of_csv[name])


def test_two_ways_to_print_at_once_are_refused(folder: Path) -> None:
    assert isinstance(run(folder, QUESTION, "--json", "--csv").exception, InputError)
