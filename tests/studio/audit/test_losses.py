"""Conversations of every generator with two neighbouring tables: what they tell, beside the claim and beside known faults."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from synthrelease.generators import GENERATORS
from synthrelease.privacy.noise import SystemEntropy, choose, discrete_laplace, one_noise, rounded_gaussian
from synthrelease.studio.audit.losses import (
    LossCase,
    ReplayedEntropy,
    audit_losses,
    converse,
    faulty_losses,
    installed,
    log_shares,
    loss_cases,
    mean_of_gaussian,
)

CASES = {str(case): case for case in loss_cases()}
FAULTS = {str(case): case for case in faulty_losses()}
QUICK = [name for name, case in CASES.items() if case.pure or case.generator in ("gaussian_marginals", "patectgan")]
WITH_LIBRARY = pytest.mark.skipif(not installed(), reason="mst and aim need smartnoise-synth, which is not installed")
DOCUMENT = Path(__file__).parents[3] / "docs/audit.md"


@WITH_LIBRARY
def test_every_generator_has_a_case_and_a_fault() -> None:
    for cases in (CASES, FAULTS):
        assert {case.generator for case in cases.values()} == set(GENERATORS)
    assert {case.generator for case in CASES.values() if case.because} == {"mst", "aim"}


@cache
def documented() -> dict[str, float]:
    """Shares of the claim in the document, by generator and case."""
    part = DOCUMENT.read_text(encoding="utf-8").split("<!-- losses -->")[1].split("<!-- end -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.strip().splitlines()[2:]]
    return {f"{row[0]}, {row[1]}": float(row[4]) for row in rows}


@WITH_LIBRARY
def test_the_document_has_all_cases() -> None:
    assert set(documented()) == set(CASES)


def _shows_what_is_said(case: LossCase) -> None:
    (found,) = audit_losses([case])
    assert not found.exceeded
    assert found.share >= 0.95 or case.because
    certain = case.generator in ("marginals", "mwem", "privbayes")  # answers of others are drawn, or are those of a search
    assert found.share == pytest.approx(documented()[str(case)], abs=6e-4 if certain else 0.05)


@pytest.mark.parametrize("name", QUICK)
def test_a_generator_shows_nearly_all_of_its_claim(name: str) -> None:
    _shows_what_is_said(CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in QUICK])
def test_a_generator_whose_answers_are_drawn_shows_nearly_all_of_its_claim(name: str) -> None:
    _shows_what_is_said(replace(CASES[name], conversations=10))


@pytest.mark.parametrize(
    "name", ["marginals, tables and sums, half of the noise", "mwem, replacing a record, half of the noise"]
)
def test_half_of_the_noise_shows_more_than_the_claim(name: str) -> None:
    (found,) = audit_losses([replace(FAULTS[name], conversations=1)])
    assert found.exceeded


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_known_fault_shows_more_than_the_claim(name: str) -> None:
    (found,) = audit_losses([FAULTS[name]])
    assert found.exceeded
    assert bool(found.leak) == ("without noise" in name)


# --- Conversations of small mechanisms, whose laws are known


def _counts(table: tuple[int, ...]) -> np.ndarray:
    return np.bincount(table, minlength=3)


def test_noise_tells_the_logarithm_of_the_ratio_of_the_laws() -> None:
    def noisy(table: tuple[int, ...], entropy: SystemEntropy) -> np.ndarray:
        return discrete_laplace(_counts(table), sensitivity=2, epsilon=Fraction(3, 2), entropy=entropy)

    told = converse(noisy, (0, 0, 2), (0, 1, 2), pure=True, key=0)
    # Pr[z] proportional to exp(-|z| 3/4): at the counts of the left table the two noises are (0, 0, 0) and (1, -1, 0)
    assert told.noise == pytest.approx(1.5)
    assert not told.leak
    assert converse(noisy, (0, 0, 2), (1, 1, 2), pure=True, key=0).noise == pytest.approx(3.0)  # two records


def test_one_noise_for_many_numbers_tells_the_largest_change() -> None:
    def noisy(table: tuple[int, ...], entropy: SystemEntropy) -> np.ndarray:
        return one_noise(_counts(table), sensitivity=1, epsilon=Fraction(1), entropy=entropy)

    assert converse(noisy, (0, 0, 2), (0, 1, 2), pure=True, key=0).noise == pytest.approx(1.0)


def test_a_choice_tells_its_largest_ratio() -> None:
    def chosen(table: tuple[int, ...], entropy: SystemEntropy) -> int:
        scores = [0, -20] if table == (0,) else [-10, -10]
        return choose(scores, sensitivity=10, epsilon=Fraction(2), mechanism="permute_and_flip", entropy=entropy)

    told = converse(chosen, (1,), (0,), pure=True, key=0)
    assert told.choices == pytest.approx(2.0)  # 1/2 and exp(-2) / 2
    assert told.noise == 0


@pytest.mark.parametrize(("scale", "moved"), [(0.7, 1), (3.0, 2), (10.0, 1), (3.0, 3)])
def test_the_mean_loss_of_rounded_gaussian_noise_is_that_of_its_law(scale: float, moved: int) -> None:
    """Beside scipy's entropy of the same masses; below that of continuous noise."""
    places = np.arange(-200, 200)
    masses = [np.diff(stats.norm(shift, scale).cdf(np.append(places, 200) - 0.5)) for shift in (0, moved)]
    kept = masses[1] > 0
    expected = float(stats.entropy(masses[0][kept], masses[1][kept]))
    found = mean_of_gaussian(np.array([moved, 0, -moved]), scale)
    assert found == pytest.approx(2 * expected, rel=1e-6)
    assert found < moved**2 / scale**2


def test_the_mean_loss_of_a_table_is_its_rho() -> None:
    def noisy(table: tuple[int, ...], entropy: SystemEntropy) -> np.ndarray:
        return rounded_gaussian(100 * _counts(table), squared_sensitivity=20_000, rho=Fraction(1, 2), entropy=entropy)

    assert converse(noisy, (0, 0, 2), (0, 1, 2), pure=False, key=0).noise == pytest.approx(0.5, rel=1e-3)


def test_a_drawn_choice_tells_its_mean() -> None:
    def chosen(table: tuple[int, ...], entropy: SystemEntropy) -> int:
        scores = [1, 0] if table == (0,) else [0, 1]
        return choose(scores, sensitivity=1, epsilon=Fraction(1), mechanism="exponential", entropy=entropy)

    share = 1 / (1 + math.exp(-0.5))
    mean = share * 0.5 - (1 - share) * 0.5  # the logarithms of the odds are 1/2 and -1/2
    assert converse(chosen, (0,), (1,), pure=False, key=0).choices == pytest.approx(mean)


def test_what_differs_beside_the_answers_is_told() -> None:
    def exact(table: tuple[int, ...], entropy: SystemEntropy) -> np.ndarray:
        return discrete_laplace(_counts(table), sensitivity=2, epsilon=Fraction(1), entropy=entropy) + len(set(table))

    def full(table: tuple[int, ...], entropy: SystemEntropy) -> np.ndarray:
        return discrete_laplace(np.unique(table), sensitivity=2, epsilon=Fraction(1), entropy=entropy)

    assert "answers differ" in converse(exact, (0, 0, 2), (0, 1, 2), pure=True, key=0).leak
    assert "laplace" in converse(full, (0, 0, 2), (0, 1, 2), pure=True, key=0).leak

    def longer(table: tuple[int, ...], entropy: SystemEntropy) -> list[np.ndarray]:
        return [discrete_laplace(np.zeros(1, int), sensitivity=2, epsilon=Fraction(1), entropy=entropy) for _ in set(table)]

    assert "None on one table" in converse(longer, (0, 0, 2), (0, 1, 2), pure=True, key=0).leak
    assert "None on the other" in converse(longer, (0, 1, 2), (0, 0, 2), pure=True, key=0).leak


@pytest.mark.parametrize(("pure", "runs"), [(True, 8), (False, 2)])
def test_a_mechanism_runs_once_on_each_table_and_again_for_a_choice_that_depends_on_both(pure: bool, runs: int) -> None:
    seen = []

    def alternating(table: tuple[int, ...], entropy: SystemEntropy) -> list[int]:
        seen.append(table)
        told = []
        for _ in range(3):
            told.append(
                choose([0, -len(set(table))], sensitivity=1, epsilon=Fraction(1), mechanism="exponential", entropy=entropy)
            )
            if pure:
                told += discrete_laplace(_counts(table), sensitivity=2, epsilon=Fraction(1), entropy=entropy).tolist()
            else:
                told += rounded_gaussian(_counts(table), squared_sensitivity=2, rho=Fraction(1), entropy=entropy).tolist()
        return told

    told = converse(alternating, (0, 0, 2), (0, 1, 2), pure=pure, key=0)
    assert not told.leak
    assert seen == [(0, 0, 2), (0, 1, 2)] * (runs // 2)
    if pure:
        assert told.noise == pytest.approx(3)
        left, right = (-math.log1p(math.exp(-kinds / 2)) for kinds in (2, 3))  # of the first candidate; the second is likelier
        assert told.choices == pytest.approx(3 * (0.5 + left - right))


def test_a_failure_of_a_mechanism_is_not_taken_for_a_question() -> None:
    def broken(table: tuple[int, ...], entropy: SystemEntropy) -> np.ndarray:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        converse(broken, (0,), (1,), pure=True, key=0)


def test_public_draws_are_the_same_on_both_tables() -> None:
    first, second = (ReplayedEntropy([], 7) for _ in range(2))
    assert [first.pick(100), *first.picks(np.full(5, 9)), first.generator().random()] == [
        second.pick(100), *second.picks(np.full(5, 9)), second.generator().random()
    ]  # fmt: skip


def test_shares_of_a_choice_add_up() -> None:
    for mechanism in ("exponential", "permute_and_flip"):
        assert np.exp(log_shares([0, 3, 700], Fraction(1, 3), mechanism)).sum() == pytest.approx(1)


def test_the_document_says_why_a_figure_is_low() -> None:
    words = re.sub(r"\s+", " ", DOCUMENT.read_text(encoding="utf-8"))
    assert "a replaced record changes two cells by 1 each, instead of one cell by 2" in words
