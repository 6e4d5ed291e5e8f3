"""Roots with their members in many files, each read by itself, here or by the workers of a cluster: the counts are a sum.

A piece is a file of roots with the file of members of the same name, or one file that has both. Where a key is in several
pieces, it is left out whole, and counted once. Which piece a row is in belongs to the row, so what becomes of a key is a
function of its rows alone (theory 1.10, roots with their members). Every file is read twice, whatever is in it: for its keys,
and then to be counted.

Privacy
-------
Beside counts, marks of keys come back from the workers, made with a secret of this reading, which makes marks and nothing else.
Scheduler and workers get it, who could tell by it whether a key that they guess is in a file that they read anyway. Secret and
marks stay in the processes of the cluster, which is in the enclave: neither is in counts, errors or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synthrelease.data.schema import Schema
from synthrelease.enclave.counting import CountedRows, added_up, check_number_of_rows
from synthrelease.enclave.linked_rows import Piece, count_linked_rows, marks_of_keys
from synthrelease.enclave.many_files import Run, each_once
from synthrelease.enclave.marks import different, repeated
from synthrelease.errors import InputError
from synthrelease.privacy.noise import secret_bytes
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import File, Source, StoredFile, check_pieces, unwritten


def count_linked_pieces(source: Source, schema: Schema, policy: InputTable, run: Run) -> CountedRows:
    """What the roots of all pieces add up to; `n_rows` is the number of different keys.

    Raises
    ------
    InputError : as `check_pieces`; for the first piece, in order, with a file that cannot be read or was written meanwhile;
        when no row has a key.
    """
    secret = secret_bytes(32)
    with unwritten(lambda: check_pieces(source)) as pairs:
        tasks = [(pair, states, schema, policy, secret) for pair, states in pairs]
        marks = np.concatenate(list(each_once(_keys_of_pair, tasks, run)))
        keys = different(marks)
        check_number_of_rows(len(keys))
        if not len(keys):
            raise InputError("expected keys, as [members] says, found no row that has one.")
        piece = Piece(secret=secret, left_out=repeated(marks))
        found = added_up(schema.layout, each_once(_count_pair, [(*each[:4], piece) for each in tasks], run))
    return replace(found, n_rows=len(keys), divided=bool(len(piece.left_out)))


def _keys_of_pair(pair: Sequence[File], schema: Schema, policy: InputTable, secret: bytes) -> np.ndarray:
    return marks_of_keys(_source(pair), schema, policy, secret)


def _count_pair(pair: Sequence[File], schema: Schema, policy: InputTable, piece: Piece) -> CountedRows:
    return count_linked_rows(_source(pair), schema, policy, piece)


def _source(pair: Sequence[File]) -> Source:
    roots, *members = (Source(uri=each.uri) if isinstance(each, StoredFile) else Source(path=each) for each in pair)
    return replace(roots, members=members[0]) if members else roots
