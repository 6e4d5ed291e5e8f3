"""Utility figures: hand-computed cases, and row-wise references on tables that are expanded to their rows."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from synthrelease.data.counts import Counts
from synthrelease.data.schema import Transformation
from synthrelease.studio.rehearsal.attempts import PublicTable
from synthrelease.studio.rehearsal.risk import matching
from synthrelease.studio.rehearsal.utility import (
    PropensityScore,
    StackedDesign,
    combine,
    compare_regressions,
    fit_line,
    propensity_score,
    utility_figures,
)
from tests.conftest import ROOT
from tests.helpers.late import tree_of
from tests.helpers.small import World

pytestmark = pytest.mark.slow

WORLD = World({"x": 3, "y": 3})
THREE = World({"x": 2, "y": 2, "z": 3})


def table(world: World, rows: Sequence[Sequence[int]]) -> Counts:
    return world.counts([int(np.ravel_multi_index(row, world.layout.sizes)) for row in rows])


def public(world: World, rows: Sequence[Sequence[int]]) -> PublicTable:
    return PublicTable(counts=table(world, rows), transformation=world.transformation, public_because="made up here")


def random_table(world: World, n: int, seed: int) -> Counts:
    return world.counts(list(np.random.default_rng(seed).integers(0, world.layout.n_cells, n)))


def without_numbers(world: World, *columns: str) -> Transformation:
    """The transformation of a world in which some columns are unordered categories."""
    return replace(
        world.transformation,
        binnings=tuple(
            replace(binning, numbers=(None,) * len(binning)) if name in columns else binning
            for name, binning in zip(world.layout.columns, world.transformation.binnings, strict=True)
        ),
    )


# --- the public table ---


def test_private_counts_are_refused_wherever_a_table_is_expected() -> None:
    private = WORLD.private([0, 5], [])
    with pytest.raises(TypeError, match="expected the counts of a public table, found PrivateCounts"):
        PublicTable(counts=private, transformation=WORLD.transformation, public_because="not true")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="synthetic copy 1: .* found PrivateCounts"):
        utility_figures(public(WORLD, FOUR), [private], target="y", features=["x"])  # type: ignore[list-item]


@pytest.mark.parametrize("reason", ["", "  ", None, True])
def test_a_public_table_needs_a_reason(reason: object) -> None:
    with pytest.raises(ValueError, match="Give the reason why these data are public"):
        PublicTable(counts=table(WORLD, FOUR), transformation=WORLD.transformation, public_because=reason)  # type: ignore[arg-type]


def test_a_public_table_cannot_be_made_without_stating_that_it_is_public() -> None:
    with pytest.raises(TypeError, match="public_because"):
        PublicTable(counts=table(WORLD, FOUR), transformation=WORLD.transformation)  # type: ignore[call-arg]


def test_tables_over_other_bins_or_without_rows_are_refused() -> None:
    other = World({"x": 3, "y": 2})
    with pytest.raises(
        ValueError, match="the bins are not those of the transformation. Expected x: 4 bins, y: 4 bins, found x: 4 bins, y: 3"
    ):
        public(WORLD, FOUR).check_copies([other.counts([0])])
    with pytest.raises(
        ValueError, match="the public table: the bins are not those of the transformation. Expected x: 4 bins, y"
    ):
        PublicTable(counts=other.counts([0]), transformation=WORLD.transformation, public_because="made up here")
    with pytest.raises(ValueError, match="public table: the table has no rows"):
        public(WORLD, [])
    with pytest.raises(ValueError, match="synthetic copy 2: the table has no rows"):
        public(WORLD, FOUR).check_copies([WORLD.counts([0]), WORLD.counts([])])
    with pytest.raises(ValueError, match="Give at least one synthetic table"):
        public(WORLD, FOUR).check_copies([])


def test_only_the_rehearsal_and_the_command_line_know_public_tables() -> None:
    """Code that is run on private data must not reach figures without noise."""
    folder = ROOT / "synthrelease"
    users = set()
    naming = [path for path in folder.rglob("*.py") if re.search("public_table|PublicTable", path.read_text("utf-8"))]
    for path in naming:
        for node in ast.walk(tree_of(path)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if any("public_table" in name or name == "PublicTable" for name in names):
                users.add(path.relative_to(folder).parts[0].removesuffix(".py"))
    assert "studio" in users
    assert users <= {"studio", "cli"}


# --- regression ---

FOUR = [(0, 0), (1, 2), (2, 1), (3, 3)]
"""x_bar = y_bar = 1.5, Sxx = 5, Sxy = 2.25 - 0.25 - 0.25 + 2.25 = 4: slope 0.8, intercept 1.5 - 1.2 = 0.3.

Residuals -0.3, 0.9, -0.9, 0.3: RSS 1.8, s^2 = 1.8/2 = 0.9. SE(slope)^2 = 0.9/5 = 0.18, SE(intercept)^2 = 0.9 (1/4 + 2.25/5) =
0.63.
"""


def test_the_line_of_four_rows_is_that_by_hand() -> None:
    line = fit_line(public(WORLD, FOUR), table(WORLD, FOUR), "y", ["x"])
    assert line.estimates == pytest.approx([0.3, 0.8])
    assert line.standard_errors**2 == pytest.approx([0.63, 0.18])
    assert line.degrees_of_freedom == 2


def test_coefficients_are_compared_as_by_hand() -> None:
    """The copy is the original with y one higher for x = 0 and one lower for x = 3: (0,1), (1,2), (2,1), (3,2).

    Sxy = 1.5*0.5 - 0.5*0.5 - 0.5*0.5 + 1.5*0.5 = 1: slope 0.2, intercept 1.2; residuals -0.2, 0.6, -0.6, 0.2: RSS 0.8,
    s^2 = 0.4, SE(slope)^2 = 0.08. The table of t has 4.3027 for 2 degrees of freedom: the original's interval is 0.8 -+ 1.8255,
    the copy's 0.2 -+ 1.2170. They share -1.0170 to 1.4170: 2.4340 of 3.6509 and of 2.4340: overlap (0.66667 + 1)/2.
    Standardised difference 0.6/sqrt(0.18) = sqrt 2.
    """
    found = compare_regressions(
        public(WORLD, FOUR), [table(WORLD, [(0, 1), (1, 2), (2, 1), (3, 2)])], target="y", features=["x"]
    )
    original = found.original.interval(0.95)
    assert (found.original.estimates[1], found.estimates[1]) == pytest.approx((0.8, 0.2))
    assert (found.original.standard_errors[1] ** 2, found.standard_errors[1] ** 2) == pytest.approx((0.18, 0.08))
    assert (original.lower[1], original.upper[1]) == pytest.approx((0.8 - 1.8255, 0.8 + 1.8255), abs=1e-4)
    assert (found.interval.lower[1], found.interval.upper[1]) == pytest.approx((0.2 - 1.2170, 0.2 + 1.2170), abs=1e-4)
    assert found.interval_overlap[1] == pytest.approx(5 / 6, abs=1e-4)
    assert found.standardised_difference[1] == pytest.approx(math.sqrt(2))


def slow_line(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ordinary least squares of the last column on the others, row by row."""
    design = np.column_stack([np.ones(len(rows)), rows[:, :-1]]).astype(float)
    beta, *_ = np.linalg.lstsq(design, rows[:, -1].astype(float), rcond=None)
    residuals = rows[:, -1] - design @ beta
    s2 = residuals @ residuals / (len(rows) - design.shape[1])
    return beta, np.sqrt(s2 * np.diag(np.linalg.inv(design.T @ design)))


@given(st.integers(0, 10**6), st.integers(8, 60))
@settings(max_examples=60, deadline=None)
def test_counts_as_weights_give_the_regression_of_the_rows(seed: int, n: int) -> None:
    """In a world of integer bins the number of a bin is its index."""
    counts = random_table(THREE, n, seed)
    line = fit_line(public(THREE, [(0, 0, 0)]), counts, "z", ["x", "y"])
    rows = counts.expand()
    if np.linalg.matrix_rank(np.column_stack([np.ones(n), rows[:, :2]])) < 3:
        assert not line.determined
        return
    estimates, errors = slow_line(rows)
    assert line.estimates == pytest.approx(estimates, abs=1e-9)
    assert line.standard_errors == pytest.approx(errors, abs=1e-9)


def test_numbers_far_from_zero_lose_no_digits() -> None:
    """The same four rows with x moved to a million and y to minus a million: the slope and its error stay."""
    shifted = replace(
        WORLD.transformation,
        binnings=tuple(
            replace(binning, numbers=tuple(by + number for number in binning.numbers))
            for binning, by in zip(WORLD.transformation.binnings, (1e6, -1e6), strict=True)
        ),
    )
    moved = PublicTable(counts=table(WORLD, FOUR), transformation=shifted, public_because="made up here")
    line = fit_line(moved, moved.counts, "y", ["x"])
    assert line.estimates[1] == pytest.approx(0.8, rel=1e-9)
    assert line.standard_errors[1] ** 2 == pytest.approx(0.18, rel=1e-9)
    assert line.estimates[0] == pytest.approx(0.3 - 1e6 - 0.8e6, rel=1e-12)
    assert line.standard_errors[0] == pytest.approx(math.sqrt(0.9 * (1 / 4 + (1e6 + 1.5) ** 2 / 5)), rel=1e-9)


def test_several_copies_are_combined_by_the_rules() -> None:
    original, copies = random_table(THREE, 80, 1), [random_table(THREE, 60, seed) for seed in (2, 3, 4)]
    report = compare_regressions(public(THREE, original.expand()), copies, target="z", features=["x", "y"])
    lines = [slow_line(copy.expand()) for copy in copies]
    combined = combine(np.array([beta for beta, _ in lines]), np.array([se**2 for _, se in lines]))
    assert report.estimates.shape == (3,)
    assert report.estimates == pytest.approx(combined.estimate)
    assert report.standard_errors == pytest.approx(np.sqrt(combined.total_variance))
    half = stats.t.ppf(0.975, combined.degrees_of_freedom) * np.sqrt(combined.total_variance)
    assert report.interval.lower == pytest.approx(combined.estimate - half)
    assert report.interval.upper == pytest.approx(combined.estimate + half)


@pytest.mark.parametrize(
    ("rows", "features"),
    [
        ([(1, 0, 0), (1, 1, 1), (1, 2, 3), (1, 0, 2)], ["x"]),  # x is constant
        ([(0, 0, 0), (1, 1, 1), (2, 2, 3), (0, 0, 2)], ["x", "y"]),  # x equals y
        ([(0, 0, 0), (1, 1, 1)], ["x"]),  # no degree of freedom is left
    ],
)
def test_an_undetermined_regression_is_refused_in_the_original_and_nan_in_a_copy(rows, features: list[str]) -> None:
    copy, good = table(THREE, rows), public(THREE, random_table(THREE, 50, 5).expand())
    with pytest.raises(ValueError, match="rows do not determine every coefficient"):
        compare_regressions(public(THREE, rows), [copy], target="z", features=features)
    for copies in ([copy], [copy, good.counts]):
        found = compare_regressions(good, copies, target="z", features=features)
        assert math.isnan(found.interval_overlap[1])
        assert math.isnan(found.standardised_difference[1])
        assert math.isfinite(found.original.standard_errors[1])


@pytest.mark.parametrize(
    ("target", "features", "message"),
    [
        ("z", ["x", "x"], "a column is named twice .*Name each column once"),
        ("z", ["z"], "a column is named twice .*Name each column once"),
        ("z", ["xx"], "the table has no column 'xx'. Its columns are 'x', 'y', 'z'"),
        ("z", ["y"], "features: the bins of 'y' have no representative values"),
        ("y", ["x"], "target: the bins of 'y' have no representative values"),
    ],
)
def test_impossible_regressions_are_refused(target: str, features: list[str], message: str) -> None:
    counts = random_table(THREE, 50, 5)
    named = PublicTable(counts=counts, transformation=without_numbers(THREE, "y"), public_because="made up here")
    with pytest.raises(ValueError, match=message):
        compare_regressions(named, [counts], target=target, features=features)


# --- propensity scores ---

TWO = World({"x": 1, "y": 1})
ONE = World({"x": 1})


def test_the_score_of_one_column_is_that_by_hand() -> None:
    """Original 3 and 1 rows, synthetic 1 and 3: p = 1/4 and 3/4, each 1/4 from c = 1/2: pMSE = 1/16.

    k = 2 and N = 8: null expectation 1 * 1/2 * 1/4 / 8 = 1/64, ratio 4.
    """
    score = propensity_score(public(ONE, [(0,), (0,), (0,), (1,)]), ONE.counts([0, 1, 1, 1]))
    assert score.pmse == pytest.approx(1 / 16, abs=1e-6)
    assert score.null_expectation == pytest.approx(1 / 64)
    assert score.n_parameters == 2
    assert score.ratio == pytest.approx(4, abs=1e-4)


def test_tables_of_different_size_are_compared_to_the_synthetic_share() -> None:
    """Original 2 and 4 rows, synthetic 2 and 1: p = 1/2 and 1/5, c = 3/9. 4 (1/6)^2 + 5 (2/15)^2 = 1/9 + 4/45 = 1/5.

    pMSE = (1/5)/9 = 1/45; null expectation 1 * 1/3 * 4/9 / 9 = 4/243.
    """
    score = propensity_score(public(ONE, [(0,)] * 2 + [(1,)] * 4), ONE.counts([0, 0, 1]))
    assert score.pmse == pytest.approx(1 / 45, abs=1e-6)
    assert score.null_expectation == pytest.approx(4 / 243)


def test_a_difference_in_the_correlation_alone_is_seen() -> None:
    """Original 2, 0, 0, 2 and synthetic 1, 1, 1, 1 over (x, y): both columns agree on their own.

    p = 1/3, 1, 1, 1/3 in cells of 3, 1, 1, 3 rows: (3/36 + 1/4 + 1/4 + 3/36)/8 = 1/12. k = 4, N = 8: 3 * 1/8 / 8 = 3/64; ratio
    16/9. For two columns of two bins the logistic model is saturated, too.
    """
    original, copy = public(TWO, [(0, 0), (0, 0), (1, 1), (1, 1)]), TWO.counts([0, 1, 2, 3])
    score = propensity_score(original, copy)
    assert score.pmse == pytest.approx(1 / 12, abs=1e-5)
    assert score.n_parameters == 4
    assert score.ratio == pytest.approx(16 / 9, abs=1e-3)


def test_columns_without_numbers_have_no_product() -> None:
    counts = table(TWO, [(0, 0), (0, 0), (1, 1), (1, 1)])
    original = PublicTable(counts=counts, transformation=without_numbers(TWO, "y"), public_because="made up here")
    copy = TWO.counts([0, 1, 2, 3])
    assert propensity_score(original, copy).n_parameters == 3
    assert propensity_score(original, copy).pmse == pytest.approx(0, abs=1e-9)


def test_equal_tables_score_zero_and_disjoint_ones_the_most() -> None:
    original = public(THREE, random_table(THREE, 200, 1).expand())
    assert propensity_score(original, original.counts).pmse == pytest.approx(0, abs=1e-12)
    left, right = public(ONE, [(0,)] * 3), ONE.counts([1])
    assert propensity_score(left, right).pmse == pytest.approx(3 / 16, abs=1e-4)  # c (1 - c) with c = 1/4


def test_a_table_of_one_occupied_bin_has_no_ratio() -> None:
    score = propensity_score(public(ONE, [(0,)] * 3), ONE.counts([0]))
    assert (score.pmse, score.n_parameters) == (pytest.approx(0), 1)
    assert math.isnan(score.ratio)


def slow_score(original: np.ndarray, synthetic: np.ndarray, sizes: Sequence[int]) -> float:
    """pMSE of stacked rows: indicators of all bins and products of standardised numbers, fitted by scikit-learn."""
    rows = np.vstack([original, synthetic])
    label = np.repeat([0, 1], [len(original), len(synthetic)])
    standard = (rows - rows.mean(axis=0)) / np.maximum(rows.std(axis=0), 1e-9)
    d = rows.shape[1]
    indicators = [rows[:, c] == bin_ for c in range(d) for bin_ in range(1, sizes[c])]
    products = [standard[:, a] * standard[:, b] for a in range(d) for b in range(a + 1, d)]
    design = np.column_stack([*indicators, *products]).astype(float)
    library = pytest.importorskip("sklearn.linear_model", reason="needs the extra audit")
    fit = library.LogisticRegression(C=1e8, solver="newton-cholesky", tol=1e-12, max_iter=10_000).fit(design, label)
    return float(np.mean((fit.predict_proba(design)[:, 1] - label.mean()) ** 2))


@given(st.integers(0, 10**6), st.integers(40, 200), st.integers(40, 200))
@settings(max_examples=25, deadline=None)
def test_scores_of_cells_are_those_of_the_rows(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(THREE.layout.n_cells))
    original, copy = random_table(THREE, n, seed), THREE.counts(list(rng.choice(THREE.layout.n_cells, m, p=weights)))
    score = propensity_score(public(THREE, original.expand()), copy)
    assert score.pmse == pytest.approx(slow_score(original.expand(), copy.expand(), THREE.layout.sizes), abs=2e-5)
    assert 0 <= score.pmse <= n * m / (n + m) ** 2 + 1e-12


def test_steps_that_overshoot_are_halved() -> None:
    """Two tables of few, mostly different cells, for which Newton's method without a line search runs away."""
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(THREE.layout.n_cells, 0.05), size=2)
    original, copy = (Counts(THREE.layout, np.arange(THREE.layout.n_cells), rng.multinomial(300, share)) for share in shares)
    score = propensity_score(public(THREE, original.expand()), copy)
    assert score.pmse == pytest.approx(slow_score(original.expand(), copy.expand(), THREE.layout.sizes), abs=1e-4)


def test_a_billion_rows_converge_to_the_score_of_their_shares() -> None:
    original, copy = random_table(THREE, 200, 1), random_table(THREE, 100, 2)
    small = propensity_score(public(THREE, original.expand()), copy)
    many = [Counts(one.layout, one.codes, one.counts * 10**7) for one in (original, copy)]
    large = propensity_score(replace(public(THREE, [(0, 0, 0)]), counts=many[0]), many[1])
    assert large.pmse == pytest.approx(small.pmse, abs=1e-8)


def test_bins_of_one_table_alone_do_not_spoil_the_fit() -> None:
    """x = 0 occurs in the original alone (p = 0) and x = 3 in the copy alone (p = 1).

    The rest has x = 1 with 2 and 6 rows (p = 3/4) and x = 2 with 6 and 2 (p = 1/4); c = 1/2, N = 32, y is constant.
    pMSE = (16 * 1/4 + 16 * 1/16)/32 = 5/32; k = 4.
    """
    original = public(WORLD, [(0, 0)] * 8 + [(1, 0)] * 2 + [(2, 0)] * 6)
    score = propensity_score(original, table(WORLD, [(1, 0)] * 6 + [(2, 0)] * 2 + [(3, 0)] * 8))
    assert score.pmse == pytest.approx(5 / 32, abs=1e-5)
    assert score.n_parameters == 4


def test_columns_that_repeat_each_other_count_once() -> None:
    """x = y in every row, so the model is that of one column: the case by hand above, with k = 2."""
    score = propensity_score(public(TWO, [(0, 0)] * 3 + [(1, 1)]), table(TWO, [(0, 0)] + [(1, 1)] * 3))
    assert score.pmse == pytest.approx(1 / 16, abs=1e-6)
    assert score.n_parameters == 2


def test_a_product_that_is_zero_in_every_cell_counts_nothing() -> None:
    """x or y is at its mean in every row: k is 1 + 2 + 2, less the one that x and y share (x at its mean or y at its mean)."""
    cross = [(1, 0), (1, 2), (0, 1), (2, 1)]
    score = propensity_score(public(WORLD, cross), table(WORLD, cross))
    assert score.n_parameters == 4
    assert score.pmse == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("times", [1, 2])
def test_rows_drawn_from_the_original_have_a_ratio_of_one(times: int) -> None:
    """Mean of 200 ratios, each about chi2(k - 1)/(k - 1) with k = 11: standard error sqrt(2/10/200) = 0.03.

    Without the factor 1 - c the ratio would be 1/2 or 1/3, and with tables drawn independently of each other it is 2.
    """
    rng = np.random.default_rng(11)
    original = public(THREE, random_table(THREE, 2000, 3).expand())
    shares = original.counts.counts / original.n
    ratios = []
    for _ in range(200):
        copy = Counts(original.counts.layout, original.counts.codes, rng.multinomial(times * original.n, shares))
        score = propensity_score(original, copy)
        ratios.append(score.ratio)
    assert score.n_parameters == 11
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


# --- the report ---


def report(copies: Sequence[Counts]) -> dict[str, float]:
    original = public(THREE, random_table(THREE, 300, 1).expand())
    return utility_figures(original, copies or [original.counts], target="z", features=["x", "y"])


def test_the_original_as_its_own_copy_is_perfect() -> None:
    assert report([]) == pytest.approx(
        {"pmse": 0, "pmse_ratio": 0, "mean_interval_overlap": 1, "mean_standardised_difference": 0}, abs=1e-9
    )


def test_figures_of_a_report_are_means_over_copies_and_slopes() -> None:
    copies = [random_table(THREE, 300, 8), random_table(THREE, 150, 9)]
    means, first, second = report(copies), report(copies[:1]), report(copies[1:])
    for name in ("pmse", "pmse_ratio"):
        assert means[name] == pytest.approx((first[name] + second[name]) / 2)
    original = public(THREE, random_table(THREE, 300, 1).expand())
    found = compare_regressions(original, copies, target="z", features=["x", "y"])
    assert means["mean_interval_overlap"] == pytest.approx(found.interval_overlap[1:].mean())
    assert means["mean_standardised_difference"] == pytest.approx(found.standardised_difference[1:].mean())


def test_a_regression_that_the_table_does_not_determine_has_no_figures() -> None:
    constant = public(THREE, [(1, 1, 1)] * 30)
    assert set(utility_figures(constant, [constant.counts], target="z", features=["x"])) == {"pmse", "pmse_ratio"}


def test_a_score_without_a_null_expectation_is_nan_and_not_good() -> None:
    assert math.isnan(PropensityScore(pmse=0.0, null_expectation=0.0, n_parameters=1).ratio)


# --- missing values ---

GAPS = Transformation(
    schema=WORLD.schema, binnings=tuple(binning.with_missing("missing") for binning in WORLD.transformation.binnings)
)
"""WORLD with a fifth bin in both columns, for missing values."""
ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25)


def with_gaps(rows: Sequence[tuple[int, int]]) -> PublicTable:
    return PublicTable(
        counts=Counts.of(GAPS.layout, [np.array([row[i] for row in rows]) for i in range(2)]),
        transformation=GAPS,
        public_because="made up here",
    )


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_a_line_is_that_of_the_rows_without_gaps(rows: list[tuple[int, int]]) -> None:
    complete = [row for row in rows if 4 not in row]
    found = fit_line(with_gaps(rows), with_gaps(rows).counts, "y", ["x"])
    if not complete:
        assert not found.determined
        return
    expected = fit_line(public(WORLD, complete), table(WORLD, complete), "y", ["x"])
    assert found.degrees_of_freedom == expected.degrees_of_freedom
    np.testing.assert_allclose(found.estimates, expected.estimates)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors)


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS)
def test_products_of_the_propensity_model_are_0_where_a_number_is_missing(
    rows: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    original, copy = with_gaps(rows), with_gaps(others).counts
    products = StackedDesign.of(original, copy).many
    both = [*rows, *others]
    standard = []
    for column in range(2):
        known = np.array([row[column] for row in both if row[column] != 4], dtype=float)
        if len(known) and known.std() > 0:
            standard.append({value: (value - known.mean()) / known.std() for value in range(4)} | {4: 0.0})
    assert products.shape[1] == (len(standard) == 2)
    if len(standard) == 2:
        cells = sorted(set(both))
        np.testing.assert_allclose(products[:, 0], [standard[0][x] * standard[1][y] for x, y in cells], atol=1e-12)


def test_at_a_distance_of_zero_the_same_bin_alone_is_near() -> None:
    """Also where two bins have one number, as "<1" and "1" do: thirty such columns would have 3^30 combinations of steps."""
    world = World(dict.fromkeys("abcdefgh", 2))
    same = tuple(replace(binning, numbers=(1.0, 1.0)) for binning in world.transformation.binnings)
    original = PublicTable(
        counts=table(world, [(0,) * 8, (1,) * 8]),
        transformation=replace(world.transformation, binnings=same),
        public_because="made up here",
    )
    assert matching(original, original.counts, range(8)).tolist() == [1, 1]
