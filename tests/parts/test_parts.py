"""An option is a folder: nothing else knows it, and without it everything else works."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from synthrelease.parts import PARTS, choices, each
from synthrelease.published.document import ReleaseDocument
from tests.conftest import ROOT
from tests.helpers.late import tree_of

PACKAGE = ROOT / "synthrelease"
FLOORS = ("table", "listed", "published", "building", "checking", "naming", "files", "writing", "rehearsing", "verifying")


@cache
def imports_of(path: Path) -> set[str]:
    tree = tree_of(path)
    found = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return found | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("name", PARTS)
def test_nothing_outside_the_folder_of_an_option_imports_it(name: str) -> None:
    own = f"synthrelease.parts.{name}"
    inside = PACKAGE / "parts" / name
    known = {path for path in PACKAGE.rglob("*.py") if any(f"{found}.".startswith(f"{own}.") for found in imports_of(path))}
    assert {path for path in known if inside not in path.parents} == set()


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
from functools import cache
from pathlib import Path

import synthrelease
from synthrelease.parts import PARTS
from synthrelease.verification.verify import verify_bundle

name, data, out = sys.argv[1:]
assert Path(synthrelease.__file__).parent.parent == Path.cwd(), synthrelease.__file__
assert name not in PARTS
found = synthrelease.release("configs/births.toml", data, out)
print("nothing" if found is None else verify_bundle(out).passed)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_the_births_are_released_and_verified_without_an_option(name: str, tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("synthrelease", "configs", "acceptance"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.rmtree(tmp_path / "synthrelease" / "parts" / name)
    names = tmp_path / "synthrelease" / "parts" / "__init__.py"
    kept = ", ".join(f'"{other}"' for other in PARTS if other != name)
    text = re.sub(r"^PARTS = \(.*?\)$", f"PARTS = ({kept},)", names.read_text(), flags=re.MULTILINE | re.DOTALL)
    names.write_text(text)
    data = ROOT / "public_data" / "births_surrogate.csv.gz"
    for attempt in range(3):  # a search may end with nothing
        run = subprocess.run(
            [sys.executable, "-c", WITHOUT, name, str(data), str(tmp_path / f"out{attempt}")],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        if run.stdout.strip() != "nothing":
            break
    assert run.stdout.strip() == "True"
