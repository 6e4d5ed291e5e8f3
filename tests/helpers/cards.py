"""A small release with every kind of criterion and a full data card, for tests of what leaves the enclave."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from synthrelease.bundle.write import write_bundle
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config, write_data

TITLE = "<b>Coins</b> & \"more\" 'of' them | *all*"

CARD = """
[card]
title = '''<b>Coins</b> & "more" 'of' them | *all*'''
summary = "Tosses of coins."
organisation = "Mint <i>& Sons</i>"
contact = "mint@example.org"
licence = "CC-BY-4.0"
version = "2.1"
published = 2026-03-04
region = "Atlantis"
url = "https://example.org/coins"
source = '''
A coin was tossed
and looked at.

By two people.'''
purpose = "To teach."
funding = "None."
uses = ["Lessons."]
unsuitable = ["Bets."]
ethics = "Nobody was asked."
maintenance = "None."
feedback = "Write to us."
justification = "By hand."
tuning = "None at all."
access = "A locked drawer."
registry_authors = ["A. Minter"]
columns = { face = "Face of the coin", year = "Year <of> minting" }

[card.he]
title = "מטבעות"
summary = "הטלות מטבע."
organisation = "המטבעה"
source = "מטבע הוטל."
purpose = "להוראה."
funding = "אין."
uses = ["שיעורים."]
unsuitable = ["הימורים."]
ethics = "איש לא נשאל."
maintenance = "אין."
feedback = "כתבו לנו."
columns = { face = "צד המטבע", year = "שנת הטביעה" }
"""

CRITERIA = """
[groups]
year = ["<=4", ">4"]

[[criteria]]
name = "marginals"
kind = "absolute_marginal_error"
threshold = 0.9
epsilon = 0.5

[[criteria]]
name = "ratio <of> counts"
kind = "relative_marginal_error"
threshold = 1.9
clip = 2
epsilon = 5

[[criteria]]
name = "mean year"
kind = "conditional_mean"
column = "year"
by = ["face"]
range = [1, 8]
size_margin = 0.05
threshold = 3
epsilon = 2

[[criteria]]
name = "mean face"
kind = "conditional_mean"
column = "face"
by = ["year"]
range = [0, 1]
size_margin = 0.05
threshold = 0.5
epsilon = 2

[[criteria]]
name = "slope"
kind = "regression_coefficients"
target = "year"
features = ["face"]
representation = { face = "categories", year = "pairs" }
threshold = 5
epsilon = 3

[[criteria]]
name = "prediction"
kind = "regression_prediction"
coefficients = "slope"
range = [1, 8]
threshold = 2
epsilon = 2

[[criteria]]
name = "pairs"
kind = "faithfulness"
exact = ["face"]
within_one_bin = ["year"]
threshold = 0.5
epsilon = "1/3"
"""

CHANGES = {
    'categories = ["head", "tail"]': 'categories = ["head", "tail"]\nnumbers = { head = 0, tail = 1 }',
    "never = \"face == 'tail' and year > 6\"": 'never = "face == \'tail\' and year > 6"\nwhy = "no such coins"',
    "limit = 25": "limit = 99",
    "stop_probability = 0.001\n": f"stop_probability = 0\n{CARD}",
    '\n[[criteria]]\nname = "marginals"\nkind = "absolute_marginal_error"\nthreshold = 0.9\nepsilon = 0.5\n': CRITERIA,
}
"""From the two files of tests/helpers/tiny.py to those of this release."""


def write_rich_config(folder: Path, changes: Mapping[str, str] | None = None) -> Path:
    """Write both files; `changes` replaces lines of either, each of which must be there."""
    config = write_config(folder, CHANGES)
    for old, new in (changes or {}).items():
        paths = [path for path in (config, folder / "acceptance.toml") if old in path.read_text(encoding="utf-8")]
        if not paths:
            raise ValueError(f"no line {old!r}")
        for path in paths:
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return config


@cache
def rich_release() -> Release:
    """The release, made once in a process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = release(load_spec(write_rich_config(folder)), write_data(folder))
    if found is None:
        raise RuntimeError("no round was accepted")
    return found


@cache
def rich_bundle() -> Mapping[str, bytes]:
    """The files of its bundle by name."""
    with tempfile.TemporaryDirectory() as name:
        folder = write_bundle(rich_release(), Path(name) / "bundle")
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def write_files(files: Mapping[str, bytes], folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


class Page(HTMLParser):
    """A page as a list of elements with their attributes and the text inside each; checks that tags nest."""

    VOID = frozenset({"meta", "link", "br", "img", "hr", "input", "rect", "line", "circle", "polygon"})

    def __init__(self, content: bytes):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[int] = []
        self.feed(content.decode("utf-8"))
        self.close()
        if self._open:
            raise ValueError(f"<{self.elements[self._open[-1]][0]}> is not closed")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag not in self.VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self.elements[self._open.pop()][0] != tag:
            raise ValueError(f"</{tag}> at {self.getpos()} closes something else")

    def handle_data(self, data: str) -> None:
        for index in self._open:
            self.texts[index] += data

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]

    def text(self, tag: str, index: int = 0) -> str:
        return [words for (name, _), words in zip(self.elements, self.texts, strict=True) if name == tag][index]

    def texts_of(self, *tags: str) -> list[str]:
        return [" ".join(words.split()) for (name, _), words in zip(self.elements, self.texts, strict=True) if name in tags]

    def ids(self) -> list[str]:
        return [value for _, attributes in self.elements for name, value in attributes.items() if name == "id" and value]

    def rows(self) -> list[list[str]]:
        """The cells of every row of every table, in order."""
        found: list[list[str]] = []
        for (tag, _), words in zip(self.elements, self.texts, strict=True):
            if tag == "tr":
                found.append([])
            elif tag in ("td", "th"):
                found[-1].append(" ".join(words.split()))
        return found
