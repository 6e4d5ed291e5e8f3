"""Cases of a register that is split by record numbers: two releases, of one piece each, at the largest charge of any piece.

The key is one that puts the numbers of interest where a fault shows; it is the same in both worlds, as in a register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial

import numpy as np

from synthrelease.enclave.texts import Texts
from synthrelease.privacy.charges import mechanism
from synthrelease.privacy.noise import discrete_laplace
from synthrelease.privacy.subsets import Spent
from synthrelease.releasing.record_numbers import BYTES, RecordNumbers, SplitKey
from synthrelease.studio.audit.cases import Case, World

DRAWS = 4_000
Register = tuple[tuple[str, int], ...]
"""Record numbers, and the cell of each record."""
_WORLD = World({"a": 1})
_EPSILONS = (Fraction(2), Fraction(1))
_CHARGES = tuple(mechanism(f"release {number}", epsilon, "discrete Laplace") for number, epsilon in enumerate(_EPSILONS, 1))
_CLAIM = float(Spent.of(zip((1, 2), _EPSILONS, strict=True)).most)
_REST: Register = (("13", 0), ("14", 1), ("15", 1))
_ONE, _OTHER = "11", "12"
_LEFT: Register = (*_REST, (_ONE, 0))
_RIGHT: Register = (*_REST, (_ONE, 1))
_RENUMBERED: Register = (*_REST, (_OTHER, 1))

Rows = Callable[[Register, int], Sequence[int]]
"""The cells of the rows that a release reads."""


def register_cases() -> Iterator[Case]:
    """A record with new values under its number, in the piece of either release."""
    for piece in (1, 2):
        yield _case(f"a register in two pieces, a record of piece {piece}", partial(_own, {_ONE: piece}))


def faulty_register_cases() -> Iterator[Case]:
    """Known faults: what breaks the largest of the pieces (theory 11.12, pieces for ever)."""
    apart = {_ONE: 1, _OTHER: 2}
    yield _case("a record of another number, charged to one piece", partial(_own, apart), _RENUMBERED, faulty=True)
    yield _case("a register split by a value", _by_value, faulty=True)
    yield _case("a register split anew for the second release", _anew, faulty=True)


def _case(name: str, rows: Rows, right: Register = _RIGHT, faulty: bool = False) -> Case:
    return Case(
        family="pieces of a register",
        name=name,
        claim=_CLAIM,
        left=partial(_noisy, rows, _LEFT),
        right=partial(_noisy, rows, right),
        features=("first release", "second release"),
        draws=DRAWS,
        faulty=faulty,
    )


@cache
def _key(places: tuple[tuple[str, int], ...]) -> SplitKey:
    """A key that puts these numbers into these pieces."""
    keys = (SplitKey(number.to_bytes(BYTES, "big")) for number in range(10_000))
    numbers, wanted = zip(*places, strict=True)
    return next(key for key in keys if tuple(_pieces(key, numbers)) == wanted)


def _pieces(key: SplitKey, numbers: Sequence[str]) -> np.ndarray:
    return RecordNumbers(key, "number", 2).add(Texts(texts=list(numbers), codes=np.arange(len(numbers))))


def _in_piece(key: SplitKey, numbers: Sequence[str], register: Register, piece: int) -> list[int]:
    return [cell for (_, cell), found in zip(register, _pieces(key, numbers), strict=True) if found == piece]


def _own(places: dict[str, int], register: Register, piece: int) -> Sequence[int]:
    """As a release reads them."""
    return _in_piece(_key(tuple(places.items())), [number for number, _ in register], register, piece)


def _by_value(register: Register, piece: int) -> Sequence[int]:
    """A known fault: the cell decides, not the number."""
    return _in_piece(_key((("0", 1), ("1", 2))), [str(cell) for _, cell in register], register, piece)


def _anew(register: Register, piece: int) -> Sequence[int]:
    """A known fault: each release has a key of its own, by which the record is in its piece."""
    return _own({_ONE: piece}, register, piece)


def _noisy(rows: Rows, register: Register, draws: int) -> np.ndarray:
    """(draws, 2): rows of cell 0 in the first piece and of cell 1 in the second, with noise for a sensitivity of 1."""
    cells = [rows(register, piece) for piece in (1, 2)]
    return np.array([[_count(each, place) for place, each in enumerate(cells)] for _ in range(draws)], dtype=float)


def _count(cells: Sequence[int], place: int) -> int:
    charge, epsilon = _CHARGES[place], _EPSILONS[place]
    table = _WORLD.private(cells, [charge])
    noisy = table.spend(
        charge,
        lambda counts: discrete_laplace(counts.dense()[place:][:1], sensitivity=1, epsilon=epsilon, entropy=table.entropy),
    )
    return int(noisy[0])
