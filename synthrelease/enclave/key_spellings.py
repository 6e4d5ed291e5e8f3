"""How many keys a file writes in more than one way, such as 12 and 12.0, for `check --data` alone.

Private in: the column of keys. Out: two exact numbers, for the steward; no release says them, and the guarantee is not about
them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from synthrelease.connections.source import Source
from synthrelease.domain.schema import Schema
from synthrelease.enclave.marks import NO_MARKS, different, marker, repeated
from synthrelease.enclave.reading import batches
from synthrelease.randomness import secret_bytes
from synthrelease.toml.columns import InputTable


def keys_in_two_ways(sources: Iterable[Source], schema: Schema, policy: InputTable, name: str) -> tuple[int, int]:
    """The number of keys that these files write in more than one way, and that of all keys."""
    secret = secret_bytes(32)
    key, spelling = marker(policy, secret), marker(policy, secret, as_written=True)
    found = np.column_stack([NO_MARKS, NO_MARKS])
    for source in sources:
        for _, columns in batches(source, schema, policy, [name], only=True):
            marks, has_key = key(columns[name])
            both = np.column_stack([marks, spelling(columns[name])[0]])[has_key]
            found = different(np.concatenate([found, different(both)]))
    keys = found[:, :2]
    return len(repeated(keys)), len(different(keys))
