"""The network of a surrogate: its columns in an order in which each comes after its parents, and the family of each.

The surrogate's distribution is the product of the families: each column given its parents, the columns that its tables name.
All tables of a column are met at once by iterative proportional fitting over its own bands and those of its parents, whose
joint distribution comes from the families before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import networkx as nx
import numpy as np

from synthrelease.errors import Problem, SpecError, listing
from synthrelease.simulation.bands import cell_edges
from synthrelease.simulation.families import fitted_moments, fitted_shares, parent_groups
from synthrelease.simulation.loading import CheckedFacts
from synthrelease.simulation.moments import shares_of_cells

MAX_CELLS = 2_000_000
MAX_COLUMN_CELLS = 10_000
MAX_PARENTS = 12


@dataclass(frozen=True, kw_only=True)
class GivenParents:
    """A column given its parents.

    Attributes
    ----------
    groups : for each parent, (n_cells of the parent,) the group of bands that each of its cells is in.
    shares : (n_groups, ..., n_cells) share of each cell of the column, given a group of each parent.
    moments : (n_groups, ..., 2) mean and standard deviation, for a column that is drawn from means.
    """

    column: str
    parents: tuple[str, ...]
    groups: tuple[np.ndarray, ...]
    shares: np.ndarray
    moments: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class DrawingNetwork:
    """The families in the order of drawing, and the units at which the cells of each column start."""

    families: Mapping[str, GivenParents]
    edges: Mapping[str, np.ndarray]


def fitted(facts: CheckedFacts) -> DrawingNetwork:
    """Order the columns and fit each to its tables.

    Raises
    ------
    SpecError : when the tables lead round in a circle, are too large together, or contradict each other.
    """
    edges = {}
    tables = [table for column in facts.columns for table in facts.tables(column)]
    for name, column in facts.columns.items():
        mentioned = [band for table in tables if table.of == name for band in table.bands]
        mentioned += [
            band for table in tables for given, bands in zip(table.given, table.given_bands, strict=True) if given == name
            for band in bands
        ]  # fmt: skip
        interpolated = column.within == "interpolated" and name in facts.shares
        edges[name] = cell_edges(facts.units[name], mentioned, interpolated=interpolated)
        if len(edges[name]) > MAX_COLUMN_CELLS:
            raise _too_large(facts, name, f"at most {MAX_COLUMN_CELLS} different bands", "more")
    families: dict[str, GivenParents] = {}
    for name in _order(facts):
        families[name] = _family(facts, name, families, edges)
    return DrawingNetwork(families=families, edges=edges)


def _order(facts: CheckedFacts) -> list[str]:
    """Columns after all their parents; among several, as in the file."""
    graph = nx.DiGraph()
    graph.add_nodes_from(facts.columns)
    for column in facts.columns:
        for table in facts.tables(column):
            graph.add_edges_from(((given, column) for given in table.given), path=table.path)
    if not nx.is_directed_acyclic_graph(graph):
        circle = nx.find_cycle(graph)
        parts = [f"{column!r} needs {given!r} ({graph.edges[given, column]['path']})" for given, column in reversed(circle)]
        path = f"{graph.edges[circle[0]]['path']}.given"
        expected = "tables that do not lead round in a circle"
        raise SpecError([Problem(file=facts.file, path=path, expected=expected, found="; ".join(parts))])
    places = {column: place for place, column in enumerate(facts.columns)}
    return list(nx.lexicographical_topological_sort(graph, key=places.__getitem__))


def _family(
    facts: CheckedFacts, column: str, families: Mapping[str, GivenParents], edges: Mapping[str, np.ndarray]
) -> GivenParents:
    tables = facts.tables(column)
    parents = tuple(dict.fromkeys(given for table in tables for given in table.given))
    if len(parents) > MAX_PARENTS:
        raise _too_large(facts, column, f"at most {MAX_PARENTS} given columns", f"{len(parents)}")
    cells = prod(len(edges[name]) - 1 for name in (column, *parents))
    if cells > MAX_CELLS:
        expected = f"at most {MAX_CELLS} combinations of the bands of {listing([column, *parents])}"
        raise _too_large(facts, column, expected, f"{cells}")
    groups = parent_groups(tables, parents, edges)
    joint = _joint(families, parents, groups.of_cells)
    if column in facts.means:
        moments = fitted_moments(tables[0], groups, joint)
        shares = shares_of_cells(facts.units[column], moments, edges[column])
        return GivenParents(column=column, parents=parents, groups=groups.of_cells, shares=shares, moments=moments)
    shares = fitted_shares(facts, column, groups, joint, edges[column])
    return GivenParents(column=column, parents=parents, groups=groups.of_cells, shares=shares)


def _too_large(facts: CheckedFacts, column: str, expected: str, found: str) -> SpecError:
    expected = f"{expected} in all tables of {column!r}"
    return SpecError([Problem(file=facts.file, path=f"columns.{column}", expected=expected, found=found)])


def _joint(families: Mapping[str, GivenParents], parents: Sequence[str], groups: Sequence[np.ndarray]) -> np.ndarray:
    """(n_groups, ...) joint distribution of the parents' groups: the product of the families above, summed over the rest."""
    needed = [*parents]
    for name in needed:  # grows while it is read
        needed += [parent for parent in families[name].parents if parent not in needed]
    label = {name: number for number, name in enumerate(needed)}
    operands: list[Any] = []
    for name in needed:
        family = families[name]
        cells = family.shares[np.ix_(*family.groups, np.arange(family.shares.shape[-1]))]
        operands += [cells, [label[parent] for parent in family.parents] + [label[name]]]
    for number, (parent, group) in enumerate(zip(parents, groups, strict=True)):
        operands += [np.eye(int(group.max()) + 1)[group], [label[parent], len(needed) + number]]
    if not parents:
        return np.array(1.0)
    return np.einsum(*operands, [len(needed) + number for number in range(len(parents))], optimize="greedy")
