"""The catalogue of cases that are drawn, and a quick slice of them; `python -m tests.whole.drawn` draws from all."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.spec.load import load_spec
from tests.whole.drawn import selection as parallel_cases
from tests.whole.drawn.__main__ import contradictions, document
from tests.whole.drawn.cases import Case
from tests.whole.drawn.catalogue import Power, all_cases, measure_power, small_scale_case, small_scale_choice
from tests.whole.drawn.noise import has_low_bits, laplace_case
from tests.whole.drawn.pipelines import pipelines
from tests.whole.drawn.running import Effort, audit_cases
from tests.whole.drawn.selection import _ROUNDS

catalogue = cache(all_cases)


def honest() -> list[Case]:
    return [case for case in catalogue() if not case.faulty]


def faulty() -> list[Case]:
    return [case for case in catalogue() if case.faulty]


SURE = 1 - 1e-7
"""A right mechanism fails these tests once in ten million runs."""


def named(*names: str) -> list[Case]:
    found = [case for case in catalogue() if case.name in names]
    assert len(found) == len(names)
    return found


def test_the_catalogue_is_what_the_documents_say() -> None:
    families = Counter(case.family for case in honest())
    assert len(honest()) >= 300
    assert families["whole release"] >= 20
    assert {f"criterion {kind}" for kind in CRITERIA} <= set(families)
    assert families["joint test"] >= 9
    assert families["rounded Gaussian"] == 7
    assert families["discrete Laplace, by length"] == 15
    for family in ("discrete Laplace", "released figure", "permute and flip", "exponential mechanism", "stop coin", "selection",
                   "selection, rounds side by side", "low bits of a figure"):  # fmt: skip
        assert families[family]
    assert len({case.claim for case in honest()}) > 10


def test_rounds_of_the_selection_cases_are_as_private_as_they_say() -> None:
    """Every output, and the rejection too."""
    for ratio, left, right, total in _ROUNDS.values():
        for p, q in zip((*left, total - sum(left)), (*right, total - sum(right)), strict=True):
            assert p <= ratio * q
            assert q <= ratio * p


def test_cases_can_be_handed_to_worker_processes() -> None:
    for case in catalogue():
        there = pickle.loads(pickle.dumps(case))  # noqa: S301
        assert (there.name, there.claim) == (case.name, case.claim)


@pytest.mark.parametrize("pipeline", list(pipelines()), ids=lambda pipeline: pipeline.name)
def test_every_pipeline_is_a_valid_release_of_neighbouring_files(pipeline, tmp_path: Path) -> None:
    left, right = (Counter(pipeline.rows(side)) for side in ("left", "right"))
    assert sum((left - right).values()) == sum((right - left).values()) == 1
    spec = load_spec(pipeline.written(tmp_path, "left")[0])
    (case,) = [case for case in honest() if case.name == f"release: {pipeline.name}"]
    assert case.claim == pytest.approx(float(spec.plan.total.epsilon))


def test_low_bits_are_what_doubles_around_one_lack() -> None:
    """Doubles in [1/4, 1/2) are k 2^-54, k from 2^52; 1 minus a double of (1/2, 3/4], k 2^-53, has an even k."""
    generator = np.random.default_rng(1)
    k = generator.integers(2**52, 2**53, 10_000)
    assert has_low_bits((k * 2.0**-54)[:, None]).tolist() == (k % 2).tolist()
    assert has_low_bits((1 - generator.uniform(0.5, 0.75, 10_000))[:, None]).sum() == 0
    assert has_low_bits(np.array([[0.25], [0.5 + 2**-52], [0.2 + 2**-54], [-0.3]])).sum() == 0


def test_a_released_figure_has_no_low_bits() -> None:
    """Textbook noise shows them in 4% of draws around 0: half of those in [1/4, 1/2). The figure in none of 10,000 here."""
    shipped, textbook = named(
        "a double of size 1/4 to 1/2 with bits below 2^-53", "a double of size 1/4 to 1/2 with bits below 2^-53, textbook noise"
    )
    assert has_low_bits(np.vstack([shipped.sample(side, 5_000) for side in ("left", "right")])).sum() == 0
    assert has_low_bits(textbook.sample("left", 10_000)).mean() == pytest.approx(0.043, abs=0.01)
    assert has_low_bits(textbook.sample("right", 10_000)).sum() == 0


FAST = (
    "one count, replaced by a neighbour's, epsilon 1",
    "two counts, a record moves, epsilon 2",
    "four counts in two tables, a record moves in both, epsilon 4",
    "one count, off by 7, epsilon 0.7",
    "a share of 7 records, epsilon 2",
    "probability 1/3, against an independent source",
    "permute and flip: two candidates, far apart, epsilon 2",
    "exponential: one rises, three fall, epsilon 2",
    "absolute, 2 x 3, all tables, epsilon 1",
    "mean of a by b, 2 x 3, epsilon 1",
    "faithfulness, a exact, b near, 2 x 3, epsilon 4",
    "prediction, opposite line, 2 x 3, epsilon 1",
    "face privacy, which looks at the synthetic rows alone",
    "a register in two pieces, a record of piece 1",
    "a rare output beside one that changes the other way, stop probability 1/50",
)
SLOW = (
    "coefficients, fit once, 2 x 3, epsilon 1",
    "release: marginals, a record turns",
    "release: a line fitted once",
    "a scout without a delta and its release",
)


@pytest.mark.slow
@pytest.mark.parametrize(("names", "draws"), [(FAST, 300), (SLOW, 10)])
def test_no_mechanism_of_the_slice_exceeds_its_claim(names: tuple[str, ...], draws: int) -> None:
    found = audit_cases(named(*names), effort=Effort(draws=draws), confidence=SURE)
    assert [finding.case.name for finding in found if finding.exceeded] == []
    assert all(direction.more.draws == draws for finding in found for direction in finding.directions)


FOUND_FAST = (
    ("a moved record counted once, epsilon 1", 1_500),
    ("two counts with one draw of noise", 300),
    ("noise without its lowest digit", 300),
    ("exponential: factor 2 forgotten, epsilon 2", 4_000),
    ("absolute, 2 x 3, all tables, overspent, epsilon 1", 1_200),
    ("rows repeated by their weight, epsilon 1", 700),
    ("the number of rounds is published", 8_000),
    ("a record of another number, charged to one piece", 1_500),
    ("release: faithfulness, a record turns, run with generation noise of a fiftieth", 200),
    ("a scout without a delta of ten times its epsilon", 200),
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "draws"), FOUND_FAST)
def test_a_known_fault_is_found(name: str, draws: int) -> None:
    (finding,) = audit_cases(named(name), effort=Effort(draws=draws), confidence=SURE)
    assert finding.exceeded


@pytest.mark.slow
def test_noise_that_is_a_tenth_too_small_is_found_every_time() -> None:
    """Four audits of unit cases, each planned to be found with probability 0.999 among 350 cases."""
    for case in (small_scale_case(Fraction(2)), small_scale_choice(Fraction(2))):
        assert measure_power(case, 350, repeats=2).found == 2


def test_a_power_is_stated_by_its_lower_bound() -> None:
    assert Power(name="", draws=1, repeats=300, found=300).at_least == pytest.approx(0.05 ** (1 / 300))
    assert Power(name="", draws=1, repeats=300, found=297).at_least < 0.98


def test_rounds_side_by_side_are_handed_over_in_turn() -> None:
    """A copy is made through what joblib's pickling calls."""
    rounds = parallel_cases.TimedRounds((0.0, 0.0))
    assert [copy.copy(rounds)() for _ in range(4)] == [0, 1, 0, 1]


@pytest.mark.slow
def test_select_gives_the_first_round_and_the_fault_the_first_to_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow rounds wait for each other instead of a clock: the slow one ends when the fast one has been taken."""
    (shipped,) = [case for case in honest() if case.family == "selection, rounds side by side"]
    assert shipped.sample("left", 1).tolist() == shipped.sample("right", 1).tolist() == [[0.0]]
    fast_taken = threading.Event()

    class Waiting(parallel_cases.TimedRound):
        def __call__(self) -> int:
            if self.seconds:
                fast_taken.wait(30)
            else:
                threading.Timer(0.2, fast_taken.set).start()
            return self.output

    monkeypatch.setattr(parallel_cases, "TimedRound", Waiting)
    (fault,) = [case for case in faulty() if "first to finish" in case.name]
    assert fault.sample("left", 1).tolist() == [[1.0]]
    fast_taken.clear()
    assert fault.sample("right", 1).tolist() == [[0.0]]


def test_what_contradicts_a_claim_and_a_fault_that_is_not_found_are_named() -> None:
    """A mechanism that spends eight times what it claims and does not know it; and a fault that so few draws do not show."""
    wrong = replace(laplace_case("too much", (0,), (1,), epsilon=Fraction(1, 2), spent=Fraction(4)), faulty=False)
    right = laplace_case("right", (0,), (1,), epsilon=Fraction(1))
    found = audit_cases([wrong, right], effort=Effort(draws=2_000))
    found += audit_cases([small_scale_case(Fraction(1))], effort=Effort(draws=60))
    above, missed = contradictions(found)
    assert above == "Above its claim: too much, epsilon 0.5."
    assert missed.startswith("A known fault that was not found (more draws are needed): scale a tenth too small")
    cases = document(found, [])["cases"]
    assert json.loads(json.dumps(cases)) == cases
    assert cases[0]["proven"] > 0.5
    assert all(0 <= hits <= 2_000 for event in cases[0]["events"] for hits in event["hits"])
