"""What the drawing of rows adds to the figure of a criterion, against the figures of files and of subsets of their rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from synthrelease.criteria import explain
from synthrelease.generators.drawing import Drawing
from synthrelease.studio.audit.enumeration import sweeps
from synthrelease.studio.audit.exact import exact_figures
from synthrelease.studio.audit.sweep import Sweep

ADDING = {
    "absolute_marginal_error",
    "conditional_median",
    "difference_in_proportions",
    "kolmogorov_distance",
    "mean_marginal_error",
    "quantile_marginal_error",
}
PLAIN = [each for each in sweeps() if not each.joint and each.linked is None and each.kind in ADDING]


class AllShares(Drawing):
    """A drawing of which the largest difference of any share is known: `risk`."""

    def of_shares(self, shares: int) -> float:
        return self.risk


def test_which_criteria_limit_what_the_drawing_adds() -> None:
    for sweep in (each for each in sweeps() if not each.joint and each.linked is None and each.kind not in ADDING):
        judged, world = sweep.criteria[-1], sweep.world
        facts = world.setting(*sweep.criteria).facts(world.transformation, world.counts([0]))
        assert explain(judged).drawn_error(AllShares(n=1, most=2, risk=0.1), facts) is None
    assert {each.kind for each in PLAIN} == ADDING


@pytest.mark.parametrize("sweep", PLAIN, ids=lambda one: one.name)
def test_a_figure_of_the_file_is_within_the_limit_of_the_drawing(sweep: Sweep) -> None:
    """A release has n rows, its file K = 2n: the figure of the file is that of the released table with every row twice."""
    random, world, judged = np.random.default_rng(7), sweep.world, sweep.criteria[-1]
    cells, n = world.layout.n_cells, 6
    figures = partial(exact_figures, judged, world, fitted=sweep.fitted)
    higher = 0
    for _ in range(60):
        released = random.multinomial(n, random.dirichlet(np.ones(cells)))
        file = random.multinomial(2 * n, random.dirichlet(np.ones(cells)))
        drawn = random.multivariate_hypergeometric(file, n)
        of_drawn, of_file = figures(drawn[None], released), figures(file[None], 2 * released)
        if of_drawn.void:
            continue
        moved = float(np.abs(file / 2 - drawn).sum() / 2 / n)  # the most that any share moves
        counts = world.counts(np.repeat(np.arange(cells), released).tolist())
        facts = world.setting(judged).facts(world.transformation, counts)
        added = explain(judged).drawn_error(AllShares(n=n, most=2 * n, risk=moved), facts)
        assert added is not None
        higher += float(of_file.values[0]) > float(of_drawn.values[0])
        assert float(of_file.values[0]) <= float(of_drawn.values[0]) + added + 1e-12
    assert higher


def test_figures_of_members_are_limited_by_no_drawing_of_roots() -> None:
    for sweep in (each for each in sweeps() if each.linked is not None and each.kind in ADDING and not each.joint):
        judged, world = sweep.criteria[-1], sweep.world
        if getattr(judged, "of", None) is not None:
            facts = world.setting(judged).facts(world.transformation, world.counts(list(world.cells[:1])))
            assert explain(judged).drawn_error(AllShares(n=1, most=2, risk=0.1), facts) is None
            assert explain(judged).every_cell_up_to(3) == 0
