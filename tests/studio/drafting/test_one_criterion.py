"""A criterion that is asked for in words loads, and is about what was asked for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.drafts import ASKED_FOR, CriterionDraft
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.criteria import _between_samples, with_threshold
from synthrelease.studio.drafting.edits import criterion_edits
from synthrelease.studio.drafting.toml_edit import changed
from synthrelease.studio.rehearsal.closer_look import Yardstick
from tests.helpers.tiny import write_config

PAIRS = 'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]'
FINE = {PAIRS: f'alternatives.halves = ["1-4", "5-8"]\n{PAIRS}'}
ASKED = {
    "absolute_marginal_error": (("face", "year"), "", {"tables": ("face:year",)}),
    "mean_marginal_error": (("face", "year"), "", {"tables": ("face:year",)}),
    "conditional_mean": (("year", "face"), "", {"column": "year", "by": ("face",), "range": (1, 8)}),
    "conditional_median": (("year",), "", {"column": "year", "by": ()}),
    "kolmogorov_distance": (("year", "face"), "", {"column": "year", "by": ("face",)}),
    "difference_in_proportions": (("face", "year"), "head", {"column": "face", "bins": ("head",), "by": ("year",)}),
}


def test_what_can_be_asked_for_is_tried_here() -> None:
    assert ASKED_FOR.keys() == ASKED.keys()


@pytest.mark.parametrize("what", list(ASKED))
def test_what_is_asked_for_is_written(tmp_path: Path, what: str) -> None:
    columns, value, settings = ASKED[what]
    config = write_config(tmp_path, FINE)
    acceptance = config.with_name("acceptance.toml")
    for _ in range(2):  # the second one has a name of its own
        tables = tomllib.loads(acceptance.read_text(encoding="utf-8"))
        told = {"threshold": "0.25", "epsilon": "0.125", "value": value, "reason": "x"}
        edits = criterion_edits(load_spec(config), tables, what, (*columns, ""), **told)
        acceptance.write_bytes(changed(acceptance, acceptance.read_bytes(), edits))
    spec = load_spec(config)
    first, second = spec.criteria[-2:]
    assert isinstance(first, CRITERIA[what])
    assert {key: getattr(first, key) for key in settings} == settings
    assert (first.threshold, float(first.epsilon), first.reason) == (0.25, 0.125, "x")
    assert second.name == f"{first.name} 2"
    assert ("year" in spec.setting.groups) == (
        what == "difference_in_proportions"
    )  # of two ways to bin it one is that of groups


@pytest.mark.parametrize(
    ("what", "columns"),
    [
        ("else", ("face",)),
        ("mean_marginal_error", ()),
        ("mean_marginal_error", ("nobody",)),
        ("conditional_mean", ("face",)),
        ("faithfulness", ("face",)),
    ],
)
def test_other_questions_and_columns_are_refused(tmp_path: Path, what: str, columns: tuple[str, ...]) -> None:
    spec = load_spec(write_config(tmp_path))
    with pytest.raises(ValueError, match="Choose a kind of criterion|Choose a column of numbers"):
        criterion_edits(spec, {"criteria": []}, what, columns, threshold="1", epsilon="1")


@pytest.mark.parametrize(("about", "drafted"), [(0.12, False), (0.3, False), (0.8, True), (None, True)])
def test_a_threshold_is_a_fraction_of_what_its_figure_is_about(about: float | None, drafted: bool) -> None:
    """A share of 12% within 15 points promises nothing; of 80% it does. Below zero there is no error to print."""
    guess = CriterionDraft(settings={"name": "share of ill"}, remark="", about=about)
    yardstick = Yardstick(perfect=-0.01, projected=0.0, independent=0.5)
    found = with_threshold(guess, yardstick, [0.11, 0.12], 1e-5, 0.0)
    assert isinstance(found, CriterionDraft) == drafted
    assert ("above a quarter of the statistic" in str(found)) != drafted
    if isinstance(found, CriterionDraft):
        assert found.seen.startswith("not above 0 between two halves")


def test_the_threshold_of_a_median_has_room_for_another_sample() -> None:
    """In a group with half of the rows, the median of one sample is seldom further than this from the median of another."""
    rows, random = 1000, np.random.default_rng(1)
    first, second = np.sort(random.random((2, 4000, rows // 2)))
    beyond = np.abs((second < first[:, [rows // 4]]).sum(axis=1) - rows // 4) / rows
    room = _between_samples(CRITERIA["conditional_median"].best_figure, rows)
    assert 0.03 < (beyond > room).mean() < 0.07
    assert _between_samples(CRITERIA["conditional_mean"].best_figure, rows) == 0
