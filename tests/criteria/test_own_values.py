"""Figures about the rows' own values: against formulas on the rows themselves, and between all neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion, Fitted, Regression, Setting
from synthrelease.criteria.facts import Query
from synthrelease.criteria.functional import LinearModel
from synthrelease.criteria.records_mechanism import original_records, real_moments
from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts, atoms_of
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema, Transformation
from synthrelease.generators.candidate import Candidate
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import ColumnError, build_column
from synthrelease.studio.audit.enumeration import Recording
from synthrelease.studio.audit.tiny import World
from tests.helpers.moments import private_least_squares

X = ColumnTable(kind="integer", bounds=(0, 3), alternatives={"bins": ["<2", ">=2"]}, numbers={"<2": 0.5, ">=2": 2.25})
Y = ColumnTable(kind="integer", bounds=(0, 9), alternatives={"bins": ["<3", "3-4", ">4"]}, numbers={"<3": 1, ">4": 6})
SCHEMA = Schema(
    columns=tuple(
        build_column(name, table, InputTable(), [], None, own_values=True) for name, table in {"x": X, "y": Y}.items()
    )
)
BINS = Transformation(schema=SCHEMA, binnings=tuple(column.alternatives["bins"] for column in SCHEMA.columns))
X_NUMBERS, Y_NUMBERS = (np.array(binning.numbers, dtype=float) for binning in BINS.binnings)
LINE = {"target": "y", "features": ["x"], "representation": {"x": "bins", "y": "bins"}}


def asked(kind: str, **fields: Any) -> Criterion:
    return CRITERIA[kind].model_validate({"name": kind, "kind": kind, "threshold": 1, "epsilon": Fraction(1), **fields})


def setting_of(*criteria: Criterion) -> Setting:
    return Setting(
        schema=SCHEMA,
        groups={},
        raw=Plausibility(layout=SCHEMA.layout, masks=()),
        transformations=(BINS,),
        criteria={criterion.name: criterion for criterion in criteria},
    )


def original(rows: Sequence[tuple[int, int]]) -> BinnedCounts:
    """Rows of own values as a release holds them: every value of both columns is an atom."""
    digits = np.array(rows, dtype=np.int64)
    return BinnedCounts.of_atoms(Counts.of(SCHEMA.layout, [digits[:, 0], digits[:, 1]]), BINS)


def candidate(rows: Sequence[tuple[int, int]]) -> Candidate:
    """Released rows, given by their bins."""
    digits = np.array(rows, dtype=np.int64)
    made = World({"a": 1}).candidate([0])
    return Candidate(
        configuration=made.configuration.__class__(
            transformation=BINS, generator=made.configuration.generator, projection=made.configuration.projection
        ),
        counts=Counts.of(BINS.layout, [digits[:, 0], digits[:, 1]]),
    )


def query(criterion: Criterion, released: Sequence[tuple[int, int]], others: Sequence[Criterion] = ()) -> Query:
    setting = setting_of(*others, criterion)
    fitted = Fitted(
        regressions={each.name: _prepared(each, setting) for each in (*others, criterion) if hasattr(each, "design")}
    )
    found = criterion.query(len(released), candidate(released), setting, fitted)
    assert isinstance(found, Query)
    return found


def _prepared(criterion: Any, setting: Setting) -> Regression:
    possible = np.ones(6, dtype=bool)
    model = LinearModel(intercept=1.3, coefficients=np.array([1.7]))
    return Regression(design=criterion.design(setting, possible), possible=possible, model=model)


def test_every_value_is_an_atom_and_stated_numbers_stand_for_bins() -> None:
    assert [column.atoms.numbers for column in SCHEMA.columns] == [tuple(range(4)), tuple(range(10))]
    assert X_NUMBERS.tolist() == [0.5, 2.25]
    assert Y_NUMBERS.tolist() == [1, 3.5, 6]


def test_a_mean_is_that_of_the_rows_against_the_numbers_of_the_released_bins() -> None:
    """By plain arithmetic on the rows, clipped to the range on both sides."""
    generator, mean = np.random.default_rng(0), asked("conditional_mean", column="y", by=["x"], range=(1, 7), size_margin=0)
    for _ in range(50):
        rows = np.column_stack([generator.integers(0, 4, 40), generator.integers(0, 10, 40)])
        released = np.column_stack([generator.integers(0, 2, 40), generator.integers(0, 3, 40)])
        found = query(mean, released.tolist())
        errors = []
        for group in (0, 1, None):
            ours = released if group is None else released[released[:, 0] == group]
            theirs = rows if group is None else rows[(rows[:, 0] >= 2) == bool(group)]
            fill = max(0, len(ours) - len(theirs))  # the resized mean: filled up with the middle of the range
            values = [*np.clip(theirs[:, 1], 1, 7), *[4.0] * fill]
            errors.append(abs(np.mean(values) - np.clip(Y_NUMBERS[ours[:, 1]], 1, 7).mean()))
        assert found.figure(original(rows.tolist())) == pytest.approx(max(errors), abs=1e-12)


def test_a_mean_of_bins_is_that_of_their_numbers_on_both_sides() -> None:
    """The definition of the paper: equal bins have equal means, whatever hides in them."""
    of_bins = asked("conditional_mean", column="y", range=(0, 9), size_margin=0, values="bins")
    of_rows = asked("conditional_mean", column="y", range=(0, 9), size_margin=0)
    rows, released = [(0, 9), (1, 9), (2, 4), (3, 0)], [(0, 2), (0, 2), (1, 1), (1, 0)]
    assert query(of_bins, released).figure(original(rows)) == 0
    assert query(of_rows, released).figure(original(rows)) == pytest.approx(abs(22 / 4 - (6 + 6 + 3.5 + 1) / 4))


def lines_of_the_rows(rows: np.ndarray, released: np.ndarray) -> tuple[float, float, float]:
    """One Newton step in units of a deviation, and the two mean absolute errors, by plain arithmetic."""
    ours = np.column_stack([X_NUMBERS[released[:, 0]], Y_NUMBERS[released[:, 1]]])
    slope, intercept = np.polyfit(ours[:, 0], ours[:, 1], 1)
    centre, spread = ours[:, 0].mean(), ours[:, 0].std()
    residual = rows[:, 1] - np.clip(intercept + slope * rows[:, 0], 0, 9)
    step = abs(((rows[:, 0] - centre) / spread * residual).sum()) / len(released)
    theirs = np.abs(rows[:, 1] - np.clip(1.3 + 1.7 * rows[:, 0], 0, 9)).sum() / len(released)
    return step, theirs, np.abs(residual).sum() / len(released)


def test_lines_are_those_of_the_rows() -> None:
    generator = np.random.default_rng(1)
    step = asked("regression_one_step", **LINE, range=(0, 9))
    error = asked("regression_prediction", coefficients="regression_one_step", range=(0, 9), bound="lines")
    for _ in range(50):
        rows = np.column_stack([generator.integers(0, 4, 30), generator.integers(0, 10, 30)])
        released = np.column_stack([generator.integers(0, 2, 30), generator.integers(0, 3, 30)])
        moved, theirs, ours = lines_of_the_rows(rows, released)
        assert query(step, released.tolist()).figure(original(rows.tolist())) == pytest.approx(moved, abs=1e-9)
        found = query(error, released.tolist(), [step]).figure(original(rows.tolist()))
        assert found == pytest.approx(abs(theirs - ours), abs=1e-9)


def test_own_targets_leave_the_features_to_their_bins() -> None:
    """Rows that differ within the bins of the feature alone have the same figure; within those of the target not."""
    step = asked("regression_one_step", **LINE, range=(0, 9), values="own target")
    found = query(step, [(0, 0), (1, 2), (1, 1), (0, 1)])
    rows = [(0, 2), (2, 7), (2, 4), (0, 3)]
    assert found.figure(original(rows)) == found.figure(original([(1, 2), (3, 7), (3, 4), (1, 3)]))
    assert found.figure(original(rows)) != found.figure(original([(0, 1), (2, 7), (2, 4), (0, 3)]))


CASES = {
    "mean": (asked("conditional_mean", column="y", by=["x"], range=(0, 9), size_margin=0), ()),
    "mean of a narrow range": (asked("conditional_mean", column="y", by=["x"], range=(2, 5), size_margin=0), ()),
    "step": (asked("regression_one_step", **LINE, range=(0, 9)), ()),
    "step of own targets": (asked("regression_one_step", **LINE, range=(1, 5), values="own target"), ()),
    "step of clipped values": (asked("regression_one_step", **LINE, range=(0, 9), ranges={"x": (1, 2), "y": (0, 6)}), ()),
    "errors": (
        asked("regression_prediction", coefficients="regression_one_step", range=(0, 9), bound="lines"),
        (asked("regression_one_step", **LINE, range=(0, 9)),),
    ),
    "odds": (
        asked("logistic_regression", target="y", positive=[">4"], features=["x"], representation=LINE["representation"]),
        (),
    ),
}
"""A criterion, and those before it."""


@cache
def neighbours_of_pairs() -> list[list[BinnedCounts]]:
    """For every 13th pair of rows all tables of it and a third row."""
    pairs = [tuple(each) for each in combinations_with_replacement(product((0, 1, 2, 3), (0, 2, 3, 4, 9)), 2)]
    return [[original([*pair, cell]) for cell in product(range(4), range(10))] for pair in pairs[::13]]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_own_value_moves_a_figure_by_more_than_its_sensitivity(name: str) -> None:
    """Every row replaced by every other one, values within bins included, in tables of three rows; four released tables."""
    criterion, before = CASES[name]
    reached = 0.0
    for released in (
        [(0, 0), (1, 2), (1, 1)],
        [(0, 1), (0, 2), (1, 2)],
        [(0, 0), (0, 2), (1, 0)],
        [(0, 0), (0, 2), (1, 0), (1, 2)],
    ):
        found = query(criterion, released, before)
        for of_one_pair in neighbours_of_pairs():
            figures = [found.figure(table) for table in of_one_pair]
            reached = max(reached, (max(figures) - min(figures)) / found.sensitivity)
    assert reached <= 1 + 1e-9
    assert reached > 0.4  # and noise is not many times what it has to be


def test_moments_of_own_values_move_by_no_more_than_their_sensitivity() -> None:
    criterion = asked("regression_coefficients", **LINE)
    setting = setting_of(criterion)
    design, columns = criterion.design(setting, np.ones(6, dtype=bool)), criterion.regression_columns(setting, BINS)  # type: ignore[attr-defined]
    sums = []
    for cell in product(range(4), range(10)):
        entropy = Recording()
        private_least_squares(design, original_records(original([cell]), columns), Fraction(1), entropy)
        sums.append(entropy.values[0])
    largest = max(int(np.abs(one - other).sum()) for one in sums for other in sums)
    assert 0.4 * design.sensitivity < largest <= design.sensitivity


def test_limits_of_a_cell_hold_every_record_of_it() -> None:
    """The largest moments, cell by cell, against those of each of its records, to the last bit."""
    criterion = asked("regression_coefficients", **LINE)
    design = criterion.design(setting_of(criterion), np.ones(6, dtype=bool))  # type: ignore[attr-defined]
    for cell, (x, y) in enumerate(product(range(2), range(3))):
        largest = design.largest_moments(np.array([cell]))[0]
        inside = [(a, b) for a, b in product(range(4), range(10)) if (a >= 2) == bool(x) and (b > 4) + (b >= 3) == y]
        assert (np.abs(real_moments(np.array(inside, dtype=float), design)) <= largest).all()


def test_bins_alone_do_not_tell_own_values() -> None:
    with pytest.raises(ValueError, match="atomic cells"):
        atoms_of(candidate([(0, 0)]).counts, BINS)


def test_values_count_as_the_nearest_point_of_the_grid_and_never_leave_their_bin() -> None:
    table = ColumnTable(kind="integer", bounds=(100, 9999), alternatives={"bins": ["<1500", "1500-4499 by 100", ">4499"]})
    column = build_column("weight", table, InputTable(), [], None, own_values=True)
    assert column.step == 10
    edges = np.array(column.edges)
    for value in (100, 104, 105, 1494, 1495, 1499, 1500, 1504, 1505, 3301, 4499, 4500, 9999):
        counted = column.atoms.numbers[int(np.searchsorted(edges, value, side="right"))]
        assert counted is not None
        assert abs(counted - value) <= 5
        assert (counted >= 1500) == (value >= 1500)
        assert (counted > 4499) == (value > 4499)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"<4": 1.0}, "'<4' is not a bin of the column: '<2', '>=2'. If the bins are new, run `synthrelease numbers`"),
        ({"<2": 2.0}, "a number from 0 to 1 for the bin '<2', found 2"),
        ({">=2": 1.5}, "a number from 2 to 3 for the bin '>=2', found 1.5"),
    ],
)
def test_a_number_that_a_bin_cannot_hold_is_refused(numbers: dict[str, float], expected: str) -> None:
    with pytest.raises(ColumnError, match=expected):
        build_column("x", X.model_copy(update={"numbers": numbers}), InputTable(), [], None)


@pytest.mark.parametrize("step", [0.5, 1e-5])
def test_a_grid_that_whole_numbers_do_not_have_or_nobody_can_hold_is_refused(step: float) -> None:
    kind = "integer" if step == 0.5 else "real"
    table = ColumnTable(kind=kind, bounds=(0, 9), alternatives={"bins": ["<5", ">=5"]}, step=step)
    with pytest.raises(ColumnError, match="step"):
        build_column("y", table, InputTable(), [], None, own_values=True)
    assert math.isfinite(step)
