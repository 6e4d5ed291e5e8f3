"""A weighted count and a private choice of strata as the source has them, for the experiments with sampled births."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reproduction.cauchy_noise import CauchyNoise
from tests.reproduction.imputation import STEPS, Answer, Neighbours
from tests.reproduction.weighting import PostStrata, Respondents, choice_law, score_sensitivity, selection_epsilon


def weighted_count(
    strata: PostStrata,
    respondents: Respondents,
    chosen: np.ndarray,
    epsilon: float,
    neighbours: Neighbours,
    generator: np.random.Generator,
    *,
    gamma: float = 4.0,
) -> Answer:
    """Return the weighted count of the chosen with smooth sensitivity.

    Privacy: epsilon-DP. Adding or removing a record moves it by at most W_0, replacing one by at most 2 W_0; the bound is
    smooth for beta = epsilon / (2 (gamma - 1)) (theory 11.8, weighted count).

    Parameters
    ----------
    chosen : (n,) whether a record counts, by a rule that looks at each record alone.
    gamma : at least 2.
    """
    noise = CauchyNoise.printed_with_gamma(epsilon, gamma)
    exact = float(strata.weights(respondents)[chosen].sum())
    bound = STEPS[neighbours] * strata.smooth_bound(respondents, noise.beta)
    return Answer(value=exact + noise.draw(bound, generator), epsilon=epsilon, neighbours=neighbours)


def choose(
    candidates: Sequence[PostStrata],
    respondents: Respondents,
    epsilon: float,
    neighbours: Neighbours,
    generator: np.random.Generator,
) -> int:
    """Return the place of the chosen strata among the candidates, by the exponential mechanism.

    Privacy: epsilon-DP; alpha is the one that `selection_epsilon` gives epsilon for.
    """
    alpha = epsilon / selection_epsilon(1, score_sensitivity(candidates), neighbours)
    law = choice_law([candidate.score(respondents) for candidate in candidates], alpha)
    return int(generator.choice(len(candidates), p=law))
