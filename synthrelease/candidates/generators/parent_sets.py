"""Which sets of columns may be the parents of a column in a Bayesian network: the maximal ones, or a public choice of them.

PrivBayes, Algorithms 5 and 6 (Zhang, Cormode, Procopiuc, Srivastava & Xiao, TODS 2017), one column at a time. Nothing here sees
data: all of it is a function of the sizes of the columns, of which are already placed, and of two bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice

_ORDERS_PER_SET = 4
"""How many orders are tried for each set that is wanted: different orders may lead to the same set."""


def competing_sets(sizes: Sequence[int], placed: Sequence[int], bound: float, most: int, limit: int) -> list[tuple[int, ...]]:
    """All maximal parent sets when there are at most `limit` of them, otherwise at most `limit` of them by a public rule.

    The rule: for each of a fixed sequence of orders of all columns, the set that is filled with the placed columns in that
    order, each taken when it still fits. Such a set cannot be extended, so it is a maximal one, and every maximal set is that
    of some order. The orders are the same for all columns and all choices, so that most sets stay the same when one more
    column is placed, and are not scored again.

    Parameters
    ----------
    sizes : number of bins of every column.
    placed : the columns that may be parents.
    bound : most joint cells of a set.
    most : most columns of a set.
    limit : most sets, at least 1.

    Privacy
    -------
    No private data: the result depends on the arguments alone. A private choice among these sets is as private as one among
    all sets as long as the arguments are public or outputs of earlier, paid choices: neighbours then choose among the same.
    """
    found = list(islice(maximal_sets(sizes, placed, bound, most), limit + 1))
    if len(found) <= limit:
        return found
    room, there = max(math.floor(bound), 0), set(placed)
    chosen: dict[tuple[int, ...], None] = {}
    for number in range(_ORDERS_PER_SET * limit):
        order = [column for column in _order(number, len(sizes)) if column in there]
        chosen[_filled(sizes, order, room, most)] = None
        if len(chosen) == limit:
            break
    return list(chosen)


def maximal_sets(sizes: Sequence[int], placed: Sequence[int], bound: float, most: int) -> Iterator[tuple[int, ...]]:
    """The sets of at most `most` placed columns with at most `bound` joint cells that cannot be extended, each once, without
    looking at the others. The empty set is always allowed, so that every column has a choice.

    Columns are taken or left out from small to large. The first one left out is the smallest outside the set: the set is
    maximal just when that one no longer fits, which is known as soon as it happens. A branch is not entered when that one would
    fit even beside all that follow. The product of sizes is compared as an integer with the bound rounded down.
    """
    columns = sorted(placed, key=lambda column: (sizes[column], column))
    spans = [sizes[column] for column in columns]
    rest = [math.prod(spans[i:]) for i in range(len(spans) + 1)]
    n, most = len(columns), max(most, 0)

    def extended(taken: tuple[int, ...], start: int, room: int, left_out: float) -> Iterator[tuple[int, ...]]:
        """Maximal sets that begin with `taken`; `room` more cells fit, `left_out` is the size of the smallest outside."""
        if len(taken) == most or room < min(left_out, spans[start] if start < n else math.inf):
            yield tuple(sorted(taken))
            return
        for i in range(start, n):
            hopeless = len(taken) + n - i < most and room // rest[i] >= left_out  # it fits even beside all that follow
            if spans[i] > room or hopeless:
                return
            yield from extended((*taken, columns[i]), i + 1, room // spans[i], left_out)
            left_out = min(left_out, spans[i])

    yield from extended((), 0, max(math.floor(bound), 0), math.inf)


def _filled(sizes: Sequence[int], order: Sequence[int], room: int, most: int) -> tuple[int, ...]:
    """The columns in this order, each taken when it still fits."""
    taken: list[int] = []
    for column in order:
        if len(taken) == most:
            break
        if sizes[column] <= room:
            taken.append(column)
            room //= sizes[column]
    return tuple(sorted(taken))


@lru_cache(maxsize=4096)
def _order(number: int, n_columns: int) -> tuple[int, ...]:
    """A fixed order of the columns that looks random: by the digest of the two numbers, the same on every machine."""
    return tuple(sorted(range(n_columns), key=lambda column: blake2b(f"{number}:{column}".encode(), digest_size=8).digest()))
