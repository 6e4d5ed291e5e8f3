"""Cases of pieces: random ones of the rows of a release, and those of a register that is split by record numbers.

Random pieces are those of `PrivateCounts.split`, with a noisy count of each. Of a register there are two releases, of one
piece each. Both are charged the largest charge of any piece. The key of a split is one that puts the numbers of interest where
a fault shows; it is the same in both worlds, as in a register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial

import numpy as np

from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.record_numbers import BYTES, RecordNumbers, SplitKey
from synthrelease.enclave.texts import Texts
from synthrelease.privacy.charges import in_parallel, mechanism
from synthrelease.privacy.noise import discrete_laplace
from synthrelease.privacy.subsets import Spent
from synthrelease.studio.audit.tiny import World
from tests.whole.drawn.cases import Case

DRAWS = 4_000
_WORLD = World({"a": 1})
_EPSILONS = (Fraction(2), Fraction(1))
_CHARGES = tuple(mechanism(f"piece {number}", epsilon, "discrete Laplace") for number, epsilon in enumerate(_EPSILONS, 1))


def _count(table: PrivateCounts, piece: int, cell: int) -> int:
    """The rows of a cell with noise for a sensitivity of 1, at the charge of a piece (0 or 1)."""
    charge, epsilon, paid = _CHARGES[piece], _EPSILONS[piece], table.with_plan([_CHARGES[piece]])
    noisy = paid.spend(
        charge, lambda counts: discrete_laplace(counts.dense()[cell:][:1], sensitivity=1, epsilon=epsilon, entropy=paid.entropy)
    )
    return int(noisy[0])


# Random pieces of the rows of a release.

_LEFT, _RIGHT = (0, 0, 1, 1), (0, 1, 1, 1)
Pieces = Callable[[tuple[int, ...]], Sequence[PrivateCounts]]


def piece_cases() -> Iterator[Case]:
    """Noisy counts of two pieces, at several sizes."""
    for sizes in ((2, 2), (3, 1), (1, 3)):
        yield _piece_case(f"random pieces of {sizes[0]} and {sizes[1]} rows", partial(_random, sizes))


def by_value_case() -> Case:
    """A known fault: rows are divided by their value, and charged as if at random. A replaced row then changes both pieces."""
    return _piece_case("pieces by the value of a row", _rows_by_value, faulty=True)


def same_piece_case() -> Case:
    """A known fault: both counts are of one and the same table, and charged as if of two pieces."""
    return _piece_case("the same rows in both pieces", _same, faulty=True)


def _piece_case(name: str, pieces: Pieces, faulty: bool = False) -> Case:
    return Case(
        family="random pieces",
        name=name,
        claim=float(in_parallel("pieces", *_CHARGES).epsilon),
        draw=partial(_noisy_pieces, pieces),
        sides=(_LEFT, _RIGHT),
        features=("count of the first piece", "count of the second piece"),
        draws=DRAWS,
        faulty=faulty,
    )


def _noisy_pieces(pieces: Pieces, rows: tuple[int, ...], draws: int) -> np.ndarray:
    """Draw (draws, 2): in each piece the rows of cell 0."""
    return np.array([[_count(table, piece, 0) for piece, table in enumerate(pieces(rows))] for _ in range(draws)], dtype=float)


def _random(sizes: tuple[int, int], rows: tuple[int, ...]) -> Sequence[PrivateCounts]:
    return _WORLD.private(rows, ()).split(sizes)


def _rows_by_value(rows: tuple[int, ...]) -> Sequence[PrivateCounts]:
    """Rows of cell 0, and the others, which are counted as they are in the second piece."""
    rest = [0 for row in rows if row]
    return [_WORLD.private([row for row in rows if not row], ()), _WORLD.private(rest, ())]


def _same(rows: tuple[int, ...]) -> Sequence[PrivateCounts]:
    return [_WORLD.private(rows, ()), _WORLD.private(rows, ())]


# Pieces of a register, by record numbers.

Register = tuple[tuple[str, int], ...]
"""Record numbers, and the cell of each record."""
_CLAIM = float(Spent.of(zip((1, 2), _EPSILONS, strict=True)).most)
_REST: Register = (("13", 0), ("14", 1), ("15", 1))
_ONE, _OTHER = "11", "12"
_REGISTER: Register = (*_REST, (_ONE, 0))
_NEW_VALUES: Register = (*_REST, (_ONE, 1))
_RENUMBERED: Register = (*_REST, (_OTHER, 1))

Rows = Callable[[Register, int], Sequence[int]]
"""The cells of the rows that a release reads."""


def register_cases() -> Iterator[Case]:
    """A record with new values under its number, in the piece of either release."""
    for piece in (1, 2):
        yield _register_case(f"a register in two pieces, a record of piece {piece}", partial(_own, {_ONE: piece}))


def faulty_register_cases() -> Iterator[Case]:
    """Known faults: what breaks the largest of the pieces (theory 11.12, pieces for ever)."""
    apart = {_ONE: 1, _OTHER: 2}
    yield _register_case("a record of another number, charged to one piece", partial(_own, apart), _RENUMBERED, faulty=True)
    yield _register_case("a register split by a value", _by_value, faulty=True)
    yield _register_case("a register split again for the second release", _anew, faulty=True)


def _register_case(name: str, rows: Rows, right: Register = _NEW_VALUES, faulty: bool = False) -> Case:
    return Case(
        family="pieces of a register",
        name=name,
        claim=_CLAIM,
        draw=partial(_noisy_releases, rows),
        sides=(_REGISTER, right),
        features=("first release", "second release"),
        draws=DRAWS,
        faulty=faulty,
    )


@cache
def _key(places: tuple[tuple[str, int], ...]) -> SplitKey:
    """A key that puts these numbers into these pieces."""
    keys = (SplitKey(number.to_bytes(BYTES, "big")) for number in range(10_000))
    numbers, assigned = zip(*places, strict=True)
    return next(key for key in keys if tuple(_pieces(key, numbers)) == assigned)


def _pieces(key: SplitKey, numbers: Sequence[str]) -> np.ndarray:
    return RecordNumbers(key, "number", 2).add(Texts(texts=list(numbers), codes=np.arange(len(numbers))))


def _in_piece(key: SplitKey, numbers: Sequence[str], register: Register, piece: int) -> list[int]:
    return [cell for (_, cell), of_row in zip(register, _pieces(key, numbers), strict=True) if of_row == piece]


def _own(places: dict[str, int], register: Register, piece: int) -> Sequence[int]:
    """Return the rows of a piece, as a release reads them."""
    return _in_piece(_key(tuple(places.items())), [number for number, _ in register], register, piece)


def _by_value(register: Register, piece: int) -> Sequence[int]:
    """A known fault: the cell decides, not the number."""
    return _in_piece(_key((("0", 1), ("1", 2))), [str(cell) for _, cell in register], register, piece)


def _anew(register: Register, piece: int) -> Sequence[int]:
    """A known fault: each release has a key of its own, by which the record is in its piece."""
    return _own({_ONE: piece}, register, piece)


def _noisy_releases(rows: Rows, register: Register, draws: int) -> np.ndarray:
    """Draw (draws, 2): rows of cell 0 in the first piece and of cell 1 in the second."""
    tables = [_WORLD.private(rows(register, piece), ()) for piece in (1, 2)]
    return np.array([[_count(table, piece, piece) for piece, table in enumerate(tables)] for _ in range(draws)], dtype=float)
