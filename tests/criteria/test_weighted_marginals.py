"""The weighted marginal error against a loop over rows and tables, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from synthrelease.criteria.base import Fitted, Setting
from synthrelease.criteria.columns import NO_NUMBERS
from synthrelease.criteria.marginals import whole_weights
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema, Transformation
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column
from synthrelease.studio.audit.enumeration import GRID_SHARE
from synthrelease.studio.audit.sweep import criterion
from tests.helpers.small import World

WORLD = World({"a": 1, "w": 3, "c": 2})


def score(original: Iterable[int], synthetic: Iterable[int], largest: int | None = None, weight: str = "w"):
    judged = criterion("weighted_marginal_error", weight=weight, largest=largest)
    private = WORLD.private(tuple(original), judged.per_score(), NoNoise())
    return judged.score(private, WORLD.candidate(tuple(synthetic)), WORLD.setting(judged), Fitted())


def slowly(original: list[int], synthetic: list[int], largest: int) -> Fraction:
    """Row by row, in exact fractions."""
    rows = [[np.unravel_index(code, WORLD.layout.sizes) for code in table] for table in (original, synthetic)]
    worst = Fraction(0)
    for size in range(1, largest + 1):
        for columns in combinations(range(3), size):
            sums: dict[tuple[int, ...], int] = {}
            for sign, table in zip((1, -1), rows, strict=True):
                for row in table:
                    cell = tuple(int(row[column]) for column in columns)
                    sums[cell] = sums.get(cell, 0) + sign * int(row[1])
            worst = max(worst, *(Fraction(abs(value)) for value in sums.values()))
    return worst / sum(int(row[1]) for row in rows[1])


@pytest.mark.parametrize("largest", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_figure_is_that_of_a_loop_over_rows(largest: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    original, synthetic = (generator.integers(0, 24, 30).tolist() for _ in range(2))
    found = score(original, synthetic, largest)
    weights_are_rounded = 1e-5
    assert found.value == pytest.approx(
        float(slowly(original, synthetic, largest)), abs=(found.sensitivity or 0) * GRID_SHARE + weights_are_rounded
    )
    assert found.sensitivity == pytest.approx(3 / sum(code // 3 % 4 for code in synthetic), rel=1e-5)


def test_rows_of_weight_0_count_for_nothing_and_a_candidate_of_such_rows_alone_never_passes() -> None:
    """Cells 0 to 2 and 12 to 14 have the weight 0."""
    assert score([0, 1, 13, 23], [2, 2, 2, 23]).value == 0
    found = score([0, 1, 13, 23], [0, 0, 1, 2])
    assert np.isnan(found.value)
    assert not found.passed


def test_unweighted_it_would_be_the_absolute_error() -> None:
    """Rows that all have one weight: a share of the sum is a share of the rows."""
    original, synthetic = [3, 3, 4, 15, 16], [3, 4, 4, 4, 16]
    absolute = criterion("absolute_marginal_error")
    private = WORLD.private(tuple(original), absolute.per_score(), NoNoise())
    plain = absolute.score(private, WORLD.candidate(tuple(synthetic)), WORLD.setting(absolute), Fitted())
    assert score(original, synthetic).value == pytest.approx(plain.value, abs=1e-3)


def test_weights_are_rounded_to_whole_numbers_of_which_the_largest_is_known() -> None:
    assert whole_weights([0.0, 12.5, 25.0, 0.01]).tolist() == [0, 2**19, 2**20, round(0.01 / 25 * 2**20)]


@pytest.mark.parametrize(
    ("fields", "says"), [({"weight": "v"}, "'v' is not a column ('a', 'w', 'c')"), ({"weight": "w", "largest": 4}, None)]
)
def test_mistakes_are_told(fields: dict[str, object], says: str | None) -> None:
    judged = criterion("weighted_marginal_error", **fields)
    found = list(judged.mistakes(WORLD.setting(judged), {}))
    assert [one.text for one in found] == ([says] if says else [])


def world_of(*numbers: float | None) -> Setting:
    """One column of categories with these numbers."""
    labels = [f"class {place}" for place in range(len(numbers))]
    given = {label: number for label, number in zip(labels, numbers, strict=True) if number is not None}
    column = build_column("w", ColumnTable(kind="category", categories=labels, numbers=given), InputTable(), [], None)
    schema = Schema(columns=(column,))
    transformation = Transformation(schema=schema, binnings=(column.alternatives["categories"],))
    raw = Plausibility(layout=schema.layout, masks=())
    return Setting(schema=schema, groups={}, raw=raw, transformations=(transformation,), criteria={})


NO_WEIGHTS = (
    "The numbers of 'w' cannot be weights in the alternative 'categories'. Each bin needs a number of at least 0, "
    "and one bin a number above "
    "0. Missing values have no number"
)


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ((0.0, 2.0), None),
        ((-1.0, 2.0), NO_WEIGHTS),
        ((0.0, 0.0), NO_WEIGHTS),
        ((None, 1.0), NO_NUMBERS.format("w", "categories")),
    ],
)
def test_numbers_that_are_no_weights_are_refused(numbers: tuple[float | None, ...], says: str | None) -> None:
    found = list(criterion("weighted_marginal_error", weight="w").mistakes(world_of(*numbers), {}))
    assert [one.text for one in found] == ([says] if says else [])
