"""docs/appendix/checklists.csv points at places that a card really has."""

from __future__ import annotations

import csv
import re

from synthrelease.settings.card import CardTable
from tests.conftest import ROOT
from tests.helpers.cards import Page, rich_bundle

with (ROOT / "docs/appendix/checklists.csv").open(encoding="utf-8", newline="") as file:
    ROWS = [(row["asked"], row["answered"].split()) for row in csv.DictReader(file)]
"""What is asked, and where it is answered."""


def test_every_item_points_at_headings_that_the_card_has() -> None:
    ids = set(Page(rich_bundle()["README.html"]).ids())
    assert len(ROWS) == 20
    for asked, places in ROWS:
        assert [place for place in places if place.startswith("#")], asked
        for place in places:
            if place.startswith("#"):
                assert place[1:] in ids, (asked, place)
            elif "." in place:
                assert place in rich_bundle(), (asked, place)
            else:
                assert place in CardTable.model_fields, (asked, place)


def test_all_themes_of_data_cards_are_there_in_order() -> None:
    texts = [asked for asked, _ in ROWS if asked.startswith("themes ")]
    themes = [
        theme
        for text in texts
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", text)
        for theme in range(int(first), int(last or first) + 1)
    ]
    assert sorted(themes) == list(range(1, 32))


def test_every_text_that_the_publisher_can_give_answers_some_item() -> None:
    asked = {place for _, places in ROWS for place in places}
    given = {"purpose", "funding", "source", "uses", "unsuitable", "ethics", "maintenance", "feedback", "organisation",
             "contact", "licence", "url", "version", "published", "access"}  # fmt: skip
    assert given <= asked
