"""Laws held against another library: the test of a law is calibrated, sees what is off, and says what is not installed."""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from synthrelease.errors import InputError
from synthrelease.studio.audit import against
from synthrelease.studio.audit.against import DRAWS, LawComparison, compare_laws, p_value
from synthrelease.studio.audit.losses import log_shares
from tests.cli.test_cli import run
from tests.whole.drawn import noise as biased_sampler

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


def test_a_library_that_is_missing_or_unknown_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffprivlib", None)
    with pytest.raises(
        InputError, match=r"expected the library diffprivlib for --against, found none. Install the extra \"audit\""
    ):
        compare_laws("diffprivlib")
    with pytest.raises(InputError, match="expected diffprivlib or opendp, found 'numpy'"):
        compare_laws("numpy")


@pytest.mark.slow
@pytest.mark.parametrize("library", ["diffprivlib", "opendp"])
def test_the_command_holds_both_libraries_against_the_laws(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library, reason="needs the extra audit")
    done = run("audit", "--against", library, "--draws", "500", "--out", str(tmp_path / "laws.json"))
    assert done.returncode == 0, done.stderr
    laws = json.loads((tmp_path / "laws.json").read_text())["laws"]
    assert f"Both follow all {len(laws)} laws." in done.stdout
    assert {law["name"].split(",")[0] for law in laws} == {
        "discrete Laplace noise",
        "exponential mechanism",
        "permute and flip",
    }


@pytest.mark.parametrize(("scale", "seen"), [(2, False), (3, True), (10, True)])
def test_noise_of_a_library_with_biased_coins_is_seen_where_the_bias_does_something(scale: int, seen: bool) -> None:
    """The sampler of OpenDP 0.14.1, with as many draws as the command takes by default."""
    generator = np.random.default_rng(2)
    library = against._Library(
        noise=lambda epsilon, draws: biased_sampler.drawn(draws, round(1 / epsilon), generator),
        choice=lambda kind, epsilon, scores, draws: np.zeros(draws, dtype=np.int64),
    )
    ours, theirs, law = against._noise(library, Fraction(1, scale), against.NOISE_DRAWS * DRAWS)
    assert p_value(ours, law) > against.LEVEL
    assert (p_value(theirs, law) < against.LEVEL) is seen


@pytest.mark.slow
def test_a_law_that_is_not_followed_ends_with_code_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """The known fault: twice the epsilon is spent."""
    pytest.importorskip("diffprivlib", reason="needs the extra audit")
    real = against.choose
    monkeypatch.setattr(against, "choose", lambda *scores, epsilon, **how: real(*scores, epsilon=2 * epsilon, **how))
    off = {each.name.split(",")[0] for each in compare_laws("diffprivlib", draws=400) if not each.agrees}
    assert off == {"exponential mechanism", "permute and flip"}


def test_other_parts_of_an_audit_do_not_go_with_it() -> None:
    done = run("audit", "--against", "diffprivlib", "--part", "losses")
    assert (done.returncode, "found --part, --only or --release" in " ".join(done.stderr.split())) == (2, True)
