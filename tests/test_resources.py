"""Compiled templates that are kept beside them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from synthrelease.resources import compiled_templates


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
