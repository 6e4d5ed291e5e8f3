"""What each part's noise takes from each criterion, told from pairs of tries of a made-up law; and the step that follows."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from synthrelease.studio.rehearsal.allocation import FACTOR, Allocation, Divisible, MeasuredPart, OppositeTries, SlopesOfParts

LOSSES = np.zeros((3, 40))
LOSSES[0, 3], LOSSES[1, 3], LOSSES[1, 7:12], LOSSES[2] = 30.0, 5.0, 10.0, 1.0
SLACKS = np.array([100.0, 90.0, 80.0])


def pairs_of(noise: np.ndarray, count: int, seed: int) -> list[OppositeTries]:
    """Slack is lost in proportion to the noise; both tries of a pair have the same luck, and little of their own."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        signs = 2 * random.integers(0, 2, len(noise)) - 1
        deviations = np.array([noise * FACTOR ** (-each / 2) for each in (signs, -signs)])
        luck, own = random.normal(0, 8, 3), random.normal(0, 1, (2, 3))
        slacks = np.column_stack([SLACKS + luck - deviations @ LOSSES.T + own, np.full(2, np.inf)])
        found.append(OppositeTries(population=number % 4, deviations=deviations, slacks=slacks))
    return found


def test_a_few_dozen_pairs_tell_which_of_many_parts_a_criterion_hears() -> None:
    """Forty parts, 32 pairs, two tries each: the luck of 8 cancels, and only what noise takes is left."""
    noise = np.ones(40)
    slopes = SlopesOfParts.of(pairs_of(noise, 32, 1), [], noise)
    assert slopes is not None
    assert slopes.losses.shape == (3, 40)  # the aspect that asks nothing is left out
    assert np.argmax(slopes.losses[0]) == 3
    assert set(np.argsort(slopes.losses[1])[-4:]) <= {3, 7, 8, 9, 10, 11}
    assert (slopes.losses >= 0).all()
    assert slopes.losses[0, 3] > 0.5 * LOSSES[0, 3] > 5 * np.delete(slopes.losses[0], 3).max() / 2
    assert slopes.spreads[0] == pytest.approx(8, rel=0.5)
    assert slopes.slacks == pytest.approx(SLACKS - LOSSES.sum(axis=1), abs=6)


def test_pairs_of_stages_before_tell_too() -> None:
    """In the unit of this stage: where a part has half of its noise now, it takes half of what it took."""
    before, noise = pairs_of(np.ones(40), 200, 2), np.full(40, 0.5)
    alone, together = (SlopesOfParts.of(pairs_of(noise, 16, 3), known, noise) for known in ([], before))
    assert alone is not None and together is not None  # noqa: PT018
    off = [float(np.abs(one.losses - LOSSES / 2).sum()) for one in (alone, together)]
    assert off[1] < off[0] / 2
    assert together.losses[0, 3] == pytest.approx(LOSSES[0, 3] / 2, rel=0.1)


def test_too_few_candidates_tell_nothing() -> None:
    noise = np.ones(40)
    assert SlopesOfParts.of(pairs_of(noise, 7, 1), pairs_of(noise, 32, 2), noise) is None
    silent = [
        OppositeTries(population=0, deviations=one.deviations, slacks=one.slacks[:, 3:]) for one in pairs_of(noise, 32, 2)
    ]
    assert SlopesOfParts.of(silent, [], noise) is None


def divisible(*, gaussian: bool) -> Divisible:
    """Of a total of 1, of which the test takes its epsilon; a margin of 2 over that."""
    return SimpleNamespace(  # type: ignore[return-value]
        power=1 if gaussian else 2,
        in_budgets=lambda allocation: allocation,
        generation=lambda allocation: Fraction(1) - allocation.test,
        margin=lambda allocation: 2 / float(allocation.test),
    )


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_step_goes_to_the_part_that_the_nearest_criterion_hears_within_its_radius(gaussian: bool) -> None:
    """Two parts, and one criterion that hears the second alone."""
    parts = tuple(MeasuredPart(field="tables", place=place, texts=(text,)) for place, text in enumerate("ab"))
    present = Allocation(parts=parts, weights=(Fraction(2, 5), Fraction(2, 5)), test=Fraction(1, 5))
    slopes = SlopesOfParts(slacks=np.array([20.0]), spreads=np.array([5.0]), losses=np.array([[0.0, 40.0]]))
    step = slopes.step(divisible(gaussian=gaussian), present, np.log(2))
    assert float(step.weights[1] / step.weights[0]) == pytest.approx(4, rel=0.02)
    assert float(sum(step.weights)) == pytest.approx(1 - float(step.test), rel=0.01)
    power = 0.5 if gaussian else 1.0
    noise = np.array([(0.4 / float(weight)) ** power for weight in step.weights])
    before, after = (slopes.deviations(each, 0.2, 10.0)[0] for each in (np.ones(2), noise))
    assert after > before


@pytest.mark.parametrize("gaussian", [False, True])
def test_weights_and_test_of_a_step_are_those_of_the_least_loss(gaussian: bool) -> None:
    """Least of 8 (0.4 / b)^q + (0.4 / c)^q with b + c fixed: b / c = 8^(1 / (1 + q)), q = 1 of an epsilon and 1/2 of a rho.

    The test is the factor of 0.2 with the largest t (slack - loss) - 2, which is neither the first nor the last.
    """
    power = 0.5 if gaussian else 1.0
    ratio = 8 ** (1 / (1 + power))
    least = {
        t: 8 * (0.4 * (1 + 1 / ratio) / (1 - t)) ** power + (0.4 * (1 + ratio) / (1 - t)) ** power for t in (0.14, 0.17, 0.2)
    }
    slack = least[0.17] + 0.7
    parts = tuple(MeasuredPart(field="tables", place=place, texts=(text,)) for place, text in enumerate("ab"))
    present = Allocation(parts=parts, weights=(Fraction(2, 5), Fraction(2, 5)), test=Fraction(1, 5))
    slopes = SlopesOfParts(slacks=np.array([slack - 9.0]), spreads=np.zeros(1), losses=np.array([[8.0, 1.0]]))
    step = slopes.step(divisible(gaussian=gaussian), present, np.log(10))
    assert float(step.weights[0] / step.weights[1]) == pytest.approx(ratio, rel=0.03)
    values = {t: t * (slack - loss) for t, loss in least.items()}
    assert float(step.test) == max(values, key=lambda t: values[t])


def test_a_table_that_answers_with_the_weight_keeps_its_budget() -> None:
    """No criterion hears the first part: a step would take from it, were it not for weighted answers."""
    parts = tuple(
        MeasuredPart(field="tables", place=place, texts=(text,), kept=text == "a") for place, text in enumerate("abc")
    )
    present = Allocation(parts=parts, weights=(Fraction(1, 5), Fraction(2, 5), Fraction(1, 5)), test=Fraction(1, 5))
    slopes = SlopesOfParts(slacks=np.array([20.0]), spreads=np.array([5.0]), losses=np.array([[0.0, 0.0, 40.0]]))
    step = slopes.step(divisible(gaussian=False), present, np.log(2))
    assert float(step.weights[0]) == pytest.approx(0.2, rel=1e-3)
    assert step.weights[2] > step.weights[1]
    assert float(sum(step.weights)) == pytest.approx(1 - float(step.test), rel=0.01)


def test_deviations_from_failing_against_the_sum_written_out() -> None:
    slopes = SlopesOfParts(
        slacks=np.array([50.0, 40.0]), spreads=np.array([3.0, 4.0]), losses=np.array([[6.0, 2.0], [0.0, 0.0]])
    )
    found = slopes.deviations(np.array([2.0, 0.5]), 0.5, 10.0)
    loss = 6 * (2 - 1) + 2 * (0.5 - 1)
    assert found[0] == pytest.approx((50 - loss - 10) / np.sqrt((3 * 13 / 8) ** 2 + 8))
    assert found[1] == pytest.approx((40 - 10) / np.sqrt(16 + 8))
