"""What a figure is held against: halves of one file, the projection of a half, and columns drawn one by one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.enclave.ingest import read_public
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.spec.load import load_spec
from synthrelease.studio.baselines.base import independent_columns
from synthrelease.studio.rehearsal.closer_look import halves, once_only, yardsticks
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

LAYOUT = Layout(columns=("a", "b"), sizes=(3, 4))
tables = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=40)


def table_of(rows: list[tuple[int, int]]) -> Counts:
    a, b = np.array(rows).T
    return Counts.of(LAYOUT, [a, b])


@settings(max_examples=100, deadline=None)
@given(tables, st.integers(0, 2**32 - 1))
def test_halves_are_different_rows_of_one_file(rows: list[tuple[int, int]], seed: int) -> None:
    table = table_of(rows)
    left, right = halves(table, np.random.default_rng(seed))
    assert left.total == right.total == len(rows) // 2
    whole = [each.marginal((0, 1)) for each in (left, right, table)]
    assert (whole[0] + whole[1] <= whole[2]).all()


def test_each_row_is_as_likely_in_either_half() -> None:
    table = table_of([(0, 0)] * 3 + [(2, 3)] * 5)
    drawn = [halves(table, np.random.default_rng(seed))[0].marginal((0, 1))[0, 0] for seed in range(2000)]
    expected = [math.comb(3, k) * math.comb(5, 4 - k) / math.comb(8, 4) for k in range(4)]
    assert np.bincount(drawn, minlength=4) / 2000 == pytest.approx(expected, abs=5 * (0.25 / 2000) ** 0.5)


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(0, 2**32 - 1))
def test_independent_columns_keep_the_rows_of_every_bin(rows: list[tuple[int, int]], seed: int) -> None:
    table = table_of(rows)
    found = independent_columns(table, np.random.default_rng(seed))
    for column in (0, 1):
        assert found.marginal((column,)).tolist() == table.marginal((column,)).tolist()


def test_independent_columns_forget_each_other() -> None:
    table = table_of([(place % 3, place % 3) for place in range(3000)])
    found = independent_columns(table, np.random.default_rng(1)).marginal((0, 1))
    assert found[:3, :3] == pytest.approx(np.full((3, 3), 1000 / 3), abs=5 * (1000 / 3) ** 0.5)


@given(tables)
@settings(max_examples=60, deadline=None)
def test_the_share_of_rows_that_occur_once(rows: list[tuple[int, int]]) -> None:
    assert once_only(table_of(rows)) == sum(rows.count(row) == 1 for row in rows) / len(rows)


def test_figures_are_those_of_a_half_as_the_release_of_the_other(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    public = read_public(write_data(tmp_path), spec.schema, spec.input, spec.raw)
    configuration = spec.space[0]
    found = yardsticks(spec, public, configuration, seed=4)
    place = next(i for i, criterion in enumerate(spec.criteria) if criterion.kind == "absolute_marginal_error")
    random, transformation = SeededEntropy(4, 7).generator(), configuration.transformation
    expected = []
    for left, right in [halves(public, random) for _ in range(2)]:
        one, other = (half.merge(transformation.layout, transformation.maps) for half in (left, right))
        tables = [(0,), (1,), (0, 1)]
        expected.append(max(float(np.abs(one.marginal(t) - other.marginal(t)).max()) for t in tables) / left.total)
    assert found[place].perfect == pytest.approx(max(expected), rel=1e-4)  # figures are rounded
    assert found[place].projected >= 0
