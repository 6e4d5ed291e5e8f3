"""Linear algebra has one thread while private counts are looked at."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

from synthrelease.releasing import attempt as room
from synthrelease.releasing.selection import one_thread
from synthrelease.studio.rehearsal import attempts


class Seen(Exception):
    pass


def threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas"}


def stop(*given: object, **named: object) -> Any:
    raise Seen(threads())


def code_that_sees_counts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(room, "generate", stop)
    asked = SimpleNamespace(name="", score=stop, prepare=stop)
    spec: Any = SimpleNamespace(
        shared_measurements=False,
        setting=None,
        criteria=[asked],
        joint_test=1,
        plan=SimpleNamespace(after=()),
        with_budget=stop,
        answers=lambda measured: {},
    )
    private: Any = SimpleNamespace(with_plan=stop, score=None)
    accepted: Any = SimpleNamespace(candidate=SimpleNamespace(transformation=None))
    return [
        lambda: room.prepare(spec, private),
        lambda: room.attempt(spec, None, private, None),  # type: ignore[arg-type]
        lambda: room.released_figures(spec, accepted, private, None),  # type: ignore[arg-type]
        lambda: attempts.run_attempts(SimpleNamespace(spec=spec, seed=1), [], None),  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize("number", range(4))
def test_an_attempt_has_one_thread(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = code_that_sees_counts(monkeypatch)[number]
    with threadpool_limits(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this library of linear algebra has one thread")
        with pytest.raises(Seen) as seen:
            run()
        assert seen.value.args == ({1},)
        assert threads() == {2}


def test_the_function_keeps_its_name_and_its_result() -> None:
    @one_thread
    def added(a: int, *, b: int) -> int:
        """Of two."""
        return a + b

    assert added(1, b=2) == 3
    assert (added.__name__, added.__doc__) == ("added", "Of two.")


def test_what_an_import_brought_is_limited_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries are looked for once, and again after the next import alone."""
    looked: list[int] = []

    class Counted(threadpoolctl.ThreadpoolController):
        def __init__(self) -> None:
            looked.append(1)
            super().__init__()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Counted)
    run = one_thread(lambda: len(looked))
    before = run()
    assert run() == before
    monkeypatch.setitem(sys.modules, "a_module_of_this_test", ModuleType("a_module_of_this_test"))
    assert (run(), run()) == (before + 1, before + 1)
