"""The one text of a number, whatever file or database holds it, of whatever type.

A whole number is written with all its digits and nothing else: 10000000000000000 for an integer, a float 1e16 and a decimal
1.0E+16 alike. Of other floats the shortest digits are taken that stand for the same float, of other decimals their digits
without zeros at the end: 1.5 for a float 1.5 and a decimal 1.50. Neither has an exponent, zero has no sign, and a text that is
read as a float is the float that it was made of. Of a float of 32 or 16 bits the shortest digits are those that tell it from
its neighbours of as many bits, also of a whole one, as databases write it: 0.1, and 123456790 for 123456792, which has no other
neighbours than 123456784 and 123456800.

Each text is a function of the number alone. So equal numbers of one type have equal texts, which is what those need who join
equal values; and of equal whole numbers and decimals all types have the same text.

A NaN is no number: it has no text, like a null. Infinity is "inf". Beyond 400 digits before or behind the point, where no float
is, a number is written as 1.5e+5000.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

_MOST_PLACES = 400
_SHORT = 10**_MOST_PLACES


def whole_text(number: int) -> str:
    return str(number) if -_SHORT < number < _SHORT else _plain(Decimal(number))


def float_text(number: float) -> str | None:
    """The text of a float of Python, which has 64 bits; None for NaN."""
    if math.isfinite(number):
        return str(int(number)) if number.is_integer() else _plain(Decimal(float.__repr__(number)))
    return None if math.isnan(number) else "inf" if number > 0 else "-inf"


def decimal_text(written: str) -> str | None:
    """The text of a decimal number, from that which Python or PostgreSQL writes, such as 1.50 or 1E+2; None for NaN."""
    number = Decimal(written)
    return _plain(number) if number.is_finite() else None if number.is_nan() else "-inf" if number < 0 else "inf"


def float_texts(numbers: np.ndarray) -> list[str | None]:
    """The texts of floats of any precision."""
    if numbers.dtype == np.float64:
        return list(map(float_text, numbers.tolist()))
    return [_plain(Decimal(str(each))) if math.isfinite(each) else float_text(float(each)) for each in numbers]


def _plain(number: Decimal) -> str:
    """Without an exponent, needless zeros and a plus."""
    if not number:
        return "0"
    if not -_MOST_PLACES <= number.adjusted() < _MOST_PLACES:
        sign, digits, _ = number.as_tuple()
        written = "".join(map(str, digits)).rstrip("0")
        return f"{'-' * sign}{written[0]}{'.' if written[1:] else ''}{written[1:]}e{number.adjusted():+d}"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
