"""A mutation finds its place by the syntax tree: layout, comments and folders do not matter, and doubt is an error."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from tests.mutations.machinery import Mutation, mutated
from tests.mutations.places import StaleMutation, changed, file_of, same

SOURCE = '''\
"""A module — with letters of two bytes."""

LIMIT = 1  # a limit


class Query:
    @property
    def share(self):
        return self.count / self.n  # of all

    def noisy(self, counts):
        figure = spend(
            counts,
            sensitivity=1 / self.n,  # replace one record
            because="é",
        )
        try:
            check(figure)
        except ValueError:
            raise
        with lock():
            write(figure)
        return figure * 2


def noisy(counts):
    return counts / n
'''


def replaced(place: str, old: str, new: str, source: str = SOURCE) -> str:
    """What was removed and what was added, with a sign before each line."""
    before, after = source.splitlines(), changed(source, place, old, new).splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return "\n".join([*(f"-{line.strip()}" for line in before), *(f"+{line.strip()}" for line in after)])


@pytest.mark.parametrize(
    ("place", "old", "new", "difference"),
    [
        ("m:noisy", "counts / n", "counts", "-return counts / n\n+return counts"),
        (
            "m:Query",
            "self.count",
            "self.count + 1",
            "-return self.count / self.n  # of all\n+return (self.count + 1) / self.n  # of all",
        ),
        (
            "m:Query.noisy",
            "sensitivity=1 / self.n",
            "sensitivity=0.5 / self.n",
            "-sensitivity=1 / self.n,  # replace one record\n+sensitivity=0.5 / self.n,  # replace one record",
        ),
        ("m", "LIMIT = 1", "LIMIT = 2", "-LIMIT = 1  # a limit\n+LIMIT = 2  # a limit"),
        ("m:Query.noisy", "check(figure)", "pass", "-check(figure)\n+pass"),
        (
            "m:Query.noisy",
            "except ValueError:",
            "except (OSError, KeyError):",
            "-except ValueError:\n+except (OSError, KeyError):",
        ),
        ("m:Query.noisy", "with lock():", "if True:", "-with lock():\n+if True:"),
        ("m:Query.share", "property", "cached", "-@property\n+@cached"),
        (
            "m:Query.noisy",
            "with lock():\n    write(figure)\nreturn figure * 2",
            "write(figure)\nreturn figure",
            "-with lock():\n-write(figure)\n-return figure * 2\n+write(figure)\n+return figure",
        ),
        ("m:Query.noisy", "check(figure)", "check(figure)\ncheck(figure)", "+check(figure)"),
    ],
)
def test_only_the_piece_that_is_named_changes(place: str, old: str, new: str, difference: str) -> None:
    assert replaced(place, old, new) == difference


def test_the_layout_of_the_code_and_of_the_piece_do_not_matter() -> None:
    old = "spend(counts, sensitivity = 1/self.n, because='é')"
    by_hand = ast.parse(SOURCE)
    for source in (SOURCE, ast.unparse(by_hand)):
        assert "spend" not in changed(source, "m:Query.noisy", old, "counts")
        assert same(
            ast.parse(changed(source, "m:Query.noisy", old, "counts")),
            ast.parse(changed(SOURCE, "m:Query.noisy", old, "counts")),
        )


def test_what_is_replaced_by_an_operator_of_lower_precedence_stays_one_operand() -> None:
    assert "6 * (2 + 1)" in changed("a = 6 * 2\n", "m", "2", "2 + 1")
    assert "f([1])" in changed("f(x for x in y)\n", "m", "(x for x in y)", "[1]")


@pytest.mark.parametrize(
    ("place", "old", "new", "message"),
    [
        ("m", "counts / n + 1", "1", "expected 'counts / n \\+ 1' once, found it 0 times"),
        ("m", "figure", "1", "once, found it [2-9] times"),
        ("m:Query.noisy", "counts / n", "counts", "found it 0 times"),
        ("m:Query.missing", "1", "2", "expected a class or function of that name, found none"),
        ("m:noisy", "return counts / n", "counts +", "invalid syntax"),
        ("m:noisy", "counts / n", "return 1", "found it 0 times"),
        ("m:noisy", "", "1", "expected an expression or statements"),
        ("m:Query.noisy", "sensitivity=1 / self.n", "0.5", "expected '0.5' to be of the kind of"),
        ("m", "LIMIT = 1", "return 1", "found that it cannot"),
    ],
)
def test_doubt_is_an_error(place: str, old: str, new: str, message: str) -> None:
    with pytest.raises((StaleMutation, SyntaxError), match=message):
        changed(SOURCE, place, old, new)


def test_a_number_is_not_another_kind_of_number() -> None:
    for old in ("1.0", "True"):
        with pytest.raises(StaleMutation, match="0 times"):
            changed("a = 1\n", "m", old, "2")


def test_a_module_is_found_by_the_end_of_its_name_when_there_is_one(tmp_path: Path) -> None:
    for name in (
        "criteria/marginals.py",
        "generators/marginals.py",
        "generators/__init__.py",
        "deep/down/ledger/account.py",
        "privacy/curves.py",
    ):
        path = tmp_path / "synthrelease" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a = 1\n")
    found = file_of("ledger.account:open", tmp_path).relative_to(tmp_path).as_posix()
    assert found == "synthrelease/deep/down/ledger/account.py"
    assert file_of("generators", tmp_path).name == "__init__.py"
    assert file_of("criteria.marginals", tmp_path).parent.name == "criteria"
    assert file_of("curves", tmp_path).parent.name == "privacy"
    for missing, found in (("marginals", 2), ("edger", 0)):
        with pytest.raises(StaleMutation, match=f"found {found}"):
            file_of(missing, tmp_path)


def test_further_pieces_are_of_the_same_file_and_all_must_be_found(tmp_path: Path) -> None:
    (tmp_path / "synthrelease").mkdir()
    for name in ("one", "two"):
        (tmp_path / "synthrelease" / f"{name}.py").write_text(textwrap.dedent("a = 1\nb = 2\n"))

    def two_pieces(place: str, old: str) -> Mutation:
        return Mutation(name="both", breaks="", place="one", old="a = 1", new="a = 3", also=((place, old, "b = 4"),), tests=())

    assert mutated(two_pieces("one", "b = 2"), tmp_path) == "a = 3\nb = 4\n"
    with pytest.raises(StaleMutation, match="'both': one: expected 'b = 5' once"):
        mutated(two_pieces("one", "b = 5"), tmp_path)
    with pytest.raises(StaleMutation, match="expected a place in one.py"):
        mutated(two_pieces("two", "b = 2"), tmp_path)
