"""The law of the selection loop, exactly on a finite mechanism, and its order when rounds run side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod
from pathlib import Path

import pytest

from synthrelease.errors import BudgetError, InternalError, PrivateFailure, RejectedRound
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.releasing import selection
from synthrelease.releasing.selection import Verdict, guarded, select_by
from tests.helpers.rounds import (
    Numbered,
    always_rejected,
    breaks,
    fails_privately,
    first_is_slow,
    later_round_breaks,
    later_round_fails,
    third_is_accepted,
)

pytestmark = pytest.mark.slow

Law = dict[str | None, Fraction]
BROKEN = "broken"
BEST = SelectionRule(shape=Fraction(1), stop_probability=Fraction(1, 2))


def exact_law(
    accepted: dict[str, Fraction], gamma: Fraction, depth: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Law, Fraction]:
    """Output law with a coin, by running the loop on every sequence of outcomes and coin tosses of up to `depth` rounds.

    `accepted` are the probabilities with which a round outputs each value; what is left is rejection. Returns the law and
    the probability that is still undecided after `depth` rounds. A loop that runs more rounds than a sequence has, or
    tosses a coin of another probability, fails.
    """

    def next_round(script: Iterator[str | None]) -> str | None:
        for outcome in script:
            if outcome == BROKEN:
                raise ArithmeticError
            return outcome
        raise PrivateFailure()  # a rejected round would not end the loop, and a broken one is an outcome

    def next_toss(probability: Fraction, tosses: Iterator[bool]) -> bool:
        assert probability == gamma
        return next(tosses)

    rejected = 1 - sum(accepted.values())
    law: Law = defaultdict(Fraction)
    undecided = Fraction(0)
    # a path is rounds rejected with coin "go on", then one deciding step
    for rounds in range(depth):
        before = (rejected * (1 - gamma)) ** rounds
        endings = [(value, False, p) for value, p in accepted.items()] + [(None, True, rejected * gamma)]
        for value, stop, probability in endings:
            script = iter([None] * rounds + [value])
            tosses = iter([False] * rounds + [stop])
            monkeypatch.setattr(selection, "coin", partial(next_toss, tosses=tosses))
            try:
                output = select_by(SelectionRule(stop_probability=gamma), partial(next_round, script))
            except InternalError:
                output = BROKEN
            assert next(script, "used up") == "used up"  # the loop ran exactly these rounds
            law[output] += before * probability
    undecided = (rejected * (1 - gamma)) ** depth
    return law, undecided


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 1000), Fraction(1, 4), Fraction(1)])
def test_output_law_is_that_of_the_theorem(gamma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pr[o] = p_o / B and Pr[nothing] = gamma (1 - A) / B with B = A + gamma (1 - A). A broken round is one of the outputs."""
    accepted = {"x": Fraction(1, 8), "y": Fraction(1, 4), BROKEN: Fraction(1, 16)}
    law, undecided = exact_law(accepted, gamma, 60, monkeypatch)
    total = sum(accepted.values())
    scale = total + gamma * (1 - total)
    for value, probability in accepted.items():
        assert 0 <= probability / scale - law[value] <= undecided
    assert 0 <= gamma * (1 - total) / scale - law[None] <= undecided


def test_ratio_never_exceeds_twice_epsilon_and_can_exceed_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours whose rounds differ by a factor e^eps = 2: outputs differ by at most 4, and by more than 2."""
    worst = Fraction(0)
    pairs = [(Fraction(a, 64), Fraction(b, 64)) for a in range(1, 9) for b in range(1, 9)]
    for gamma in (Fraction(0), Fraction(1, 100)):
        for x, y in pairs:
            for x2, y2 in ((2 * x, y / 2), (x / 2, 2 * y), (2 * x, 2 * y), (x / 2, y / 2), (2 * x, y)):
                laws = []
                for p, q in ((x, y), (x2, y2)):
                    b = p + q + gamma * (1 - p - q)
                    laws.append({"x": p / b, "y": q / b, None: gamma * (1 - p - q) / b})
                for output in laws[0]:
                    if laws[1][output]:
                        worst = max(
                            worst, laws[0][output] / laws[1][output], laws[1][output] / max(laws[0][output], Fraction(1, 10**9))
                        )
    assert 2 < worst <= 4


def test_a_failure_in_private_code_has_a_verdict_of_its_own() -> None:
    """It is not a rejected round: the loop must not go on after it."""
    assert guarded(fails_privately).verdict is Verdict.FAILED
    assert guarded(always_rejected).verdict is Verdict.REJECTED


def test_the_first_round_in_order_wins_not_the_first_to_finish(tmp_path: Path) -> None:
    assert select_by(SelectionRule(), Numbered(first_is_slow, tmp_path), jobs=2) == "round 0"  # type: ignore[arg-type]
    assert (tmp_path / "1").exists()


def test_unused_rounds_are_not_reported(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """joblib warns how many tasks were not used; that number must not reach a log."""
    select_by(SelectionRule(), Numbered(first_is_slow, tmp_path), jobs=2)  # type: ignore[arg-type]
    assert [str(warning.message) for warning in recwarn if "tasks" in str(warning.message)] == []


def test_a_failure_in_a_round_that_was_not_needed_changes_nothing(tmp_path: Path) -> None:
    assert select_by(SelectionRule(), Numbered(later_round_fails, tmp_path), jobs=2) == "round 0"  # type: ignore[arg-type]


def test_parallel_rounds_go_on_until_one_is_accepted(tmp_path: Path) -> None:
    assert select_by(SelectionRule(), Numbered(third_is_accepted, tmp_path), jobs=2) == "third"  # type: ignore[arg-type]


@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_is_an_output(jobs: int) -> None:
    assert select_by(SelectionRule(stop_probability=Fraction(1)), always_rejected, jobs=jobs) is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_inside_private_code_ends_the_run(jobs: int) -> None:
    with pytest.raises(PrivateFailure):
        select_by(SelectionRule(), fails_privately, jobs=jobs)


def test_what_noise_brings_about_is_a_rejected_round_and_nothing_else_is() -> None:
    """Any other error would be met by every round: the budget would be spent on rejected rounds alone."""
    expected = {RejectedRound("no row"): Verdict.REJECTED, ArithmeticError("7"): Verdict.BROKEN, MemoryError(): Verdict.FAILED}
    for error, verdict in expected.items():

        def run(error: BaseException = error) -> None:
            raise error

        assert guarded(run).verdict is verdict


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_broken_round_ends_the_run_with_its_place_and_no_message(jobs: int) -> None:
    with pytest.raises(InternalError, match=r"machine: ValueError at synthrelease/data/counts\.py:\d+\.") as broken:
        select_by(SelectionRule(), breaks, jobs=jobs)
    assert "cells" not in str(broken.value)
    assert (broken.value.exit_code, broken.value.__cause__, broken.value.__context__) == (1, None, None)
    with pytest.raises(InternalError):
        select_by(SelectionRule(shape=Fraction(1), stop_probability=Fraction(1, 1000)), breaks, jobs=jobs)


def test_a_broken_round_counts_in_its_place_alone(tmp_path: Path) -> None:
    assert select_by(SelectionRule(), Numbered(later_round_breaks, tmp_path), jobs=2) == "round 0"  # type: ignore[arg-type]


def test_an_unplanned_charge_is_not_a_rejected_round() -> None:
    def run() -> None:
        raise BudgetError("unplanned")

    with pytest.raises(BudgetError):
        guarded(run)


def scripted(outcomes: list[str | None]) -> Callable[[], str | None]:
    """Rounds with these outcomes; one more would fail as private code does."""
    left = iter(outcomes)

    def run() -> str | None:
        for outcome in left:
            return outcome
        raise PrivateFailure()

    return run


def law_of_best_of_k(accepted: dict[str, Fraction], rounds: dict[int, Fraction], monkeypatch: pytest.MonkeyPatch) -> Law:
    """Output law of the loop with a hidden number, by running it on every sequence of outcomes for every number of rounds K."""
    law: Law = defaultdict(Fraction)
    outcomes = [*accepted.items(), (None, 1 - sum(accepted.values()))]
    for k, mass in rounds.items():
        monkeypatch.setattr(selection, "truncated_negative_binomial", lambda shape, stop, k=k: k)
        for path in product(outcomes, repeat=k):
            output = select_by(BEST, scripted([value for value, _ in path]))
            law[output] += mass * prod(probability for _, probability in path)
    return law


def test_the_first_accepted_has_the_law_of_a_random_accepted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The theorem is about the best of all K rounds with random ties; the loop stops at the first accepted one."""
    accepted, rounds = {"x": Fraction(1, 8), "y": Fraction(1, 4)}, {1: Fraction(1, 2), 3: Fraction(1, 3), 5: Fraction(1, 6)}
    random_ties: Law = defaultdict(Fraction)
    outcomes = [*accepted.items(), (None, 1 - sum(accepted.values()))]
    for k, mass in rounds.items():
        for path in product(outcomes, repeat=k):
            probability = mass * prod(probability for _, probability in path)
            found = [value for value, _ in path if value is not None] or [None]
            for value in found:
                random_ties[value] += probability / len(found)
    assert law_of_best_of_k(accepted, rounds, monkeypatch) == random_ties


def test_the_number_of_rounds_has_the_law_of_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(selection, "truncated_negative_binomial", lambda *law: asked.append(law) or 3)
    rule = SelectionRule(stop_probability=Fraction(1, 7), shape=Fraction(1, 3))
    assert select_by(rule, scripted([None, None, None, "too late"])) is None
    assert select_by(rule, scripted([None, None, "just in time"])) == "just in time"
    assert asked == [(Fraction(1, 3), Fraction(1, 7))] * 2


def test_a_rule_without_a_shape_tosses_coins() -> None:
    assert select_by(SelectionRule(stop_probability=Fraction(1)), always_rejected) is None
    assert select_by(SelectionRule(), scripted([None] * 9 + ["tenth"])) == "tenth"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_private_failure_ends_a_best_of_k_as_well(jobs: int) -> None:
    with pytest.raises(PrivateFailure):
        select_by(BEST, fails_privately, jobs)


def test_best_of_k_takes_rounds_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "truncated_negative_binomial", lambda shape, stop: 4)
    assert select_by(BEST, Numbered(first_is_slow, tmp_path), jobs=2) == "round 0"  # type: ignore[arg-type]


@pytest.mark.parametrize(("rounds", "output"), [(2, None), (3, "third"), (4, "third")])
def test_a_hidden_number_ends_the_search_in_its_place(rounds: int, output: str | None, tmp_path: Path) -> None:
    """Rounds that run ahead of need, beyond the hidden number, are in vain even when they are accepted."""
    rule = SelectionRule(rounds=FiniteLaw.of({rounds: Fraction(1)}))
    assert select_by(rule, scripted([None, None, "third"])) == output
    assert select_by(rule, Numbered(third_is_accepted, tmp_path), jobs=2) == output  # type: ignore[arg-type]


@pytest.mark.parametrize("jobs", [1, 2])
def test_failures_end_a_hidden_number_of_rounds_as_they_end_the_others(jobs: int) -> None:
    rule = SelectionRule(rounds=FiniteLaw.of({4: Fraction(1)}))
    with pytest.raises(PrivateFailure):
        select_by(rule, fails_privately, jobs)
    with pytest.raises(InternalError):
        select_by(rule, breaks, jobs)
