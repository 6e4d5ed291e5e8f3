"""Laws held against another library: the test of a law is calibrated, and sees what is off."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from synthrelease.studio.audit.losses import log_shares
from tests.whole.drawn import laws as against
from tests.whole.drawn import noise as biased_sampler
from tests.whole.drawn.laws import DRAWS, LawComparison, compare_laws, p_value

RARE = np.array([0.9974821, 0.0024725, 0.0000454])
"""The exponential mechanism at epsilon 4 with scores 0, -3, -5: half a draw of the last is expected."""


def test_draws_of_the_law_itself_are_seldom_said_to_differ() -> None:
    """With rare outcomes, too: 2,000 samples, of which two are expected below 0.001. A lone rare cell gives about 25."""
    generator, law = np.random.default_rng(5), RARE / RARE.sum()
    found = np.array([p_value(generator.choice(3, DRAWS, p=law), law) for _ in range(2000)])
    assert (found < 1e-3).sum() <= 10  # Poisson with mean 2 is above 10 with probability 8e-6
    assert 0.3 < found.mean() < 0.7


@pytest.mark.parametrize("law", [RARE / RARE.sum(), np.array([0.5, 0.3, 0.2]), np.full(40, 1 / 40)])
def test_draws_of_another_law_are_seen(law: np.ndarray) -> None:
    other = law.copy()
    other[:2] += np.array([-1, 1]) * min(0.05, law[0] / 2)
    drawn = np.random.default_rng(6).choice(len(law), DRAWS, p=other)
    assert p_value(drawn, law) < against.LEVEL


def test_an_outcome_that_cannot_be_is_seen() -> None:
    assert p_value(np.repeat([0, 1, 2], [5000, 4900, 100]), np.array([0.5, 0.5, 0.0])) < against.LEVEL


@pytest.mark.parametrize("losses", [(0, 3, 7), (0, 0, 2), (5, 0, 1, 3), (0, 1, 2, 3, 4)])
def test_the_law_of_permute_and_flip_is_that_of_all_orders(losses: tuple[int, ...]) -> None:
    law, heads = np.zeros(len(losses)), [math.exp(-loss / 3) for loss in losses]
    for order in permutations(range(len(losses))):
        left = 1 / math.factorial(len(losses))
        for candidate in order:
            law[candidate] += left * heads[candidate]
            left *= 1 - heads[candidate]
    assert np.exp(log_shares(losses, Fraction(1, 3), "permute_and_flip")) == pytest.approx(law, abs=1e-12)


def test_nan_never_agrees() -> None:
    assert LawComparison(name="a", draws=1, ours=0.5, theirs=0.5).agrees
    assert not LawComparison(name="a", draws=1, ours=math.nan, theirs=0.5).agrees
    assert not LawComparison(name="a", draws=1, ours=0.5, theirs=math.nan).agrees


@pytest.mark.slow
@pytest.mark.parametrize("library", ["diffprivlib", "opendp"])
def test_both_libraries_follow_the_laws(library: str) -> None:
    pytest.importorskip(library, reason="needs the extra audit")
    laws = compare_laws(library, draws=500)
    assert [law.name for law in laws if not law.agrees] == []
    assert {law.name.split(",")[0] for law in laws} == {"discrete Laplace noise", "exponential mechanism", "permute and flip"}


@pytest.mark.parametrize(("scale", "seen"), [(2, False), (3, True), (10, True)])
def test_noise_of_a_library_with_biased_coins_is_seen_where_the_bias_does_something(scale: int, seen: bool) -> None:
    """The sampler of OpenDP 0.14.1, with as many draws as are taken by default."""
    generator = np.random.default_rng(2)
    library = against._Library(
        noise=lambda epsilon, draws: biased_sampler.drawn(draws, round(1 / epsilon), generator),
        choice=lambda kind, epsilon, scores, draws: np.zeros(draws, dtype=np.int64),
    )
    ours, theirs, law = against._noise(library, Fraction(1, scale), against.NOISE_DRAWS * DRAWS)
    assert p_value(ours, law) > against.LEVEL
    assert (p_value(theirs, law) < against.LEVEL) is seen


@pytest.mark.slow
def test_a_law_that_is_not_followed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The known fault: twice the epsilon is spent."""
    pytest.importorskip("diffprivlib", reason="needs the extra audit")
    real = against.choose
    monkeypatch.setattr(against, "choose", lambda *scores, epsilon, **how: real(*scores, epsilon=2 * epsilon, **how))
    off = {each.name.split(",")[0] for each in compare_laws("diffprivlib", draws=400) if not each.agrees}
    assert off == {"exponential mechanism", "permute and flip"}
