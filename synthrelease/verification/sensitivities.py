"""Sensitivities again, from public facts alone: the released table, n, and the parameters of a criterion."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from synthrelease.bundle.table import ReleasedTable
from synthrelease.criteria.marginals import one_way, ratio_sensitivity
from synthrelease.published.columns import BinPart, ColumnPart
from synthrelease.published.document import CriterionPart, ReleaseDocument


def public_sensitivity(criterion: CriterionPart, document: ReleaseDocument, table: ReleasedTable) -> float | None:
    """What the sensitivity of a criterion's figure must be; None for kinds whose sensitivity is not known here."""
    find = SENSITIVITIES.get(criterion.kind)
    return None if find is None else find(criterion, document, table)


def _one_record(criterion: CriterionPart, document: ReleaseDocument, table: ReleasedTable) -> float:
    return 1 / document.n_rows


def _ratio(criterion: CriterionPart, document: ReleaseDocument, table: ReleasedTable) -> float:
    return ratio_sensitivity(one_way(table.counts), float(criterion.parameters["clip"]))


def _prediction(criterion: CriterionPart, document: ReleaseDocument, table: ReleasedTable) -> float | None:
    if criterion.parameters.get("bound", "range") != "range":
        return None  # it follows from the two lines, of which the bundle holds one
    low, high = criterion.parameters["range"]
    return 2 * (float(high) - float(low)) / document.n_rows


def _mean(criterion: CriterionPart, document: ReleaseDocument, table: ReleasedTable) -> float:
    """The range over the smallest public group size (theory 3.3, conditional means)."""
    low, high = criterion.parameters["range"]
    margin = math.ceil(float(criterion.parameters["size_margin"]) * document.n_rows)
    sizes = [document.n_rows] if criterion.parameters.get("overall", True) else []
    columns = {column.name: (index, column) for index, column in enumerate(document.columns)}
    for name in criterion.parameters.get("by", ()):
        index, column = columns[name]
        rows = table.one_way(index)
        groups = document.groups.get(name)
        sizes += rows.tolist() if groups is None else [int(rows[_inside(column, group)].sum()) for group in groups]
    return (float(high) - float(low)) / min(max(1, size - margin) for size in sizes)


def _inside(column: ColumnPart, group: BinPart) -> np.ndarray:
    """(n_bins,) which released bins lie in a group."""
    if group.categories is not None:
        return np.array([set(one.categories or ()) <= set(group.categories) for one in column.bins])
    low, high = _edges(group)
    return np.array([low <= _edges(one)[0] and _edges(one)[1] <= high for one in column.bins])


def _edges(one: BinPart) -> tuple[float, float]:
    return -math.inf if one.lower is None else float(one.lower), math.inf if one.below is None else float(one.below)


SENSITIVITIES: dict[str, Callable[[CriterionPart, ReleaseDocument, ReleasedTable], float | None]] = {
    "absolute_marginal_error": _one_record,
    "faithfulness": _one_record,
    "relative_marginal_error": _ratio,
    "regression_prediction": _prediction,
    "conditional_mean": _mean,
}
