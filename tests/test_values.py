"""Frozen dataclasses of the package behave as those of the standard library."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from copy import copy
from inspect import signature
from typing import Any, ClassVar

import pytest

from synthrelease import values


def classes(dataclass: Callable[..., Any]) -> tuple[type, type]:
    """A class with every way to state a field, and a class derived from it, by one of the two decorators."""

    @dataclass(frozen=True, kw_only=True)
    class Row:
        __qualname__ = "Row"
        values: tuple[int, ...]
        missing: int = 3
        self_: str = "s"
        counts: list[int] = dataclasses.field(default_factory=list, compare=False)
        hidden: int = dataclasses.field(default=0, repr=False, hash=False)
        late: int = 7
        kind: ClassVar[str] = "row"

        def __post_init__(self) -> None:
            if self.missing < 0:
                raise ValueError("expected 0 or more")

    @dataclass(frozen=True)
    class Named(Row):
        __qualname__ = "Named"
        name: str
        length: int = 1

        def __repr__(self) -> str:
            return self.name

    return Row, Named


OURS, PLAIN = classes(values.dataclass), classes(dataclasses.dataclass)


def both(use: Callable[[type, type], Any]) -> tuple[Any, Any]:
    return use(*OURS), use(*PLAIN)


@pytest.mark.parametrize(
    "use",
    [
        lambda row, named: repr(row(values=(1, 2), hidden=5)),
        lambda row, named: repr(named("a", values=())),
        lambda row, named: row(values=(1,)) == row(values=(1,), counts=[4]),
        lambda row, named: row(values=(1,)) == row(values=(1,), hidden=1),
        lambda row, named: row(values=(1,)) == named("a", values=(1,)),
        lambda row, named: hash(row(values=(1,), hidden=1)) == hash(row(values=(1,))),
        lambda row, named: hash(named("a", 2, values=(1,), missing=2)),
        lambda row, named: dataclasses.asdict(dataclasses.replace(named("a", values=(1,)), missing=9)),
        lambda row, named: row(values=(1,)).counts is row(values=(1,)).counts,
        lambda row, named: [(each.name, each.type, each.kw_only) for each in dataclasses.fields(named)],
        lambda row, named: [str(each).partition("<")[0] for each in signature(named).parameters.values()],
        lambda row, named: row.__match_args__ + named.__match_args__,
        lambda row, named: vars(type("Plain", (row,), {})(values=(2,))),
    ],
)
def test_a_class_is_like_one_of_the_standard_library(use: Callable[[type, type], Any]) -> None:
    ours, plain = both(use)
    assert ours == plain


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda row, named: row(), TypeError),
        (lambda row, named: row((1,)), TypeError),
        (lambda row, named: row(values=(1,), later=1), TypeError),
        (lambda row, named: row(values=(1,), missing=-1), ValueError),
        (lambda row, named: setattr(row(values=(1,)), "missing", 2), dataclasses.FrozenInstanceError),
        (lambda row, named: setattr(row(values=(1,)), "new", 2), dataclasses.FrozenInstanceError),
        (lambda row, named: delattr(row(values=(1,)), "values"), dataclasses.FrozenInstanceError),
        (lambda row, named: setattr(type("Plain", (row,), {})(values=(2,)), "late", 1), dataclasses.FrozenInstanceError),
        (lambda row, named: dataclasses.replace(row(values=(1,)), later=2), TypeError),
    ],
)
def test_it_refuses_the_same(wrong: Callable[[type, type], Any], error: Any) -> None:
    for pair in (OURS, PLAIN):
        with pytest.raises(error):
            wrong(*pair)


def test_a_derived_class_without_the_decorator_may_have_further_attributes() -> None:
    for row, _ in (OURS, PLAIN):
        plain = type("Plain", (row,), {})(values=(2,))
        plain.new = 1
        del plain.new
        assert not hasattr(plain, "new")


@values.dataclass(frozen=True, kw_only=True)
class Copied:
    number: int


def test_it_can_be_copied_and_only_frozen_ones_are_made() -> None:
    assert copy(Copied(number=2)) == Copied(number=2)
    with pytest.raises(TypeError, match="frozen"):
        values.dataclass(frozen=False)
    assert len({Copied(number=2), Copied(number=2)}) == 1
