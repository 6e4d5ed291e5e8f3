"""Upper limits of true errors: exact coverage under selection, against the law of the noise written out."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.answers.limits import limits, selected_limit
from synthrelease.errors import InputError
from synthrelease.privacy.grids import laplace_sd, noise_grid
from tests.helpers.published import integer_column, published, score

RISKS = (0.05, 0.025, 0.005)


def accepted_law(true_error: float, threshold: float, scale: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """(values, probabilities) of a released figure, given that it was accepted: discrete noise, written out."""
    reach = math.ceil(60 * scale / step + abs(threshold - true_error) / step)
    noise = np.arange(-reach, reach + 1)
    values = (round(true_error / step) + noise) * step
    law = np.exp(-np.abs(noise) * step / scale)
    law = np.where(values <= threshold, law, 0.0)
    return values, law / law.sum()


def misses(true_error: float, threshold: float, scale: float, step: float, risk: float) -> float:
    """Probability, given acceptance, that the limit is below the true error."""
    values, law = accepted_law(true_error, threshold, scale, step)
    wrong = [selected_limit(float(v), threshold, scale, risk, step) < true_error for v in values[law > 0]]
    return float(law[law > 0][wrong].sum())


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("step", [1 / 64, 1 / 16])
def test_a_limit_is_missed_with_at_most_its_risk_whatever_the_true_error(risk: float, step: float) -> None:
    threshold, scale = 10.0, 1.0
    found = {
        error: misses(error, threshold, scale, step, risk) for error in (0.0, 2.51, 5.03, 8.0, 9.4, 9.99, 10.02, 11.7, 14.0)
    }
    assert max(found.values()) <= risk
    # and it is not wider than it need be: nothing is gained by a smaller risk far from the threshold
    assert found[2.51] > 0.9 * risk * math.exp(-2 * step / scale)


def test_without_the_correction_for_selection_bad_candidates_would_pass_as_good_ones() -> None:
    """The law of an accepted figure above its threshold does not depend on the true error."""
    threshold, scale, step, risk = 10.0, 1.0, 1 / 64, 0.05
    values, law = accepted_law(14.0, threshold, scale, step)
    naive = values + scale * math.log(1 / (2 * risk))
    assert law[naive < 14.0].sum() > 0.9  # stated: 0.05
    assert misses(14.0, threshold, scale, step, risk) <= risk


def test_a_limit_is_never_above_the_threshold_and_rises_with_the_figure() -> None:
    figures = np.linspace(-5, 10, 400)
    found = np.array([selected_limit(float(v), 10.0, 1.0, 0.05) for v in figures])
    finite = np.isfinite(found)
    assert (found[finite] <= 10.0 + 1e-9).all()
    assert (np.diff(found[finite]) > 0).all()
    assert finite[figures < 10.0 - math.log(20) - 0.1].all()
    assert not finite[figures > 10.0 - math.log(20) + 0.1].any()
    assert found[0] == pytest.approx(-5 + math.log(10), abs=1e-4)  # far away: as without selection


def test_a_figure_above_its_threshold_or_not_a_number_says_nothing() -> None:
    assert selected_limit(10.5, 10.0, 1.0, 0.05) == math.inf
    assert selected_limit(math.nan, 10.0, 1.0, 0.05) == math.inf


@pytest.mark.parametrize("ratio", [1e-3, 0.1, 1.0, 5.0, 20.0])
def test_the_scale_of_the_noise_is_not_underestimated_from_its_deviation(ratio: float) -> None:
    """noise_sd / sqrt(2) + step / 2 is at least the scale of discrete Laplace noise, for any step."""
    step = ratio
    assert (
        step * laplace_sd(Fraction(1) / Fraction(ratio)) / math.sqrt(2)
        <= 1.0
        <= (step * laplace_sd(Fraction(1) / Fraction(ratio)) / math.sqrt(2) + step / 2)
    )


def test_the_grid_is_that_of_released_figures() -> None:
    from synthrelease.privacy.noise import laplace_figure
    from synthrelease.privacy.public_entropy import NoNoise

    for sensitivity in (0.3, 1.0, 1.9, 1e-6):
        step = noise_grid(sensitivity).step
        shown = laplace_figure(7.3 * step, sensitivity=sensitivity, epsilon=Fraction(1), entropy=NoNoise()).value
        assert shown == 7 * step


def made(*figures: tuple[str, float, float]) -> object:
    """A release with figures (kind, value, threshold) and noise of scale 1 for each."""
    column = integer_column("a", [0, 1, 2])
    criteria = [
        (score(f"{kind} {i}", kind, value, threshold, noise_sd=math.sqrt(2)), {})
        for i, (kind, value, threshold) in enumerate(figures)
    ]
    return published([column], np.zeros((5, 1)), criteria)


def test_the_risk_is_shared_out_before_any_figure_is_seen() -> None:
    figures = [("absolute_marginal_error", 10.0, 50.0), ("faithfulness", 10.0, 50.0), ("conditional_mean", 9.9, 10.0)]
    found = limits(made(*figures), 0.95)  # type: ignore[arg-type]
    assert [round(limit.risk, 6) for limit in found] == [0.025, 0.0125, 0.0125]
    assert found[0].limit == pytest.approx(10 + math.log(1 / 0.05), abs=2e-3)
    assert found[2].limit == math.inf


def test_a_limit_is_never_below_what_an_exact_figure_can_be() -> None:
    """Noise may take a figure so far down that the limit would be one that no table meets."""
    figures = [("absolute_marginal_error", -30.0, 10.0), ("relative_marginal_error", -30.0, 10.0)]
    assert [limit.limit for limit in limits(made(*figures), 0.95)] == [0.0, 1.0]  # type: ignore[arg-type]


def test_an_acceptance_probability_gives_a_second_limit_and_the_smaller_one_counts() -> None:
    near, far = ("faithfulness", 9.9, 10.0), ("faithfulness", 10.0, 50.0)
    for figure in (near, far):
        without, half = (limits(made(figure), 0.95, p)[0].limit for p in (None, 0.5))  # type: ignore[arg-type]
        assert half == pytest.approx(figure[1] + math.log(1 / (2 * 0.025 * (0.5 if figure is near else 1))), abs=2e-3)
        assert (without == math.inf) == (figure is near)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.02])
def test_with_an_acceptance_probability_accepted_limits_are_missed_with_at_most_the_risk(share: float) -> None:
    """A mixture of good and hopeless candidates, in which the acceptance probability is known."""
    random, threshold, risk = np.random.default_rng(5), 10.0, 0.05
    good = random.random(400_000) < share
    errors = np.where(good, random.normal(7.0, 1.0, len(good)), random.normal(15.0, 1.0, len(good)))
    values = errors + random.laplace(size=len(good))
    accepted = values <= threshold
    p = float(accepted.mean())
    near = accepted & (values > threshold - 0.5)
    figures = [limits(made(("faithfulness", float(v), threshold)), 1 - risk, p)[0].limit for v in values[near][:2000]]  # type: ignore[arg-type]
    assert np.isfinite(figures).all()
    step = noise_grid(1.0).step
    width = figures[0] - values[near][0]
    missed = errors[accepted] > np.minimum(
        values[accepted] + width,
        [selected_limit(float(v), threshold, 1.0 + step / 2, risk / 2, step) for v in values[accepted]],
    )
    assert missed.mean() <= risk


def test_what_cannot_be_used_is_refused() -> None:
    release = made(("faithfulness", 0.0, 1.0))
    for confidence, acceptance in ((0.4, None), (1.0, None), (math.nan, None), (0.9, 0.0), (0.9, 1.5), (0.9, math.nan)):
        with pytest.raises(InputError, match="0.5 and below 1|above 0 and at most 1"):
            limits(release, confidence, acceptance)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="this release has no criterion that limits errors"):
        limits(made(("face_privacy", 0.0, 1.0)), 0.95)  # type: ignore[arg-type]
