"""Compute the tables of the source papers that follow from formulas, with each printed value beside the computed value."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.criteria.facts import noise_deviation
from synthrelease.criteria.marginals import RelativeMarginalError, ratio_sensitivity
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.resources import resource
from synthrelease.spec.load import load_spec
from synthrelease.studio.baselines.swapping import best_rate, least_epsilon, nominal_epsilon, pairwise_epsilon
from synthrelease.studio.rehearsal.utility import ConfidenceIntervals, interval_overlap, standardised_difference
from tests.reproduction.cauchy_noise import CauchyNoise
from tests.reproduction.weighting import PostStrata, Respondents, choice_law, score_sensitivity, selection_epsilon

TENTH = Fraction(1, 10)


@lru_cache(maxsize=1)
def printed() -> Mapping[str, Any]:
    """Return the printed values of the source papers (`printed.toml`)."""
    return tomllib.loads((Path(__file__).parent / "printed.toml").read_text(encoding="utf-8"))


Rows = list[list[str]]
"""Rows of a table with printed and computed values. An empty text stands for a value that the paper does not print."""


def markdown(columns: Sequence[str], rows: Rows) -> str:
    """Return a table as Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell or "–" for cell in line) + " |" for line in lines)


def like(value: float, text: str) -> str:
    """Return a value as text, with as many decimals as the printed text.

    Examples
    --------
    >>> like(19.3763, "19.38"), like(1422.6, "1000")
    ('19.38', '1423')
    """
    return f"{value:.{len(text.partition('.')[2])}f}"


def budget() -> Rows:
    """Return the charges that add up to epsilon 9.98 in Hod & Canetti (2024), both as printed and as computed from the shipped
    configuration.
    """
    births, spec = printed()["births"], load_spec(resource("configs/births-paper.toml"))
    ours = {criterion.name: criterion.epsilon for criterion in spec.criteria}
    evaluation = sum(ours.values(), Fraction(0))
    ours |= {"generation": spec.budget.generation, "criteria": evaluation, "one round": spec.budget.generation + evaluation}
    ours |= {"selection": spec.plan.total.epsilon}
    texts = {name: epsilon for _, name, _, _, epsilon, *_ in births["criteria"]} | births["budget"]
    return [[name, text, like(float(ours[name]), text)] for name, text in texts.items()]


def ratio() -> Rows:
    """Return the sensitivity of a clipped ratio, and the threshold that a ratio at the clip passes with probability p."""
    rows = []
    for clip, smallest, sensitivity, deviation, p, threshold in printed()["ratio"]["rows"]:
        criterion = RelativeMarginalError.model_validate(printed()["ratio"]["criterion"] | {"clip": clip})
        step = ratio_sensitivity(np.array([smallest]), clip)
        sigma = noise_deviation(step, criterion.epsilon)
        ours = criterion.threshold_passed_by_noise(p, smallest)
        rows.append([f"{clip:g}", str(smallest), sensitivity, f"{step:.3f}", deviation, f"{sigma:.3f}", f"{p:g}", threshold])
        rows[-1].append(f"{ours:.3f}")
    return rows


def printed_bound(epsilon: Fraction, share: Fraction) -> float:
    """Return ln((e^epsilon beta + 1 - beta) / (1 - beta)) (Merrill 2021, Theorem 5.5.1)."""
    beta = float(share)
    return math.log((math.exp(epsilon) * beta + 1 - beta) / (1 - beta))


def largest_share(epsilon: Fraction) -> float:
    """Return the largest share of records for which the printed bound is below epsilon itself: (E - 1) / (2 E - 1) with E =
    e^epsilon.
    """
    factor = math.exp(epsilon)
    return (factor - 1) / (2 * factor - 1)


def tight_bound(epsilon: Fraction, share: Fraction) -> Fraction:
    """Return the epsilon for a member of the population that a release states (theory 11.3, amplification by a subset)."""
    return of_the_population(Loss(epsilon, Fraction(0)), share.numerator, share.denominator).epsilon


def sampling() -> Rows:
    """Return the guarantees for a member of the population of a simple random sample: printed, recomputed, and as releases
    state them.
    """
    rows = []
    for text, share, bound in printed()["sampling"]["rows"]:
        epsilon = Fraction(text)
        useful, value = math.floor(largest_share(epsilon) * 10**4) / 10**4, printed_bound(epsilon, TENTH)
        ours = f"none ({value:.4f})" if value > epsilon else f"{value:.2f}"
        rows.append([text, share, f"{useful:.4f}", bound, ours, f"{float(tight_bound(epsilon, TENTH)):.4f}"])
    return rows


def running_example() -> tuple[dict[str, Respondents], dict[str, PostStrata]]:
    """Return the two samples and the five sets of strata of Merrill 2021, chapter 7."""
    example = printed()["strata"]
    samples = {
        name: Respondents(bins=np.repeat(np.arange(len(counts)), counts), base_weights=np.ones(sum(counts)))
        for name, counts in example["samples"].items()
    }
    strata = {
        name: PostStrata(into=np.array(into), totals=example["people"] * np.bincount(into))
        for name, into in example["into"].items()
    }
    return samples, strata


def strata() -> Rows:
    """Return the largest weights, the choice of strata and the standard deviations of the running example. Each cell has the
    printed value and the computed value, separated by a slash.
    """
    example, (samples, sets) = printed()["strata"], running_example()
    alpha = 0.01 / selection_epsilon(1, score_sensitivity(list(sets.values())), "replace one")
    deviation = CauchyNoise.printed_with_gamma(1, 4).deviation
    sizes, rows = np.array([len(bins.totals) for bins in sets.values()]), []
    for sample, respondents in samples.items():
        weights = np.array([round(bins.largest_weight(respondents)) for bins in sets.values()])
        chosen = choice_law((sizes / weights).tolist(), alpha)
        deviations = deviation * weights
        expected = np.array([(chosen.round(3) * deviations).sum()])
        for texts, values in zip(example[sample].items(), (weights, chosen, deviations, expected), strict=True):
            cells = [f"{text} / {like(value, text)}" for text, value in zip(texts[1], values, strict=True)]
            rows.append([f"{sample}: {texts[0]}", *cells, *[""] * (len(sets) - len(cells))])
    return rows


def swapping() -> Rows:
    """Return nominal epsilons of permutation swapping: the census of 2020, and Massachusetts in 1940."""
    rates, rows = [Fraction(text) for text in printed()["swapping"]["rates"]], []
    for key, variable, most, *texts in printed()["swapping"]["census"]:
        nominal = zip(texts, (f"{nominal_epsilon(rate, most):.2f}" for rate in rates), strict=True)
        rows.append([key, variable, f"{most:,}", *(cell for pair in nominal for cell in pair)])
        rows[-1] += [f"{pairwise_epsilon(rates[-1], most):.2f}", f"{least_epsilon(most):.2f}", f"{best_rate(most):.4%}"]
    return rows


def copies() -> Rows:
    """Return overlap and standardised difference of the intervals on the slides, computed from the printed, rounded
    intervals.
    """

    def interval(low: float, high: float) -> ConfidenceIntervals:
        return ConfidenceIntervals(lower=np.array([low]), upper=np.array([high]))

    rows = []
    for variable, method, original, synthetic, overlap, difference in printed()["copies"]["rows"]:
        shared = interval_overlap(interval(*original[1:]), interval(*synthetic[1:]))[0]
        error = np.array([(original[2] - original[1]) / 2 / 1.96])
        moved = standardised_difference(np.array([original[0]]), np.array([synthetic[0]]), error)[0]
        rows.append([variable, method, overlap, f"{shared:.3f}", difference, f"{moved:.3f}"])
    return rows


FORMULAS: Mapping[str, Callable[[], Rows]] = {
    function.__name__: function for function in (budget, ratio, sampling, strata, swapping, copies)
}
"""Tables in the source papers whose numbers follow from formulas. All of them together take 2 CPU seconds."""
