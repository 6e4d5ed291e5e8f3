"""The second release that ships, a wide survey with codes, gaps and weights: every command, as its demonstration runs them."""

from __future__ import annotations

import json
import math
import runpy
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import synthrelease
from synthrelease.bundle.verify import verify_bundle
from synthrelease.cli import app
from synthrelease.cli.releasing import Shipped
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import SpecError
from synthrelease.published.base import CHECKSUMS, checksum_file
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.report import describe
from tests.conftest import ROOT
from tests.helpers.cards import write_files
from tests.helpers.demonstrations import shown as demonstration

CONFIG = ROOT / "configs" / "labour.toml"
HIGH = ("Short-cycle tertiary", "Bachelor", "Master", "Doctorate")
WORK = ("occupation", "industry", "hours", "tenure", "commute", "wage")


@pytest.fixture(scope="module")
def spec() -> ReleaseSpec:
    return load_spec(CONFIG)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the demonstration, and what it printed."""
    return demonstration(tmp_path_factory, Shipped.labour, minutes=0.05)


@pytest.fixture(scope="module")
def folder(shown: tuple[Path, str]) -> Path:
    return shown[0] / "release"


@pytest.fixture(scope="module")
def rows(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "data.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def original(shown: tuple[Path, str], spec: ReleaseSpec) -> pd.DataFrame:
    """The confidential rows in the released bins, as the program reads them."""
    counts = read_public(shown[0] / "survey.csv.gz", spec.schema, spec.input, spec.raw)
    binnings = spec.space[0].transformation.binnings
    columns = {
        binned.name: np.asarray(binning.labels)[np.asarray(binning.of_atom)[counts.rows(place)]]
        for place, (binned, binning) in enumerate(zip(spec.schema.columns, binnings, strict=True))
    }
    return pd.DataFrame(columns)


# --- The two files ------------------------------------------------------------------------------------------------------


def test_the_plan_is_the_sum_written_down_by_hand(spec: ReleaseSpec) -> None:
    figures = 0.02 + 0.01 + 0.01 + 0.02 + 0.02 + 0.05 + 0.05 + 0.05 + 0.03 + 0.02
    stop, e = 0.02, math.exp(0.2)
    loop = 0.2 + math.log((e + stop) / (1 + stop * e))  # the price of the stop coin
    assert float(spec.plan.total.epsilon) == pytest.approx(1.5 + loop + figures, abs=1e-6)
    assert spec.plan.total.delta == 0
    assert len(spec.schema.columns) == 20
    assert spec.rows.way == "whole"  # no row is left out, so N is public and nothing is counted


def test_calibration_totals_are_those_of_the_facts(spec: ReleaseSpec) -> None:
    script = runpy.run_path(str(ROOT / "public_data" / "simulate_labour.py"))
    facts = script["read_facts"]()
    calibration = spec.options.calibration
    assert calibration is not None
    by_person, by_state = calibration.margins
    assert dict(zip(by_state.labels[0], by_state.totals, strict=True)) == {
        each["name"]: each["population"] * 1000 for each in facts["states"]
    }
    age, population = facts["age"], 1000 * sum(each["population"] for each in facts["states"])
    for sex, name in enumerate(("men", "women")):
        persons = (age["women_per_1000"] if sex else 1000 - age["women_per_1000"]) / 1000 * population
        groups = np.add.reduceat(script["shares"](age[f"per_1000_{name}"]), [0, 2, 4, 7, 10, 12]) * persons
        np.testing.assert_allclose(by_person.table[sex], groups, atol=300)  # printed in hundreds


@pytest.mark.slow
def test_the_surrogate_breaks_no_rule_and_fits(spec: ReleaseSpec) -> None:
    counts = read_public(ROOT / "public_data" / "labour_surrogate.csv.gz", spec.schema, spec.input, spec.raw)
    assert counts.total == 80_000
    assert not spec.synthetic.forbidden(counts.bins).any()


def test_rules_about_what_is_asked_stay_small(spec: ReleaseSpec) -> None:
    """Joined they would span more cells than any mask may."""
    assert max(mask.forbidden.size for mask in spec.synthetic.masks) < 20_000
    assert sum("contract" in {spec.schema.names[i] for i in mask.columns} for mask in spec.synthetic.masks) >= 7


def test_a_long_list_of_tables_does_not_hide_the_rest_of_a_configuration(spec: ReleaseSpec) -> None:
    text = describe(spec.space[0])
    assert text.startswith("marginals, tables 3 municipality:labour_status + municipality:birth_country")
    assert "..., prior weight 50, " in text
    assert len(text) < 250


# --- The demonstration --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_demonstration_runs_every_command_and_says_which(shown: tuple[Path, str]) -> None:
    text = " ".join(shown[1].split())
    at = [text.index(f"$ synthrelease {name} ") for name in ("rehearse", "ledger open", "check", "release", "verify", "bound")]
    assert at == sorted(at)
    assert "The files fit together." in text
    assert "1 charge, epsilon 2.1721076 of 3" in text
    assert (shown[0] / "trial" / "report.html").is_file()


@pytest.mark.slow
def test_a_folder_that_is_there_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "--release", "labour", "--out", str(tmp_path)])
    assert result.exit_code != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_released_rows_have_labels_gaps_and_no_impossible_answers(rows: pd.DataFrame, spec: ReleaseSpec) -> None:
    assert list(rows.columns) == [*spec.schema.names, "weight"]
    for column in spec.schema.columns:
        assert set(rows[column.name]) <= set(spec.space[0].transformation.binning(column.name).labels)
    idle = rows["labour_status"] != "Employed"
    for name in WORK:
        gap = spec.schema[name].missing_label
        assert (rows[name][idle] == gap).all()
        assert 0 < (rows[name][~idle] == gap).mean() < (0.5 if name == "wage" else 0.1)
    assert (rows["contract"] == "not asked").equals(idle)
    assert not (rows["job_search"] == "Yes")[~idle].any()
    assert not (rows["household_size"] == "1")[rows["marital_status"] == "Married"].any()


@pytest.mark.slow
def test_the_true_errors_are_within_the_thresholds(rows: pd.DataFrame, original: pd.DataFrame, spec: ReleaseSpec) -> None:
    """Computed here from the two tables alone. A false acceptance has a probability of at most 1%; the room is for that."""
    threshold = {criterion.name: 1.05 * criterion.threshold for criterion in spec.criteria}
    n = len(rows)
    assert n == len(original)
    for table in ("age:sex:labour_status", "education:sex:labour_status", "occupation:industry", "household_size:relationship"):
        assert largest_difference(rows, original, table.split(":")) / n <= threshold["tables by name"]
    distances = [total_difference(rows, original, list(pair)) / (2 * n) for pair in combinations(spec.schema.names, 2)]
    assert np.mean(distances) <= threshold["pairs of columns"]
    assert np.quantile(distances, 0.95) <= threshold["nineteen of twenty pairs"]
    for by in ("sex", "state"):
        released, true = rates(rows, by), rates(original, by)
        assert (released - true).abs().max() <= threshold["employment rates"]
    assert min(rows[name].value_counts().min() for name in spec.schema.names) >= 5


@pytest.mark.slow
def test_what_goes_together_in_the_original_goes_together_in_the_release(rows: pd.DataFrame, original: pd.DataFrame) -> None:
    """Education and occupation, as nobody would see in a table of independent columns."""
    for table in (rows, original):
        teaching = table["occupation"] == "Teaching professionals"
        high = table["education"].isin(HIGH)
        assert high[teaching].mean() > 2 * high.mean()


@pytest.mark.slow
def test_weighted_totals_are_the_published_ones(rows: pd.DataFrame, spec: ReleaseSpec) -> None:
    weight = rows["weight"].astype(float)
    calibration = spec.options.calibration
    assert calibration is not None
    by_state = calibration.margins[1]
    wanted = dict(zip(by_state.labels[0], by_state.totals, strict=True))
    found = weight.groupby(states_of(rows)).sum()
    for state, total in wanted.items():
        assert found[state] == pytest.approx(total, rel=0.001)
    old_women = weight[(rows["sex"] == "Female") & rows["age"].isin(["75-79", "80-84", ">=85"])].sum()
    assert old_women == pytest.approx(232_700, rel=0.001)


@pytest.mark.slow
def test_a_label_or_a_row_that_was_changed_afterwards_is_noticed(folder: Path) -> None:
    """Though all checksums were made anew. The wage of somebody without work breaks a rule."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != CHECKSUMS}
    lines = files["data.csv"].decode().split("\n")
    idle = next(place for place, line in enumerate(lines) if ",Outside the labour force," in line)
    paid = lines[idle].replace("not asked or not stated", "2000-2499", 4).replace("2000-2499", "not asked or not stated", 3)
    assert sum(part == "2000-2499" for part in paid.split(",")) == 1
    changed = {
        "schema": ("release.json", b"Teaching professionals", b"Training professionals"),
        "table": ("data.csv", lines[idle].encode(), paid.encode()),
    }
    for name, (file, old, new) in changed.items():
        assert old in files[file], name
        edited = files | {file: files[file].replace(old, new, 1)}
        copy = write_files(edited | {CHECKSUMS: checksum_file(edited)}, folder.parent / f"changed-{name}")
        report = verify_bundle(copy)
        assert next(check for check in report.checks if check.name == "checksums").passed
        assert not report.passed, name


@pytest.mark.slow
def test_a_changed_codelist_is_another_specification(tmp_path: Path, spec: ReleaseSpec) -> None:
    for name in ("configs", "acceptance"):
        shutil.copytree(ROOT / name, tmp_path / name)
    config, codelist = tmp_path / "configs" / "labour.toml", tmp_path / "configs" / "codes" / "labour_industry.csv"
    assert load_spec(config).digest == spec.digest
    text = codelist.read_text(encoding="utf-8")
    codelist.write_text(text.replace("Education,", "Schools,"), encoding="utf-8")
    assert load_spec(config).digest != spec.digest
    codelist.write_text(text.replace("P,Education,", "Q,Education,"), encoding="utf-8")
    with pytest.raises(SpecError, match="Q"):
        load_spec(config)


@pytest.mark.slow
def test_a_query_is_answered_from_the_folder_alone(folder: Path, rows: pd.DataFrame, original: pd.DataFrame) -> None:
    found = synthrelease.bound(folder, "labour_status == 'Employed'", given="sex == 'Female'")
    women = original[original["sex"] == "Female"]
    assert found.low <= (women["labour_status"] == "Employed").mean() <= found.high
    assert found.high - found.low < 0.2
    released = synthrelease.load(folder)
    assert released.n_rows == len(rows)
    document = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert document["guarantee"]["epsilon"] == pytest.approx(2.1721076)


# --- Plain references -----------------------------------------------------------------------------------------------------


def states_of(table: pd.DataFrame) -> pd.Series:
    listed = pd.read_csv(ROOT / "configs" / "codes" / "labour_municipality.csv", dtype=str)
    return table["municipality"].map(dict(zip(listed["label"], listed["state"], strict=True)))


def counted(table: pd.DataFrame, names: list[str]) -> pd.Series:
    return table.groupby(names).size()


def largest_difference(one: pd.DataFrame, other: pd.DataFrame, names: list[str]) -> float:
    return float(counted(one, names).sub(counted(other, names), fill_value=0).abs().max())


def total_difference(one: pd.DataFrame, other: pd.DataFrame, names: list[str]) -> float:
    return float(counted(one, names).sub(counted(other, names), fill_value=0).abs().sum())


def rates(table: pd.DataFrame, by: str) -> pd.Series:
    groups = states_of(table) if by == "state" else table[by]
    return (table["labour_status"] == "Employed").groupby(groups).mean()
