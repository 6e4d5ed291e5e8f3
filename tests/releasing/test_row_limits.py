"""What takes a limited number of rows says so before it is charged where the number is stated, and before it runs otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import synthrelease.releasing.release as releasing
from synthrelease.errors import BudgetError
from synthrelease.privacy.charges import RowsRule
from synthrelease.publish import check_before_spending
from synthrelease.releasing.attempt import check_rows
from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import ReleaseRequest


def test_a_joint_test_takes_two_to_the_thirty_rows(root: Path) -> None:
    joint, single = load_spec(root / "configs/births-low-epsilon.toml"), load_spec(root / "configs/births.toml")
    check_rows(joint, 2**30)
    check_rows(single, 2**40)
    with pytest.raises(
        BudgetError, match=r"a joint test supports at most 1,073,741,824 rows, but there are 1,073,741,825\. Nothing was spent"
    ):
        check_rows(joint, 2**30 + 1)
    with pytest.raises(BudgetError, match="'privbayes' supports at most 1,099,511,627,776 rows.*counts as spent"):
        check_rows(single, 2**40 + 1, spent=True)


def test_stated_rows_are_refused_before_anything_is_charged(root: Path, tmp_path: Path) -> None:
    """There is no private file at all: nothing has looked for it yet."""
    config = root / "configs/births-low-epsilon.toml"
    spec = replace(load_spec(config), rows=RowsRule(way="stated", stated=2**31))
    request = ReleaseRequest(config=config, data=tmp_path / "none.csv", out=tmp_path / "out")
    with pytest.raises(BudgetError, match="a joint test supports at most"):
        check_before_spending(spec, request)


def test_counted_rows_are_refused_before_a_round(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    spec = load_spec(root / "configs/births-low-epsilon.toml")
    counted = SimpleNamespace(is_public=lambda public: False, n_file=2**31)
    monkeypatch.setattr(releasing, "ingest", lambda *given: counted)
    monkeypatch.setattr(releasing, "resize", lambda *given: SimpleNamespace(n=2**30 + 1))
    with pytest.raises(BudgetError, match="supports at most"):
        releasing.read_private(spec, "births.csv")
    monkeypatch.setattr(releasing, "resize", lambda *given: SimpleNamespace(n=2**30))
    assert releasing.read_private(spec, "births.csv").n == 2**30
