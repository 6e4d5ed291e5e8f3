"""How far off counts will be: the law of the noise of each table, by draws and by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from synthrelease.spec.load import load_spec
from synthrelease.studio.rehearsal.expected_noise import cheapest_for, expected_answers, off_by_column
from synthrelease.studio.rehearsal.measured_tables import askable_in_words, measured_tables
from tests.conftest import ROOT
from tests.helpers.tiny import MEASURED, write_config

QUERIES = """
[[intended_queries]]
query = "year > 4 and face == 'head'"

[[intended_queries]]
query = "year > 3"

[budget]"""
CHANGES = {**MEASURED, "[budget]": QUERIES, "generation = 10": "generation = 0.5"}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory):
    return load_spec(write_config(tmp_path_factory.mktemp("tiny"), CHANGES))


def test_the_limit_holds_in_95_of_100_draws(spec) -> None:
    (table,) = measured_tables(spec)
    assert (table.columns, table.sizes) == (("face", "year"), (2, 4))
    random, p = np.random.default_rng(1), 1 - math.exp(-1 / table.noise.scale)
    for cells in (1, 4, 8):
        draws = (random.geometric(p, (40_000, cells)) - random.geometric(p, (40_000, cells))).sum(axis=1)
        inside = float((np.abs(draws) <= table.off(cells)).mean())
        assert 0.945 < inside < 0.975, cells


def test_a_bin_of_a_column_is_a_sum_over_the_other_columns(spec) -> None:
    (table,) = measured_tables(spec)
    assert off_by_column([table]) == {"face": table.off(4), "year": table.off(2)}


def test_a_question_adds_up_the_cells_that_meet_it(spec) -> None:
    (table,) = measured_tables(spec)
    answered, cut = expected_answers(spec)
    assert (answered.cells, answered.off, answered.table) == (2, table.off(2), ("face", "year"))
    assert cut.off is None
    assert "3-4" in cut.why


def test_the_least_budget_for_an_accuracy_is_enough_and_hardly_more(spec) -> None:
    found = cheapest_for(spec, "year", 12)
    assert found is not None
    assert off_by_column(measured_tables(found))["year"] <= 12
    less = cheapest_for(spec, "year", 13)
    assert less is not None
    assert less.budget.generation < found.budget.generation < 1.25 * less.budget.generation
    assert found.plan.total.epsilon > less.plan.total.epsilon
    assert cheapest_for(spec, "nobody", 12) is None
    assert cheapest_for(spec, "year", 0.0) is None


def test_a_model_that_chooses_what_it_measures_promises_nothing() -> None:
    births = load_spec(ROOT / "configs" / "births.toml")
    assert measured_tables(births) == ()
    assert all(each.off is None for each in expected_answers(births))


def test_what_readers_can_ask_is_counted_from_the_published_tables(tmp_path: Path) -> None:
    """All 6 columns of the births, 8 of 15 pairs and 1 of 3 columns; a family that chooses its tables publishes none."""
    assert "of 6 of 6 single columns, 8 of 15 pairs and 1 group of three columns" in askable_in_words(
        load_spec(ROOT / "configs" / "births-published.toml")
    )
    unpublished = askable_in_words(load_spec(ROOT / "configs" / "births-frontier.toml"))
    assert "no noisy table is published" in unpublished
    assert "publish_measurements = true" in unpublished
    chosen = askable_in_words(load_spec(write_config(tmp_path)))
    assert "choose a generator that measures tables, such as marginals (privbayes does not)" in chosen
    agreements = {old: new.replace('"face:year"', '"face:year"\npairs = "agreements"') for old, new in MEASURED.items()}
    agreements = {old: new.replace("\npublish_measurements = true", "") for old, new in agreements.items()}
    spec = load_spec(write_config(tmp_path, agreements))
    assert 'remove pairs = "agreements"' in askable_in_words(spec)
