"""While slow fits of a draft are made something is said."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.drafting import criteria


def test_slow_fits_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six fits of a hundred columns took minutes without a word. The last one needs none: what follows is told anyway."""
    clock = iter([0, 3, 3, 20, 20, 50, 50, 51, 51, 90, 90, 200])
    asked: list[list[tuple[int, int]]] = []
    monkeypatch.setattr(criteria.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(criteria, "run_attempts", lambda *given: asked.append(given[4]) or [given[4][0][1]])
    spec = SimpleNamespace(generation_budget=Fraction(1))
    told: list[str] = []
    counts = Counts(Layout(columns=("a",), sizes=(2,)), np.array([0]))
    assert criteria._fits(cast(ReleaseSpec, spec), counts, 7, told.append) == list(range(6))
    assert asked == [[(0, number)] for number in range(6)]
    assert told == [
        "fit 3 of 6; the last one took 17 seconds",
        "fit 4 of 6; the last one took 30 seconds",
        "fit 6 of 6; the last one took 39 seconds",
    ]
