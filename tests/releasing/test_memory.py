"""A run that cannot fit is refused before anything is spent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from synthrelease.candidates.generators import GENERATORS, LIBRARIES
from synthrelease.candidates.generators.dpgan import DPGAN
from synthrelease.cli import app
from synthrelease.errors import ResourceError
from synthrelease.releasing import memory
from synthrelease.releasing.memory import check_memory, peak_megabytes
from synthrelease.specification.spec import load_spec
from tests.helpers.tiny import write_config, write_data


def test_a_run_that_does_not_fit_is_refused_with_both_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load_spec(write_config(tmp_path))
    needed = peak_megabytes(spec)
    monkeypatch.setattr(memory, "machine_megabytes", lambda: needed - 1)
    with pytest.raises(ResourceError, match=f"{needed - 1} MB; found one that needs about {needed} MB. Nothing"):
        check_memory(spec)
    with pytest.raises(ResourceError, match=r"Run fewer processes \(--jobs\)"):
        check_memory(spec, jobs=4)
    monkeypatch.setattr(memory, "machine_megabytes", lambda: needed)
    check_memory(spec)
    monkeypatch.setattr(memory, "machine_megabytes", lambda: None)
    check_memory(spec, jobs=1000)


@pytest.mark.parametrize("command", ["plan", "release"])
def test_the_commands_refuse_before_the_ledger_is_touched(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    monkeypatch.setattr(memory, "machine_megabytes", lambda: 10)
    more = [] if command == "plan" else ["--data", str(data), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [command, str(config), *more])
    assert isinstance(result.exception, ResourceError)
    assert result.exception.exit_code == 2
    assert not list(tmp_path.glob("*.ledger"))


def test_libraries_are_part_of_the_estimate(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    generator = type("Heavy", (type(spec.space.generators[0]),), {"library_megabytes": 700})(**dict(spec.space.generators[0]))
    heavy = replace(spec, space=replace(spec.space, generators=(generator,)))
    assert peak_megabytes(heavy) - peak_megabytes(spec) == 700


def test_what_a_fit_holds_at_once_is_part_of_the_estimate(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    small, large = (replace(spec, space=replace(spec.space, generators=(DPGAN(batch=batch),))) for batch in (1000, 100_000))
    # 99,000 rows of 10 bins: four arrays of them, six of the 128 hidden units, the noise, three of the critic's 32
    rows = 99_000 * (4 * 10 + 6 * 128 + 32 + 3 * 32) * 8 / 2**20
    assert peak_megabytes(large) - peak_megabytes(small) == pytest.approx(rows, abs=40)


def test_families_with_libraries_need_more() -> None:
    assert {name for name, family in GENERATORS.items() if family.library_megabytes} == set(LIBRARIES)
