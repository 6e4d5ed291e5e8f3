"""plan and check list which associations the rows will carry, also of a configuration that somebody wrote by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from synthrelease.cli import specifying as associating
from synthrelease.cli.specifying import carried_lines
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.command_line import run
from tests.helpers.tiny import MEASURED, write_config

Run = Callable[..., str]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: object) -> str:
        code, out, _ = run(monkeypatch, capsys, *map(str, words))
        assert code == 0
        return out

    return command


def lines_of(path: Path) -> list[str]:
    return list(carried_lines(load_spec(path)))


@pytest.mark.parametrize("command", ["plan", "check"])
def test_a_configuration_by_hand_is_told_what_its_rows_will_carry(command: str, printed: Run, tmp_path: Path) -> None:
    alone = {old: new.replace("face:year", "face + year") for old, new in MEASURED.items()}
    assert "Associations: the generator chooses with noise" in printed(command, write_config(tmp_path))
    told = " ".join(printed(command, write_config(tmp_path, alone)).split())
    assert "Associations: the rows will carry 0 of 1 pairs of columns." in told
    assert "Do not compute a table, a mean by group or a slope of another pair: the criteria alone limit its error." in told
    assert "face: in full with no other column" in told
    told = printed(command, write_config(tmp_path, MEASURED))
    assert "Associations: the rows will carry 1 of 1 pairs of columns." in told
    assert "the criteria alone limit its error" not in told


def test_the_labour_survey_does_not_carry_wages_by_municipality_age_or_quarter() -> None:
    told = lines_of(ROOT / "configs" / "labour.toml")
    assert told[0] == "Associations: the rows will carry 42 of 190 pairs of columns."
    assert "  wage: only with sex, education, occupation, hours, contract" in told
    assert "  municipality: only with birth_country, labour_status, design_weight" in told
    assert "  quarter: in full with no other column" in told
    assert told[-1].startswith("Three columns at once: 2 of 1,140: sex × age × labour_status; age × labour_status × job_search")


def test_of_a_register_of_areas_the_region_has_what_its_municipalities_have() -> None:
    told = lines_of(ROOT / "configs" / "country.toml")
    assert "Associations: the rows will carry 19 of 21 pairs of columns." in told
    assert "  municipality: not with education" in told


def test_many_columns_take_few_lines_and_programs_get_every_pair(
    printed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(associating, "MOST_LINES", 2)
    told = lines_of(ROOT / "configs" / "labour.toml")
    assert "  and 18 more columns; `synthrelease plan --json` lists every pair." in told
    assert len(told) == 6
    alone = {old: new.replace("face:year", "face + year") for old, new in MEASURED.items()}
    found = json.loads(printed("plan", write_config(tmp_path, alone), "--json"))["associations"]
    not_measured = {"noise": None, "mean_cell": None, "repeats": None, "apart": []}
    assert found == [
        {"columns": ["face", "year"], "carried": "in part", "how": "plausibility rules", "through": [], **not_measured}
    ]


def test_a_table_that_is_mostly_noise_is_said_before_the_release(printed: Run, tmp_path: Path) -> None:
    """Of 8 cells, at a variance of 2 * 100^2 and a prior of 300 rows: 0.8 is repeated by sqrt(4 * 300 * 20,000 * 8) rows."""
    weak = MEASURED | {"generation = 10": "generation = 0.02"}
    few, more = (printed("plan", write_config(tmp_path, weak), "--rows", rows) for rows in (13_856, 13_857))
    assert "the rows will carry 0 of 1 pairs of columns." in few
    assert "1 more pair is measured, but the table is mostly noise: at 13,856 rows" in few
    assert "the rows will carry 1 of 1 pairs of columns." in more
