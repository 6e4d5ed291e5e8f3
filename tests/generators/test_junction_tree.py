"""Junction trees against sums over the whole domain, on small random domains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from synthrelease.data.layout import Columns
from synthrelease.generators.junction_tree import JunctionTree, largest_clique

Drawn = tuple[tuple[int, ...], list[Columns]]


@st.composite
def domains(draw: st.DrawFn) -> Drawn:
    """Sizes of one to six columns, and column sets over them; columns in no set, and sets inside others, occur."""
    sizes = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=6)))
    columns = st.sets(st.sampled_from(range(len(sizes))), min_size=1, max_size=3).map(lambda each: tuple(sorted(each)))
    return sizes, draw(st.lists(columns, max_size=7))


@settings(max_examples=150, deadline=None)
@given(domains())
def test_a_tree_is_the_maximum_spanning_tree_of_a_library_walked_depth_first(drawn: Drawn) -> None:
    """networkx breaks ties as we do: the tree decides in which order a model draws its columns."""
    import networkx as nx

    tree = JunctionTree.of(*drawn)
    links = nx.Graph()
    links.add_nodes_from(sorted(tree.cliques))
    links.add_weighted_edges_from((a, b, len(set(a) & set(b))) for a, b in combinations(sorted(tree.cliques), 2))
    spanning = nx.maximum_spanning_tree(links)
    assert tree.cliques == tuple(nx.dfs_preorder_nodes(spanning, tree.cliques[0]))
    above = {child: parent for parent, child in nx.dfs_edges(spanning, tree.cliques[0])}
    assert [tree.cliques[parent] for parent in tree.parents[1:]] == [above[clique] for clique in tree.cliques[1:]]
    assert tree.parents[0] == -1
    assert math.prod(drawn[0][column] for column in tree.cliques[0]) == tree.largest


def potentials_of(tree: JunctionTree, seed: int, impossible: float) -> list[np.ndarray]:
    """Random log tables, some cells of which are -inf."""
    generator = np.random.default_rng(seed)
    tables = [generator.normal(0, 2, [tree.sizes[c] for c in clique]) for clique in tree.cliques]
    return [np.where(generator.random(table.shape) < impossible, -np.inf, table) for table in tables]


def whole_domain(tree: JunctionTree, potentials: list[np.ndarray]) -> np.ndarray:
    """The log mass of every cell, one after the other."""
    masses = np.empty(tree.sizes)
    for cell in product(*map(range, tree.sizes)):
        masses[cell] = sum(
            table[tuple(cell[c] for c in clique)] for clique, table in zip(tree.cliques, potentials, strict=True)
        )
    return masses


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(domain=domains(), seed=st.integers(0, 10**6), impossible=st.sampled_from([0.0, 0.15, 0.4]))
def test_shares_and_total_are_those_of_the_whole_domain(domain: Drawn, seed: int, impossible: float) -> None:
    tree = JunctionTree.of(*domain)
    potentials = potentials_of(tree, seed, impossible)
    masses = whole_domain(tree, potentials)
    total, beliefs = tree.calibrate(potentials)
    assert total == pytest.approx(float(logsumexp(masses)), abs=1e-9)
    if not np.isfinite(total):
        return
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        others = tuple(c for c in range(len(tree.sizes)) if c not in clique)
        expected = np.exp(logsumexp(masses, axis=others) - total) if others else np.exp(masses - total)
        np.testing.assert_allclose(np.exp(belief), expected, rtol=1e-9, atol=1e-12)
        assert np.array_equal(np.isneginf(belief), expected == 0)  # exact zeros, not small numbers


@settings(max_examples=120, deadline=None)
@given(domains())
def test_the_cliques_are_a_tree_in_which_every_column_hangs_together(domain: Drawn) -> None:
    """Every column's cliques are connected: as many links between them as there are cliques, less one."""
    sizes, sets = domain
    tree = JunctionTree.of(sizes, sets)
    assert tree.parents[0] == -1
    assert all(0 <= above < index for index, above in enumerate(tree.parents) if index)
    for column in range(len(sizes)):
        holding = [i for i, clique in enumerate(tree.cliques) if column in clique]
        links = [i for i in holding if i and column in tree.cliques[tree.parents[i]]]
        assert len(links) == len(holding) - 1  # also: there is a clique for each column
    for i, clique in enumerate(tree.cliques):
        assert clique == tuple(sorted(set(clique)))
        assert not any(set(clique) <= set(other) for j, other in enumerate(tree.cliques) if j != i)
        assert set(tree.separator(i)) == (set(clique) & set(tree.cliques[tree.parents[i]]) if i else set())


@pytest.mark.parametrize("length", [4, 5, 6])
def test_a_cycle_gets_chords(length: int) -> None:
    """A cycle of pairs is the smallest case in which cliques must hold more than what was asked for together."""
    cycle = [tuple(sorted((column, (column + 1) % length))) for column in range(length)]
    tree = JunctionTree.of((2,) * length, cycle)
    for column in range(length):
        holding = [i for i, clique in enumerate(tree.cliques) if column in clique]
        assert len([i for i in holding if i and column in tree.cliques[tree.parents[i]]]) == len(holding) - 1
    assert sorted(len(clique) for clique in tree.cliques) == [3] * (length - 2)


@settings(max_examples=120, deadline=None)
@given(domains())
def test_every_set_has_a_home_and_it_is_the_smallest(domain: Drawn) -> None:
    sizes, sets = domain
    tree = JunctionTree.of(sizes, sets)
    cells = [int(np.prod([sizes[c] for c in clique])) for clique in tree.cliques]
    assert tree.largest == max(cells)
    for columns in sets:
        holding = [i for i, clique in enumerate(tree.cliques) if set(columns) <= set(clique)]
        assert tree.home(columns) in holding
        assert cells[tree.home(columns)] == min(cells[i] for i in holding)


def test_columns_that_share_nothing_are_cliques_of_their_own() -> None:
    tree = JunctionTree.of((2, 3, 2), [])
    assert sorted(tree.cliques) == [(0,), (1,), (2,)]
    assert {tree.separator(i) for i in range(3)} == {()}


def test_a_chain_of_pairs_keeps_its_pairs_and_a_cycle_gets_a_chord() -> None:
    """Four columns of 10 bins: a chain needs cliques of 100 cells, a cycle one of 1000; never the domain of 10,000."""
    chain = [(0, 1), (1, 2), (2, 3)]
    assert sorted(JunctionTree.of((10,) * 4, chain).cliques) == chain
    assert JunctionTree.of((10,) * 4, [*chain, (0, 3)]).largest == 1000


def test_huge_and_tiny_masses_do_not_overflow() -> None:
    """exp(2000) is no double; the shares are."""
    tree = JunctionTree.of((2, 2, 2), [(0, 1), (1, 2)])
    potentials = [np.zeros((2, 2)), np.zeros((2, 2))]
    potentials[0][0, 0], potentials[1][1, 1] = 2000.0, -2000.0
    masses = whole_domain(tree, potentials)
    total, beliefs = tree.calibrate(potentials)
    assert total == pytest.approx(float(logsumexp(masses)))
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        (other,) = {0, 1, 2} - set(clique)
        np.testing.assert_allclose(np.exp(belief), np.exp(logsumexp(masses, axis=other) - total), atol=1e-12)


def plainly_eliminated(sizes: Sequence[int], sets: Sequence[tuple[int, ...]]) -> set[frozenset[int]]:
    """The maximal cliques by the rule as it is written down: neighbours as sets, everything reckoned anew each time."""
    around = {each: {other for columns in sets if each in columns for other in columns} - {each} for each in range(len(sizes))}
    found = []
    while around:

        def key(column: int) -> tuple[bool, int, int]:
            loose = any(other not in around[one] for one in around[column] for other in around[column] if one != other)
            return loose, math.prod(sizes[each] for each in (column, *around[column])), column

        column = min(around, key=key)
        near = around.pop(column)
        found.append(frozenset({column, *near}))
        for one in near:
            around[one] = (around[one] | near) - {one, column}
    return {clique for clique in found if not any(clique < other for other in found)}


@given(
    sizes=st.lists(st.integers(2, 9), min_size=1, max_size=9),
    drawn=st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=3, unique=True), max_size=14),
)
def test_cliques_are_those_of_the_rule_as_it_is_written_down(sizes: list[int], drawn: list[list[int]]) -> None:
    sets = [tuple(sorted({each % len(sizes) for each in columns})) for columns in drawn]
    tree, wanted = JunctionTree.of(sizes, sets), plainly_eliminated(sizes, sets)
    assert set(map(frozenset, tree.cliques)) == wanted
    assert largest_clique(sizes, sets) == tree.largest == max(math.prod(sizes[each] for each in clique) for clique in wanted)
