"""Logistic regression on groups of rows: against rows and a library, and where the outcomes are separated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from synthrelease.data.counts import Counts
from synthrelease.studio.rehearsal.attempts import PublicTable
from synthrelease.studio.rehearsal.logit import fit_logit
from synthrelease.studio.rehearsal.utility import compare_regressions, fit_odds
from tests.helpers.small import World

WORLD = World({"x": 2, "z": 3, "y": 2})


def design() -> np.ndarray:
    return np.array([[1.0, x, z] for x, z in product((-1.0, 0.0, 1.0), (0.0, 1.0))])


GROUPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=6, max_size=6)


def separated(matrix: np.ndarray, no: Sequence[int], yes: Sequence[int]) -> bool:
    """Whether a line has all outcomes on their side, some of them strictly: then, and only then, there is no maximum."""
    signed = [row for row, count in zip(matrix, yes, strict=True) if count]
    signed += [-row for row, count in zip(matrix, no, strict=True) if count]
    sides = np.array(signed)
    found = linprog(-sides.sum(axis=0), A_ub=-sides, b_ub=np.zeros(len(sides)), bounds=[(-1, 1)] * matrix.shape[1])
    return bool(-found.fun > 1e-9)


@pytest.mark.slow
@given(GROUPS)
@example([(0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (1, 1)])  # the likelihood is flat to the last bit before the steps are small
@settings(max_examples=60, deadline=None)
def test_there_is_an_estimate_just_where_no_line_separates(groups: list[tuple[int, int]]) -> None:
    no, yes = [a for a, _ in groups], [b for _, b in groups]
    rows = np.array(no) + np.array(yes)
    fit = fit_logit(design(), rows, np.array(yes))
    determined = rows.sum() > 3 and np.linalg.matrix_rank(design()[rows > 0]) == 3
    assert (fit is not None) == (determined and not separated(design(), no, yes))
    if fit is not None:
        slope = design().T @ (np.array(yes) - rows / (1 + np.exp(-design() @ fit.estimates)))
        assert np.abs(slope).max() < 1e-6  # the score vanishes at the maximum of a concave function


def test_groups_are_rows() -> None:
    random = np.random.default_rng(3)
    cells = random.integers(0, WORLD.layout.n_cells, 500)
    counts = WORLD.counts(list(cells))
    x, z, y = (bins.astype(float) for bins in counts.expand().T)
    original = PublicTable(counts=counts, transformation=WORLD.transformation, public_because="made up here")
    numbers = {name: WORLD.transformation.numbers(name) for name in "xz"}
    labels = WORLD.transformation.binning("y").labels
    line = fit_odds(original, counts, "y", labels[1:], ["x", "z"])
    matrix = np.column_stack([numbers["x"][x.astype(int)], numbers["z"][z.astype(int)]])
    models = pytest.importorskip("sklearn.linear_model", reason="needs the extra audit")
    library = models.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(matrix, y >= 1)
    assert line.estimates == pytest.approx([*library.intercept_, *library.coef_[0]], abs=1e-5)
    full = np.column_stack([np.ones(len(y)), matrix])
    fitted = library.predict_proba(matrix)[:, 1]
    covariance = np.linalg.inv(full.T @ (full * (fitted * (1 - fitted))[:, None]))
    assert line.standard_errors == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-4)


def test_a_copy_whose_outcomes_are_separated_has_no_overlap_and_an_original_is_refused() -> None:
    mixed = WORLD.counts([place for place in range(WORLD.layout.n_cells) for _ in range(1 + place % 3)])
    labels = WORLD.transformation.binning("y").labels
    apart = Counts.of(WORLD.layout, [np.array([0, 1, 2, 0, 1, 2]), np.array([0, 1, 0, 1, 2, 3]), np.array([0, 0, 2, 0, 0, 2])])
    original = PublicTable(counts=mixed, transformation=WORLD.transformation, public_because="made up here")
    same, found = (
        compare_regressions(original, [copy], target="y", features=["x", "z"], positive=labels[1:2]) for copy in (mixed, apart)
    )
    assert same.interval_overlap == pytest.approx([1, 1, 1])
    assert np.isnan([found.interval_overlap, found.standardised_difference]).all()
    alone = PublicTable(counts=apart, transformation=WORLD.transformation, public_because="made up here")
    with pytest.raises(ValueError, match="outcomes that no line separates"):
        compare_regressions(alone, [mixed], target="y", features=["x", "z"], positive=labels[2:])


def test_labels_that_make_no_two_values_are_refused() -> None:
    mixed = WORLD.counts(list(range(WORLD.layout.n_cells)))
    original = PublicTable(counts=mixed, transformation=WORLD.transformation, public_because="made up here")
    for positive in ([], WORLD.transformation.binning("y").labels):
        with pytest.raises(ValueError, match="rows that determine every coefficient"):
            compare_regressions(original, [mixed], target="y", features=["x"], positive=positive)
