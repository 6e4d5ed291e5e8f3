"""Cases of random pieces: `PrivateCounts.split`, with a noisy count of each piece, at the largest charge of any piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import in_parallel, mechanism
from synthrelease.privacy.noise import discrete_laplace
from synthrelease.studio.audit.cases import Case, World

DRAWS = 4_000
_WORLD = World({"a": 1})
_LEFT, _RIGHT = (0, 0, 1, 1), (0, 1, 1, 1)
_EPSILONS = (Fraction(2), Fraction(1))
_CHARGES = tuple(mechanism(f"count {number}", epsilon, "discrete Laplace") for number, epsilon in enumerate(_EPSILONS))

Pieces = Callable[[tuple[int, ...]], Sequence[PrivateCounts]]


def piece_cases() -> Iterator[Case]:
    """Noisy counts of two pieces, at several sizes."""
    for sizes in ((2, 2), (3, 1), (1, 3)):
        yield _case(f"random pieces of {sizes[0]} and {sizes[1]} rows", partial(_random, sizes))


def by_value_case() -> Case:
    """A known fault: rows are divided by their value, and charged as if at random. A replaced row then changes both pieces."""
    return _case("pieces by the value of a row", _by_value, faulty=True)


def same_piece_case() -> Case:
    """A known fault: both counts are of one and the same table, and charged as if of two pieces."""
    return _case("the same rows in both pieces", _same, faulty=True)


def _case(name: str, pieces: Pieces, faulty: bool = False) -> Case:
    return Case(
        family="random pieces",
        name=name,
        claim=float(in_parallel("pieces", *_CHARGES).epsilon),
        left=partial(_noisy, pieces, _LEFT),
        right=partial(_noisy, pieces, _RIGHT),
        features=("count of the first piece", "count of the second piece"),
        draws=DRAWS,
        faulty=faulty,
    )


def _noisy(pieces: Pieces, rows: tuple[int, ...], draws: int) -> np.ndarray:
    """(draws, 2): in each piece the rows of cell 0, with noise for a sensitivity of 1."""
    return np.array([[_count(piece, place) for place, piece in enumerate(pieces(rows))] for _ in range(draws)], dtype=float)


def _count(piece: PrivateCounts, place: int) -> int:
    charge, epsilon = _CHARGES[place], _EPSILONS[place]
    table = piece.with_plan([charge])
    noisy = table.spend(
        charge, lambda counts: discrete_laplace(counts.dense()[:1], sensitivity=1, epsilon=epsilon, entropy=table.entropy)
    )
    return int(noisy[0])


def _random(sizes: tuple[int, int], rows: tuple[int, ...]) -> Sequence[PrivateCounts]:
    return _WORLD.private(rows, ()).split(sizes)


def _by_value(rows: tuple[int, ...]) -> Sequence[PrivateCounts]:
    """Rows of cell 0, and the others, which are counted as they are in the second piece."""
    others = [0 for row in rows if row]
    return [_WORLD.private([row for row in rows if not row], ()), _WORLD.private(others, ())]


def _same(rows: tuple[int, ...]) -> Sequence[PrivateCounts]:
    return [_WORLD.private(rows, ()), _WORLD.private(rows, ())]
