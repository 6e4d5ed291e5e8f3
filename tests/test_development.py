"""What a contributor runs says the same in every place: the locks, `make quick`, `make test` and the hooks before a commit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import synthrelease
from tests.benchmarks.figures import LINES, PAGE, read_lines, written
from tests.conftest import ROOT
from tests.long import LONG, is_long


def locked(name: str) -> set[str]:
    return set((ROOT / "requirements" / name).read_text(encoding="utf-8").split("\n")) - {""}


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    return [line.strip() for line in found.replace("$(BIN)", ".venv/bin").splitlines()]


def test_quick_has_the_versions_of_test_and_no_large_library() -> None:
    assert locked("core.txt") < locked("quick.txt") < locked("test.txt")
    added = {re.split(r"[=;\s]", line)[0] for line in locked("quick.txt") - locked("core.txt")}
    assert {"pytest", "pytest-xdist", "hypothesis", "ruff", "mypy"} <= added
    assert not added & {"torch", "jax", "jaxlib", "mbi", "smartnoise-synth", "opacus", "dask", "distributed", "frictionless"}
    names = {re.split(r"[=;\s]", line)[0] for line in locked("quick.txt")}
    assert not names & {"diffprivlib", "scikit-learn", "matplotlib"}  # they compare laws, and draw pictures of benchmarks


@pytest.mark.parametrize(("file", "beside"), [("core-hashes.txt", "core.txt"), ("extras-hashes.txt", "test.txt")])
def test_each_version_that_runs_beside_private_files_has_the_hashes_of_its_files(file: str, beside: str) -> None:
    """Of the core, and of the extras of a steward; without the address of an index."""
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8")
    lines = text.replace(" \\\n    --hash", " --hash").splitlines()
    parts = [re.fullmatch(r"(.+?)(?: --hash=sha256:[0-9a-f]{64})+", line) for line in lines]
    assert None not in parts
    assert locked("core.txt") <= {part[1] for part in parts if part is not None} <= locked(beside)


def test_the_hooks_before_a_commit_are_what_the_makefile_checks_beside_the_tests() -> None:
    """Types of all libraries by night: `make test` has the tests alone beside ruff."""
    checks = [command.removesuffix(" .") for command in (*recipe("test")[:-1], *recipe("test-long")[:-2])]
    assert checks == [command.removesuffix(" .") for command in recipe("quick") if "pytest" not in command]
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert repository["repo"] == "local"
    hooks = [hook["entry"].replace("python -m ", ".venv/bin/") for hook in repository["hooks"]]
    assert hooks == checks
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}


def test_make_test_leaves_nothing_out_and_quick_what_is_slow() -> None:
    assert recipe("test")[-1:] == ['.venv/bin/pytest -n $(WORKERS) --dist worksteal -m "not long"']
    assert recipe("quick")[-1] == '.venv/bin/pytest -m "not slow"'


def test_the_table_of_figures_is_made_from_the_lines_beside_its_command() -> None:
    """A figure that someone changes by hand, or a line without its table, is found; so is a program that was not measured."""
    page, lines = PAGE.read_text(encoding="utf-8"), read_lines(LINES)
    assert written(page) == page
    assert all(line["seconds"] > 0 and line["megabytes"] > 0 and line["commit"] for line in lines.values())
    others = " ".join(line["others"] for line in lines.values())
    assert [name for name in ("pyarrow", "polars", "duckdb", "dpsynth") if name not in others] == []


def test_the_nightly_run_keeps_its_figures_in_a_file_that_is_not_published() -> None:
    (command,) = [line for line in recipe("test-long") if "tests.benchmarks.figures" in line]
    kept = command.partition("--keep ")[2]
    assert kept in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_makefile_and_the_documents_name_tests_that_are_there() -> None:
    """Files by their paths, and what is run with `python -m` by its module."""
    files = [ROOT / "Makefile", ROOT / ".ci" / "run", *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if path.name != "CHANGELOG.md")
    paths = set(re.findall(r"\b(?:tests|requirements)/[\w/.-]+\.(?:py|sh|txt)\b", text))
    modules = {name.replace(".", "/") for name in re.findall(r"-m (tests(?:\.\w+)+)", text)}
    assert {"tests/mutations/of_theory.py", "tests/whole/crashes.py", "requirements/core.txt"} <= paths
    assert {"tests/whole/hostile", "tests/whole/kills"} <= modules
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    runnable = {name for name in modules if (ROOT / f"{name}.py").is_file() or (ROOT / name / "__main__.py").is_file()}
    assert runnable == modules


def test_one_version_is_said_everywhere() -> None:
    (packaged,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert packaged == synthrelease.__version__


def test_the_changelog_has_the_version_or_says_that_it_is_in_development() -> None:
    """A version in development comes after the newest one that was published, and its changes stand above that one's."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *rest = re.findall(r"^## (Unreleased|\d[\d.]*)(?=,|$)", text, re.MULTILINE)
    version = Version(synthrelease.__version__)
    assert version.is_devrelease == (first == "Unreleased")
    assert Version(rest[0]) < version if version.is_devrelease else Version(first) == version


def test_the_changelog_begins_with_the_first_published_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([^,\n]+)", text, re.MULTILINE)[-1] == "1.0.0"


def test_what_make_test_leaves_out_is_run_by_make_test_long_and_by_continuous_integration() -> None:
    assert recipe("test-long")[-1] == recipe("test")[-1].replace('"not long"', "long")
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[-2:] == ["make test", "make test-long"]


@pytest.mark.parametrize("name", LONG)
def test_every_long_test_is_there(name: str) -> None:
    file, _, test = name.partition("::")
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert not test or f"\ndef {test.partition('[')[0]}(" in text
    assert is_long(f"tests/{name}")
    assert is_long(f"tests/{file}::{test or 'test_any'}[a case]") == ("[" not in name)


def test_the_page_of_plants_has_none_that_is_not_found() -> None:
    page = (ROOT / "docs" / "appendix" / "plants.md").read_text(encoding="utf-8")
    assert page.count(", found |") > 100
    assert "**not found**" not in page


OF_THREE_LENGTHS = """
import sys
import time

import pytest

def busy() -> None:
    started = time.process_time()
    while time.process_time() - started < 0.3:
        pass

@pytest.fixture(scope="module")
def shared() -> None:
    busy()

def test_that_is_long() -> None:
    busy()

@pytest.mark.slow
def test_that_says_so() -> None:
    busy()

USED = []

def test_that_is_the_first_to_use_something() -> None:
    if not USED:
        USED.append(busy())

def test_that_cannot_be_run_twice(tmp_path) -> None:
    (tmp_path / "once").mkdir()
    busy()

def test_that_waits_for_what_is_shared(shared: None) -> None:
    pass
"""


def test_a_test_that_is_long_and_has_no_marker_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a run of their own, where a fifth of a second is long, and this machine counts as fast. What is long the first time
    alone is allowed."""
    (tmp_path / "test_three.py").write_text(OF_THREE_LENGTHS, encoding="utf-8")
    hook = "from tests import conftest\nfrom tests.conftest import pytest_runtest_call\nconftest.MOST_SECONDS = 0.2\n"
    (tmp_path / "conftest.py").write_text(f"{hook}conftest._slower = lambda: 1.0\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pytest.ini", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 4 passed" in done.stdout
    assert re.search(r"this test took 0\.\d processor seconds, and without a marker at most 0\.2 are allowed", done.stdout)
    assert "test_that_is_long" in done.stdout
