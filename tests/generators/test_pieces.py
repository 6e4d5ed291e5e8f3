"""Rows that are drawn in pieces: the same law as in one piece, and the same rows where there is one piece."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from synthrelease.data.counts import Counts
from synthrelease.generators import bayesian_network
from synthrelease.generators.bayesian_network import BayesianNetwork, Family, Frontier
from tests.helpers.small import layout_of

LAYOUT = layout_of(2, 3, 2, 2)
CHAIN = (
    Family(column=0, parents=(), conditional=np.array([0.3, 0.7])),
    Family(column=1, parents=(0,), conditional=np.array([[0.5, 0.25, 0.25], [0.0, 0.4, 0.6]])),
    Family(column=2, parents=(1,), conditional=np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])),
    Family(column=3, parents=(2, 0), conditional=np.array([[[0.5, 0.5], [0.1, 0.9]], [[1.0, 0.0], [0.3, 0.7]]])),
)
NETWORK = BayesianNetwork(layout=LAYOUT, families=CHAIN)
DRAWS, SMALL = 3000, 1e-6


@pytest.fixture
def rounded_early(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Whole rows from the second column on."""
    monkeypatch.setattr(BayesianNetwork, "frontier_limit", 2)
    return monkeypatch


def of_old(n: int, generator: np.random.Generator) -> Counts:
    """The rows in one piece, as they were drawn before there were pieces: one column after the other for all cells."""
    frontier = Frontier(sizes=LAYOUT.sizes, n=n, cells=NETWORK.most_cells(4), generator=generator)
    for family in CHAIN:
        frontier.extend([family])
    frontier.finish()
    return Counts.of(LAYOUT, [frontier.digits[column] for column in range(4)], frontier.expected.astype(np.int64))


@pytest.mark.parametrize("limit", [2, 10**6])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_one_piece_has_the_same_rows_as_before(monkeypatch: pytest.MonkeyPatch, limit: int, n: int) -> None:
    monkeypatch.setattr(BayesianNetwork, "frontier_limit", limit)
    new, old = NETWORK.sample(n, np.random.default_rng(n)), of_old(n, np.random.default_rng(n))
    assert new.same_as(old)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 50])
def test_pieces_hold_each_cell_once(rounded_early: pytest.MonkeyPatch, rows: int) -> None:
    rounded_early.setattr(bayesian_network, "_ROWS_TOGETHER", rows)
    frontier = Frontier(sizes=LAYOUT.sizes, n=23, cells=2, generator=np.random.default_rng(1))
    frontier.extend(CHAIN[:2])
    frontier.finish()
    pieces = list(frontier.pieces())
    assert np.concatenate([piece.expected for piece in pieces]).tolist() == frontier.expected.tolist()
    for column in (0, 1):
        assert np.concatenate([piece.digits[column] for piece in pieces]).tolist() == frontier.digits[column].tolist()
    assert len(pieces) > 1 or rows >= 23
    assert NETWORK.sample(23, np.random.default_rng(1)).total == 23


@pytest.mark.slow
def test_rows_in_pieces_have_the_law_of_rows_in_one_piece(rounded_early: pytest.MonkeyPatch) -> None:
    """Theory 12.18, rows in pieces: tables of four rows, compared with those of the slow way by a test of two samples."""
    rounded_early.setattr(bayesian_network, "_ROWS_TOGETHER", 1)
    generator = np.random.default_rng(5)
    samples = [Counter(draw(4, generator).digest() for _ in range(DRAWS)) for draw in (NETWORK.sample, of_old)]
    tables = [table for table in samples[0] | samples[1] if samples[0][table] + samples[1][table] >= 10]
    counts = np.array([[sample[table] for table in tables] for sample in samples], dtype=float)
    counts = np.column_stack([counts, DRAWS - counts.sum(axis=1)])
    statistic = ((counts[0] - counts[1]) ** 2 / np.maximum(counts.sum(axis=0), 1)).sum()
    assert len(tables) > 50
    assert chi2.sf(statistic, len(tables)) > SMALL


def test_rows_that_get_their_bins_evenly_come_in_one_piece(rounded_early: pytest.MonkeyPatch) -> None:
    rounded_early.setattr(bayesian_network, "_ROWS_TOGETHER", 1)
    evenly = BayesianNetwork(layout=LAYOUT, families=CHAIN, evenly=True)
    assert len(list(evenly.pieces(20, np.random.default_rng(1)))) == 1
    assert len(list(NETWORK.pieces(20, np.random.default_rng(1)))) > 1
