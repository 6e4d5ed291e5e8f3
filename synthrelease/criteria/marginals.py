"""Define criteria that compare marginal tables by errors of cells, ratios of bins, distances of tables, or weighted cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.columns import MarginalCriterion, MarginalCriterionExplained, furthest, unknown_columns, unnumbered
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import (
    CellError,
    LostPair,
    Offender,
    PublicCounts,
    PublicFacts,
    Query,
    RatioError,
    in_words,
    share,
    words,
)
from synthrelease.criteria.measured import Limits, Sums
from synthrelease.criteria.members import OfMembers, reads_members
from synthrelease.data.counts import Counts, has_full_array
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Transformation
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import Unexpected
from synthrelease.settings.base import AboutColumn, Mistake

if TYPE_CHECKING:
    from synthrelease.generators.drawing import Drawing


@reads_members
class AbsoluteMarginalError(MarginalCriterion, OfMembers):
    """The largest error of a cell of the compared tables, as a share of the rows. If 3.1% of the private and 3.6% of the
    released rows are in a cell, its error is 0.005. The value is max |q(R) - q(S)| / n over all cells of the public domain,
    where q(R) and q(S) are the private and the released count of a cell, and n is the number of rows.

    Paper 4.5.2; theory 3.1, absolute marginal error.

    Privacy
    -------
    The sensitivity is 1/n. Replacing one record changes each cell's count by at most 1, and the sensitivity of a maximum is
    the maximum of the sensitivities (Proposition 3).

    Examples
    --------
    >>> judged = AbsoluteMarginalError(
    ...     kind="absolute_marginal_error", name="all tables", threshold=0.01, epsilon="0.02", largest=3
    ... )
    >>> judged.figure_range
    (0.0, 1.0)
    """

    counts_rows: ClassVar[bool] = True
    kind: Literal["absolute_marginal_error"]

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals_mechanism import largest_share

        tables = self.compared_in(candidate.counts.layout)
        return Query(sensitivity=1 / n, figure=partial(largest_share, candidate=candidate.counts, rows=n, **tables))

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        return [Sums(columns=columns) for columns in self.compared(facts)]

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """Return a lower limit on the bound: the largest h / n, if noise leaves an original count uncertain by +-h rows."""
        return max(float(width.max()) for width in widths) / n

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        return max(int(furthest(limit, facts.cells(columns)).max()) for columns, limit in self._with(limits, facts)) / facts.n


class AbsoluteMarginalErrorExplained(MarginalCriterionExplained[AbsoluteMarginalError]):
    """Explain a limit on the largest error of a cell, as a share of the rows."""

    bounds_every_cell: ClassVar[bool] = True

    def sentence(self, facts: PublicFacts) -> str:
        return (
            "The largest difference between released and original share of the rows, over all cells of all tables of "
            f"{self.about.tables_in_words(len(facts.columns))}."
        )

    def known_error(self, limit: float, facts: PublicFacts) -> CellError:
        bins, rows = {column.name: len(column.labels) for column in facts.columns}, math.floor(facts.n * limit)
        named = tuple(map(frozenset, self.about.named_columns(bins)))
        return CellError(rows=rows, largest=self.about.up_to(len(bins)), tables=named, criterion=self.about.name)

    def every_cell_up_to(self, n_columns: int) -> int:
        return self.about.up_to(n_columns)

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float:
        bins = {column.name: len(column.labels) for column in facts.columns}
        return drawing.of_cells(bins, self.about.up_to(len(bins)), self.about.named_columns(bins))

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        tables = self.about.compared_in(candidate.counts.layout)
        part, ours, public_rows = worst_cell(candidate.counts, public.counts, candidate.transformation, **tables)
        if ours is None or public_rows is None:
            return Offender(where=part, released="another number", original="rows")
        return Offender(where=part, released=share(ours, candidate.n), original=share(public_rows, candidate.n))

    def seconds(self, layout: Layout, rows: int) -> float:
        return seconds_of_differences(layout, self.about.up_to(len(layout.sizes)) or 1, rows)


def worst_cell(
    released: Counts, public: Counts, transformation: Transformation, largest: int, named: Sequence[tuple[int, ...]]
) -> tuple[str, int | None, int | None]:
    """Return a description of the cell with the largest error, such as "age=18-24, sex=F", and its counts in the released
    and the public table.

    For a large table, name only the table, with None as counts.
    """
    from synthrelease.data.marginals import differences  # readers of a release do not need this module

    layout = released.layout
    columns = max(differences(public, released, largest, named, np.maximum), key=itemgetter(1))[0]
    sub = layout.subset(columns)
    if not has_full_array(sub):
        return f"a cell of the table of {in_words(sub.columns)}", None, None
    ours, public_counts = (table.marginal(columns).ravel() for table in (released, public))
    cell = int(np.abs(ours - public_counts).argmax())
    bins = np.unravel_index(cell, sub.sizes)
    labels = [transformation.binning(name).labels[bin_] for name, bin_ in zip(sub.columns, bins, strict=True)]
    part = ", ".join(f"{words(name)}={label}" for name, label in zip(sub.columns, labels, strict=True))
    return part, int(ours[cell]), int(public_counts[cell])


def seconds_of_differences(layout: Layout, largest: int, rows: int) -> float:
    """Return the estimated seconds to compare two tables of `rows` rows each with `differences`
    (docs/appendix/benchmarks.md).
    """
    from synthrelease.data.marginals import column_groups

    largest = min(largest, len(layout.sizes))
    if has_full_array(layout):
        return 2e-9 * layout.n_cells * 2 ** min(largest, 3)
    if largest == len(layout.sizes):
        return 1e-7 * 2 * rows * 2**largest
    return 5e-9 * 2 * rows * math.comb(len(column_groups(layout, largest, rows // 2)), largest)


class RelativeMarginalError(Criterion):
    """The largest ratio between the private and the released count of a bin, over the bins of all columns. 1 is added to
    each count, so the counts 99 and 124 have the ratio 1.25. The value is max{r/s, s/r}, at most `clip`, where r and s are
    the private and the released count plus 1.

    Privacy
    -------
    The sensitivity is the largest change of g(r) = clip(max(r/s, s/r); 1, clip) when r moves by 1, over the public counts s
    of the candidate. One replaced record moves each count of a 1-way table by at most 1 (theory 3.2, relative marginal
    error; tighter than Proposition 5). The slack is the distance in records from r to the nearer end of [s / threshold,
    threshold s], minimised over all bins. The slack has sensitivity 1, because every r moves by at most 1.

    Attributes
    ----------
    clip : the largest possible ratio, above the threshold. Larger ratios are set to it, which limits the noise. Example:
        `clip = 2`.

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

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals_mechanism import clipped_ratio, one_way, records_to_spare

        synthetic = one_way(candidate.counts)
        return Query(
            sensitivity=ratio_sensitivity(synthetic, self.clip),
            figure=partial(clipped_ratio, synthetic=synthetic, clip=self.clip),
            slack=partial(records_to_spare, synthetic=synthetic, threshold=self.threshold),
        )

    @property
    def worst_figure(self) -> float:
        return self.clip

    def passed_by_noise(self, smallest: int) -> float:
        """Return the probability that a table with the worst value, `clip`, passes because of noise alone.

        Paper 4.5.2, Proposition 6: p = exp((threshold - clip) / eta) / 2 with eta = sensitivity / epsilon.
        """
        return math.exp((self.threshold - self.clip) / self._scale(smallest)) / 2

    def threshold_passed_by_noise(self, probability: float, smallest: int) -> float:
        """Return the threshold that a table with the worst value, `clip`, meets through noise alone with probability p (at
        most 1/2): clip + eta ln(2p), where eta is the scale of the noise.
        """
        return self.clip + self._scale(smallest) * math.log(2 * probability)

    def _scale(self, smallest: int) -> float:
        return ratio_sensitivity(np.array([smallest]), self.clip) / float(self.epsilon)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if not self.threshold < self.clip:
            yield f"threshold must be below clip ({self.clip:g}). Otherwise no table could fail, because ratios are clipped"

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        return [Sums(columns=(column.name,)) for column in facts.columns]

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """Return a lower limit on the bound on a ratio: sqrt((r + h) / (r - h)), at most the clip. Here h is half the width
        of the interval of a bin's original count, and one of the k bins of a column has a count plus 1 of at most r = n/k +
        1.
        """
        ratios = [(n / len(width) + 1 + width.min()) / max(n / len(width) + 1 - width.min(), 1.0) for width in widths]
        return min(math.sqrt(max(ratios)), self.clip)

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        from synthrelease.criteria.marginals_mechanism import largest_ratio, one_way

        synthetic = one_way(facts.table)
        ends = (np.concatenate([limit.low for limit in limits]), np.concatenate([limit.high for limit in limits]))
        return max(largest_ratio(original, synthetic, self.clip) for original in ends)


def ratio_sensitivity(synthetic: np.ndarray, clip: float) -> float:
    """Return the sensitivity of a bin's clipped ratio max{r/s, s/r}: its largest change between r and r + 1, where r is any
    private count plus 1, and s is one of the given synthetic counts plus 1.

    For a fixed s, the ratio s/r is decreasing and convex, and r/s is increasing and linear. So the change is largest where
    s/r falls below the clip, at r = s, or where r/s reaches the clip.
    """
    s = np.array(sorted(set(synthetic.tolist())))[:, None, None] + 1.0  # np.unique would load numpy.ma
    near = np.concatenate([np.floor(s / clip), s, np.floor(s * clip)], axis=1)
    r = np.maximum(near + np.arange(-2, 3), 1.0)

    def g(r: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(r / s, s / r), clip)

    return float(np.abs(g(r + 1) - g(r)).max())


class RelativeMarginalErrorExplained(Explanation[RelativeMarginalError]):
    """Explain a limit on the largest ratio between the private and the released count of a bin."""

    @property
    def asks_single_columns(self) -> bool:
        return True

    def figure_unit(self, facts: PublicFacts) -> str:
        return "ratio"

    def sentence(self, facts: PublicFacts) -> str:
        return (
            "The largest ratio between released and original count (each plus one), in either direction, over all bins of all "
            f"columns. A ratio beyond {in_words(self.about.clip)} is replaced by this limit."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        from synthrelease.criteria.marginals_mechanism import one_way

        return ratio_sensitivity(one_way(facts.table), self.about.clip)

    def known_error(self, limit: float, facts: PublicFacts) -> RatioError | None:
        return RatioError(factor=limit, criterion=self.about.name) if limit < self.about.clip else None

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        from synthrelease.criteria.marginals_mechanism import one_way

        binnings = zip(candidate.transformation.schema.names, candidate.transformation.binnings, strict=True)
        bins = [f"{words(name)}={label}" for name, binning in binnings for label in binning.labels]
        ours, public_rows = one_way(candidate.counts), one_way(public.counts)
        ratios = np.maximum((ours + 1.0) / (public_rows + 1.0), (public_rows + 1.0) / (ours + 1.0))
        worst = int(ratios.argmax())
        return Offender(where=bins[worst], released=f"{ours[worst]:,} rows", original=f"{public_rows[worst]:,}")


# The largest error is the guarantee for each single cell. At the same budget, a mean or a quantile over hundreds of tables says
# more about the quality of the whole table (theory 3.10, distances of tables).


class TypicalMarginalError(MarginalCriterion, OfMembers):
    """The base class of criteria that summarise the distances of the compared tables by their mean or a quantile.

    The distance of a table is the total variation distance sum |r - s| / (2n) over its cells: the share of the rows that
    would have to move to another cell to correct the table.
    """

    counts_rows: ClassVar[bool] = True

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        return [Sums(columns=columns) for columns in self.compared(facts)]

    def furthest_moved(self, limits: Sequence[Limits], facts: PublicFacts) -> list[int]:
        """Return, for every compared table, the largest possible sum of |original count - released count| over its cells.
        The original counts are known only within limits.
        """
        return [int(furthest(limit, facts.cells(columns)).sum()) for columns, limit in self._with(limits, facts)]


Typical = TypeVar("Typical", bound=TypicalMarginalError)


class TypicalMarginalErrorExplained(MarginalCriterionExplained[Typical]):
    """Explain a limit on the mean or a quantile of the distances of the compared tables."""

    def guards(self, pair: LostPair) -> bool:
        about = self.about
        alone = about.largest is None and len(about._named) == 1 and bool(about._named[0] and about._named[0].columns)
        return alone and about.compares_table(pair.columns, pair.n_columns) and pair.distance > about.threshold

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float:
        return drawing.of_distances(self.about.compared(facts), {column.name: len(column.labels) for column in facts.columns})

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        from synthrelease.criteria.marginals_mechanism import moved

        layout = candidate.counts.layout
        distances = moved(public.counts, candidate.counts, **self.about.compared_in(layout))
        columns, furthest_off = max(distances, key=lambda table: table[1])
        names = " by ".join(words(candidate.counts.layout.columns[column]) for column in columns)
        return Offender(
            where=f"the table of {names}", released=f"{share(furthest_off, 2 * candidate.n)} of rows misplaced", original="none"
        )


@reads_members
class MeanMarginalError(TypicalMarginalError):
    """The mean error of the compared tables. The error of a table is its total variation distance: the share of the
    released rows that would have to move to another cell to match the private table. The distance is sum |r - s| / (2n),
    where r and s are the private and the released counts of the cells, and n is the number of rows.

    Privacy
    -------
    The sensitivity is 1/n. One replaced record changes at most two cells of a table by 1 each. So it changes each distance,
    and their mean, by at most 1/n. The sums are whole numbers; the mean is rounded once.

    Examples
    --------
    >>> judged = MeanMarginalError(
    ...     kind="mean_marginal_error", name="typical tables", threshold=0.05, epsilon="0.01",
    ...     tables=["all 2-way"]
    ... )
    >>> judged.figure_range
    (0.0, 1.0)
    """

    kind: Literal["mean_marginal_error"]

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals_mechanism import mean_distance

        layout = candidate.counts.layout
        settings = {"rows": n, "tables": self.n_tables(layout), **self.compared_in(layout)}
        return Query(sensitivity=1 / n, figure=partial(mean_distance, candidate=candidate.counts, **settings))

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        return sum(self.furthest_moved(limits, facts)) / (2 * facts.n * len(limits))


class MeanMarginalErrorExplained(TypicalMarginalErrorExplained[MeanMarginalError]):
    """Explain a limit on the mean distance of the compared tables."""

    no_bounds: ClassVar[str] = "A mean over tables says nothing about a single table."

    def seconds(self, layout: Layout, rows: int) -> float:
        widest = max(self.about.up_to(len(layout.sizes)), *map(len, self.about.named(layout)), 1)
        return min(4e-8 * rows * self.about.n_tables(layout), seconds_of_differences(layout, widest, rows))

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"On average over all tables of {self.about.tables_in_words(len(facts.columns))}: the share of the released rows "
            "that would have to move to another cell for the table to equal the original table."
        )


@reads_members
class QuantileMarginalError(TypicalMarginalError):
    """A quantile of the errors of the compared tables: a share q of the tables has at most this error. The error of a table
    is its total variation distance, as for the kind "mean_marginal_error".

    Privacy
    -------
    The sensitivity is 1/n. Each table's distance moves by at most 1/n (`MeanMarginalError`), so the k-th smallest distance
    does, too. The compared tables are fixed beforehand.

    Attributes
    ----------
    quantile : the share q of the tables, above 0 and at most 1. With 1, the criterion is the largest distance. Example:
        `quantile = 0.95`.

    Examples
    --------
    >>> judged = QuantileMarginalError(
    ...     kind="quantile_marginal_error", name="most tables", threshold=0.05, epsilon="0.01",
    ...     quantile=0.9
    ... )
    >>> judged.figure_range
    (0.0, 1.0)
    """

    kind: Literal["quantile_marginal_error"]
    quantile: float = Field(gt=0, le=1)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals_mechanism import quantile_distance

        layout = candidate.counts.layout
        rank = math.ceil(Fraction(str(self.quantile)) * self.n_tables(layout)) - 1
        settings = {"rows": n, "rank": rank, **self.compared_in(layout)}
        return Query(sensitivity=1 / n, figure=partial(quantile_distance, candidate=candidate.counts, **settings))

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        rank = math.ceil(Fraction(str(self.quantile)) * len(limits)) - 1
        return sorted(self.furthest_moved(limits, facts))[rank] / (2 * facts.n)


class QuantileMarginalErrorExplained(TypicalMarginalErrorExplained[QuantileMarginalError]):
    """Explain a limit on a quantile of the distances of the compared tables."""

    no_bounds: ClassVar[str] = "The criterion value does not show which tables have at most this error."

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"Of all tables of {self.about.tables_in_words(len(facts.columns))}, a share of {in_words(self.about.quantile)} "
            "has at most this error: the share of the released rows that would have to move to another cell for the table to "
            "equal the original table."
        )


HEAVIEST = 2**20
"""The whole number that represents the largest weight."""


class WeightedMarginalError(MarginalCriterion):
    """The largest error of a sum of design weights in a cell of the compared tables, as a share of the sum of all weights.
    Use it for estimates with design weights; the other criteria compare unweighted rows. The value is max |W(R) - W(S)| / W
    over the cells, where W(R) and W(S) are the sums of the weights of the private and the released rows of the cell, and W
    is the sum of all released weights. The weight of a row is the representative value of its bin in the column of weights.

    Theory 3.20, weighted marginal error.

    Privacy
    -------
    The sensitivity is w_max / W, where w_max is the largest representative value of the column of weights. A record's
    weight is a function of its cell alone: a public number between 0 and w_max, whatever the other records are. Replacing
    one record moves the weighted count of each cell by at most w_max, and the sensitivity of a maximum is the maximum of
    the sensitivities (Proposition 3). w_max and W are functions of the candidate, which is public. There is no such bound
    if weights depend on other respondents, or if the file repeats rows according to their weight: neither is supported.

    Rounding: weights are rounded to multiples of w_max / 2^20 before anything is counted, so the w of the proof are whole
    numbers and all sums are exact.

    Attributes
    ----------
    weight : the column with the design weights, whose bins have public representative values of at least 0. Example:
        `weight = "design_weight"`.

    Examples
    --------
    >>> judged = WeightedMarginalError(
    ...     kind="weighted_marginal_error", name="weighted", threshold=0.05, epsilon="0.01",
    ...     weight="weight"
    ... )
    >>> judged.charge.epsilon
    Fraction(1, 100)
    """

    no_measured_bound = "Sums of weights need one more column in every measured table. So this criterion needs an epsilon."
    kind: Literal["weighted_marginal_error"]
    weight: AboutColumn

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals_mechanism import largest_weighted_share, weighted

        layout, weights = candidate.counts.layout, self._weights(candidate)
        column = layout.index(self.weight)
        synthetic = weighted(candidate.counts, column, weights)
        total = synthetic.total
        return Query(
            sensitivity=HEAVIEST / max(1, total),
            figure=partial(
                largest_weighted_share,
                candidate=synthetic,
                column=column,
                weights=weights,
                total=max(1, total),
                **self.compared_in(layout),
            ),
            void=total == 0,  # a sum of 0 has no shares
        )

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        unknown = [*unknown_columns(setting.schema, "weight", [self.weight])]
        unknown = unknown or [*unnumbered(setting, "weight", self.weight)]
        return unknown or [*self._no_weights(setting), *super().mistakes(setting, earlier)]

    def _no_weights(self, setting: Setting) -> Iterable[Mistake]:
        for transformation in setting.transformations:
            numbers = transformation.numbers(self.weight)
            if not ((numbers >= 0) & np.isfinite(numbers)).all() or not (numbers > 0).any():
                name = transformation.binning(self.weight).name
                problem = f"The numbers of {self.weight!r} cannot be weights in the alternative {name!r}"
                rule = "Each bin needs a number of at least 0, and one bin a number above 0. Missing values have no number"
                yield Mistake("weight", f"{problem}. {rule}")
                return

    def _weights(self, candidate: SyntheticTable) -> np.ndarray:
        return whole_weights(candidate.transformation.numbers(self.weight).tolist())


def whole_weights(numbers: Sequence[float]) -> np.ndarray:
    heaviest = max(numbers)
    return np.array([round(number / heaviest * HEAVIEST) for number in numbers], dtype=np.int64)


class WeightedMarginalErrorExplained(MarginalCriterionExplained[WeightedMarginalError]):
    """Explain a limit on the largest relative error of a sum of weights."""

    no_bounds: ClassVar[str] = "This criterion is about weighted shares, but these bounds are about numbers of rows."

    @property
    def asks_single_columns(self) -> bool:
        return False

    def figure_unit(self, facts: PublicFacts) -> str:
        return "share of the sum of weights"

    def sentence(self, facts: PublicFacts) -> str:
        weight = words(self.about.weight)
        return (
            f"The largest difference between released and original sum of {weight}, over all cells of all tables of "
            f"{self.about.tables_in_words(len(facts.columns))}, as a share of the released sum of {weight} over all rows."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        weights = whole_weights([number or 0.0 for number in facts.by_name[self.about.weight].numbers])
        return HEAVIEST / max(1, int(facts.cells((self.about.weight,)) @ weights))

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        from synthrelease.criteria.marginals_mechanism import weighted

        layout, weights = candidate.counts.layout, self.about._weights(candidate)
        column = layout.index(self.about.weight)
        ours, original_weights = (weighted(table, column, weights) for table in (candidate.counts, public.counts))
        tables = self.about.compared_in(layout)
        part, released, original = worst_cell(ours, original_weights, candidate.transformation, **tables)
        if released is None or original is None:
            return Offender(where=part, released="another number", original="weights")
        return Offender(where=part, released=share(released, ours.total), original=share(original, ours.total))
