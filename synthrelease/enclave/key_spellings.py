"""How many keys a file writes in more than one way, such as 12 and 12.0, or may do so, such as 007 and 7, for `check --data`.

Private in: the column of keys. Out: three exact numbers, for the steward; no release says them, and the guarantee is not about
them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from synthrelease.data.schema import Schema
from synthrelease.enclave.marks import NO_MARKS, different, marker, repeated
from synthrelease.enclave.number_texts import key_number
from synthrelease.enclave.reading import batches
from synthrelease.privacy.noise import secret_bytes
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source


def keys_in_two_ways(sources: Iterable[Source], schema: Schema, policy: InputTable, name: str) -> tuple[int, int, int]:
    """The numbers of keys that these files write in more than one way, of keys that are one number with others, and of all."""
    secret = secret_bytes(32)
    key, spelling = marker(policy, secret), marker(policy, secret, lambda key, written: written)
    number = marker(policy, secret, lambda key, written: key_number(key, policy.decimal))
    found = np.column_stack([NO_MARKS] * 3)
    for source in sources:
        for _, columns in batches(source, schema, policy, [name], only=True):
            marks, has_key = key(columns[name])
            rows = np.column_stack([marks, number(columns[name])[0], spelling(columns[name])[0]])[has_key]
            found = different(np.concatenate([found, different(rows)]))
    keys = different(found[:, :4])
    alike = len(keys) - len(different(keys[:, 2:])) + len(repeated(keys[:, 2:]))
    return len(repeated(found[:, :2])), alike, len(keys)
