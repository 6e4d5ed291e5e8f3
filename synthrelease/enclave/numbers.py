"""Numbers of many texts at once, exactly as Python's `float` reads each of them.

Only texts of a form for which that is proved are read here: an optional sign, digits, and at most one decimal mark, with 1 to
15 digits in all and nothing else, not even a space. The others, such as 1e5, are left to whoever reads one text at a time.

The digits without the mark are a whole number m below 10^15 < 2^53, so m is a float, and so is 10^k for the k <= 15 digits
behind the mark. Each step towards m is exact, and the one division m / 10^k is rounded correctly by IEEE 754, as `float`
rounds the same quotient (the fast path of W. D. Clinger's "How to read floating point numbers accurately").
"""

from __future__ import annotations

import numpy as np

MOST_DIGITS = 15
_LONGEST = MOST_DIGITS + 2
_ZERO = ord("0")
_POWERS = np.array([float(10**k) for k in range(MOST_DIGITS + 1)])


def plain_numbers(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, decimal: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of texts that lie one behind the other.

    Parameters
    ----------
    data : (n_bytes,) uint8, the texts in UTF-8.
    starts, ends : (n_texts,) where each text begins, and where it has ended.
    decimal : the decimal mark, "." or ",".

    Returns
    -------
    numbers : (n_texts,) float64; 0 where a text is not of the plain form.
    plain : (n_texts,) whether it is.
    """
    lengths = ends - starts
    plain = (lengths > 0) & (lengths <= _LONGEST)
    if not plain.any():
        return np.zeros(len(lengths)), plain
    first = data[np.minimum(starts, len(data) - 1)]
    signed = (first == ord("-")) | (first == ord("+"))
    whole = np.zeros(len(lengths), dtype=np.int64)
    digits, behind, marks = (np.zeros(len(lengths), dtype=np.int64) for _ in range(3))
    for place in range(int(lengths[plain].max())):
        inside = place < lengths
        byte = data[np.minimum(starts + place, len(data) - 1)].astype(np.int64)
        digit, mark = byte - _ZERO, byte == ord(decimal)
        is_digit = (digit >= 0) & (digit <= 9)
        plain &= ~inside | is_digit | mark | (signed if place == 0 else False)
        read = inside & is_digit & plain
        whole[read] = whole[read] * 10 + digit[read]
        digits += read
        behind += read & (marks > 0)
        marks += inside & mark
    plain &= (digits > 0) & (digits <= MOST_DIGITS) & (marks <= 1)
    numbers = np.where(plain, whole, 0) / _POWERS[np.where(plain, behind, 0)]
    return np.where(first == ord("-"), -numbers, numbers), plain
