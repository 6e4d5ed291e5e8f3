"""Columns that say the same as another one, told from the rows by listing which values go together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.studio.drafting import column_draft
from synthrelease.studio.drafting.column_draft import LEAST, ColumnDraft, said_twice


def drafted(name: str, characters: int | None = None) -> ColumnDraft:
    return ColumnDraft(name=name, source=name, kind="code", remark="", characters=characters)


def rows(*columns: list[int]) -> Counts:
    digits = [np.repeat(column, LEAST) for column in columns]
    return Counts.of(Layout(columns=tuple("abc"[: len(columns)]), sizes=(3,) * len(columns)), digits)


@pytest.mark.parametrize("other", list(product(range(3), repeat=3)))
def test_a_column_goes_where_each_of_the_two_tells_the_other(other: tuple[int, ...]) -> None:
    """Against the definition: the pairs of values are a one-to-one relation."""
    one = [0, 1, 2]
    pairs = set(zip(one, other, strict=True))
    one_to_one = len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    found = said_twice([drafted("a"), drafted("b")], rows(one, list(other)))
    assert set(found) == ({"b"} if one_to_one else set())


def test_of_three_that_say_the_same_one_stays_and_what_is_made_of_a_code_goes_first() -> None:
    same = rows([0, 1, 2], [1, 2, 0], [2, 0, 1])
    assert set(said_twice([drafted("a"), drafted("b"), drafted("c")], same)) == {"b", "c"}
    found = said_twice([drafted("a", 2), drafted("b"), drafted("c")], same)
    assert set(found) == {"a", "c"}
    assert found["a"].because.startswith("in the drafted bins, it has the same information as 'b'")


@pytest.mark.parametrize("place", range(6))
def test_one_row_of_another_kind_is_enough_wherever_it_stands(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some rows are compared before all rows."""
    monkeypatch.setattr(column_draft, "SOME", 2)
    one, other = [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2]
    assert set(said_twice([drafted("a"), drafted("b"), drafted("c")], rows(one, other, [*range(3), *range(3)]))) == {"b"}
    other[place] = (other[place] + 1) % 3
    assert not said_twice([drafted("a"), drafted("b"), drafted("c")], rows(one, other, [*range(3), *range(3)]))


def test_agreement_in_a_few_rows_is_none() -> None:
    few = Counts.of(Layout(columns=("a", "b"), sizes=(2, 2)), [np.repeat([0, 1], [100, LEAST - 1])] * 2)
    assert not said_twice([drafted("a"), drafted("b")], few)


@pytest.mark.parametrize("two", list(product(product(range(2), repeat=4), repeat=2)))
def test_dummies_go_if_they_state_all_values_of_a_column_but_one(two: tuple[tuple[int, ...], ...]) -> None:
    """Against the definition: one side of a dummy has the rows of one value, and no others. Of three values, two are enough."""
    of = [0, 1, 2, 2]
    rows_of = [{row for row in range(4) if of[row] == value} for value in range(3)]
    sides = [[{row for row in range(4) if one[row] == side} for side in range(2)] for one in two]
    stated = [[value for value in range(3) if rows_of[value] in both] for both in sides]
    found = said_twice([drafted("a"), drafted("b"), drafted("c")], rows(of, *map(list, two)))
    assert ({"b", "c"} <= set(found)) == (all(stated) and stated[0] != stated[1])
    assert "a" not in found
