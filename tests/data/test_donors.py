"""Gaps filled by donors: against a slow loop over rows, and a simulation in which complete cases are biased."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.donors import Gaps, NotImputed, completed
from synthrelease.data.plausibility import Mask, Plausibility
from tests.helpers.small import layout_of

LAYOUT = layout_of(3, 5, 3)
MISSING = (None, 4, 2)
"""The last bins of the second and third column are those of missing values."""
FREE = Plausibility(layout=LAYOUT, masks=())
Row = tuple[int, ...]


def table(seed: int, n: int = 400, smallest: int = 1) -> Counts:
    generator = np.random.default_rng(seed)
    rows = [generator.integers(0, size, n) for size in LAYOUT.sizes]
    rows[1] = np.where(generator.random(n) < 0.3, 4, np.minimum(rows[0] + generator.integers(0, 2, n), 3))
    rows[2] = np.where(generator.random(n) < 0.2, 2, rows[2] % 2)
    found = Counts.of(LAYOUT, rows)
    return found.with_counts(np.maximum(found.counts, smallest))


def rows_of(bins) -> list[Row]:
    return [tuple(int(value) for value in row) for row in zip(*bins, strict=True)]


def allowed(row: Row, others: Counter[Row], gaps: Gaps) -> set[Row]:
    """The completed rows that a row may become: by the definition, row by row."""
    lacking = [column for column, gap in enumerate(gaps.missing) if gap is not None and row[column] == gap]
    donors = {other: times for other, times in others.items() if all(other[c] != gaps.missing[c] for c in lacking)}
    match = [column for column in gaps.match if column not in lacking]
    while True:
        agreeing = {other: times for other, times in donors.items() if all(other[c] == row[c] for c in match)}
        if sum(agreeing.values()) >= gaps.donors or not match:
            break
        match.pop()
    return {tuple(other[c] if c in lacking else row[c] for c in range(len(row))) for other in agreeing}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("match", "donors"), [((0, 2, 1), 1), ((0, 2), 15), ((0,), 60), ((), 1), ((2, 0), 10_000)])
def test_every_completed_row_is_one_that_the_definition_allows(seed: int, match: tuple[int, ...], donors: int) -> None:
    """And over many copies all of these occur."""
    incomplete = table(seed)
    gaps = Gaps(missing=MISSING, match=match, donors=donors, copies=30)
    rows = rows_of(incomplete.expand().T)
    others, seen = Counter(rows), {row: set() for row in rows}
    for copy in completed(incomplete, gaps, FREE, np.random.default_rng(seed)):
        for row, filled in zip(rows, rows_of(copy.bins), strict=True):
            seen[row].add(filled)
    for row, found in seen.items():
        assert found <= allowed(row, others, gaps)
    frequent = [row for row, times in others.items() if times >= 20 and (row[1] == 4) != (row[2] == 2)]
    assert frequent
    assert all(seen[row] == allowed(row, others, gaps) for row in frequent)


def test_donors_are_drawn_in_proportion_to_their_rows() -> None:
    """Of 10 + 30 + 60 rows with a value, 20,000 draws each: within 4 standard deviations of a fair draw."""
    cells = Counts.of(LAYOUT, [np.zeros(4, int), np.array([0, 1, 2, 4]), np.zeros(4, int)], np.array([10, 30, 60, 200]))
    copies = completed(cells, Gaps(missing=MISSING, match=(0,), donors=1, copies=100), FREE, np.random.default_rng(0))
    drawn = np.bincount(np.concatenate([copy.bins[1][100:] for copy in copies]), minlength=5)
    assert drawn.sum() == 20_000
    for times, share in zip(drawn, (0.1, 0.3, 0.6), strict=False):
        assert abs(times - 20_000 * share) < 4 * np.sqrt(20_000 * share * (1 - share))


def test_values_that_go_together_come_from_one_donor() -> None:
    """The second and third column are equal wherever both are there."""
    generator = np.random.default_rng(0)
    both = generator.integers(0, 2, 500)
    lost = generator.random(500) < 0.3
    cells = Counts.of(LAYOUT, [generator.integers(0, 3, 500), np.where(lost, 4, both), np.where(lost, 2, both)])
    for copy in completed(cells, Gaps(missing=MISSING, match=(0,), donors=5, copies=3), FREE, generator):
        assert (copy.bins[1] == copy.bins[2]).all()


@pytest.mark.parametrize("smallest", [1, 2, 3, 7])
def test_no_completed_row_is_rarer_than_the_rows_of_the_table(smallest: int) -> None:
    incomplete = table(5, n=150, smallest=smallest)
    assert incomplete.counts.min() == smallest
    gaps = Gaps(missing=MISSING, match=(0, 2, 1), donors=10, copies=10, smallest=smallest)
    rarest = []
    for copy in completed(incomplete, gaps, FREE, np.random.default_rng(1)):
        rarest.append(min(Counter(rows_of(copy.bins)).values()))
    assert min(rarest) >= smallest


def test_blocks_are_as_small_as_they_may_be() -> None:
    """Of 200 equal rows with a gap and blocks of at least 7, 28 donors are drawn, and not one for all."""
    cells = Counts.of(LAYOUT, [np.zeros(5, int), np.array([0, 1, 2, 3, 4]), np.zeros(5, int)], np.array([50, 50, 50, 50, 200]))
    gaps = Gaps(missing=MISSING, match=(0,), donors=1, copies=200, smallest=7)
    filled = [np.bincount(copy.bins[1][200:], minlength=4) for copy in completed(cells, gaps, FREE, np.random.default_rng(0))]
    variance = np.var([counts[0] for counts in filled])
    assert variance == pytest.approx(200**2 / 28 * 0.25 * 0.75, rel=0.35)


def test_completed_rows_keep_to_the_rules_also_where_the_nearest_donors_do_not() -> None:
    """Where the first column is 0 the third must not be 1: rows of it lack the third, and most rows have 1 there."""
    forbidden = np.zeros((3, 3), dtype=bool)
    forbidden[0, 1] = True
    rules = Plausibility(layout=LAYOUT, masks=(Mask(columns=(0, 2), forbidden=forbidden),))
    cells = Counts.of(LAYOUT, [np.array([0, 1, 1]), np.zeros(3, int), np.array([2, 1, 0])], np.array([50, 90, 10]))
    gaps = Gaps(missing=MISSING, match=(1,), donors=1, copies=5)
    for copy in completed(cells, gaps, rules, np.random.default_rng(0)):
        assert not rules.forbidden([bins.astype(int) for bins in copy.bins]).any()
        assert set(copy.bins[2][:50].tolist()) == {0}
    only_ones = Counts.of(LAYOUT, [np.array([0, 1]), np.zeros(2, int), np.array([2, 1])], np.array([50, 90]))
    with pytest.raises(
        NotImputed, match="some rows lack c2, and 100 tries found no released row with values that the rules allow"
    ):
        completed(only_ones, gaps, rules, np.random.default_rng(0))


def test_a_gap_that_no_row_can_fill_is_told() -> None:
    cells = Counts.of(LAYOUT, [np.array([0, 1]), np.array([4, 0]), np.array([2, 2])])
    with pytest.raises(NotImputed, match="some rows lack c2, and no released row has values in all these columns"):
        completed(cells, Gaps(missing=MISSING, match=(0,), donors=1, copies=1), FREE, np.random.default_rng(0))


def test_copies_remove_the_bias_of_complete_cases_and_their_spread_is_honest() -> None:
    """Income rises with the group, and is missing the more often the higher the group: missing at random given it."""
    layout = layout_of(4, 13)
    gaps = Gaps(missing=(None, 12), match=(0,), donors=10, copies=5)
    rules, generator = Plausibility(layout=layout, masks=()), np.random.default_rng(7)
    n, runs, means, errors, dropped = 1500, 150, [], [], []
    truth = sum(np.clip(2 * group + 2 + np.array([-1, 0, 1, 2]), 0, 11).mean() for group in range(4)) / 4
    for _ in range(runs):
        group = generator.integers(0, 4, n)
        income = 2 * group + 2 + generator.integers(-1, 3, n)
        lost = generator.random(n) < 0.2 * group
        incomplete = Counts.of(layout, [group, np.where(lost, 12, income)])
        copies = completed(incomplete, gaps, rules, generator)
        incomes = [copy.bins[1].astype(float) for copy in copies]
        of_copies = [values.mean() for values in incomes]  # combined by Rubin's rule
        mean, within = np.mean(of_copies), np.mean([values.var(ddof=1) / n for values in incomes])
        variance = within + (1 + 1 / len(incomes)) * np.var(of_copies, ddof=1)
        means.append(mean)
        errors.append(abs(mean - truth) / np.sqrt(variance))
        dropped.append(income[~lost].mean())
    spread = np.std(means) / np.sqrt(runs)
    assert abs(np.mean(means) - truth) < 4 * spread
    assert truth - np.mean(dropped) > 0.4
    assert np.mean(np.array(errors) < 1.96) > 0.88  # 95% without the uncertainty about the donors' own law
