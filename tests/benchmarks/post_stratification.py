"""Post-stratification: the running example of Merrill 2021, and four estimates from a survey of the simulated births.

    python -m tests.benchmarks.post_stratification [--runs 200] [--epsilon 5]

Prints the tables of docs/appendix/baselines.md.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

import numpy as np

from tests.helpers.running_example import SAMPLES, STRATA
from tests.helpers.sampled_births import QUESTIONS, by_calibration, by_known_total, by_rate, by_thesis, sample
from tests.reproduction.cauchy_noise import CauchyNoise
from tests.reproduction.weighting import choice_law, score_sensitivity, selection_epsilon


def running_example() -> None:
    strata = list(STRATA.values())
    alpha = 0.01 / selection_epsilon(1, score_sensitivity(strata), "replace one")
    deviation = CauchyNoise.printed_with_gamma(1, 4).deviation
    print("| | " + " | ".join(STRATA) + " | expected deviation |\n|" + "---|" * (len(STRATA) + 2))
    for name, respondents in SAMPLES.items():
        weights = np.array([round(each.largest_weight(respondents)) for each in strata])
        sizes = np.array([len(each.totals) for each in strata])
        law = choice_law((sizes / weights).tolist(), alpha)
        exact = choice_law([each.score(respondents) for each in strata], alpha)
        smooth = np.array([each.smooth_bound(respondents, 1 / 6) for each in strata])
        print(f"| largest weight, {name} | " + " | ".join(map(str, weights)) + " | |")
        print(f"| score, {name} | " + " | ".join(f"{s}/{w}" for s, w in zip(sizes, weights, strict=True)) + " | |")
        print(f"| chosen with probability, {name}, epsilon 0.01 | " + " | ".join(f"{p:.3f}" for p in law) + " | |")
        expected = f"{(law.round(3) * deviation * weights).sum():.0f}"
        expected += f" (without rounding {(exact * deviation * smooth).sum():.0f})"
        spread = " | ".join(f"{deviation * w:.0f}" for w in weights)
        print(f"| standard deviation, {name}, epsilon 1, gamma 4 | {spread} | {expected} |")


def births(runs: int, epsilon: float) -> None:
    heads = ("sample", "asked about", "true", "method", "mean error", "standard deviation", "root mean squared error")
    print(f"\n| {' | '.join(heads)} |\n|" + "---|" * len(heads))
    for biased in (False, True):
        generator = np.random.default_rng(25)
        found: dict[tuple[str, str], list[float]] = {}
        for _ in range(runs):
            answered = sample(generator, biased=biased)
            calibrated = by_calibration(answered, QUESTIONS, Fraction(epsilon), generator)
            for question, value in zip(QUESTIONS, calibrated, strict=True):
                methods = {
                    "strata and smooth sensitivity, add or remove": by_thesis(
                        answered, question, epsilon, "add or remove", generator
                    ),
                    "strata and smooth sensitivity, replace one": by_thesis(
                        answered, question, epsilon, "replace one", generator
                    ),
                    "release, calibrated afterwards": value,
                    "ten times the count": by_rate(answered, question, epsilon, generator),
                    "known total of the group": by_known_total(answered, question, epsilon, generator),
                }
                for method, each in methods.items():
                    found.setdefault((question.name, method), []).append(each / question.truth - 1)
        truths = {question.name: question.truth for question in QUESTIONS}
        asked = "mothers under 25 asked half as often" if biased else "every tenth"
        for (question, method), errors in found.items():
            values = np.array(errors)
            figures = (values.mean(), values.std(ddof=1), np.sqrt(np.mean(values**2)))
            shown = f"{figures[0]:+.2%} | {figures[1]:.2%} | {figures[2]:.2%}"
            print(f"| {asked} | {question} | {truths[question]} | {method} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--epsilon", type=float, default=5)
    chosen = parser.parse_args()
    running_example()
    births(chosen.runs, chosen.epsilon)


if __name__ == "__main__":
    main()
