"""Estimates against the table they are of: without noise they are exact; over all noise their intervals hold it."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from synthrelease.answers.averages import Ratio
from synthrelease.answers.estimates import estimate
from synthrelease.answers.tables import PublishedTables
from synthrelease.answers.words import Estimate, Term
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from tests.helpers.published import category_column, integer_column, never, noisy_tables, published

A, B, C = integer_column("a", [0, 1, 2, 3]), integer_column("b", [0, 1, 2, 4], unit="grams"), integer_column("c", [0, 1, 2])
D = category_column("d", {"x": ["x"], "y": ["y"]})
GAPS = replace(C, name="g", labels=("0", "1", "none"), numbers=(0.0, 1.0, None), missing=2)
COLUMNS = (A, B, C, D, GAPS)
NAMES = "abcdg"


def rows(n: int, seed: int = 0) -> np.ndarray:
    """(n, 5) with dependence between all columns."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 3, n)
    b = np.minimum(2, (a + random.integers(0, 3, n)) // 2)
    c = (random.random(n) < 0.2 + 0.2 * a).astype(int)
    return np.column_stack([a, b, c, random.integers(0, 2, n), (c + random.integers(0, 2, n))])


TABLE = rows(3000)


def release(
    table: np.ndarray,
    measured: Sequence[str],
    epsilon: Fraction = Fraction(1, 5),
    random: np.random.Generator | None = None,
    times: float = 1.0,
    rules: Sequence[str] = (),
) -> PublishedRelease:
    """A release whose noisy tables are of these columns; without a generator they have no noise, as if by chance."""
    found = noisy_tables(COLUMNS, table, measured, epsilon, random)
    made = published(COLUMNS, np.zeros((len(table), len(COLUMNS)), dtype=int), (), rules=[never(rule) for rule in rules])
    return replace(made, measurements=Measurements(tables=found, times=times))


def ends(term: Term) -> tuple[float, float]:
    """Of the interval for the table, by the numbers that stand for bins."""
    low, high = (term.low, term.high) if term.binned_low is None else (term.binned_low, term.binned_high)
    assert low is not None
    assert high is not None
    return low, high


def width(term: Term) -> float:
    low, high = ends(term)
    return high - low


def population_half(term: Term) -> float:
    low, high = term.population_low, term.population_high
    if term.population_binned_low is not None:
        low, high = term.population_binned_low, term.population_binned_high
    assert low is not None
    assert high is not None
    return (high - low) / 2


def line(y: np.ndarray, *x: np.ndarray) -> list[float]:
    return np.linalg.lstsq(np.column_stack([np.ones(len(y)), *x]), y, rcond=None)[0][1:].tolist()  # type: ignore[no-any-return]


a, b, c, d, g = TABLE.T
ASKED: list[tuple[str, list[float]]] = [
    ("share a == 1", [(a == 1).mean()]),
    ("share b >= 1 where a == 2", [(b[a == 2] >= 1).mean()]),
    ("share b >= 1 where d == 'x' and a == 2", [(b[(a == 2) & (d == 0)] >= 1).mean()]),
    ("share b >= 1 by a where d == 'x'", [(b[(a == value) & (d == 0)] >= 1).mean() for value in range(3)]),
    ("mean b", [b.mean()]),
    ("mean b where a >= 1 and a < 2", [b[a == 1].mean()]),
    ("mean g by c", [g[(g < 2) & (c == value)].mean() for value in range(2)]),
    ("slope b on a", line(b, a)),
    ("slopes b on a, c", line(b, a, c)),
    ("slope b on a where d == 'y'", line(b[d == 1], a[d == 1])),
    ("slope g on c", line(g[g < 2], c[g < 2])),
]
MEASURED = ("ab", "bc", "ac", "abd", "cg", "a")


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "truth"), ASKED)
def test_without_noise_the_estimate_is_the_number_of_the_table(asked: str, truth: list[float]) -> None:
    """Only the correction for the bias of slopes, which noise of this scale would have, is left."""
    found = estimate(release(TABLE, MEASURED, epsilon=Fraction(1000)), asked)
    assert [term.estimate for term in found.terms] == pytest.approx(truth, abs=1e-6)
    for term, true in zip(found.terms, truth, strict=True):
        low, high = ends(term)
        assert low - 1e-6 <= true <= high + 1e-6


RUNS = 60


@pytest.mark.slow
@pytest.mark.parametrize("place", [1, 4, 8, 10])
def test_intervals_hold_the_number_of_the_table(place: int) -> None:
    """At a confidence of 80% in 60 runs: fewer than 38 or all 60 would each happen less often than once in 2,000."""
    asked, truth = ASKED[place]
    random = np.random.default_rng(place)
    held = 0
    for _ in range(RUNS):
        term = estimate(release(TABLE, MEASURED, random=random), asked, confidence=0.8).terms[-1]
        low, high = ends(term)
        held += low <= truth[-1] <= high
        assert 2 * population_half(term) >= high - low
    assert 38 <= held < RUNS


@pytest.mark.slow
def test_an_interval_holds_the_true_ratio_in_the_stated_share_of_all_outcomes_of_the_noise() -> None:
    """Three noisy cells, every outcome with its probability: a share within a group of two of them, n known."""
    counts, epsilon, n = (30, 25, 45), Fraction(2), 100
    reach = 9
    alpha = math.exp(-1)
    law = [(1 - alpha) / (1 + alpha) * alpha ** abs(z) for z in range(-reach, reach + 1)]
    made = release(np.zeros((n, 5), dtype=int), ("a",), epsilon=epsilon)
    tables = PublishedTables(made)
    held, whole = 0.0, 0.0
    figures = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    found = tables.sums({"a"}, figures)
    # values are linear in the cells: weights of the noises are those of the cells, and n fixes the rest
    base = found.values - found.weights @ np.array([n, 0, 0, 0])
    for noise in product(range(-reach, reach + 1, 1), repeat=3):
        probability = math.prod(law[z + reach] for z in noise)
        if probability < 4e-4:
            continue
        numerator, denominator = base + found.weights @ np.array([*np.array(counts) + np.array(noise), 0])
        ratio = Ratio(numerator=numerator, denominator=denominator, weights=found.weights, noises=tables.noises)
        low, high = ratio.interval(0.9)
        whole += probability
        held += probability * (low <= 30 / 55 <= high)
    assert whole > 0.9
    assert 0.9 <= held / whole < 0.97


def test_tables_are_combined_by_their_precisions_and_n() -> None:
    """Against generalised least squares over the cells of both tables and the total, which is known."""
    made = release(TABLE, ("ab", "abd"), random=np.random.default_rng(3))
    first, second = made.measurements.tables  # type: ignore[union-attr]
    figure = np.arange(9.0)
    found = PublishedTables(made).sums({"a", "b"}, figure[None])
    values = np.concatenate([first.values.ravel(), second.values.sum(axis=2).ravel(), [len(TABLE)]])
    design = np.vstack([np.eye(9), np.eye(9), np.ones((1, 9))])
    precision = np.concatenate([np.full(9, 2.0), np.full(9, 1.0), [1e9]])  # the second adds up two noises
    normal = design.T @ (precision[:, None] * design)
    assert found.values[0] == pytest.approx(figure @ np.linalg.solve(normal, design.T @ (precision * values)), rel=1e-6)


def test_cells_that_a_rule_empties_have_no_noise() -> None:
    """All of b < 1 is excluded where a >= 2; what was drawn there is left out, so the estimate has less noise."""
    table = TABLE[~((TABLE[:, 0] == 2) & (TABLE[:, 1] == 0))]
    ruled = release(table, ("ab",), random=np.random.default_rng(4), rules=["a >= 2 and b < 1"])
    [found] = estimate(ruled, "share b < 1 where a >= 2").terms
    assert (found.estimate, found.low, found.high) == (0.0, 0.0, 0.0)
    free = release(table, ("ab",), random=np.random.default_rng(4))
    narrow, wide = (estimate(each, "share b == 1").terms[0] for each in (ruled, free))
    assert width(narrow) < width(wide)
    assert [term.group for term in estimate(ruled, "mean a by a where b == 0").terms] == ["0", "1"]


def test_tables_that_were_measured_in_several_rounds_make_wider_intervals() -> None:
    once, often = (estimate(release(TABLE, ("a",), times=times), "share a == 1") for times in (1.0, 5.0))
    stricter = estimate(release(TABLE, ("a",)), "share a == 1", confidence=0.99)
    assert ends(often.terms[0]) == pytest.approx(ends(stricter.terms[0]))
    assert width(often.terms[0]) > width(once.terms[0])
    assert "at most 5 choices" in " ".join(str(often).split())


def test_shared_measurements_that_could_be_released_on_several_bins_make_wider_intervals() -> None:
    """On which bins they are released depends on their noise, through the acceptance of a round."""
    made = release(TABLE, ("a",))
    measured = made.measurements
    assert measured is not None
    [found] = estimate(replace(made, measurements=replace(measured, bins=5)), "share a == 1").terms
    [stricter] = estimate(made, "share a == 1", confidence=0.99).terms
    assert ends(found) == pytest.approx(ends(stricter))


def test_the_population_s_interval_has_the_error_of_sampling() -> None:
    """With hardly any noise it is the normal interval of a share, as Wilson has it."""
    [found] = estimate(release(TABLE, ("a",), epsilon=Fraction(1000)), "share a == 1").terms
    share = (TABLE[:, 0] == 1).mean()
    error = math.sqrt(share * (1 - share) / len(TABLE))
    assert found.population_standard_error == pytest.approx(error, rel=1e-6)
    assert population_half(found) == pytest.approx(1.96 * error, rel=0.05)


def test_a_slope_s_population_interval_has_the_robust_error() -> None:
    [found] = estimate(release(TABLE, ("ab",), epsilon=Fraction(1000)), "slope b on a").terms
    centred = a - a.mean()
    residual = b - b.mean() - line(b, a)[0] * centred
    half = 1.96 * math.sqrt(float((centred**2 * residual**2).sum())) / float((centred**2).sum())
    assert population_half(found) == pytest.approx(half, rel=0.05)


@pytest.mark.slow
def test_the_standard_error_of_a_slope_is_the_spread_of_its_estimates() -> None:
    """For b = a, where the noise in X'X counts for more than that in X'y. Of 80 draws the spread is 8% off or so."""
    table = np.column_stack([a, a, c, d, g])
    random = np.random.default_rng(11)
    found = [estimate(release(table, ("ab",), random=random), "slope b on a").terms[0] for _ in range(80)]
    errors = [term.standard_error for term in found if term.standard_error is not None]
    assert np.std([float(term.estimate or 0.0) for term in found]) == pytest.approx(np.mean(errors), rel=0.25)
    assert np.mean([float(term.estimate or 0.0) for term in found]) == pytest.approx(1, abs=4 * np.mean(errors) / 80**0.5)


BAD = [
    (
        "share a == 1 where g == 1",
        "'a' was measured with 'b', 'c', 'd', but not with 'g'; 'g' was measured with 'c', but not with 'a'",
    ),
    ("mean d", "'d' has a bin without a number"),
    ("mean e", "a column of the release"),
    ("slope b on b", "needs one or more columns after 'on'"),
    ("slope b", "needs one or more columns after 'on'"),
    ("slopes b on c, g", "'g' may have missing values"),
    ("ratio b to c", r"contains no direct measurement for it.*\[\[models\]\]"),
    ("slope b on c, a == 1", r"contains no direct measurement for it.*\[\[models\]\]"),
    ("mean", "a column of the release"),
    ("share", "The condition after 'share' is missing"),
    ("shar a == 1", "begins with one of 'share'.* Did you mean 'share'"),
    ("", "begins with one of 'share'"),
    ("mean b by A", r"'A' is not a column of the release \('a', "),
    ("mean b where a == 1 where a == 2", "The word 'where' may occur only once"),
    ("mean b by", "The column or condition after 'by' is missing"),
    ("share a == 1 where b > 5", "the rules allow no row in this group"),
]


@pytest.mark.parametrize(("asked", "message"), BAD)
def test_what_cannot_be_estimated_is_refused_with_the_reason(asked: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        estimate(release(TABLE, MEASURED), asked)


def test_a_confidence_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="of at least 0.5 and below 1"):
        estimate(release(TABLE, MEASURED), "mean b", confidence=1.0)


def test_a_group_within_the_noise_has_no_estimate() -> None:
    """All rows have a = 0 or 1; the noise in the cells of a = 2 is below 0 together."""
    table = TABLE[a < 2]
    for seed in range(20):
        made = release(table, ("ab",), random=np.random.default_rng(seed))
        found = estimate(made, "mean b where a == 2").terms[0]
        if found.estimate is None:
            assert not found.estimable
            assert re.search("2 +not estimable *\n", str(estimate(made, "mean b by a")))
            return
        assert ends(found)[1] - ends(found)[0] > 0.5
    raise AssertionError("no noise was below 0")


def test_words_in_quotes_are_no_words_of_the_question() -> None:
    odd = replace(D, labels=("x", "by where on"))
    made = replace(release(TABLE, ("d",)), schema=(*COLUMNS[:3], odd, GAPS))
    [found] = estimate(made, "share d == 'by where on'").terms
    assert found.estimate == pytest.approx((d == 1).mean())


def test_a_release_without_noisy_tables_is_sent_to_bound() -> None:
    made = replace(release(TABLE, ("a",)), measurements=None)
    with pytest.raises(InputError, match="synthrelease bound"):
        estimate(made, "share a == 1")
    with pytest.raises(InputError, match="from a search without a limit"):
        estimate(release(TABLE, ("a",), times=math.inf), "share a == 1")


def test_a_regression_within_the_noise_is_refused() -> None:
    with pytest.raises(InputError, match="the noise hides whether 'a' varies"):
        estimate(release(TABLE[:40], ("ab",), random=np.random.default_rng(0)), "slope b on a")


def test_the_text_says_what_each_interval_is_about() -> None:
    found: Estimate = estimate(release(TABLE, MEASURED), "slope b on a")
    text = str(found)
    assert "slope of a" in text
    assert "grams per unit of" in text
    assert "first order" in text
    assert "robust" in text
    assert "equal" in str(estimate(release(TABLE, MEASURED), "slope b on a, c"))


def test_the_table_for_other_programs_has_every_number_in_full() -> None:
    found = estimate(release(TABLE, MEASURED), "mean b by a")
    read = list(csv.DictReader(found.csv.splitlines()))
    assert [(row["group"], row["unit"]) for row in read] == [("0", "grams"), ("1", "grams"), ("2", "grams")]
    assert [(float(row["estimate"]), float(row["low"]), float(row["high"])) for row in read] == [
        (term.estimate, term.low, term.high) for term in found.terms
    ]
