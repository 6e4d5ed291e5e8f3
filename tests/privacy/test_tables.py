"""Draws by inversion, from scripted bits: every value is that of the closed form in 150 digits, also where words tie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.privacy.exact_bounds import Geometric, HalfGaussian, Law
from synthrelease.privacy.samplers import Table
from tests.privacy.test_laws import LAWS, closed_form


class Scripted:
    """Gives 64-bit words of a script, the further bits of draws."""

    def __init__(self, words: Sequence[int]):
        self._words = list(words)

    def __call__(self, size: int) -> bytes:
        taken, self._words = self._words[: size // 8], self._words[size // 8 :]
        return b"".join(word.to_bytes(8, "little") for word in taken)

    def is_used_up(self) -> bool:
        return not self._words


def value_of(law: Law, bits: int, n_bits: int) -> int | None:
    """The value when U lies in [bits, bits + 1) / 2^n_bits, or None where that is open: the definition."""
    with localcontext(prec=150):
        low, high, value = Decimal(bits) / 2**n_bits, Decimal(bits + 1) / 2**n_bits, 0
        end = getattr(law, "end", None)
        while value + 1 != end:
            bound = closed_form(law, value + 1)
            if high <= bound:
                break
            if low < bound:
                return None
            value += 1
        return value


def drawn(table: Table, word: int, *further: int) -> int:
    """The value that is drawn from 64 bits and, where they tie, further words of 64."""
    read = Scripted([(word << 16) % 2**64, *further])
    (value,) = table.draw(np.array([word >> 48], dtype=np.uint16), read).tolist()
    if table.first[word >> 48] >= 0:
        read(8)
    return value if read.is_used_up() else -1


def near_the_bounds(table: Table) -> Iterator[int]:
    """Words beside some floors, the ends, and some between."""
    for floor in table.floors[[0, len(table.floors) // 2, -1]].tolist():
        yield from (word for word in (floor - 1, floor + 1) if 0 <= word < 2**64 and word not in table.floors.tolist())
    random = np.random.default_rng(1)
    yield from random.integers(0, 2**64 - 1, 20, dtype=np.uint64).tolist()


SMALL = [law for law in LAWS if not isinstance(law, Geometric) or law.rate > 1]


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_words_that_tie_with_nothing_give_the_value_of_the_closed_form(law: Law) -> None:
    table = Table.of(law)
    for word in near_the_bounds(table):
        assert drawn(table, word) == value_of(law, word, 64)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_a_tie_is_resolved_by_further_bits(law: Law) -> None:
    """64 bits that agree with a bound are followed by 64 that lie below its next bits, above them, or agree again."""
    table = Table.of(law)
    assert value_of(law, int(table.floors[0]), 64) is None
    for i in sorted({1, len(table.floors)}):
        with localcontext(prec=150):
            bound = closed_form(law, i)
            floor, second = int(bound * 2**64), int(bound * 2**128) % 2**64
            third = int(bound * 2**192) % 2**64
        for further in (0, second - 1, second + 1):
            if 0 <= further < 2**64 and value_of(law, floor << 64 | further, 128) is not None:
                assert drawn(table, floor, further) == value_of(law, floor << 64 | further, 128)
        for last in (third - 2, third + 2):
            if 0 <= last < 2**64 and value_of(law, (floor << 64 | second) << 64 | last, 192) is not None:
                expected = value_of(law, (floor << 64 | second) << 64 | last, 192)
                assert drawn(table, floor, second, last) == expected


@pytest.mark.parametrize("law", [*LAWS, Geometric(rate=Fraction(1, 32))], ids=str)
def test_the_first_bits_decide_only_where_all_words_agree(law: Law) -> None:
    """Every one of the 2^16: counted from the floors at both ends of its words."""
    table = Table.of(law)
    below = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    at_start, at_end = (np.searchsorted(table.floors, words) for words in (below, below + np.uint64(2**48 - 1)))
    tied_end = np.isin(below + np.uint64(2**48 - 1), table.floors)
    agree = (at_start == at_end) & ~tied_end
    assert (table.first[agree] == at_start[agree]).all()
    assert (table.first[~agree] == -1).all()
    words = np.arange(2**16, dtype=np.uint16)
    few = [table.decided(some) for some in np.split(words, 2**10)]  # searched, not looked up
    assert (np.concatenate(few) == table.first).all()
    assert (table.decided(words) == table.first).all()


def test_a_vector_is_drawn_place_by_place() -> None:
    """Mixed: decided by 16 bits, by 64, and by more; no place gets another's bits."""
    law = HalfGaussian(rate=Fraction(1, 32))
    table = Table.of(law)
    floor = int(table.floors[4])
    with localcontext(prec=150):
        second = int(closed_form(law, 5) * 2**128) % 2**64
    words = [floor + 1, floor, 5 << 48, floor - 1, floor]
    ties = [second - 3, second + 3]
    script = [(word << 16) % 2**64 for word in words if table.first[word >> 48] < 0] + ties
    values = table.draw(np.array([word >> 48 for word in words], dtype=np.uint16), Scripted(script)).tolist()
    expected = [value_of(law, word, 64) for word in words]
    assert [expected[1], expected[4]] == [None, None]
    assert values == [expected[0], 4, expected[2], expected[3], 5]


def test_a_law_of_too_many_values_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer likely values"):
        Table.of(Geometric(rate=Fraction(1, 800)))
