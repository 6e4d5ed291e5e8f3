"""A failure inside the code of a release, on public data alone: no message says that a budget is spent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthrelease.enclave import door
from synthrelease.errors import PrivateFailure, PublicFailure
from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import AllocationRequest, ComparisonRequest, RehearsalRequest
from synthrelease.studio.rehearsal.allocation import choose_allocation
from synthrelease.studio.rehearsal.compare import compare_methods
from synthrelease.studio.rehearsal.rehearse import rehearse
from tests.helpers.drafts import draft, write_draft

pytestmark = pytest.mark.slow


def test_a_failure_on_public_data_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a draft, a rehearsal, a comparison of methods and an allocation, of the same public file."""
    public = tmp_path / "public.csv"
    bins = np.random.default_rng(1).integers(0, 3, (400, 2))
    pd.DataFrame({"a": bins[:, 0], "b": bins[:, 0] // 2, "c": bins[:, 1]}).to_csv(public, index=False)
    write_draft("small", public, tmp_path)
    config = tmp_path / "configs" / "small.toml"
    spec = load_spec(config)

    def failing(*_: Any) -> None:
        raise PrivateFailure

    monkeypatch.setattr(door.Door, "spend", failing)
    of_the_file: list[Callable[[], Any]] = [
        lambda: draft("small", public),
        lambda: rehearse(spec, RehearsalRequest(config=config, data=str(public), out=tmp_path / "out", seed=1)),
        lambda: compare_methods(spec, ComparisonRequest(config=config, data=str(public))),
        lambda: choose_allocation(spec, AllocationRequest(config=config, data=str(public), minutes=0.01)),
    ]
    for run in of_the_file:
        with pytest.raises(PublicFailure, match="no budget was spent"):
            run()
