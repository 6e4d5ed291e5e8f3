"""Rows with a gap in any of many columns add up: few enough are left out, and the draft says how many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.studio.drafting.public_file import MOST_LEFT_OUT
from tests.helpers.drafts import draft
from tests.studio.drafting.test_kinds import N, column, drafted

RANDOM = np.random.default_rng(13)


def with_gaps(gaps: dict[str, list[int]], n: int = N) -> pd.DataFrame:
    frame = pd.DataFrame({name: RANDOM.choice(["a", "b", "c"], n) for name in ["whole", *gaps]})
    for name, rows in gaps.items():
        frame.loc[rows, name] = ""
    return frame


def test_few_gaps_in_each_of_many_columns_are_not_all_left_out(tmp_path: Path) -> None:
    """Ten columns of fifteen gaps each, in other rows: 3.75% of the rows; what may go is 1%."""
    gaps = {f"x{k}": list(range(15 * k, 15 * k + 15)) for k in range(10)}
    found = drafted(with_gaps(gaps), tmp_path)
    left_out = [name for name in gaps if not column(found, name).keeps_missing]
    assert 15 * len(left_out) <= MOST_LEFT_OUT * N < 15 * (len(left_out) + 1)


def test_gaps_in_the_same_rows_count_once(tmp_path: Path) -> None:
    found = drafted(with_gaps({f"x{k}": list(range(15)) for k in range(10)}), tmp_path)
    assert not any(column(found, f"x{k}").keeps_missing for k in range(10))


def test_a_small_file_does_not_lose_a_twelfth_of_its_rows(tmp_path: Path) -> None:
    found = drafted(with_gaps({"x": list(range(20)), "y": [100]}, n=240), tmp_path)
    assert column(found, "x").keeps_missing
    assert not column(found, "y").keeps_missing


@pytest.mark.slow
def test_the_draft_says_how_many_rows_are_left_out(tmp_path: Path) -> None:
    frame = with_gaps({"x": [1, 2, 3], "y": [3, 4]})
    frame["z"] = np.where(RANDOM.random(N) < 0.8, frame["whole"], "d")
    frame.to_csv(tmp_path / "public.csv", index=False)
    text = " ".join(draft("gaps", tmp_path / "public.csv").configuration.replace("#", "").split())
    assert "Rows without 'x', 'y' are excluded: 4 of the 4,000 rows of the public file, 0.1%." in text
