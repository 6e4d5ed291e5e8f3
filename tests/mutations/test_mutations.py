"""The tests notice wrong lines in the code that privacy rests on: the core mutations here, all with of_theory.py."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.mutations.machinery import Mutation, copied_tree, mutated, run_tests, try_mutation
from tests.mutations.of_theory import MUTATIONS
from tests.mutations.places import same

CORE = [mutation for mutation in MUTATIONS if mutation.core]


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    with copied_tree() as folder:
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_mutation_still_has_its_place(mutation: Mutation) -> None:
    assert not same(ast.parse(mutated(mutation)), ast.parse(mutation.file().read_text(encoding="utf-8")))


@pytest.mark.slow
def test_no_mutation_names_what_is_not_there(tmp_path: Path) -> None:
    """A mistake that ends in a NameError is caught by any test, and shows nothing of those that it is for."""
    for number, mutation in enumerate(MUTATIONS):
        (tmp_path / f"{number}.py").write_text(mutated(mutation), encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "--output-format", "concise", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout


def test_names_of_mutations_differ() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.slow
def test_without_a_mutation_the_same_tests_pass(copy: Path) -> None:
    outcome = run_tests(copy, sorted({test for mutation in CORE for test in mutation.tests}))
    assert outcome.verdict == "survived", outcome.output


@pytest.mark.slow
@pytest.mark.parametrize("mutation", CORE, ids=lambda mutation: mutation.name)
def test_a_wrong_line_is_caught(copy: Path, mutation: Mutation) -> None:
    outcome = try_mutation(copy, mutation)
    assert outcome.verdict == "caught", outcome.output
    assert mutation.file(copy).read_bytes() == mutation.file().read_bytes()  # the copy is whole again for the next one


def test_the_table_in_the_documents_is_of_these_mutations_and_all_are_caught() -> None:
    text = (ROOT / "docs" / "mutations.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and not line.startswith("| mistake")]
    assert [row[0].removeprefix("| ") for row in rows] == [mutation.name for mutation in MUTATIONS]
    assert all(" :: test_" in row[3] for row in rows)
    assert f"**{len(MUTATIONS)} of {len(MUTATIONS)} are caught.**" in text
    assert len(MUTATIONS) >= 70
