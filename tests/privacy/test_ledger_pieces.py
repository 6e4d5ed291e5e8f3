"""Pieces of a register: what two releases lose together, by enumeration in exact fractions, against what the ledger sums.

Every release is the program's own reading of a piece (`count_piece`), with two-sided geometric noise on a count. Losses are
powers of 2: an epsilon of e stands for e ln 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest

from synthrelease.enclave.record_numbers import RecordNumbers, SplitKey
from synthrelease.enclave.texts import Texts
from synthrelease.privacy.subsets import Spent

Register = tuple[tuple[str, int], ...]
"""Record numbers and values, 0 or 1."""
Reads = Callable[[Register, int, Mapping[str, int]], list[int]]
Releases = Sequence[tuple[int | None, int]]
"""The piece of each release, None for all rows, and its epsilon."""
Pair = tuple[Register, Register, set[str]]
"""Two registers, and the numbers of the records in which they differ."""
NUMBERS = ("1", "2", "3", "4")


class Decided(SplitKey):
    """A key by which the pieces of all numbers were decided beforehand."""

    def __init__(self, piece_of: Mapping[str, int]):
        super().__init__(b"")
        object.__setattr__(self, "piece_of", piece_of)

    def mark(self, number: str) -> bytes:
        return (self.piece_of[number] - 1).to_bytes(16, "big") + number.encode().ljust(16)


def of_piece(register: Register, piece: int, assigned: Mapping[str, int]) -> list[int]:
    """The values that a release of the piece reads, by the program."""
    numbers = tuple(number for number, _ in register)
    found = pieces_of(numbers, tuple(assigned[number] for number in numbers))
    return [value for (_, value), at in zip(register, found, strict=True) if at == piece]


@cache
def pieces_of(numbers: tuple[str, ...], pieces: tuple[int, ...]) -> list[int]:
    """The piece in which the program sees each of these numbers, for which these pieces were decided."""
    texts = Texts(texts=list(numbers), codes=np.arange(len(numbers)))
    return RecordNumbers(Decided(dict(zip(numbers, pieces, strict=True))), "number", 3).add(texts).tolist()


def by_value(register: Register, piece: int, assigned: Mapping[str, int]) -> list[int]:
    """A known fault: the value decides."""
    return [value for _, value in register if value + 1 == piece]


@cache
def law(true: int, base: int) -> tuple[Fraction, ...]:
    """The true count with noise, clamped to 0 to 3: probabilities fall by `base` with every step."""
    a = Fraction(1, base)
    middle = [(1 - a) / (1 + a) * a ** abs(out - true) for out in range(4)]
    return (a**true / (1 + a), *middle[1:-1], a ** (3 - true) / (1 + a))


@cache
def ratio(one: int, other: int, base: int) -> Fraction:
    """The largest ratio of the probabilities of an answer, the true counts being these."""
    return max(p / q for p, q in zip(law(one, base), law(other, base), strict=True))


def answers(register: Register, releases: Releases, assigned: Mapping[str, int], reads: Reads) -> list[tuple[int, int]]:
    """The laws of all answers, as true counts and bases: of each release how many rows hold 1, and how many there are, each at
    half of its epsilon."""
    laws = []
    for piece, epsilon in releases:
        rows = [value for _, value in register] if piece is None else reads(register, piece, assigned)
        laws += [(sum(rows), 2 ** (epsilon // 2)), (len(rows), 2 ** (epsilon // 2))]
    return laws


def worst(one: Register, other: Register, releases: Releases, assigned: Mapping[str, int], reads: Reads) -> Fraction:
    """The largest ratio of probabilities, either way: a product over independent answers."""
    pairs = list(zip(answers(one, releases, assigned, reads), answers(other, releases, assigned, reads), strict=True))
    return max(
        prod((ratio(a, b, base) for (a, base), (b, _) in pairs), start=Fraction(1)),
        prod((ratio(b, a, base) for (a, base), (b, _) in pairs), start=Fraction(1)),
    )


def registers(numbers: Sequence[str]) -> Iterator[Register]:
    for values in product((0, 1), repeat=len(numbers)):
        yield tuple(zip(numbers, values, strict=True))


def same_number() -> Iterator[Pair]:
    """All pairs that differ in the value of one record."""
    for one in registers(NUMBERS[:3]):
        for place in range(3):
            number, value = one[place]
            yield one, (*one[:place], (number, 1 - value), *one[place + 1 :]), {number}


def other_number() -> Iterator[Pair]:
    """All pairs in which a record of another number stands in the place of one."""
    for one in registers(NUMBERS[:3]):
        for place, value in product(range(3), (0, 1)):
            yield one, (*one[:place], (NUMBERS[3], value), *one[place + 1 :]), {one[place][0], NUMBERS[3]}


RELEASES = [((1, 2), (2, 4)), ((1, 2), (1, 2), (3, 2)), ((None, 2), (1, 4), (2, 2))]


def spent(releases: Releases) -> Spent:
    return Spent.of((piece, Fraction(epsilon)) for piece, epsilon in releases)


def assignments() -> Iterator[dict[str, int]]:
    for pieces in product((1, 2, 3), repeat=4):
        yield dict(zip(NUMBERS, pieces, strict=True))


def losses(pairs: Sequence[Pair], releases: Releases, reads: Reads) -> dict[str, Fraction]:
    """The worst loss over all pairs and assignments, and the worst that is above what the record's own pieces were charged."""
    found: dict[str, Fraction] = defaultdict(Fraction)
    for assigned in assignments():
        for one, other, numbers in pairs:
            loss = worst(one, other, releases, assigned, reads)
            own = {assigned[number] for number in numbers}
            charged = sum(epsilon for piece, epsilon in releases if piece is None or piece in own)
            found["worst"] = max(found["worst"], loss)
            found["above its own"] = max(found["above its own"], loss / 2**charged)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("releases", RELEASES)
def test_a_record_whose_number_stays_pays_for_its_piece_alone(releases: Releases) -> None:
    found = losses(list(same_number()), releases, of_piece)
    assert found["above its own"] <= 1
    assert 1 < found["worst"] <= 2 ** spent(releases).most


@pytest.mark.slow
@pytest.mark.parametrize("releases", RELEASES)
def test_a_record_of_another_number_pays_for_two_pieces(releases: Releases) -> None:
    """For releases of one piece each it pays all of it: what the record's own piece is charged is not enough."""
    found = losses(list(other_number()), releases, of_piece)
    assert found["above its own"] <= 1
    assert found["worst"] <= 2 ** spent(releases).most_renumbered
    if releases == RELEASES[0]:
        assert found["worst"] == 2 ** spent(releases).most_renumbered > 2 ** spent(releases).most


def test_pieces_by_value_lose_more_than_the_dearest() -> None:
    releases = RELEASES[0]
    assert losses(list(same_number()), releases, by_value)["worst"] > 2 ** spent(releases).most


@pytest.mark.parametrize(
    ("releases", "most", "renumbered", "of_1", "of_3"),
    [
        ((), 0, 0, 0, 0),
        (((None, 2), (None, 1)), 3, 3, 3, 3),
        (((1, 2), (2, 5)), 5, 7, 2, 0),
        (((1, 2), (2, 5), (1, 4), (3, 1), (None, 10)), 16, 21, 16, 11),
    ],
)
def test_sums_by_piece(releases: Releases, most: int, renumbered: int, of_1: int, of_3: int) -> None:
    found = spent(releases)
    assert (found.most, found.most_renumbered, found.before(1), found.before(3)) == (most, renumbered, of_1, of_3)
    assert found.before(None) == found.most
