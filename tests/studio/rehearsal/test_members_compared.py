"""compare with members: shuffled ones, ones that know their root alone, and how far off pairs of columns are."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from synthrelease.cli import app
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked
from synthrelease.studio.baselines.sequential import known_before, shuffled
from synthrelease.studio.rehearsal.compare import MEMBERS, ROOTS, WITHIN, linked_errors, pair_tables
from tests.helpers.households import some_households, write_households, write_tables

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


def test_shuffling_keeps_roots_and_members_and_loses_who_belongs_together() -> None:
    rows = homes(3)
    mixed = [tuple(row) for row in shuffled(table_of(rows), LINKED, np.random.default_rng(5)).expand().tolist()]
    for kept in (lambda row: [row[:2]], members_of):
        assert Counter(each for row in mixed for each in kept(row)) == Counter(each for row in rows for each in kept(row))
    assert all(row[2 + 2 * row[1] :] == (3, 2) * (3 - row[1]) for row in mixed)
    alike = [np.mean([a == b for row in each for (a, _), (b, _) in combinations(members_of(row), 2)]) for each in (rows, mixed)]
    assert alike[0] == 1
    assert abs(alike[1] - 1 / 3) < 0.08


def test_a_member_is_drawn_from_its_root_and_from_its_own_columns_alone() -> None:
    names = LAYOUT.columns
    told = {names[column]: [names[other] for other in known_before(LINKED, names, column)] for column in range(len(names))}
    assert told["n"] == ["rent"]
    assert told["a_2"] == ["rent", "n"]
    assert told["b_3"] == ["rent", "n", "a_3"]


@pytest.mark.slow
def test_compare_shows_both_and_how_far_off_they_are(tmp_path: Path) -> None:
    roots, members = write_tables(tmp_path, *some_households(600))
    asked = ["compare", str(write_households(tmp_path)), "--data", str(roots), "--members", str(members), "--copies", "2"]
    asked += ["--method", "members", "--method", "sequential", "--out", str(tmp_path / "found.json")]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert "How far off pairs of columns are" in result.output
    methods = {one["name"]: one for one in json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["methods"]}
    within = {
        name: next((each["figure"] for each in one["measures"] if each["name"] == WITHIN), math.nan)
        for name, one in methods.items()
    }
    # persons of one household resemble each other, and rent and town do not tell how
    assert within["sequential tables"] < 0.6 * within["members given their root"]
    assert within["sequential tables"] < 0.6 * within["members shuffled"]
