"""Citations lead somewhere: "theory 3.4, one-step regression" to docs/theory.md, and papers to docs/appendix/references.md."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.helpers.late import tree_of

PACKAGE = ROOT / "synthrelease"
THEORY = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
REFERENCES = (ROOT / "docs" / "appendix" / "references.md").read_text(encoding="utf-8")

NO_PAPERS = {
    "January",
    "February",
    "July",
    "September",
    "October",
    "November",
    "December",
    "Births",
    "Version",
    "Python",
    "In",
    "Of",
}
"""First words of what looks like a paper and is none."""

ALIASES = {"PriView": "Qardaji", "Guarantees": "Near"}
"""What some papers are named by, and their first author."""

_ITEM = re.compile(r"^## (\d+b?)\. (.+)$", re.MULTILINE)
_STATEMENT = re.compile(r"^### (Theorem|Proposition|Lemma) (\d+b?\.\d+) \((.+)\)$", re.MULTILINE)
_CITATION = re.compile(r"\btheory (\d+b?(?:\.\d+)?)(?:, (?=[A-Za-z]))?", re.IGNORECASE)
_NAME = r"[A-Z](?=\w*[a-z])[\w-]++"
_PAPER = re.compile(
    rf"(?<!\w)((?:van )?{_NAME})"  # the first author
    rf"(?:(?:, and |, & |, | & | and ){_NAME}){{0,8}}(?: et al\.)?"
    r'(?:, "[^"]{3,120}")?,? \(?'
    r"(?:[A-Z][A-Z]\w*+ )?((?:19|20)\d\d)\b(?!-\d)"  # a venue, the year
)
_ENTRY = re.compile(r"^- \*\*(.+?)\*\*", re.MULTILINE)
_CODE = re.compile(r"^\*Code:\* (.+?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


@cache
def statements() -> dict[str, str]:
    """Name of every item and statement, by number."""
    return dict(_ITEM.findall(THEORY)) | {number: name for _, number, name in _STATEMENT.findall(THEORY)}


def plain(text: str) -> str:
    """A text in one line, without the signs of comments and strings that go on in the next line."""
    return re.sub(r"\s+", " ", re.sub(r'["\']?\n\s*(?:f?["\']|#\s?)?', " ", text))


def wrong_citations(text: str) -> list[str]:
    """Citations that do not lead to a statement of this number and name."""
    found, names, text = [], statements(), plain(text)
    for match in _CITATION.finditer(text):
        name, rest = names.get(match[1]), text[match.end() :]
        right = name is not None and re.match(re.escape(name) + r"(?![\w-])", rest, re.IGNORECASE) and match[0].endswith(", ")
        if not right:
            found.append(text[match.start() : match.end() + 40])
    return found


def papers(text: str) -> set[tuple[str, str]]:
    """(first author, year) of every paper that a text names."""
    found = _PAPER.findall(plain(text))
    return {(ALIASES.get(author, author).lower(), year) for author, year in found if author not in NO_PAPERS}


@cache
def listed() -> set[tuple[str, str]]:
    keys = set()
    for key in _ENTRY.findall(REFERENCES):
        author = re.match(r"(?:van )?[^ ,&]+", key)
        assert author is not None, key
        assert key[-4:].isdigit(), key
        keys.add((author[0].lower(), key[-4:]))
    return keys


_NOT_CITING = ("theory.md", "references.md", "mutations.md", "mutations.csv")


def texts() -> list[Path]:
    """Every file that may cite."""
    pages = [page for kind in ("md", "csv") for page in (ROOT / "docs").rglob(f"*.{kind}") if page.name not in _NOT_CITING]
    code = [path for folder in (PACKAGE, ROOT / "tests") for path in folder.rglob("*.py") if path != Path(__file__).resolve()]
    return sorted([*pages, *code, ROOT / "README.md"])


@pytest.mark.slow
def test_every_citation_names_a_statement() -> None:
    found = {path.relative_to(ROOT).as_posix(): wrong_citations(path.read_text(encoding="utf-8")) for path in texts()}
    assert len(found) > 500
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.slow
def test_every_paper_is_listed() -> None:
    paths = [path for path in texts() if not path.is_relative_to(ROOT / "tests")]
    found = {path.relative_to(ROOT).as_posix(): papers(path.read_text(encoding="utf-8")) - listed() for path in paths}
    assert len(found) > 300
    assert {path: names for path, names in found.items() if names} == {}


def test_every_paper_of_the_theory_is_listed() -> None:
    assert papers(THEORY) <= listed()
    assert wrong_citations(REFERENCES) == []


@pytest.mark.slow
def test_every_listed_paper_is_named_somewhere() -> None:
    everything = plain("\n".join([THEORY, *(path.read_text(encoding="utf-8") for path in texts())])).lower()
    for author, year in listed():
        # the name comes first and in small letters, so that it is searched for as a whole
        near = rf"{author}(?<!\w{author})\b.{{0,160}}?\b{year}\b"
        assert re.search(near, everything), f"{author} {year}"


def test_a_wrong_citation_is_found() -> None:
    good = "costs 2 eps (theory 2.1, known\n    # threshold, pure; somebody)"
    assert wrong_citations(good) == []
    for bad in (good.replace("2.1", "2.2"), good.replace("2.1", "2.99"), "theory 2.1)", "theory 3.4, one step"):
        assert len(wrong_citations(bad)) == 1


def test_papers_are_found_however_they_are_named() -> None:
    text = (
        "Liu & Talwar, STOC 2019, Zhang et al. (SIGMOD 2014), Reiter (2003), Raab, Nowok, Dibben (2016); Hod and\n Canetti 2024"
    )
    assert papers(text) == {("liu", "2019"), ("zhang", "2014"), ("reiter", "2003"), ("raab", "2016"), ("hod", "2024")}


def test_numbers_are_given_once_and_grow() -> None:
    numbers = [number for _, number, _ in _STATEMENT.findall(THEORY)]
    assert len(set(numbers)) == len(numbers)
    keys = [[int(part) if part.isdigit() else int(part[:-1]) + 0.5 for part in number.split(".")] for number in numbers]
    assert keys == sorted(keys)
    assert {number.split(".")[0] for number in numbers} <= {number for number, _ in _ITEM.findall(THEORY)}


def test_the_theory_cites_its_own_statements() -> None:
    kinds = {number: kind for kind, number, _ in _STATEMENT.findall(THEORY)}
    text = plain(THEORY)
    for match in re.finditer(r"(\d{4}, )?\b(Theorem|Proposition|Lemma) (\d+b?\.\d+)(?!\.?\d)", text):
        if match[1] is None:
            assert kinds.get(match[3]) == match[2], text[match.start() : match.end() + 40]


def test_every_statement_is_proved_or_cited() -> None:
    parts = re.split(r"^### ", THEORY, flags=re.MULTILINE)[1:]
    for part in parts:
        body = part.partition("\n")[2]
        assert "∎" in body or papers(body) or "Proposition 1.2" in body, part[:60]


@cache
def defined(path: Path) -> set[str]:
    return {node.name for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def where(path: str) -> Path:
    """The file of a path in the package, or of a path in the tests."""
    return (ROOT if path.startswith("tests/") else PACKAGE) / path


@pytest.mark.slow
def test_code_that_is_named_exists() -> None:
    for line in [plain(match) for match in _CODE.findall(THEORY)]:
        for path, names in re.findall(r"`([\w/]+\.py)`(?: \(((?:`[\w.]+`(?:, )?)+))?", line):
            known = defined(where(path))
            for name in re.findall(r"`([\w.]+)`", names):
                assert set(name.split(".")) <= known, f"{path}: {name}"
    for path in re.findall(r"`([\w/]+\.py)`", REFERENCES):
        assert where(path).exists(), path
