"""The examples in docstrings are run, in a folder with the tiny release of tests/helpers/tiny.py."""

from __future__ import annotations

import ast
import doctest
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import synthrelease
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria import CRITERIA
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.tiny import write_config, write_data, write_measured_release

KINDS: dict[str, type] = {**CRITERIA, **GENERATORS, **PROJECTIONS}
WITH_EXAMPLES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    for path in (ROOT / "synthrelease").rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("examples")
    result = release(load_spec(write_config(where)), write_data(where))
    assert result is not None
    write_bundle(result, where / "release")
    (where / "publishing").mkdir()
    write_measured_release(where / "publishing", where / "measured")
    return where


@pytest.mark.slow
@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_the_examples_give_what_they_say(module: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_an_example(kind: str) -> None:
    assert ">>>" in (KINDS[kind].__doc__ or "")


@pytest.mark.parametrize("name", synthrelease.__all__)
def test_every_public_name_is_there_and_explained(name: str) -> None:
    public = getattr(synthrelease, name)
    assert public.__doc__
    assert name in dir(synthrelease)


@pytest.mark.parametrize("name", ["plan", "rehearse", "release", "load", "bound", "estimate"])
def test_every_public_function_has_an_example_and_explains_every_parameter(name: str) -> None:
    function = getattr(synthrelease, name)
    text = function.__doc__
    assert ">>> import synthrelease" in text
    path = Path(sys.modules[function.__module__].__file__ or "")
    tree = next(
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if getattr(node, "name", "") == function.__name__
    )
    assert isinstance(tree, ast.FunctionDef)
    assert tree.returns is not None
    for argument in tree.args.args + tree.args.kwonlyargs:
        assert argument.annotation is not None
        assert argument.arg in text or argument.arg in ("folder", "config"), argument.arg


def test_unknown_names_are_said_to_be_unknown() -> None:
    with pytest.raises(AttributeError, match="no attribute 'relase'"):
        _ = synthrelease.relase  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing() -> None:
    code = (
        "import sys, synthrelease; known = {*sys.stdlib_module_names, '__main__'}; "
        "print(*{name for name in sys.modules if name.split('.')[0] not in known})"
    )
    result = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert set(result.stdout.split()) == {
        f"synthrelease{name}" for name in ("", ".resources", ".errors", ".data", ".data.texts")
    }
