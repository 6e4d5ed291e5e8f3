"""Weighted answers against rows that count with their weights: formulas by hand, brute force over weights, many samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from synthrelease.answers.averages import groups
from synthrelease.answers.bounds import bound
from synthrelease.answers.estimates import estimate, trend
from synthrelease.answers.listed import listed
from synthrelease.answers.stated import asked_of
from synthrelease.answers.tables import PublishedTables
from synthrelease.answers.words import Term
from synthrelease.data.questions import split_question
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from synthrelease.published.options import DesignPart
from tests.answers.test_survey import design
from tests.helpers.published import integer_column, noisy_tables, published

Y, A = integer_column("y", [0, 1, 2]), integer_column("a", [0, 1, 2, 3])
EXACT = integer_column("w", [1, 2, 3, 4])
"""Weights of 1, 2 and 3."""
CLASSES = replace(integer_column("w", [10, 12, 15, 19]), kind="real", numbers=(11.0, 13.0, 17.0))
ALONE: DesignPart = design(weight="w", clusters=None)
EXACTLY = Fraction(100)
"""An epsilon without noise."""


def survey(
    rows: np.ndarray, weight: object = EXACT, epsilon: Fraction = EXACTLY, stated: DesignPart = ALONE, seed: int = 1
) -> PublishedRelease:
    """A release with one noisy table of y, a and the weight; `rows` are bins."""
    columns = [Y, A, weight]
    tables = noisy_tables(columns, rows, ["yaw"], epsilon, np.random.default_rng(seed))  # type: ignore[arg-type]
    made = published(columns, np.zeros_like(rows), ())  # type: ignore[arg-type]
    measured = Measurements(tables=tables, times=1.0)
    return replace(made, measurements=measured, design=stated, not_a_sample=("design weights",))


def drawn(random: np.random.Generator, n: int = 2000) -> np.ndarray:
    """(n, 3) bins: heavier rows say yes more often."""
    w, a = random.integers(0, 3, n), random.integers(0, 3, n)
    return np.column_stack([random.random(n) < 0.2 + 0.2 * w, a, w]).astype(np.int64)


ROWS = drawn(np.random.default_rng(3))
y, a, w = ROWS[:, 0], np.array([0, 1, 2])[ROWS[:, 1]], ROWS[:, 2] + 1
ASKED: dict[str, list[float]] = {
    "share y == 1 weighted": [w[y == 1].sum() / w.sum()],
    "share y == 1 by a weighted": [w[(y == 1) & (a == value)].sum() / w[a == value].sum() for value in (0, 1, 2)],
    "share y == 1 where a >= 1 weighted": [w[(y == 1) & (a > 0)].sum() / w[a > 0].sum()],
    "mean y weighted": [(w * y).sum() / w.sum()],
    "mean y where a >= 1 weighted": [(w * y)[a > 0].sum() / w[a > 0].sum()],
}


def ends(term: Term, name: str = "") -> tuple[float, float]:
    low, high = getattr(term, f"{name}low"), getattr(term, f"{name}high")
    assert low is not None
    assert high is not None
    return low, high


@pytest.mark.parametrize("question", ASKED)
def test_without_noise_an_answer_is_that_of_the_weighted_rows(question: str) -> None:
    terms = estimate(survey(ROWS), question).terms
    assert [term.estimate for term in terms] == pytest.approx(ASKED[question])
    assert all(ends(term) == pytest.approx((term.estimate,) * 2, abs=0.01) for term in terms)


def test_a_weighted_slope_is_that_of_weighted_least_squares_with_its_sandwich_error() -> None:
    [term] = estimate(survey(ROWS), "slope y on a weighted").terms
    x = np.column_stack([np.ones(len(a)), a])
    inverse = np.linalg.inv((x.T * w) @ x)
    line = inverse @ (x.T @ (w * y))
    of_rows = x * (w * (y - x @ line))[:, None]
    error = np.sqrt((inverse @ of_rows.T @ of_rows @ inverse)[1, 1])
    assert term.estimate == pytest.approx(line[1])
    assert term.population_standard_error == pytest.approx(error, rel=1e-6)
    assert "Weighted: every row is weighted by its w." in str(estimate(survey(ROWS), "slope y on a weighted"))
    tables = noisy_tables([Y, A, EXACT], ROWS, ["ya", "yw", "aw"], EXACTLY)
    in_pairs = replace(survey(ROWS), measurements=Measurements(tables=tables, times=1.0))
    with pytest.raises(
        InputError, match="a published noisy table that contains all columns of the question together .'a', 'w', 'y'."
    ):
        estimate(in_pairs, "slope y on a weighted")


@pytest.mark.parametrize("question", ["share y == 1 weighted", "mean y by a weighted"])
def test_a_trend_of_weighted_answers_says_that_it_is_weighted(question: str) -> None:
    years = [replace(survey(drawn(np.random.default_rng(seed)), seed=seed), folder=Path(str(seed))) for seed in (1, 2)]
    answer = trend(years, question)
    assert answer.weighted
    assert "Weighted: every row is weighted by its w." in str(answer)
    terms = [estimate(year, question).terms[0] for year in years]
    assert answer.contrasts[0].estimate == pytest.approx(terms[1].estimate - terms[0].estimate)  # type: ignore[operator]


def test_a_weighted_share_counts_persons_and_an_unweighted_one_says_what_it_is() -> None:
    [term] = estimate(survey(ROWS), "share y == 1 weighted").terms
    assert term.rows == w[y == 1].sum()
    assert ends(term, "rows_")[0] <= term.rows <= ends(term, "rows_")[1]
    plain = estimate(survey(ROWS), "share y == 1")
    assert plain.terms[0].estimate == pytest.approx(y.mean())
    assert plain.terms[0].population_low is None
    assert "Unweighted: every row counts once, whatever its w is" in " ".join(str(plain).split())


@pytest.mark.parametrize("question", ["share y == 1 weighted", "share y == 1 where a >= 1 weighted", "mean y by a weighted"])
def test_the_error_of_sampling_is_the_linearised_one(question: str) -> None:
    """Of a ratio of weighted sums: the root of sum (w (y - r))^2 / (sum w)^2 (Taylor; rows drawn one by one)."""
    asked = estimate(survey(ROWS), question).terms
    groups = [a == value for value in (0, 1, 2)] if " by a" in question else [a > 0 if "where" in question else a >= 0]
    for term, inside in zip(asked, groups, strict=True):
        rows_in, weights = y[inside], w[inside]
        ratio = (weights * rows_in).sum() / weights.sum()
        error = np.sqrt(((weights * (rows_in - ratio)) ** 2).sum()) / weights.sum()
        kish = np.sqrt((weights**2).sum() * ratio * (1 - ratio)) / weights.sum()
        expected = error if question.startswith("mean") else max(error, kish)  # a share is never better than by chance
        assert term.population_standard_error == pytest.approx(expected, rel=1e-6)


def test_samplics_has_the_same_error() -> None:
    samplics = pytest.importorskip("samplics", reason="a library for complex samples")
    found = samplics.TaylorEstimator(samplics.PopParam.mean)
    found.estimate(y=y, samp_weight=w)
    [term] = estimate(survey(ROWS), "mean y weighted").terms
    n = len(y)
    assert term.population_standard_error == pytest.approx(found.stderror * np.sqrt((n - 1) / n), rel=1e-6)


LIMITS = np.array([[10, 12, 15], [12, 15, 19]], dtype=float)


@pytest.mark.parametrize("seed", range(4))
def test_own_weights_anywhere_in_their_classes_are_held(seed: int) -> None:
    """Brute force: the least and the largest weighted mean over all corners are the ends of the interval."""
    random = np.random.default_rng(seed)
    counts = random.integers(0, 5, (2, 3, 3))
    cells = np.array(list(np.ndindex(counts.shape)))
    rows = np.repeat(cells, counts.ravel(), axis=0)
    kinds = np.flatnonzero(counts.sum(axis=0).ravel())  # with the same a and weight class: all rows of them alike at a corner
    values = np.array([0, 1, 2.0])[kinds // 3]
    n = counts.sum(axis=0).ravel()[kinds]
    means = []
    for corner in product((0, 1), repeat=len(kinds)):
        weights = LIMITS[list(corner), kinds % 3] * n
        means.append((weights * values).sum() / weights.sum())
    asked = asked_of("mean a weighted", made := survey(rows, CLASSES))
    [(_, [average])] = groups(PublishedTables(made), asked)
    at_ends = [own.file.estimate + own.middle for own in average.own]
    assert (min(at_ends), max(at_ends)) == pytest.approx((min(means), max(means)))
    low, high, *_ = average.own_ends(0.95)
    assert low <= min(means) <= max(means) <= high
    [term] = estimate(made, "mean a weighted").terms
    by_class = np.array([11.0, 13.0, 17.0])[kinds % 3] * n
    assert term.estimate == pytest.approx((by_class * values).sum() / by_class.sum())


def test_contrasts_hold_own_weights_too() -> None:
    made = survey(ROWS, CLASSES)
    random = np.random.default_rng(5)
    contrasts = estimate(made, "share y == 1: a == 0 against the rest weighted").contrasts
    for _ in range(50):
        own = random.uniform(*LIMITS[:, ROWS[:, 2]])
        shares = [(own * y)[inside].sum() / own[inside].sum() for inside in (a == 0, a > 0)]
        odds = [share / (1 - share) for share in shares]
        for term, truth in zip(contrasts, (shares[0] - shares[1], shares[0] / shares[1], odds[0] / odds[1]), strict=True):
            low, high = ends(term)
            assert low - 1e-9 <= truth <= high + 1e-9


SAMPLES = 150


def held(made: Callable[[np.random.Generator], tuple[PublishedRelease, float]], name: str) -> float:
    """In which part of samples the interval holds the number, and the same seed for all."""
    random, inside = np.random.default_rng(11), 0
    for _ in range(SAMPLES):
        release, truth = made(random)
        low, high = ends(estimate(release, "share y == 1 weighted").terms[0], name)
        inside += low <= truth <= high
    return inside / SAMPLES


POPULATION = drawn(np.random.default_rng(6), 60_000)
RATE = np.array([0.12, 0.06, 0.04])[POPULATION[:, 2]]
"""Rows of weight 1 are drawn three times as often as those of weight 3."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "population_"])
def test_weighted_intervals_hold_the_file_and_the_population_where_unweighted_ones_do_not(name: str) -> None:
    shares = POPULATION[:, 0].mean()

    def made(random: np.random.Generator) -> tuple[PublishedRelease, float]:
        rows = POPULATION[random.random(len(POPULATION)) < RATE]
        weights = np.array([1, 2, 3])[rows[:, 2]]
        truth = shares if name else (weights * rows[:, 0]).sum() / weights.sum()
        return survey(rows, epsilon=Fraction(1), seed=int(random.integers(2**31))), float(truth)

    assert held(made, name) >= 0.91
    release, _ = made(np.random.default_rng(2))
    [plain] = estimate(replace(release, not_a_sample=()), "share y == 1").terms
    assert not ends(plain, "population_")[0] <= shares <= ends(plain, "population_")[1]


def test_a_stated_design_effect_is_that_of_the_whole_design() -> None:
    """It takes the place of the weights' own effect where it is larger, and is not multiplied with it."""
    plain, small, large = (
        estimate(survey(ROWS, stated=stated), "mean y weighted").terms[0].population_standard_error
        for stated in (
            ALONE,
            design(weight="w", effect=1.01, source="A report"),
            design(weight="w", effect=4.0, source="A report"),
        )
    )
    assert small == pytest.approx(plain)
    ratio = (w * y).sum() / w.sum()
    assert large == pytest.approx(np.sqrt(4 * ratio * (1 - ratio) / len(y)))


def test_clusters_leave_a_weighted_answer_without_an_interval_of_a_population_too() -> None:
    [term] = estimate(survey(ROWS, stated=design(weight="w")), "share y == 1 weighted").terms
    assert term.low is not None
    assert {term.population_low, term.population_rows_low} == {None}
    stated = design(weight="w", effect=2.0, source="A report")
    [term] = estimate(survey(ROWS, stated=stated), "share y == 1 weighted").terms
    assert term.population_low is not None
    assert term.population_rows_low is None  # of a count the sizes of clusters are a further error


def test_estimates_csv_lists_what_was_measured_with_the_weight() -> None:
    lines = [line for line in listed(survey(ROWS)) if line.statistic.startswith("weighted")]
    found = {(line.statistic, line.column, line.value): line for line in lines}
    assert found["weighted share", "y", "1"].estimate == pytest.approx((w * y).sum() / w.sum())
    assert found["weighted count", "y", "1"].estimate == (w * y).sum()
    assert found["weighted mean", "y", ""].estimate == pytest.approx((w * y).sum() / w.sum())
    assert {line.unit for line in lines if line.statistic == "weighted count"} == {"persons"}
    assert not [line for line in listed(replace(survey(ROWS), design=None)) if line.statistic.startswith("weighted")]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("ratio y to a weighted", "A ratio cannot be weighted"),
        ("share y == 1 weighted", r"states no column with design weights \(\[design\] weight\)"),
    ],
)
def test_what_cannot_be_weighted_is_refused(question: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        estimate(replace(survey(ROWS), design=None), question)


def test_bound_refuses_weights() -> None:
    with pytest.raises(InputError, match="only `synthrelease estimate` answers"):
        bound(survey(ROWS), "share y == 1 weighted")


def test_an_open_weight_class_without_a_limit_is_refused() -> None:
    unbounded = replace(CLASSES, upper=(12.0, 15.0, np.inf))
    with pytest.raises(InputError, match="in which a weight can have any size"):
        estimate(survey(ROWS, unbounded), "share y == 1 weighted")


@pytest.mark.parametrize("text", ["mean weighted", "share y == 1 by weighted", "share weighted > 1", "slope y on a, weighted"])
def test_a_column_may_be_called_weighted(text: str) -> None:
    assert not split_question(text).weighted
