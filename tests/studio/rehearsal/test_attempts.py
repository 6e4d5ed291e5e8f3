"""Attempts of a rehearsal: repeatable in any order, with the law of a release's attempts and exact figures beside."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.scoring import JointTest
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.attempt import Prepared, attempt, generate, prepare
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal import attempts
from synthrelease.studio.rehearsal.attempts import AttemptResult, Trials, chance, passing, run_attempts
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

NUMBERS = {'categories = ["head", "tail"]': 'categories = ["head", "tail"]\nnumbers = { head = 0, tail = 1 }'}
FITTED = {
    **NUMBERS,
    "degree = 1": "degree = [1, 2]",
    "epsilon_split = 0.5": "epsilon_split = [0.3, 0.7]",
    'kind = "face_privacy"\nminimum_count = 2': """kind = "face_privacy"
minimum_count = 2

[[criteria]]
name = "line"
kind = "regression_coefficients"
target = "year"
features = ["face"]
representation = { face = "categories", year = "pairs" }
threshold = 2
epsilon = 0.1""",
}
"""Four configurations, and a regression that is fitted once, before the rounds."""

NOISY = {"epsilon = 0.5": "epsilon = 0.0014", "generation = 10": "generation = 0.1"}
"""Noise of 400 rows' marginals with scale 2, against the threshold 0.9: about 0.6 of the attempts are accepted."""

Setup = tuple[ReleaseSpec, Counts]


def setup(folder: Path, changes: Mapping[str, str]) -> Setup:
    spec = load_spec(write_config(folder, changes))
    return spec, read_public(write_data(folder), spec.schema, spec.input, spec.raw)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return setup(tmp_path_factory.mktemp("fitted"), FITTED)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return setup(tmp_path_factory.mktemp("noisy"), NOISY)


ATTEMPTS = [(c, number) for c in range(4) for number in range(3)]


def trials(where: Setup, seed: int) -> Trials:
    return Trials(spec=where[0], counts=where[1], seed=seed)


def run(where: Setup, seed: int, attempts: Sequence[tuple[int, int]], generation: Fraction | int = 1) -> list[AttemptResult]:
    """The attempts without their times."""
    return [replace(result, seconds=0.0) for result in run_attempts(trials(where, seed), attempts, Fraction(generation))]


@pytest.fixture(scope="module")
def reference(fitted: Setup) -> dict[tuple[int, int], AttemptResult]:
    return {(result.configuration, result.number): result for result in run(fitted, 7, ATTEMPTS)}


@settings(max_examples=5, deadline=None)
@given(order=st.randoms(use_true_random=False), cut=st.integers(0, 12))
def test_attempts_give_the_same_results_in_any_order_and_grouping(
    order: random.Random, cut: int, fitted: Setup, reference: dict[tuple[int, int], AttemptResult]
) -> None:
    attempts = order.sample(ATTEMPTS, len(ATTEMPTS))
    found = [*run(fitted, 7, attempts[:cut]), *run(fitted, 7, attempts[cut:])]
    assert found == [reference[chosen] for chosen in attempts]


def test_attempts_of_one_number_share_the_private_fit_and_other_numbers_do_not(fitted: Setup) -> None:
    """A fit with so little budget is far off, by the same error for all configurations whose candidates are near the truth."""
    figures = {(r.configuration, r.number): r.figures[2] for r in run(fitted, 7, ATTEMPTS, 1000)}
    within = [abs(figures[c, number] - figures[0, number]) for c in range(4) for number in range(3)]
    between = [abs(figures[0, number] - figures[0, other]) for number in range(3) for other in range(number)]
    assert max(within) < 0.05
    assert min(between) > 0.2


def test_results_differ_between_attempts_configurations_seeds_and_budgets(
    fitted: Setup, reference: dict[tuple[int, int], AttemptResult]
) -> None:
    base = run(fitted, 7, [(0, 0)])[0].figures
    assert run(fitted, 8, [(0, 0)])[0].figures != base
    assert run(fitted, 7, [(0, 0)], Fraction(1, 2))[0].figures != base
    assert len({result.figures for result in reference.values()}) == len(ATTEMPTS)


def test_the_results_say_which_attempt_they_are_of(fitted: Setup) -> None:
    found = run_attempts(trials(fitted, 1), [(2, 5), (1, 0)], Fraction(3, 2))
    assert [(r.configuration, r.number, r.generation) for r in found] == [(2, 5, Fraction(3, 2)), (1, 0, Fraction(3, 2))]
    assert min(result.seconds for result in found) > 0


def test_figures_are_those_before_noise_and_decisions_those_after_it(tmp_path: Path) -> None:
    """The same candidates under two budgets of the criterion: figures in steps of 1/400, and a decision that noise turns."""
    found = []
    for name, epsilon in (("large", "1000"), ("small", "0.0014")):
        (tmp_path / name).mkdir()
        where = setup(tmp_path / name, {"epsilon = 0.5": f"epsilon = {epsilon}", "generation = 10": "generation = 0.1"})
        found.append(run(where, 3, [(0, number) for number in range(30)]))
    large, small = found
    assert [result.figures for result in large] == [result.figures for result in small]
    assert [r.figures[0] * 400 for r in large] == pytest.approx([round(r.figures[0] * 400) for r in large], abs=0.01)
    assert {result.accepted for result in large} == {True}
    assert {result.accepted for result in small} == {True, False}
    assert [result.chance for result in large] == pytest.approx([1.0] * 30)
    assert all(result.accepted == all(result.passed) for result in small)


def test_rehearsed_attempts_are_accepted_as_often_as_those_of_a_release(noisy: Setup) -> None:
    """Fisher's exact test of the two shares errs with a probability of at most 1e-6."""
    spec, public = noisy[0], PrivateCounts(noisy[1], Meter(()))
    n = 300
    rehearsed = run(noisy, 11, [(0, number) for number in range(n)], spec.budget.generation)
    there = sum(result.accepted for result in rehearsed)
    here = sum(attempt(spec, spec.space[0], public, Prepared(fitted={})).accepted for _ in range(n))
    assert fisher_exact([[there, n - there], [here, n - here]]).pvalue > 1e-6
    assert 0.4 < there / n < 0.8  # so a law that always or never accepts would be noticed


def test_chances_add_up_to_the_attempts_that_were_accepted(noisy: Setup) -> None:
    """By Hoeffding the two differ by more than sqrt(n log(2e6) / 2) with a probability below 1e-6."""
    found = run(noisy, 12, [(0, number) for number in range(200)], Fraction(1, 10))
    assert abs(sum(r.accepted for r in found) - sum(r.chance for r in found)) < math.sqrt(200 * math.log(2e6) / 2)
    assert 0 < min(result.chance for result in found) <= max(result.chance for result in found) < 1


JOINT = {
    'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': 'family = "marginals"\ntables = "face:year"',
    "stop_probability = 0.001": 'stop_probability = 0.001\ntest = "joint"\ntest_epsilon = 0.3\nfalse_acceptance = 0.2',
    "generation = 10": "generation = 0.1",
    "threshold = 0.9": "threshold = 0.0475",
}
"""The largest error is 11 to 19 of 400 records, the threshold 19, the margin of the test 3 records: slacks on either side."""
SHARED = {**JOINT, "stop_probability = 0.001": f'{JOINT["stop_probability = 0.001"]}\nmeasurements = "shared"'}


@pytest.fixture(scope="module", params=[JOINT, SHARED], ids=["fresh", "shared"])
def joint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return setup(tmp_path_factory.mktemp("joint"), request.param)


def test_under_a_joint_test_rehearsed_attempts_are_accepted_as_often_as_those_of_a_release(joint: Setup) -> None:
    """Fisher's exact test as above, and by Hoeffding the chances agree with the release's share: each fails once in 10^6."""
    spec, public = joint[0], PrivateCounts(joint[1], Meter(()))
    n = 400
    rehearsed = run(joint, 11, [(0, number) for number in range(n)], spec.budget.generation)
    there = sum(result.accepted for result in rehearsed)
    here = 0
    for _ in range(n):
        prepared = prepare(spec, public.with_plan(spec.plan.once))
        here += attempt(spec, spec.space[0], public, prepared).accepted
    assert fisher_exact([[there, n - there], [here, n - here]]).pvalue > 1e-6
    assert abs(sum(result.chance for result in rehearsed) - here) < 2 * math.sqrt(n * math.log(2e6) / 2)
    assert abs(sum(result.chance for result in rehearsed) - there) < math.sqrt(n * math.log(2e6) / 2)
    assert 0.15 < there / n < 0.85


def test_under_a_joint_test_a_criterion_passes_when_its_slack_alone_reaches_the_margin(joint: Setup) -> None:
    """By hand from the exact figures; the chance is that of the least slack, and face privacy is public."""
    spec, _ = joint
    assert spec.joint_test is not None
    margin, error = spec.joint_test.margin, spec.criteria[0]
    found = run(joint, 13, [(0, number) for number in range(60)], spec.budget.generation)
    for result in found:
        assert result.figures[0] is not None
        assert result.sensitivities[0] is not None
        slack = (error.threshold - result.figures[0]) / result.sensitivities[0]
        assert result.sensitivities[0] == 1 / 400
        if abs(slack - margin) > 0.01:  # figures are kept on the grid of their noise
            assert result.passed == (slack > margin, True)
        assert result.chance == pytest.approx(passing(margin, slack, 1.0, spec.joint_test.epsilon), abs=0.002)
    assert {result.passed[0] for result in found} == {True, False}
    assert {result.accepted for result in found if not result.passed[0]} == {True, False}  # the noise may turn it


def test_under_a_joint_test_a_slack_gets_the_noise_of_a_release() -> None:
    """Two scales below the margin it passes with probability exp(-2) / 2, 27 times in 400; with half of the noise 4 times.
    The binomial test errs once in a million."""
    test = JointTest(epsilon=Fraction(3, 10), false_acceptance=Fraction(1, 5))
    slack = test.margin - 2 / float(test.epsilon)
    found = [attempts._joint(test, slack, SeededEntropy(5, number)) for number in range(400)]
    assert [likely for _, likely in found] == pytest.approx([math.exp(-2) / 2] * 400)
    passed = sum(accepted for accepted, _ in found)
    assert binomtest(passed, 400, math.exp(-2) / 2).pvalue > 1e-6
    assert binomtest(passed, 400, math.exp(-4) / 2).pvalue < 1e-6


def test_under_a_joint_test_a_public_criterion_that_fails_leaves_no_chance(tmp_path: Path) -> None:
    """Rows may occur twice, and face privacy wants a hundred of each."""
    changes = {**JOINT, 'kind = "face_privacy"\nminimum_count = 2': 'kind = "face_privacy"\nminimum_count = 100'}
    found = run(setup(tmp_path, changes), 3, [(0, number) for number in range(10)], 10)
    assert {(result.accepted, result.chance, result.passed[1]) for result in found} == {(False, 0.0, False)}


def test_under_a_joint_test_the_records_inside_decide_a_ratio(tmp_path: Path) -> None:
    """The sharper slack of a ratio, not that of its figure: the chance follows from counting records."""
    changes = {
        **JOINT,
        'kind = "absolute_marginal_error"\nthreshold = 0.9': 'kind = "relative_marginal_error"\nclip = 3\nthreshold = 2',
    }
    del changes["threshold = 0.9"]
    where = setup(tmp_path, changes)
    spec, public = where
    candidates = []

    def keep(*arguments: Any) -> tuple[PrivateCounts, Candidate]:
        made = generate(*arguments)
        candidates.append(made[1])
        return made

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(attempts, "generate", keep)
        found = run(where, 5, [(0, number) for number in range(10)], spec.budget.generation)
    transformation = spec.space[0].transformation
    exact = read_public(write_data(tmp_path), spec.schema, spec.input, spec.raw).merge(
        transformation.layout, transformation.maps
    )
    for result, candidate in zip(found, candidates, strict=True):
        slack = min(
            min(2 * (s + 1) - (r + 1), (r + 1) - (s + 1) / 2)
            for column in (0, 1)
            for r, s in zip(exact.marginal((column,)), candidate.counts.marginal((column,)), strict=True)
        )
        assert result.chance == pytest.approx(
            passing(spec.joint_test.margin, float(slack), 1.0, spec.joint_test.epsilon), abs=0.002
        )


def test_two_budgets_have_noise_of_their_own(fitted: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the draws the same for all budgets, their errors would go together, and the choice of a budget rest on one draw.

    Figures alone do not show it: choices are exact, so that two budgets, however close, use up other digits of the same draws.
    """
    streams: list[bytes] = []

    class Noted(SeededEntropy):
        def __init__(self, seed: int, part: int, *key: int):
            super().__init__(seed, part, *key)
            if part == 1:  # an attempt; what is fitted before all attempts is another part
                streams.append(SeededEntropy(seed, part, *key).generator().bytes(32))

    monkeypatch.setattr("synthrelease.studio.rehearsal.attempts.SeededEntropy", Noted)
    numbers, budget = [(0, number) for number in range(3)], Fraction(1, 10)
    figures, drawn = [], []
    for each in (budget, budget, budget + Fraction(1, 10**12)):
        figures.append([result.figures[0] for result in run(fitted, 7, numbers, each)])
        drawn.append(set(streams))
        streams.clear()
    assert figures[0] == figures[1]
    assert len(set(figures[0])) > 1
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == len(numbers)
    assert not drawn[0] & drawn[2]


def test_an_attempt_without_a_candidate_is_not_accepted_and_has_no_figures(tmp_path: Path) -> None:
    where = setup(
        tmp_path,
        {
            'kind = "minimum_count"\nminimum_count = 2': 'kind = "minimum_count"\nminimum_count = 500',
            "rows = 400": 'rows = "exact"',
        },
    )
    (result,) = run(where, 1, [(0, 0)])
    assert (result.accepted, result.chance) == (False, 0.0)
    assert (result.figures, result.sensitivities, result.passed) == ((None, None), (None, None), (False, False))


def test_a_figure_that_cannot_be_computed_is_kept_as_none_and_fails(fitted: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = fitted[0]
    original = type(spec.criteria[1]).score

    def without_a_number(self: Criterion, *arguments: object):
        return replace(original(self, *arguments), value=math.nan, passed=False)

    monkeypatch.setattr(type(spec.criteria[1]), "score", without_a_number)
    (result,) = run(fitted, 7, [(0, 0)], 1000)
    assert result.figures[1] is None
    assert result.figures[0] is not None
    assert (result.passed[1], result.accepted, result.chance) == (False, False, 0.0)


def test_the_chance_of_a_figure_by_hand() -> None:
    """Scale 0.5: one scale of slack passes with 1 - exp(-1)/2, one of excess with exp(-1)/2, none with 1/2."""
    one = Fraction(1)
    assert passing(0.5, 1.0, 0.5, one) == pytest.approx(1 - math.exp(-1) / 2)
    assert passing(1.5, 1.0, 0.5, one) == pytest.approx(math.exp(-1) / 2)
    assert passing(1.0, 1.0, 0.5, one) == 0.5
    assert passing(0.5, 1.0, 0.5, Fraction(3)) == pytest.approx(1 - math.exp(-3) / 2)
    assert passing(1e9, 1.0, 1e-9, one) == 0


@pytest.mark.parametrize(
    ("figure", "expected"), [(None, 0), (math.nan, 0), (math.inf, 0), (1.0, 1), (math.nextafter(1, 2), 0), (0.0, 1)]
)
def test_without_noise_a_figure_passes_or_fails(figure: float | None, expected: float) -> None:
    assert passing(figure, 1.0, None, Fraction(0)) == expected


@pytest.mark.parametrize("figure", [None, math.nan, math.inf])
def test_what_is_no_figure_never_passes_with_noise(figure: float | None) -> None:
    assert passing(figure, 1.0, 0.5, Fraction(1)) == 0


def error(threshold: float, epsilon: str) -> Criterion:
    return CRITERIA["absolute_marginal_error"](
        name="error", kind="absolute_marginal_error", threshold=threshold, epsilon=Fraction(epsilon)
    )


COUNT = CRITERIA["face_privacy"](name="face", kind="face_privacy", minimum_count=2)


@settings(max_examples=25, deadline=None)
@given(
    figures=st.tuples(st.floats(0.1, 2), st.floats(0.1, 2)),
    sensitivities=st.tuples(st.floats(0.05, 2), st.floats(0.05, 2)),
    rare=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 99),
)
def test_the_chance_is_the_share_of_noise_draws_that_pass(
    figures: tuple[float, float], sensitivities: tuple[float, float], rare: float, seed: int
) -> None:
    """20 000 draws: by Hoeffding off by more than 0.022 with a probability below 1e-8."""
    criteria = (error(1.0, "1/2"), error(0.5, "2"), COUNT)
    draws = np.random.default_rng(seed).laplace(scale=np.array(sensitivities) / [0.5, 2.0], size=(20_000, 2))
    share = np.all(np.array(figures) + draws <= [1.0, 0.5], axis=1).mean() * (rare == 0)
    assert chance(criteria, [*figures, rare], [*sensitivities, None]) == pytest.approx(share, abs=0.022)


def test_without_figures_there_is_no_chance() -> None:
    assert chance((COUNT,), [], []) == 0
    assert chance((COUNT,), [0.0], [None]) == 1
