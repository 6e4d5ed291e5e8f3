"""Rows of a surrogate, drawn column by column. Systematic sampling keeps counts as near to the facts as whole rows allow.

The rows of one combination of given bands get evenly spaced orders (k + u) / m, k = 0..m-1, in random order, with one
random offset u. Of any interval of orders of length p they hold floor(p m) or ceil(p m), so every figure of the
combination is met to within one row (Madow & Madow 1944).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from synthrelease.errors import InputError
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.simulation.bands import Units
from synthrelease.simulation.facts import FactColumn
from synthrelease.simulation.loading import CheckedFacts, load_facts
from synthrelease.simulation.moments import quantiles
from synthrelease.simulation.network import DrawingNetwork, fitted

MAX_ROWS = 100_000_000


def simulate(path: str | Path, n: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Draw a public surrogate table from a facts file.

    Parameters
    ----------
    n : number of rows, at least 1.
    seed : at least 0; the same file, rows and seed give the same table.

    Returns
    -------
    dict : (n,) values of each column, the rows in random order, the columns as in the file: whole numbers as int64, real
    numbers as float64, categories and dates (yyyy-mm-dd) as texts.

    Raises
    ------
    SpecError : for mistakes in the file.
    InputError : for n or a seed that cannot be used.

    Privacy
    -------
    None is needed: it reads published figures alone.
    """
    if not 1 <= n <= MAX_ROWS:
        raise InputError(f"rows: expected a whole number from 1 to {MAX_ROWS}, found {n}.")
    if seed < 0:
        raise InputError(f"seed: expected a whole number of at least 0, found {seed}.")
    facts = load_facts(Path(path))
    return _draw(facts, fitted(facts), n, SeededEntropy(seed).generator())


def _draw(facts: CheckedFacts, network: DrawingNetwork, n: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """n rows from a fitted network."""
    cells: dict[str, np.ndarray] = {}
    units: dict[str, np.ndarray] = {}
    for name, family in network.families.items():
        edges = network.edges[name]
        group = np.zeros(n, dtype=np.int64)
        for parent, groups, size in zip(family.parents, family.groups, family.shares.shape, strict=False):
            group = group * size + groups[cells[parent]]
        orders = systematic_orders(group, generator)
        if family.moments is not None:
            units[name] = quantiles(facts.units[name], family.moments.reshape(-1, 2)[group], orders)
            cells[name] = np.searchsorted(edges, units[name], side="right") - 1
        else:
            cells[name] = _cells_at(family.shares.reshape(-1, family.shares.shape[-1]), group, orders)
            widths = np.diff(edges)[cells[name]]
            within = systematic_orders(cells[name], generator) if widths.max() > 1 else np.zeros(n)
            units[name] = edges[cells[name]] + np.floor(within * widths).astype(np.int64)
    columns: Mapping[str, FactColumn] = facts.columns
    return {name: _values(columns[name], facts.units[name], units[name]) for name in columns}


def systematic_orders(group: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(n,) orders in [0, 1): evenly spaced within each group of rows, with one random offset and in random order.

    Parameters
    ----------
    group : (n,) the group of each row, numbered from 0.
    """
    order = generator.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    sizes = np.bincount(group)
    offsets = generator.random(len(sizes))
    sorted_group = group[order]
    ranks = np.arange(len(group)) - (np.cumsum(sizes) - sizes)[sorted_group]
    orders = np.empty(len(group))
    orders[order] = (ranks + offsets[sorted_group]) / sizes[sorted_group]
    return np.minimum(orders, np.nextafter(1.0, 0.0))


def _cells_at(shares: np.ndarray, group: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """(n,) the cell at each order of the distribution of its row's group; shares has shape (n_groups, n_cells)."""
    cumulated = np.cumsum(shares, axis=1)
    cumulated /= cumulated[:, -1:]  # the last is 1 exactly, so that no order lies beyond it
    cells = np.empty(len(group), dtype=np.int64)
    by_group = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=len(shares)))
    for number in np.unique(group):
        rows = by_group[ends[number - 1] if number else 0 : ends[number]]
        cells[rows] = np.searchsorted(cumulated[number], orders[rows], side="right")
    return cells


def _values(column: FactColumn, units: Units, drawn: np.ndarray) -> np.ndarray:
    """Units as the values that stand in the table."""
    if units.categories:
        return np.array(units.categories, dtype=object)[drawn]
    if column.kind == "date":
        return np.array([f"{column.year:04d}-{month:02d}-{column.day:02d}" for month in range(13)], dtype=object)[drawn]
    return drawn / units.scale if column.kind == "real" else drawn
