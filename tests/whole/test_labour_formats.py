"""The labour force survey as an SPSS and as a Stata file: codes, gaps and dates come out as from CSV, up to `verify`."""

from __future__ import annotations

import csv
import datetime
import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthrelease.cli import app
from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra formats")
TEXTS = ("municipality", "occupation", "industry")
DATES = ("interview_date", "job_started")
USER_MISSING = {"hours": [97, 98, 99], "wage": [99997, 99998], "commute": [997, 998], "education": [99], "birth_country": [9]}
ACCEPTANCE = """
[[criteria]]
name = "pairs"
kind = "mean_marginal_error"
tables = ["all 2-way"]
threshold = 0.9
epsilon = 0.5
"""


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    script = runpy.run_path(str(ROOT / "public_data" / "simulate_labour.py"))
    return script["simulate"](script["read_facts"](), 3000, 5, 2025)


def typed(survey: pd.DataFrame) -> pd.DataFrame:
    """As a statistical package keeps it: numbers as numbers, dates as dates, what was not asked as system-missing."""
    columns: dict[str, Any] = {}
    for name in survey:
        texts = survey[name]
        if name in TEXTS:
            columns[str(name)] = texts
        elif name in DATES:
            known = texts.str.match(r"\d{4}-[01]")
            columns[str(name)] = [
                datetime.date.fromisoformat(text) if told else None for text, told in zip(texts, known, strict=True)
            ]
        else:
            columns[str(name)] = pd.to_numeric(texts)
    return pd.DataFrame(columns)


def written(survey: pd.DataFrame, folder: Path, suffix: str) -> Path:
    path = folder / f"survey{suffix}"
    if suffix == ".sav":
        ranges = {name: [float(code) for code in codes] for name, codes in USER_MISSING.items()}
        labels = {"sex": {1: "WRONG", 2: "ALSO WRONG"}, "contract": {1: "Permanent"}}
        pyreadstat.write_sav(typed(survey), path, missing_ranges=ranges, variable_value_labels=labels)
    else:
        pyreadstat.write_dta(typed(survey), path, variable_value_labels={"sex": {1: "WRONG", 2: "ALSO WRONG"}})
    return path


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_the_same_rows_are_counted_from_every_format(survey: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    spec = load_spec(ROOT / "configs" / "labour.toml")
    survey.to_csv(tmp_path / "survey.csv", index=False)
    ours, theirs = (
        read_public(path, spec.schema, spec.input, spec.raw)
        for path in (tmp_path / "survey.csv", written(survey, tmp_path, suffix))
    )
    assert ours.total == theirs.total == 3000
    for one, other in zip(ours.bins, theirs.bins, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(ours.counts, theirs.counts)


def test_a_release_from_an_spss_file_has_the_labels_of_the_codelists_and_verifies(survey: pd.DataFrame, tmp_path: Path) -> None:
    """Labels that stand in the private file are never read."""
    for name in ("configs", "acceptance"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "acceptance" / "labour.toml").write_text(ACCEPTANCE)
    config = tmp_path / "configs" / "labour.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("limit = 2.2", "limit = 9"), encoding="utf-8")
    out = tmp_path / "release"
    data = written(survey, tmp_path, ".sav")
    for command in (["release", str(config), "--data", str(data), "--out", str(out)], ["verify", str(out)]):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, (result.output, result.exception)
    spec = load_spec(config)
    with (out / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3000
    for column in spec.schema.columns:
        assert {row[column.name] for row in rows} <= set(spec.space[0].transformation.binning(column.name).labels)
    assert {"Male", "Female"} == {row["sex"] for row in rows}
    assert "WRONG" not in json.dumps(json.loads((out / "release.json").read_text(encoding="utf-8")))
    employees = [row for row in rows if row["contract"] == "Permanent"]
    refused = sum(row["wage"] == spec.schema["wage"].missing_label for row in employees)
    assert 0.05 < refused / len(employees) < 0.4
