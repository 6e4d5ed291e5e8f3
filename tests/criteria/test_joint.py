"""The joint test: slacks of sensitivity 1 by enumeration, and its exact law at the edge of acceptance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from types import SimpleNamespace

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion, Fitted
from synthrelease.criteria.base_mechanism import least_slack
from synthrelease.criteria.base_mechanism import slack as slack_of
from synthrelease.criteria.facts import Query, Score
from synthrelease.criteria.marginals_mechanism import largest_ratio, records_inside
from synthrelease.criteria.records import Records, StandardUnits
from synthrelease.criteria.records_mechanism import MOST_REPLACED, replaced_before
from synthrelease.criteria.scoring import JointTest
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import BudgetError, PrivateFailure
from synthrelease.privacy import grids as noise_grids
from synthrelease.privacy import noise as randomness
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.studio.audit.enumeration import CodeFigures
from synthrelease.studio.audit.sweep import Sweep
from synthrelease.studio.audit.worlds import SWEEPS
from tests.helpers.small import World
from tests.test_contracts import Witness

WORLD = World({"a": 1, "b": 2})


def criterion(kind: str, **fields: object) -> Criterion:
    return CRITERIA[kind].model_validate({"name": kind, "kind": kind, "threshold": 0.4, "epsilon": 1, **fields})


def cases() -> Iterator[Sweep]:
    """Two worlds of six cells, at most, of every kind that asks something private (one of four where a fit takes as many)."""
    for kind in CRITERIA:
        found = [sweep for sweep in SWEEPS.get(kind, ()) if sweep.tight and sweep.attained <= 3 and not sweep.missing]
        yield from found[:2] or SWEEPS.get(kind, ())[:1]


def asker(sweep: Sweep, n: int) -> Callable[[Sequence[int]], Query]:
    """The last criterion's query about a synthetic table."""
    world, scorer = sweep.world, CodeFigures(sweep, sweep.world)

    def ask(synthetic: Sequence[int]) -> Query:
        found = sweep.criteria[-1].query(n, world.candidate(synthetic), scorer.setting, scorer.fitted)
        assert isinstance(found, Query)
        return found

    return ask


def records(sweep: Sweep) -> int:
    """So many that the bound is attained, and that some synthetic table has a row in every group."""
    numbers = (sweep.attained, sweep.attained + 1)
    return next(n for n in numbers if not all(asker(sweep, n)(table).void for table in sweep.world.all_tables(n)))


each_case = pytest.mark.parametrize("sweep", list(cases()), ids=lambda sweep: f"{sweep.kind}: {sweep.name}")


@pytest.mark.slow
@each_case
def test_no_neighbour_moves_a_slack_by_more_than_one(sweep: Sweep) -> None:
    """All private tables, all neighbours, all synthetic tables; somewhere it is nearly attained."""
    n, world = records(sweep), sweep.world
    judged, ask, tables = sweep.criteria[-1], asker(sweep, n), world.all_tables(n)
    counts = {table: world.counts(table) for table in tables}
    neighbours = [(table, other) for table in tables for other in set(world.neighbours(table)) if table < other]
    worst = 0.0
    for synthetic in tables:
        query = ask(synthetic)
        if query.void:
            assert {slack_of(table, judged.threshold, query) for table in counts.values()} == {-math.inf}
            continue
        slacks = {table: slack_of(each, judged.threshold, query) for table, each in counts.items()}
        worst = max(worst, *(abs(slacks[table] - slacks[other]) for table, other in neighbours))
    assert worst <= 1 + 1e-9
    assert worst > 0.8


@pytest.mark.slow
@each_case
def test_the_slack_is_not_negative_just_when_the_figure_meets_the_threshold(sweep: Sweep) -> None:
    n, world = records(sweep), sweep.world
    tables, synthetics = [world.counts(table) for table in world.all_tables(n)], world.all_tables(n)

    def asked(sweep: Sweep) -> list[Query]:
        return [query for query in map(asker(sweep, n), synthetics) if not query.void]

    figures = [query.figure(counts) for query in asked(sweep) for counts in tables]
    threshold = 0.6 * min(figures) + 0.4 * max(figures)
    judged = sweep.criteria[-1].model_copy(update={"threshold": threshold})
    queries = asked(replace(sweep, criteria=(*sweep.criteria[:-1], judged)))
    slacks = [slack_of(counts, judged.threshold, query) for query in queries for counts in tables]
    for slack, figure in zip(slacks, figures, strict=True):
        assert (slack >= -1e-12) == (figure <= threshold + 1e-12)
    assert min(slacks) < 0 < max(slacks)


@pytest.mark.slow
@pytest.mark.parametrize("threshold", ["1.4", "1.15", "2", "1.01", "3.7"])
def test_records_inside_against_exact_fractions(threshold: str) -> None:
    """One bin: every r up to 60 against every s. At a tie the float may be off in its last digits, which no noise shows."""
    exact = Fraction(threshold)
    for s in range(1, 60):
        for r in range(1, 60):
            inside = min(exact * s - r, r - s / exact)
            found = records_inside(np.array([r - 1]), np.array([s - 1]), float(threshold))
            assert found == pytest.approx(float(inside), abs=1e-9)
            passes = max(Fraction(r, s), Fraction(s, r)) <= exact
            assert passes == (inside >= 0)
            if inside:
                assert (found >= 0) == (largest_ratio(np.array([r - 1]), np.array([s - 1]), 9) <= float(threshold)) == passes


def test_records_inside_takes_the_worst_bin() -> None:
    assert records_inside(np.array([9, 1, 9]), np.array([9, 9, 9]), 2.0) == 2 - 10 / 2
    assert records_inside(np.array([9, 40, 9]), np.array([9, 9, 9]), 2.0) == 2 * 10 - 41


# --- The law of one test

TEST = JointTest(epsilon=Fraction(1, 2), false_acceptance=Fraction(1, 100))


def fixed(slack: float) -> Query:
    return Query(figure=lambda counts: 0.0, sensitivity=1.0, slack=lambda counts: slack)


def asked(*found: float | Query | Score) -> list[tuple[Criterion, Query | Score]]:
    anything = criterion("absolute_marginal_error")
    return [(anything, fixed(each) if isinstance(each, float) else each) for each in found]


def score(passed: bool) -> Score:
    return Score(name="public", kind="face_privacy", threshold=0.0, value=float(not passed), epsilon=Fraction(0),
                 mechanism="none", sensitivity=None, noise_sd=None, passed=passed)  # fmt: skip


def door(test: JointTest = TEST) -> PrivateCounts:
    return PrivateCounts(WORLD.counts([0, 1, 2]), Witness([test.charge]))


def chance_of_passing(
    test: JointTest, private: PrivateCounts, found: Sequence[tuple[Criterion, Query | Score]], monkeypatch: pytest.MonkeyPatch
) -> Decimal:
    """Exact, to 40 digits, from what is handed to the sampler: Pr[Z >= k] = a^k / (1 + a) for k >= 1, a = exp(-1/scale)."""
    seen: list[tuple[int, int, Fraction]] = []

    def record(values: np.ndarray, *, sensitivity: int, epsilon: Fraction, entropy: object) -> np.ndarray:
        seen.append((int(values[0]), sensitivity, epsilon))
        return values + 2**20

    with monkeypatch.context() as patched:
        patched.setattr(randomness, "discrete_laplace", record)
        shown = test.noisy_slack(private, found)
    ((value, sensitivity, epsilon),) = seen
    step = Fraction(shown) / (value + 2**20)  # what one unit of the noise is worth
    least = math.ceil(Fraction(test.margin) / step) - value
    with localcontext() as context:
        context.prec = 40
        a = (-1 / Decimal(noise_grids.rounded_up(Fraction(sensitivity) / epsilon))).exp()
        return a**least / (1 + a) if least > 0 else 1 - a ** (1 - least) / (1 + a)


@pytest.mark.parametrize("epsilon", ["0.15", "1/2", "3", "1/7"])
@pytest.mark.parametrize("probability", ["1/100", "1/3", "1/1000000", "0.05"])
def test_a_candidate_just_below_a_threshold_passes_with_the_stated_probability_and_hardly_less(
    epsilon: str, probability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = JointTest(epsilon=Fraction(epsilon), false_acceptance=Fraction(probability))
    claimed = Decimal(test.false_acceptance.numerator) / test.false_acceptance.denominator
    for slack in (-1e-300, -1e-6, -(2.0**-13), -0.01, -1.0):
        assert chance_of_passing(test, door(test), asked(slack), monkeypatch) <= claimed
    assert chance_of_passing(test, door(test), asked(-1e-300), monkeypatch) > Decimal("0.97") * claimed


def test_more_slack_is_accepted_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    slacks = (-5.0, 0.0, TEST.margin, 2 * TEST.margin, 40.0)
    chances = [chance_of_passing(TEST, door(), asked(slack), monkeypatch) for slack in slacks]
    assert chances == sorted(set(chances))
    assert float(chances[2]) == pytest.approx(0.5, abs=0.01)
    assert chances[4] > Decimal("0.99999")


def test_the_charge_is_the_epsilon_of_the_test_and_is_spent_once() -> None:
    witness = Witness([TEST.charge])
    private = PrivateCounts(WORLD.counts([0, 1, 2]), witness)
    TEST.passes(private, asked(1.0, 2.0, score(True)))
    assert witness.spent == [TEST.charge]
    assert TEST.charge.epsilon == Fraction(1, 2)
    with pytest.raises(BudgetError):
        TEST.passes(private, asked(1.0))


@pytest.mark.parametrize(
    "failing",
    [
        asked(math.nan),
        asked(math.nan, 1e9),
        asked(1e9, math.nan),
        asked(-math.inf, 1e9),
        asked(replace(fixed(1e9), void=True)),
        asked(1e9, score(False)),
        asked(score(False)),
    ],
    ids=["nan", "nan first", "nan last", "no slack", "void", "public score", "public score alone"],
)
def test_what_cannot_pass_never_passes_and_is_paid_for(failing: list[tuple[Criterion, Query | Score]]) -> None:
    for _ in range(20):
        witness = Witness([TEST.charge])
        assert not TEST.passes(PrivateCounts(WORLD.counts([0, 1, 2]), witness), failing)
        assert witness.spent == [TEST.charge]


def test_public_scores_alone_decide_without_private_slack() -> None:
    assert TEST.passes(door(), asked(score(True)))
    assert TEST.passes(door(), asked(1e9, score(True)))


def test_the_least_slack_counts_and_is_clipped() -> None:
    counts = WORLD.counts([0])

    def thresholds(*slacks: float) -> list[tuple[float, Query]]:
        return [(judged.threshold, query) for judged, query in asked(*slacks) if isinstance(query, Query)]

    assert least_slack(counts, thresholds(3.0, -2.0, 7.0)) == -2.0
    assert least_slack(counts, thresholds(math.inf)) == 2.0**30
    assert least_slack(counts, thresholds(-1e300, 5.0)) == -(2.0**30)
    assert least_slack(counts, thresholds(math.nan, 5.0)) == -(2.0**30)
    assert least_slack(counts, []) == 2.0**30


def test_the_noisy_slack_is_that_of_the_private_table() -> None:
    """Without noise: the slack of the counts behind the door, to the grid of the noise."""
    judged = criterion("absolute_marginal_error", threshold=0.5)
    query = judged.query(3, WORLD.candidate([0, 1, 3]), WORLD.setting(judged), Fitted())
    private = PrivateCounts(WORLD.counts([0, 1, 2]), Witness([TEST.charge])).rehearsed(NoNoise())
    # one of three records differs: figure 1/3, threshold 1/2, sensitivity 1/3
    assert TEST.noisy_slack(private, [(judged, query)]) == pytest.approx(0.5, abs=2.0**-12)


def test_a_failure_inside_is_opaque() -> None:
    def fails(counts: Counts) -> float:
        raise ZeroDivisionError("7 private records")

    query = Query(figure=fails, sensitivity=1.0)
    with pytest.raises(PrivateFailure) as caught:
        TEST.passes(door(), [(criterion("absolute_marginal_error"), query)])
    assert "7" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.slow
@pytest.mark.parametrize("sweep", SWEEPS.get("regression_one_step", ()), ids=lambda sweep: sweep.name)
def test_the_slack_of_one_step_counts_the_records_that_must_be_replaced(sweep: Sweep) -> None:
    """All private tables of six records, and how many records the nearest one that fails has that a table has not."""
    n, world, shares = 6, sweep.world, (0.2137, 0.4871)
    tables = world.all_tables(n)
    counts = [world.counts(table) for table in tables]
    dense = np.array([each.dense() for each in counts])
    sharper = dict.fromkeys(shares, 0)
    for synthetic in tables[:: max(1, len(tables) // 6)]:
        query = asker(sweep, n)(synthetic)
        if query.void:
            continue
        figures = np.array([query.figure(each) for each in counts])
        for share in shares:
            threshold = share * figures.max()
            judged = sweep.criteria[-1].model_copy(update={"threshold": threshold})
            query = asker(replace(sweep, criteria=(*sweep.criteria[:-1], judged)), n)(synthetic)
            failing = dense[figures > threshold * (1 + 1e-9)]
            for table, each, figure in zip(dense, counts, figures.tolist(), strict=True):
                plain = (threshold - figure) / query.sensitivity
                found = slack_of(each, threshold, query)
                if plain < 0:
                    assert found == plain
                    continue
                distance = int((n - np.minimum(table, failing).sum(axis=1)).min(initial=n))
                if distance and len(failing):
                    assert found == pytest.approx(max(plain, distance - 1))
                    sharper[share] += distance - 1 > plain
    assert all(sharper.values())


def test_records_are_replaced_in_the_direction_in_which_fewest_do() -> None:
    """Two slopes, records of four kinds: every way to replace k of five records by any of the kinds."""
    rng = np.random.default_rng(3)
    counted = set()
    for _ in range(120):
        kinds = np.column_stack([np.round(rng.normal(size=(4, 2)), 2), np.ones(4)])  # a residual of 1 throughout
        step = SimpleNamespace(
            line=SimpleNamespace(intercept=0.0, coefficients=np.zeros(2)),
            units=StandardUnits(centres=np.zeros(2), deviations=np.ones(2)),
            inverse=np.eye(2),
            allowed=(-9.0, 9.0),
            rows=5,
        )
        here = rng.integers(0, 4, size=5)
        of_kinds = kinds[:, :2]
        threshold = (np.abs(of_kinds[here].sum(axis=0)).sum() + rng.uniform(0, 4)) / 5
        farthest = [(np.array(signs), max(0.0, float((of_kinds @ signs).max()))) for signs in product((1.0, -1.0), repeat=2)]
        rows = Records(values=kinds[here], counts=np.ones(5, dtype=np.int64))
        found = replaced_before(rows, 0, step, threshold, farthest)  # type: ignore[arg-type]
        exact = MOST_REPLACED
        for k in range(6):
            kept = [of_kinds[here[list(left)]].sum(axis=0) for left in combinations(range(5), 5 - k)]
            added = [of_kinds[list(chosen)].sum(axis=0) for chosen in combinations_with_replacement(range(4), k)]
            if any(np.abs(one + other).sum() > 5 * threshold + 1e-9 for one in kept for other in added):
                exact = k
                break
        if all(far > 0 for _, far in farthest):
            assert found == exact
            counted.add(exact)
    assert {1, 2, 3, 4} <= counted


def test_records_that_lack_a_column_are_replaced_too_and_counting_ends() -> None:
    """10^6 records add 1 each: the sum is a million, and may be the threshold times a million."""
    step = SimpleNamespace(
        line=SimpleNamespace(intercept=0.0, coefficients=np.zeros(1)),
        units=StandardUnits(centres=np.zeros(1), deviations=np.ones(1)),
        inverse=np.eye(1),
        allowed=(-9.0, 9.0),
        rows=10**6,
    )
    rows = Records(values=np.array([[1.0, 1.0]]), counts=np.array([10**6]))
    farthest = [(np.array([1.0]), 1.0), (np.array([-1.0]), 1.0)]

    def found(lacking: int, threshold: float) -> int:
        return replaced_before(rows, lacking, step, threshold, farthest)  # type: ignore[arg-type]

    assert found(0, 1.1) == MOST_REPLACED  # all of them stand for 1 already
    assert found(50, 1 + 9.5e-6) == 10  # ten that lack a column, by ten that add 1
    assert found(50, 0.9999) == 0
