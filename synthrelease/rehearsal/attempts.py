"""One attempt of a rehearsal: the attempt of a release on public data, with its exact figures kept."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from synthrelease.attempt import prepare
from synthrelease.candidate import make_candidate
from synthrelease.criteria import Criterion, Score
from synthrelease.errors import RejectedRound
from synthrelease.private import PrivateCounts
from synthrelease.randomness import NoNoise, SeededEntropy, laplace_figure
from synthrelease.spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class AttemptResult:
    """One attempt on public data.

    Attributes
    ----------
    configuration, number : index in the configuration space, and which attempt of that configuration.
    generation : budget of the generator's fit.
    accepted : whether every criterion passed, with its noise, as in a release.
    chance : probability that this candidate passes, over the noise of the figures.
    seconds : time of the attempt in the process that ran it.
    figures : per criterion the figure before noise; None where there was no candidate or no figure.
    sensitivities : per criterion the sensitivity of the figure; None where it gets no noise.
    passed : per criterion; all False where there was no candidate.
    """

    configuration: int
    number: int
    generation: Fraction
    accepted: bool
    chance: float
    seconds: float
    figures: tuple[float | None, ...]
    sensitivities: tuple[float | None, ...]
    passed: tuple[bool, ...]


def run_attempts(
    spec: ReleaseSpec, public: PrivateCounts, seed: int, attempts: Sequence[tuple[int, int]], generation: Fraction
) -> list[AttemptResult]:
    """Attempts (configuration, number) of a rehearsal, in this order.

    Every attempt has its own noise from (seed, generation, configuration, number), so the results do not depend on where and
    when they are run. Attempts of the same number share the private fit that a release makes once, as its rounds do.
    """
    spec = replace(spec, generation_epsilon=generation)
    prepared: dict[int, dict[str, object]] = {}
    results = []
    for configuration, number in attempts:
        if number not in prepared:
            fitted_on = public.with_plan(spec.plan.once).rehearsed(SeededEntropy(seed, 0, number))
            prepared = {number: prepare(spec, fitted_on)}
        results.append(_run(spec, public, seed, configuration, number, prepared[number]))
    return results


def _run(
    spec: ReleaseSpec, public: PrivateCounts, seed: int, index: int, number: int, prepared: dict[str, object]
) -> AttemptResult:
    start = time.perf_counter()
    key = (1, index, number, spec.generation_epsilon.numerator, spec.generation_epsilon.denominator)
    entropy = SeededEntropy(seed, *key)
    configuration = spec.space[index]
    transformation = configuration.transformation
    merged = public.with_plan(spec.plan.per_round).merge(transformation.layout, transformation.maps).rehearsed(entropy)
    scores: list[Score] = []
    try:
        candidate = make_candidate(configuration, merged, spec.synthetic.merge(transformation), spec.generation_epsilon)
        earlier, exact = dict(prepared), merged.rehearsed(NoNoise())
        for criterion in spec.criteria:
            table = exact if criterion.figure_gets_noise else merged
            scores.append(criterion.score(table, candidate, spec.setting, earlier))
    except RejectedRound:
        scores = []
    passed = tuple(_passes(criterion, score, entropy) for criterion, score in zip(spec.criteria, scores, strict=False))
    return AttemptResult(
        configuration=index,
        number=number,
        generation=spec.generation_epsilon,
        accepted=bool(scores) and all(passed),
        chance=chance(spec.criteria, [score.value for score in scores], [score.sensitivity for score in scores]),
        seconds=time.perf_counter() - start,
        figures=tuple(score.value if math.isfinite(score.value) else None for score in scores) or (None,) * len(spec.criteria),
        sensitivities=tuple(score.sensitivity for score in scores) or (None,) * len(spec.criteria),
        passed=passed or (False,) * len(spec.criteria),
    )


def _passes(criterion: Criterion, score: Score, entropy: SeededEntropy) -> bool:
    """Whether the figure passes once it has its noise: the same draw as in a release, because grid points stay put."""
    if not criterion.figure_gets_noise or score.sensitivity is None or not math.isfinite(score.value):
        return score.passed
    noisy = laplace_figure(score.value, sensitivity=score.sensitivity, epsilon=criterion.epsilon, entropy=entropy)
    return noisy.value <= criterion.threshold


def chance(criteria: Iterable[Criterion], figures: Sequence[float | None], sensitivities: Sequence[float | None]) -> float:
    """Probability that all criteria pass, over the Laplace noise of their figures; 0 without figures."""
    if not figures:
        return 0.0
    product = 1.0
    for criterion, figure, sensitivity in zip(criteria, figures, sensitivities, strict=True):
        product *= passing(figure, criterion.threshold, sensitivity, criterion.epsilon)
    return product


def passing(figure: float | None, threshold: float, sensitivity: float | None, epsilon: Fraction) -> float:
    """Pr[figure + noise <= threshold] with Laplace noise of scale sensitivity / epsilon; without noise 0 or 1."""
    if figure is None or math.isnan(figure):
        return 0.0
    if sensitivity is None:
        return float(figure <= threshold)
    slack = (threshold - figure) * float(epsilon) / sensitivity
    return 1 - math.exp(-slack) / 2 if slack >= 0 else math.exp(slack) / 2
