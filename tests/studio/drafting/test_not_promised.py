"""What a draft loses stands in its acceptance file, as a table that the card reads out: all of it, and nothing else."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from synthrelease.settings.tables import MOST_PAIRS, NotPromisedTable
from synthrelease.studio.drafting.draft import FIRST
from synthrelease.studio.drafting.public_file import PublicFile, read_public_file
from synthrelease.studio.drafting.text import acceptance_text
from synthrelease.studio.rehearsal.dependence import Pair


@pytest.fixture
def file(tmp_path: Path) -> PublicFile:
    (tmp_path / "public.csv").write_text("a,b\n1,2\n2,1\n", encoding="utf-8")
    return read_public_file(tmp_path / "public.csv")


def test_every_pair_that_fits_lose_is_named_once_with_a_reason(file: PublicFile) -> None:
    faint = tuple(
        Pair(columns=("mark", f"sign {number}"), distance=0, largest_cell=0.01, cramers_v=0.5, beyond_chance=0)
        for number in range(40)
    )
    draft = replace(FIRST, lost=(("age", "ward"), ("mark", "sign 3")), faint=faint)
    text = acceptance_text("x", file, draft, [])
    table = NotPromisedTable.model_validate(tomllib.loads(text)["not_promised"])
    assert sorted(table.pairs) == sorted({"age:ward", *(f"mark:sign {number}" for number in range(40))})
    assert "No table" not in table.why  # some of the pairs are in measured tables
    words = " ".join(text.replace("#", "").split())
    assert "For the first 2, a table would make the model too large" in words
    assert "For the others, fewer than one row in a hundred" in words  # one pair is lost among all rows, too


def test_of_very_many_pairs_as_many_are_named_as_the_file_can_hold(file: PublicFile) -> None:
    lost = tuple((f"one {number}", "other") for number in range(MOST_PAIRS + 5))
    table = tomllib.loads(acceptance_text("x", file, replace(FIRST, lost=lost), []))["not_promised"]
    assert NotPromisedTable.model_validate(table).pairs == tuple(":".join(pair) for pair in lost[:MOST_PAIRS])


def test_a_draft_that_loses_nothing_says_nothing(file: PublicFile) -> None:
    assert "not_promised" not in acceptance_text("x", file, FIRST, [])
