"""Combining rules, confidence intervals and their overlap: hand-computed cases, published figures, and a coverage check."""

from __future__ import annotations

import math
from statistics import fmean, variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.studio.rehearsal.utility import (
    ConfidenceIntervals,
    combine,
    interval_overlap,
    standardised_difference,
    student_interval,
)
from tests.helpers.copies_of_samples import TRUTH, Sample, known_noise, nested, partial, simple, twice
from tests.reproduction.tables import printed

estimate_and_variance = st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))


def interval(low: float, high: float) -> ConfidenceIntervals:
    return ConfidenceIntervals(lower=np.array([low]), upper=np.array([high]))


def test_four_copies_are_combined_as_by_hand() -> None:
    """q = 1, 2, 3, 6: q_bar = 12/4 = 3, b = (4 + 1 + 0 + 9)/3 = 14/3. v = 1, 1, 2, 4: v_bar = 2.

    T = (14/3)/4 + 2 = 7/6 + 2 = 19/6. r = (7/6)/2 = 7/12, nu = 3 (1 + 12/7)^2 = 3 (19/7)^2 = 1083/49 = 22.102.
    """
    combined = combine(np.array([1, 2, 3, 6]), np.array([1, 1, 2, 4]))
    assert combined.n_copies == 4
    assert combined.estimate == pytest.approx(3)
    assert combined.between_variance == pytest.approx(14 / 3)
    assert combined.within_variance == pytest.approx(2)
    assert combined.total_variance == pytest.approx(19 / 6)
    assert combined.degrees_of_freedom == pytest.approx(1083 / 49)


def test_the_interval_uses_students_distribution() -> None:
    """q = -1, 1 and v = 0: b = 2, T = 1, nu = 1; the table of the t distribution has 12.706 for 1 degree of freedom."""
    combined = combine(np.array([-1.0, 1.0]), np.zeros(2))
    assert combined.degrees_of_freedom == pytest.approx(1)
    assert combined.interval(0.95).upper == pytest.approx(12.706, abs=1e-3)
    assert combined.interval(0.95).lower == pytest.approx(-12.706, abs=1e-3)


def test_copies_that_agree_give_the_normal_interval() -> None:
    """b = 0, so nu is infinite: 5 -+ 1.95996 * sqrt(4)."""
    combined = combine(np.array([5.0, 5.0, 5.0]), np.array([3.0, 4.0, 5.0]))
    assert math.isinf(combined.degrees_of_freedom)
    assert combined.interval().upper == pytest.approx(5 + 2 * 1.959964, abs=1e-5)


def test_copies_that_agree_without_variance_give_a_point() -> None:
    combined = combine(np.array([5.0, 5.0]), np.zeros(2))
    assert math.isinf(combined.degrees_of_freedom)
    assert (combined.interval().lower, combined.interval().upper) == (5, 5)


def test_copies_that_hardly_differ_have_infinitely_many_degrees_of_freedom() -> None:
    """b = 2e-200: nu = 1e400 is beyond a double."""
    combined = combine(np.array([0.0, 2e-100]), np.ones(2))
    assert combined.between_variance > 0
    assert math.isinf(combined.degrees_of_freedom)


@pytest.mark.slow
@given(st.lists(st.lists(estimate_and_variance, min_size=3, max_size=3), min_size=2, max_size=6))
def test_every_quantity_is_combined_by_the_formulas_of_the_source(copies: list[list[tuple[float, float]]]) -> None:
    combined = combine(np.array([[q for q, _ in copy] for copy in copies]), np.array([[v for _, v in copy] for copy in copies]))
    m = len(copies)
    for i in range(3):
        q, v = [copy[i][0] for copy in copies], [copy[i][1] for copy in copies]
        b, v_bar = variance(q), fmean(v)
        assert combined.estimate[i] == pytest.approx(fmean(q), abs=1e-9)
        assert combined.total_variance[i] == pytest.approx(b / m + v_bar)
        r = b / m / v_bar
        if r > 1e-12:
            assert combined.degrees_of_freedom[i] == pytest.approx((m - 1) * (1 + 1 / r) ** 2, rel=1e-6)


def test_intervals_cover_the_parameter_as_often_as_they_say() -> None:
    """Copies q_m ~ N(q_obs, B) of an original q_obs ~ N(Q, V), v_m = V: q_bar has variance V + B/M (Reiter 2003).

    Over 20000 draws a coverage has a standard deviation of 0.0015. Rubin's rule for missing data, with b (1 + 1/M), and the
    copy's own variance alone must not pass the same check.
    """
    draws, copies, original_sd, copy_sd = 20_000, 5, 1.0, 1.5
    rng = np.random.default_rng(7)
    q_obs = rng.normal(0, original_sd, draws)
    estimates = q_obs + rng.normal(0, copy_sd, (copies, draws))
    combined = combine(estimates, np.full((copies, draws), original_sd**2))

    def coverage(of: ConfidenceIntervals) -> float:
        return float(np.mean((of.lower <= 0) & (of.upper >= 0)))

    def with_variance(total: np.ndarray) -> ConfidenceIntervals:
        return student_interval(combined.estimate, total, combined.degrees_of_freedom, 0.95)

    assert coverage(combined.interval(0.95)) == pytest.approx(0.95, abs=0.008)
    rubin = combined.within_variance + (1 + 1 / copies) * combined.between_variance
    assert coverage(with_variance(rubin)) > 0.97
    assert coverage(with_variance(combined.within_variance)) < 0.935


def test_an_estimate_that_one_copy_lacks_is_combined_to_nan() -> None:
    combined = combine(np.array([[1.0, 2.0], [1.0, math.nan]]), np.array([[1.0, 1.0], [1.0, math.nan]]))
    assert combined.estimate[0] == 1
    assert np.isnan([combined.estimate[1], combined.total_variance[1], combined.interval().lower[1]]).all()
    assert np.isnan(combined.degrees_of_freedom[1])


@pytest.mark.parametrize(
    ("original", "synthetic", "expected"),
    [
        ((0, 4), (0, 4), 1.0),
        ((0, 4), (2, 4), 0.75),  # they share 2: half of one, all of the other
        ((0, 4), (3, 5), 0.375),  # they share 1: (1/4 + 1/2) / 2
        ((0, 1), (3, 5), -1.5),  # they are 2 apart: (-2/1 - 2/2) / 2
        ((0, 2), (2, 4), 0.0),
    ],
)
def test_overlap_is_the_mean_of_both_shares(original, synthetic, expected: float) -> None:
    assert interval_overlap(interval(*original), interval(*synthetic)) == pytest.approx([expected])
    assert interval_overlap(interval(*synthetic), interval(*original)) == pytest.approx([expected])


PUBLISHED = [
    (tuple(original), tuple(synthetic), float(overlap), float(difference))
    for _, _, original, synthetic, overlap, difference in printed()["copies"]["rows"]
]
"""Jiang (2025), slide "Utility of synthetic datasets: predict work disability": all inputs rounded to three digits. Eight
variables, each with data-augmented imputation and with CART."""


@pytest.mark.parametrize(("original", "synthetic", "overlap", "difference"), PUBLISHED)
def test_published_figures_are_found_again(original, synthetic, overlap: float, difference: float) -> None:
    """Within what rounding leaves: 0.003 of an overlap; of a difference 0.5%, or 0.012."""
    assert interval_overlap(interval(*original[1:]), interval(*synthetic[1:])) == pytest.approx([overlap], abs=0.003)
    standard_error = np.array([(original[2] - original[1]) / 2 / 1.96])
    found = standardised_difference(np.array([original[0]]), np.array([synthetic[0]]), standard_error)
    assert found == pytest.approx([difference], rel=0.005, abs=0.012)


def test_the_standard_error_of_the_synthetic_estimate_would_not_give_the_published_differences() -> None:
    """A known fault: the difference in units of the copy's own standard error."""
    wrong = []
    for original, synthetic, _, difference in PUBLISHED:
        error = np.array([(synthetic[2] - synthetic[1]) / 2 / 1.96])
        found = standardised_difference(np.array([original[0]]), np.array([synthetic[0]]), error)
        wrong.append(abs(found[0] - difference) > max(0.005 * difference, 0.012))
    assert sum(wrong) > 8


def test_disjoint_intervals_overlap_by_less_than_nothing() -> None:
    """A known fault: an overlap cut off at 0 would give 0 for the last one printed, -1.026."""
    assert min(overlap for _, _, overlap, _ in PUBLISHED) < -1
    assert (interval_overlap(interval(0.965, 1.684), interval(-0.255, 0.313)) < -1).all()


def test_intervals_without_width_or_with_nan_have_no_overlap_figure() -> None:
    assert np.isnan(interval_overlap(interval(1, 1), interval(0, 2)))
    assert np.isnan(interval_overlap(interval(0, 2), interval(1, 1)))
    assert np.isnan(interval_overlap(interval(0, 2), interval(3, 3)))
    assert np.isnan(interval_overlap(interval(0, 2), interval(math.nan, math.nan)))
    assert np.isnan(standardised_difference(np.array([1.0]), np.array([2.0]), np.array([0.0])))


# --- a rule for each kind of copy ---


def test_the_other_rules_are_as_by_hand() -> None:
    """q = 1, 2, 3, 6 and v_bar = 2 as above: b = 14/3. k/n = 1/2: T_s = (1/2 + 1/4) 2 = 3/2; else 5/4 14/3 + 2 = 47/6."""
    q, v = np.array([1, 2, 3, 6]), np.array([1, 1, 2, 4])
    one = combine(q, v, "simple", 0.5)
    assert one.total_variance == pytest.approx(3 / 2)
    assert math.isinf(one.degrees_of_freedom)


def test_nested_copies_are_combined_as_by_hand() -> None:
    """Two imputations of two copies: q = 1, 3 and 5, 9, v = 2 throughout. Means 2, 7: B = 25/2. Inside: 2 and 8, W = 5. U = 2.

    T = (3/2)(25/2) - 5/2 + 2 = 18.25; 1/nu = (18.75/18.25)^2 / 1 + (2.5/18.25)^2 / 2.
    """
    found = nested(np.array([[1.0, 3.0], [5.0, 9.0]]), np.full((2, 2), 2.0))
    assert found.estimate == pytest.approx(4.5)
    assert found.total_variance == pytest.approx(18.25)
    assert found.degrees_of_freedom == pytest.approx(1 / ((18.75 / 18.25) ** 2 + (2.5 / 18.25) ** 2 / 2))
    negative = nested(np.array([[0.0, 8.0], [0.0, 8.0]]), np.ones((2, 2)))  # B = 0, W = 32: T would be -15
    assert negative.total_variance == pytest.approx(1)
    with pytest.raises(ValueError, match="at least two imputations of two copies"):
        nested(np.ones((1, 2)), np.ones((1, 2)))


COVERED = [
    # kind of copies, k/n, the rule that belongs to it, and one that does not
    (partial, 1.0, "partial", None),
    (simple(4.0), 4.0, "simple", "partial"),
    (simple(1.0, "own"), 1.0, "partial", None),
    (simple(1.0, "one"), 1.0, None, "partial"),
    (simple(1.0, "one"), 1.0, None, "simple"),
    (known_noise, 1.0, None, "partial"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "ratio", "right", "wrong"), COVERED)
def test_intervals_hold_the_truth_where_the_rule_belongs_to_the_copies_and_else_not(make, ratio, right, wrong) -> None:
    """300 samples; 95% is within four standard errors, 5%. All kinds and rules: tests/benchmarks/combining.py."""
    random = np.random.default_rng(11)
    held = {right: 0, wrong: 0}
    for _ in range(300):
        estimates, variances = make(Sample.draw(200, random), 5, random)
        for rule in held:
            if rule is not None:
                found = combine(estimates, variances, rule, ratio).interval()
                held[rule] += bool(found.lower <= TRUTH <= found.upper)
    assert right is None or held[right] > 0.9 * 300
    assert wrong is None or held[wrong] < 0.88 * 300


@pytest.mark.slow
def test_nested_intervals_hold_the_truth() -> None:
    random = np.random.default_rng(12)
    found = [nested(*twice(3)(Sample.draw(200, random), 3, random)).interval() for _ in range(300)]
    assert 0.9 < np.mean([one.lower <= TRUTH <= one.upper for one in found]) < 0.99
