"""What every criterion is: its settings, its query and sensitivity, its charge, its sentence, its score.

The contract of every acceptance criterion: what it costs, and how it scores a candidate against the private table.
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
from synthrelease.criteria.functional import LinearModel
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Binning, PublishedColumn, Schema, Transformation
from synthrelease.errors import Unexpected
from synthrelease.privacy.charges import Charge, mechanism
from synthrelease.settings.base import AgreedTable, Line, Mistake, Reason, SpecTable

if TYPE_CHECKING:
    from synthrelease.criteria.facts import CriterionDraft, FileFacts, KnownError, LostPair, Offender, PublicCounts
    from synthrelease.criteria.functional import Design, LinearModel
    from synthrelease.criteria.measured import Limits, Sums
    from synthrelease.data.synthetic_table import SyntheticTable
    from synthrelease.enclave.door import PrivateCounts
    from synthrelease.generators.drawing import Drawing
    from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, NoisySum
    from synthrelease.privacy.grids import NoisyFigure


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public facts that a criterion may use: schema, group bins, and what combinations a raw row can have."""

    schema: Schema
    groups: Mapping[str, Binning]
    raw: Plausibility
    transformations: tuple[Transformation, ...]
    criteria: Mapping[str, Criterion]

    @property
    def atomic(self) -> Transformation:
        """The atomic cells, on which the own values of rows are known."""
        return Transformation(schema=self.schema, binnings=tuple(column.atoms for column in self.schema.columns))

    @property
    def answered(self) -> tuple[Criterion, ...]:
        """The criteria that the shared measurements answer."""
        return tuple(each for each in self.criteria.values() if each.answered_by is not None)

    @property
    def measured_lines(self) -> tuple[Criterion, ...]:
        """The criteria that take a line from the shared measurements."""
        return tuple(each for each in self.criteria.values() if each.measured_line)

    def sums(self, transformation: Transformation) -> dict[str, Sequence[Sums]]:
        """The sums that each of these criteria needs on the bins of a transformation; no table has a part in them."""
        facts = self.facts(transformation)
        return {each.name: each.measured_sums(facts) for each in self.answered}

    def facts(self, transformation: Transformation, counts: Counts | None = None) -> PublicFacts:
        """What is public about a table on these bins, as it is told from a released one."""
        return PublicFacts(
            n=0 if counts is None else counts.total,
            columns=tuple(map(PublishedColumn.of, transformation.schema.columns, transformation.binnings)),
            groups={
                column.name: found
                for column, binning in zip(transformation.schema.columns, transformation.binnings, strict=True)
                if (found := _groups(binning, self.groups.get(column.name)))
            },
            criteria=self.criteria,
            counts=counts,
            linked=self.schema.linked,
        )

    def possible(self, columns: tuple[str, ...], binnings: tuple[Binning, ...]) -> np.ndarray:
        """(n_cells,) over the product of these bins: False where the raw rules exclude every record of the cell.

        Bins of missing values are left out: a record that lacks one of the columns is in no cell.
        """
        chosen = dict(zip(columns, binnings, strict=True))
        merged = self.raw.merge(
            Transformation(
                schema=self.schema,
                binnings=tuple(chosen.get(column.name, column.atoms) for column in self.schema.columns),
            )
        )
        zeros = merged.structural_zeros([merged.layout.index(name) for name in columns])
        return ~zeros[tuple(slice(binning.present) for binning in binnings)].ravel()


def _groups(binning: Binning, coarser: Binning | None) -> tuple[Group, ...] | None:
    if coarser is None or not binning.refines(coarser):
        return None
    into = binning.map_to(coarser)
    return tuple(Group(label=label, inside=tuple((into == index).tolist())) for index, label in enumerate(coarser.labels))


class Criterion(SpecTable):
    """One acceptance criterion, validated as it stands in the acceptance file.

    Adding one takes one file with a subclass, one line in `CRITERIA`, and examples (studio/audit/examples). Everything
    public about a criterion stands on its class: what cannot be said has a stated reason (`no_sensitivity`, `no_bounds`,
    `no_draft`, `no_offender`), and tests/test_contracts.py demands one or the other.

    Attributes
    ----------
    name : what the figure is called on the data card and by other criteria; each name once.
        Example: `name = "mean birth weight"`.
    kind : which criterion this is; its further settings follow from it.
    threshold : the figure, with its noise, must be at or below this. In the figure's own unit. Example: `threshold = 0.01`.
    epsilon : what the figure costs. In every round it is scored, so the selection multiplies it (theory 2, selection); with
        [selection] test = "joint", or where a criterion says so, once. Above 0, unless measurements answer.
        Example: `epsilon = 0.01`.
    answered_by : "measurements" where [selection] measurements = "shared" measures every table that the figure is made from:
        then an upper bound of the exact figure follows from the noisy tables, at no cost, and must be at or below the threshold
        (theory 13.6, criteria that measurements answer). Left out, the figure is asked at `epsilon`.
        Example: `answered_by = "measurements"`.
    reason : why this criterion and this budget, in the steward's words. Example: `reason = "The ministry's first question"`.
    agreed : who agreed to the threshold, and when. Example: `agreed = { by = "Council of users", on = 2026-11-22 }`.
    """

    figure_gets_noise: ClassVar[bool] = True
    """Whether the figure itself is released with Laplace noise, rather than computed from something already public."""
    counts_rows: ClassVar[bool] = False
    """Whether the figure is a share of the rows."""
    best_figure: ClassVar[float] = 0.0
    """The least that an exact figure can be: a limit below it says no more, and no table would meet it."""
    compares: ClassVar[bool] = True
    """Whether the figure compares the released table with the original one; otherwise it looks at released rows alone."""
    bounds_every_cell: ClassVar[bool] = False
    """Whether the figure bounds the error of every cell of small tables, on which all other bounds rest."""
    own_mechanism: ClassVar[str] = "Laplace"
    """What its figure has its privacy from, where it is a figure of its own."""
    no_sensitivity: ClassVar[str] = ""
    """Why, or when, the sensitivity does not follow from what a bundle holds."""
    no_bounds: ClassVar[str] = ""
    """Why the figure says nothing about queries that no criterion named."""
    asked_for: ClassVar[str] = ""
    """What somebody asks for in words who names columns and a threshold alone; empty where a criterion needs more."""
    no_draft: ClassVar[str] = ""
    """Why `init` drafts no such criterion."""
    no_offender: ClassVar[str] = ""
    """Why no part of the public table can be named as the one with the largest error."""
    no_measured_bound: ClassVar[str] = ""
    """Why noisy tables of few columns do not bound the figure."""
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
            raise Unexpected("no such setting: measurements cannot answer a criterion of this kind")
        return answered_by

    @field_validator("epsilon")
    @classmethod
    def _paid_or_answered(cls, epsilon: Fraction, others: ValidationInfo) -> Fraction:
        answered_by = others.data.get("answered_by")
        if answered_by is not None and epsilon:
            raise Unexpected("no epsilon: an answer from measurements costs nothing")
        if answered_by is None and "answered_by" in others.data and cls.compares and not epsilon:
            raise Unexpected('a number above 0, or answered_by = "measurements" in its place', "0 or nothing")
        return epsilon

    @property
    def own_values_of(self) -> tuple[str, ...]:
        """Columns of which the figure uses the own values of private rows, and not only their bins."""
        return ()

    @property
    def asks_single_columns(self) -> bool:
        """Whether the figure looks at each column by itself, so that a table with independent columns may meet it."""
        return False

    @property
    def figure_range(self) -> tuple[float, float]:
        """What the exact figure can be, from its best value to its worst."""
        return self.best_figure, self.worst_figure

    @property
    def worst_figure(self) -> float:
        """What no exact figure is above, whatever the two tables; infinity where the settings do not tell."""
        return math.inf

    @property
    def promised_count(self) -> int:
        """How often each row of a candidate that passes occurs at least."""
        return 1

    def every_cell_up_to(self, n_columns: int) -> int:
        """Of how many columns a table may be for the figure to bound the error of each of its cells; 0 for none."""
        return 0

    def guards(self, pair: LostPair) -> bool:
        """Whether the figure is about these two columns together: it names them, or must fail when their tie is lost."""
        return False

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float | None:
        """What the sensitivity is at least, for whatever candidate of n rows; None where the settings do not tell."""
        return 1 / n if self.counts_rows else None

    def effort(self, layout: Layout, n: int) -> float:
        """How many numbers one figure reads, about, for tables of n rows over this layout: what grows with the columns."""
        raise NotImplementedError

    def figure_unit(self, facts: PublicFacts) -> str:
        """In what the figure is measured, empty for a plain number."""
        raise NotImplementedError

    def sentence(self, facts: PublicFacts) -> str:
        """What the figure is, for readers of the card."""
        raise NotImplementedError

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        """The sensitivity of the figure, from public facts alone; None where it does not follow from them."""
        return None

    def public_figure(self, facts: PublicFacts) -> float | None:
        """The figure, where the released table alone decides it; None where it takes private counts."""
        return None

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float | None:
        """What it adds to the exact figure at most that all kept rows of the file take the place of the drawn ones, rows
        counting as shares; None where nothing limits it (theory 13.17, drawn shares).
        """
        return None

    def known_error(self, limit: float, facts: PublicFacts) -> KnownError | None:
        """What follows about the original table when the exact figure is at most `limit`; None where nothing does."""
        return None

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft | str]:
        """Criteria of this kind for a public file; a text for what was left out, and why."""
        return ()

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """Where on public rows the figure comes from; None where the class says why (`no_offender`), or for a perfect
        candidate.

        Parameters
        ----------
        public : a table of public rows on the candidate's bins. Never a private one: see `criteria.facts`.
        """
        return None

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        """What is wrong with this table, given the schema and the criteria before it."""
        return ()

    def joint_test_mistakes(self) -> Iterable[Mistake]:
        """What is wrong with this table where rounds are tested jointly, without figures of their own."""
        return ()

    def once(self) -> tuple[Charge, ...]:
        """Charges before the loop."""
        return ()

    def per_score(self) -> tuple[Charge, ...]:
        """Charges of one `refit` and `score`: in every round, or once after acceptance when the rounds are tested jointly."""
        return (self.charge,) if self.answered_by is None else ()

    @property
    def charge(self) -> Charge:
        return mechanism(f"criterion: {self.name}", self.epsilon, "Laplace mechanism")

    def prepare(self, private: PrivateCounts, setting: Setting) -> Regression | None:
        """Before the loop: spend the charges of `once` and return what later scores need, or None."""
        return None

    def refit(self, private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Fitted:
        """Before a score: what is fitted anew for it, together with what was fitted before. Spends a part of `per_score`."""
        return fitted

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query | Score:
        """What to ask of the private table about a candidate; a score where nothing private is left to ask.

        Parameters
        ----------
        n : the public number of rows.
        fitted : what `prepare` and `refit` have returned.
        """
        raise NotImplementedError

    @property
    def asks_something(self) -> bool:
        """Whether a score may look at the private table; otherwise it is a function of what is public by then."""
        return self.compares and self.answered_by is None

    @property
    def mechanism_words(self) -> str:
        """What the released figure has its privacy from, in words."""
        return self.own_mechanism if self.answered_by is None else ANSWERED

    @property
    def measured_line(self) -> bool:
        """Whether a line is taken from the shared measurements."""
        return False

    def measured_columns(self, setting: Setting) -> Sequence[tuple[str, Binning]]:
        """The columns of that line, the target last, with the bins whose numbers it takes."""
        raise NotImplementedError

    def measured_sums(self, facts: PublicFacts) -> Sequence[Sums]:
        """The sums of original counts that bound the figure of whatever table on these bins. They do not read the table."""
        raise NotImplementedError

    def least_measured_bound(self, widths: Sequence[np.ndarray], n: int) -> float:
        """What the bound is at least, for whatever tables of n rows, because of the noise alone; 0 where nothing is known.

        Parameters
        ----------
        widths : of `measured_sums`, how far each limit is from the middle of its interval at least.
        """
        return 0.0

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        """The largest exact figure of the table when the original sums are within their limits, or a number above it.

        Parameters
        ----------
        limits : of `measured_sums`, one after the other.

        Returns
        -------
        NaN for a table that fails whatever the original one is.
        """
        raise NotImplementedError

    def asked(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query | Score:
        """The query about a candidate, or its score where measurements answer.

        Privacy
        -------
        The latter is post-processing of the shared measurements and of the candidate: no private count is looked at.
        """
        if self.answered_by is None:
            return self.query(n, candidate, setting, fitted)
        transformation = candidate.transformation
        limits = fitted.measured_limits(transformation, setting.sums, setting.raw)[self.name]
        bound = outward(self.measured_bound(limits, setting.facts(transformation, candidate.counts)))
        return self._judged(bound, self.mechanism_words, None, None, Fraction(0))

    def score(self, private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Score:
        """Ask the query, release its figure with noise and compare it with the threshold.

        Parameters
        ----------
        private : the private table on the candidate's bins, with this round's meter.
        fitted : as for `query`.
        """
        return self.answer(private, self.asked(private.n, candidate, setting, fitted))

    def answer(self, private: PrivateCounts, found: Query | Score) -> Score:
        """The figure of what was asked, with noise of its own; a score is one already."""
        return found if isinstance(found, Score) else self._release(private, found)

    def seconds(self, layout: Layout, rows: int) -> float:
        """An estimate of how long a score takes on one core, beyond a few passes through the cells that occur."""
        return 0.0

    @property
    def own_noise(self) -> bool:
        """Whether its figure is asked of the private table and released with noise of its own."""
        return self.asks_something and self.figure_gets_noise

    def _release(self, private: PrivateCounts, query: Query) -> Score:
        """Release the figure of a query with Laplace noise."""
        from synthrelease.criteria.base_mechanism import noisy_figure  # here, for readers of a release have no use for it

        figure = partial(noisy_figure, query=query, epsilon=self.epsilon, rows=private.n, entropy=private.entropy)
        return self.released(query, private.spend(self.charge, figure))

    def released(self, query: Query, noisy: NoisyFigure) -> Score:
        """The score of a figure that has its noise. That of a void candidate is no number, whatever came out."""
        value = math.nan if query.void else noisy.value
        return self._judged(value, self.mechanism_words, query.sensitivity, noisy.noise_sd, self.epsilon)

    def _judged(
        self, value: float, mechanism_name: str, sensitivity: float | None, noise_sd: float | None, epsilon: Fraction
    ) -> Score:
        return Score(
            name=self.name,
            kind=self.kind,
            threshold=self.threshold,
            value=value,
            epsilon=epsilon,
            mechanism=mechanism_name,
            sensitivity=sensitivity,
            noise_sd=noise_sd,
            passed=math.isfinite(value) and value <= self.threshold,
        )


# What criteria know beside a candidate: values that are public once they were paid for, by the name of the criterion.


@dataclass(frozen=True, kw_only=True)
class Regression:
    """The public design of a regression, and its private fit once it was made.

    `possible` (n_cells,) is False where the public raw rules exclude every record of a cell of the design.
    `redraws` (n_draws, d) are slopes as the noise might have made them; they give the figure its noise deviation.
    """

    design: Design
    possible: np.ndarray
    model: LinearModel | None
    redraws: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def fitted(self) -> LinearModel:
        if self.model is None:
            raise LookupError("the private fit is missing")
        return self.model


@dataclass(frozen=True, kw_only=True)
class MeasuredAnswers:
    """Shared measurements as criteria use them: the limits of all their sums, for each transformation once.

    Attributes
    ----------
    measured : on the `common` bins of all transformations.
    risk : probability, over the noise of the measurements, that any limit on any of the transformations is wrong.
    transformations : how many there are; each gets an equal part of the risk.
    """

    measured: NoisyMarginals
    common: Transformation
    risk: Fraction
    transformations: int
    _kept: dict[tuple[str, ...], Mapping[str, Sequence[Limits]]] = field(default_factory=dict)

    def limits(
        self,
        transformation: Transformation,
        sums: Callable[[Transformation], Mapping[str, Sequence[Sums]]],
        raw: Plausibility,
    ) -> Mapping[str, Sequence[Limits]]:
        """The limits of the sums of every criterion that is answered, on the bins of a transformation.

        Parameters
        ----------
        raw : the rules for private rows, over atomic cells.
        """
        from synthrelease.criteria.measured import all_limits

        key = tuple(binning.name for binning in transformation.binnings)
        if key not in self._kept:
            pairs = zip(self.common.binnings, transformation.binnings, strict=True)
            measured = self.measured.merge(transformation.layout, [finer.map_to(coarser) for finer, coarser in pairs])
            self._kept[key] = all_limits(
                sums(transformation),
                measured,
                possible_cells(raw.merge(transformation)),
                float(self.risk) / self.transformations,
            )
        return self._kept[key]


def possible_cells(raw: Plausibility) -> Callable[[tuple[str, ...]], np.ndarray]:
    """For columns, (n_cells,) False where the rules exclude every row. `raw` is over the bins of the cells."""
    return lambda names: ~raw.structural_zeros([raw.layout.index(name) for name in names]).ravel()


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What a round knows beside its candidate: the regressions that were fitted before the loop, or in this round, and what the
    shared measurements answer."""

    regressions: Mapping[str, Regression] = field(default_factory=dict)
    answers: MeasuredAnswers | None = None

    def regression(self, name: str) -> Regression:
        """The regression of a criterion. Raises LookupError when nothing was prepared for it."""
        if name not in self.regressions:
            raise LookupError(f"nothing was prepared for {name!r}")
        return self.regressions[name]

    def with_regression(self, name: str, regression: Regression) -> Fitted:
        """The same with another regression of a criterion."""
        return replace(self, regressions={**self.regressions, name: regression})

    def with_lines(self, columns: Mapping[str, Sequence[tuple[str, Binning]]]) -> Fitted:
        """The same with the line of the shared measurements for some criteria: by name, their columns with the bins to take.

        Raises LookupError where nothing was measured.
        """

        found = self
        for name, taken in columns.items():
            if self.answers is None:
                raise LookupError("nothing was measured")
            names, binnings = zip(*taken, strict=True)
            model = measured_line(names, binnings, self.answers.measured, self.answers.common)
            found = found.with_regression(name, replace(found.regression(name), model=model))
        return found

    def measured_limits(
        self,
        transformation: Transformation,
        sums: Callable[[Transformation], Mapping[str, Sequence[Sums]]],
        raw: Plausibility,
    ) -> Mapping[str, Sequence[Limits]]:
        """As `MeasuredAnswers.limits`. Raises LookupError where nothing was measured."""
        if self.answers is None:
            raise LookupError("nothing was measured")
        return self.answers.limits(transformation, sums, raw)


# A regression line from shared noisy tables: public, at no cost, in place of a private line of its own.
#
# It is what a criterion of prediction errors compares with; how far it is from the line of the original rows is not stated.

_SMALLEST_EIGENVALUE = 1e-2
"""Eigenvalues of the noisy correlation matrix of the features below this are raised to it, so that the line always exists."""


def measured_line(
    columns: Sequence[str], binnings: Sequence[Binning], measured: NoisyMarginals, common: Transformation
) -> LinearModel:
    """The least-squares line of the last column on the others. Total: a line exists for every input.

    Means and products are taken from the measured table with the least noise that has the column or the pair, without bins of
    missing values. A pair with a measured sum has the correlation that the sum tells of (`_correlation`). A pair that neither
    has counts as uncorrelated.

    Parameters
    ----------
    binnings : of each column, with numbers; every bin of `common` lies inside one of them.

    Privacy
    -------
    Post-processing of the measurements.
    """
    maps = [common.binning(name).map_to(binning) for name, binning in zip(columns, binnings, strict=True)]
    numbers = [np.array(binning.numbers[: binning.present], dtype=float) for binning in binnings]
    places = [measured.layout.index(name) for name in columns]
    means, deviations = np.empty(len(columns)), np.empty(len(columns))
    for one in range(len(columns)):
        rows = np.maximum(_table(measured, [places[one]], [maps[one]], [numbers[one]]), 0.0)
        shares = (rows + 1e-9) / (rows + 1e-9).sum()
        means[one] = shares @ numbers[one]
        deviations[one] = max(np.sqrt(shares @ (numbers[one] - means[one]) ** 2), 1e-9)
    correlations = np.eye(len(columns))
    for one in range(len(columns)):
        for other in range(one):
            pair = [places[one], places[other]]
            if any(set(pair) <= set(table.columns) for table in measured.tables):
                rows = _table(measured, pair, [maps[one], maps[other]], [numbers[one], numbers[other]])
                standard = [(numbers[each] - means[each]) / deviations[each] for each in (one, other)]
                found = float(standard[0] @ rows @ standard[1]) / max(float(rows.sum()), 1.0)
                correlations[one, other] = correlations[other, one] = min(max(found, -1.0), 1.0)
            of_pair = [each for each in measured.sums if set(each.columns) == set(pair)]
            if of_pair:
                least = min(of_pair, key=lambda each: each.variance / each.sensitivity**2)
                of_bins = [_of_bins(numbers[each], means[each], deviations[each], maps[each]) for each in (one, other)]
                found = _correlation(measured, least, of_bins if pair == sorted(pair) else of_bins[::-1])
                correlations[one, other] = correlations[other, one] = min(max(found, -1.0), 1.0)
    values, vectors = np.linalg.eigh(correlations[:-1, :-1])
    inverse = vectors @ np.diag(1 / np.maximum(values, _SMALLEST_EIGENVALUE)) @ vectors.T
    slopes = inverse @ correlations[:-1, -1] * deviations[-1] / deviations[:-1]
    return LinearModel(intercept=float(means[-1] - slopes @ means[:-1]), coefficients=slopes)


def _of_bins(numbers: np.ndarray, mean: float, deviation: float, into: np.ndarray) -> np.ndarray:
    """(n_bins,) the standard number of every measured bin; 0, the mean, for one without a number."""
    standard = np.append((numbers - mean) / deviation, 0.0)
    return standard[np.minimum(into, len(numbers))]


def _correlation(measured: NoisyMarginals, one: NoisySum, numbers: Sequence[np.ndarray]) -> float:
    """The correlation of the numbers of two columns, in a table that the sum and both columns tell of.

    Of the tables p q (1 + l s), p and q the shares of the columns and s the scores without what either column explains, which
    have these shares for every l, the one with the measured sum. Where scores are products of the numbers, up to a shift of
    either, that is the measured product moment.

    Parameters
    ----------
    numbers : standard numbers of the bins of both columns, in the order of the layout.
    """
    rows = [
        np.maximum(_counts(measured, column, size), 0.0) + 1e-9
        for column, size in zip(one.columns, one.scores.shape, strict=True)
    ]
    shares = [each / each.sum() for each in rows]
    expected = float(shares[0] @ one.scores @ shares[1])
    scores = one.scores - shares[0] @ one.scores - (one.scores @ shares[1])[:, None] + expected
    weighted = np.outer(*shares) * scores
    spread = float((weighted * scores).sum())
    slope = (one.value / measured.n - expected) / max(spread, 1e-9)
    return slope * float(numbers[0] @ weighted @ numbers[1])


def _counts(measured: NoisyMarginals, column: int, size: int) -> np.ndarray:
    """Noisy counts of all bins of a column."""
    return _table(measured, [column], [np.arange(size)], [np.empty(size)])


def _table(
    measured: NoisyMarginals, places: Sequence[int], maps: Sequence[np.ndarray], numbers: Sequence[np.ndarray]
) -> np.ndarray:
    """Noisy counts of some columns in bins with numbers, an axis each, from the table whose noise adds up to least."""

    def noise(table: NoisyMarginal) -> float:
        return float(table.variance().sum())

    best = min((table for table in measured.tables if set(places) <= set(table.columns)), key=noise, default=None)
    if best is None:
        return np.ones([len(each) for each in numbers])
    others = tuple(axis for axis, column in enumerate(best.columns) if column not in places)
    values = best.values.sum(axis=others)
    left = [column for column in best.columns if column in places]
    values = values.transpose([left.index(place) for place in places]).astype(float)
    merged = np.zeros([int(into.max()) + 1 for into in maps])
    np.add.at(merged, np.ix_(*maps), values)
    return merged[tuple(slice(len(each)) for each in numbers)]
