"""Every case of the audit by draws: the mechanisms as they are released, and those with a known fault."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from synthrelease.privacy.noise import SYSTEM
from synthrelease.privacy.selection import SelectionRule
from synthrelease.releasing.selection import select_by
from tests.whole.drawn.cases import Case, lower_bounds
from tests.whole.drawn.criteria import criterion_cases, expanded_case, scoring_case, shared_case
from tests.whole.drawn.noise import (
    SENSITIVITY,
    biased_case,
    choice_case,
    choice_cases,
    even_draws,
    figure_case,
    gaussian_case,
    laplace_case,
    laplace_vectors,
    low_bits_case,
    noise_cases,
    vector_cases,
)
from tests.whole.drawn.pieces import by_value_case, faulty_register_cases, piece_cases, register_cases, same_piece_case
from tests.whole.drawn.pipelines import ANSWERED_BY, FAULTY_DRAWS, LEFT_OUT, left_out, pipeline_case, pipeline_cases, pipelines
from tests.whole.drawn.running import CONFIDENCE, Progress, count, prepare, running
from tests.whole.drawn.scouts import faulty_scout_cases, scout_cases
from tests.whole.drawn.selection import FiniteRound, chosen_law_case, first_to_finish_case, parallel_cases, selection_cases

# Mechanisms with a known fault, claimed to be right: the audit must find each of them, in every run.
#
# Most are the real mechanism run with another budget or sensitivity than is claimed; the rest are the mistakes that are
# known from other programs.

SCALE_ERROR = Fraction(1, 10)


def faulty_cases() -> Iterator[Case]:
    """Every fault, with the claim that it breaks."""
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2)):
        yield small_scale_case(epsilon)
        yield small_scale_choice(epsilon)
    yield laplace_case("a moved record counted once", (5, 0), (4, 1), epsilon=Fraction(1), sensitivity=1)
    yield _reused_noise()
    yield coarse_noise_case()
    yield biased_case(10)
    yield low_bits_case(_textbook_laplace, faulty=True)
    yield choice_case("exponential", "factor 2 forgotten", (0, -20), (-10, -10), SENSITIVITY, Fraction(2), spent=Fraction(4))
    yield scoring_case("absolute, 2 x 3, all tables", Fraction(1), spent=Fraction(2))
    yield scoring_case("joint test, five criteria, 2 x 3", Fraction(1), spent=Fraction(2))
    yield shared_case(Fraction(1), spent=Fraction(2))
    for name in (
        "mean of tables, 2 x 3",
        "median of b by a, 2 x 3",
        "proportion of b by a, with missing values, 2 x 2",
        "logistic step, 1, 2 x 2",
    ):
        yield scoring_case(name, Fraction(1), spent=Fraction(2))
    yield expanded_case(Fraction(1))
    yield gaussian_case("one count, by 50", 2, spent=Fraction(11, 5))
    yield _published_rounds()
    yield chosen_law_case()
    yield first_to_finish_case()
    yield by_value_case()
    yield same_piece_case()
    yield from faulty_register_cases()
    yield from faulty_scout_cases()
    faithful = next(pipeline for pipeline in pipelines() if pipeline.name == "faithfulness, a record turns")
    yield pipeline_case(faithful, run=replace(faithful, name="generation noise of a fiftieth", generation="25"))
    exact = tuple((name, text.replace("epsilon = 0.25", "epsilon = 500")) for name, text in faithful.criteria)
    yield pipeline_case(faithful, run=replace(faithful, name="a criterion without noise", criteria=exact))
    answered = next(pipeline for pipeline in pipelines() if pipeline.name == ANSWERED_BY)
    looking = tuple((name, text.replace('answered_by = "measurements"', "epsilon = 500")) for name, text in answered.criteria)
    yield pipeline_case(answered, run=replace(answered, name="an answer that looks at the original table", criteria=looking))
    for reason in LEFT_OUT:
        yield published_number_case(reason)


def published_number_case(reason: str) -> Case:
    """The number of kept rows published as it is, with the guarantee claimed for replacing any row of the file."""
    return replace(pipeline_case(left_out(reason, '"exact"')), draws=FAULTY_DRAWS, faulty=True)


def small_scale_case(epsilon: Fraction) -> Case:
    """Integer noise whose scale is a tenth too small."""
    return laplace_case("scale a tenth too small", (0,), (1,), epsilon=epsilon, spent=epsilon / (1 - SCALE_ERROR))


def small_scale_choice(epsilon: Fraction) -> Case:
    """A private choice at a scale a tenth too small."""
    scores = (0, -2 * SENSITIVITY), (-SENSITIVITY, -SENSITIVITY)
    return choice_case(
        "permute_and_flip",
        "scale a tenth too small",
        *scores,
        SENSITIVITY,
        epsilon,
        draws=even_draws(epsilon),
        spent=epsilon / (1 - SCALE_ERROR),
    )


def small_scale_figure(epsilon: Fraction) -> Case:
    """A released figure with noise whose scale is a tenth too small."""
    return figure_case("a mean in grams", epsilon, spent=epsilon / (1 - SCALE_ERROR), draws=even_draws(epsilon))


def _reused_noise() -> Case:
    """Two counts, each moved by a record, with the same draw of noise: their difference is exact."""
    return Case(
        family="discrete Laplace",
        name="two counts with one draw of noise",
        claim=1.0,
        draw=_same_noise,
        sides=((5, 0), (4, 1)),
        features=("count 0", "count 1", "difference"),
        draws=2_000,
        faulty=True,
    )


def _same_noise(counts: tuple[int, ...], draws: int) -> np.ndarray:
    noise = laplace_vectors((0,), draws, sensitivity=2, epsilon=Fraction(1))
    noisy = noise + np.array(counts)
    return np.column_stack([noisy, noisy[:, 0] - noisy[:, 1]])


def coarse_noise_case() -> Case:
    """Noise in bulk of scale 40 that leaves out its lowest digit: it moves a count by multiples of 256."""
    return Case(
        family="discrete Laplace",
        name="noise without its lowest digit",
        claim=1 / 40,
        draw=_without_lowest_digit,
        sides=(0, 1),
        features=("count",),
        draws=2_000,
        faulty=True,
    )


def _without_lowest_digit(count: int, draws: int) -> np.ndarray:
    """The digits beyond the lowest are those of a geometric variable of a scale 256 times smaller (theory 9.12, digits of a
    geometric variable)."""
    return (256 * SYSTEM.add_laplace(np.zeros(draws, dtype=np.int64), 40 / 256) + count).astype(float)


def _textbook_laplace(value: float, draws: int) -> np.ndarray:
    """Noise as textbooks draw it, from the logarithm of a double."""
    generator = SYSTEM.generator()
    magnitude = -np.log(1 - generator.random(draws))
    return value + np.where(generator.random(draws) < 0.5, magnitude, -magnitude)


def _published_rounds() -> Case:
    """The loop with the number of rounds among its outputs, as a log line or a time would show it."""
    return Case(
        family="selection",
        name="the number of rounds is published",
        claim=2 * math.log(2),
        draw=_outputs_with_rounds,
        sides=(FiniteRound(weights=(50,), total=100), FiniteRound(weights=(25,), total=100)),
        features=("output", "rounds"),
        draws=5_000,
        faulty=True,
    )


def _outputs_with_rounds(run: FiniteRound, draws: int) -> np.ndarray:
    outputs = []
    for _ in range(draws):
        rounds: list[None] = []

        def counted(rounds: list[None] = rounds) -> int | None:
            rounds.append(None)
            return run()

        outputs.append([select_by(SelectionRule(), counted), len(rounds)])
    return np.array(outputs, dtype=float)


# Every case of the audit.


def all_cases() -> list[Case]:
    """The mechanisms as they are released, then those with a known fault.

    Raises
    ------
    ValueError : when two cases have the same name.
    """
    cases = list(
        chain(
            noise_cases(),
            vector_cases(),
            choice_cases(),
            criterion_cases(),
            selection_cases(),
            parallel_cases(),
            piece_cases(),
            register_cases(),
            scout_cases(),
            pipeline_cases(),
            faulty_cases(),
        )
    )
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"expected names that differ, found twice: {sorted(twice)}")
    return cases


# How surely the audit finds a scale that is a tenth too small: the whole audit of a faulty unit case, many times over.

REPEATS = 300
"""As many as show a power of 0.99 with 95% confidence when every one of them finds the fault."""


@dataclass(frozen=True, kw_only=True)
class Power:
    """The power of the audit: in `found` of `repeats` audits a fault was found; `at_least` is a 95% lower bound of that
    probability."""

    name: str
    draws: int
    repeats: int
    found: int

    @property
    def at_least(self) -> float:
        return float(lower_bounds(np.array([self.found]), self.repeats, 0.05)[0])


def unit_faults() -> Iterator[Case]:
    """Unit cases with noise a tenth too small."""
    for epsilon in (Fraction(1), Fraction(2), Fraction(4)):
        yield small_scale_case(epsilon)
    yield small_scale_choice(Fraction(2))
    yield small_scale_figure(Fraction(2))


def measure_power(
    case: Case, n_cases: int, *, repeats: int = REPEATS, jobs: int = 1, progress: Progress = lambda phase, done, total: None
) -> Power:
    """Audit one faulty case again and again, with the error of one case among `n_cases`."""
    error = (1 - CONFIDENCE) / (2 * n_cases)
    successes = 0
    for done, exceeded in enumerate(running(jobs)(_found, [(case, error)] * repeats)):
        successes += exceeded
        progress(f"power: {case.name}", done + 1, repeats)
    return Power(name=case.name, draws=case.draws, repeats=repeats, found=successes)


def _found(case: Case, error: float) -> bool:
    return count(case, prepare(case, case.draws, error), case.draws, error).exceeded
