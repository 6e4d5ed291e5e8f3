"""`make release` refuses what is no release of the program: each reason by itself, in a small repository."""

from __future__ import annotations

import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("release_script", ROOT / "requirements" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(root: Path, *command: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *command], cwd=root, check=True)


def repository(root: Path, *, version: str = "1.1.0", own: str = "1.1.0", changes: str = "1.1.0, 1 December 2026") -> Path:
    (root / "synthrelease").mkdir(parents=True)
    (root / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (root / "synthrelease" / "resources.py").write_text(f'VERSION = "{own}"\n')
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n## {changes}\n\n## 1.0.0, 24 November 2026\n")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "all")
    return root


def test_a_release_is_not_refused(script: ModuleType, tmp_path: Path) -> None:
    assert list(script.problems(repository(tmp_path / "one"))) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"version": "1.1.0.dev0", "own": "1.1.0.dev0", "changes": "1.1.0.dev0, 1 December 2026"},
            "found 1.1.0.dev0: a version in",
        ),
        ({"own": "1.0.9"}, "found 1.1.0 and 1.0.9"),
        ({"changes": "Unreleased"}, "found 'Unreleased'"),
        ({"changes": "1.1.0"}, "and its date, found '1.1.0'"),
        ({"changes": "1.0.1, 1 December 2026"}, "found '1.0.1, 1 December 2026'"),
    ],
)
def test_what_is_no_release_is_refused(script: ModuleType, tmp_path: Path, changes: dict[str, str], said: str) -> None:
    (problem,) = script.problems(repository(tmp_path / "one", **changes))
    assert said in problem


def test_changes_and_a_tag_that_is_there_are_refused(script: ModuleType, tmp_path: Path) -> None:
    root = repository(tmp_path / "one")
    git(root, "tag", "v1.1.0")
    (root / "new.py").write_text("")
    dirty, tagged = script.problems(root)
    assert "a tree without changes, found:\n?? new.py" in dirty
    assert "no tag yet, found v1.1.0" in tagged


def test_this_checkout_is_refused_while_its_version_is_in_development(script: ModuleType) -> None:
    if ".dev" in script.tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]:
        assert any("a version in development is not released" in problem for problem in script.problems(ROOT))
