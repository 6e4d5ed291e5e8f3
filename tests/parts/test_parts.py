"""An option is a folder: nothing else knows it, and without it everything else works."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterable
from functools import cache
from itertools import combinations, permutations
from pathlib import Path

import pytest

from synthrelease.parts import PARTS, choices, each
from synthrelease.published.document import ReleaseDocument
from tests.conftest import ROOT
from tests.helpers.forked import run_apart
from tests.helpers.late import tree_of
from tests.helpers.tiny import write_config, write_data

PACKAGE = ROOT / "synthrelease"
FLOORS = ("table", "listed", "published", "building", "checking", "naming", "files", "writing", "rehearsing", "verifying")


text_of = cache(Path.read_text)


@cache
def imports_of(path: Path) -> set[str]:
    tree = tree_of(path)
    found = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return found | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


def importing(name: str) -> set[Path]:
    """The files of the package that import from the folder of an option."""
    own = f"synthrelease.parts.{name}"
    naming = [path for path in PACKAGE.rglob("*.py") if own in text_of(path, encoding="utf-8")]
    return {path for path in naming if any(f"{found}.".startswith(f"{own}.") for found in imports_of(path))}


@pytest.mark.parametrize("name", PARTS)
def test_nothing_outside_the_folder_of_an_option_imports_it(name: str) -> None:
    assert {path for path in importing(name) if PACKAGE / "parts" / name not in path.parents} == set()


def test_what_the_files_of_a_folder_import_of_each_other_is_seen() -> None:
    assert len(set[Path]().union(*map(importing, PARTS))) > len(PARTS)


def test_each_floor_of_an_option_holds_what_the_floor_asks_for() -> None:
    for floor in FLOORS:
        assert set(each(floor)) <= set(PARTS)
    lists = set(choices())
    assert set(each("table")) | set(each("listed")) | lists == set(PARTS)
    assert set(each("naming")) == set(each("files")) == lists
    assert {path.parent.name for path in (PACKAGE / "parts").glob("*/__init__.py")} == set(PARTS)


def test_each_part_stands_in_release_json_after_a_field_that_is_no_option() -> None:
    """What follows another name would not be written at all."""
    assert {part.follows for part in each("published").values()} <= set(ReleaseDocument.model_fields) - set(each("published"))


WITHOUT = """
import sys
from pathlib import Path

import synthrelease
from synthrelease.parts import PARTS
from synthrelease.bundle.verify import verify_bundle

configuration, data, *names = sys.argv[1:]
assert Path(synthrelease.__file__).parent.parent == Path.cwd(), synthrelease.__file__
assert not set(names) & set(PARTS)
for attempt in range(3):  # a search may end with nothing
    found = synthrelease.release(configuration, data, f"out{attempt}", unrehearsed=True)
    if found is not None:
        break
print(found is not None and verify_bundle(f"out{attempt}").passed)
"""


def released_without(names: Iterable[str], configuration: Path, data: Path, folder: Path) -> None:
    """A release and its check by a copy of the package without these options, in a process of its own."""
    for each_folder in ("synthrelease", "configs", "acceptance"):
        shutil.copytree(ROOT / each_folder, folder / each_folder)  # with what Python compiled
    for name in names:
        shutil.rmtree(folder / "synthrelease" / "parts" / name)
    listed = folder / "synthrelease" / "parts" / "__init__.py"
    kept = "".join(f'"{other}",' for other in PARTS if other not in names)
    listed.write_text(re.sub(r"^PARTS = \(.*?\)$", f"PARTS = ({kept})", listed.read_text(), flags=re.MULTILINE | re.DOTALL))
    run = run_apart(WITHOUT, configuration, data, *names, folder=folder, afresh=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "True"


AWAY = dict(zip(PARTS, combinations(range(6), 3), strict=False))
"""In which three of six copies each option is away: in one of them any other option is there, which must not need it."""


def test_of_any_two_options_one_is_there_without_the_other() -> None:
    assert set(AWAY) == set(PARTS)
    assert all(set(AWAY[one]) - set(AWAY[other]) for one, other in permutations(PARTS, 2))


@pytest.mark.slow
@pytest.mark.parametrize("copy", range(6))
def test_a_small_table_is_released_and_verified_without_some_options(copy: int, tmp_path: Path) -> None:
    (tmp_path / "inputs").mkdir()
    configuration, data = write_config(tmp_path / "inputs"), write_data(tmp_path / "inputs")
    released_without([name for name, away in AWAY.items() if copy in away], configuration, data, tmp_path)


@pytest.mark.slow
def test_the_births_are_released_and_verified_without_any_option(tmp_path: Path) -> None:
    data = ROOT / "public_data" / "births_surrogate.csv.gz"
    released_without(PARTS, tmp_path / "configs" / "births.toml", data, tmp_path)
