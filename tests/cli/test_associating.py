"""plan and check list which associations the rows will carry, also of a configuration that somebody wrote by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from synthrelease.bundle.preview import preview
from synthrelease.cli import specifying as associating
from synthrelease.cli.specifying import carried_lines
from synthrelease.generators.associations import Strengths
from synthrelease.settings.tables import NotPromisedTable
from synthrelease.spec.load import load_spec
from synthrelease.spec.tried import leave
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
    assert "The release does not say which columns the generator measured" in printed(command, write_config(tmp_path))
    told = " ".join(printed(command, write_config(tmp_path, alone)).split())
    assert "The rows preserve the association of no pair of columns. Use the rows for single columns." in told
    assert "Do not use the rows for any other pair" in told
    assert "×" not in told
    told = " ".join(printed(command, write_config(tmp_path, MEASURED)).split())
    assert "The rows preserve the association of every pair of columns. The columns of each pair were measured together" in told
    assert "Do not use the rows" not in told


def test_the_labour_survey_does_not_carry_wages_by_municipality_age_or_quarter() -> None:
    told = lines_of(ROOT / "configs" / "labour.toml")
    assert told[0].startswith("The rows preserve the association of 38 of 190 pairs of columns")
    assert "In 5 of the other pairs, the columns were measured together, but with noise larger" in told[1]
    assert "association: age × occupation; " in told[1]
    assert told[2] == "The rows preserve the association of these pairs:"
    listed = [{column, other} for column, _, others in map(_parts, told[3:-1]) for other in others]
    assert len(listed) == 38
    assert all(listed.count(pair) == 1 for pair in listed)  # nothing is said twice
    assert {tuple(sorted(pair - {"wage"}))[0] for pair in listed if "wage" in pair} == {
        *("sex", "education", "occupation", "hours", "contract")
    }
    assert not any("quarter" in pair for pair in listed)
    joint = "combinations of three columns: sex × age × labour_status; age × labour_status × job_search"
    assert told[-1].startswith(f"The rows preserve the joint association of 2 of 1,140 {joint}")


def _parts(line: str) -> tuple[str, str, list[str]]:
    column, sign, others = line.strip().partition(" × ")
    return column, sign, others.split(", ")


def test_of_a_register_of_areas_the_region_has_what_its_municipalities_have() -> None:
    told = lines_of(ROOT / "configs" / "country.toml")
    assert told[0].startswith("The rows preserve the association of 19 of 21 pairs of columns")
    assert "The rows preserve the association of all pairs except these:" in told
    assert "municipality × education" in " ".join(told) or "education × region, municipality" in " ".join(told)


def test_many_columns_take_few_lines_and_programs_get_every_pair(
    printed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(associating, "MOST_LINES", 2)
    told = lines_of(ROOT / "configs" / "labour.toml")
    assert sum(line.startswith("  ") for line in told) == 3
    assert any(
        re.fullmatch(r"  and the pairs of \d+ more columns. `synthrelease plan --json` lists every pair\.", line)
        for line in told
    )
    alone = {old: new.replace("face:year", "face + year") for old, new in MEASURED.items()}
    found = json.loads(printed("plan", write_config(tmp_path, alone), "--json"))["associations"]
    not_measured = dict.fromkeys(("noise", "mean_cell", "repeats", "strength", "noise_strength")) | {"apart": []}
    assert found == [
        {"columns": ["face", "year"], "carried": "in part", "how": "plausibility rules", "through": [], **not_measured}
    ]


def test_a_table_with_noise_larger_than_the_association_is_said_before_the_release(tmp_path: Path) -> None:
    """Of 8 cells, at a variance of 2 * 100^2: a V of 0.1 is made by sqrt(3 * 8 * 20,000) / 0.1 rows where bins are alike."""
    weak = MEASURED | {"generation = 10": "generation = 0.02"}
    spec = load_spec(write_config(tmp_path, weak))
    few, more = (list(carried_lines(spec, rows)) for rows in (13_856, 13_857))  # the prior of the fit takes a fifth below that
    assert few[0].startswith("The rows preserve the association of no pair of columns.")
    assert few[1].endswith("but with noise larger than the association: face × year.")
    assert more[0].startswith("The rows preserve the association of every pair of columns")
    leave(spec, "draft", 13_857, Strengths(pairs={"face:year": 0.01}))  # a public file in which the two are hardly associated
    assert list(carried_lines(spec, 13_857))[0] == few[0].replace("13,856", "13,857")
    leave(spec, "draft", 13_857, Strengths(pairs={"face:year": 0.2}))
    assert list(carried_lines(spec))[0] == more[0]
    leave(spec, "draft", 5_000, Strengths(pairs={"face:year": 0.2}))
    assert sum("face × year" in line for line in carried_lines(spec, 5_000)) == 1  # the noise is the reason: no second list


def test_a_pair_is_lost_where_the_trial_lost_it(tmp_path: Path) -> None:
    """A trial that lost no pair stood above a list of associated pairs that were "preserved only in part or not at all"."""
    alone = {old: new.replace("face:year", "face + year") for old, new in MEASURED.items()}
    spec = load_spec(write_config(tmp_path, alone))
    leave(spec, "draft", 400, Strengths(pairs={"face:year": 0.2}))
    without = "Pairs with a Cramer's V of 0.1 or more that no measured table preserves"
    assert [line for line in carried_lines(spec) if "×" in line] == [f"{without}: face × year."]
    tried = replace(spec, not_promised=NotPromisedTable(kept="In trials, fits preserved 90%."))
    assert [line for line in carried_lines(tried) if "×" in line] == [
        f"{without}, and that were not lost in the trial: face × year."
    ]
    tried = replace(tried, not_promised=NotPromisedTable(kept="In trials, 90%.", pairs=("year:face",), why="Noise"))
    assert [line for line in carried_lines(tried) if "×" in line] == ["Pairs that were lost in the trial: year × face."]
    leave(spec, "draft", 400, Strengths(pairs={"face:year": 0.05}))
    assert not any("below 0.1" in line for line in carried_lines(tried))  # nothing is said twice
    measured = load_spec(write_config(tmp_path, MEASURED))
    leave(measured, "draft", 400)
    tried = replace(measured, not_promised=tried.not_promised)
    assert [line for line in carried_lines(tried) if "×" in line] == [
        "Pairs that were lost in the trial, although a table measures them: year × face."
    ]
    assert next(iter(carried_lines(tried))).startswith("The rows preserve the association of no pair")


def test_programs_and_people_are_told_of_as_many_rows(tmp_path: Path, printed: Run) -> None:
    """Of as many as the public table had, where nobody says how many the private file has."""
    config = write_config(tmp_path, MEASURED | {"generation = 10": "generation = 0.02", "rows = 400\n": ""})
    for rows, carried in ((13_000, "mostly noise"), (14_000, "yes")):
        leave(load_spec(config), "draft", rows)
        (pair,) = json.loads(printed("plan", config, "--json"))["associations"]
        assert pair["carried"] == carried
        every = list(carried_lines(load_spec(config)))[0].startswith("The rows preserve the association of every pair")
        assert every == (carried == "yes")


def test_what_a_trial_kept_is_said_while_the_settings_stand_that_it_rests_on(tmp_path: Path) -> None:
    config = write_config(tmp_path, MEASURED)
    acceptance = tmp_path / "acceptance.toml"
    acceptance.write_text(f'{acceptance.read_text()}\n[not_promised]\nkept = "In a trial it kept 90%."\n')
    assert "In a trial it kept 90%." in lines_of(config)[0]  # the publisher's own words
    leave(load_spec(config), "draft")
    assert "In a trial it kept 90%." in lines_of(config)[0]
    assert "In a trial it kept 90%." in sheet_of(config)
    config.write_text(config.read_text().replace("generation = 10", "generation = 9"))
    leave(load_spec(config), "rehearsal")  # which says nothing of what is kept
    assert "90%" not in lines_of(config)[0]
    assert "because the files changed later" in lines_of(config)[0]
    assert "90%" not in sheet_of(config)
    assert "The rows preserve the association of " in sheet_of(config)


def sheet_of(config: Path) -> str:
    return preview(load_spec(config))["SIGN.md"].decode()
