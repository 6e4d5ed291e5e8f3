"""Certified bounds of exponentials and of laws, against series of fractions and closed forms in 150 digits."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import pytest

from synthrelease.privacy.exact_bounds import Geometric, HalfGaussian, Law, exp_bounds
from synthrelease.privacy.samplers import digit_tables, exact_floors

SCALES = (Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(20), Fraction(32))


def series(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """exp(-exponent) between two fractions: 1 over partial sums of exp(exponent), the rest at most a geometric series."""
    partial, term, k = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 10**60) or k < 2 * exponent:
        k += 1
        term *= exponent / k
        partial += term
    return 1 / (partial + 2 * term), 1 / partial


@pytest.mark.parametrize("exponent", [Fraction(1, 10**20), Fraction(1, 7), Fraction(1), Fraction(355, 113), Fraction(30)])
@pytest.mark.parametrize("bits", [64, 150])
def test_bounds_of_an_exponential_hold_and_are_close(exponent: Fraction, bits: int) -> None:
    low, high = series(exponent)
    found = exp_bounds(exponent, bits)
    assert found.low <= low * 2**bits
    assert high * 2**bits <= found.high <= found.low + 2


@pytest.mark.parametrize("exponent", [Fraction(10**5), Fraction(10**300), Fraction(2) ** 1074])
def test_exponentials_that_nothing_holds_lie_between_nothing_and_one_step(exponent: Fraction) -> None:
    assert exp_bounds(exponent, 128) == (0, 1)


@cache
def weights(rate: Fraction) -> list[Decimal]:
    """exp(-rate i^2), in 150 digits."""
    with localcontext(prec=150):
        found = [Decimal(1)]
        while found[-1] > Decimal("1e-140"):
            found.append((-Decimal(rate.numerator) / Decimal(rate.denominator) * len(found) ** 2).exp())
        return found


@cache
def closed_form(law: Law, i: int) -> Decimal:
    """Pr[X < i] in 150 digits, each term for itself."""
    with localcontext(prec=150):
        rate = Decimal(law.rate.numerator) / Decimal(law.rate.denominator)  # type: ignore[attr-defined]
        if isinstance(law, Geometric):
            whole = 1 - (-rate * law.end).exp() if law.end else Decimal(1)
            return (1 - (-rate * i).exp()) / whole
        found = weights(law.rate)  # type: ignore[attr-defined]
        return sum(found[:i], Decimal(0)) / sum(found)


LAWS = (
    *(Geometric(rate=1 / scale) for scale in SCALES[:4]),
    Geometric(rate=Fraction(1, 33), end=256),
    Geometric(rate=Fraction(1, 2**55), end=256),
    Geometric(rate=Fraction(3), end=2),
    *(HalfGaussian(rate=1 / (2 * scale**2)) for scale in (Fraction(1, 20), Fraction(2, 3), Fraction(1), Fraction(17, 2))),
)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_floors_are_those_of_the_closed_form(law: Law) -> None:
    """For every value: what 64 bits are compared with is floor(2^64 Pr[X < i]), up to the first that is 2^64 - 1."""
    found = exact_floors(law)
    with localcontext(prec=150):
        expected = [int(closed_form(law, i) * 2**64) for i in range(1, len(found) + 1)]
        further = int(min(closed_form(law, len(found) + 1), 1 - Decimal("1e-140")) * 2**64)
    assert found == expected
    if getattr(law, "end", None):
        assert len(found) == law.end - 1  # type: ignore[attr-defined]
    else:
        assert found[-1] == further == 2**64 - 1
        assert found[-2:-1] != [2**64 - 1]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("bits", [8, 64, 200])
def test_bounds_of_a_law_hold_at_any_number_of_bits(law: Law, bits: int) -> None:
    with localcontext(prec=150):
        for i, (low, high) in enumerate(itertools.islice(law.below(bits), 40), start=1):
            exact = closed_form(law, i) * 2**bits
            assert low <= exact <= high <= low + 2


@pytest.mark.parametrize("scale", [Fraction(33), Fraction(100), Fraction(12_345, 67)])
def test_digits_together_have_the_law_of_a_geometric_variable(scale: Fraction) -> None:
    """The mass of every value, as a product of differences of floors, against (1 - a) a^k in 150 digits.

    Up to eight high digits. Each factor is a difference of two floors, so that it is off by less than 2^-64.
    """
    tables = [[0, *table.floors.tolist()] for table in digit_tables(scale)]
    assert len(tables) == 2
    low, high = ([Fraction(b - a, 2**64) for a, b in itertools.pairwise([*floors, 2**64])] for floors in tables)
    assert len(low) == 256
    with localcontext(prec=150):
        ratio = (-Decimal(scale.denominator) / scale.numerator).exp()
        for k in range(256 * min(8, len(high))):
            mass = (1 - ratio) * ratio**k
            product = low[k % 256] * high[k // 256]
            assert abs(Decimal(product.numerator) / product.denominator - mass) < Decimal(2) ** -63
