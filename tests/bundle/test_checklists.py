"""The checklists of docs/bundle.md point at places that a card really has."""

from __future__ import annotations

import re

from synthrelease.settings.card import CardTable
from tests.conftest import ROOT
from tests.helpers.cards import Page, rich_bundle

TEXT = (ROOT / "docs" / "bundle.md").read_text(encoding="utf-8").partition("\n## Checklists\n")[2]
ROWS = re.findall(r"^\| ([^|]+) \| (.*#[^|]+) \|$", TEXT, re.MULTILINE)
"""What is asked, and where it is answered."""


def test_every_item_points_at_headings_that_the_card_has() -> None:
    ids = set(Page(rich_bundle()["README.html"]).ids())
    assert len(ROWS) == 20
    for asked, where in ROWS:
        places = re.findall(r"`([^`]+)`", where)
        assert [place for place in places if place.startswith("#")], asked
        for place in places:
            if place.startswith("#"):
                assert place[1:] in ids, (asked, place)
            elif "." in place:
                assert place in rich_bundle(), (asked, place)
            else:
                assert place in CardTable.model_fields, (asked, place)


def test_all_themes_of_data_cards_are_there_in_order() -> None:
    texts = [asked.removeprefix("Data Cards: ") for asked, _ in ROWS if re.match(r"(Data Cards: )?\d", asked)]
    themes = [
        theme
        for text in texts
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", text)
        for theme in range(int(first), int(last or first) + 1)
    ]
    assert sorted(themes) == list(range(1, 32))


def test_every_text_that_the_publisher_can_give_answers_some_item() -> None:
    asked = set(re.findall(r"`([a-z_]+)`", TEXT))
    given = {"purpose", "funding", "source", "uses", "unsuitable", "ethics", "maintenance", "feedback", "organisation",
             "contact", "licence", "url", "version", "published", "access"}  # fmt: skip
    assert given <= asked
