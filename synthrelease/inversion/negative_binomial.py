"""The truncated negative binomial law of a hidden number of rounds, drawn exactly (theory 9.11, inversion of bits)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import count

from synthrelease.inversion.laws import Between, Law

_GUARD = 96
"""Bits that are computed beyond those asked for, so that the bounds are close: they hold with any number."""
_READ = 256
"""Bits that are read at a time."""


@dataclass(frozen=True, kw_only=True)
class TruncatedNegativeBinomial:
    """K - 1, Pr[K = k] = (1 - gamma)^k / (gamma^-eta - 1) * prod_{l < k} (l + eta) / (l + 1) for k = 1, 2, ...

    Attributes
    ----------
    shape : eta > -1; at 0 the limit, the logarithmic law.
    stop_probability : gamma in (0, 1).
    """

    shape: Fraction
    stop_probability: Fraction

    def below(self, bits: int) -> Iterator[Between]:
        """Pr[K <= i], the sum of masses each of which is a rational multiple of the one before. Without an end."""
        low, high = self._factor(bits)
        digits_behind = max(0, -low.adjusted() + 1)  # a large shape makes the first masses tiny
        wide = bits + _GUARD + digits_behind * 10 // 3 + 1
        stay = 1 - self.stop_probability
        mass = Between(int(Fraction(low) * stay * 2**wide), int(Fraction(high) * stay * 2**wide) + 1)
        total, eta_above, eta_below = mass, self.shape.numerator, self.shape.denominator
        numerator, denominator = stay.numerator, stay.denominator * eta_below
        for rounds in count(1):
            yield Between(total.low >> (wide - bits), min(-(-total.high >> (wide - bits)), 1 << bits))
            above, below = numerator * (rounds * eta_below + eta_above), denominator * (rounds + 1)
            mass = Between(mass.low * above // below, -(-mass.high * above // below))
            total = Between(total.low + mass.low, total.high + mass.high)

    def _factor(self, bits: int) -> tuple[Decimal, Decimal]:
        """Bounds of eta / (gamma^-eta - 1), the mass of K = 1 over 1 - gamma: every step is rounded outwards."""
        down, up = (
            Context(prec=(bits + _GUARD) * 30103 // 100_000 + 60, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)
            for rounding in (ROUND_FLOOR, ROUND_CEILING)
        )
        gamma, size = self.stop_probability, abs(self.shape)
        # exponentials and logarithms of decimal are rounded correctly, so one step outwards is a bound
        log_low = down.next_minus(down.ln(_quotient(down, 1 / gamma)))
        log_high = up.next_plus(up.ln(_quotient(up, 1 / gamma)))
        if not self.shape:
            return down.divide(1, log_high), up.divide(1, log_low)
        low = down.multiply(_quotient(down, size), log_low)
        high = up.multiply(_quotient(up, size), log_high)
        if self.shape > 0:
            least, most = down.subtract(down.next_minus(down.exp(low)), 1), up.subtract(up.next_plus(up.exp(high)), 1)
        else:  # both signs turn: |eta| / (1 - gamma^|eta|)
            least = down.subtract(1, up.next_plus(up.exp(low.copy_negate())))
            most = up.subtract(1, down.next_minus(down.exp(high.copy_negate())))
        return down.divide(_quotient(down, size), most), up.divide(_quotient(up, size), least)


def inverted(law: Law, random_bits: Callable[[int], int]) -> int:
    """One draw from a law without end, exactly: bits are read until whatever follows them cannot change the result.

    Parameters
    ----------
    random_bits : so many independent fair bits, as an integer.

    Notes
    -----
    Theory 9.11, inversion of bits: the number of bounds at or below a uniform number has the law.
    """
    bits, read = _READ, random_bits(_READ)
    while True:
        for found, bound in enumerate(law.below(bits)):
            if bound.high <= read:
                continue
            if bound.low > read:
                return found
            break  # what was read lies too near to the bound
        bits, read = bits + _READ, read << _READ | random_bits(_READ)


def _quotient(context: Context, value: Fraction) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
