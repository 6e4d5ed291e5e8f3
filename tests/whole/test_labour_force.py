"""A second release, unlike births, end to end: nothing in synthrelease may know one dataset."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.labour_force import simulated, write_survey

N_ROWS = 5000
SECTORS = {
    "A": "farming",
    "B": "industry",
    "C": "industry",
    "O": "public services",
    "P": "public services",
    "Q": "public services",
}


@pytest.fixture(scope="module")
def spec(root: Path) -> ReleaseSpec:
    return load_spec(root / "tests" / "helpers" / "specs" / "labour_force.toml")


@pytest.fixture(scope="module")
def released(spec: ReleaseSpec, tmp_path_factory: pytest.TempPathFactory) -> Release:
    result = release(spec, write_survey(tmp_path_factory.mktemp("survey") / "survey.csv", N_ROWS))
    assert result is not None, "no round was accepted"
    return result


@pytest.fixture(scope="module")
def folder(released: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(released, tmp_path_factory.mktemp("bundle") / "labour_force")


@pytest.fixture(scope="module")
def rows(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "data.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def document(folder: Path) -> dict:
    return json.loads((folder / "release.json").read_text(encoding="utf-8"))


def usable_survey_rows() -> pd.DataFrame:
    """The rows that the spec's text says are kept, straight from the simulated frame."""
    survey = simulated(N_ROWS)
    survey = survey[(survey["region"] != "") & (survey["sector"] != "Z") & (survey["log_wage"] != "-9")]
    survey = survey[survey["age"] <= 74]
    year, sector = survey["interview_date"].str.slice(0, 4), survey["sector"].map(SECTORS)
    implausible = (survey["education"] == "2") & (survey["age"] < 20)
    implausible |= ((survey["age"] < 30) | (survey["education"] == "0")) & (survey["log_wage"].astype(float) >= 3.5)
    implausible |= year.isin(["2021", "2022"]) & (survey["region"] == "east") & (sector == "farming")
    return survey[~implausible]


@pytest.mark.slow
def test_nearly_as_many_rows_are_released_as_the_survey_has_usable_ones(rows: pd.DataFrame) -> None:
    """A noisy count of them minus a margin of 124: within 300, but for a chance of one in a thousand or so."""
    kept = usable_survey_rows()
    assert 0.8 * N_ROWS < len(kept) < 0.95 * N_ROWS  # the simulation does contain rows to drop
    assert len(kept) - 300 < len(rows) <= len(kept)


def test_the_columns_keep_the_order_of_the_specification(rows: pd.DataFrame) -> None:
    assert list(rows.columns) == ["year", "region", "sector", "education", "age", "hours", "log_wage"]


def test_only_labels_of_the_specification_are_released(rows: pd.DataFrame, document: dict) -> None:
    age = {"three": {"15-29", "30-54", "55-74"}, "four": {"<30", "30-44", "45-54", ">54"}}
    labels = {
        "year": {"2021", "2022", "2023"},
        "region": {"north", "south", "east"},
        "sector": {"farming", "industry", "public services"},
        "education": {"none", "school", "college"},
        "age": age[document["configuration"]["transformation"]["age"]],
        "hours": {"0 to 20", "20 to 40", "40 to 60", "60 to 80"},
        "log_wage": {"<2.5", "2.5 to 3", "3 to 3.5", ">=3.5"},
    }
    for name, known in labels.items():
        assert set(rows[name]) <= known
        assert len(set(rows[name])) > 1


def test_no_released_row_breaks_a_rule(rows: pd.DataFrame) -> None:
    farming = rows["sector"] == "farming"
    for part_of_a_rule in (farming, rows["log_wage"] == ">=3.5", rows["hours"] == "60 to 80", rows["region"] == "east"):
        assert part_of_a_rule.any()
    assert not (farming & (rows["hours"] == "60 to 80")).any()
    young = rows["age"].isin(["15-29", "<30"])
    assert not ((young | (rows["education"] == "none")) & (rows["log_wage"] == ">=3.5")).any()
    assert not (rows["year"].isin(["2021", "2022"]) & (rows["region"] == "east") & farming).any()


def test_a_rule_of_synthetic_rows_keeps_private_rows_in_the_count() -> None:
    kept = usable_survey_rows()
    assert ((kept["sector"] == "A") & (kept["hours"] >= 60)).sum() > 3  # they are in n, and no released row is like them


def test_every_released_row_occurs_three_times_or_more(rows: pd.DataFrame) -> None:
    assert rows.value_counts().min() >= 3


def test_the_guarantee_is_the_sum_written_down_by_hand(document: dict) -> None:
    one_round = 400 + 5 + 20.5 + 2 + 30 + 10
    assert document["guarantee"]["epsilon"] == pytest.approx(0.05 + 50 + one_round + math.log(20), abs=1e-6)  # of a coin of .05
    assert document["guarantee"]["delta"] == 0
    assert f"the number of rows of the file, N = {N_ROWS}" in document["guarantee"]["invariants"]


def test_the_criteria_are_those_of_the_acceptance_file_and_all_passed(document: dict) -> None:
    assert [criterion["name"] for criterion in document["criteria"]] == [
        "tables of two",
        "mean log wage",
        "mean years of schooling",
        "wage equation",
        "wage prediction",
        "similar rows",
        "no rare rows",
    ]
    assert all(criterion["passed"] for criterion in document["criteria"])


def test_four_configurations_are_drawn_from(spec: ReleaseSpec, released: Release) -> None:
    assert len(spec.space) == 2 * 1 * 2 * 1  # age, hours, degree, minimum count
    chosen = released.candidate.configuration
    assert chosen.generator.model_dump()["degree"] in (1, 2)
    assert chosen.projection.minimum_count == 3


@pytest.mark.slow
def test_the_bundle_fits_together_with_real_numbers_and_groups_of_categories(folder: Path) -> None:
    report = verify_bundle(folder)
    assert [problem for check in report.checks for problem in check.problems] == []
    assert report.passed
