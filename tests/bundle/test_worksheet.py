"""The worksheet: what stakeholders decide in a meeting, made from the two files."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthrelease.bundle.sheets import worksheet
from synthrelease.cli.specifying import plan
from synthrelease.errors import OutputError
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.cards import Page
from tests.helpers.tiny import write_config

PAPER = ROOT / "configs" / "births-paper.toml"


def text_of(page: str) -> str:
    return " ".join(Page(page.encode()).text("body").split())


def test_each_criterion_has_its_draft_and_room_for_a_decision() -> None:
    spec = load_spec(PAPER)
    page = worksheet(spec, 160_000)
    headings = Page(page.encode()).texts_of("h3")
    assert headings == [f"{place}. {criterion.name}" for place, criterion in enumerate(spec.criteria, 1)]
    text = text_of(page)
    assert text.count("Decision that needs the answer") == len(spec.criteria)
    for criterion in spec.criteria:
        assert criterion.reason in text
    assert "100 grams" in Page(page.encode()).texts_of("dd")
    assert (
        "the noise of the published value has a standard deviation of at least 0.00088 share of the rows" in text
    )  # sqrt(2) / n / epsilon
    for question in ("median birth_weight by birth_sex", "mean of birth_weight where gestation_week < 37"):
        assert question in text
    assert all(rule.never in text for rule in spec.rules)
    assert "costs epsilon 9.98" in text
    assert "at most 22,000 times as large" in text


def test_figures_that_share_a_noise_have_that_one() -> None:
    """Two figures of epsilon 0.04 in all: sqrt(3 * 4 / 3) / 0.04 = 50 sensitivities, and not sqrt(2) / 0.02 = 71."""
    spec = load_spec(ROOT / "configs" / "country.toml")
    (shared,) = set(spec.noises.values())
    assert (shared.figures, float(shared.epsilon)) == (2, 0.04)
    assert "the noise of the published value has a standard deviation of at least 0.0005 share of the rows" in text_of(
        worksheet(spec, 100_000)
    )


def test_texts_of_the_files_are_texts_of_the_page(tmp_path: Path) -> None:
    config = write_config(tmp_path, {'name = "marginals"': 'name = "<b>marginals</b> & more"'})
    page = worksheet(load_spec(config), 100)
    assert "<b>" not in page
    assert "1. <b>marginals</b> & more" in Page(page.encode()).texts_of("h3")
    assert "has no question yet" in text_of(page)


def test_a_plan_writes_it_to_a_new_file(tmp_path: Path) -> None:
    file = tmp_path / "meeting.html"
    plan(PAPER, rows=160_000, worksheet=file)
    assert file.read_text(encoding="utf-8") == worksheet(load_spec(PAPER), 160_000)
    with pytest.raises(OutputError, match="exists already"):
        plan(PAPER, worksheet=file)
