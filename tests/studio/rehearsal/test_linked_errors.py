"""compare with members: shuffled ones, ones that know their root alone, and how far off pairs of columns are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked
from tests.helpers.linked_errors import MEMBERS, ROOTS, WITHIN, linked_errors, pair_tables

LINKED = Linked(
    key="hh", size="n", names=("a", "b"), slots=(("a_1", "b_1"), ("a_2", "b_2"), ("a_3", "b_3")), whole=frozenset({"a", "b"})
)
LAYOUT = Layout(columns=("rent", "n", "a_1", "b_1", "a_2", "b_2", "a_3", "b_3"), sizes=(3, 4, 4, 3, 4, 3, 4, 3))


def homes(seed: int, n_rows: int = 400) -> list[tuple[int, ...]]:
    """Households whose members are alike in a, which the rent knows nothing of."""
    random, found = np.random.default_rng(seed), []
    for _ in range(n_rows):
        size, a = int(random.integers(4)), int(random.integers(3))
        members = [(a, int(random.integers(2))) for _ in range(size)] + [(3, 2)] * (3 - size)
        found.append((int(random.integers(3)), size, *(value for member in members for value in member)))
    return found


def table_of(rows: Sequence[tuple[int, ...]]) -> Counts:
    return Counts.of(LAYOUT, list(np.array(rows).T))


def members_of(row: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(row[2 + 2 * place], row[3 + 2 * place]) for place in range(row[1])]


def slowly(rows: Sequence[tuple[int, ...]]) -> dict[str, list[Counter]]:
    """The tables of pairs, one root after the other."""
    found: dict[str, list[Counter]] = {ROOTS: [], MEMBERS: [], WITHIN: []}
    found[ROOTS].append(Counter((row[0], row[1]) for row in rows))
    found[MEMBERS].append(Counter(member for row in rows for member in members_of(row)))
    for root, own in product((0, 1), (0, 1)):
        found[MEMBERS].append(Counter((row[root], member[own]) for row in rows for member in members_of(row)))
    for one, other in product((0, 1), (0, 1)):
        pairs = (pair for row in rows for pair in permutations(members_of(row), 2))
        found[WITHIN].append(Counter((first[one], second[other]) for first, second in pairs))
    return found


def test_errors_are_those_that_are_counted_one_root_after_the_other() -> None:
    one, other = homes(1), homes(2, 150)
    expected = {}
    for kind, tables in slowly(one).items():
        found = []
        for left, right in zip(tables, slowly(other)[kind], strict=True):
            cells = {*left, *right}
            found.append(sum(abs(left[cell] / left.total() - right[cell] / right.total()) for cell in cells) / 2)
        expected[kind] = sum(found) / len(found)
    assert linked_errors(LINKED, table_of(one), table_of(other)) == pytest.approx(expected)
    assert set(linked_errors(LINKED, table_of(one), table_of(one)).values()) == {0.0}


def test_a_kind_without_pairs_has_no_error() -> None:
    alone = [(row[0], 0, 3, 2, 3, 2, 3, 2) for row in homes(1)]
    assert list(linked_errors(LINKED, table_of(alone), table_of(alone))) == [ROOTS]
    single = Linked(key="hh", size="n", names=("a", "b"), slots=(("a_1", "b_1"),), whole=frozenset())
    assert pair_tables(single, table_of(homes(1)))[WITHIN] == []
