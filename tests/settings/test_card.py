"""[card]: what a steward may write, what is told about mistakes, and what a complete card lacks."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from synthrelease.errors import SpecError, Unexpected
from synthrelease.settings.card import CardTable, CardTexts, direction, gaps
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.cards import write_rich_config
from tests.helpers.tiny import write_config

COLUMNS = ("face", "year")


def message(folder: Path, changes: dict[str, str]) -> str:
    with pytest.raises(SpecError) as caught:
        load_spec(write_rich_config(folder, changes))
    return str(caught.value)


def test_texts_do_not_change_what_a_specification_is(tmp_path: Path) -> None:
    """A rehearsal goes on, and a shortlist stays valid, when a word of the card is mended."""
    first = load_spec(write_rich_config(tmp_path))
    second = load_spec(write_rich_config(tmp_path, {"Tosses of coins.": "Tosses of two coins."}))
    other = load_spec(write_rich_config(tmp_path, {"threshold = 0.5": "threshold = 0.4"}))
    assert first.card != second.card
    assert first.digest == second.digest != other.digest


def test_a_complete_card_lacks_nothing(tmp_path: Path) -> None:
    assert list(gaps(load_spec(write_rich_config(tmp_path)).card, COLUMNS)) == []
    births = load_spec(ROOT / "configs" / "births.toml")
    assert list(gaps(births.card, births.schema.names)) == []
    assert births.card.languages == ("en", "he")


def test_what_a_card_lacks_is_listed_by_its_place(tmp_path: Path) -> None:
    spec = load_spec(
        write_rich_config(tmp_path, {'ethics = "איש לא נשאל."\n': "", 'licence = "CC-BY-4.0"': 'licence = "Mine"'})
    )
    assert tuple(gaps(spec.card, (*COLUMNS, "weight"))) == (
        "card.licence_url", "card.columns.weight", "card.he.ethics", "card.he.columns.weight",
    )  # fmt: skip
    bare = tuple(gaps(load_spec(write_config(tmp_path)).card, COLUMNS))
    assert {"card.organisation", "card.contact", "card.licence", "card.purpose", "card.uses", "card.justification"} <= set(bare)
    assert not {"card.title", "card.summary", "card.published", "card.url"} & set(bare)


MISTAKES = {
    "an unknown text": ('ethics = "Nobody', 'ethic = "Nobody', "no setting 'ethic' here", "Did you mean 'ethics'?"),
    "an unknown text of a translation": ('title = "מטבעות"', 'titel = "מטבעות"', "no setting 'titel' here", "'title'?"),
    "an unknown language": ('[card]\n', '[card]\nlanguage = "xx"\n', "card.language: expected 'en' or 'he', found 'xx'", ""),
    "a translation into itself": ('[card]\n', '[card]\nlanguage = "he"\n', "card: Delete [card.he]: the texts", "[card.he]"),
    "no contact": ("mint@example.org", "by carrier pigeon", "card.contact: expected an e-mail", "'by carrier pigeon'"),
    "a script for an address": ("https://example.org/coins", "javascript:alert(1)", "card.url: expected an address", "https://"),
    "a column that is not there": ('year = "Year <of>', 'yeer = "Year <of>', "card.columns.yeer: 'yeer' is not a", "'year'?"),
    "a column in a translation": ('year = "שנת', 'yeer = "שנת', "card.he.columns.yeer: 'yeer' is not a column", "'year'?"),
    "a sign that turns texts around": ("Tosses", "\\u202eTosses", "card.summary: The text contains a control character", ""),
    "a day that is none": ("2026-03-04", '"soon"', "card.published", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_card_is_told_with_its_place(name: str, tmp_path: Path) -> None:
    old, new, *says = MISTAKES[name]
    found = message(tmp_path, {old: new})
    for words in says:
        assert words in found
    assert "\n" not in found


def test_line_breaks_mean_nothing_and_empty_lines_part_paragraphs() -> None:
    card = CardTable(source="  One\n  line.\n \nAnother\n\tone.  ", uses=("a\nb",), columns={"x": "y\n z"})
    assert card.source == "One line.\n\nAnother one."
    assert card.uses == ("a b",)
    assert card.columns == {"x": "y z"}


def test_the_day_of_publication_is_the_day_on_which_the_specification_was_read() -> None:
    before = datetime.datetime.now(datetime.UTC).date()
    found = CardTable().published
    assert before <= found <= datetime.datetime.now(datetime.UTC).date()


def test_texts_of_a_language_come_from_the_card_or_its_translation() -> None:
    card = CardTable(title="Coins", he=CardTexts(title="מטבעות"))
    assert card.texts("en") is card
    assert (card.texts("he") or card).title == "מטבעות"
    assert CardTable(language="he", title="מטבעות").texts("en") is None
    assert (direction("en"), direction("he")) == ("ltr", "rtl")


@pytest.mark.parametrize(
    "program",
    [
        {"address": "https://example.org/p.tar.gz"},
        {"sha256": "0" * 64},
        {"address": "synthrelease", "sha256": "0" * 64},
        {"address": "https://example.org/a b", "sha256": "0" * 64},
        {"address": 'https://example.org/"onclick="x', "sha256": "0" * 64},
        {"address": "javascript:alert(1)", "sha256": "0" * 64},
        {"address": "https://example.org/p.tar.gz", "sha256": "0" * 63},
        {"address": "https://example.org/p.tar.gz", "sha256": "g" * 64},
        {"address": "https://example.org/p.tar.gz", "sha256": "\u0660" * 64},
        {"address": "https://example.org/p.tar.gz", "sha256": "0" * 64 + "\n0"},
        {"address": "https://example.org/p.tar.gz", "sha256": "0" * 64, "md5": "0"},
    ],
)
def test_a_program_without_a_web_address_or_a_whole_checksum_is_refused(program: dict[str, str]) -> None:
    assert CardTable.model_validate({"program": {"address": "https://example.org/p", "sha256": "A" * 64}}).program is not None
    with pytest.raises((ValidationError, Unexpected)):
        CardTable.model_validate({"program": program})
