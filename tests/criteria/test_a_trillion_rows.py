"""Figures of tables with up to 2^40 rows (counts, not rows): exact, and neighbours no further apart than their noise covers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion, Fitted
from synthrelease.criteria.facts import Query
from synthrelease.criteria.scoring import fitted_before
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.privbayes_mechanism import dependence_score, score_sensitivity
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.grids import noise_grid
from synthrelease.privacy.noise import laplace_figure
from synthrelease.studio.audit.enumeration import Recording
from synthrelease.studio.audit.sweep import criterion
from synthrelease.studio.audit.worlds import SWEEPS
from tests.examples import COLUMNS, examples
from tests.helpers.small import World

WORLD = World(COLUMNS)
CELLS = WORLD.layout.n_cells
KINDS: dict[str, dict[str, object]] = {
    kind: examples("criteria", kind)[0][-1]
    for kind in CRITERIA
    if SWEEPS.get(kind, ()) and len(examples("criteria", kind)[0]) == 1  # it asks something, and refers to no other criterion
}


def private(table: np.ndarray, judged: Criterion, entropy: Recording) -> PrivateCounts:
    charges = [*judged.once(), *judged.per_score()]
    return PrivateCounts(Counts(WORLD.layout, np.arange(CELLS), table), Meter(charges), entropy)


def asked(judged: Criterion, synthetic: np.ndarray) -> tuple[Query, Fitted]:
    setting, made = WORLD.setting(judged), WORLD.candidate([0])
    object.__setattr__(made, "counts", Counts(WORLD.layout, np.arange(CELLS), synthetic))
    fitted = fitted_before([judged], private(synthetic, judged, Recording()), setting)
    query = judged.query(int(synthetic.sum()), made, setting, fitted)
    assert isinstance(query, Query)
    return query, fitted


def drawn(n: int, random: np.random.Generator) -> np.ndarray:
    return random.multinomial(n - 10 * CELLS, random.dirichlet(np.full(CELLS, 3.0))) + 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_among_a_trillion_moves_a_figure_by_no_more_than_its_noise_covers(kind: str) -> None:
    """In steps of the grid, as they get their noise: what is rounded behind them is paid for."""
    judged, random = criterion(kind, **KINDS[kind]), np.random.default_rng(3)
    for n in (2**35, 2**40 - 3):
        synthetic = drawn(n, random)
        query, fitted = asked(judged, synthetic)
        made, entropy = WORLD.candidate([0]), Recording()
        object.__setattr__(made, "counts", Counts(WORLD.layout, np.arange(CELLS), synthetic))
        for _ in range(8):
            table = drawn(n, random)
            away, to = random.choice(CELLS, 2, replace=False)
            other = table.copy()
            other[away], other[to] = other[away] - 1, other[to] + 1
            for counts in (table, other):
                judged.score(private(counts, judged, entropy), made, WORLD.setting(judged), fitted)
        steps = np.array([int(values[0]) for values in entropy.values]).reshape(-1, 2)
        assert np.abs(steps[:, 0] - steps[:, 1]).max() <= noise_grid(query.sensitivity, n).steps
        assert len(set(steps[:, 0])) > 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "relative_marginal_error"])
def test_a_million_rows_each_a_million_times_have_their_figure(kind: str) -> None:
    """Shares, means and slopes do not change, so that a sum beyond its 64 bits would show."""
    judged, random = criterion(kind, **KINDS[kind]), np.random.default_rng(4)
    synthetic, table = drawn(2**20, random), drawn(2**20, random)
    few, many = (
        asked(judged, factor * synthetic)[0].figure(Counts(WORLD.layout, np.arange(CELLS), factor * table))
        for factor in (1, 2**20)
    )
    assert many == pytest.approx(few, rel=1e-11)
    assert few > 0


@pytest.mark.parametrize("n", [2**30, 2**35, 2**35 + 1, 2**37 - 5, 2**40])
def test_eight_roundings_of_every_row_stay_within_a_quarter_of_a_step(n: int) -> None:
    """And the figure of n rows that each move it as far as one can is not refused (theory 9.2, figure on a grid)."""
    for sensitivity in (1 / n, 1.9999 / n, 2 / n, 3200 / n):
        step, steps = noise_grid(sensitivity, n)
        assert Fraction(step) / 4 >= 8 * n * Fraction(sensitivity) / 2**53
        assert steps <= (1.001 if n <= 2**35 else 1.025) * sensitivity / step
        laplace_figure(n * sensitivity, sensitivity=sensitivity, epsilon=Fraction(1), rows=n)


def test_up_to_32_billion_rows_have_the_grid_of_one() -> None:
    assert noise_grid(0.3, 2**35) == noise_grid(0.3) != noise_grid(0.3, 2**35 + 1)


def test_more_rows_than_figures_are_proved_for_have_no_grid() -> None:
    with pytest.raises(ValueError, match="too many rows"):
        noise_grid(1.0, 2**40 + 1)


@pytest.mark.parametrize("n", [2**30 + 1, 2**31, 2**40])
def test_the_dependence_score_of_large_tables_is_that_of_whole_numbers(n: int) -> None:
    """Its terms reach 2^81: the reference adds up Python's whole numbers. Neighbours stay within 6 n + 4."""
    random = np.random.default_rng(n)
    for concentration in (0.05, 1.0, 100.0):
        table = random.multinomial(n, random.dirichlet(np.full(12, concentration)))
        other = table.copy()
        other[np.argmax(table)] -= 1
        other[np.argmin(table)] += 1
        found = []
        for counts in (table, other):
            rows = [[int(each) for each in row] for row in counts.reshape(4, 3)]
            columns = [sum(column) for column in zip(*rows, strict=True)]
            exact = sum(abs(n * each - sum(row) * columns[place]) for row in rows for place, each in enumerate(row))
            found.append(dependence_score(counts.reshape(2, 2, 3), n))
            assert found[-1] == exact
        assert abs(found[0] - found[1]) <= score_sensitivity(n)
