"""A criterion that is asked for in words loads, and is about what was asked for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.drafting.edited import changed
from synthrelease.drafting.one_criterion import WORDS, criterion_edits
from synthrelease.specification.spec import load_spec
from tests.helpers.tiny import write_config

PAIRS = 'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]'
FINE = {PAIRS: f'alternatives.halves = ["1-4", "5-8"]\n{PAIRS}'}
ASKED = {
    "shares": (("face", "year"), "", "absolute_marginal_error", {"tables": ("face:year",)}),
    "moved": (("face", "year"), "", "mean_marginal_error", {"tables": ("face:year",)}),
    "mean": (("year", "face"), "", "conditional_mean", {"column": "year", "by": ("face",), "range": (1, 8)}),
    "median": (("year",), "", "conditional_median", {"column": "year", "by": ()}),
    "distribution": (("year", "face"), "", "kolmogorov_distance", {"column": "year", "by": ("face",)}),
    "value": (("face", "year"), "head", "difference_in_proportions", {"column": "face", "bins": ("head",), "by": ("year",)}),
}


@pytest.mark.parametrize("what", list(WORDS))
def test_what_is_asked_for_is_written(tmp_path: Path, what: str) -> None:
    columns, value, kind, settings = ASKED[what]
    config = write_config(tmp_path, FINE)
    acceptance = config.with_name("acceptance.toml")
    for _ in range(2):  # the second one has a name of its own
        tables = tomllib.loads(acceptance.read_text(encoding="utf-8"))
        told = {"threshold": "0.25", "epsilon": "0.125", "value": value, "reason": "x"}
        edits = criterion_edits(load_spec(config), tables, what, (*columns, ""), **told)
        acceptance.write_bytes(changed(acceptance, acceptance.read_bytes(), edits))
    spec = load_spec(config)
    first, second = spec.criteria[-2:]
    assert isinstance(first, CRITERIA[kind])
    assert {key: getattr(first, key) for key in settings} == settings
    assert (first.threshold, float(first.epsilon), first.reason) == (0.25, 0.125, "x")
    assert second.name == f"{first.name} 2"
    assert ("year" in spec.setting.groups) == (what == "value")  # of two ways to bin it one is that of groups


@pytest.mark.parametrize(
    ("what", "columns"), [("else", ("face",)), ("shares", ()), ("shares", ("nobody",)), ("mean", ("face",))]
)
def test_other_questions_and_columns_are_refused(tmp_path: Path, what: str, columns: tuple[str, ...]) -> None:
    spec = load_spec(write_config(tmp_path))
    with pytest.raises(ValueError, match="Expected"):
        criterion_edits(spec, {"criteria": []}, what, columns, threshold="1", epsilon="1")
