"""Propensity scores: how well a model can tell synthetic rows from original ones (pMSE)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.rehearsal.logistic import StackedDesign
from synthrelease.rehearsal.public_table import PublicTable


@dataclass(frozen=True, kw_only=True)
class PropensityScore:
    """How far the propensity scores p of all N stacked rows are from c, the synthetic share of the rows.

    Attributes
    ----------
    pmse : sum_i (p_i - c)^2 / N, from 0 (the model cannot tell the tables apart) to c (1 - c), 1/4 for tables of equal size
        (it tells every row).
    null_expectation : (k - 1) c (1 - c)^2 / N, what it would be on average if the synthetic rows were drawn from the
        original's own distribution.
    n_parameters : k, independent parameters of the model with its intercept.
    """

    pmse: float
    null_expectation: float
    n_parameters: int

    @property
    def ratio(self) -> float:
        """pmse / null_expectation: about 1 for rows drawn from the original's distribution; NaN for k = 1."""
        return self.pmse / self.null_expectation if self.null_expectation > 0 else float("nan")


def propensity_score(public: PublicTable, copy: Counts) -> PropensityScore:
    """pMSE of a logistic regression of "synthetic" on all columns, on the stacked original and synthetic rows.

    The model has an indicator for every bin of every column, and for every two columns with numbers the product of their
    standardised numbers: it sees differences in any single column, and in the correlations. Other differences between two
    columns are seen by `pair_scores`.

    Notes
    -----
    The source has the tables of equal size and 1/2 for c. The null expectation is for rows that are drawn given the
    original (resampled, or from a model that fits it): only their own sampling counts, not that of the original, which is
    the factor 1 - c. A ratio is fair when every bin has at least some five rows.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, slides on utility before "Analysis-specific measures", U_p (the text has no
    page numbers); null expectation: Snoke, Raab, Nowok, Dibben, Slavkovic, J. R. Statist. Soc. A 181 (2018).
    """
    public.check_copies([copy])
    design = StackedDesign.of(public, copy)
    return _score(design.rows, design.probabilities(), copy.total, design.n_parameters)


def pair_scores(public: PublicTable, copy: Counts) -> dict[tuple[str, str], PropensityScore]:
    """pMSE of the saturated model of every two columns: one probability per cell of their table.

    In a cell with a original and b synthetic rows p = b / (a + b), so nothing is fitted; k is the number of cells that
    occur in either table. The largest ratio names the pair of columns whose joint distribution is kept worst.

    Source: Raab, Nowok, Dibben, "Assessing, visualizing and improving the utility of synthetic data" (2021).
    """
    public.check_copies([copy])
    scores = {}
    for left, right in combinations(range(len(public.columns)), 2):
        original = public.counts.marginal((left, right)).ravel()
        synthetic = copy.marginal((left, right)).ravel()
        occurs = original + synthetic > 0
        rows = (original + synthetic)[occurs]
        pair = (public.columns[left], public.columns[right])
        scores[pair] = _score(rows, synthetic[occurs] / rows, copy.total, len(rows))
    return scores


def _score(rows: np.ndarray, probabilities: np.ndarray, n_synthetic: int, n_parameters: int) -> PropensityScore:
    total = int(rows.sum())
    share = n_synthetic / total
    return PropensityScore(
        pmse=float(rows @ (probabilities - share) ** 2 / total),
        null_expectation=(n_parameters - 1) * share * (1 - share) ** 2 / total,
        n_parameters=n_parameters,
    )
