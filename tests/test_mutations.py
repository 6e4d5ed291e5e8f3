"""The tests notice wrong lines in the code that privacy rests on: the core mutations here, all with tests/mutations.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutations import MUTATIONS, Mutation, StaleMutation, copied_tree, mutated, run_tests, try_mutation

CORE = [mutation for mutation in MUTATIONS if mutation.core]


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    with copied_tree() as folder:
        yield folder


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_mutation_still_has_its_place(mutation: Mutation) -> None:
    assert mutated(mutation) != (Path(__file__).parents[1] / mutation.file).read_text()


def test_names_of_mutations_differ() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize("text", ["no such text anywhere", "import"])
def test_a_mutation_without_a_single_place_is_stale(text: str) -> None:
    stale = Mutation(name="stale", file="synthrelease/private.py", old=text, new="", tests=())
    with pytest.raises(StaleMutation, match="should occur once"):
        mutated(stale)


def test_without_a_mutation_the_same_tests_pass(copy: Path) -> None:
    outcome = run_tests(copy, sorted({test for mutation in CORE for test in mutation.tests}))
    assert outcome.verdict == "survived", outcome.output


@pytest.mark.parametrize("mutation", CORE, ids=lambda mutation: mutation.name)
def test_a_wrong_line_is_caught(copy: Path, mutation: Mutation) -> None:
    outcome = try_mutation(copy, mutation)
    assert outcome.verdict == "caught", outcome.output
    assert (copy / mutation.file).read_text().count(mutation.old) == 1  # the copy is whole again for the next one
