"""Roots with their members in many files, each read by itself, here or by the workers of a cluster: the counts are a sum.

A piece is a file of roots with the file of members of the same name, or one file that has both. Roots lie whole in a piece if
whoever wrote the files divided both by the key. That cannot be seen without reading, so there is an answer where it is not so:
a key in several pieces is left out whole, and counted once. Which piece a row is in belongs to the row, so what becomes of a
key is a function of its rows alone (theory 1.10, roots with their members). Every file is read twice, whatever is in it: for
its keys, and then to be counted.

Privacy
-------
Beside counts, marks of keys come back from the workers, made with a secret of this reading. It makes marks and nothing else, no
noise; scheduler and workers get it, who could tell by it whether a key that they guess is in a file that they read anyway. Who
has marks alone learns how many keys a file has. Secret and marks stay in the processes of the cluster, which is in the enclave:
neither is in counts, errors or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synthrelease.connections.files import File, State, StoredFile, state_of
from synthrelease.connections.pairs import check_pieces
from synthrelease.connections.source import Source
from synthrelease.domain.counts import Tally
from synthrelease.domain.schema import Schema
from synthrelease.enclave.counting import CountedRows, check_number_of_rows
from synthrelease.enclave.first_rows import different
from synthrelease.enclave.linked_rows import Piece, count_linked_rows, marks_of_keys
from synthrelease.enclave.many_files import CHANGED, UNFORESEEN, Run, each_once
from synthrelease.errors import InputError
from synthrelease.randomness import secret_bytes
from synthrelease.toml.columns import InputTable

Pair = tuple[File, ...]
"""A file of roots and one of members, or one with both."""


def count_linked_pieces(source: Source, schema: Schema, policy: InputTable, run: Run) -> CountedRows:
    """What the roots of all pieces add up to; `n_rows` is the number of different keys.

    Raises
    ------
    InputError : as `check_pieces`; for the first piece, in order, with a file that cannot be read or was written meanwhile;
        when no row has a key.
    """
    pairs, secret = check_pieces(source), secret_bytes(32)
    states = [tuple(map(state_of, pair)) for pair in pairs]
    tasks = [(pair, state, schema, policy, secret) for pair, state in zip(pairs, states, strict=True)]
    marks = np.concatenate(list(each_once(keys_of_piece, tasks, run)))
    keys = different(marks)
    check_number_of_rows(len(keys))
    if not len(keys):
        raise InputError("expected keys, as [members] says, found rows without one alone.")
    piece = Piece(secret=secret, left_out=_twice(marks))
    cells, problems, unread, unmatched = Tally(schema.layout), set[tuple[int, int]](), set[int](), True
    for found in each_once(count_piece_of_roots, [(*each[:4], piece) for each in tasks], run):
        cells.add(found.cells)
        problems |= found.problems
        unread |= found.unread
        unmatched &= found.unmatched
    if check_pieces(source) != pairs or [tuple(map(state_of, pair)) for pair in pairs] != states:
        raise InputError(CHANGED)
    return CountedRows(
        cells=cells.total(),
        n_rows=len(keys),
        problems=frozenset(problems),
        unread=frozenset(unread),
        unmatched=unmatched,
        divided=bool(len(piece.left_out)),
    )


def keys_of_piece(pair: Pair, states: Sequence[State], schema: Schema, policy: InputTable, secret: bytes) -> np.ndarray | str:
    """The marks of the keys of one piece, each once, or what is wrong with its files: a text without values."""
    try:
        if [*map(state_of, pair)] != [*states]:
            return CHANGED
        return marks_of_keys(_source(pair), schema, policy, secret)
    except InputError as error:
        return str(error)
    except Exception:
        return UNFORESEEN


def count_piece_of_roots(
    pair: Pair, states: Sequence[State], schema: Schema, policy: InputTable, piece: Piece
) -> CountedRows | str:
    """What the roots of one piece add up to, or what is wrong with its files: a text without values."""
    try:
        found = count_linked_rows(_source(pair), schema, policy, piece)
        return found if [*map(state_of, pair)] == [*states] else CHANGED
    except InputError as error:
        return str(error)
    except Exception:
        return UNFORESEEN


def _source(pair: Pair) -> Source:
    roots, *members = (Source(uri=each.uri) if isinstance(each, StoredFile) else Source(path=each) for each in pair)
    return replace(roots, members=members[0]) if members else roots


def _twice(marks: np.ndarray) -> np.ndarray:
    """(n, 2) the marks that several pieces have."""
    ordered = marks[np.lexsort((marks[:, 1], marks[:, 0]))]
    again = np.all(ordered[1:] == ordered[:-1], axis=1)
    return different(ordered[1:][again])
