"""`synthrelease rehearse` and `simulate` as a steward runs them, also when they are killed or stopped on the way."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.test_cli import run, words
from tests.conftest import ROOT
from tests.helpers.tiny import NOT_PROMISED, write_config, write_data

pytestmark = pytest.mark.slow

SPACE = {
    "degree = 1": "degree = [1, 2]",
    "epsilon_split = 0.5": "epsilon_split = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]",
    "generation = 10": "generation = 1",
    **NOT_PROMISED,
}
SEED = ("--seed", "3")


def rehearsal(folder: Path) -> list[str]:
    """That of the tiny release, without the output folder; sixteen configurations, so that it can be stopped early."""
    return ["rehearse", str(write_config(folder, SPACE)), "--data", str(write_data(folder)), "--keep", "3", *SEED]


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    return rehearsal(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path, subprocess.CompletedProcess[str]]:
    """The command, its folder, and what it said: a rehearsal that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    command = rehearsal(folder)
    return command, folder / "found", run(*command, "--out", folder / "found")


def started(arguments: Sequence[str]) -> subprocess.Popen[str]:
    # a shell that starts the tests in the background makes their children ignore Ctrl-C
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heed}; from synthrelease.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def attempts_in(out: Path) -> set[tuple[str, int, int]]:
    """Keys of the attempts that are kept by now."""
    try:
        with closing(sqlite3.connect(f"file:{out / 'attempts.sqlite'}?mode=ro", uri=True)) as database:
            return set(database.execute("SELECT generation, configuration, number FROM attempts"))
    except sqlite3.Error:
        return set()


def wait_for_attempts(process: subprocess.Popen[str], out: Path, number: int) -> None:
    while process.poll() is None and len(attempts_in(out)) < number:
        threading.Event().wait(0.02)  # a loop without it takes a core from the process


def report(out: Path) -> dict:
    return json.loads((out / "rehearsal.json").read_text())


def test_a_rehearsal_writes_a_report_and_a_shortlist_that_a_release_can_draw_from(whole, tmp_path: Path) -> None:
    command, found, result = whole
    assert result.returncode == 0
    assert result.stderr.startswith("reading the public file ...\npilot: 0 of ")  # a line now and then, without a terminal
    assert {path.name for path in found.iterdir()} == {"attempts.sqlite", "rehearsal.json", "report.html", "shortlist.toml"}
    private = tmp_path / "private.csv"  # not the file of the rehearsal, which a release refuses
    private.write_text(Path(command[3]).read_text() + "head,1\n")
    released = run("release", command[1], "--data", private, "--out", tmp_path / "out", "--shortlist", found / "shortlist.toml")
    assert released.returncode == 0
    assert report(found)["complete"]
    assert sum(entry["shortlisted"] for entry in report(found)["configurations"]) == 3


def test_after_kill_9_the_same_command_goes_on_and_ends_with_the_same_report(command: list[str], whole, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    process = started([*command, "--out", str(killed)])
    wait_for_attempts(process, killed, 10)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = attempts_in(killed)
    assert process.returncode == -signal.SIGKILL
    assert not (killed / "report.html").exists()

    assert run(*command, "--out", killed).returncode == 0
    assert len(before) >= 10
    assert before < attempts_in(killed) == attempts_in(whole[1])
    assert report(killed) == report(whole[1])


def test_ctrl_c_leaves_a_report_of_what_is_known_by_then(command: list[str], tmp_path: Path) -> None:
    process = started([*command, "--out", str(tmp_path / "stopped")])
    wait_for_attempts(process, tmp_path / "stopped", 10)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "The rehearsal is not complete" in out
    found = report(tmp_path / "stopped")
    assert not found["complete"]
    assert found["attempts"] >= 10
    assert "The rehearsal has not finished" in (tmp_path / "stopped" / "report.html").read_text()


def test_the_results_of_another_specification_are_not_mixed_in(command: list[str], tmp_path: Path) -> None:
    out = tmp_path / "found"
    assert run(*command, "--minutes", "0.02", "--out", out).returncode in (0, 1)
    kept = attempts_in(out)
    write_config(tmp_path, SPACE | {"threshold = 0.9": "threshold = 0.8"})
    result = run(*command, "--out", out)
    assert result.returncode == 2
    assert "contains the results of another rehearsal (different specification)" in words(result.stderr)
    assert attempts_in(out) == kept


def test_a_folder_of_something_else_is_not_written_into(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    result = run(*command, "--out", tmp_path / "mine")
    assert result.returncode == 2
    assert "contains files of something else, such as 'thesis.txt'" in words(result.stderr)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_misspelt_quasi_identifier_is_refused(command: list[str], tmp_path: Path) -> None:
    result = run(*command, "--quasi-identifiers", "face,yaer", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert "'yaer' is not one of 'face', 'year'. Did you mean 'year'?" in words(result.stderr)


def test_a_surrogate_is_simulated_from_facts(tmp_path: Path) -> None:
    facts, out = "public_data/births_simple_facts.toml", tmp_path / "births.csv"
    result = run("simulate", facts, "-n", 500, "--out", out)
    assert result.returncode == 0
    assert len(out.read_text().splitlines()) == 501
    assert run("check", "configs/births.toml", "--data", out).returncode == 0
    assert run("simulate", facts, "-n", 500, "--out", out).returncode == 2  # never overwritten
