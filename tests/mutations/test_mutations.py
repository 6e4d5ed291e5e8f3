"""The tests notice wrong lines in the code that privacy rests on: the core mutations here, all with of_theory.py."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.mutations.machinery import PAGE, copied_tree, mutated, page, read_table, run_tests, try_mutation
from tests.mutations.of_rules import CORE, EQUIVALENT, ruled
from tests.mutations.of_theory import QUOTED, mutations
from tests.mutations.places import PACKAGE, same
from tests.mutations.rules import ROOMS, RULES, room_of

FEWEST_DERIVED = 110
"""The rules made 122 mutations on 27 November 2026; a tenth of them may go with the code that they break."""


@pytest.fixture(scope="module")
def tried() -> Iterator[tuple[Path, list[str]]]:
    """A copy of the package, and the tests that caught a mistake in it: in the end, without a mistake, all of them pass."""
    with copied_tree() as copy:
        caught: list[str] = []
        yield copy, caught
        outcome = run_tests(copy, caught)
        assert outcome.verdict == "survived", outcome.output


@pytest.mark.slow
def test_every_mutation_has_its_place_and_names_nothing_that_is_not_there(tmp_path: Path) -> None:
    """A mistake that ends in a NameError is caught by any test, and shows nothing of those that it is for."""
    parsed = cache(lambda file: ast.parse(file.read_text(encoding="utf-8")))
    for number, mutation in enumerate(mutations()):
        text = mutated(mutation)
        assert not same(ast.parse(text), parsed(mutation.file(ROOT))), mutation.name
        (tmp_path / f"{number}.py").write_text(text, encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "--output-format", "concise", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout


@pytest.mark.slow
def test_names_of_mutations_differ() -> None:
    assert len({mutation.name for mutation in mutations()}) == len(mutations())


def test_the_rules_still_see_the_rooms_that_spend() -> None:
    """A folder that is moved or renamed must not leave them with nothing to break."""
    of_rooms = Counter(room_of(mutation.path) for mutation in ruled())
    assert all((ROOT / PACKAGE / room).exists() for room in ROOMS)
    assert {"criteria", "generators", "enclave/resizing.py"} <= set(of_rooms)
    assert sum(of_rooms.values()) >= FEWEST_DERIVED


def test_every_rule_finds_its_pattern_and_what_is_no_mistake_is_still_there() -> None:
    assert {mutation.rule.name for mutation in ruled()} == {rule.name for rule in RULES}
    assert {*EQUIVALENT, *CORE} <= {mutation.name for mutation in ruled()}
    assert all(mutation.tests for mutation in mutations())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CORE, *(mutation.name for mutation in QUOTED if mutation.core)])
def test_a_wrong_line_is_caught(tried: tuple[Path, list[str]], name: str) -> None:
    copy, caught = tried
    (mutation,) = [each for each in mutations() if each.name == name]
    outcome = try_mutation(copy, mutation)
    assert outcome.verdict == "caught", outcome.output
    assert mutation.file(copy).read_bytes() == mutation.file(ROOT).read_bytes()  # the copy is whole again for the next one
    caught.append(outcome.test)


def test_the_data_file_has_just_these_mutations_and_all_are_caught() -> None:
    rows = read_table()
    assert [(row["mistake"], row["place"], row["breaks"]) for row in rows] == [
        (mutation.name, mutation.place, mutation.breaks) for mutation in mutations()
    ]
    assert [row["mistake"] for row in rows if " :: test_" not in row["caught_by"]] == []


def test_the_page_is_the_one_of_the_data_file_and_its_example_is_a_row() -> None:
    rows, text = read_table(), PAGE.read_text(encoding="utf-8")
    assert text == page(row["caught_by"] for row in rows)
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE)) in rows  # the example, after the columns
    assert f"**{len(rows) - 1} of {len(rows)} mutations" in page([*(row["caught_by"] for row in rows[1:]), "survived"])
