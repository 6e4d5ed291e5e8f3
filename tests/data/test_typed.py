"""Printed commands: what a shell makes of them is what was meant."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from synthrelease.data import texts as typed
from synthrelease.data.texts import program, quoted, quoted_path

HOSTILE = [
    "a b.toml",
    "it's.toml",
    'say "so".toml',
    "$HOME.toml",
    "`id`.toml",
    "$(id).toml",
    "a;b&c|d.toml",
    "*?.toml",
    "~.toml",
    "#.toml",
    "a\\b.toml",
    "a\nb.toml",
    "לידות.toml",
    "d\u2019or.toml",
    "@x.toml",
    "{1,2}.toml",
    "%PATH%.toml",
    "",
]
QUOTES = "'\u2018\u2019\u201a\u201b"


def words_of_powershell(line: str) -> list[str]:
    """The words of a line by the rules of PowerShell for texts between single quotes: slowly, sign by sign."""
    words, word, inside, place = list[str](), None, False, 0
    while place < len(line):
        sign = line[place]
        if inside and sign in QUOTES and line[place + 1 : place + 2] and line[place + 1] in QUOTES:
            word, place = (word or "") + sign, place + 1
        elif sign in QUOTES:
            inside, word = not inside, word or ""
        elif inside:
            word = (word or "") + sign
        elif sign == " ":
            words, word = words if word is None else [*words, word], None
        elif sign.isascii() and (sign.isalnum() or sign in "_./\\:=+-"):
            word = (word or "") + sign
        else:
            raise ValueError(f"{sign!r} outside of quotes means something else")
        place += 1
    if inside:
        raise ValueError("the text does not end")
    return words if word is None else [*words, word]


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell")
def test_a_posix_shell_hands_every_word_on(tmp_path: Path) -> None:
    line = " ".join(quoted(each, powershell=False) for each in HOSTILE)
    script = "said() { printf '%s\\0' \"$@\"; }; said " + line
    found = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, check=True).stdout.decode()
    assert found.split("\0")[:-1] == HOSTILE


def test_powershell_hands_every_word_on() -> None:
    draw = random.Random(20261127)
    made = ["".join(draw.choices('a b$`"(){};&|#@,%-' + QUOTES, k=draw.randrange(9))) for _ in range(2_000)]
    for words in (HOSTILE, made):
        assert words_of_powershell(" ".join(quoted(each, powershell=True) for each in words)) == words


def test_a_plain_path_stays_as_it_is_and_none_is_taken_for_an_option() -> None:
    for powershell in (False, True):
        assert quoted_path("configs/births.toml", powershell=powershell) == "configs/births.toml"
        assert not quoted_path("-births.toml", powershell=powershell).startswith("-")


@pytest.mark.parametrize(
    ("started", "powershell", "expected"),
    [
        ("/made/synthrelease/__main__.py", False, "'/a b/python' -m synthrelease"),
        ("/made/synthrelease/__main__.py", True, "& '/a b/python' -m synthrelease"),
        (".venv/bin/synthrelease", False, ".venv/bin/synthrelease"),
        ("a b/synthrelease", True, "& 'a b/synthrelease'"),
        ("/path/synthrelease", False, "synthrelease"),
        ("/path/synthrelease.exe", True, "synthrelease"),
        ("/usr/bin/pytest", False, "synthrelease"),
    ],
)
def test_the_program_is_named_as_it_was_started(
    started: str, powershell: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    monkeypatch.setattr(sys, "executable", "/a b/python")
    monkeypatch.setattr(typed.shutil, "which", lambda name: "/path/synthrelease")
    assert program(powershell=powershell) == expected
