"""Exact rationals as the texts of a ledger: "numerator/denominator" in lowest terms."""

from __future__ import annotations

import re
from fractions import Fraction

_RATIONAL = re.compile(r"(0|[1-9][0-9]{0,99})/([1-9][0-9]{0,99})")


def to_text(value: Fraction) -> str:
    """A rational as "numerator/denominator" in lowest terms."""
    return f"{value.numerator}/{value.denominator}"


def from_text(text: object) -> Fraction:
    """The rational of such a text. Raises ValueError for any other text, also for one that is not in lowest terms."""
    match = _RATIONAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("expected numerator/denominator")
    value = Fraction(int(match[1]), int(match[2]))
    if to_text(value) != text:
        raise ValueError("expected lowest terms")
    return value
