"""Laws of the private mechanisms beside those of diffprivlib, an implementation that shares no line with this one.

Each law is computed by a formula of its own, and draws of both libraries are held against it by a chi-square test. What
diffprivlib is used for ends here: it draws with doubles, which a release must not (docs/accounting.md), and it is an extra.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from synthrelease.errors import InputError
from synthrelease.libraries import library as loaded
from synthrelease.randomness import SystemEntropy, choose

LIBRARIES = ("diffprivlib",)
LEVEL = 1e-6
"""Of each test: a library that follows a law is said to differ once in a million tests."""

DRAWS = 10_000
FEWEST = 20
"""Draws that are expected of a cell of a chi-square test, at least."""

EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(4))
SCORES = {"three candidates": (0, -3, -5), "a tie and two stragglers": (0, 0, -1, -6), "five candidates": (0, -1, -2, -3, -4)}

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class LawComparison:
    """One law, and how well draws of both libraries follow it.

    Attributes
    ----------
    ours, theirs : p-values of chi-square tests against the law.
    """

    name: str
    draws: int
    ours: float
    theirs: float

    @property
    def agrees(self) -> bool:
        """Whether both follow the law, NaN never."""
        return self.ours >= LEVEL and self.theirs >= LEVEL


def compare_laws(
    library: str, *, draws: int = DRAWS, progress: Progress = lambda phase, done, total: None
) -> tuple[LawComparison, ...]:
    """Compare the noise of counts and both private choices with another library.

    Parameters
    ----------
    library : of `LIBRARIES`. draws : of each library for each law.

    Raises
    ------
    InputError : for a library that is not known, or not installed.
    """
    mechanisms = _loaded(library)
    cases: list[tuple[str, Fraction, tuple[int, ...]]] = [("noise", epsilon, ()) for epsilon in EPSILONS]
    cases += [(kind, epsilon, scores) for kind in _CHOICES for epsilon in EPSILONS for scores in SCORES.values()]
    names = [f"discrete Laplace noise, epsilon {float(epsilon):g}" for epsilon in EPSILONS]
    names += [f"{words}, {name}, epsilon {float(e):g}" for words in _CHOICES.values() for e in EPSILONS for name in SCORES]
    found: list[LawComparison] = []
    for name, (kind, epsilon, scores) in zip(names, cases, strict=True):
        progress(f"laws beside {library}", len(found), len(cases))
        ours, theirs, law = (_noise if kind == "noise" else _choice)(mechanisms, kind, epsilon, scores, draws)
        found.append(LawComparison(name=name, draws=draws, ours=p_value(ours, law), theirs=p_value(theirs, law)))
    progress(f"laws beside {library}", len(cases), len(cases))
    return tuple(found)


_CHOICES = {"exponential": "exponential mechanism", "permute_and_flip": "permute and flip"}


def _loaded(library: str) -> Any:
    if library not in LIBRARIES:
        raise InputError(f"--against: expected {' or '.join(LIBRARIES)}, found {library!r}.")
    loaded(library, library, "--against", "audit")
    from diffprivlib import mechanisms

    return mechanisms


def _noise(
    mechanisms: Any, _: str, epsilon: Fraction, __: Sequence[int], draws: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws of noise on 0 and its law, both cut off where tails are rare."""
    keep = math.exp(-float(epsilon))
    most = max(1, math.ceil(math.log(FEWEST / draws) / math.log(keep)))
    ours = SystemEntropy().add_laplace(np.zeros(draws, dtype=np.int64), 1 / float(epsilon))
    other = mechanisms.Geometric(epsilon=float(epsilon), sensitivity=1)
    theirs = np.array([other.randomise(0) for _ in range(draws)])
    law = (1 - keep) / (1 + keep) * keep ** np.abs(np.arange(-most, most + 1, dtype=float))
    law[[0, -1]] = keep**most / (1 + keep)  # the tails, with all that is further out
    return np.clip(ours, -most, most) + most, np.clip(theirs, -most, most) + most, law


def _choice(
    mechanisms: Any, kind: str, epsilon: Fraction, scores: Sequence[int], draws: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chosen places among candidates whose scores move by at most 1, and their law."""
    ours = np.array([choose(scores, sensitivity=1, epsilon=epsilon, mechanism=kind) for _ in range(draws)])
    model = mechanisms.Exponential if kind == "exponential" else mechanisms.PermuteAndFlip
    other = model(epsilon=float(epsilon), sensitivity=1.0, utility=[float(score) for score in scores])
    theirs = np.array([other.randomise() for _ in range(draws)])
    weights = np.exp(float(epsilon) / 2 * (np.array(scores, dtype=float) - max(scores)))
    law = weights / weights.sum() if kind == "exponential" else np.array(permute_and_flip_law(tuple(weights.tolist())))
    return ours, theirs, law


def permute_and_flip_law(heads: tuple[float, ...]) -> list[float]:
    """The law of who is chosen: candidates are asked in a random order, and the first whose coin shows heads is taken.

    Parameters
    ----------
    heads : probability of heads of each, 1 for the best.
    """

    @cache
    def chosen(left: tuple[int, ...]) -> tuple[float, ...]:
        law = np.zeros(len(heads))
        for one in left:
            law[one] += heads[one] / len(left)
            if heads[one] < 1:
                rest = chosen(tuple(other for other in left if other != one))
                law += (1 - heads[one]) / len(left) * np.array(rest)
        return tuple(law.tolist())

    return list(chosen(tuple(range(len(heads)))))


def p_value(drawn: np.ndarray, law: np.ndarray) -> float:
    """Of the chi-square test that outcomes 0, 1, ... follow a law.

    The rarest outcomes are taken together until `FEWEST` draws are expected of them: with fewer, four draws where half of one
    is expected would look like one in a million, and be one in a thousand.
    """
    from scipy.special import chdtrc

    observed, expected = np.bincount(drawn, minlength=len(law)).astype(float), law * len(drawn)
    if observed[law <= 0].any():
        return 0.0
    order = np.argsort(expected, kind="stable")
    together = int(np.searchsorted(np.cumsum(expected[order]), FEWEST)) + 1  # the rarest, until enough are expected of them
    observed, expected = (np.append(each[order][together:], each[order][:together].sum()) for each in (observed, expected))
    if len(expected) < 2:
        return 1.0
    return float(chdtrc(len(expected) - 1, float(((observed - expected) ** 2 / expected).sum())))
