"""Every command and every Python block of docs/tutorial.md is run from its text, so that the tutorial stays true."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.md"
_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of the tutorial: its language, title and text."""

    language: str
    title: str
    text: str


BLOCKS = [Block(*match) for match in _BLOCK.findall(TUTORIAL.read_text(encoding="utf-8"))]


def run(arguments: list[str], folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert found.returncode == 0, (arguments, found.stdout, found.stderr)
    return found.stdout


def follow(block: Block, folder: Path) -> None:
    """Do what a reader does with a block."""
    if block.language == "console":
        for line in block.text.splitlines():
            assert line.startswith("$ synthrelease ")
            run(["-m", *shlex.split(line.removeprefix("$ "))], folder)
    elif block.language == "python":
        run(["-c", block.text], folder)
    elif block.title.startswith("add to rules of "):
        path, lines = folder / block.title.removeprefix("add to rules of "), "\n".join(block.text.splitlines()[:-1])
        text, added = re.subn(r"^rules = \[(\]?)", rf"{lines}\n\1", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert added == 1
        path.write_text(text, encoding="utf-8")
    else:
        (folder / block.title).write_text(block.text, encoding="utf-8")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tutorial")
    for block in BLOCKS:
        follow(block, folder)
    return folder


@pytest.mark.slow
def test_the_tutorial_can_be_followed_from_its_text(followed: Path) -> None:
    assert (followed / "release" / "data.csv").is_file()
    assert (followed / "release" / "release.json").is_file()
    assert (followed / "trial" / "report.html").is_file()


def test_the_tutorial_shows_the_commands_of_a_release_and_nothing_is_skipped() -> None:
    commands = [line.split()[2] for block in BLOCKS if block.language == "console" for line in block.text.splitlines()]
    assert {"simulate", "init", "plan", "rehearse", "ledger", "check", "release", "verify", "bound"} == set(commands)
    assert {block.language for block in BLOCKS} == {"toml", "console", "python"}
    assert TUTORIAL.read_text(encoding="utf-8").count("```") == 2 * len(BLOCKS)


@pytest.mark.slow
def test_the_rule_that_the_reader_adds_is_in_the_release(followed: Path) -> None:
    import synthrelease

    table = synthrelease.load(followed / "release").table()
    assert not ((table["ward"] == "maternity") & (table["sex"] == "M")).any()
    assert synthrelease.bound(followed / "release", "ward == 'maternity' and sex == 'M'").high == 0
