"""The command line in this process, as a shell runs it: the arguments, the exit code and all that was printed."""

from __future__ import annotations

import gc
import io
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import typer

import synthrelease.cli


@cache
def _commands() -> Any:
    """All commands, put together once: that takes as long as a small command."""
    return typer.main.get_command(synthrelease.cli.app)


def called(folder: Path, *words: object) -> CompletedProcess[str]:
    """A command in a folder, as if in a process of its own. What protects a process for good is left out."""
    printed, errors, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, chdir(folder), redirect_stdout(printed), redirect_stderr(errors):
        code = _code(patch, [str(word) for word in words])
    return CompletedProcess(words, code, printed.getvalue(), errors.getvalue())


def _code(patch: pytest.MonkeyPatch, words: list[str]) -> int:
    """The exit code."""
    thresholds, code = gc.get_threshold(), 0
    patch.setattr(synthrelease.cli, "be_quiet", lambda: None)
    patch.setattr(synthrelease.cli, "app", _commands())
    patch.setattr(sys, "argv", ["synthrelease", *words])
    try:
        synthrelease.cli.main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        gc.set_threshold(*thresholds)
    assert isinstance(code, int)
    return code


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, output, errors) of a command. What protects a process for good is left out."""
    capsys.readouterr()
    code = _code(monkeypatch, list(words))
    return code, *capsys.readouterr()


def said_by(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """(exit code, what was printed, with single spaces) of a command."""
    code, *printed = run(monkeypatch, capsys, *words)
    return code, " ".join("".join(printed).split())
