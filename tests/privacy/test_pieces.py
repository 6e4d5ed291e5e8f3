"""Charges of random pieces: the theorem by enumeration in exact fractions, the tree of a release, and what must be refused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import comb, prod

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts, random_pieces
from synthrelease.errors import BudgetError, InputError, PrivateFailure
from synthrelease.privacy.charges import (
    IN_PARALLEL,
    NUMBER_OF_ROWS,
    STATED,
    exact,
    in_parallel,
    in_sequence,
    mechanism,
    zero_concentrated,
)
from synthrelease.privacy.curves import RenyiCurve, above
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.plan import Plan
from synthrelease.privacy.selection import SelectionRule, private_selection
from synthrelease.privacy.subsets import PartitionRule
from synthrelease.published.charges import ChargePart
from synthrelease.published.options import PartitionPart
from synthrelease.published.verify.charges import _node_problems
from tests.helpers.small import World

WORLD = World({"a": 1})
Rows = tuple[int, ...]
Cut = Callable[[Rows], Iterator[tuple[Sequence[Rows], Fraction]]]


class Given(SystemEntropy):
    """Row numbers that were decided beforehand."""

    def __init__(self, drawn: Sequence[int]):
        self.drawn = list(drawn)

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        found, self.drawn = self.drawn[: len(bounds)], self.drawn[len(bounds) :]
        return np.array(found, dtype=np.int64)


def rows_of(counts: Counts) -> Rows:
    return tuple(np.repeat(counts.codes, counts.counts).tolist())


def all_cuts(table: Counts, sizes: Sequence[int]) -> dict[tuple[Rows, ...], Fraction]:
    """The law of the program's pieces: every way in which different row numbers can be drawn is as likely as any other."""
    left, stages = table.total, []
    for size in sizes[:-1]:
        stages.append(list(permutations(range(left), min(size, left - size))))
        left -= size
    law: dict[tuple[Rows, ...], Fraction] = defaultdict(Fraction)
    for ways in product(*stages):
        pieces = random_pieces(table, sizes, Given([number for way in ways for number in way]))
        law[tuple(map(rows_of, pieces))] += Fraction(1, prod(map(len, stages)))
    return dict(law)


def closed_form(table: Counts, pieces: Sequence[Rows]) -> Fraction:
    """Multivariate hypergeometric probabilities, one piece after the other."""
    left, probability = np.bincount(rows_of(table), minlength=3), Fraction(1)
    for piece in pieces:
        taken = np.bincount(piece, minlength=3)
        ways = prod(comb(int(c), int(x)) for c, x in zip(left, taken, strict=True))
        probability *= Fraction(ways, comb(int(left.sum()), len(piece)))
        left = left - taken
    return probability


@pytest.mark.parametrize("rows", [(0, 1), (0, 0, 1, 2), (0, 0, 0, 1, 1), (0, 1, 1, 2, 2, 2)])
def test_the_law_of_the_pieces_is_multivariate_hypergeometric(rows: Rows) -> None:
    world = World({"a": 2})
    table = world.counts(rows)
    for sizes in ((len(rows) - 1, 1), (1, len(rows) - 1), (1, 1, len(rows) - 2), (len(rows) - 2, 1, 1)):
        if min(sizes) < 1:
            continue
        law = all_cuts(table, sizes)
        assert sum(law.values()) == 1
        assert law == {pieces: closed_form(table, pieces) for pieces in law}
        assert {tuple(sorted(sum(pieces, ()))) for pieces in law} == {rows}  # nothing is lost or made
        assert all(tuple(map(len, pieces)) == sizes for pieces in law)


def random_cut(*sizes: int) -> Cut:
    return lambda rows: iter(all_cuts(WORLD.counts(rows), sizes).items())


def by_value(rows: Rows) -> Iterator[tuple[Sequence[Rows], Fraction]]:
    """A known fault: the rows of cell 0 in one piece, the others in the other."""
    yield [tuple(r for r in rows if not r), tuple(0 for r in rows if r)], Fraction(1)


def same_rows(rows: Rows) -> Iterator[tuple[Sequence[Rows], Fraction]]:
    """A known fault: both mechanisms read all rows."""
    yield [rows, rows], Fraction(1)


def law_of_answers(cut: Cut, rows: Rows, bases: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """Of each piece, how many rows are in cell 0, with two-sided geometric noise clamped to 0 to n: exact, base^-1 a step."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for pieces, probability in cut(rows):
        laws = [clamped(piece.count(0), len(rows), base) for piece, base in zip(pieces, bases, strict=True)]
        for answers in product(range(len(rows) + 1), repeat=len(laws)):
            found[answers] += probability * prod(law[a] for law, a in zip(laws, answers, strict=True))
    return found


def clamped(true: int, most: int, base: int) -> list[Fraction]:
    a = Fraction(1, base)
    middle = [(1 - a) / (1 + a) * a ** abs(out - true) for out in range(most + 1)]
    return [a**true / (1 + a), *middle[1:-1], a ** (most - true) / (1 + a)]


def worst(cut: Cut, n: int, bases: Sequence[int]) -> Fraction:
    """The largest e^loss over all neighbours and answers."""
    laws = {rows: law_of_answers(cut, rows, bases) for rows in combinations_with_replacement((0, 1), n)}
    pairs = [(one, other) for one in laws for other in laws if abs(sum(one) - sum(other)) == 1]
    return max(laws[one][answer] / laws[other][answer] for one, other in pairs for answer in laws[one])


@pytest.mark.parametrize(
    ("sizes", "bases"), [((2, 2), (2, 4)), ((3, 1), (4, 2)), ((1, 3), (3, 3)), ((2, 1, 1), (2, 3, 2)), ((1, 1, 2), (2, 2, 5))]
)
def test_random_pieces_lose_no_more_than_the_worst_of_them(sizes: tuple[int, ...], bases: tuple[int, ...]) -> None:
    assert 1 < worst(random_cut(*sizes), sum(sizes), bases) <= max(bases)


@pytest.mark.parametrize("fault", [by_value, same_rows])
def test_pieces_by_value_or_the_same_rows_twice_lose_the_sum(fault: Cut) -> None:
    assert worst(fault, 4, (2, 4)) == 8 > 4


def test_halves_of_every_count_lose_the_sum() -> None:
    """A known fault: half of the rows of each cell, without chance. A replaced row leaves one piece and enters the other."""

    def loss(left: Rows, right: Rows) -> Fraction:
        """Of the rows of cell 1 in the first piece and of cell 0 in the second: each counted with noise of base 2 and 4."""
        answers = [((rows.count(1) + 1) // 2, rows.count(0) // 2) for rows in (left, right)]
        laws = [(clamped(one, 4, 2), clamped(other, 4, 4)) for one, other in answers]
        return prod(max(p / q for p, q in zip(a, b, strict=True)) for a, b in zip(*laws, strict=True))

    assert loss((0, 1, 1, 1), (0, 0, 1, 1)) == 8 > 4


def test_one_piece_answers_as_the_published_figure_says() -> None:
    """Merrill 2021, Figure 5.1, on coins: one of ten pieces of 6.6 million at epsilon, or all of them at a tenth of it."""
    rule, rows, share = PartitionRule(fit=Fraction(9, 10)), 6_600_000, 0.66
    piece = rule.sizes(rows)[1]
    sampling = PartitionPart.of(rule, rows).sampling_error(share)
    assert (piece, round(sampling, 6)) == (660_000, 0.000553)  # sqrt(0.66 * 0.34 / 660000 * 0.9)
    random = np.random.default_rng(11)
    for epsilon, same in ((0.0001, True), (0.0005, True), (0.001, True), (0.1, False)):
        noise = random.laplace(scale=1 / (piece * epsilon), size=(2, 20_000))  # all rows: 1 / (10 * 660000 * epsilon / 10)
        errors = np.abs([noise[0], noise[1] + random.normal(scale=sampling, size=20_000)])
        boxes = np.quantile(errors, [0.25, 0.5, 0.75, 0.9], axis=1).T
        assert (np.abs(boxes[1] - boxes[0]).max() < 0.0005) == same
        if epsilon == 0.0005:
            assert boxes[0][1] == pytest.approx(0.0021, abs=1e-4)
            assert (errors < 0.005).mean(axis=1) == pytest.approx([0.8, 0.8], abs=0.02)
    assert boxes[1][3] < 0.001


def test_the_largest_epsilon_and_delta_and_coefficient() -> None:
    pure = in_parallel("x", mechanism("a", exact(1), ""), mechanism("b", exact("0.3"), ""))
    assert (pure.epsilon, pure.delta, pure.rule) == (1, 0, IN_PARALLEL)
    some = in_parallel("x", mechanism("a", exact(1), ""), mechanism("b", exact("0.3"), "", delta=Fraction(1, 100)))
    assert (some.epsilon, some.delta) == (1, Fraction(1, 100))
    mixed = in_parallel("x", zero_concentrated("a", Fraction(1, 10), ""), mechanism("b", exact(1), ""))
    assert mixed.renyi == RenyiCurve(rho=Fraction(1, 2))  # 1^2 / 2
    with pytest.raises(BudgetError):
        in_parallel("x")
    with pytest.raises(BudgetError):
        in_parallel("x", zero_concentrated("a", Fraction(1, 10), ""), some)


def test_a_curve_above_others_is_nowhere_below_them() -> None:
    curves = [RenyiCurve(rho=Fraction(1)), RenyiCurve(constant=Fraction(3), log_mean=Fraction(1, 7))]
    for order in (Fraction(11, 10), Fraction(2), Fraction(50)):
        assert above(*curves).at(order) >= max(curve.at(order) for curve in curves)
    assert above(curves[0]) == curves[0]


# --- The tree of a release --------------------------------------------------------------------------------------------------

ROWS, GENERATION = mechanism(NUMBER_OF_ROWS, exact("0.05"), ""), mechanism("generation", exact(4), "")
FIT, FIGURES = mechanism("fit", exact("0.43"), ""), mechanism("figures", exact("0.56"), "")
HALVES = PartitionRule(fit=Fraction(1, 2))


def plan_of(**changes: object) -> Plan:
    charges: dict = {"once": (ROWS, FIT), "per_round": (GENERATION, FIGURES), "partition": HALVES}
    return Plan.of(**charges | changes)


def test_the_births_in_two_pieces_cost_8_in_place_of_9_55() -> None:
    assert plan_of(partition=None).total.epsilon == Fraction("0.05") + Fraction("9.55")
    plan = plan_of()
    assert plan.total.epsilon == Fraction("0.05") + 8
    fit, score = plan.total.parts[1].parts
    assert (fit.epsilon, score.epsilon) == (8, Fraction("0.43") + 2 * Fraction("0.56"))
    assert sorted(leaf.name for leaf in plan.total.leaves()) == sorted(["number of rows", "generation", "fit", "figures"])


def test_what_is_measured_before_the_rounds_is_not_multiplied() -> None:
    after = (mechanism("criterion: a", exact("0.3"), ""),)
    plan = plan_of(once=(ROWS, GENERATION, FIT), per_round=(FIGURES,), after=after)
    fit, score = plan.total.parts[1].parts
    assert (fit.epsilon, score.epsilon) == (4, Fraction("0.43") + 2 * Fraction("0.56") + Fraction("0.3"))


def test_curves_in_two_pieces_are_stated_once() -> None:
    rule = SelectionRule(stop_probability=Fraction(1, 10), shape=Fraction(1))
    generation = zero_concentrated("generation", Fraction(1, 20), "")
    plan = plan_of(per_round=(generation, FIGURES), rule=rule, delta=Fraction(1, 10**6))
    alone = private_selection("s", generation, rule).curve()
    fit, score = plan.total.parts[1].parts
    assert (fit.epsilon, fit.delta, fit.rule) == (alone.epsilon(Fraction(1, 10**6)), Fraction(1, 10**6), STATED)
    assert (score.epsilon, score.delta) == (FIT.epsilon + private_selection("s", in_sequence("r", FIGURES), rule).epsilon, 0)
    assert (plan.total.epsilon, plan.total.delta) == (ROWS.epsilon + max(fit.epsilon, score.epsilon), Fraction(1, 10**6))
    assert list(_node_problems(ChargePart.of(plan.total), rule)) == []  # as `verify` recomputes it
    with pytest.raises(BudgetError, match="Set delta"):
        plan_of(per_round=(generation, FIGURES), rule=rule)


@pytest.mark.parametrize(("n", "sizes"), [(2, (1, 1)), (3, (1, 2)), (10, (5, 5)), (11, (5, 6))])
def test_sizes_follow_from_the_number_of_rows(n: int, sizes: tuple[int, int]) -> None:
    assert HALVES.sizes(n) == sizes
    assert PartitionRule(fit=Fraction(1, 1000)).sizes(n) == (1, n - 1)
    assert PartitionRule(fit=Fraction(999, 1000)).sizes(n) == (n - 1, 1)
    with pytest.raises(InputError, match="fewer than 2 rows .1"):
        HALVES.sizes(1)


# --- The door ---------------------------------------------------------------------------------------------------------------

CHARGE = mechanism("x", exact(1), "")


def never(counts: Counts) -> None:
    raise AssertionError("private counts were read")


def pieces_of(private: PrivateCounts) -> tuple[PrivateCounts, ...]:
    return private.split((3, 2))


def test_pieces_have_doors_and_meters_of_their_own_and_the_whole_is_closed() -> None:
    private = WORLD.private((0, 0, 0, 1, 1), [CHARGE])
    one, other = pieces_of(private)
    assert (one.n, other.n, one.n_file) == (3, 2, 5)
    for piece in (one, other):
        with pytest.raises(BudgetError):
            piece.spend(CHARGE, never)  # no plan yet
    seen = [piece.with_plan([CHARGE]).spend(CHARGE, lambda counts: counts) for piece in (one, other)]
    assert rows_of(seen[0] + seen[1]) == (0, 0, 0, 1, 1)
    asks: list[Callable[[], object]] = [
        lambda: private.spend(CHARGE, never),
        lambda: private.with_plan([CHARGE]),
        lambda: private.on(WORLD.transformation),
        lambda: private.split((3, 2)),
    ]
    for ask in asks:
        with pytest.raises(BudgetError, match="only its pieces can be read"):
            ask()


@pytest.mark.parametrize("sizes", [(4, 2), (5, 0), (6, -1), ()])
def test_pieces_of_other_sizes_are_refused_and_nothing_is_shown(sizes: tuple[int, ...]) -> None:
    private = WORLD.private((0, 0, 0, 1, 1), [CHARGE])
    with pytest.raises(ValueError, match="all rows together"):
        private.split(sizes)
    assert private.spend(CHARGE, lambda counts: counts.total) == 5  # still whole


def test_a_failure_while_dividing_says_nothing() -> None:
    class Broken(SystemEntropy):
        def picks(self, bounds: np.ndarray) -> np.ndarray:
            raise RuntimeError("secret-4711")

    with pytest.raises(PrivateFailure) as caught:
        WORLD.private((0, 1), (), Broken()).split((1, 1))
    assert caught.value.__cause__ is None
    assert "secret" not in str(caught.value)
