"""Kinds and names are loaded when they are asked for, and not before."""

from __future__ import annotations

import sys

import pytest

from synthrelease.resources import Kinds, at_first_use


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that is not loaded."""
    monkeypatch.delitem(sys.modules, "wsgiref.headers", raising=False)
    return "wsgiref.headers"


def test_a_class_is_loaded_when_its_kind_is_asked_for(without: str) -> None:
    kinds = Kinds[object]("wsgiref", {"headers": "headers:Headers"})
    assert "headers" in kinds
    assert "header" not in kinds
    assert (list(kinds), len(kinds), kinds.get("header")) == (["headers"], 1, None)
    assert without not in sys.modules
    assert kinds["headers"].__qualname__ == "Headers"
    assert without in sys.modules


def test_a_name_is_loaded_when_it_is_asked_for(without: str) -> None:
    attribute = at_first_use("wsgiref", {"headers": ("Headers",)})
    with pytest.raises(AttributeError, match="module 'wsgiref' has no attribute 'tspecials'"):
        attribute("tspecials")
    assert without not in sys.modules
    assert attribute("Headers").__qualname__ == "Headers"  # type: ignore[attr-defined]


def test_a_kind_that_nobody_knows_names_no_module() -> None:
    with pytest.raises(KeyError):
        Kinds[object]("wsgiref", {"headers": "headers:Headers"})["headers:Headers"]
