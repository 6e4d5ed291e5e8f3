"""The progress of a command whose output goes into a file and not to a terminal."""

import time

import pytest

from synthrelease.cli import terminal
from synthrelease.cli.terminal import progress_bars, progress_line


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reminder after hundredths of a second, where a user waits for 30 seconds."""
    monkeypatch.setattr(terminal, "SECONDS_BETWEEN_REMINDERS", 0.02)
    monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LOOKS", 0.01)


def test_each_phase_of_a_release_has_one_line_without_a_time(impatient: None, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line() as phase:
        phase("searching for a table")
        time.sleep(0.1)  # more lines, or a time, would show how long the search takes
        phase("writing the release")
    assert capsys.readouterr().err == "searching for a table ...\nwriting the release ...\n"


def test_work_on_public_data_is_told_again(impatient: None, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line(public=True) as phase:
        phase("checking the figures")
        time.sleep(0.1)
    first, *reminders = capsys.readouterr().err.splitlines()
    assert first == "checking the figures ..."
    assert reminders
    assert set(reminders) == {"checking the figures: 0 s so far"}
    time.sleep(0.1)
    assert not capsys.readouterr().err  # not after the end


def test_a_phase_with_a_number_is_not_told_again_before_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bars() as progress:
        progress("fitting", 0, 10)
        progress("fitting", 1, 10)
    assert capsys.readouterr().err == "fitting: 0 of 10 done\n"
