"""Bounds of shares and means over all members against every table of roots that the limits allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from synthrelease.answers.bounds import Range, bound, over_members
from synthrelease.answers.stated import verdict
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.settings.questions import QuestionTable
from tests.helpers.published import HOMES, category_column, integer_column, published, score

AGE, WORK = integer_column("age", [0, 1, 2]), category_column("work", {"yes": ["yes"]})
COLUMNS = (
    integer_column("persons", [0, 1, 2, 3]),
    *(
        replace(each, name=f"{each.name}_{place}", labels=(*each.labels, "-"), numbers=(*each.numbers, None), missing=missing)
        for place in (1, 2)
        for each, missing in ((AGE, 2), (WORK, 1))
    ),
)
Member = tuple[int, int]
"""Age; 0 who works, 1 of whom it is not known."""
MEMBERS = [(0, 0), (0, 1), (1, 0)]
ROOTS: list[tuple[Member, ...]] = [found for number in range(3) for found in product(MEMBERS, repeat=number)]
RELEASED = [(), ((1, 0),), ((0, 1),), ((0, 0), (1, 0)), ((1, 0), (1, 0)), ((0, 0), (0, 0))]


def wide(root: Sequence[Member]) -> tuple[int, ...]:
    """Its row: the number of members, and their columns."""
    return (len(root), *(value for place in range(2) for value in (root[place] if place < len(root) else (2, 1))))


def release(rows: int) -> PublishedRelease:
    """In which no cell of a table of two columns is off by more than so many rows."""
    table = np.array([wide(root) for root in RELEASED])
    figure = score("absolute", "absolute_marginal_error", rows / len(RELEASED), threshold=900)
    return replace(published(COLUMNS, table, [(figure, {"largest": 2})]), linked=HOMES)


@cache
def allowed(rows: int) -> list[list[tuple[Member, ...]]]:
    """Every table of as many roots within this limit: the slow reference."""
    pairs = [(one, other) for one in range(5) for other in range(one + 1)]  # of a column with itself: the column alone
    cells = np.zeros((len(ROOTS), 5, 5, 3, 3), dtype=int)
    for number, root in enumerate(ROOTS):
        for one, other in pairs:
            cells[number, one, other, wide(root)[one], wide(root)[other]] = 1
    ours = sum(cells[ROOTS.index(root)] for root in RELEASED)
    found = []
    for table in combinations_with_replacement(range(len(ROOTS)), len(RELEASED)):
        if np.abs(cells[list(table)].sum(axis=0) - ours).max() <= rows:
            found.append([ROOTS[number] for number in table])
    return found


def share(rows: Sequence[tuple[Member, int]], meets: Callable[[Member, int], bool]) -> float | None:
    return sum(meets(member, size) for member, size in rows) / len(rows) if rows else None


def members(table: Sequence[Sequence[Member]], meets: Callable[[Member, int], bool] = lambda member, size: True) -> list:
    return [(member, len(root)) for root in table for member in root if meets(member, len(root))]


Truth = Callable[[Sequence[Sequence[Member]]], float | None]
ASKED: dict[str, Truth] = {
    "share age == 1": lambda t: share(members(t), lambda member, size: member[0] == 1),
    "share work is missing": lambda t: share(members(t), lambda member, size: member[1] == 1),
    "share age == 0 where persons >= 2": lambda t: share(members(t, lambda m, n: n == 2), lambda member, size: member[0] == 0),
    "share age == 1 where work == 'yes'": lambda t: share(members(t, lambda m, n: m[1] == 0), lambda m, n: m[0] == 1),
    "mean age": lambda t: share(members(t), lambda member, size: bool(member[0])),
}


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED)
def test_no_table_of_roots_that_the_limits_allow_is_outside(asked: str) -> None:
    """With one row off, and with none: then it is the released number, as far as two columns tell it."""
    truth = ASKED[asked]
    for rows in (0, 1):
        found = bound(release(rows), asked)
        true = [number for table in allowed(rows) if (number := truth(table)) is not None]
        assert found.answer == pytest.approx(truth(RELEASED))
        assert found.low <= min(true) + 1e-9
        assert found.high >= max(true) - 1e-9
        assert len(true) > 1 or not rows
        assert found.high - found.low < 0.9
        assert rows or asked.endswith("'yes'") or found.high - found.low == pytest.approx(0, abs=1e-6)


def test_two_groups_of_members_have_errors_that_add_up() -> None:
    contrast = "share age == 1: persons >= 2 against < 2"
    found = bound(release(0), contrast)
    assert found.answer == pytest.approx(0.5 - 0.5)
    assert found.question.startswith("share of members with age == 1 among members with persons >= 2, minus")
    assert "the members (the first 2 of each root) of" in found.about


def test_the_farthest_mean_takes_weights_at_their_ends() -> None:
    """Against many weights within their ranges."""
    random = np.random.default_rng(1)

    def made(answer: float, low: float, high: float) -> Range:
        return Range(answer=answer, low=low, high=high)

    for _ in range(50):
        middles, spread = random.random(3), random.random(3) / 5
        least = random.integers(0, 4, 3)
        most = least + random.integers(1, 6, 3)
        found = over_members(
            [made(middle, middle - own, middle + own) for middle, own in zip(middles, spread, strict=True)],
            [made(low + 1, low, high) for low, high in zip(least, most, strict=True)],
        )
        corners = np.array([each for each in product(*zip(least, most, strict=True)) if sum(each)])
        means = [(corners @ (middles + sign * spread)) / corners.sum(axis=1) for sign in (-1, 1)]
        assert found.low == pytest.approx(means[0].min())
        assert found.high == pytest.approx(means[1].max())
        assert found.low <= found.answer <= found.high


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("median age", "only `synthrelease estimate` answers"),
        ("share age == 1 where persons < 1", "no member in the release meets this condition"),
    ],
)
def test_what_is_not_bounded_is_said(asked: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bound(release(0), asked)


def test_what_is_said_of_members_is_what_bound_answers() -> None:
    """The card's word for a question about all members; for what `estimate` alone answers it says that nothing is stated."""
    for asked in ASKED:
        assert verdict(release(1), QuestionTable(query=asked)).word == "bounded"
    without = replace(release(1), criteria=())
    assert verdict(without, QuestionTable(query="share age == 1")).word == "no statement"
    said = verdict(release(1), QuestionTable(query="median age"))
    assert (said.word, said.because) == ("no statement", "only shares and means of roots and of members have bounds")
