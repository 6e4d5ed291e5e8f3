"""What is made when it is first used, so that tests are collected without it: libraries, syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


class _Library:
    """Stands for a module."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks everything in a file whether it is a test
            raise AttributeError(name)
        return getattr(import_module(self._name), name)


def library(name: str, reason: str) -> Any:
    """A library that the tests of a file need: it is imported by the first of them. All are skipped where it is not there."""
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(reason, allow_module_level=True)
    return _Library(name)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


class Trees(Mapping[str, ast.Module]):
    """Syntax trees by the names that are given to files; a file is parsed when its tree is first looked at."""

    def __init__(self, paths: Mapping[str, Path]):
        self.paths = paths

    def __getitem__(self, name: str) -> ast.Module:
        return tree_of(self.paths[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __contains__(self, name: object) -> bool:
        return name in self.paths
