"""Noisy marginals on coarser bins: the same as measuring there without noise, with the noise that was added up; and the bins
that all configurations share."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Column, Schema
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.measurements import NoisyMarginal
from synthrelease.generators.projections import MinimumCount
from synthrelease.generators.space import ConfigurationSpace, join
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column
from tests.helpers.small import layout_of


@st.composite
def coarsenings(draw: st.DrawFn) -> tuple[Layout, Layout, list[np.ndarray]]:
    """A layout of three columns, a coarser one, and the maps between their bins (every coarse bin is met)."""
    fine, coarse, maps = [], [], []
    for _ in range(3):
        size = draw(st.integers(1, 5))
        into = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
        names = sorted(set(into))
        maps.append(np.array([names.index(name) for name in into]))
        fine.append(size)
        coarse.append(len(names))
    return layout_of(*fine), layout_of(*coarse), maps


def measured(generator: Marginals, counts: Counts, noisy: bool = False):
    charge = generator.charge(Fraction(1))
    private = PrivateCounts(counts, Meter([charge]))
    return generator.measure(private if noisy else private.rehearsed(NoNoise()), charge)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(where=coarsenings(), seed=st.integers(0, 10**6), tables=st.sampled_from(["all 2-way", "c2:c0 + c1", "all 3-way + c0"]))
def test_merging_measurements_is_measuring_merged_counts(
    where: tuple[Layout, Layout, list[np.ndarray]], seed: int, tables: str
) -> None:
    fine, coarse, maps = where
    counts = Counts(fine, np.random.default_rng(seed).integers(0, fine.n_cells, 40))
    generator = Marginals(tables=tables)
    there = measured(generator, counts.merge(coarse, maps))
    here = measured(generator, counts).merge(coarse, maps)
    assert (here.layout, here.n) == (coarse, 40)
    for merged, direct in zip(here.tables, there.tables, strict=True):
        assert (merged.columns, merged.cost) == (direct.columns, direct.cost)
        assert np.array_equal(merged.values, direct.values)


@settings(max_examples=60, deadline=None)
@given(where=coarsenings())
def test_the_variance_counts_the_cells_that_were_added_up(where: tuple[Layout, Layout, list[np.ndarray]]) -> None:
    """Noise of scale 2 / epsilon has the variance 8 / epsilon^2 per cell."""
    fine, coarse, maps = where
    table = NoisyMarginal(
        columns=(0, 2),
        values=np.zeros((fine.sizes[0], fine.sizes[2]), dtype=np.int64),
        cost=Fraction(1, 2),
        cells=np.ones((fine.sizes[0], fine.sizes[2]), dtype=np.int64),
    )
    np.testing.assert_allclose(table.variance(), 32.0)
    merged = table.merge(coarse, maps)
    expected = np.outer(*(np.bincount(maps[c], minlength=coarse.sizes[c]) for c in (0, 2)))
    assert np.array_equal(merged.cells, expected)
    np.testing.assert_allclose(merged.variance(), 32.0 * expected)


def test_the_variance_is_that_of_the_noise() -> None:
    """4000 cells of noise, added up by fours: the variance of a variance of 1000 Laplace sums is about 5%."""
    layout, coarse = layout_of(4000), layout_of(1000)
    noisy = measured(Marginals(tables="c0"), Counts(layout, np.array([0])), noisy=True)
    merged = noisy.merge(coarse, [np.arange(4000) // 4]).tables[0]
    assert np.var(merged.values) == pytest.approx(merged.variance().mean(), rel=0.3)
    assert np.var(merged.values) > 3 * noisy.tables[0].variance().mean()


def integer_column(name: str, alternatives: dict[str, list[str]]) -> Column:
    return build_column(name, ColumnTable(kind="integer", bounds=(0, 9), alternatives=alternatives), InputTable(), [], None)


def space(columns: Sequence[Column]) -> ConfigurationSpace:
    return ConfigurationSpace(
        schema=Schema(columns=tuple(columns)),
        binnings={column.name: tuple(column.alternatives) for column in columns},
        generators=(Marginals(tables="all 1-way"),),
        projections=(MinimumCount(minimum_count=1),),
    )


ALTERNATIVES = {"low": ["0-2", "3-9"], "high": ["0-5", "6-9"], "three": ["0-2", "3-5", "6-9"]}


@pytest.mark.parametrize(
    ("chosen", "labels"),
    [
        (["low"], ("0-2", "3-9")),
        (["low", "three"], ("0-2", "3-5", "6-9")),  # one that refines all others is taken as it is
        (["high", "three", "low"], ("0-2", "3-5", "6-9")),
    ],
)
def test_the_common_bins_are_the_finest_alternative_where_there_is_one(chosen: list[str], labels: tuple[str, ...]) -> None:
    column = integer_column("x", ALTERNATIVES)
    joined = join(column, [column.alternatives[name] for name in chosen])
    assert joined.labels == labels
    assert joined in [column.alternatives[name] for name in chosen]


def test_bins_that_cross_get_their_common_refinement_and_no_finer() -> None:
    column = integer_column("x", {"low": ALTERNATIVES["low"], "high": ALTERNATIVES["high"]})
    binnings = [column.alternatives[name] for name in ("low", "high")]
    joined = join(column, binnings)
    assert len(joined) == 3  # 0-2, 3-5, 6-9
    assert all(joined.refines(binning) for binning in binnings)
    pairs = list(zip(*(binning.of_atom for binning in binnings), strict=True))
    for first in range(len(pairs)):
        for second in range(len(pairs)):  # two atoms are together just when every alternative keeps them together
            assert (joined.of_atom[first] == joined.of_atom[second]) == (pairs[first] == pairs[second])


def test_measurements_on_common_bins_merge_to_the_bins_of_every_configuration() -> None:
    columns = [
        integer_column("x", {"low": ALTERNATIVES["low"], "high": ALTERNATIVES["high"]}),
        integer_column("y", ALTERNATIVES),
    ]
    chosen = space(columns)
    atoms = chosen.schema.layout
    rows = Counts(atoms, np.random.default_rng(0).integers(0, atoms.n_cells, 200))
    common = chosen.common
    generator = Marginals(tables="x:y + x")
    shared = measured(generator, rows.merge(common.layout, common.maps))
    for transformation in chosen.transformations:
        maps = [finer.map_to(coarser) for finer, coarser in zip(common.binnings, transformation.binnings, strict=True)]
        direct = measured(generator, rows.merge(transformation.layout, transformation.maps))
        for merged, table in zip(shared.merge(transformation.layout, maps).tables, direct.tables, strict=True):
            assert np.array_equal(merged.values, table.values)
    assert len(chosen.transformations) == 2 * 3
