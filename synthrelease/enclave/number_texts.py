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
import re
from decimal import Decimal

import numpy as np

_WRITTEN = re.compile(r"(?P<sign>[+-]?)(?P<whole>\d+)(?:\.(?P<rest>\d*))?(?:[eE](?P<exponent>[+-]?\d+))?", re.ASCII)
_MOST_PLACES = 400
_SHORT = 10**_MOST_PLACES


def whole_text(number: int) -> str:
    return str(number) if -_SHORT < number < _SHORT else _plain(str(Decimal(number)))


def float_text(number: float) -> str | None:
    """The text of a float of Python, which has 64 bits; None for NaN."""
    if math.isfinite(number):
        return str(int(number)) if number.is_integer() else _plain(float.__repr__(number))
    return None if math.isnan(number) else "inf" if number > 0 else "-inf"


def decimal_text(written: str) -> str | None:
    """The text of a decimal number, from that which Python or PostgreSQL writes, such as 1.50 or 1E+2; None for NaN."""
    if _WRITTEN.fullmatch(written):
        return _plain(written)
    return None if "nan" in written.casefold() else "-inf" if written.startswith("-") else "inf"


def float_texts(numbers: np.ndarray) -> list[str | None]:
    """The texts of floats of any precision."""
    if numbers.dtype == np.float64:
        return list(map(float_text, numbers.tolist()))
    return [_plain(str(each)) if math.isfinite(each) else float_text(float(each)) for each in numbers]


def _plain(written: str) -> str:
    """The same number without an exponent, needless zeros and a plus."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise ValueError("expected a number")
    rest = found["rest"] or ""
    digits = (found["whole"] + rest).lstrip("0")
    places = len(digits) - len(rest) + int(found["exponent"] or 0)  # of the digits, how many stand before the point
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    sign = "-" if found["sign"] == "-" else ""
    if not -_MOST_PLACES < places <= _MOST_PLACES:
        return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{places - 1:+d}"
    if places <= 0:
        return f"{sign}0.{'0' * -places}{digits}"
    whole, rest = digits[:places].ljust(places, "0"), digits[places:]
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"
