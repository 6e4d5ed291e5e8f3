"""Compiled templates that are kept beside them, and the commit of a checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from synthrelease import resources
from synthrelease.resources import compiled_templates
from tests.conftest import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "one.txt").write_text("{{ 1 + 1 }} of {{ many }}")
    (tmp_path / "settings.py").write_text("TRIM = True")
    return tmp_path / "pages"


def rendered(folder: Path) -> str:
    cache = compiled_templates(folder, str(folder.parent / "settings.py"))
    return Environment(loader=FileSystemLoader(folder), bytecode_cache=cache).get_template("one.txt").render(many=3)


def test_a_template_is_compiled_once_for_its_text_and_for_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, compile_once = list[str](), Environment.compile

    def counting(self: Environment, source: str, name: str | None = None, filename: str | None = None) -> object:
        compiled.append(source)
        return compile_once(self, source, name, filename)

    monkeypatch.setattr(Environment, "compile", counting)
    assert [rendered(folder), rendered(folder)] == ["2 of 3"] * 2
    assert len(compiled) == 1
    (folder.parent / "settings.py").write_text("TRIM = False")
    assert rendered(folder) == "2 of 3"
    (folder / "one.txt").write_text("{{ many }}")
    assert rendered(folder) == "3"
    assert len(compiled) == 3


def test_where_nothing_can_be_kept_templates_are_compiled_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "__pycache__").write_text("no folder")
    assert rendered(folder) == "2 of 3"
    assert (folder / "__pycache__").read_text() == "no folder"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert compiled_templates(folder, str(folder.parent / "settings.py")) is None


def checkout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder .git of a checkout in which the program seems to stand."""
    monkeypatch.setattr(resources, "__file__", str(folder / "synthrelease" / "resources.py"))
    resources.commit.cache_clear()
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder / ".git"


@pytest.fixture
def own_commit() -> Iterator[None]:
    yield
    resources.commit.cache_clear()


DIGITS = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("where", ["a branch", "packed", "detached", "a further work tree"])
def test_a_checkout_says_its_commit(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_commit: None) -> None:
    git = checkout(tmp_path, monkeypatch)
    if where == "packed":
        other = DIGITS[::-1]
        (git / "packed-refs").write_text(f"# pack-refs\n{other} refs/heads/other-main\n{DIGITS} refs/heads/main\n")
    elif where == "detached":
        (git / "HEAD").write_text(f"{DIGITS}\n")
    else:
        (git / "refs" / "heads" / "main").write_text(f"{DIGITS}\n")
    if where == "a further work tree":
        tree, own = tmp_path / "tree", git / "worktrees" / "tree"
        own.mkdir(parents=True)
        tree.mkdir()
        (tree / ".git").write_text(f"gitdir: {own}\n")
        (own / "HEAD").write_text("ref: refs/heads/main\n")
        (own / "commondir").write_text("../..\n")
        monkeypatch.setattr(resources, "__file__", str(tree / "synthrelease" / "resources.py"))
    assert resources.commit() == DIGITS[:12]


@pytest.mark.parametrize("head", [None, "", "ref: refs/heads/none\n", "../../etc/passwd\n"])
def test_what_is_no_checkout_has_no_commit(
    head: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_commit: None
) -> None:
    git = checkout(tmp_path, monkeypatch)
    if head is None:
        (git / "HEAD").unlink()
    else:
        (git / "HEAD").write_text(head)
    assert resources.commit() == ""


def test_an_installed_program_says_the_commit_of_its_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_commit: None
) -> None:
    """`make dist` builds from `git archive`, which writes the commit into the file."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    archive = ["git", "archive", "--format=tar", "HEAD", "synthrelease/resources.py"]
    text = subprocess.run(archive, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    (written,) = re.findall(r'^_ARCHIVED = "(.*)"$', text, re.MULTILINE)
    (checkout(tmp_path, monkeypatch) / "HEAD").unlink()
    monkeypatch.setattr(resources, "_ARCHIVED", written)
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    assert resources.commit() == said[:12]


def test_the_commit_is_the_one_that_git_says() -> None:
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    assert resources.commit() == (said[:12] if (ROOT / ".git").exists() else "")
