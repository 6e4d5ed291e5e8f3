"""What a newcomer reads first: README, the questions and answers, and the evidence for the comparison with other programs."""

from __future__ import annotations

import re
import struct
from functools import cache
from pathlib import Path

import pytest

import synthrelease
from tests.conftest import ROOT

README, FAQ, EVIDENCE = ROOT / "README.md", ROOT / "docs/faq.md", ROOT / "docs/appendix/compared.md"
MOST_WORDS, WIDEST_CODE, LONGEST_SENTENCE, LONGEST_ANSWER = 700, 80, 25, 80
LARGEST_PICTURE = 150_000

_BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
_WORD = re.compile(r"\S*\w\S*")


@cache
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page_text: str) -> str:
    """The sentences of a page: no code blocks, tables, pictures or headings; of a link its words."""
    without = _PICTURE.sub("", _BLOCK.sub("", page_text))
    lines = [line for line in without.splitlines() if not line.startswith(("|", "#"))]
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", "\n".join(lines))


def sentences(page_text: str) -> list[str]:
    parts = re.split(r"\n\n|\n(?=- |\d+\. )|(?<=[.?!:])\s+(?=[A-Z`*])", prose(page_text))
    return [" ".join(part.split()) for part in parts if _WORD.search(part)]


def table(page_text: str, first: str) -> list[list[str]]:
    """The table whose first header begins with these words, as rows of cells."""
    lines = page_text.partition(f"\n| {first} |")[2].partition("\n\n")[0].splitlines()
    assert lines, f"no table that begins with {first!r}"
    header, _, *rows = [f"| {first} |{lines[0]}", *lines[1:]]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in (header, *rows)]


def answers() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text(FAQ), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_readme_is_read_in_three_minutes() -> None:
    assert len(_WORD.findall(text(README))) <= MOST_WORDS
    too_wide = [line for block in _BLOCK.findall(text(README)) for line in block.splitlines() if len(line) > WIDEST_CODE]
    assert too_wide == []


def test_the_readme_shows_a_small_picture_of_what_a_reader_sees() -> None:
    ((alternative, target),) = _PICTURE.findall(text(README))
    picture = (ROOT / target).read_bytes()
    assert len(_WORD.findall(alternative)) >= 8  # whoever cannot see it is told what is on it
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < LARGEST_PICTURE
    width, height = struct.unpack(">II", picture[16:24])
    assert width >= 800
    assert height <= width


@pytest.mark.parametrize("page", [README, FAQ], ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    found = sentences(text(page))
    assert len(found) >= 15
    assert [one for one in found if len(_WORD.findall(one)) > LONGEST_SENTENCE] == []


def test_a_sentence_ends_where_the_next_one_begins() -> None:
    assert sentences("# A\n\nOne [two](a.md).\nThree `four`? Five\nsix.\n\n- Seven\n- eight\n\n| a |\n") == [
        "One two.", "Three `four`?", "Five six.", "- Seven", "- eight",
    ]  # fmt: skip


def test_ten_questions_of_a_steward_have_short_answers() -> None:
    assert len(answers()) == 10
    assert [question for question in answers() if not question.endswith("?")] == []
    assert {question: answer for question, answer in answers().items() if len(_WORD.findall(answer)) > LONGEST_ANSWER} == {}
    assert [question for question, answer in answers().items() if "](" not in answer] == []  # each says where to read on


def compared() -> dict[tuple[str, str], str]:
    """By program with its version and claim: what README says."""
    (_, *programs), *rows = table(text(README), "feature")
    assert all(len(row) == len(programs) + 1 for row in rows)
    return {(program, claim): said for claim, *cells in rows for program, said in zip(programs, cells, strict=True)}


def evidence() -> dict[tuple[str, str], tuple[str, str]]:
    """By program with its version and claim: what README says by this page, and where that was seen."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for part in text(EVIDENCE).split("\n## ")[1:]:
        title = part.partition("\n")[0]
        for claim, said, seen in table(part, "feature")[1:]:
            assert (title, claim) not in found
            found[title, claim] = (said, seen)
    return found


def test_every_claim_about_a_program_names_its_version_and_has_its_evidence() -> None:
    claims = compared()
    programs = {program for program, _ in claims}
    assert {program.partition(" ")[0] for program in programs} == {
        "synthrelease", "dp-wizard", "SDV", "synthpop", "smartnoise-synth", "dpsynth", "OpenDP",
    }  # fmt: skip
    assert f"synthrelease {synthrelease.__version__}" in programs
    assert [program for program in programs if not re.search(r" \d+\.\d+[.-]\d+(\.dev\d+)?$", program)] == []
    assert {key: said for key, (said, _) in evidence().items()} == claims
    assert [key for key, (_, seen) in evidence().items() if len(_WORD.findall(seen)) < 2] == []
