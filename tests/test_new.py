"""`make new` writes kinds that pass their checks as they stand, and each `make criterion` says what failed and what is left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.kind import left_to_do, main, runs
from tests.new import KINDS, Misplaced, parts, put, write
from tests.new import main as new

NAME = "for_this_test"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree with a new kind of each sort, as `make new` leaves it."""
    to = tmp_path_factory.mktemp("copy") / "tree"
    folders = ("synthrelease", "tests", "docs", "configs", "acceptance", "public_data", "requirements")
    for folder in folders:
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__", "*.webp", "kept"))
    for file in (*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / "mkdocs.yml"):
        shutil.copy(file, to)
    for kind in KINDS:
        write(kind, f"{kind[0]}_{NAME}", to)
    run(to, "-m", "tests.reference")
    return to


def run(tree: Path, *command: str) -> str:
    """What Python prints with the package and the tests of a tree."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_what_is_written_is_formatted_and_typed_as_the_rest(copy: Path) -> None:
    run(copy, "-m", "ruff", "check", ".")
    run(copy, "-m", "ruff", "format", "--check", ".")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_passes_its_own_checks(kind: str, copy: Path) -> None:
    """Those by its name, and the files that mirror its own; what it may break elsewhere is tried once, of all three."""
    name = f"{kind[0]}_{NAME}"
    code = f"from tests.kind import runs; print(*map(repr, runs({kind!r}, {name!r})[:-1]), sep='\\n')"
    for arguments in run(copy, "-c", code).splitlines():
        assert " passed" in run(copy, "-m", "pytest", "-p", "no:cacheprovider", *eval(arguments))  # noqa: S307


@pytest.mark.slow
def test_what_is_written_breaks_nothing_elsewhere(copy: Path) -> None:
    files = ("spec/test_settings.py", "test_private_lines.py", "test_claims.py", "mutations/test_places.py")
    assert " passed" in run(copy, "-m", "pytest", "-p", "no:cacheprovider", *(f"tests/{file}" for file in files))


@pytest.mark.parametrize("kind", KINDS)
def test_each_part_of_a_template_has_its_place_in_the_files_of_today(kind: str) -> None:
    for file, place, body in parts(kind, "some_name"):
        if place:
            assert body.strip() in put((ROOT / file).read_text(encoding="utf-8"), place, body)
        else:
            assert not (ROOT / file).exists()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("end of TABLE", "TABLE = {\n    1: 2,\nNEW}\n"),
        ("end of KINDS", "KINDS = Kinds(\n    __name__,\n    {\n        1: 2,\nNEW    },\n)\n"),
        ("end of f", "def f(x):\n    g(x)\nNEW\n\nz = 1\n"),
        ("fields of A", "class A:\n    a: int = 1\nNEW\n    def b(self):\n        pass\n"),
        ("before return of f", "def f(x):\n    if x:\n        return 1\nNEW    return 2\n"),
        ("after a", "a = 1\na = 2\nNEWb = 3\n"),
        ("before b", "a = 1\nNEWb = 3\n"),
        ("imports", "import re\n\nNEWfrom x import y\n"),
    ],
)
def test_a_part_is_put_in_its_place(place: str, text: str) -> None:
    assert put(text.replace("NEW", ""), place, "NEW") == text


@pytest.mark.parametrize("place", ["end of NOTHING", "fields of Nothing", "before return of nothing", "after x", "replace x"])
def test_a_place_that_is_not_there_is_an_error(place: str) -> None:
    with pytest.raises(Misplaced, match=place):
        put("a = 1\n", place, "NEW")


@pytest.mark.parametrize(("kind", "name"), [("criteria", "new"), ("criterion", "New"), ("option", "a-b"), ("option", 30 * "a")])
def test_other_kinds_and_names_are_refused(kind: str, name: str) -> None:
    with pytest.raises(SystemExit, match="usage: make new KIND=criterion"):
        new(kind, name)


def test_a_kind_that_is_there_is_not_written_over() -> None:
    with pytest.raises(SystemExit, match="faithfulness.py exists"):
        write("criterion", "faithfulness")


def test_the_tests_of_a_kind_have_its_files_and_its_module_among_them() -> None:
    own, mirrored, _ = runs("criterion", "kolmogorov_distance")
    assert own[:2] == ["-k", "kolmogorov_distance or test_the_examples_give_what_they_say and synthrelease.criteria.shares"]
    assert mirrored == ["tests/criteria/test_kolmogorov_distance.py"]
    assert {file for arguments in (own[2:], mirrored) for file in arguments if not (ROOT / file).is_file()} == set()


def test_a_kind_that_is_not_there_is_told_how_to_make_it() -> None:
    with pytest.raises(SystemExit, match="make new KIND=generator NAME=nothing"):
        main("generator", "nothing")


def test_the_files_of_a_kind_are_listed_with_the_commands_that_are_left() -> None:
    said = left_to_do("criterion", "faithfulness")
    for file in ("criteria/faithfulness.py", "criteria/faithfulness_mechanism.py", "audit/exact.py", "audit/worlds.toml"):
        assert file in said
    assert "make quick" in said
