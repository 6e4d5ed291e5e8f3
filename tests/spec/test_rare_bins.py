"""Rare bins that are refused: of what a line of measurements is about, and of columns that rules decide."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.errors import SpecError
from synthrelease.generators.measurements import RareBin
from synthrelease.spec.load import load_spec
from synthrelease.spec.space import can_be_moved_into
from tests.helpers.tiny import write_config

CONFIGS = Path(__file__).parents[2] / "configs"


def with_rare_bins(folder: Path, text: str) -> Path:
    content = (CONFIGS / "births-frontier.toml").read_text(encoding="utf-8")
    content = content.replace('extends = "births.toml"', f'extends = "{(CONFIGS / "births.toml").as_posix()}"')
    content = content.replace('"../acceptance/', f'"{(CONFIGS.parent / "acceptance").as_posix()}/')
    path = folder / "release.toml"
    path.write_text(re.sub('rare_bins = ".*"', f'rare_bins = "{text}"', content), encoding="utf-8")
    return path


def test_a_bin_of_the_target_of_a_line_that_measurements_give_is_refused(tmp_path: Path) -> None:
    load_spec(with_rare_bins(tmp_path, "parity[0 0 0 0 1]"))
    layout = load_spec(CONFIGS / "births-frontier.toml").space.common.layout
    bins = layout.sizes[layout.index("birth_weight")]
    with pytest.raises(
        SpecError, match=r"'birth_weight' cannot have rare bins, because the regression line of 'regression coefficients' would"
    ):
        load_spec(with_rare_bins(tmp_path, f"parity[0 0 0 0 1] + birth_weight[{'0 ' * (bins - 1)}1]"))


LAYOUT = Layout(columns=("a", "b"), sizes=(3, 2))


@pytest.mark.parametrize(
    ("forbidden", "possible"),
    [
        ([[False, False], [False, False], [False, False]], True),
        ([[False, False], [False, True], [True, False]], True),  # from the first bin with b = 1
        ([[False, True], [False, True], [True, False]], False),  # b decides whether a is rare
        ([[False, False], [False, False], [True, True]], False),
        ([[True, True], [True, True], [False, False]], False),  # no other row is left
    ],
)
def test_a_row_must_be_free_to_move_into_a_rare_bin(forbidden: list[list[bool]], possible: bool) -> None:
    """The rare bin is the last one of a; by looking at all pairs of rows that differ in a alone."""
    rules = Plausibility(layout=LAYOUT, masks=(Mask(columns=(0, 1), forbidden=np.array(forbidden)),))
    assert can_be_moved_into([RareBin(column=0, bin=2)], rules) == possible
    plain = any(not forbidden[a][b] and not forbidden[2][b] for a in (0, 1) for b in (0, 1))
    assert plain == possible


@pytest.mark.parametrize("forbidden", list(product((False, True), repeat=6)))
def test_a_row_is_moved_from_bins_that_are_rare_in_no_column(forbidden: tuple[bool, ...]) -> None:
    """By looking at all pairs of rows: the last bins of a and of b are rare, and the row before has neither of them."""
    rule = np.array(forbidden).reshape(3, 2)
    rules = Plausibility(layout=LAYOUT, masks=(Mask(columns=(0, 1), forbidden=rule),))
    plain = [(a, 0) for a in (0, 1) if not rule[a, 0]]
    reached = {(2, b) for _, b in plain if not rule[2, b]}, {(a, 1) for a, _ in plain if not rule[a, 1]}
    assert can_be_moved_into([RareBin(column=0, bin=2), RareBin(column=1, bin=1)], rules) == all(reached)


def test_a_sum_that_some_rounds_could_not_measure_is_refused(tmp_path: Path) -> None:
    """On one bin all rows have the same score: noise without a sensitivity ended a release after its charge."""
    coarse = 'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]\nalternatives.all = ["1-8"]'
    sums = {
        'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': (
            'family = "marginals"\ntables = "face:year"\nsums = "year[0..7]"'
        )
    }
    load_spec(write_config(tmp_path, sums))
    with pytest.raises(SpecError, match=r"All scores in 'year\[0\.\.7\]' are equal"):
        load_spec(write_config(tmp_path, {**sums, 'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]': coarse}))
    load_spec(
        write_config(
            tmp_path,
            {
                **sums,
                'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]': coarse,
                "[selection]": '[selection]\nmeasurements = "shared"',
            },
        )
    )
