"""Commands that find out beforehand that nothing can be released do not end as if all were fine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer

from synthrelease.bundle.preview import preview
from synthrelease.cli.rehearsing import rehearse
from synthrelease.cli.specifying import check, plan
from synthrelease.criteria import explain
from synthrelease.data.counts import Counts
from synthrelease.errors import SpecError
from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import RehearsalRequest
from tests.helpers.tiny import MEASURED, write_config, write_data

STRICT = {
    "[selection]": '[selection]\ntest = "joint"\ntest_epsilon = 0.01\nfalse_acceptance = 0.01',
    "threshold = 0.9": "threshold = 0.01",
}
"""A joint test whose margin is above the threshold where there are 400 rows."""


def test_a_plan_with_a_threshold_that_no_table_meets_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(tmp_path, STRICT)
    with pytest.raises(SpecError) as caught:
        plan(config)
    assert caught.value.exit_code == 2
    message = " ".join(str(caught.value).split())
    assert "No table of 400 rows" in message
    assert "not even a perfect table can pass" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SpecError):
        plan(config, as_json=True)
    told = json.loads(capsys.readouterr().out)["warnings"]
    assert ["not even a perfect table can pass" in each["text"] for each in told] == [True]


IN_GROUPS = {
    '[[criteria]]\nname = "face privacy"': '[[criteria]]\nname = "mean year"\nkind = "conditional_mean"\ncolumn = "year"\n'
    'by = ["face", "year"]\nrange = [1, 8]\nsize_margin = 0.01\nthreshold = 1\nepsilon = 0.1\n\n'
    '[[criteria]]\nname = "share of heads"\nkind = "difference_in_proportions"\ncolumn = "face"\nbins = ["head"]\n'
    'by = ["year"]\nthreshold = 0.2\nepsilon = 0.1\n\n[[criteria]]\nname = "face privacy"',
    "[selection]": '[selection]\ntest = "joint"\ntest_epsilon = 0.1\nfalse_acceptance = 0.01',
    "limit = 25": "limit = 100",
}
"""Criteria of groups: a table of 400 rows has one of at most 100 among four, so that the margin of 39 rows is 0.39 of it."""


def test_a_threshold_below_the_margin_in_the_smallest_group_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of all 400 rows the margin is 0.69 and 0.10, below both thresholds: the plan said nothing, and runs lost their budget."""
    config = write_config(tmp_path, IN_GROUPS)
    with pytest.raises(SpecError) as caught:
        plan(config, rows=400)
    assert [problem.path for problem in caught.value.problems] == ["criteria 'mean year'", "criteria 'share of heads'"]
    capsys.readouterr()
    plan(config, rows=4000)


def test_no_table_is_less_sensitive_than_what_a_plan_refuses_by(tmp_path: Path) -> None:
    """Compared with the sensitivity that is told from a released table (theory 3.3, conditional means), over random ones."""
    spec = load_spec(write_config(tmp_path, IN_GROUPS | {"rows = 400": "rows = 4000"}))
    judged = {each.name: each for each in spec.criteria}
    transformation, random = spec.space[0].transformation, np.random.default_rng(1)
    cells = np.indices(transformation.layout.sizes).reshape(len(transformation.layout.sizes), -1)
    shares = [np.full(cells.shape[1], 1 / cells.shape[1]), *random.dirichlet(np.full(cells.shape[1], 9.0), 200)]
    for name in ("mean year", "share of heads"):
        found = []
        for share in shares:
            drawn = np.repeat(np.arange(cells.shape[1]), random.multinomial(4000, share))
            facts = spec.setting.facts(transformation, Counts.of(transformation.layout, list(cells[:, drawn])))
            found.append(explain(judged[name]).public_sensitivity(facts))
        least = explain(judged[name]).least_sensitivity(4000, spec.setting)
        assert least <= min(found) <= 1.2 * least


def test_a_plan_that_more_rows_make_possible_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(tmp_path, STRICT | {"rows = 400\n": ""})
    with pytest.raises(SpecError, match="No table of 400 rows .*can meet"):
        plan(config, rows=400)
    capsys.readouterr()
    plan(config, rows=1_000_000)
    assert "not even a perfect table can pass" not in " ".join(capsys.readouterr().out.split())


def test_a_file_that_is_too_small_for_every_threshold_is_no_file_to_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release of it would spend the budget on nothing, whatever its rows are."""
    config, data = write_config(tmp_path, STRICT | {"rows = 400": 'rows = "private"'}), write_data(tmp_path)
    with pytest.raises(SpecError, match="No table of 401 rows .*can meet") as caught:
        check(config, str(data))
    assert caught.value.exit_code == 2
    assert "not even a perfect table can pass" in str(caught.value)
    capsys.readouterr()
    large = tmp_path / "large.csv"
    head, *lines = data.read_text().splitlines()
    large.write_text("\n".join([head, *lines * 300]) + "\n")
    check(config, str(large))
    assert "not even a perfect table can pass" not in " ".join(capsys.readouterr().out.split())


RULE = "[[rules]]\nnever = \"face == 'tail' and year > 6\"\n"


@pytest.mark.parametrize(
    ("tables", "ruled", "told"),
    [
        ('"face"', False, True),
        ('"face"', True, False),  # the rule ties the year to what is known of the face
        ('"face"\nrare_bins = "face[0 1]"', False, True),
        ('"face + year"', False, False),
        ('"face"\nonly_measured = "face:year"', False, False),
        ('"face"\nsums = "year[0 0 0 1]"', False, False),
    ],
)
def test_a_plan_names_columns_of_which_nothing_is_measured(
    tables: str, ruled: bool, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = {old: new.replace('"face:year"', tables) for old, new in MEASURED.items()}
    measured = {old: new.replace("publish_measurements = true", "") for old, new in measured.items()}
    config = write_config(tmp_path, measured | ({} if ruled else {RULE: ""}))
    plan(config)
    check(config)
    said = "No measured table contains 'year'."
    assert " ".join(capsys.readouterr().out.split()).count(said) == (2 if told else 0)


@pytest.mark.slow
def test_a_rehearsal_that_accepts_nothing_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(tmp_path, STRICT)
    with pytest.raises(typer.Exit) as caught:
        rehearse(RehearsalRequest(config=config, data=str(write_data(tmp_path)), out=tmp_path / "trial", seed=1, copies=0))
    assert caught.value.exit_code == 3
    assert "No configuration was accepted often enough" in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "trial" / "shortlist.toml").exists()


@pytest.mark.parametrize("size", [1, 400, 999, 1000, 2000])
def test_documents_of_a_small_population_can_be_written_before_anything_is_read(tmp_path: Path, size: int) -> None:
    """A preview has 1,000 placeholder rows, and a sample is no larger than what it was drawn from."""
    sampled = f'\n[population]\nsize = {size}\nsample = "simple random, without replacement"\nsource = "A register"\n'
    spec = load_spec(write_config(tmp_path, {"rows = 400": 'rows = "private"', "[selection]": f"{sampled}\n[selection]"}))
    assert f"{size:,}".encode() in preview(spec)["README.html"]
