"""Reproduce the tables of the sources: each printed value beside the one that this program computes."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.criteria.marginals import RelativeMarginalError, ratio_sensitivity
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.resources import resource
from synthrelease.spec.load import load_spec
from synthrelease.studio.baselines.base import CauchyNoise
from synthrelease.studio.baselines.swapping import best_rate, least_epsilon, nominal_epsilon, pairwise_epsilon
from synthrelease.studio.baselines.weighting import PostStrata, Respondents, choice_law, score_sensitivity, selection_epsilon
from synthrelease.studio.rehearsal.utility import ConfidenceIntervals, interval_overlap, standardised_difference

TENTH = Fraction(1, 10)


@lru_cache(maxsize=1)
def printed() -> Mapping[str, Any]:
    """What the sources print (`printed.toml`)."""
    return tomllib.loads((Path(__file__).parent / "printed.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """A table of a source: printed values, and ours beside them.

    Attributes
    ----------
    source : author, year, and the place in the source.
    rows : a row may have None for a value that the source does not print.
    finding : what a reader learns from the comparison.
    """

    source: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    finding: str = ""

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join("| " + " | ".join(cell or "–" for cell in line) + " |" for line in lines)


def like(value: float, text: str) -> str:
    """Return a value with as many decimals as the printed text has.

    Examples
    --------
    >>> like(19.3763, "19.38"), like(1422.6, "1000")
    ('19.38', '1423')
    """
    return f"{value:.{len(text.partition('.')[2])}f}"


def budget() -> Reproduced:
    """9.98 line by line, from the two files that express the paper's release."""
    births, spec = printed()["births"], load_spec(resource("configs/births-paper.toml"))
    by_name = {criterion.name: criterion.epsilon for criterion in spec.criteria}
    evaluation = sum(by_name.values(), Fraction(0))
    ours = [spec.generation_budget, evaluation, spec.generation_budget + evaluation, spec.plan.total.epsilon]
    rows = [[name, epsilon, like(float(by_name[name]), epsilon)] for _, name, _, _, epsilon, *_ in births["criteria"]]
    rows += [[name, text, like(float(value), text)] for (name, text), value in zip(births["budget"].items(), ours, strict=True)]
    return Reproduced(
        source="Hod & Canetti 2024, section 4.2 and Table 2",
        columns=("charge", "epsilon, printed", "ours"),
        rows=rows,
        finding="The selection doubles one round. `configs/births.toml` costs 6.70 and `configs/births-frontier.toml` 0.70.",
    )


def ratio() -> Reproduced:
    """The sensitivity of a clipped ratio, and the threshold that a figure at the clip passes with probability p."""
    rows = []
    for clip, smallest, sensitivity, deviation, p, threshold in printed()["ratio"]["rows"]:
        criterion = RelativeMarginalError.model_validate(printed()["ratio"]["criterion"] | {"clip": clip})
        step = ratio_sensitivity(np.array([smallest]), clip)
        ours = like(criterion.threshold_passed_by_noise(p, smallest), "1.40")
        sigma = f"{math.sqrt(2) * step / 0.3:.3f}"
        rows.append([f"{clip:g}", str(smallest), sensitivity, f"{step:.3f}", deviation, sigma, f"{p:g}", threshold, ours])
    return Reproduced(
        source="Hod & Canetti 2024, Propositions 5 and 6, epsilon 0.3",
        columns=("clip", "smallest bin", "sensitivity, printed", "ours", "sd, printed", "ours", "p", "T', printed", "ours"),
        rows=rows,
        finding="Ours is the exact largest step, with 1 added to each count. `plan` prints p and T' for your own thresholds.",
    )


def printed_bound(epsilon: Fraction, share: Fraction) -> float:
    """ln((e^epsilon beta + 1 - beta) / (1 - beta)) (Merrill 2021, Theorem 5.5.1)."""
    beta = float(share)
    return math.log((math.exp(epsilon) * beta + 1 - beta) / (1 - beta))


def largest_share(epsilon: Fraction) -> float:
    """The share of records up to which the printed bound is below epsilon itself: (E - 1) / (2 E - 1), E = e^epsilon."""
    factor = math.exp(epsilon)
    return (factor - 1) / (2 * factor - 1)


def tight_bound(epsilon: Fraction, share: Fraction) -> Fraction:
    """What the documents of a release state."""
    return of_the_population(Loss(epsilon, Fraction(0)), share.numerator, share.denominator).epsilon


def sampling() -> Reproduced:
    """What a simple random sample promises to a member of the population."""
    rows = []
    for text, share, bound in printed()["sampling"]["rows"]:
        epsilon = Fraction(text)
        useful, value = math.floor(largest_share(epsilon) * 10**4) / 10**4, printed_bound(epsilon, TENTH)
        ours = f"none ({value:.4f})" if value > epsilon else f"{value:.2f}"
        rows.append([text, share, f"{useful:.4f}", bound, ours, f"{float(tight_bound(epsilon, TENTH)):.4f}"])
    return Reproduced(
        source="Merrill 2021, Table 5.1",
        columns=("epsilon", "helps up to, printed", "ours", "at a tenth, printed", "ours", "tight, at a tenth"),
        rows=rows,
        finding="A release states the tight bound (theory 11.3).",
    )


def running_example() -> tuple[dict[str, Respondents], dict[str, PostStrata]]:
    """The two samples and the five sets of strata of Merrill 2021, chapter 7."""
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


def strata() -> Reproduced:
    """Largest weights, the choice of strata and deviations of the running example."""
    example, (samples, sets) = printed()["strata"], running_example()
    alpha = 0.01 / selection_epsilon(1, score_sensitivity(list(sets.values())), "replace one")
    deviation = CauchyNoise.printed_with_gamma(1, 4).deviation
    rows = []
    for sample, respondents in samples.items():
        weights = np.array([round(strata_.largest_weight(respondents)) for strata_ in sets.values()])
        chosen = choice_law(
            [len(strata_.totals) / weight for strata_, weight in zip(sets.values(), weights, strict=True)], alpha
        )
        ours = {"weights": weights, "chosen": chosen, "deviation": deviation * weights}
        words = {
            "weights": "largest weight",
            "chosen": "probability of the choice, epsilon 0.01",
            "deviation": "sd, epsilon 1, gamma 4",
        }
        for key, values in ours.items():
            texts = example[key][sample]
            cells = [f"{text} / {like(value, text)}" for text, value in zip(texts, values, strict=True)]
            rows.append([f"{sample}: {words[key]}", *cells])
        expected = like(float((chosen.round(3) * deviation * weights).sum()), "0")
        rows.append([f"{sample}: expected sd", f"{example['expected'][sample]} / {expected}", *[""] * (len(sets) - 1)])
    return Reproduced(
        source="Merrill 2021, chapter 7, Figures 7.1 to 7.6 and Example 7.4.4",
        columns=("printed / ours", *sets),
        rows=rows,
        finding="All values but one: the expected deviation of sample A is 1423 (see the errors).",
    )


def swapping() -> Reproduced:
    """Nominal epsilons of permutation swapping: the census of 2020, and Massachusetts 1940."""
    tables, rates = printed()["swapping"], (Fraction(1, 20), Fraction(1, 2))
    texts_1940 = dict(tables["rates"])
    lines = [[f"2020: {key}", *rest] for key, *rest in tables["census"]]
    lines.append(
        ["1940, Massachusetts: state x household size", "county", tables["massachusetts"], texts_1940["5%"], texts_1940["50%"]]
    )
    rows = []
    for key, variable, largest, *texts in lines:
        pairs = [(text, like(nominal_epsilon(rate, largest), text)) for rate, text in zip(rates, texts, strict=True)]
        doubled = [f"{pairwise_epsilon(rate, largest):.2f}" for rate in rates]
        least = [f"{least_epsilon(largest):.2f}", f"{best_rate(largest):.4%}"]
        rows.append([key, variable, f"{largest:,}", *pairs[0], *pairs[1], *doubled, *least])
    ours_1940 = {rate: nominal_epsilon(Fraction(rate.rstrip("%")) / 100, tables["massachusetts"]) for rate in texts_1940}
    others = "; ".join(f"at {rate} {text}, ours {like(ours_1940[rate], text)}" for rate, text in texts_1940.items())
    return Reproduced(
        source="Bailie, Gong & Meng 2023, the census of 2020 by swapping, and of 1940",
        columns=("key", "swapped", "largest stratum", "at 5%, printed", "ours", "at 50%, printed", "ours", "2 x at 5%",
                 "2 x at 50%", "least", "at rate"),
        rows=rows,
        finding=f"Massachusetts 1940 {others}. Twice the nominal epsilon compares with a release's epsilon (theory 10.1).",
    )  # fmt: skip


def copies() -> Reproduced:
    """Overlap and standardised difference of the slides' intervals, from the printed, rounded intervals."""

    def interval(low: float, high: float) -> ConfidenceIntervals:
        return ConfidenceIntervals(lower=np.array([low]), upper=np.array([high]))

    rows = []
    for variable, method, original, synthetic, overlap, difference in printed()["copies"]["rows"]:
        shared = interval_overlap(interval(*original[1:]), interval(*synthetic[1:]))[0]
        error = np.array([(original[2] - original[1]) / 2 / 1.96])
        moved = standardised_difference(np.array([original[0]]), np.array([synthetic[0]]), error)[0]
        rows.append([variable, method, overlap, f"{shared:.3f}", difference, f"{moved:.3f}"])
    return Reproduced(
        source='Jiang 2025, slide "Utility of synthetic datasets: predict work disability"',
        columns=("variable", "method", "overlap, printed", "ours", "standardised difference, printed", "ours"),
        rows=rows,
        finding="The intervals are rounded, so the last digit may differ: at most 0.003, and 0.5% or 0.012.",
    )


FORMULAS: Mapping[str, Callable[[], Reproduced]] = {
    "budget": budget,
    "ratio": ratio,
    "sampling": sampling,
    "strata": strata,
    "swapping": swapping,
    "copies": copies,
}
"""Tables that follow from formulas: all of them in 2 CPU seconds."""
