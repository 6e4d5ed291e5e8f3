"""The exact law of the selection loop: closed form and code agree on every path; the claims hold for the closed form."""

from __future__ import annotations

import math
import secrets
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import joblib
import pytest

from synthrelease.errors import RejectedRound
from synthrelease.privacy import hidden_numbers
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.releasing import selection
from synthrelease.releasing.selection import select_by
from synthrelease.studio.audit import selection_law
from synthrelease.studio.audit.selection_law import HIDDEN, FinitePairs, LawCheck, allowed, check_laws, hidden_law, loop_law
from tests.helpers.rounds import Numbered, in_this_order, never_ends_if_slow

REJECTED = "rejected"


class TooDeep(BaseException):
    """A path with more rounds than are looked at. Not an Exception: the loop would take that for a rejected round."""


class Tree:
    """Walks every path of a program that draws from finite laws, and weighs each exactly.

    The program calls `draw` for each of its decisions. It is run again and again, each time along the first branch that was
    not taken yet; nothing is assumed about which decisions it makes or in which order.
    """

    def __init__(self) -> None:
        self.path: list[int] = []
        self.options: list[list[tuple[object, Fraction]]] = []
        self.at = 0

    def draw(self, options: Sequence[tuple[object, Fraction]]) -> object:
        possible = [(value, probability) for value, probability in options if probability]
        if self.at == len(self.path):
            self.path.append(0)
            self.options.append(possible)
        assert self.options[self.at] == possible  # the program repeats itself along a path
        value, _ = possible[self.path[self.at]]
        self.at += 1
        return value

    def weight(self) -> Fraction:
        weight = Fraction(1)
        for taken, options in zip(self.path, self.options, strict=True):
            weight *= options[taken][1]
        return weight

    def advance(self) -> bool:
        """To the next path; False when there is none."""
        while self.path and self.path[-1] + 1 == len(self.options[-1]):
            self.path.pop()
            self.options.pop()
        if not self.path:
            return False
        self.path[-1] += 1
        self.at = 0
        return True


def law_of_the_code(
    accepted: Sequence[Fraction], stop: Fraction, depth: int, monkeypatch: pytest.MonkeyPatch
) -> dict[object, Fraction]:
    """Output law of `selection.select` itself within `depth` rounds; TooDeep holds what is undecided then."""
    law: dict[object, Fraction] = defaultdict(Fraction)
    outcomes = [*enumerate(accepted), (REJECTED, 1 - sum(accepted, Fraction(0)))]
    tree = Tree()
    rounds = 0

    def run_round() -> object:
        nonlocal rounds
        if rounds == depth:
            raise TooDeep
        rounds += 1
        outcome = tree.draw(outcomes)
        if outcome == REJECTED and rounds % 2:  # both ways in which a round can be rejected
            raise RejectedRound("no candidate")
        return None if outcome == REJECTED else outcome

    def toss(probability: Fraction) -> object:
        return tree.draw([(True, probability), (False, 1 - probability)])

    monkeypatch.setattr(selection, "coin", toss)
    while True:
        rounds = 0
        try:
            output: object = select_by(SelectionRule(stop_probability=stop), run_round)
        except TooDeep:
            output = TooDeep
        law[output] += tree.weight()
        if not tree.advance():
            return law


@pytest.mark.parametrize("stop", [Fraction(0), Fraction(1, 7), Fraction(1)])
@pytest.mark.parametrize(
    "accepted",
    [
        (Fraction(1, 8), Fraction(1, 4)),
        (Fraction(1, 3),),
        (Fraction(0), Fraction(1, 100), Fraction(1, 5)),
        (Fraction(1, 2),) * 2,
    ],
)
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_the_closed_form_is_the_law_of_the_code(
    accepted: tuple[Fraction, ...], stop: Fraction, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every path of rounds and coins: equal as fractions, not about equal."""
    found = law_of_the_code(accepted, stop, depth, monkeypatch)
    law = loop_law(accepted, stop, depth)
    assert [found[output] for output in range(len(accepted))] == list(law.outputs)
    assert found[None] == law.nothing
    assert found[TooDeep] == law.undecided
    assert sum(found.values()) == 1


def test_the_law_without_a_limit_is_what_the_law_with_a_limit_tends_to() -> None:
    accepted, stop = (Fraction(1, 8), Fraction(1, 4)), Fraction(1, 10)
    within, forever = loop_law(accepted, stop, 400), loop_law(accepted, stop, None)
    assert within.undecided < Fraction(1, 10**90)
    for capped, limit in zip((*within.outputs, within.nothing), (*forever.outputs, forever.nothing), strict=True):
        assert 0 <= limit - capped <= within.undecided
    assert sum(forever.outputs) + forever.nothing == 1


def test_a_loop_that_cannot_end_has_no_law() -> None:
    with pytest.raises(ValueError, match="neither accept a table nor stop"):
        loop_law((Fraction(0),), Fraction(0), None)


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1, 1000), Fraction(3, 7), Fraction(1)])
def test_the_coin_has_its_probability_exactly(probability: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value that the operating system's uniform draw can take, once."""
    asked: set[int] = set()
    heads = 0
    for value in range(probability.denominator):

        def drawn(below: int, value: int = value) -> int:
            asked.add(below)
            return value

        monkeypatch.setattr(secrets, "randbelow", drawn)
        heads += hidden_numbers.coin(probability)
    assert asked == {probability.denominator}
    assert Fraction(heads, probability.denominator) == probability


def hidden_law_of_the_code(
    accepted: Sequence[Fraction], law: FiniteLaw, monkeypatch: pytest.MonkeyPatch
) -> dict[object, Fraction]:
    """Output law of `selection.select_by` with a hidden number of rounds, on every path of that number and of the rounds."""
    found: dict[object, Fraction] = defaultdict(Fraction)
    outcomes = [*enumerate(accepted), (REJECTED, 1 - sum(accepted, Fraction(0)))]
    tree = Tree()

    def run_round() -> object:
        outcome = tree.draw(outcomes)
        return None if outcome == REJECTED else outcome

    monkeypatch.setattr(selection, "from_finite_law", tree.draw)
    while True:
        output = selection.select_by(SelectionRule(rounds=law), run_round)
        found[output] += tree.weight()
        if not tree.advance():
            return found


@pytest.mark.parametrize("accepted", [(Fraction(1, 8), Fraction(1, 4)), (Fraction(1, 3),), (Fraction(0), Fraction(1, 5))])
@pytest.mark.parametrize("law", [law for law in HIDDEN if law.atoms[-1][0] <= 7], ids=lambda law: law.words)
def test_a_hidden_number_of_rounds_has_its_law_on_every_path(
    accepted: tuple[Fraction, ...], law: FiniteLaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number is drawn once, before the rounds; never one round more than it says; equal as fractions."""
    found, expected = hidden_law_of_the_code(accepted, law, monkeypatch), hidden_law(accepted, law)
    assert [found[output] for output in range(len(accepted))] == list(expected.outputs)
    assert (found[None], sum(found.values())) == (expected.nothing, 1)


def test_the_number_of_rounds_is_drawn_with_its_law_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value that the operating system's uniform draw can take, once."""
    law = HIDDEN[2].atoms
    asked, found = set(), defaultdict(int)
    for value in range(500):
        monkeypatch.setattr(secrets, "randbelow", lambda below, value=value: asked.add(below) or value)
        found[hidden_numbers.from_finite_law(law)] += 1
    assert asked == {500}
    assert [(rounds, Fraction(times, 500)) for rounds, times in sorted(found.items())] == list(law)
    for wrong in ([(1, Fraction(1, 2))], [(1, Fraction(3, 2)), (2, Fraction(-1, 2))]):
        with pytest.raises(ValueError, match="sum to 1"):
            hidden_numbers.from_finite_law(wrong)


# --- The claims

PAIRS = FinitePairs.of(20, 2, Fraction(4))


def plain_worst(parts: int, ratio: Fraction, stop: Fraction) -> tuple[int, Fraction]:
    """Number of pairs of rounds with two outputs, and the largest ratio of their laws: by trying all of them."""
    rounds = [
        tuple(Fraction(weight, parts) for weight in (x, y)) for x, y in product(range(1, parts), repeat=2) if x + y < parts
    ]
    worst, pairs = Fraction(0), 0
    for mine, theirs in product(rounds, repeat=2):
        both = [*zip(mine, theirs, strict=True), (1 - sum(mine), 1 - sum(theirs))]
        if all(p <= ratio * q and q <= ratio * p for p, q in both):
            pairs += 1
            laws = [loop_law(each, stop, None) for each in (mine, theirs)]
            outputs = [[*law.outputs, law.nothing + law.undecided] for law in laws]
            worst = max(worst, *(p / q for p, q in zip(*outputs, strict=True) if q))
    return pairs, worst


@pytest.mark.parametrize("stop", [Fraction(0), Fraction(1, 50), Fraction(1, 2)])
@pytest.mark.parametrize("ratio", [Fraction(2), Fraction(5, 4)])
def test_the_grouped_search_finds_what_trying_all_pairs_finds(ratio: Fraction, stop: Fraction) -> None:
    pairs = FinitePairs.of(9, 2, ratio)
    found = selection_law._checked(pairs, stop, "", Fraction(10**6))
    assert (found.pairs, found.largest) == plain_worst(9, ratio, stop)


@pytest.fixture(scope="module")
def checks() -> list[LawCheck]:
    return [*check_laws(40, 2), *check_laws(16, 3)]


@pytest.mark.slow
def test_no_ratio_is_above_its_claim(checks: list[LawCheck]) -> None:
    assert [check for check in checks if check.exceeded or check.largest > check.allowed] == []
    assert sum(check.pairs for check in checks) > 5 * 10**6


@pytest.mark.slow
def test_the_claims_are_not_idle(checks: list[LawCheck]) -> None:
    """Some pair comes within 1% of 2 eps1, and eps1 alone is never enough."""
    assert max(check.share for check in checks) > 0.99
    priced = [check for check in checks if check.claim == "price"]
    assert max(check.share for check in priced) > 0.9999
    assert min(check.share for check in priced if check.ratio == 4) > 0.7
    shipped = [check for check in checks if check.rounds is None]
    wide = [check for check in shipped if check.ratio > Fraction(5, 4) and check.stop_probability < Fraction(1, 2)]
    assert all(check.share > 0.5 for check in wide)


def test_a_claim_of_one_epsilon_would_be_found_wrong() -> None:
    pairs = FinitePairs.of(24, 2, Fraction(2))
    assert selection_law._checked(pairs, Fraction(1, 1000), "eps1", Fraction(2)).exceeded > 0


@pytest.mark.slow
@pytest.mark.parametrize("law", HIDDEN, ids=lambda law: law.words)
def test_no_pair_of_rounds_is_above_the_price_of_a_law_and_some_pair_is_at_it(law: FiniteLaw) -> None:
    """All pairs on a small grid with acceptance 1/5 and 4/5, the worst pair for short laws: there a claim of 1% less is found
    out. More pairs are in the slow tests and in tests/benchmarks/law_prices.py."""
    check = selection_law._checked(PAIRS, law, "price", allowed(law, Fraction(4)))
    assert (check.exceeded, check.pairs) == (0, PAIRS.pairs)
    if law.atoms[-1][0] > 5:
        return
    assert math.log(check.allowed / check.largest) < 1e-6
    assert selection_law._checked(PAIRS, law, "less", Fraction(float(check.allowed) ** 0.99)).exceeded > 0


def test_a_law_chosen_after_seeing_the_data_is_worth_nothing() -> None:
    """Known fault: one round where records are rare, seven where they are not. "Nothing" tells them apart beyond any price."""
    one, seven = FiniteLaw.of({1: Fraction(1)}), FiniteLaw.of({7: Fraction(1)})
    round_ = (Fraction(1, 2),)
    ratio = hidden_law(round_, one).nothing / hidden_law(round_, seven).nothing
    assert ratio == 64 > 2 * allowed(seven, Fraction(5, 4)) > allowed(one, Fraction(5, 4))


def test_a_number_of_rounds_that_is_shown_costs_more_than_the_price() -> None:
    """Known fault: "nothing after K rounds" in place of "nothing": its ratio is that of K rounds, one after the other."""
    law, ratio = HIDDEN[2], Fraction(2)
    here, there = Fraction(1, 3), Fraction(2, 3)  # acceptance; the worst pair
    shown = ((1 - here) / (1 - there)) ** 7
    assert shown == 2**7 > allowed(law, ratio)
    assert hidden_law((here,), law).nothing / hidden_law((there,), law).nothing <= allowed(law, ratio)


# --- Rounds side by side


@pytest.fixture
def side_by_side(tmp_path: Path) -> Callable[..., str | None]:
    """Run two rounds with given outcomes side by side, of which one is slow."""

    def run(outcomes: str, slow: int, rounds: Callable[[int, Path], str | None] = in_this_order) -> str | None:
        folder = tmp_path / f"{outcomes}{slow}"
        folder.mkdir()
        (folder / "outcomes").write_text(outcomes)
        (folder / "slow").write_text(str(slow))
        return select_by(SelectionRule(), Numbered(rounds, folder), jobs=2)  # type: ignore[arg-type]

    return run


@pytest.mark.slow
@pytest.mark.parametrize("outcomes", ["AB", "A-", "-A", "--"])
@pytest.mark.parametrize("slow", [0, 1])
def test_the_output_does_not_depend_on_which_round_is_slow(
    outcomes: str, slow: int, side_by_side: Callable[..., str | None]
) -> None:
    """Two rounds with any outcomes, of which either ends first: the output is that of rounds one after the other.

    So the law given any delays, and with it under any law of delays that depend on the data, is that of one round at a time.
    """
    assert side_by_side(outcomes, slow) == next((outcome for outcome in outcomes if outcome != "-"), "third")


@pytest.mark.slow
def test_a_loop_that_takes_the_first_to_finish_is_found_out(
    side_by_side: Callable[..., str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with joblib's results as they come. Of rounds with A or B, each 1/2, the slow ones lose: law (1/4, 3/4) when
    those with A are slow, (3/4, 1/4) when those with B are: distance 1/2 where 0 is due."""
    right = joblib.Parallel
    monkeypatch.setattr(joblib, "Parallel", lambda **options: right(**{**options, "return_as": "generator_unordered"}))
    laws: list[dict[str | None, Fraction]] = []
    for slow in "AB":
        law: dict[str | None, Fraction] = defaultdict(Fraction)
        for outcomes in ("AA", "AB", "BA", "BB"):
            different = outcomes[0] != outcomes[1]
            output = side_by_side(outcomes, outcomes.index(slow), never_ends_if_slow) if different else outcomes[0]
            law[output] += Fraction(1, 4)
        laws.append(law)
    assert sum(abs(laws[0][output] - laws[1][output]) for output in "AB") / 2 == Fraction(1, 2)
