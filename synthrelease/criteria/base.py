"""Define the base class of all acceptance criteria: settings, the criterion value ("figure"), its sensitivity, its charges,
and the score of a candidate.

A candidate is the synthetic table of one round. A query says how to compute the criterion value of a candidate from the
private counts. A score is the publishable result: the value, usually with noise, and whether it is at most the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from synthrelease.criteria.facts import ANSWERED, Group, PublicFacts, Query, Score, outward
from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Binning, PublishedColumn, Schema, Transformation
from synthrelease.errors import Unexpected
from synthrelease.privacy.charges import Charge, mechanism
from synthrelease.settings.base import AgreedTable, Line, Mistake, Reason, SpecTable

if TYPE_CHECKING:
    from synthrelease.criteria.functional import Design, LinearModel
    from synthrelease.criteria.measured import Limits, Sums
    from synthrelease.data.synthetic_table import SyntheticTable
    from synthrelease.enclave.door import PrivateCounts
    from synthrelease.generators.measurements import NoisyMarginals
    from synthrelease.privacy.grids import NoisyFigure


class Criterion(SpecTable):
    """One acceptance criterion, read from the acceptance file and validated.

    To add a kind, write one file with a subclass that computes a criterion value and states its sensitivity (`query`). Add
    an `Explanation` with the same name, followed by "Explained", one line in `CRITERIA`, and examples in tests/examples. In
    `criteria.drafts`, add a function that drafts such a criterion, or the reason why `init` does not.
    tests/test_contracts.py requires all of these.

    Attributes
    ----------
    name : the name of the criterion on the data card and in other criteria; no two criteria share a name. Example: `name =
        "mean birth weight"`.
    kind : the kind of the criterion, which determines its further settings.
    threshold : the largest accepted noisy value of the criterion, in the unit of this value. Example: `threshold = 0.01`.
    epsilon : the epsilon for measuring the criterion, above 0 unless `answered_by` is given. Every round measures the
        criterion, so this epsilon is a part of the cost of the selection (theory 2, selection). With [selection] test =
        "joint", and for some kinds always, the criterion is measured only once. Example: `epsilon = 0.01`.
    answered_by : "measurements" computes an upper bound on the exact criterion value from the shared noisy tables, at no
        cost. The criterion is met if the bound is at most the threshold (theory 13.6, criteria that measurements answer).
        Needs [selection] measurements = "shared" and a measured table for every compared table. Without this setting the
        criterion is measured at `epsilon`. Example: `answered_by = "measurements"`.
    reason : why the steward chose this criterion and its budget. Example: `reason = "The ministry's first question"`.
    agreed : who agreed to the threshold, and on which day. Example: `agreed = { by = "Council of users", on = 2026-11-22
        }`.
    """

    figure_gets_noise: ClassVar[bool] = True
    """Whether noise is added to the criterion value itself. If no noise is added, the value is computed from public numbers."""
    counts_rows: ClassVar[bool] = False
    """Whether the criterion value is a share of the rows, with sensitivity 1/n and at most 1."""
    best_figure: ClassVar[float] = 0.0
    """The smallest possible exact criterion value. A threshold below this value refuses every table."""
    compares: ClassVar[bool] = True
    """Whether the criterion value compares the released table with the original table. If not, the criterion value is computed
    from released rows only.
    """
    own_mechanism: ClassVar[str] = "Laplace"
    """The privacy mechanism of the criterion value, unless measurements answer the criterion."""
    former_mechanism: ClassVar[str] = ""
    """The name that releases of earlier versions gave to the mechanism, if it differs from `own_mechanism`."""
    no_measured_bound: ClassVar[str] = ""
    """The reason why noisy tables of few columns cannot give a bound on the criterion value; empty if they can."""
    name: Line = Field(min_length=1, max_length=80)
    kind: str
    threshold: float = Field(gt=0, allow_inf_nan=False)
    answered_by: Literal["measurements"] | None = None
    epsilon: Fraction = Field(default=Fraction(0), ge=0, validate_default=True)
    reason: Reason = ""
    agreed: AgreedTable | None = None

    @field_validator("answered_by")
    @classmethod
    def _answerable(cls, answered_by: str | None) -> str | None:
        if answered_by is not None and cls.no_measured_bound:
            raise Unexpected("Delete `answered_by`: noisy tables cannot give the value of this kind of criterion")
        return answered_by

    @field_validator("epsilon")
    @classmethod
    def _paid_or_answered(cls, epsilon: Fraction, others: ValidationInfo) -> Fraction:
        answered_by = others.data.get("answered_by")
        if answered_by is not None and epsilon:
            raise Unexpected("Delete epsilon: a value that is computed from the noisy tables costs nothing")
        if answered_by is None and "answered_by" in others.data and cls.compares and not epsilon:
            raise Unexpected(
                "This criterion needs an epsilon above 0. To compute its value from the noisy tables instead, set "
                'answered_by = "measurements"'
            )
        return epsilon

    # The criterion value, its sensitivity and its range.

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query | Score:
        """Return the query that the private table must answer to score a candidate, or the score itself if no private data
        is needed.

        Parameters
        ----------
        n : the public number of rows.
        fitted : the regressions of `prepare` and `refit`, and the answers of the shared measurements.
        """
        raise NotImplementedError

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        """Yield the mistakes in this criterion's settings."""
        return ()

    @property
    def own_values_of(self) -> tuple[str, ...]:
        """Return the columns of which the criterion uses exact private values, not only bins."""
        return ()

    @property
    def worst_figure(self) -> float:
        """Return an upper bound on the criterion value of any table, or infinity."""
        return 1.0 if self.counts_rows else math.inf

    @property
    def figure_range(self) -> tuple[float, float]:
        return self.best_figure, self.worst_figure

    @property
    def promised_count(self) -> int:
        """The number of copies that each row has at least, in any table that meets the criterion."""
        return 1

    # The charges.

    @property
    def charge(self) -> Charge:
        return mechanism(f"criterion: {self.name}", self.epsilon, "Laplace mechanism")

    def once(self) -> tuple[Charge, ...]:
        """Return the privacy charges that are spent once, before the first round, such as for a regression."""
        return ()

    def per_score(self) -> tuple[Charge, ...]:
        """Return the privacy charges for scoring one candidate. They are spent in every round or, with one joint test of
        all criteria, once after acceptance.
        """
        return (self.charge,) if self.answered_by is None else ()

    # Private fits of regressions; criteria of other kinds fit no regression.

    @property
    def measured_line(self) -> bool:
        """Whether the criterion uses a regression line computed from the shared noisy tables."""
        return False

    def prepare(self, private: PrivateCounts, setting: Setting, answers: MeasuredAnswers | None = None) -> Regression | None:
        """Do the private work that precedes the rounds, at the charges in `once`. Return the regression for later scores,
        or None.
        """
        return None

    def refit(self, private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Fitted:
        """Return a copy of `fitted` with the regressions that need a new private fit for each candidate. This spends a part
        of the charges in `per_score`.
        """
        return fitted

    # Upper bounds from the shared measurements, which replace a criterion value with separate noise.

    def measured_sums(self, facts: PublicFacts) -> Sequence[Sums]:
        """Return the definitions of the weighted sums of original counts on which `measured_bound` depends. No counts are
        read.
        """
        raise NotImplementedError

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        """Return an upper bound on the exact criterion value of a released table, given limits on sums of original counts.

        Parameters
        ----------
        limits : the limits of the `measured_sums`, in the same order.

        Returns
        -------
        The bound, or NaN if the table fails whatever the original table is.
        """
        raise NotImplementedError

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """Return a number below which `measured_bound` cannot fall for any table of n rows, because noise leaves the
        original sums uncertain; 0 if no better one is known.

        Parameters
        ----------
        widths : for each of the `measured_sums`, the smallest half widths of its intervals.
        """
        return 0.0

    # The score.

    @property
    def asks_something(self) -> bool:
        return self.compares and self.answered_by is None

    @property
    def own_noise(self) -> bool:
        return self.asks_something and self.figure_gets_noise

    @property
    def mechanism_words(self) -> str:
        return self.own_mechanism if self.answered_by is None else ANSWERED

    def asked(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query | Score:
        """Return the query that the private table must answer to score a candidate. With `answered_by`, return the score
        itself.

        Privacy
        -------
        A score from the shared measurements is post-processing of them and the candidate. No private count is read.
        """
        if self.answered_by is None:
            return self.query(n, candidate, setting, fitted)
        if fitted.answers is None:
            raise LookupError("No tables were measured")
        transformation = candidate.transformation
        limits = fitted.answers.limits(transformation, setting)[self.name]
        return self._judged(outward(self.measured_bound(limits, setting.facts(transformation, candidate.counts))))

    def score(self, private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Score:
        """Measure the criterion value of a candidate with noise, and compare it with the threshold. `private` has the
        candidate's bins, and records the charges that this round may spend.
        """
        return self.answer(private, self.asked(private.n, candidate, setting, fitted))

    def answer(self, private: PrivateCounts, query: Query | Score) -> Score:
        """Add Laplace noise to the value of a query, and return the score. A score is returned unchanged."""
        if isinstance(query, Score):
            return query
        from synthrelease.criteria.base_mechanism import noisy_figure  # readers of a release do not need this module

        figure = partial(noisy_figure, query=query, epsilon=self.epsilon, rows=private.n, entropy=private.entropy)
        return self.released(query, private.spend(self.charge, figure))

    def released(self, query: Query, noisy: NoisyFigure) -> Score:
        """Compare a noisy criterion value with the threshold. The value is NaN if the candidate fails whatever the private
        table is (`Query.void`).
        """
        value = math.nan if query.void else noisy.value
        return self._judged(value, sensitivity=query.sensitivity, noise_sd=noisy.noise_sd)

    def _judged(self, value: float, sensitivity: float | None = None, noise_sd: float | None = None) -> Score:
        """Compare a value with the threshold. `sensitivity` is None for a value without noise."""
        return Score(
            name=self.name,
            kind=self.kind,
            threshold=self.threshold,
            value=value,
            epsilon=self.epsilon,
            mechanism=self.mechanism_words,
            sensitivity=sensitivity,
            noise_sd=noise_sd,
            passed=math.isfinite(value) and value <= self.threshold,
        )


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public facts that a criterion may use, such as columns, groups and rules.

    Attributes
    ----------
    raw : the plausibility rules for private rows, on atomic bins (the widest bins of which all others consist).
    transformations : every transformation of columns into bins that the release may use.
    joint_test : whether one joint test of all criteria decides each round, so that rejected candidates get no noisy values.
    """

    schema: Schema
    groups: Mapping[str, Binning]
    raw: Plausibility
    transformations: tuple[Transformation, ...]
    criteria: Mapping[str, Criterion]
    joint_test: bool = False

    @property
    def atomic(self) -> Transformation:
        """The transformation with the finest bins, in which rows still contain all exact values that a criterion uses."""
        return Transformation(schema=self.schema, binnings=tuple(column.atoms for column in self.schema.columns))

    @property
    def answered(self) -> tuple[Criterion, ...]:
        return tuple(criterion for criterion in self.criteria.values() if criterion.answered_by is not None)

    def sums(self, transformation: Transformation) -> dict[str, Sequence[Sums]]:
        facts = self.facts(transformation)
        return {criterion.name: criterion.measured_sums(facts) for criterion in self.answered}

    def facts(self, transformation: Transformation, counts: Counts | None = None) -> PublicFacts:
        """Return the public facts about a table with these bins."""
        grouped = {
            column.name: _groups(binning, self.groups.get(column.name))
            for column, binning in zip(transformation.schema.columns, transformation.binnings, strict=True)
        }
        return PublicFacts(
            n=0 if counts is None else counts.total,
            columns=tuple(map(PublishedColumn.of, transformation.schema.columns, transformation.binnings)),
            groups={name: groups for name, groups in grouped.items() if groups},
            criteria=self.criteria,
            counts=counts,
            linked=self.schema.linked,
        )

    def possible(self, columns: tuple[str, ...], binnings: tuple[Binning, ...]) -> np.ndarray:
        """Return an (n_cells,) mask of the combinations of these bins, without bins of missing values. False where the
        rules for the private file exclude every row.
        """
        chosen = dict(zip(columns, binnings, strict=True))
        all_binnings = tuple(chosen.get(column.name, column.atoms) for column in self.schema.columns)
        merged = self.raw.merge(Transformation(schema=self.schema, binnings=all_binnings))
        zeros = merged.structural_zeros([merged.layout.index(name) for name in columns])
        return ~zeros[tuple(slice(binning.present) for binning in binnings)].ravel()


def _groups(binning: Binning, coarser: Binning | None) -> tuple[Group, ...]:
    """Return the groups of a column's bins in [groups], with masks of released bins. Empty if there are none, or if a
    released bin overlaps two groups.
    """
    if coarser is None or not binning.refines(coarser):
        return ()
    into = binning.map_to(coarser)
    return tuple(Group(label=label, inside=tuple((into == index).tolist())) for index, label in enumerate(coarser.labels))


@dataclass(frozen=True, kw_only=True)
class Regression:
    """A regression that a criterion uses: public facts, and the fitted line, which is None before the fit.

    `possible` is an (n_cells,) mask, False where the public raw rules exclude every record. `redraws` are (n_draws, d)
    slopes with further simulated noise.
    """

    design: Design
    possible: np.ndarray
    model: LinearModel | None
    redraws: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def fitted(self) -> LinearModel:
        if self.model is None:
            raise LookupError("The private fit is missing")
        return self.model


@dataclass(frozen=True, kw_only=True)
class MeasuredAnswers:
    """Noisy tables of the private rows, measured once for all rounds, and the limits on sums of original counts that follow
    from them.

    Attributes
    ----------
    common : the transformation whose bins are measured. All other bins consist of whole bins of `common`.
    risk : upper bound on the probability, over the noise, that any of the limits is wrong.
    transformations : the number of transformations, among which the risk is divided equally.
    """

    measured: NoisyMarginals
    common: Transformation
    risk: Fraction
    transformations: int
    _known: dict[tuple[str, ...], Mapping[str, Sequence[Limits]]] = field(default_factory=dict)

    def limits(self, transformation: Transformation, setting: Setting) -> Mapping[str, Sequence[Limits]]:
        """Return limits on the sums of original counts of each criterion with `answered_by`, by its name."""
        from synthrelease.criteria.measured import all_limits

        key = tuple(binning.name for binning in transformation.binnings)
        if key not in self._known:
            pairs = zip(self.common.binnings, transformation.binnings, strict=True)
            measured = self.measured.merge(transformation.layout, [finer.map_to(coarser) for finer, coarser in pairs])
            self._known[key] = all_limits(
                setting.sums(transformation),
                measured,
                possible_cells(setting.raw.merge(transformation)),
                float(self.risk) / self.transformations,
            )
        return self._known[key]


def possible_cells(raw: Plausibility) -> Callable[[tuple[str, ...]], np.ndarray]:
    """Return a function that takes names of columns and returns an (n_cells,) mask of the combinations of their bins. The
    mask is False where the rules `raw` exclude every private row.
    """
    return lambda names: ~raw.structural_zeros([raw.layout.index(name) for name in names]).ravel()


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What a criterion needs, besides the candidate, to compute a score: fitted regressions, and limits on original counts."""

    regressions: Mapping[str, Regression] = field(default_factory=dict)
    answers: MeasuredAnswers | None = None

    def regression(self, name: str) -> Regression:
        if name not in self.regressions:
            raise LookupError(f"no regression was prepared for {name!r}")
        return self.regressions[name]

    def with_regression(self, name: str, regression: Regression) -> Fitted:
        return replace(self, regressions={**self.regressions, name: regression})
