"""Every method to compare with, by what all have in common; and the command that reaches them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, OutputError
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import ComparisonRequest
from synthrelease.studio.baselines import BASELINES
from synthrelease.studio.baselines.base import NO_GUARANTEE, Baseline, ComparedFile
from synthrelease.studio.rehearsal.attempts import Trials
from synthrelease.studio.rehearsal.compare import (
    METHODS,
    check_comparison_file,
    checked_request,
    public_file,
    share_of_threshold,
)
from synthrelease.studio.rehearsal.utility import CopyComparison
from tests.cli.test_cli import run, words
from tests.conftest import ROOT
from tests.helpers.tiny import write_config, write_data

ROWS = 2000
KNOWN = ["sex", "age", "education"]


@pytest.fixture(scope="module")
def spec() -> ReleaseSpec:
    return load_spec(ROOT / "configs" / "labour.toml")


@pytest.fixture(scope="module")
def survey(spec: ReleaseSpec, tmp_path_factory: pytest.TempPathFactory) -> Counts:
    """The first rows of the public survey, which has gaps and whose margins are published."""
    import pandas as pd

    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    read = pd.read_csv(ROOT / "public_data" / "labour_surrogate.csv.gz", dtype=str, keep_default_na=False, nrows=ROWS)
    read.to_csv(path, index=False)
    return read_public(path, spec.schema, spec.input, spec.raw, spec.unit)


@pytest.fixture(scope="module")
def file(spec: ReleaseSpec, survey: Counts) -> ComparedFile:
    """The survey as methods take it, at an epsilon at which all of them answer."""
    return replace(asked(spec, survey), epsilon=6.0)


def asked(spec: ReleaseSpec, survey: Counts, seed: int = 1) -> ComparedFile:
    request = checked_request(spec.schema.names, ComparisonRequest(config=Path("none.toml"), data="none.csv", seed=seed))
    return public_file(Trials(spec=spec, counts=survey, seed=seed), 0, CopyComparison.of(spec, 2, KNOWN), request)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_method_keeps_its_contract(name: str, spec: ReleaseSpec, survey: Counts, file: ComparedFile) -> None:
    method: Baseline = BASELINES[name]()
    tables = method.tables(file)
    assert tables
    for made in tables:
        assert (made.epsilon is None) == made.guarantee.startswith(NO_GUARANTEE)
        assert len(made.copies) == file.copies
        for copy in made.copies:
            assert copy.layout == file.table.layout
            assert 0.9 * file.table.total < copy.total <= file.table.total
        assert not made.copies[0].same_as(file.table)  # it protects something, or tries to
    again, other = (replace(asked(spec, survey, seed), epsilon=6.0, copies=1) for seed in (1, 2))
    for one, same, different in zip(tables, method.tables(again), method.tables(other), strict=True):
        assert one.copies[0].same_as(same.copies[0])
        assert not one.copies[0].same_as(different.copies[0])


def test_a_share_of_a_threshold_is_never_met_by_nan() -> None:
    assert (share_of_threshold(0.02, 0.01), share_of_threshold(0, 0), share_of_threshold(1, 0)) == (2, 0, math.inf)
    assert share_of_threshold(math.nan, 0) == math.inf
    assert math.isnan(share_of_threshold(math.nan, 1))


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.txt", "must end in .json"), ("no/a.json", "does not exist. Create it"), ("is.json", "exists already")],
)
def test_a_file_that_cannot_be_written_is_found_before_the_work(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "is.json").touch()
    with pytest.raises(OutputError, match=message):
        check_comparison_file(tmp_path / name)


def compared(folder: Path, *options: object) -> Sequence[str]:
    return ["compare", str(write_config(folder)), "--data", str(write_data(folder)), *map(str, options)]


@pytest.mark.slow
def test_the_command_shows_a_row_for_each_and_says_what_is_left_out(tmp_path: Path) -> None:
    done = run(*compared(tmp_path, "--out", tmp_path / "all.json"))
    assert done.returncode == 0, done.stderr
    told = words(done.stdout)
    for text in ("this release", "swapping at 0.05", "sequential tables", "DA-MI", "independent columns"):
        assert text in told
    assert "NONE means that a method gives no guarantee, so somebody may recognise persons in its table (" in told
    found = json.loads((tmp_path / "all.json").read_text())
    assert {one["method"] for one in found["methods"]} == {"release", *METHODS}
    own = found["methods"][0]
    assert own["epsilon"] > 0
    assert len(own["figures"]) == len(own["met"]) == len(found["criteria"])
    assert all(one["epsilon"] is None for one in found["methods"] if one["method"] in ("sequential", "dami", "independent"))
    # the same seed, another process: the same figures
    again = run(*compared(tmp_path, "--method", "independent", "--out", tmp_path / "one.json"), alone=True)
    assert again.returncode == 0, again.stderr
    one = json.loads((tmp_path / "one.json").read_text())["methods"]
    assert [method["name"] for method in one] == ["this release", "independent columns"]
    for measures in ("figures", "met", "utility", "risk"):
        assert one[0][measures] == own[measures]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "independant"], "--method: 'independant' is not one of .* Did you mean 'independent'"),
        (["--swap-rate", "2"], "--swap-rate: expected a number above 0 and below 1"),
        (["--out", "x.txt"], "the name of the file must end in .json"),
    ],
)
def test_mistakes_end_with_2_and_in_words(options: Sequence[str], message: str, tmp_path: Path) -> None:
    import re

    done = run(*compared(tmp_path, *options))
    assert done.returncode == 2
    assert re.search(message, words(done.stderr))


def test_pieces_of_a_file_are_not_compared(spec: ReleaseSpec) -> None:
    from synthrelease.studio.rehearsal.compare import compare_methods

    divided = replace(spec, options=replace(spec.options, partition=object()))
    with pytest.raises(InputError, match=r"a configuration with \[partition\] cannot be compared"):
        compare_methods(divided, ComparisonRequest(config=Path(divided.path), data="no.csv"))
