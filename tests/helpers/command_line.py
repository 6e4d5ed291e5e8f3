"""The command line in this process, as a shell runs it: the arguments, the exit code and all that was printed."""

from __future__ import annotations

import gc

import pytest

import synthrelease.cli


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, output, errors) of a command. What protects a process for good is left out."""
    thresholds = gc.get_threshold()
    monkeypatch.setattr(synthrelease.cli, "be_quiet", lambda: None)
    monkeypatch.setattr("sys.argv", ["synthrelease", *words])
    capsys.readouterr()
    code: object = 0
    try:
        synthrelease.cli.main()
    except SystemExit as ended:
        code = ended.code
    finally:
        gc.set_threshold(*thresholds)
    assert isinstance(code, int)
    return code, *capsys.readouterr()


def said_by(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """(exit code, what was printed, with single spaces) of a command."""
    code, *printed = run(monkeypatch, capsys, *words)
    return code, " ".join("".join(printed).split())
