"""Make strings safe to display: escape invisible characters, recognise spreadsheet formulas, and quote arguments for a shell.

Characters that reverse the order of letters, have no width, or control a terminal can make two names look alike. Terminals, web
pages and spreadsheets show their codes; data files contain the original string. The joiners U+200C and U+200D stay, because
Persian, Hindi and other languages need them.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
import shutil
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Replace the invisible characters of a string by their codes. Line feeds and tabs are kept.

    Examples
    --------
    >>> visible("na\u202eme")
    'na\\u202eme'
    """
    return _HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def with_codes(text: str) -> str:
    r"""Replace invisible characters, and accents stored as separate characters, by their TOML escape codes.

    Examples
    --------
    >>> with_codes("Par\u200bis"), with_codes("Orle\u0301ans")
    ('Par\\u200bis', 'Orle\\u0301ans')
    """
    apart = unicodedata.normalize("NFC", text) != text
    hidden = (bool(_HIDDEN.match(letter)) or (apart and unicodedata.combining(letter) > 0) for letter in text)
    codes = (f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}" for letter in text)
    return "".join(code if is_hidden else letter for letter, is_hidden, code in zip(text, hidden, codes, strict=True))


def bare(text: str) -> str:
    """Return a normal form that is equal for strings that look alike: no invisible characters, outer spaces or separate
    accents."""
    return unicodedata.normalize("NFC", _HIDDEN.sub("", text)).strip()


def alike(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of distinct strings that look alike (`bare`)."""
    groups = defaultdict[str, list[str]](list)
    for text in texts:
        groups[bare(text)].append(text)
    return [tuple(group) for group in groups.values() if len(group) > 1]


# A spreadsheet may execute some texts when it opens a CSV file.
#
# A spreadsheet reads a cell that starts with one of = + - @ (or its full-width form) as a formula, also after spaces and
# invisible characters. Which text starts a cell depends on the delimiter in the reader's country, so the text after every
# comma, semicolon, tab, bar, quote and line break is checked (OWASP, "CSV Injection").
#
# Every spreadsheet reads a negative number such as -1 or -2.5 as a number, so it is allowed. A single "-" and "+1" are also
# harmless at first. But "-" begins a formula when somebody continues to type, and "+1" loses its sign when the file is saved
# again. So labels of this form are refused. The private file may still contain such a text (`categories = { none = ["-"] }`).

_SEPARATORS = re.compile("[,;|\"'\t\r\n\v\f\x85\u2028\u2029]")
_INVISIBLE = " \u00a0\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u3000\ufeff"
_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NEGATIVE = re.compile(r"-[0-9]+(\.[0-9]+)?")


def is_executable(text: str) -> bool:
    """Return whether a spreadsheet might execute the text, or a part that becomes a cell, as a formula."""
    cells = [cell.strip(_INVISIBLE) for cell in _SEPARATORS.split(text)]
    if text[:1] in ("\t", "\r"):
        return True  # some spreadsheets start a formula after these characters
    if _NEGATIVE.fullmatch(cells[-1]):
        cells.pop()  # only a number at the very end: with another delimiter "-1, x" is one cell
    return any(cell.startswith(_STARTS) for cell in cells)


# Commands are shown as a user would type them: the name by which the program was started, and words in quotes if the shell
# needs quotes.

_PLAIN = re.compile(r"[A-Za-z0-9_./\\:=+-]+")
# PowerShell ends a quoted text at each of these characters, and reads two in a row as one character.
_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")


def quoted(word: str | Path, *, powershell: bool = os.name == "nt") -> str:
    """Quote an argument of a command for the shell: PowerShell on Windows, POSIX elsewhere."""
    text = str(word)
    if powershell:
        return text if _PLAIN.fullmatch(text) else "'" + _QUOTES.sub(r"\1\1", text) + "'"
    return shlex.quote(text)


def quoted_path(path: str | Path, *, powershell: bool = os.name == "nt") -> str:
    """Quote a path for the shell, so that no command mistakes it for an option."""
    text = str(path)
    return quoted(f".{os.sep}{text}" if text.startswith("-") else text, powershell=powershell)


def program(*, powershell: bool = os.name == "nt") -> str:
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
    installed = shutil.which("synthrelease")
    return installed is not None and Path(installed).with_suffix("").absolute() == started.with_suffix("").absolute()


_ENTRY = re.compile(r"(\w+(?:, \w+)*) : (.+)")


def entries(docstring: str, section: str) -> dict[str, str]:
    r"""Return the entries of a section of a docstring, such as "Attributes": one-line descriptions by name.

    Examples
    --------
    >>> entries("Spend.\n\nAttributes\n----------\nlow, high : ends\n    of a range.", "Attributes")
    {'low': 'ends of a range.', 'high': 'ends of a range.'}
    """
    entries_found, names, lines = dict[str, str](), list[str](), inspect.cleandoc(docstring).splitlines()
    start = next((at for at, line in enumerate(lines) if line == section and _underlined(lines, at)), len(lines))
    for at in range(start + 2, len(lines)):
        if _underlined(lines, at):
            break
        if entry := _ENTRY.fullmatch(lines[at]):
            names = entry[1].split(", ")
            entries_found |= dict.fromkeys(names, entry[2])
        elif lines[at].startswith(" "):
            entries_found |= {name: f"{entries_found[name]} {lines[at].strip()}" for name in names}
    return entries_found


def _underlined(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and re.fullmatch("-{3,}", lines[at + 1]) is not None
