"""The figure of each criterion against a slow one straight from its definition: the audit's, or a loop over rows.

Theory 3, acceptance criteria.

Figures are taken where the noise would be added. Faithfulness has its own comparison in test_faithfulness.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion, Fitted, Regression
from synthrelease.criteria.facts import Score
from synthrelease.criteria.functional import Design, LinearModel, least_squares
from synthrelease.criteria.marginals import AbsoluteMarginalError, ratio_sensitivity
from synthrelease.criteria.records_mechanism import records_of_cells
from synthrelease.criteria.scoring import fitted_before, scores_of
from synthrelease.privacy.noise import SYSTEM
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.releasing.attempt import Attempt
from synthrelease.studio.audit.enumeration import GRID_SHARE
from synthrelease.studio.audit.exact import ExactFigures, exact_figures
from synthrelease.studio.audit.sweep import criterion
from tests.helpers.moments import private_least_squares
from tests.helpers.small import World

pytestmark = pytest.mark.slow

WORLD = World({"a": 1, "b": 2, "c": 3}, groups={"c": ["0", "1-2", "3"]})
WIDE = World({"x": 3, "z": 2, "y": 5})
Row = tuple[int, ...]

cells = st.integers(0, WORLD.layout.n_cells - 1)
pairs_of_tables = st.integers(1, 25).flatmap(
    lambda n: st.tuples(st.lists(cells, min_size=n, max_size=n), st.lists(cells, min_size=n, max_size=n))
)
random_tables = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def score(world: World, original: Sequence[int], synthetic: Sequence[int], *criteria: Criterion) -> Score:
    """Score the last criterion after what all of them prepare, without noise: the figure on its grid."""
    scored, setting = criteria[-1], world.setting(*criteria)
    once = [charge for each in criteria for charge in each.once()]
    before = world.private(original, once, NoNoise())
    prepared = fitted_before(criteria, before, setting)
    private = world.private(original, scored.per_score(), NoNoise())
    return scores_of([scored], private, world.candidate(synthetic), setting, prepared)[0]


def on_grid(value: float, found: Score) -> object:
    """The value up to half a step of the grid of a score's figure."""
    return pytest.approx(value, rel=0, abs=(found.sensitivity or 0) * GRID_SHARE * (1 + 1e-9), nan_ok=True)


def rows(world: World, codes: Iterable[int]) -> list[Row]:
    """Codes as rows of bin indices; the bins of these worlds are the integers from 0, so these are the values too."""
    return [tuple(int(digit) for digit in np.unravel_index(code, world.layout.sizes)) for code in codes]


# --- Marginals


def exact(world: World, original: Sequence[int], synthetic: Sequence[int], judged: Criterion) -> ExactFigures:
    """The figure of one table by the second implementation, that of the audit: whole numbers, straight from the definition."""
    return exact_figures(judged, world, world.dense([original]), world.dense([synthetic])[0], None)


@pytest.mark.parametrize("largest", [None, 1, 2])
@random_tables
@given(tables=pairs_of_tables)
def test_absolute_error_looks_at_every_cell_of_every_table(largest: int | None, tables: tuple[list[int], list[int]]) -> None:
    original, synthetic = tables
    judged = criterion("absolute_marginal_error", largest=largest)
    found, expected = score(WORLD, original, synthetic, judged), exact(WORLD, original, synthetic, judged)
    assert found.value == on_grid(expected.values[0], found)
    assert found.sensitivity == pytest.approx(float(expected.bound))


def test_tables_without_a_common_cell_are_as_far_apart_as_tables_can_be() -> None:
    """The predecessor dropped such cells and would have found 0 here."""
    assert score(WORLD, [0] * 6, [23] * 6, criterion("absolute_marginal_error")).value == 1.0
    one_row_lost = score(WORLD, [0] * 5 + [23], [0] * 6, criterion("absolute_marginal_error"))
    assert one_row_lost.value == on_grid(1 / 6, one_row_lost)


@pytest.mark.parametrize("clip", [2.0, 3.7, 27.0])
@random_tables
@given(tables=pairs_of_tables)
def test_relative_error_counts_from_one_and_is_clipped(clip: float, tables: tuple[list[int], list[int]]) -> None:
    original, synthetic = tables
    judged = criterion("relative_marginal_error", clip=clip)
    found, expected = score(WORLD, original, synthetic, judged), exact(WORLD, original, synthetic, judged)
    assert found.value == on_grid(expected.values[0], found)
    assert found.sensitivity == pytest.approx(float(expected.bound))


def test_relative_error_of_disjoint_tables_by_hand() -> None:
    """Six rows against none in a bin: (6 + 1) / (0 + 1) = 7."""
    assert score(WORLD, [0] * 6, [23] * 6, criterion("relative_marginal_error", clip=100)).value == 7.0
    assert score(WORLD, [0] * 6, [23] * 6, criterion("relative_marginal_error", clip=5)).value == 5.0


def slow_ratio_sensitivity(s: int, clip: float) -> float:
    g = [max(1.0, min(max(r / s, s / r), clip)) for r in range(1, math.ceil(s * clip) + 4)]
    return max(abs(after - before) for before, after in zip(g, g[1:], strict=False))


@pytest.mark.parametrize("clip", [1.01, 1.1, 1.4, 1.5, 2.0, 2.5, 3.0, 7.3, 20.0])
def test_ratio_sensitivity_is_the_largest_step_over_all_original_counts(clip: float) -> None:
    singles = {s: slow_ratio_sensitivity(s, clip) for s in (*range(1, 90), 100, 128, 333, 1000, 4999)}
    for s, expected in singles.items():
        assert ratio_sensitivity(np.array([s - 1]), clip) == pytest.approx(expected, abs=1e-12)
    together = ratio_sensitivity(np.array([99, 4, 12, 12, 998]), clip)
    assert together == pytest.approx(max(singles[s] for s in (100, 5, 13, 1000)), abs=1e-12)


@pytest.mark.parametrize("clip", [1.4, 2.0, 3.0])
def test_ratio_sensitivity_is_below_the_closed_form_of_the_paper(clip: float) -> None:
    """Proposition 5, with the count itself as smin."""
    for smin in range(60):
        closed = max(1 / (smin + 1), clip - 1 / (1 / clip + 1 / (smin + 1)))
        assert ratio_sensitivity(np.array([smin]), clip) <= closed + 1e-12


# --- Conditional means


@pytest.mark.parametrize(
    ("column", "by", "overall"),
    [("b", ("a",), False), ("b", ("c",), True), ("c", ("a", "b"), True), ("b", (), True), ("c", ("c",), False)],
)
@pytest.mark.parametrize("margin", [0.0, 0.125, 0.5])
@settings(random_tables, max_examples=40)
@given(tables=pairs_of_tables, narrow=st.booleans())
def test_conditional_means_are_resized_means_of_clipped_values(
    column: str, by: tuple[str, ...], overall: bool, margin: float, tables: tuple[list[int], list[int]], narrow: bool
) -> None:
    original, synthetic = tables
    range_ = (0.5, 1.75) if narrow else (0.0, 3.0)
    judged = criterion("conditional_mean", column=column, by=by, overall=overall, range=range_, size_margin=margin)
    found, expected = score(WORLD, original, synthetic, judged), exact(WORLD, original, synthetic, judged)
    value = math.nan if expected.void else expected.values[0]
    assert found.value == on_grid(value, found)
    assert found.sensitivity == pytest.approx(float(expected.bound))
    assert found.passed == (value <= 1.5)


def test_an_empty_group_fails_and_is_paid_for() -> None:
    """The candidate has no row with a = 1; the charge is struck off all the same, so that it costs what was planned."""
    judged = criterion("conditional_mean", column="b", by=("a",), range=(0, 2), size_margin=0.1, threshold=1e9)
    private = WORLD.private([0, 13, 23], judged.per_score())
    found = judged.score(private, WORLD.candidate([0, 1, 2]), WORLD.setting(judged), Fitted())
    assert math.isnan(found.value)
    assert not found.passed
    assert found.epsilon == 1
    assert found.noise_sd is not None
    assert found.noise_sd > 0
    assert private._meter._left == {}


# --- Regression


def regression_tables(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two random tables of WIDE in which y depends on x and z."""
    generator = np.random.default_rng(seed)
    tables = []
    for slope in generator.uniform(-1.5, 1.5, 2):
        x, z = generator.integers(0, 4, n), generator.integers(0, 3, n)
        y = np.clip(np.rint(2 + slope * (x - 1.5) + 0.5 * z + generator.normal(0, 1, n)), 0, 5).astype(int)
        tables.append(np.ravel_multi_index((x, z, y), WIDE.layout.sizes))
    return tables[0], tables[1]


def slow_line(table: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Least squares over rows: ((1 + d,) intercept and slopes, (n, d) features)."""
    values = np.array(rows(WIDE, table), dtype=float)
    features = values[:, :2]
    line, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(values)), features]), values[:, 2], rcond=None)
    return line, features


def coefficients(**fields: object) -> Criterion:
    representation = {"x": "single", "z": "single", "y": "single"}
    return criterion("regression_coefficients", target="y", features=("x", "z"), representation=representation, **fields)


PRIOR = {
    "intercept": 1.5,
    "coefficients": {"x": 0.3, "z": 0.2},
    "centres": {"x": 1.4, "z": 1.1},
    "spreads": {"x": 1.1, "z": 0.8},
    "uncertainty": 0.5,
}


@pytest.mark.parametrize("fit", ["once", "every_round"])
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["Without fit_epsilon", "prior"])
@pytest.mark.parametrize("seed", range(6))
def test_coefficient_distance_is_that_of_two_least_squares_lines(seed: int, prior: object, fit: str) -> None:
    """Slopes only, each times the deviation of its feature in the synthetic table."""
    original, synthetic = regression_tables(seed)
    (real, _), (line, features) = slow_line(original), slow_line(synthetic)
    expected = sum(abs(real[1 + j] - line[1 + j]) * features[:, j].std() for j in range(2))
    found = score(WIDE, list(original), list(synthetic), coefficients(prior=prior, fit=fit))
    assert found.value == pytest.approx(expected, rel=1e-3, abs=1e-4)
    assert expected > 0.01  # the comparison is about something


def test_least_squares_on_counts_agrees_with_scikit_learn_on_rows() -> None:
    """Also where a feature is constant: its slope is then 0."""
    library = pytest.importorskip("sklearn.linear_model", reason="needs the extra audit")
    _, table = regression_tables(11)
    values = np.array(rows(WIDE, table))
    for frozen in (False, True):
        if frozen:
            values[:, 1] = 2
        codes = np.ravel_multi_index(tuple(values.T), WIDE.layout.sizes)
        reference = library.LinearRegression().fit(values[:, :2], values[:, 2])
        model, deviations = least_squares(
            records_of_cells(np.bincount(codes, minlength=WIDE.layout.n_cells), whole_domain().numbers)
        )
        assert model.coefficients == pytest.approx(reference.coef_, abs=1e-9)
        assert model.intercept == pytest.approx(reference.intercept_)
        assert deviations == pytest.approx(values[:, :2].std(axis=0))


def whole_domain() -> Design:
    axes = tuple(np.arange(float(size)) for size in WIDE.layout.sizes)
    return Design.of(axes, np.ones(WIDE.layout.n_cells, dtype=bool), None)


def slow_mean_error(table: list[Row], line: LinearModel, lowest: float, highest: float) -> float:
    total = 0.0
    for *features, target in table:
        prediction = line.intercept + sum(slope * value for slope, value in zip(line.coefficients, features, strict=True))
        total += abs(target - min(max(prediction, lowest), highest))
    return total / len(table)


@pytest.mark.parametrize("range_", [(0.0, 5.0), (1.5, 3.0)])
@pytest.mark.parametrize("seed", range(6))
def test_prediction_error_is_the_difference_of_mean_absolute_errors(seed: int, range_: tuple[float, float]) -> None:
    """On the original rows, predictions clipped; the fitted line is steep, so that clipping matters."""
    original, synthetic = regression_tables(seed)
    fitted = LinearModel(intercept=-1.0, coefficients=np.array([2.5, -1.0]))
    partner = coefficients()
    judged = criterion("regression_prediction", coefficients=partner.name, range=range_)
    line, _ = slow_line(synthetic)
    trained = LinearModel(intercept=line[0], coefficients=line[1:])
    table = rows(WIDE, original)
    expected = abs(slow_mean_error(table, fitted, *range_) - slow_mean_error(table, trained, *range_))
    regression = Regression(design=whole_domain(), possible=np.ones(WIDE.layout.n_cells, dtype=bool), model=fitted)
    prepared = Fitted(regressions={partner.name: regression})
    private = WIDE.private(list(original), judged.per_score(), NoNoise())
    found = judged.score(private, WIDE.candidate(list(synthetic)), WIDE.setting(partner, judged), prepared)
    assert found.value == on_grid(expected, found)
    assert found.value != pytest.approx(  # without clipping the figure is another one
        abs(slow_mean_error(table, fitted, -99, 99) - slow_mean_error(table, trained, -99, 99)), abs=1e-6
    )
    assert found.sensitivity == pytest.approx(2 * (range_[1] - range_[0]) / len(original))


def test_the_private_line_agrees_with_diffprivlib_and_least_squares_when_noise_is_negligible() -> None:
    """A comparison, not an equality: both mechanisms still add a little noise, and each rounds in its own way."""
    library = pytest.importorskip("sklearn.linear_model", reason="needs the extra audit")
    private = pytest.importorskip("diffprivlib.models", reason="needs the extra audit")
    original, _ = regression_tables(5, n=4000)
    values = np.array(rows(WIDE, original), dtype=float)
    features, target = values[:, :2], values[:, 2]
    plain = library.LinearRegression().fit(features, target)
    theirs = private.LinearRegression(epsilon=1e9, bounds_X=([0, 0], [3, 2]), bounds_y=(0, 5), random_state=0)
    theirs.fit(features, target)
    table = np.bincount(original, minlength=WIDE.layout.n_cells)
    ours = private_least_squares(
        whole_domain(), records_of_cells(table, whole_domain().numbers), Fraction(10**9), SYSTEM
    ).solve(len(values))
    assert ours.coefficients == pytest.approx(plain.coef_, abs=1e-3)
    assert ours.intercept == pytest.approx(plain.intercept_, abs=1e-3)
    assert ours.coefficients == pytest.approx(theirs.coef_, abs=0.01)
    assert ours.intercept == pytest.approx(theirs.intercept_, abs=0.02)
    noisy = private_least_squares(
        whole_domain(), records_of_cells(table, whole_domain().numbers), Fraction(1, 100), SYSTEM
    ).solve(len(values))
    assert np.abs(noisy.coefficients - plain.coef_).max() > 1e-3  # at a small epsilon the noise shows


# --- Face privacy, and what passes


@random_tables
@given(synthetic=st.lists(cells, min_size=1, max_size=60), minimum=st.integers(1, 6))
def test_face_privacy_counts_the_distinct_rows_that_are_too_rare(synthetic: list[int], minimum: int) -> None:
    found = score(WORLD, [0], synthetic, criterion("face_privacy", minimum_count=minimum, threshold=0, epsilon=0))
    rare = sum(1 for times in Counter(synthetic).values() if times < minimum)
    assert found.value == rare
    assert found.passed == (rare == 0)


@pytest.mark.parametrize("kind", list(CRITERIA))
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_never_passes(kind: str, value: float) -> None:
    judged = CRITERIA[kind].model_construct(name=kind, kind=kind, threshold=math.inf, epsilon=Fraction(1))
    assert not judged._judged(value, 1.0, 1.0).passed


def test_a_value_at_the_threshold_passes_and_the_next_one_does_not() -> None:
    judged = criterion("absolute_marginal_error", threshold=0.3)
    verdicts = [judged._judged(value, 1.0, 1.0).passed for value in (0.3, math.nextafter(0.3, 0), math.nextafter(0.3, 1), -5.0)]
    assert verdicts == [True, True, False, True]


def test_an_attempt_is_accepted_only_when_every_score_passed() -> None:
    candidate = WORLD.candidate([0, 1])
    judged = criterion("absolute_marginal_error", threshold=0.3)
    good, bad = (judged._judged(value, 1.0, 1.0) for value in (0.2, 0.4))
    for scores in ((good, good), (good,), (good, bad), (bad, good), (bad,)):
        assert Attempt(candidate=candidate, scores=scores).accepted is (bad not in scores)


def test_a_figure_exactly_at_the_threshold_is_accepted() -> None:
    """One row of four differs: the error is 1/4, an exact double."""
    for threshold, accepted in ((0.25, True), (0.2499, False)):
        assert score(WORLD, [0, 0, 0, 0], [0, 0, 0, 1], criterion("absolute_marginal_error", threshold=threshold)).passed is (
            accepted
        )


@pytest.mark.parametrize(("columns", "largest", "tables"), [(17, 17, 131_071), (100, 4, 4_087_975)])
def test_a_marginal_criterion_that_would_take_hours_is_a_mistake(columns: int, largest: int, tables: int) -> None:
    world = World({f"c{number}": 1 for number in range(columns)})
    criterion = AbsoluteMarginalError(
        name="all", kind="absolute_marginal_error", threshold=0.1, epsilon=Fraction(1), largest=largest
    )
    (mistake,) = criterion.mistakes(world.setting(criterion), {})
    assert (mistake.field, f" {tables:,} tables" in mistake.text) == ("largest", True)
    for fine in (2, None):  # where nothing is said, three columns beyond eight
        assert [*criterion.model_copy(update={"largest": fine}).mistakes(world.setting(criterion), {})] == []


@random_tables
@given(synthetic=st.lists(cells, min_size=1, max_size=60), minimum=st.integers(1, 6), columns=st.integers(1, 3))
def test_rare_combinations_are_counted_over_every_choice_of_columns(synthetic: list[int], minimum: int, columns: int) -> None:
    """By hand; and where none of so many columns is rare, none of fewer is."""
    fields = {"minimum_count": minimum, "threshold": 0, "epsilon": 0}
    found = score(WORLD, [0], synthetic, criterion("face_privacy", columns=columns, **fields))
    seen = Counter(
        (chosen, tuple(row[column] for column in chosen))
        for row in rows(WORLD, synthetic)
        for chosen in combinations(range(3), columns)
    )
    assert found.value == sum(1 for times in seen.values() if times < minimum)
    assert found.passed == (found.value == 0)
    if found.passed and columns > 1:
        assert score(WORLD, [0], synthetic, criterion("face_privacy", columns=columns - 1, **fields)).passed


def test_face_privacy_over_too_many_choices_is_a_mistake() -> None:
    setting = World({f"c{number}": 1 for number in range(60)}).setting()
    judged = criterion("face_privacy", minimum_count=2, columns=5, threshold=0, epsilon=0)
    (mistake,) = judged.mistakes(setting, {})
    assert (mistake.field, "5,461,512 tables" in mistake.text) == ("columns", True)
    assert [*judged.model_copy(update={"columns": 2}).mistakes(setting, {})] == []
    (mistake,) = judged.model_copy(update={"columns": 61}).mistakes(setting, {})
    assert mistake.text.startswith("`columns` is 61, but the release has only 60 columns")
    assert (judged.promised_count, judged.model_copy(update={"columns": None}).promised_count) == (1, 2)


@random_tables
@given(tables=pairs_of_tables, quantile=st.sampled_from([0.3, 0.5, 1.0]))
def test_distances_of_tables_are_rows_that_would_have_to_move(tables: tuple[list[int], list[int]], quantile: float) -> None:
    original, synthetic = tables
    for judged in (criterion("mean_marginal_error"), criterion("quantile_marginal_error", quantile=quantile)):
        found, expected = score(WORLD, original, synthetic, judged), exact(WORLD, original, synthetic, judged)
        assert found.value == on_grid(expected.values[0], found)
