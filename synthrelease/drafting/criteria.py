"""Drafted acceptance criteria: what each kind drafts of itself, and the groups of columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.drafts import CriterionDraft, FileColumn, FileFacts
from synthrelease.drafting.columns import ColumnDraft

MOST_GROUPS = 6


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
    file = FileFacts(columns=tuple(_facts(column, n_rows) for column in columns), n_rows=n_rows, cell=cell)
    found = [each for criterion in CRITERIA.values() for each in criterion.drafts(file)]
    return AcceptanceDraft(
        criteria=tuple(each for each in found if isinstance(each, CriterionDraft)),
        groups=groups,
        left_out=tuple(each for each in found if isinstance(each, str)),
    )


def _facts(column: ColumnDraft, n_rows: int) -> FileColumn:
    return FileColumn(
        name=column.name,
        of_date=column.part is not None,
        limits=column.bins.coarse if column.bins else None,
        category_rows=tuple(times for _, times in column.categories.values()),
        smallest_group=_smallest_group(column, n_rows),
    )


def _smallest_group(column: ColumnDraft, n_rows: int) -> float:
    """Share of the rows in the smallest group of a column; 0 where it has too many groups."""
    if column.bins:
        return column.bins.smallest_group
    return min(times for _, times in column.categories.values()) / n_rows if len(column.categories) <= MOST_GROUPS else 0.0
