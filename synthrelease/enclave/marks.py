"""Marks of keys: which rows belong together, without the keys themselves.

A mark is 128 bits of a key, made with a secret that is new in every reading and forgotten with it: equal for equal keys, and of
other keys different with a probability of 1 - 2^-128 for each two. Keys are equal when their normal forms are (`key_text`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import numpy as np

from synthrelease.data.counts import EqualRows
from synthrelease.enclave.number_texts import key_text
from synthrelease.enclave.texts import Texts
from synthrelease.privacy.noise import secret_bytes
from synthrelease.settings.columns import InputTable

NO_MARKS = np.zeros((0, 2), dtype=np.uint64)


def keys_of(texts: Texts, policy: InputTable) -> Iterator[tuple[str, str] | None]:
    """Of each text the normal form of the key and the key as it is written; None for no key: a blank, a null, a missing value.

    Each follows from the text of the row alone, and from whether the file knows it as a number.
    """
    typed = np.broadcast_to(texts.typed, len(texts.texts)).tolist()
    missing = {*policy.missing_values, *(key_text(text, policy.decimal) for text in policy.missing_values)}
    for text, known in zip(texts.texts, typed, strict=True):
        written = "" if text is None else text.strip()
        key = key_text(written, policy.decimal, typed=known)
        yield None if not key or written in missing or key in missing else (key, written)


def marker(
    policy: InputTable, secret: bytes | None = None, form: Callable[[str, str], str] = lambda key, written: key
) -> Callable[[Texts], tuple[np.ndarray, np.ndarray]]:
    """Gives (n_rows, 2) marks of keys, and (n_rows,) whether each row has one; spaces around it do not count.

    Parameters
    ----------
    secret : of 32 bytes, where the marks of several readers are compared; a new one otherwise.
    form : what is marked, from the normal form of a key and the key as it is written.
    """
    secret = secret or secret_bytes(32)

    def marks(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        made, has = bytearray(), np.zeros(len(texts.texts), dtype=bool)
        for place, found in enumerate(keys_of(texts, policy)):
            has[place] = found is not None
            key = b"" if found is None else form(*found).encode("utf-8", "surrogatepass")
            made += hashlib.blake2b(key, digest_size=16, key=secret).digest()
        rows = np.frombuffer(bytes(made), dtype=np.uint64).reshape(-1, 2)
        return rows[texts.codes], has[texts.codes]

    return marks


def different(marks: np.ndarray) -> np.ndarray:
    """(n, 2) each mark once, in order; of wider rows, each row once."""
    return marks[EqualRows.of([*marks.T]).first]


def repeated(marks: np.ndarray) -> np.ndarray:
    """(n, 2) each mark once that occurs more than once."""
    groups = EqualRows.of([*marks.T])
    return marks[groups.first[np.diff(groups.starts, append=len(marks)) > 1]]
