"""Bounds of the normal law against mpmath, which computes it by other formulas."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from synthrelease.privacy.curves import below, within

PLACES = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(8), Fraction(25)]


def exactly(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("bits", [16, 64, 200, 700])
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_bounds_hold_and_are_close_at_any_number_of_bits(place: Fraction, bits: int) -> None:
    with mpmath.workdps(500):
        found, inside = within(place**2, bits), mpmath.erf(exactly(place) / mpmath.sqrt(2)) * 2**bits
        assert found.low <= inside <= found.high <= found.low + 2
        for signed in (place, -place):
            found, exact = below(signed, bits), mpmath.ncdf(exactly(signed)) * 2**bits
            assert found.low <= exact <= found.high <= found.low + 3


def test_half_lies_below_the_middle() -> None:
    assert within(Fraction(0), 64) == (0, 0)
    low, high = below(Fraction(0), 64)
    assert low <= 2**63 <= high <= low + 2
