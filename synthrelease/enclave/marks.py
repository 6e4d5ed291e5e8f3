"""Marks of keys: which rows belong together, without the keys themselves.

A mark is 128 bits of a key, made with a secret that is new in every reading and forgotten with it: equal for equal keys, and of
other keys different with a probability of 1 - 2^-128 for each two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from synthrelease.domain.grouping import EqualRows
from synthrelease.enclave.texts import Texts
from synthrelease.randomness import secret_bytes

NO_MARKS = np.zeros((0, 2), dtype=np.uint64)


def marker(missing: frozenset[str], secret: bytes | None = None) -> Callable[[Texts], tuple[np.ndarray, np.ndarray]]:
    """Gives (n_rows, 2) marks of keys, and (n_rows,) whether each row has one; spaces around it do not count.

    Parameters
    ----------
    secret : of 32 bytes, where the marks of several readers are compared; a new one otherwise.
    """
    secret = secret or secret_bytes(32)

    def marks(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        made, has = bytearray(), np.zeros(len(texts.texts), dtype=bool)
        for place, text in enumerate(texts.texts):
            plain = "" if text is None else text.strip()
            has[place] = bool(plain) and plain not in missing
            made += hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=16, key=secret).digest()
        found = np.frombuffer(bytes(made), dtype=np.uint64).reshape(-1, 2)
        return found[texts.codes], has[texts.codes]

    return marks


def different(marks: np.ndarray) -> np.ndarray:
    """(n, 2) each mark once, in order."""
    return marks[EqualRows.of([*marks.T]).first]


def repeated(marks: np.ndarray) -> np.ndarray:
    """(n, 2) each mark once that occurs more than once."""
    groups = EqualRows.of([*marks.T])
    return marks[groups.first[np.diff(groups.starts, append=len(marks)) > 1]]
