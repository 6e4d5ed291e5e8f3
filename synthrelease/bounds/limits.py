"""Upper limits of true errors, from the noisy figures of a release that was accepted because of these figures.

A figure is the true error E of the candidate plus Laplace noise of scale b, and it is seen only because it came out at or
below the threshold T. Among candidates that are no good, those with lucky noise are the ones that are seen, so that
"figure + b ln(1 / (2 risk))" is too small a limit. The limit here takes the selection into account. With F the distribution
function of the noise, a figure as low as v has, among accepted figures of a candidate with true error E, the probability

    p(v; E) = F(v - E) / F(T - E),

which falls as E grows and stays at kappa = exp(-(T - v)/b) for every E >= T: the law of an accepted figure above its
threshold no longer depends on E. The limit is the E at which p(v; E) reaches the risk: with kappa < risk

    v + b ln( (1 - sqrt(1 - kappa / risk)) / kappa ),

never above T; for a figure far below the threshold it is v + b ln(1 / (2 risk)), as without selection. With kappa >= risk the
figure is so close to its threshold that it says nothing: the limit is infinite. Given the released table, the probability
that its true error exceeds the limit is at most the risk, whatever the acceptance probability was (theory
13.1, limit behind an accepted figure).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from synthrelease.bounds.measured import measured_times
from synthrelease.criteria import CRITERIA
from synthrelease.criteria.facts import Score
from synthrelease.errors import InputError
from synthrelease.privacy.grids import noise_grid
from synthrelease.published import PublishedRelease

_SHARE_OF_ABSOLUTE = 0.5
"""Of the risk: every bound rests on the absolute error, so its limit gets half. Fixed, so that no figure influences it."""


_SHARE_OF_MEASURED = 0.5


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The upper limit of one criterion's true error.

    Attributes
    ----------
    index : place of the criterion in the release.
    score : its released figure.
    limit : in the figure's units; infinite when the figure says nothing.
    risk : probability, given the released table, that the true error is larger.
    """

    index: int
    score: Score
    limit: float
    risk: float


def limits(release: PublishedRelease, confidence: float, acceptance: float | None = None) -> tuple[Limit, ...]:
    """Limits that hold all together with the stated confidence.

    Parameters
    ----------
    confidence : between 0.5 and 1.
    acceptance : a lower bound on the probability that a round is accepted, for example from a rehearsal. It is the
        caller's word. With it every figure has a second limit, and a finite one also near the threshold.

    Raises
    ------
    InputError : for a confidence or acceptance out of range, or a release that has no figure that can be used.
    """
    check_confidence(confidence)
    if acceptance is not None and not 0 < acceptance <= 1:
        raise InputError(f"acceptance: expected a probability above 0 and at most 1, found {acceptance:g}.")
    usable = [i for i, score in enumerate(release.criteria) if _known_noise(score) and _usable(score.kind)]
    if not usable and measured_times(release, acceptance) is None:
        example = next(filter(_usable, CRITERIA))
        raise InputError(f"{release.folder}: expected a criterion that bounds errors, such as {example!r}; found none.")
    return tuple(
        Limit(
            index=i,
            score=score,
            limit=max(_limit(score, release.counts.total, risk, acceptance), CRITERIA[score.kind].best_figure),
            risk=risk,
        )
        for i, risk in _risks(release, usable, divided_risk(release, confidence, acceptance)[0]).items()
        for score in [release.criteria[i]]
    )


def _known_noise(score: Score) -> bool:
    """Whether the figure itself has noise of a known law."""
    return score.mechanism == "Laplace" or score.one_noise is not None


def _usable(kind: str) -> bool:
    """Whether criteria of this kind say something about other queries."""
    return kind in CRITERIA and not CRITERIA[kind].no_bounds


def check_confidence(confidence: float) -> None:
    """Raises InputError for what is no confidence."""
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence: expected a number of at least 0.5 and below 1, found {confidence:g}.")


def divided_risk(release: PublishedRelease, confidence: float, acceptance: float | None = None) -> tuple[float, float]:
    """What the limits of figures may be wrong with, and those of published measurements: half each where there are any.

    It depends on what is published, never on a figure or a noisy count.
    """
    share = 0.0 if measured_times(release, acceptance) is None else _SHARE_OF_MEASURED
    return (1 - confidence) * (1 - share), (1 - confidence) * share


def _risks(release: PublishedRelease, usable: list[int], risk: float) -> dict[int, float]:
    """The risk divided among the criteria by their kinds alone: their sum is the risk that any limit is wrong."""
    if not usable:
        return {}
    absolute = [i for i in usable if CRITERIA[release.criteria[i].kind].bounds_every_cell]
    others = [i for i in usable if i not in absolute]
    if not absolute or not others:
        return {i: risk / len(usable) for i in usable}
    share = _SHARE_OF_ABSOLUTE
    return {i: risk * (share / len(absolute) if i in absolute else (1 - share) / len(others)) for i in usable}


def _limit(score: Score, n: int, risk: float, acceptance: float | None) -> float:
    if score.noise_sd is None or score.sensitivity is None:
        raise InputError(f"criterion {score.name!r}: expected the noise of its figure, found none.")
    if score.one_noise is not None:  # after acceptance alone: the noise had no part in it
        return score.one_noise.upper(score.value, score.sensitivity, n, risk)
    step = noise_grid(score.sensitivity, n).step
    # the scale of the discrete noise is below sd/sqrt(2) + step/2; see the test
    scale = score.noise_sd / math.sqrt(2) + step / 2
    if not score.decides:  # its noise had no part in the acceptance
        return score.value + scale * math.log(1 / (2 * risk)) + step
    if acceptance is None:
        return selected_limit(score.value, score.threshold, scale, risk, step)
    return min(
        selected_limit(score.value, score.threshold, scale, risk / 2, step),
        score.value + scale * math.log(1 / (min(1.0, acceptance * risk / 2) * 2)) + step,
    )


def selected_limit(value: float, threshold: float, scale: float, risk: float, step: float = 0.0) -> float:
    """The upper limit of the true error behind an accepted figure.

    Parameters
    ----------
    value, threshold : the released figure, and what it had to stay below.
    scale : of the Laplace noise.
    risk : between 0 and 1/2.
    step : of the grid that figures are rounded to. Discrete noise z steps from 0 is at most as likely, in its tails, as
        continuous noise half a step nearer to 0 (1/(1+a) <= a^(-1/2)/2), and the figure was rounded by half a step at most.
    """
    if not value <= threshold:
        return math.inf
    low, high = value + step / 2, threshold - step / 2
    kappa = math.exp(-(high - low) / scale) if low < high else 1.0
    if kappa >= risk:
        return math.inf
    # (1 - sqrt(1 - x)) / kappa without cancellation, x = kappa / risk
    ratio = 1 / (risk * (1 + math.sqrt(1 - kappa / risk)))
    return low + scale * math.log(ratio) + step / 2
