"""Weighted marginals: the largest error of a weighted share over all k-way tables, the weights being public numbers of bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from synthrelease.criteria.base import Criterion, Mistake, Query, Setting
from synthrelease.criteria.columns import unknown_columns, unnumbered
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.marginal_tables import MarginalCriterion
from synthrelease.criteria.marginals import worst_cell
from synthrelease.criteria.offenders import Offender, PublicCounts, share
from synthrelease.criteria.wording import words
from synthrelease.data.synthetic_table import SyntheticTable

HEAVIEST = 2**20
"""The whole number that stands for the largest weight: sums over 2^40 rows are at most 2^60, those of differences 2^61, so that
64 bits hold them; weights are off by a millionth of it."""


class WeightedMarginalError(MarginalCriterion):
    """max |sum of w over R - sum of w over S| / (sum of w over S), over the cells of the tables that are compared.

    Theory 3.20, weighted marginal error.

    R and S are the original and the synthetic rows of a cell, w the number that stands for a row's bin of the column of
    weights. It says whether estimates with design weights are reproduced; the unweighted criteria say whether the file is.

    Attributes
    ----------
    weight : the column whose numbers are the weights, 0 or above in every bin: design weights in public classes.
        Example: `weight = "design_weight"`.

    Privacy
    -------
    Sensitivity w_max / (sum of w over S), w_max the largest number of a bin of the column of weights. A record's weight is a
    function of its cell alone, a public number between 0 and w_max, whatever the other records are. Replacing one record takes
    at most w_max from one cell of a table and adds at most w_max to one: the weighted count of each cell moves by at most
    w_max, and the sensitivity of a maximum is the maximum of the sensitivities (Proposition 3). w_max and the sum over S are
    functions of the candidate, which is public. (Weights that depend on who else answered, and rows that were repeated by their
    weight, have no such bound: neither is read.)

    Rounding: weights count as the nearest multiples of w_max / 2^20, before anything is counted, so that the w of the proof are
    whole numbers and all sums are exact.

    Examples
    --------
    >>> judged = WeightedMarginalError(
    ...     kind="weighted_marginal_error", name="weighted", threshold=0.05, epsilon="0.01",
    ...     weight="weight"
    ... )
    >>> judged.charge.epsilon
    Fraction(1, 100)
    """

    no_bounds: ClassVar[str] = "It is about weighted shares, and bounds are about numbers of rows."
    no_measured_bound: ClassVar[str] = "Sums of weights in a table need one more column in every measured table: ask it."
    no_draft: ClassVar[str] = "Which column holds design weights is for the steward to say."
    kind: Literal["weighted_marginal_error"]
    weight: str

    def figure_unit(self, facts: PublicFacts) -> str:
        return "share of the sum of weights"

    def sentence(self, facts: PublicFacts) -> str:
        weight = words(self.weight)
        return (
            f"The largest difference between released and original sum of {weight}, over all cells of all tables of "
            f"{self.tables_in_words(len(facts.columns))}, as a share of the released sum of {weight} over all rows."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float:
        """The largest weight over the sum of all released ones."""
        weights = whole_weights([number or 0.0 for number in facts.by_name[self.weight].numbers])
        return HEAVIEST / max(1, int(facts.cells((self.weight,)) @ weights))

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        unknown = [*unknown_columns(setting.schema, "weight", [self.weight])]
        unknown = unknown or [*unnumbered(setting, "weight", self.weight)]
        if unknown:
            return unknown
        return [*self._no_weights(setting), *super().mistakes(setting, others)]

    def _no_weights(self, setting: Setting) -> Iterable[Mistake]:
        for transformation in setting.transformations:
            numbers = transformation.numbers(self.weight)
            if not ((numbers >= 0) & np.isfinite(numbers)).all() or not (numbers > 0).any():
                yield Mistake(
                    field="weight",
                    expected=f"numbers of at least 0 for every bin of {self.weight!r}, one above 0 (missing values have none)",
                    found=f"others in {transformation.binning(self.weight).name!r}",
                )
                return

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The cell whose weighted count is furthest off."""
        from synthrelease.criteria.marginals.mechanism import weighted

        layout, weights = candidate.counts.layout, self._weights(candidate)
        column = layout.index(self.weight)
        ours, theirs = (weighted(table, column, weights) for table in (candidate.counts, public.counts))
        largest, named = self.up_to(len(layout.sizes)), self.named(layout)
        where, released, original = worst_cell(ours, theirs, candidate.transformation, largest, named)
        if released is None or original is None:
            return Offender(where=where, released="another number", original="weights")
        return Offender(where=where, released=share(released, ours.total), original=share(original, ours.total))

    def _weights(self, candidate: SyntheticTable) -> np.ndarray:
        """(n_bins,) of the rows of each bin, as whole numbers."""
        return whole_weights(candidate.transformation.numbers(self.weight).tolist())

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals.mechanism import largest_weighted_share, weighted

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
                largest=self.up_to(len(layout.sizes)),
                named=self.named(layout),
                total=max(1, total),
            ),
            void=total == 0,  # a share of nothing
        )


def whole_weights(numbers: Sequence[float]) -> np.ndarray:
    """(n_bins,) weights as whole numbers, the largest of which is `HEAVIEST`."""
    heaviest = max(numbers)
    return np.array([round(number / heaviest * HEAVIEST) for number in numbers], dtype=np.int64)
