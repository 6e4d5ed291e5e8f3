"""Drafted acceptance criteria: thresholds that a first rehearsal can start from, and budgets that their noise asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.drafting.columns import ColumnDraft

NOISE_SHARE = 8
"""The noise scale of a figure is to be at most its threshold divided by this: then the figure also bounds other errors."""

MOST_EPSILON = Fraction(1, 2)
MOST_GROUPS = 6


@dataclass(frozen=True, kw_only=True)
class CriterionDraft:
    """One criterion: its TOML keys in order, and a remark."""

    settings: dict[str, object]
    remark: str


@dataclass(frozen=True, kw_only=True)
class AcceptanceDraft:
    """The criteria, the groups of columns of numbers, and what was left out and why."""

    criteria: tuple[CriterionDraft, ...]
    groups: dict[str, tuple[float, ...]]
    left_out: tuple[str, ...]

    @property
    def epsilon(self) -> Fraction:
        """Sum of the criteria's budgets."""
        return sum((Fraction(str(draft.settings.get("epsilon", 0))) for draft in self.criteria), Fraction(0))


def draft_acceptance(columns: Sequence[ColumnDraft], n_rows: int) -> AcceptanceDraft:
    """Criteria for these columns.

    Parameters
    ----------
    n_rows : of the public file; the private one is taken to have about as many.
    """
    cell = 0.01 if n_rows >= 50_000 else 0.02 if n_rows >= 10_000 else 0.03 if n_rows >= 2_000 else 0.05
    groups = {
        column.name: column.bins.groups
        for column in columns
        if column.bins and column.part is None and column.bins.smallest_group > 3 * cell
    }
    found = [
        CriterionDraft(
            settings={
                "name": "absolute error of marginals",
                "kind": "absolute_marginal_error",
                "largest": min(3, len(columns)),
                "threshold": cell,
                "epsilon": budget(NOISE_SHARE / (n_rows * cell)),
            },
            remark="no cell of a table of up to three columns may be off by more than this share of all rows",
        )
    ]
    left_out = []
    ratio_epsilon = budget(_ratio_step(columns, n_rows) / 0.1)
    if ratio_epsilon <= MOST_EPSILON:
        settings = {"kind": "relative_marginal_error", "threshold": 1.4, "clip": 2, "epsilon": ratio_epsilon}
        remark = "no bin of one column may be off by more than this factor"
        found.append(CriterionDraft(settings={"name": "relative error of single columns", **settings}, remark=remark))
    else:
        left_out.append("relative_marginal_error: with so few rows in the rarest bins its noise would need a large budget")
    for column in _worth_averaging(columns):
        mean = _mean(column, columns, groups, n_rows, cell)
        if isinstance(mean, CriterionDraft):
            found.append(mean)
        else:
            left_out.append(mean)
    found.append(_faithfulness(columns, n_rows))
    found.append(
        CriterionDraft(
            settings={"name": "face privacy", "kind": "face_privacy", "minimum_count": 2},
            remark="no row of the release may look unique; costs nothing",
        )
    )
    return AcceptanceDraft(criteria=tuple(found), groups=groups, left_out=tuple(left_out))


def budget(wanted: float) -> Fraction:
    """An epsilon of at least this much, as a steward would write it: 0.01, 0.02, 0.05, 0.1, ..."""
    power = 10.0 ** math.floor(math.log10(max(wanted, 0.01)))
    factor = next(factor for factor in (1, 2, 5, 10) if power * factor >= max(wanted, 0.01) * (1 - 1e-9))
    return Fraction(f"{power * factor:.12g}")


def _ratio_step(columns: Sequence[ColumnDraft], n_rows: int) -> float:
    """About the sensitivity of the clipped ratio at 2: 4 / (rows of the rarest bin)."""
    shares = [times / n_rows for column in columns for _, times in column.categories.values()]
    return 4 / max(1.0, n_rows * min([0.01, *shares]))


def _worth_averaging(columns: Sequence[ColumnDraft]) -> list[ColumnDraft]:
    """The two columns of numbers with the most bins, dates apart."""
    numeric = [column for column in columns if column.bins and column.part is None and len(column.bins.coarse) > 2]
    return sorted(numeric, key=lambda column: -len(column.bins.coarse if column.bins else ()))[:2]


def _mean(
    column: ColumnDraft, columns: Sequence[ColumnDraft], groups: dict[str, tuple[float, ...]], n_rows: int, cell: float
) -> CriterionDraft | str:
    """The mean of a column by up to three others, or why there is none."""
    bins = column.bins
    if bins is None:
        return f"mean {column.name}: no numbers"
    low, high = bins.coarse[0], bins.coarse[-1]
    sizes = {other.name: _smallest_group(other, n_rows) for other in columns if other is not column and other.part is None}
    by = [name for name, smallest in sizes.items() if smallest > 3 * cell][:3]
    smallest = min((sizes[name] for name in by), default=1.0)
    threshold = float(f"{(high - low) * 0.05:.2g}")
    epsilon = budget(NOISE_SHARE * (high - low) / (threshold * n_rows * (smallest - cell)))
    if epsilon > MOST_EPSILON:
        return f"mean {column.name}: with so few rows its noise would need a budget of {float(epsilon):g}"
    settings: dict[str, object] = {
        "name": f"mean {column.name}",
        "kind": "conditional_mean",
        "column": column.name,
        "by": by,
        "range": [low, high],
        "size_margin": cell,
        "threshold": threshold,
        "epsilon": epsilon,
    }
    return CriterionDraft(settings=settings, remark="no mean of a group, nor the overall mean, may be off by more than this")


def _smallest_group(column: ColumnDraft, n_rows: int) -> float:
    """Share of the rows in the smallest group of a column; 0 where it has too many groups."""
    if column.bins:
        return column.bins.smallest_group
    return min(times for _, times in column.categories.values()) / n_rows if len(column.categories) <= MOST_GROUPS else 0.0


def _faithfulness(columns: Sequence[ColumnDraft], n_rows: int) -> CriterionDraft:
    threshold = 0.1 if n_rows >= 50_000 else 0.2
    settings = {
        "name": "faithfulness",
        "kind": "faithfulness",
        "exact": [column.name for column in columns if not column.bins],
        "within_one_bin": [column.name for column in columns if column.bins],
        "threshold": threshold,
        "epsilon": budget(NOISE_SHARE / (n_rows * threshold)),
    }
    return CriterionDraft(settings=settings, remark="the share of rows without a similar original row of their own")
