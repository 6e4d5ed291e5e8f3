"""Counting the files of one table, each by itself, here or by the workers of a cluster: the counts are a sum.

A file that was written meanwhile is an error: some of its rows may have been counted and some not, and no neighbour of the
table has such counts. Whoever counts it compares its state before and after, and all states are compared once more in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from synthrelease.data.misfits import needed_columns
from synthrelease.data.schema import Schema
from synthrelease.enclave.counting import CountedRows, added_up, count_batches
from synthrelease.enclave.reading import file_batches
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import CHANGED, File, State, state_of, unwritten, which_file

Run = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterable[tuple[int, Any]]]
"""Calls an action with each of many arguments, in any order, and gives each result once, with the place of its arguments."""
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
    with unwritten(lambda: [[file] for file in listed()]) as files:
        return added_up(schema.layout, each_once(_count_file, [(*each, schema, policy) for each in files], run))


def _count_file(files: Sequence[File], schema: Schema, policy: InputTable) -> CountedRows:
    return count_batches(file_batches(files[0], needed_columns(schema), policy), schema, policy)


def each_once(action: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], run: Run | None = None) -> Iterator[Any]:
    """What `as_they_were` makes of each task, once: files, their states, and what else the action is called with.

    Raises
    ------
    InputError : for the first file, in order, with something wrong, whoever found it first; for a task without a result.
    """
    left, unreadable = set(range(len(tasks))), dict[int, str]()
    for place, found in (run or one_by_one)(as_they_were, [(action, *task) for task in tasks]):
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


def as_they_were(action: Callable[..., Any], files: Sequence[File], states: Sequence[State], *more: Any) -> Any:
    """What an action makes of files, or what is wrong with them: a text without values, so that no error holds any."""
    try:
        if [*map(state_of, files)] != states:
            return CHANGED
        found = action(files, *more)
        return found if [*map(state_of, files)] == states else CHANGED
    except InputError as error:
        return str(error)
    except Exception:
        return UNFORESEEN
