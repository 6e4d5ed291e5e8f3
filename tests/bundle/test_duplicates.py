"""What the card says of repeated rows, against the variance that means really have after a projection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synthrelease.bundle.card.sections import duplicate_sentences, effective_rows
from synthrelease.bundle.document import release_document
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.generators.projections import MinimumCount
from synthrelease.published.table import ReleasedTable
from tests.helpers.cards import rich_release

CELLS = 4000


def released(counts: Counts) -> ReleasedTable:
    table = ReleasedTable.of(rich_release().candidate)
    return replace(table, counts=counts)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("spread", [0.02, 1.0])
def test_a_mean_of_projected_rows_varies_as_one_of_the_effective_number_of_rows(m: int, spread: float) -> None:
    """Rows drawn at random from many cells, few of them frequent or most of them: 400 tables of 600 rows."""
    random, n = np.random.default_rng(3), 600
    values = random.normal(size=CELLS)
    shares = np.where(np.arange(CELLS) < CELLS * spread, 1.0, 0.02)
    shares /= shares.sum()
    layout = Layout(columns=("cell",), sizes=(CELLS,))
    means, effective = [], []
    for _ in range(400):
        drawn = Counts(layout, random.choice(CELLS, size=n, p=shares))
        table = MinimumCount(minimum_count=m).project(drawn, random)
        means.append(float(values[table.codes] @ table.counts) / n)
        effective.append(effective_rows(released(table), m))
    one = float(((values - shares @ values) ** 2) @ shares)
    promised = one / np.mean(effective)
    assert np.var(means) <= promised * 1.2  # no smaller than what is told, but for the chance of 400 tables
    assert np.var(means) >= promised * (0.75 if spread == 1 else 0.3)
    assert np.mean(effective) <= n / m * 1.2 if spread == 1 else np.mean(effective) < n
    assert np.var(means) > one / n * 1.1  # and every row by itself would be too good


def test_a_table_without_repeated_rows_is_worth_its_rows() -> None:
    layout = Layout(columns=("cell",), sizes=(9,))
    table = released(Counts(layout, np.repeat(np.arange(9), 5)))
    assert effective_rows(table, 2) == 45
    assert effective_rows(released(Counts(layout, np.repeat(np.arange(9), 2))), 2) == 9


def test_the_card_says_what_repeated_rows_do_and_by_how_much() -> None:
    release = rich_release()
    table, document = ReleasedTable.of(release.candidate), release_document(release, {})
    m = document.minimum_count
    assert m > 1
    counts = table.counts.counts.copy()
    counts[:] = m + 3
    apart = table.counts.with_counts(counts)
    assert duplicate_sentences(document, replace(table, counts=apart)) == ()
    counts[0] = m
    told = " ".join(duplicate_sentences(document, replace(table, counts=table.counts.with_counts(counts))))
    assert f"{m} of the" in told
    assert "effective sample size" in told
    once = document.model_copy(
        update={"configuration": {**document.configuration, "projection": {"kind": "minimum_count", "minimum_count": 1}},
                "criteria": [one for one in document.criteria if one.kind != "face_privacy"]}
    )  # fmt: skip
    assert once.minimum_count == 1
    assert duplicate_sentences(once, table) == ()
    few = {"kind": "frequent_combinations", "columns": 1, "minimum_count": 2}
    drawn = once.model_copy(update={"configuration": {**document.configuration, "projection": few}})
    assert "Nobody can tell which of several equal rows are copies" in duplicate_sentences(drawn, table)[0]
