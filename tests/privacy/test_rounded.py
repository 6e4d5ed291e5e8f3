"""Rounded Gaussian noise: exact decisions against fractions, its law against the normal one."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from synthrelease.privacy import samplers as rounded
from synthrelease.privacy.samplers import Scale, cells, nearest, normals, resolve_rounded, surely_taken
from tests.helpers.noise_laws import gaussian_below, p_values

DRAWS = 200_000
LEVEL = 1e-7
SCALES = [Fraction(1, 2), Fraction(3), Fraction(4321, 99), Fraction(10**7, 3), Fraction(2**40)]


def drawn(scale: Fraction, size: int = DRAWS) -> np.ndarray:
    return normals(Scale.at_least(scale), size, secrets.token_bytes)


@pytest.mark.parametrize("scale", SCALES[:4], ids=str)
def test_it_has_its_law(scale: Fraction) -> None:
    assert p_values(drawn(scale), gaussian_below(float(scale)), scale=float(scale), laplace=False).smallest() > LEVEL


@pytest.mark.parametrize("wrong", [Fraction(19, 20), Fraction(21, 20)], ids=str)
def test_a_scale_that_is_off_by_a_twentieth_is_seen(wrong: Fraction) -> None:
    assert p_values(drawn(3 * wrong), gaussian_below(3.0), scale=3.0, laplace=False).smallest() < LEVEL


def test_the_largest_scale_is_drawn_bit_by_bit_where_it_must_be() -> None:
    noise = drawn(SCALES[4], 2_000)
    assert 0.9 < noise.std() / 2**40 < 1.1
    assert len(set(noise.tolist())) == 2_000


@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(1, 2**10), Fraction(1, 3), Fraction(7), *SCALES])
def test_scales_are_rounded_up_by_hardly_anything(scale: Fraction) -> None:
    found, floor = Scale.at_least(scale), max(scale, Fraction(1, 2**10))
    assert floor <= found.value <= floor * (1 + Fraction(1, 2**31))
    assert 2**31 <= found.steps <= 2**32


def test_too_large_a_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        Scale.at_least(Fraction(2**40 + 1))


@pytest.mark.parametrize("scale", [Fraction(1, 2**10), *SCALES], ids=str)
def test_the_nearest_whole_number_is_that_of_fractions(scale: Fraction) -> None:
    """Two halves of a product against the product, at random places, around all ties of small numbers and at the far end."""
    exactly = Scale.at_least(scale)
    generator = np.random.default_rng(5)
    ties = [math.ceil((k + Fraction(1, 2)) / exactly.value * 2**42) for k in (0, 1, 2, 5)]
    units = [*generator.integers(0, 10 * 2**42, 300).tolist(), *(t + d for t in ties for d in (-1, 0, 1)), 2**46, 2**47 - 1]
    units = [unit for unit in units if unit < 2**47]
    expected = [math.floor(exactly.value * Fraction(unit, 2**42) + Fraction(1, 2)) for unit in units]
    assert nearest(exactly, np.array(units)).tolist() == expected


def test_a_coin_that_is_surely_taken_is_below_its_probability() -> None:
    """And few that would be taken are left open."""
    generator = np.random.default_rng(6)
    cell, place = generator.integers(0, 9000, 3000), generator.integers(0, 2**32, 3000)
    exponent = [float(rounded._exponent(c, p + 1, 32)) for c, p in zip(cell.tolist(), place.tolist(), strict=True)]
    least = np.array([math.floor(math.exp(-s) * 2**32 - 1e-3) for s in exponent])  # the coins below are taken
    assert not surely_taken(cell, place, least).any()
    assert surely_taken(cell, place, (least * (1 - 1e-4)).astype(np.int64)).mean() > 0.99
    assert surely_taken(np.array([0]), np.array([0]), np.array([2**32 - 2**12])).all()


def test_the_exponent_is_that_of_the_normal_density() -> None:
    """Cells, places and coins together: the density of c w + t is that of |N|."""
    for cell, place in ((0, 0), (1, 2**31), (9000, 2**32 - 1)):
        start, t = Fraction(cell, 2**10), Fraction(place, 2**42)
        assert rounded._exponent(cell, place, 32) == ((start + t) ** 2 - start**2) / 2
    weights = np.diff([0, *cells().floors.tolist()]).astype(float)
    assert weights[1000] / weights[0] == pytest.approx(math.exp(-((1000 / 2**10) ** 2) / 2), rel=1e-12)


class Scripted:
    """Bits that a test chose, as resolve reads them: 32 of the place and 32 of the coin at a time."""

    def __init__(self, *words: tuple[int, int]):
        self._words: Iterator[tuple[int, int]] = iter(words)

    def __call__(self, size: int) -> bytes:
        assert size == 8
        place, coin = next(self._words)
        return (place << 32 | coin).to_bytes(8, "little")


def test_a_coin_at_its_probability_is_decided_by_further_bits() -> None:
    scale, cell, place = Scale.at_least(Fraction(1)), 700, 2**31
    with mpmath.workdps(60):
        exponent = rounded._exponent(cell, place << 32, 64)
        chance = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
        first, second = int(chance * 2**32), int(chance * 2**64) % 2**32
    for further, taken in ((second - 10**6, True), (second + 10**6, False)):
        assert (resolve_rounded(scale, cell, place, first, Scripted((0, further))) >= 0) == taken
    assert resolve_rounded(scale, cell, place, first - 10**7, Scripted()) == 1
    assert resolve_rounded(scale, cell, place, first + 10**7, Scripted()) == -1


def test_a_place_at_a_tie_is_decided_by_further_bits() -> None:
    """Of 1.5 deviations, to the last bit that is read: up or down as the next bits say."""
    scale = Scale.at_least(Fraction(2) / 3)
    exact = Fraction(1, 2) / scale.value * 2**10  # where 1/2 is, in cells
    cell = math.floor(exact)
    place = math.floor((exact - cell) * 2**32)
    further = math.floor((exact - cell) * 2**64) % 2**32
    assert nearest(scale, np.array([(cell << 32) + place, (cell << 32) + place + 1])).tolist() == [0, 1]
    assert resolve_rounded(scale, cell, place, 0, Scripted((further - 2, 0))) == 0
    assert resolve_rounded(scale, cell, place, 0, Scripted((further + 2, 0))) == 1


def test_open_draws_are_put_where_they_belong(monkeypatch: pytest.MonkeyPatch) -> None:
    """What resolve says stands in the place of the draw, and one that is not taken is drawn again."""
    asked = list[tuple[int, int]]()

    def stand_in(scale: Scale, cell: int, place: int, coin: int, read: rounded.Read) -> int:
        asked.append((cell, coin))
        return -1 if len(asked) == 1 else 10**6

    monkeypatch.setattr(rounded, "resolve_rounded", stand_in)
    monkeypatch.setattr(rounded, "surely_taken", lambda cell, place, coin: coin % 2 == 0)
    noise = np.abs(drawn(Fraction(1), 1000))
    assert np.sum(noise == 10**6) == len(asked) - 1
    assert noise[noise != 10**6].max() < 10


def test_a_draw_whose_bits_leave_two_whole_numbers_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a deviation of 2^36 two in 100 are; not one is put to the lower of the two."""
    asked = list[int]()
    monkeypatch.setattr(rounded, "surely_taken", lambda cell, place, coin: np.ones(len(coin), dtype=bool))
    monkeypatch.setattr(rounded, "resolve_rounded", lambda *given: asked.append(given[2]) or 1)
    drawn(Fraction(2**36), 20_000)
    assert 200 < len(asked) < 450  # 20,000 / 64


def test_signs_are_fair_and_independent() -> None:
    noise = drawn(Fraction(50), 40_000)
    assert abs(np.sum(noise > 0) - np.sum(noise < 0)) < 6 * 200
    assert abs(np.sum((noise[1:] > 0) == (noise[:-1] > 0)) - 20_000) < 6 * 110


def test_blocks_do_not_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounded, "_BLOCK", 10)
    assert len(set(np.abs(drawn(Fraction(10**9), 105)).tolist())) == 105
