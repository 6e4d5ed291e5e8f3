"""Conditional means: the largest error of a column's mean over groups of other columns (paper 4.5.3; theory 3.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.candidate import Candidate
from synthrelease.criteria.base import Criterion, Mistake, Query, Setting, not_inside, unknown_columns, unnumbered
from synthrelease.table import Counts


class ConditionalMean(Criterion):
    """max over groups v of |resized mean_R(column | v) - mean_S(column | v)|.

    Attributes
    ----------
    column : the column that is averaged, by the numbers of its bins, clipped to `range`.
    by : group-by columns; `overall` adds the mean of all rows.
    size_margin : public bound T on the error of a group's share; the resize parameter of group v is
        m_v = max(1, count_S(v) - ceil(n T)). The threshold of the absolute marginal error is the natural choice.

    Privacy
    -------
    Sensitivity (U - L) / min_v m_v. The resized mean of a group is sum/len when len >= m, else
    (sum + (m - len) w) / m with w the middle of the range; it moves by at most (U - L)/m when one value is added, removed
    or replaced (theory 3.3), and one replaced record does one of these to each group. Groups and m_v come from the
    candidate and n, so they are public. The maximum keeps the sensitivity (Proposition 3).
    """

    kind: Literal["conditional_mean"]
    column: str
    by: tuple[str, ...] = ()
    overall: bool = True
    range: tuple[float, float]
    size_margin: float = Field(ge=0, lt=1)

    @property
    def figure_range(self) -> tuple[float, float]:
        return 0.0, self.range[1] - self.range[0]

    @model_validator(mode="after")
    def _usable(self) -> ConditionalMean:
        if not self.range[0] < self.range[1]:
            raise ValueError("range must be [lowest, highest] with lowest < highest")
        if not self.by and not self.overall:
            raise ValueError("there must be a group-by column, or overall = true")
        return self

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        unknown = [*unknown_columns(setting.schema, "column", [self.column])]
        unknown += unknown_columns(setting.schema, "by", self.by)
        if unknown:
            return unknown
        found = [*unnumbered(setting, "column", self.column)]
        for column in self.by:
            if column in setting.groups:
                found += not_inside(setting, "by", column, setting.groups[column])
        return found

    def query(self, n: int, candidate: Candidate, setting: Setting, earlier: Mapping[str, object]) -> Query:
        lowest, highest = self.range
        groups = self._groups(candidate, setting)
        numbers = np.clip(candidate.transformation.numbers(self.column), lowest, highest)
        column = candidate.transformation.layout.index(self.column)
        synthetic = [_sums(candidate.counts, column, numbers, group) for group in groups]
        margin = math.ceil(self.size_margin * candidate.n)
        sizes = [np.maximum(1, counts - margin) for counts, _ in synthetic]
        void = any((counts == 0).any() for counts, _ in synthetic)  # an empty group has no mean
        targets = [sums / np.maximum(counts, 1) for counts, sums in synthetic]
        sensitivity = (highest - lowest) / min(int(size.min()) for size in sizes)

        def figure(counts: Counts) -> float:
            worst = 0.0
            for group, size, target in zip(groups, sizes, targets, strict=True):
                means = resized_means(*_sums(counts, column, numbers, group), size, (lowest + highest) / 2)
                worst = max(worst, float(np.abs(means - target).max()))
            return worst

        return Query(sensitivity=sensitivity, figure=figure, void=void)

    def _groups(self, candidate: Candidate, setting: Setting) -> list[tuple[int, np.ndarray]]:
        """(column index, group of every bin) for each grouping; all bins in group 0 for the overall mean."""
        layout, groups = candidate.transformation.layout, []
        for name in self.by:
            binning = candidate.transformation.binning(name)
            into = binning.map_to(setting.groups[name]) if name in setting.groups else np.arange(len(binning))
            groups.append((layout.index(name), np.asarray(into)))
        if self.overall:
            groups.append((0, np.zeros(layout.sizes[0], dtype=np.int64)))
        return groups


def _sums(table: Counts, column: int, numbers: np.ndarray, group: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(n_groups,) counts and sums, added up in the order of the cells.

    Sums of whole numbers and halves are exact; others have a relative error of about 1e-12 at worst, far below the grid of the
    noise (`laplace_figure`).
    """
    by, into = group
    values, members = numbers[table.digits(column)], into[table.digits(by)]
    n_groups = int(into.max()) + 1
    counts = np.bincount(members, weights=table.counts, minlength=n_groups).astype(np.int64)
    return counts, np.bincount(members, weights=table.counts * values, minlength=n_groups)


def resized_means(counts: np.ndarray, sums: np.ndarray, sizes: np.ndarray, fallback: float) -> np.ndarray:
    """Deterministic resized mean of every group (theory 3.3): short groups are filled up with `fallback`."""
    short = np.maximum(sizes - counts, 0)
    return (sums + short * fallback) / np.maximum(counts, sizes)
