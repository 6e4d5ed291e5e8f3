"""A command as it is typed: the program as it was started, and whatever a shell would take apart between quotes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9_./\\:=+-]+")
_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")
"""PowerShell takes each of these for the end of a text, and two of them for one."""


def quoted(word: str | Path, *, powershell: bool = os.name == "nt") -> str:
    """A word that the shell hands on as it is: PowerShell on Windows, a POSIX shell elsewhere."""
    text = str(word)
    if powershell:
        return text if _PLAIN.fullmatch(text) else "'" + _QUOTES.sub(r"\1\1", text) + "'"
    return shlex.quote(text)


def quoted_path(path: str | Path, *, powershell: bool = os.name == "nt") -> str:
    """A path that the shell hands on as it is, and that no command takes for an option."""
    text = str(path)
    return quoted(f".{os.sep}{text}" if text.startswith("-") else text, powershell=powershell)


def program(*, powershell: bool = os.name == "nt") -> str:
    """What starts this program once more, from the same folder."""
    started = Path(sys.argv[0])
    if started.parts[-2:] == ("synthrelease", "__main__.py"):
        words = [sys.executable, "-m", "synthrelease"]
    elif started.stem != "synthrelease" or _on_path(started):
        return "synthrelease"
    else:
        words = [str(started)]
    typed = " ".join(quoted(word, powershell=powershell) for word in words)
    return f"& {typed}" if powershell and typed.startswith("'") else typed


def _on_path(started: Path) -> bool:
    found = shutil.which("synthrelease")
    return found is not None and Path(found).with_suffix("").absolute() == started.with_suffix("").absolute()
