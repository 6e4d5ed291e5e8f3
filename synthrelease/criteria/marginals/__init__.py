"""Marginals: the largest absolute error over tables of some columns, and the largest ratio over 1-way tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.criteria.base import Criterion, Query, Setting
from synthrelease.criteria.drafts import MOST_EPSILON, NOISE_SHARE, CriterionDraft, FileFacts, budget
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.known_errors import CellError, RatioError
from synthrelease.criteria.marginal_tables import LARGEST_WHEN_WIDE, MarginalCriterion, furthest
from synthrelease.criteria.measured_sums import Limits, Sums
from synthrelease.criteria.members import OfMembers, reads_members
from synthrelease.criteria.offenders import Offender, PublicCounts, share
from synthrelease.criteria.wording import shown, words
from synthrelease.data.counts import Counts, has_full_array
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Transformation
from synthrelease.data.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from synthrelease.generators.drawing import Drawing

_MANY = 20
"""Columns beyond which a draft compares tables of two columns alone: those of three take seconds in every round."""


@reads_members
class AbsoluteMarginalError(MarginalCriterion, OfMembers):
    """max |q(R) - q(S)| / n over every cell of the tables of at most `largest` columns, and of those that `tables` names.

    Paper 4.5.2; theory 3.1, absolute marginal error.

    Every cell of the public domain counts: cells absent from both tables differ by 0, cells absent from one by the count
    of the other.

    Privacy
    -------
    Sensitivity 1/n: replacing one record changes each cell's count by at most 1, and the sensitivity of a maximum is the
    maximum of the sensitivities (Proposition 3).

    Examples
    --------
    >>> judged = AbsoluteMarginalError(
    ...     kind="absolute_marginal_error", name="all tables", threshold=0.01, epsilon="0.02", largest=3
    ... )
    >>> judged.least_sensitivity(10_000)
    0.0001
    """

    counts_rows: ClassVar[bool] = True
    bounds_every_cell: ClassVar[bool] = True
    asked_for: ClassVar[str] = "Every cell of a table of columns: the largest error of a share of the rows"
    kind: Literal["absolute_marginal_error"]

    @property
    def asks_single_columns(self) -> bool:
        return self.largest == 1 and not self.tables

    @property
    def worst_figure(self) -> float:
        return 1.0

    def figure_unit(self, facts: PublicFacts) -> str:
        return "share of the rows"

    def sentence(self, facts: PublicFacts) -> str:
        return (
            "The largest difference between released and original share of the rows, over all cells of all tables of "
            f"{self.tables_in_words(len(facts.columns))}."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        return 1 / facts.n

    def known_error(self, limit: float, facts: PublicFacts) -> CellError:
        """Counts are whole numbers, so the limit is rounded down to rows."""
        bins = {column.name: len(column.labels) for column in facts.columns}
        named = tuple(map(frozenset, self.named_columns(bins)))
        rows = math.floor(facts.n * limit)
        return CellError(rows=rows, largest=self.up_to(len(bins)), tables=named, criterion=self.name)

    def every_cell_up_to(self, n_columns: int) -> int:
        return self.up_to(n_columns)

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float:
        """Each cell is one share."""
        bins = {column.name: len(column.labels) for column in facts.columns}
        return drawing.of_cells(bins, self.up_to(len(bins)), self.named_columns(bins))

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft]:
        largest = LARGEST_WHEN_WIDE if len(file.columns) <= _MANY else 2
        yield CriterionDraft(
            settings={
                "name": "absolute error of marginals",
                "kind": "absolute_marginal_error",
                "largest": min(largest, len(file.columns)),
                "threshold": file.cell,
                "epsilon": budget(NOISE_SHARE / (file.n_rows * file.cell)),
            },
            remark=f"no cell of a table of up to {largest} columns may be off by more than this share of all rows",
        )
        yield CriterionDraft(
            settings={
                "name": "absolute error of single columns",
                "kind": "absolute_marginal_error",
                "largest": 1,
                "threshold": file.cell,
                "epsilon": budget(NOISE_SHARE / (file.n_rows * file.cell)),
            },
            remark="no bin of one column may be off by more than this share of all rows",
            asks="shares of single columns",
        )

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The cell that is furthest off."""
        largest, named = self.up_to(len(candidate.counts.layout.sizes)), self.named(candidate.counts.layout)
        where, ours, theirs = worst_cell(candidate.counts, public.counts, candidate.transformation, largest, named)
        if ours is None or theirs is None:
            return Offender(where=where, released="another number", original="rows")
        return Offender(where=where, released=share(ours, candidate.n), original=share(theirs, candidate.n))

    def seconds(self, layout: Layout, rows: int) -> float:
        return seconds_of_differences(layout, self.up_to(len(layout.sizes)) or 1, rows)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals.mechanism import largest_share

        layout = candidate.counts.layout
        largest, named = self.up_to(len(layout.sizes)), self.named(layout)
        return Query(
            sensitivity=1 / n,
            figure=partial(largest_share, candidate=candidate.counts, largest=largest, named=named, rows=n),
        )

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Every cell of every table."""
        return [Sums(columns=columns) for columns in self.compared(facts)]

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """Some end of the widest interval is half of it away from whatever is released."""
        return max(float(each.max()) for each in widths) / n

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        return max(int(furthest(each, facts.cells(one)).max()) for one, each in self._with(limits, facts)) / facts.n


class RelativeMarginalError(Criterion):
    """max of max{r/s, s/r} over the cells of all 1-way tables, r and s the counts plus 1, clipped to [1, clip].

    Attributes
    ----------
    clip : ratios above this count as this, which bounds the noise; above the threshold. Example: `clip = 2`.

    Privacy
    -------
    Sensitivity: the largest step of g(r) = clip(max(r/s, s/r); 1, clip) when r moves by 1, over the public counts s of the
    candidate: one replaced record moves each count of a 1-way table by at most 1 (theory 3.2, relative marginal error;
    tighter than Proposition 5).
    Slack: how many records each r is inside [s / threshold, threshold s], the least over all bins: sensitivity 1, because
    every r moves by at most 1.

    Examples
    --------
    >>> judged = RelativeMarginalError(
    ...     kind="relative_marginal_error", name="single columns", threshold=2, epsilon="0.1", clip=10
    ... )
    >>> judged.figure_range
    (1.0, 10.0)
    """

    best_figure: ClassVar[float] = 1.0
    kind: Literal["relative_marginal_error"]
    clip: float = Field(gt=1, allow_inf_nan=False)

    @property
    def asks_single_columns(self) -> bool:
        return True

    @property
    def worst_figure(self) -> float:
        return self.clip

    def figure_unit(self, facts: PublicFacts) -> str:
        return "ratio"

    def sentence(self, facts: PublicFacts) -> str:
        return (
            "The largest ratio between released and original count (each plus one), in either direction, over all bins of all "
            f"columns. A ratio beyond {shown(self.clip)} counts as that."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        from synthrelease.criteria.marginals.mechanism import one_way

        return ratio_sensitivity(one_way(facts.table), self.clip)

    def known_error(self, limit: float, facts: PublicFacts) -> RatioError | None:
        """A limit at the clip says nothing: larger ratios were counted as the clip."""
        return RatioError(factor=limit, criterion=self.name) if limit < self.clip else None

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft | str]:
        """At a clip of 2 the sensitivity is about 4 over the rows of the rarest bin."""
        shares = [times / file.n_rows for column in file.columns for times in column.category_rows.values()]
        shares += [column.missing_rows / file.n_rows for column in file.columns if column.missing_rows]
        step = 4 / max(1.0, file.n_rows * min([0.01, *shares]))
        epsilon = budget(step / 0.1)
        if epsilon > MOST_EPSILON:
            yield "relative_marginal_error: with so few rows in the rarest bins its noise would need a large budget"
            return
        settings = {"kind": "relative_marginal_error", "threshold": 1.4, "clip": 2, "epsilon": epsilon}
        yield CriterionDraft(
            settings={"name": "relative error of single columns", **settings},
            remark="no bin of one column may be off by more than this factor",
            asks="single columns",
        )

    @model_validator(mode="after")
    def _threshold_below_clip(self) -> RelativeMarginalError:
        if not self.threshold < self.clip:
            raise ValueError(f"threshold must be below clip ({self.clip:g}): a clipped ratio must be able to fail")
        return self

    def effort(self, layout: Layout, n: int) -> float:
        return float(min(n, layout.n_cells)) * len(layout.sizes)

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The bin with the largest ratio."""
        from synthrelease.criteria.marginals.mechanism import one_way

        binnings = zip(candidate.transformation.schema.names, candidate.transformation.binnings, strict=True)
        bins = [f"{words(name)}={label}" for name, binning in binnings for label in binning.labels]
        ours, theirs = one_way(candidate.counts), one_way(public.counts)
        ratios = np.maximum((ours + 1.0) / (theirs + 1.0), (theirs + 1.0) / (ours + 1.0))
        worst = int(ratios.argmax())
        return Offender(where=bins[worst], released=f"{ours[worst]:,} rows", original=f"{theirs[worst]:,}")

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals.mechanism import clipped_ratio, one_way, records_to_spare

        synthetic = one_way(candidate.counts)
        return Query(
            sensitivity=ratio_sensitivity(synthetic, self.clip),
            figure=partial(clipped_ratio, synthetic=synthetic, clip=self.clip),
            slack=partial(records_to_spare, synthetic=synthetic, threshold=self.threshold),
        )

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Every bin of every column."""
        return [Sums(columns=(column.name,)) for column in facts.columns]

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """Of k bins one has at most r = n/k rows, known within h: the best s is sqrt((r + h)/(r - h)) from both ends."""
        ratios = [(n / len(each) + 1 + each.min()) / max(n / len(each) + 1 - each.min(), 1.0) for each in widths]
        return min(math.sqrt(max(ratios)), self.clip)

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        """r/s and s/r are largest at the ends of what r can be."""
        from synthrelease.criteria.marginals.mechanism import largest_ratio, one_way

        synthetic = one_way(facts.table)
        ends = (np.concatenate([each.low for each in limits]), np.concatenate([each.high for each in limits]))
        return max(largest_ratio(original, synthetic, self.clip) for original in ends)


def worst_cell(
    released: Counts, public: Counts, transformation: Transformation, largest: int, named: Sequence[tuple[int, ...]]
) -> tuple[str, int | None, int | None]:
    """The cell that is furthest off, in words, with what two public tables have in it; None of a table that is too large."""
    from synthrelease.data.marginals import differences  # here, for readers of a release have no use for it

    layout = released.layout
    tables = differences(public, released, largest, named)
    columns = max(((int(np.abs(values).max(initial=0)), found) for found, values in tables), key=lambda each: each[0])[1]
    sub = layout.subset(columns)
    if not has_full_array(sub):
        return f"a cell of the table of {shown(sub.columns)}", None, None
    ours, theirs = (table.marginal(columns).ravel() for table in (released, public))
    cell = int(np.abs(ours - theirs).argmax())
    bins = np.unravel_index(cell, sub.sizes)
    labels = [transformation.binning(name).labels[place] for name, place in zip(sub.columns, bins, strict=True)]
    where = ", ".join(f"{words(name)}={label}" for name, label in zip(sub.columns, labels, strict=True))
    return where, int(ours[cell]), int(theirs[cell])


def ratio_sensitivity(synthetic: np.ndarray, clip: float) -> float:
    """Exact largest step of the clipped ratio between r and r + 1 for any of the synthetic counts.

    For a fixed s the ratio s/r falls convexly and r/s rises linearly, so the largest step is next to where s/r leaves the
    clip, next to its minimum at r = s, or where r/s enters the clip; only those r are tried.
    """
    s = np.unique(synthetic)[:, None, None] + 1.0
    near = np.concatenate([np.floor(s / clip), s, np.floor(s * clip)], axis=1)
    r = np.maximum(near + np.arange(-2, 3), 1.0)

    def g(r: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(r / s, s / r), clip)

    return float(np.abs(g(r + 1) - g(r)).max())


def seconds_of_differences(layout: Layout, largest: int, rows: int) -> float:
    """How long `differences` takes for two tables of so many rows each, about, on one core (docs/appendix/benchmarks.md)."""
    from synthrelease.data.axes import column_groups

    largest = min(largest, len(layout.sizes))
    if has_full_array(layout):
        return 2e-9 * layout.n_cells * 2 ** min(largest, 3)
    if largest == len(layout.sizes):
        return 1e-7 * 2 * rows * 2**largest
    return 5e-9 * 2 * rows * math.comb(len(column_groups(layout, largest, rows // 2)), largest)
