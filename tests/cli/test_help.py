"""Help lines stand alone: a verb, what the option does, the default; every screen of help fits a terminal of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from synthrelease.cli import app
from synthrelease.cli.commands import HEADINGS

CLI: Any = typer.main.get_command(app)

VERBS = frozenset(
    """
    Accept Add Adopt Answer Ask Assume Audit Begin Charge Check Choose Commit Compare Compute Connect Count Divide
    Draft Draw Edit Enumerate Estimate Find Include Join Keep
    Leave Limit List Make Measure Name Open Overwrite Preview Print Propose Publish Put Read Recommend Refuse Release Reserve
    Remove Run Say Select Set Show Sign Split Start State Swap Take Test Try Use Weight Widen Write
    """.split()  # noqa: SIM905
)


def commands(group: Any = CLI, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands())


def options() -> list[tuple[str, Any]]:
    """Every option of every command, with the words that name it."""
    return [
        (f"{' '.join(path)} {each.opts[0]}", each)
        for path, command in COMMANDS.items()
        for each in command.params
        if each.param_type_name == "option"
    ]


def test_every_command_begins_with_what_it_does() -> None:
    firsts = {" ".join(path): command.help.split()[0] for path, command in COMMANDS.items()}
    assert {name: first for name, first in firsts.items() if first not in VERBS} == {}


def test_every_option_begins_with_a_verb_and_ends_as_a_sentence() -> None:
    found = options()
    assert len(found) > 100
    assert [name for name, each in found if not each.help or each.help.split()[0] not in VERBS] == []
    assert [name for name, each in found if not each.help.rstrip("])").endswith(".") and "[default:" not in each.help] == []


def test_an_option_that_may_be_left_out_says_what_happens_then() -> None:
    """Typer shows a default that is a number or a word; of no value at all only the help can say what it means."""
    silent = [
        name
        for name, each in options()
        if not each.required and each.default in (None, "") and "default" not in each.help and "Overrides" not in each.help
    ]
    assert silent == []


@pytest.mark.slow
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"], terminal_width=80).output
    assert len(shown.split()) > 20
    assert [line for line in shown.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("path", [[], ["ledger"]])
def test_the_list_of_commands_cuts_no_sentence(path: list[str]) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"], terminal_width=80).output
    assert [line for line in shown.splitlines()[1:] if line.rstrip().endswith("...")] == []


def test_every_command_stands_below_a_heading_of_the_list() -> None:
    shown = CliRunner().invoke(app, ["--help"], terminal_width=80).output
    listed = re.findall(r"^  ([a-z][a-z-]*) +(?=[A-Z])", shown, re.MULTILINE)
    assert [name for name in listed if name in HEADINGS] == list(HEADINGS)
    assert [line[:-1] for line in shown.splitlines() if line[:-1] in HEADINGS.values()] == list(HEADINGS.values())
    assert sorted(listed) == sorted({path[0] for path in COMMANDS})
