"""Square brackets in help texts and messages are printed: rich, which prints them, takes none for a command of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from synthrelease.cli import app, main
from tests.conftest import ROOT
from tests.helpers.tiny import write_config

HOSTILE = "[bundle] [red]loud[/red] [/] [sign] :warning:"


def without_spaces(text: str) -> str:
    """What is printed, whatever its lines are."""
    return "".join(text.split())


def commands(of: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, and those below it."""
    yield names, of
    for name, below in getattr(of, "commands", {}).items():
        yield from commands(below, *names, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "command"), [pytest.param(*each, id=" ".join(each[0])) for each in commands(typer.main.get_command(app))]
)
def test_help_shows_every_word_of_a_command(names: tuple[str, ...], command: Any) -> None:
    printed = without_spaces(CliRunner().invoke(app, [*names, "--help"], terminal_width=100).output)
    texts = [command.help or "", *(getattr(each, "help", None) or "" for each in command.params)]
    assert texts != [""]
    for text in texts:
        for paragraph in text.split("\n\n"):
            assert without_spaces(paragraph) in printed


def test_some_help_has_brackets() -> None:
    """Otherwise the test above could not fail."""
    texts = [
        text
        for _, each in commands(typer.main.get_command(app))
        for text in (each.help, *(getattr(p, "help", "") for p in each.params))
    ]
    assert sum("[" in (text or "") for text in texts) > 3


def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    monkeypatch.setattr(sys, "argv", ["synthrelease", *map(str, arguments)])
    monkeypatch.setattr("synthrelease.cli.be_quiet", lambda: None)  # it is for good, and other tests share this process
    with pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr()
    return without_spaces(printed.out + printed.err)


@pytest.mark.slow
def test_plans_and_mistakes_show_brackets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = without_spaces(HOSTILE)
    config = write_config(tmp_path, {'title = "Coins"': f"title = '{HOSTILE}'", 'name = "face privacy"': f"name = '{HOSTILE}'"})
    assert hostile in said(capsys, monkeypatch, "plan", config)
    assert hostile in said(capsys, monkeypatch, "plan", write_config(tmp_path, {"bounds = [1, 8]": f"bounds = '{HOSTILE}'"}))
    assert "[bundle][red]loud[/red]" in said(capsys, monkeypatch, "plan", tmp_path / "[bundle] [red]loud[/red]")


def test_texts_meet_rich_in_one_place() -> None:
    for path in sorted((ROOT / "synthrelease").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert "rich.markup" not in text, path.name
        assert ("Console(" in text) == (path.name == "terminal.py"), path.name
