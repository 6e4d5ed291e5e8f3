"""The utility report: what synthetic copies keep of a public original, by measures of the literature and without noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from synthrelease.data.counts import Counts
from synthrelease.rehearsal.combining import Rule
from synthrelease.rehearsal.propensity import PropensityScore, pair_scores, propensity_score
from synthrelease.rehearsal.public_table import PublicTable
from synthrelease.rehearsal.regression import INTERCEPT, CoefficientComparison, compare_regressions


@dataclass(frozen=True, kw_only=True)
class PairUtility:
    """How well the joint distribution of two columns is kept: means over the copies of `propensity.pair_scores`."""

    columns: tuple[str, str]
    pmse: float
    ratio: float


@dataclass(frozen=True, kw_only=True)
class UtilityReport:
    """Non-private utility figures of M synthetic copies of one public table.

    Attributes
    ----------
    public_because : why the original may be compared without noise.
    n_rows : rows of the original.
    propensity : one score per copy.
    pairs : every two columns, the worst (largest ratio) first.
    target : the dependent column of the regression.
    coefficients : the regression, intercept first, synthetic estimates combined over the copies.
    odds : the second analysis, a logistic regression, likewise; empty where none was asked for.
    """

    public_because: str
    n_rows: int
    propensity: tuple[PropensityScore, ...]
    pairs: tuple[PairUtility, ...]
    target: str | None
    coefficients: tuple[CoefficientComparison, ...]
    odds: tuple[CoefficientComparison, ...] = ()

    @property
    def n_copies(self) -> int:
        return len(self.propensity)

    @property
    def pmse(self) -> float:
        """Mean over the copies; 0 is best, 1/4 worst."""
        return _mean([score.pmse for score in self.propensity])

    @property
    def pmse_ratio(self) -> float:
        """Mean over the copies of pMSE over its null expectation; about 1 is as good as rows drawn from the original."""
        return _mean([score.ratio for score in self.propensity])

    @property
    def worst_pair(self) -> PairUtility | None:
        """None for a table of one column."""
        return self.pairs[0] if self.pairs else None

    @property
    def slopes(self) -> tuple[CoefficientComparison, ...]:
        """The coefficients without the intercept, which is seldom of interest."""
        return _slopes(self.coefficients)

    @property
    def mean_interval_overlap(self) -> float:
        """Mean over the slopes, at most 1; NaN when a copy does not determine one."""
        return _mean([slope.interval_overlap for slope in self.slopes])

    @property
    def mean_standardised_difference(self) -> float:
        """Mean over the slopes, at least 0; NaN when a copy does not determine one."""
        return _mean([slope.standardised_difference for slope in self.slopes])

    def figures(self) -> dict[str, float]:
        """The summary figures by name, to compare candidates in a table; NaN for an analysis that was not made."""
        return {
            "pmse": self.pmse,
            "pmse_ratio": self.pmse_ratio,
            "worst_pair_ratio": self.worst_pair.ratio if self.worst_pair else math.nan,
            "mean_interval_overlap": self.mean_interval_overlap,
            "mean_standardised_difference": self.mean_standardised_difference,
            **({} if not self.odds else self._odds_figures()),
        }

    def _odds_figures(self) -> dict[str, float]:
        slopes = _slopes(self.odds)
        return {
            "odds_interval_overlap": _mean([slope.interval_overlap for slope in slopes]),
            "odds_standardised_difference": _mean([slope.standardised_difference for slope in slopes]),
        }


@dataclass(frozen=True, kw_only=True)
class Odds:
    """A logistic regression: whether `target` is in one of the bins `positive`, by the numbers of the features."""

    target: str
    positive: tuple[str, ...]
    features: tuple[str, ...]


def utility_report(
    public: PublicTable,
    copies: Sequence[Counts],
    *,
    target: str | None = None,
    features: Sequence[str] = (),
    odds: Odds | None = None,
    rule: Rule = "partial",
    confidence: float = 0.95,
) -> UtilityReport:
    """All utility figures of M synthetic copies of a public table.

    Parameters
    ----------
    copies : M >= 1 synthetic tables over the bins of the public one, of any number of rows.
    target, features : columns of the linear regression; every bin of them has a number. None where there is no such regression.
    odds : a logistic regression as a second analysis.
    rule : the combining rule of this kind of copies.
    confidence : of the intervals whose overlap is measured.

    Raises
    ------
    TypeError : when a table is not public counts.
    ValueError : for copies over other bins, or a regression that the public table does not determine.

    Privacy
    -------
    None: the figures are exact functions of the original. That is why it must be a `PublicTable`.
    """
    coefficients = (
        ()
        if target is None
        else compare_regressions(public, copies, target=target, features=features, rule=rule, confidence=confidence)
    )
    second = (
        ()
        if odds is None
        else compare_regressions(
            public, copies, target=odds.target, features=odds.features, positive=odds.positive, rule=rule, confidence=confidence
        )
    )
    return UtilityReport(
        public_because=public.public_because,
        n_rows=public.n,
        propensity=tuple(propensity_score(public, copy) for copy in copies),
        pairs=_pairs(public, copies),
        target=target,
        coefficients=coefficients,
        odds=second,
    )


def _pairs(public: PublicTable, copies: Sequence[Counts]) -> tuple[PairUtility, ...]:
    scores = [pair_scores(public, copy) for copy in copies]
    pairs = [
        PairUtility(
            columns=pair, pmse=_mean([one[pair].pmse for one in scores]), ratio=_mean([one[pair].ratio for one in scores])
        )
        for pair in scores[0]
    ]
    # a pair whose two columns are constant has no ratio (NaN) and comes last
    return tuple(sorted(pairs, key=lambda pair: (math.isnan(pair.ratio), -pair.ratio if pair.ratio == pair.ratio else 0.0)))


def _slopes(coefficients: Sequence[CoefficientComparison]) -> tuple[CoefficientComparison, ...]:
    return tuple(coefficient for coefficient in coefficients if coefficient.name != INTERCEPT)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
