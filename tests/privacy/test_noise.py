"""Laplace noise has its law, and its parts are independent: a statistical slice of tests/benchmarks/noise.py."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.privacy import samplers as noise
from synthrelease.privacy.samplers import digit_tables, laplace
from tests.helpers.noise_laws import PValues, laplace_below, p_values

DRAWS = 200_000
LEVEL = 1e-7
"""A right sampler fails a test at this level once in ten million runs."""


def of_laplace(scale: Fraction, draws: int = DRAWS) -> PValues:
    drawn = laplace(scale, draws, secrets.token_bytes)
    return p_values(drawn, laplace_below(float(scale)), scale=float(scale), laplace=True)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 2), Fraction(33), Fraction(5000), Fraction(2**40, 3)], ids=str)
def test_discrete_laplace_noise_has_its_law(scale: Fraction) -> None:
    assert of_laplace(scale).smallest() > LEVEL


@pytest.mark.parametrize("wrong", [Fraction(19, 20), Fraction(21, 20)], ids=str)
def test_these_tests_see_a_scale_that_is_off_by_a_twentieth(wrong: Fraction) -> None:
    drawn = laplace(33 * wrong, DRAWS, secrets.token_bytes)
    assert p_values(drawn, laplace_below(33.0), scale=33.0, laplace=True).smallest() < LEVEL


def in_pairs(scale: Fraction, size: int) -> np.ndarray:
    """Every draw is used twice, with another sign."""
    drawn = laplace(scale, size // 2, secrets.token_bytes)
    return np.column_stack((drawn, -drawn)).ravel()


def with_a_biased_digit(scale: Fraction, size: int) -> np.ndarray:
    """The lowest digit of one geometric variable is one too small where it is odd, in one draw of 20."""
    drawn = laplace(scale, size, secrets.token_bytes)
    return drawn - ((drawn & 1 == 1) & (np.arange(size) % 20 == 0))


def with_equal_digits(scale: Fraction, size: int) -> np.ndarray:
    """All digits of a geometric variable are made of the same bits."""
    tables = digit_tables(scale)
    words = np.frombuffer(secrets.token_bytes(4 * size), dtype=np.uint16).reshape(2, 1, size)
    parts = [noise._geometric(tables, np.repeat(each, len(tables), axis=0), secrets.token_bytes) for each in words]
    return parts[0] - parts[1]


@pytest.mark.parametrize("fault", [with_a_biased_digit, with_equal_digits, in_pairs])
def test_a_known_fault_is_seen(fault: Callable[[Fraction, int], np.ndarray]) -> None:
    drawn = fault(Fraction(5000), DRAWS)
    assert p_values(drawn, laplace_below(5000.0), scale=5000.0, laplace=True).smallest() < LEVEL


class Counted:
    """Uniform bytes, and how many were asked for each time."""

    def __init__(self) -> None:
        self.sizes = list[int]()

    def __call__(self, size: int) -> bytes:
        self.sizes.append(size)
        return secrets.token_bytes(size)


def test_the_first_bits_of_all_draws_are_read_at_once() -> None:
    for scale, tables in ((Fraction(20), 1), (Fraction(5000), 2)):
        read = Counted()
        laplace(scale, 10_000, read)
        assert read.sizes[0] == 2 * 2 * tables * 10_000
        assert sum(read.sizes[1:]) < read.sizes[0] / 4


def test_no_draw_is_used_twice_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 10 draws: at this scale two equal integers among 105 are rarer than one in 10^12."""
    monkeypatch.setattr(noise, "_BLOCK", 10)
    drawn = laplace(Fraction(2**55), 105, secrets.token_bytes)
    assert len(set(np.abs(drawn).tolist())) == 105


@pytest.mark.parametrize("scale", [Fraction(1, 10**300), Fraction(1, 100)])
def test_tiny_scales_give_zero(scale: Fraction) -> None:
    """A value other than 0 has probability below exp(-99)."""
    assert not laplace(scale, 1000, secrets.token_bytes).any()


def test_the_largest_scale_moves_nothing_beyond_64_bits() -> None:
    """The digits that 64 bits decide add up to less than 2^61 at the largest scale that is allowed, 2^55."""
    tables = digit_tables(Fraction(2**55))
    largest = sum(len(table.floors) << 8 * place for place, table in enumerate(tables))
    assert largest < 2**61


def test_tables_are_remembered_by_scale_but_no_draw_is() -> None:
    assert digit_tables(Fraction(20)) is digit_tables(Fraction(20))
    first, second = (laplace(Fraction(2**50), 300, secrets.token_bytes) for _ in range(2))
    assert not set(first.tolist()) & set(second.tolist())
