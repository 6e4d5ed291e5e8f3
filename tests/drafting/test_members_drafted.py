"""Columns of members in a draft: numbers keep the bins that members are released in, and what is left out is said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from synthrelease.cli.drafting import _what_became
from synthrelease.drafting.drafted import Draft
from synthrelease.drafting.linked import MembersDraft, read_members

RANDOM = np.random.default_rng(5)


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> MembersDraft:
    folder = tmp_path_factory.mktemp("households")
    roots = "".join(f"{root},{'ns'[root % 2]}\n" for root in range(500))
    people = [(root, RANDOM.integers(0, 95), "mf"[RANDOM.integers(2)]) for root in range(500) for _ in range(1 + root % 3)]
    (folder / "roots.csv").write_text(f"hh,region\n{roots}")
    (folder / "people.csv").write_text("hh,age,sex\n" + "".join(f"{root},{age},{sex}\n" for root, age, sex in people))
    return read_members(folder / "roots.csv", folder / "people.csv", "hh", {})[1]


def test_numbers_stand_for_the_bins_of_members_alone(members: MembersDraft) -> None:
    """Numbers of finer bins, which members do not have, made the draft one that cannot be loaded, and the column went."""
    [age] = [column for column in members.columns if column.name == "age"]
    assert age.bins is not None
    assert age.facts is not None
    assert age.bins.fine == age.bins.coarse
    labels = age.bins.texts(whole=True, weight=False)["coarse"]
    assert age.facts.numbers
    assert set(age.facts.numbers) <= set(labels)


def test_what_is_left_out_of_members_stays_with_its_reason_and_is_shown(members: MembersDraft) -> None:
    fewer = members.without({"age": "it could not be drafted (expected this; found that)"})
    assert [column.name for column in fewer.columns] == ["sex"]
    assert (fewer.left_out[-1].source, fewer.left_out[-1].because[:24]) == ("age", "it could not be drafted ")
    draft = SimpleNamespace(source="roots.csv", n_rows=500, columns=(), left_out=(), members=fewer)
    _, table = _what_became(cast(Draft, draft), ())
    shown = list(zip(*(list(column.cells) for column in table.columns), strict=True))
    assert ("sex", "category", "2", "sex") in [line[:4] for line in shown]
    assert ("-", "left out", "", "age", fewer.left_out[-1].because) in shown
