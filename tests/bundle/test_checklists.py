"""docs/checklists.md points at places that a card really has."""

from __future__ import annotations

import re

import pytest

from synthrelease.toml.card import CardTable
from tests.conftest import ROOT
from tests.helpers.cards import Page, rich_bundle

TEXT = (ROOT / "docs" / "checklists.md").read_text(encoding="utf-8")
CHECKLISTS = {part.partition("\n")[0]: part for part in TEXT.split("\n## ")[1:]}


def items(checklist: str) -> list[tuple[str, str]]:
    """(question, where) of every row of the table."""
    rows = [line.strip("|").split(" | ") for line in CHECKLISTS[checklist].splitlines() if line.startswith("| ")]
    return [(row[0].strip(), row[1].strip()) for row in rows[1:]]


@pytest.mark.parametrize(
    ("checklist", "number"), [("Datasheets for Datasets", 42), ("Data Cards", 31), ("NIST SP 800-226", 21)]
)
def test_every_item_points_at_headings_that_the_card_has(checklist: str, number: int) -> None:
    ids = set(Page(rich_bundle()["README.html"]).ids())
    found = items(checklist)
    assert len(found) == number
    for question, where in found:
        places = re.findall(r"`([^`]+)`", where)
        assert [place for place in places if place.startswith("#")], question
        for place in places:
            if place.startswith("#"):
                assert place[1:] in ids, (question, place)
            elif "." in place:
                assert place in rich_bundle(), (question, place)
            else:
                assert place in CardTable.model_fields, (question, place)


def test_all_themes_of_data_cards_are_there_in_order() -> None:
    assert [int(question.split()[0]) for question, _ in items("Data Cards")] == list(range(1, 32))


def test_every_text_that_the_publisher_can_give_answers_some_item() -> None:
    asked = set(re.findall(r"`([a-z_]+)`", TEXT))
    given = {"purpose", "funding", "source", "uses", "unsuitable", "ethics", "maintenance", "feedback", "organisation",
             "contact", "licence", "url", "version", "published", "access"}  # fmt: skip
    assert given <= asked
