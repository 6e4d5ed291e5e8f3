"""Counting the files of one table, each by itself, here or by the workers of a cluster: the counts are a sum.

A file is counted as it was when the files were listed: whoever counts it compares its state before and after, and all states
are compared once more when all files have been counted. A file that was written meanwhile is an error, because some of its rows
may have been counted and some not, and no neighbour of the table has such counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from synthrelease.connections.files import File, State, state_of
from synthrelease.domain.counts import Tally
from synthrelease.domain.schema import Schema
from synthrelease.enclave.counting import CountedRows, check_number_of_rows, count_batches
from synthrelease.enclave.reading import file_batches, which_file
from synthrelease.errors import InputError
from synthrelease.toml.columns import InputTable

Run = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterable[tuple[int, Any]]]
"""Calls an action with each of many arguments, in any order, and gives each result once, with the place of its arguments."""
CHANGED = "expected files that stay as they are while they are read, found one that was written meanwhile."
UNFORESEEN = "expected a file that can be read, found one that cannot. The cause is not shown: it may hold values."


def one_by_one(action: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """In this process, in order."""
    return ((place, action(*each)) for place, each in enumerate(arguments))


def count_files(
    listed: Callable[[], Sequence[File]], schema: Schema, policy: InputTable, run: Run | None = None
) -> CountedRows:
    """What the rows of all files add up to.

    Parameters
    ----------
    listed : the files as they are now, in order; asked before and after counting.

    Raises
    ------
    InputError : for the first file, in order, that cannot be read or was written meanwhile, whoever found it first.
    """
    files = listed()
    states = [state_of(file) for file in files]
    tasks = [(file, state, schema, policy) for file, state in zip(files, states, strict=True)]
    cells, n_rows, problems, unread = Tally(schema.layout), 0, set[tuple[int, int]](), set[int]()
    for found in each_once(count_file, tasks, run):
        cells.add(found.cells)
        n_rows += found.n_rows
        check_number_of_rows(n_rows)
        problems |= found.problems
        unread |= found.unread
    if list(listed()) != list(files) or [state_of(file) for file in files] != states:
        raise InputError(CHANGED)
    return CountedRows(cells=cells.total(), n_rows=n_rows, problems=frozenset(problems), unread=frozenset(unread))


def each_once(action: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], run: Run | None = None) -> Iterator[Any]:
    """The result of each task, once; a task has a file, and a result that is a text is what is wrong with it.

    Raises
    ------
    InputError : for the first file, in order, with something wrong, whoever found it first; for a task without a result.
    """
    left, unreadable = set(range(len(tasks))), dict[int, str]()
    for place, found in (run or one_by_one)(action, tasks):
        if place not in left:
            raise InputError("expected each file to be counted once, found one that was counted twice.")
        left.remove(place)
        if not isinstance(found, str):
            yield found
            continue
        unreadable[place] = found
        if run is None:
            break
    if unreadable:
        first = min(unreadable)
        raise InputError(f"{unreadable[first]} {which_file(first + 1, len(tasks))}")
    if left:
        raise InputError("expected all files to be counted, found some that were not.")


def count_file(file: File, state: State, schema: Schema, policy: InputTable) -> CountedRows | str:
    """What the rows of one file add up to, or what is wrong with it: a text without values, so that no error holds any."""
    try:
        if state_of(file) != state:
            return CHANGED
        found = count_batches(file_batches(file, schema, policy), schema, policy)
        return found if state_of(file) == state else CHANGED
    except InputError as error:
        return str(error)
    except Exception:
        return UNFORESEEN
