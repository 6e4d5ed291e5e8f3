"""An attempt of a rehearsal is the attempt of a release, on public data, with its exact figures kept."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import Score
from synthrelease.criteria.scoring import JointTest
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.noise import laplace_figure
from synthrelease.privacy.public_entropy import NoNoise, SeededEntropy
from synthrelease.releasing.attempt import Prepared, PrivateTable, divided, generate, prepare
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class AttemptResult:
    """One attempt on public data.

    Attributes
    ----------
    configuration, number : index in the configuration space, and which attempt of that configuration.
    generation : budget of the generator's fit.
    accepted : whether the candidate was accepted, with noise, as in a release.
    chance : probability that this candidate passes, over the noise of the figures.
    seconds : time of the attempt in the process that ran it.
    figures : per criterion the figure before noise; None where there was no candidate or no figure.
    sensitivities : per criterion the sensitivity of the figure; None where it gets no noise.
    passed : per criterion, with its noise; under a joint test, whether its slack alone is large enough, without noise. All
        False where there was no candidate.
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


@one_thread
def run_attempts(
    spec: ReleaseSpec,
    public: PrivateCounts,
    priors: Mapping[str, Counts],
    seed: int,
    attempts: Sequence[tuple[int, int]],
    generation: Fraction,
) -> list[AttemptResult]:
    """Attempts (configuration, number) of a rehearsal, in this order.

    Every attempt has its own noise from (seed, generation, configuration, number), so the results do not depend on where and
    when they are run. Attempts of the same number share what a release divides, fits and measures once, as its rounds do.
    """
    spec = replace(spec, generation_budget=generation)
    prepared: dict[int, tuple[PrivateTable, Prepared]] = {}
    results = []
    for configuration, number in attempts:
        if number not in prepared:
            whole = public.with_plan(spec.plan.once).rehearsed(SeededEntropy(seed, 0, number))
            table = divided(whole, spec.partition, spec.plan.once)
            prepared = {number: (table, prepare(spec, table, priors))}
        table, fitted = prepared[number]
        results.append(_run(spec, table, seed, configuration, number, fitted))
    return results


def _run(spec: ReleaseSpec, public: PrivateTable, seed: int, index: int, number: int, prepared: Prepared) -> AttemptResult:
    start = time.perf_counter()
    key = (1, index, number, spec.generation_budget.numerator, spec.generation_budget.denominator)
    entropy = SeededEntropy(seed, *key)
    scores: list[Score] = []
    slacks: list[float] = []
    try:
        merged, candidate = generate(spec, spec.space[index], public.rehearsed(entropy), prepared)
        scores, slacks = exact_scores(spec, merged, candidate, prepared)
    except RejectedRound:
        pass
    figures = tuple(score.value if math.isfinite(score.value) else None for score in scores)
    sensitivities = tuple(score.sensitivity for score in scores)
    if not scores:
        passed, accepted, likely = (False,) * len(spec.criteria), False, 0.0
    elif spec.joint_test is None:
        passed = tuple(_passes(each, score, public.score.n, entropy) for each, score in zip(spec.criteria, scores, strict=True))
        accepted, likely = all(passed), chance(spec.criteria, figures, sensitivities)
    else:
        passed = tuple(slack >= spec.joint_test.margin for slack in slacks)
        accepted, likely = _joint(spec.joint_test, min(slacks), entropy)
    return AttemptResult(
        configuration=index,
        number=number,
        generation=spec.generation_budget,
        accepted=accepted,
        chance=likely,
        seconds=time.perf_counter() - start,
        figures=figures or (None,) * len(spec.criteria),
        sensitivities=sensitivities or (None,) * len(spec.criteria),
        passed=passed,
    )


def exact_scores(
    spec: ReleaseSpec, merged: PrivateCounts, candidate: Candidate, prepared: Prepared
) -> tuple[list[Score], list[float]]:
    """The scores before noise, and how far each criterion is from failing, in sensitivities (under a joint test only)."""
    fitted = prepared.fitted
    table = merged.with_plan([charge for each in spec.criteria for charge in each.per_score()])
    exact = table.rehearsed(NoNoise())
    scores, slacks = [], []
    for criterion in spec.criteria:
        asked = exact if criterion.figure_gets_noise else table
        fitted = criterion.refit(asked, candidate, spec.setting, fitted)
        score = criterion.score(asked, candidate, spec.setting, fitted)
        scores.append(score)
        if spec.joint_test is None:
            continue
        query = criterion.asked(merged.n, candidate, spec.setting, fitted)
        if isinstance(query, Score):
            slacks.append(math.inf if query.passed else -math.inf)
        elif query.slack is None:
            slacks.append(-math.inf if query.void else (criterion.threshold - score.value) / query.sensitivity)
        else:
            one = exact.with_plan([spec.joint_test.charge])
            slacks.append(spec.joint_test.noisy_slack(one, [(criterion, query)]))  # exact: it has no noise here
    return scores, slacks


def _joint(test: JointTest, slack: float, entropy: SeededEntropy) -> tuple[bool, float]:
    """Whether a candidate with this least slack is accepted, and how likely that was."""
    if not math.isfinite(slack):
        return slack > 0, float(slack > 0)
    noisy = laplace_figure(slack, sensitivity=1.0, epsilon=test.epsilon, entropy=entropy)
    return noisy.value >= test.margin, passing(test.margin, slack, 1.0, test.epsilon)


def _passes(criterion: Criterion, score: Score, n: int, entropy: SeededEntropy) -> bool:
    """Whether the figure passes once it has its noise: the same draw as in a release, because grid points stay put."""
    if not criterion.figure_gets_noise or score.sensitivity is None or not math.isfinite(score.value):
        return score.passed
    noisy = laplace_figure(score.value, sensitivity=score.sensitivity, epsilon=criterion.epsilon, rows=n, entropy=entropy)
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
