"""Bins of single rows: their shares, and the bins that a search one by one finds."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import pytest

from synthrelease.generators import bayesian_network as drawn_bins
from synthrelease.generators.bayesian_network import draw_bins

pytestmark = pytest.mark.slow


def test_single_rows_draw_their_bins_by_the_shares_of_their_parents() -> None:
    """The shares of each combination of parents' bins, on average; a bin of share 0 never, not even at the ends."""
    conditional = np.array([[[0.2, 0.0, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]], [[0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.0, 0.5]]])
    parents = [np.repeat([0, 0, 1, 1], 20_000), np.repeat([0, 1, 0, 1], 20_000)]
    drawn = draw_bins(conditional, parents, 80_000, np.random.default_rng(0)).reshape(4, 20_000)
    for bins, shares in zip(drawn, conditional.reshape(4, 4), strict=True):
        found = np.bincount(bins, minlength=4) / 20_000
        assert np.abs(found - shares).max() < 0.015  # more than 4 standard deviations
        assert not found[shares == 0].any()
    for end in (0.0, np.nextafter(1, 0)):  # a product of the least numbers that there are is rounded up to the end
        fixed = type("Fixed", (), {"random": lambda self, n, end=end: np.full(n, end)})()
        last = draw_bins(np.array([0.0, 5e-324, 5e-324, 0.0]), [], 3, fixed)
        assert last.tolist() == [1 if end == 0 else 2] * 3


def test_single_rows_draw_the_bins_that_a_search_row_by_row_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """For any number of bins, with shares of 0 and equal ends among them, some rows at a time: by `bisect`. With so many rows
    32 parts of [0, 1) have a bin each that is looked up, where no end lies within."""
    monkeypatch.setattr(drawn_bins, "_DRAWN_TOGETHER", 70)
    random, n = np.random.default_rng(4), 2000
    for size in (1, 2, 3, 4, 5, 8, 9, 17, 30):
        shares = random.dirichlet(np.ones(size), (2, 3)) * (random.random((2, 3, size)) < 0.7)
        shares[..., 0] += shares.sum(axis=-1) == 0
        ends, last = np.cumsum(shares, axis=-1).tolist(), (size - 1 - np.argmax(shares[..., ::-1] > 0, axis=-1)).tolist()
        parents = [random.integers(0, 2, n).astype(np.uint8), random.integers(0, 3, n).astype(np.uint8)]
        drawn = draw_bins(shares, parents, n, np.random.default_rng(size)).tolist()
        for aim, a, b, found in zip(np.random.default_rng(size).random(n), *parents, drawn, strict=True):
            expected = bisect_right(ends[a][b][:-1], aim * ends[a][b][-1])
            assert found == min(expected, last[a][b])
