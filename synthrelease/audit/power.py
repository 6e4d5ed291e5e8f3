"""How surely the audit finds a scale that is a tenth too small: the whole audit of a faulty unit case, many times over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.audit.cases import Case
from synthrelease.audit.faults import small_scale_case, small_scale_choice, small_scale_figure
from synthrelease.audit.hits import lower_bounds
from synthrelease.audit.running import CONFIDENCE, Progress, count, prepare, side_by_side

REPEATS = 300
"""As many as show a power of 0.99 with 95% confidence when every one of them finds the fault."""


@dataclass(frozen=True, kw_only=True)
class Power:
    """In how many of `repeats` audits a fault was found; `at_least` is a 95% lower bound of that probability."""

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
    case: Case,
    n_cases: int,
    *,
    repeats: int = REPEATS,
    jobs: int = 1,
    progress: Progress = lambda phase, done, total: None,
) -> Power:
    """Audit one faulty case again and again, with the error of one case among `n_cases`."""
    error = (1 - CONFIDENCE) / (2 * n_cases)
    found = 0
    for done, exceeded in enumerate(side_by_side(_found, [(case, error)] * repeats, jobs)):
        found += exceeded
        progress(f"power: {case.name}", done + 1, repeats)
    return Power(name=case.name, draws=case.draws, repeats=repeats, found=found)


def _found(case: Case, error: float) -> bool:
    return count(case, prepare(case, case.draws, error), case.draws, error).exceeded
