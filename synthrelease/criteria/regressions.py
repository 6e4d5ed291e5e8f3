"""Define criteria that compare coefficients of linear regressions, one Newton step from the released coefficients, or
predictions.

Paper 4.5.4; theory 3.9, regression coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field

from synthrelease.criteria.base import Criterion, Fitted, MeasuredAnswers, Regression, Setting
from synthrelease.criteria.columns import OF_BINS, representation_mistakes, unknown_columns
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import (
    LostPair,
    Offender,
    PublicCounts,
    PublicFacts,
    Query,
    Score,
    figure,
    in_words,
    what_counts,
    words,
)
from synthrelease.criteria.functional import (
    Design,
    LinearModel,
    NoisyMoments,
    Prior,
    PriorGuess,
    design_of,
    least_squares,
    too_large,
)
from synthrelease.criteria.measured import Limits, Sums, furthest_slopes, measured_line, moment_sums
from synthrelease.criteria.records import (
    Finite,
    Interval,
    LinearStep,
    Records,
    RegressionColumns,
    StandardUnits,
    check_ranges,
    linear,
    public_axes,
)
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Binning, Transformation
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import Unexpected, closest, listing, rejecting
from synthrelease.privacy.charges import Charge, mechanism
from synthrelease.privacy.grids import grid_bits
from synthrelease.settings.base import KEYS, AboutColumn, AmongColumns, Mistake

if TYPE_CHECKING:
    from synthrelease.enclave.door import PrivateCounts

_REDRAWS = 200  # Number of draws that estimate the standard deviation of a distance's noise, with an error of about 5%


class RegressionCoefficients(Criterion):
    """The error of the slopes of a linear regression: the sum of |slope_R - slope_S| over the features. Each slope is in
    units of the target per standard deviation of the feature in the released table S. The slopes of the private table R are
    computed with noise.

    Privacy
    -------
    The private fit is eps-DP (functional mechanism in joint form; `records_mechanism.noisy_sums` states the sensitivity).
    Everything else is post-processing of this fit and of the candidate.

    Attributes
    ----------
    target : the dependent variable, a column. Example: `target = "birth_weight"`.
    features : the explanatory variables, a list of columns. Example: `features = ["parity", "age"]`.
    representation : for the target and each feature, the alternative whose representative values stand for the released
        rows; "categories" for a column of categories without alternatives. Choose the coarsest alternative, in which the
        bins of all others lie. Example: `representation = { birth_weight = "hundreds", parity = "five", age = "nine" }`.
    values : the values of the private rows. "own" means exact values, rounded to the grids of the columns (`step`). "own
        target" means exact values of the target, and representative values of the features. "bins" means representative
        values of all columns, as in Hod & Canetti (2024). Example: `values = "own target"`.
    ranges : for some of the columns, the lowest and the highest value, to which values are clipped. A narrow range needs
        less noise. The default is the bounds of the column. Example: `ranges = { parity = [1, 10] }`.
    fit : "once" fits the private regression before the rounds, so the selection does not multiply its cost (paper 4.14.1).
        "every_round" fits it in every round, as the paper did. Example: `fit = "every_round"`.
    prior : a public guess of the regression, from which the private fit starts. A good guess lowers the noise. Example:
        `prior = { intercept = 0, coefficients = { age = 5 }, centres = { age = 29 }, spreads = { age = 6 }, uncertainty = 9
        }`.

    Examples
    --------
    >>> judged = RegressionCoefficients(
    ...     kind="regression_coefficients", name="line", threshold=0.1, epsilon="0.4", target="income",
    ...     features=["age"], representation={"income": "fine", "age": "fine"}
    ... )
    >>> judged.once()[0].epsilon
    Fraction(2, 5)
    """

    figure_gets_noise: ClassVar[bool] = False
    own_mechanism: ClassVar[str] = "functional mechanism"
    kind: Literal["regression_coefficients"]
    target: AboutColumn
    features: AmongColumns = Field(min_length=1)
    representation: Annotated[Mapping[str, str], KEYS]
    fit: Literal["once", "every_round"] = "once"
    prior: PriorGuess | None = None
    values: Literal["own", "own target", "bins"] = "own"
    ranges: Annotated[Mapping[str, tuple[Finite, Finite]], KEYS] = Field(default_factory=dict)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Score:
        regression = fitted.regression(self.name)
        columns = self.regression_columns(setting, candidate.transformation)
        _, synthetic, deviations = _released_line(candidate.counts, columns)
        lines = np.vstack([regression.fitted.coefficients, *regression.redraws])
        distances = np.abs((lines - synthetic.coefficients) * deviations).sum(axis=1)
        score = self._judged(float(distances[0]))
        if not len(regression.redraws):
            return score
        # by the triangle inequality, the distance moves by at most the movement of the line
        moves = np.abs((lines[1:] - lines[0]) * deviations).sum(axis=1)
        bound = float(np.quantile(moves, 0.95, method="higher"))
        return replace(score, noise_sd=float(np.std(distances[1:])), noise_bound=bound)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if len(set(self.columns)) != len(self.columns):
            yield "The target and the features must be different columns"
        check_ranges(self.ranges, self.columns)

    @property
    def own_values_of(self) -> tuple[str, ...]:
        return {"own": self.columns, "own target": (self.target,), "bins": ()}[self.values]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.features, self.target)

    @property
    def charge(self) -> Charge:
        return mechanism(f"criterion: {self.name}", self.epsilon, "functional mechanism, joint form (Zhang et al. 2012)")

    @property
    def fit_charge(self) -> Charge | None:
        return self.charge if self.answered_by is None else None

    @property
    def measured_line(self) -> bool:
        return self.answered_by is not None

    def once(self) -> tuple[Charge, ...]:
        return (self.fit_charge,) if self.fit == "once" and self.fit_charge else ()

    def per_score(self) -> tuple[Charge, ...]:
        return () if self.fit == "once" or self.answered_by is not None else (self.charge,)

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        return moment_sums(self.columns, facts)

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        return furthest_slopes(self.columns, limits, facts)

    def _unanswered(self, setting: Setting) -> Iterable[Mistake]:
        """Yield the reasons why noisy tables of pairs do not determine the regression, as mistakes in `answered_by`."""
        if self.values != "bins":
            yield Mistake("answered_by", OF_BINS)
        for name in self.columns:
            chosen = self.representation[name]
            other_alternatives = {transformation.binning(name).name for transformation in setting.transformations} - {chosen}
            lacking = setting.schema[name].alternatives[chosen].missing is not None
            if other_alternatives or lacking:
                others = f"The release may also use {listing(sorted(other_alternatives))} for {name!r}"
                problem = f"{name!r} can have missing values" if lacking else others
                advice = "The noisy tables then do not determine the regression. Delete answered_by and set an epsilon"
                yield Mistake("answered_by", f"{problem}. {advice}")

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        wrong = list[Mistake]()
        if setting.joint_test and self.fit == "every_round":
            problem = 'Set fit = "once". With [selection] test = "joint", no round can have its own fit'
            wrong.append(Mistake("fit", problem))
        wrong += unknown_columns(setting.schema, "target", [self.target])
        wrong += unknown_columns(setting.schema, "features", self.features)
        if wrong:
            return wrong
        wrong = [*representation_mistakes(setting, self.columns, self.representation, self.columns)]
        for field in ("coefficients", "centres", "spreads") if self.prior else ():
            if set(getattr(self.prior, field)) != set(self.features):
                problem = f"The prior needs one number for each feature ({listing(self.features)})"
                numbers = listing(getattr(self.prior, field)) or "no column"
                wrong.append(Mistake(f"prior.{field}", f"{problem}. At present, it has numbers for {numbers}"))
        if not wrong and self.answered_by is not None:
            wrong += self._unanswered(setting)
        columns = None if wrong else self.regression_columns(setting, setting.atomic)
        if columns is not None and too_large(columns.numbers, columns.limits, self.public_prior()):
            problem = (
                "The numbers are too large or too small for a regression. Spreads and uncertainties must lie between 1e-50 and "
                "1e50. Residuals must be at most 1e50, and so must the distances of features from their centres, in spreads"
            )
            wrong.append(Mistake("prior" if self.prior else "representation", problem))
        return wrong

    def binnings(self, setting: Setting) -> tuple[Binning, ...]:
        return tuple(setting.schema[name].alternatives[self.representation[name]] for name in self.columns)

    def regression_columns(self, setting: Setting, transformation: Transformation) -> RegressionColumns:
        wanted, own = self.binnings(setting), self.own_values_of
        return RegressionColumns(transformation=transformation, names=self.columns, wanted=wanted, ranges=self.ranges, own=own)

    def public_prior(self) -> Prior | None:
        guess = self.prior
        if guess is None:
            return None

        def ordered(numbers: Mapping[str, float]) -> np.ndarray:
            return np.array([numbers[name] for name in self.features])

        return Prior(
            intercept=guess.intercept,
            coefficients=ordered(guess.coefficients),
            centres=ordered(guess.centres),
            spreads=ordered(guess.spreads),
            uncertainty=guess.uncertainty,
        )

    def design(self, setting: Setting, possible: np.ndarray) -> Design:
        """Return the public design: the whole numbers that each possible record adds to the sums from which the line is
        computed.
        """
        columns = self.regression_columns(setting, setting.atomic)
        counted = any(binning.missing is not None for binning in columns.wanted)
        return design_of(columns.numbers, possible, self.public_prior(), limits=columns.limits, counted=counted)

    def prepare(self, private: PrivateCounts, setting: Setting, answers: MeasuredAnswers | None = None) -> Regression:
        binnings = self.binnings(setting)
        possible = setting.possible(self.columns, binnings)
        regression = Regression(design=self.design(setting, possible), possible=possible, model=None)
        if self.measured_line and answers is not None:
            return replace(regression, model=measured_line(self.columns, binnings, answers.measured, answers.common))
        if self.fit == "every_round" or self.fit_charge is None:
            return regression
        return self.private_fit(private, setting, regression, setting.atomic)

    def private_fit(
        self, private: PrivateCounts, setting: Setting, regression: Regression, transformation: Transformation
    ) -> Regression:
        """Return the regression with a noisy line fitted to a private table."""
        from synthrelease.criteria.records_mechanism import noisy_moments

        design, charge = regression.design, self.fit_charge or self.charge
        columns, entropy = self.regression_columns(setting, transformation), private.entropy
        sums = partial(noisy_moments, columns=columns, design=design, epsilon=charge.epsilon, entropy=entropy)
        noisy = NoisyMoments.of(design, private.spend(charge, sums), charge.epsilon)
        redraws = noisy.redrawn(private.n, _REDRAWS, entropy.generator())
        return replace(regression, model=noisy.solve(private.n), redraws=redraws)

    def refit(self, private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Fitted:
        if self.fit == "once" or self.answered_by is not None:
            return fitted
        again = self.private_fit(private, setting, fitted.regression(self.name), candidate.transformation)
        return fitted.with_regression(self.name, again)


Line = TypeVar("Line", bound=RegressionCoefficients)


class RegressionCoefficientsExplained(Explanation[Line]):
    """Explain a limit on the distance between the coefficients of two regression lines."""

    no_sensitivity: ClassVar[str] = "Noise is added to the private line, not to the criterion value."
    no_bounds: ClassVar[str] = "Slopes give no limit on the error of single counts or means."

    def figure_unit(self, facts: PublicFacts) -> str:
        return facts.unit(self.about.target)

    def guards(self, pair: LostPair) -> bool:
        return pair.is_one_of(self.about.target, self.about.features)

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """Return the slope that differs most between the least-squares fits of the candidate and the public rows."""
        from synthrelease.criteria.records_mechanism import original_records, released_records

        columns = self.about.regression_columns(setting, candidate.transformation)
        ours, deviations = least_squares(released_records(candidate.counts, columns))
        theirs, _ = least_squares(original_records(public.counts, columns))
        worst = int((np.abs(ours.coefficients - theirs.coefficients) * deviations).argmax())
        released, original = (figure(float(line.coefficients[worst]), 3) for line in (ours, theirs))
        part = f"slope of {words(self.about.target)} on {words(self.about.features[worst])}"
        return Offender(where=part, released=released, original=original)

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"The distance between two fits of {self._line}: one on the released rows, the other with noise on the original "
            "records. It is the sum of absolute differences of coefficients, per standard deviation of a feature. Only rows "
            f"with all these columns count{what_counts(self.about.values, self.about.ranges, self.about.columns, facts)}."
        )

    @property
    def _line(self) -> str:
        features = ", ".join(map(words, self.about.features))
        return f"the linear regression of {words(self.about.target)} on {features}"


_MOST_DIRECTIONS = 64  # Largest number of directions for which the slack can be a number of records (`slack_of_steps`)

_SINGULAR = 1e-9  # Smallest eigenvalue of the synthetic correlation matrix above which a line is treated as determined


class RegressionOneStep(RegressionCoefficients):
    """The error of the slopes of a linear regression, approximated by one Newton step from the regression on the released
    rows. This needs less noise than a private regression. The value is the sum over the slopes of |A_S^-1 X'r / m|. Here r
    = y - clip(X w(S)) are the residuals of the private records from the released regression w(S), X are their features in
    standard units of S with an intercept, A_S = X_S'X_S / m is public, and m is the number of released rows.

    Records that lack one of the columns are excluded.

    One Newton step from w(S) leads to w(R) if A_R = A_S. So the value is the distance of the slopes, up to the difference
    between A_R and A_S, which the marginal criteria bound.

    Privacy
    -------
    Let v(z) = A_S^-1 x(z) r(z), which is public for every possible record z. The criterion value is || sum_z v(z) ||_1 / m
    over the records. Replacing one record moves it by at most 2 max_z || v(z) ||_1 / m (slopes only), over the records that
    the public rules allow; a record that lacks a column adds 0. m is public. The step v(z) is computed from S alone, before
    the counts are read. Products with counts have relative errors of at most 2^-52. The sums of these products are
    correctly rounded in any order (math.fsum), and so are the sum over the slopes and the quotient. The error is at most 5
    n 2^-53 max || v ||_1 / m in all, which is less than 3 n 2^-53 of the sensitivity. A quarter of a grid step is larger,
    because it is above 8 n 2^-53 of the sensitivity for n up to 2^40 (`laplace_figure`).

    Attributes
    ----------
    range : the lowest and the highest value, to which predictions are clipped. This keeps the residuals, and so the noise,
        small. Example: `range = [1400, 4600]`.
    fit : always "once", because no regression is fitted in a round. You can omit it. Example: `fit = "once"`.
    fit_epsilon : the epsilon of a private regression for a later criterion of the kind "regression_prediction", fitted once
        before the rounds. Without this setting none is fitted. Example: `fit_epsilon = 0.2`.
    line : "measurements" computes the regression for "regression_prediction" from the shared measurements, at no cost.
        Pairs of columns without a measured table count as uncorrelated. Example: `line = "measurements"`.

    Examples
    --------
    >>> judged = RegressionOneStep(
    ...     kind="regression_one_step", name="line", threshold=0.1, epsilon="0.4", target="income",
    ...     features=["age"], representation={"income": "fine", "age": "fine"}, range=[0, 900]
    ... )
    >>> judged.charge.epsilon
    Fraction(2, 5)
    """

    figure_gets_noise: ClassVar[bool] = True
    own_mechanism: ClassVar[str] = "Laplace"
    former_mechanism: ClassVar[str] = RegressionCoefficients.own_mechanism
    no_measured_bound: ClassVar[str] = "A residual depends on a clipped prediction, which tables of two columns do not show."
    kind: Literal["regression_one_step"]  # type: ignore[assignment]
    range: tuple[float, float]
    fit: Literal["once"] = "once"
    fit_epsilon: Fraction | None = Field(default=None, gt=0)
    line: Literal["measurements"] | None = None

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:  # type: ignore[override]
        from synthrelease.criteria.records_mechanism import distance_of_steps, released_records, slack_of_steps

        possible, columns = fitted.regression(self.name).possible, self.regression_columns(setting, candidate.transformation)
        step = _Step.of(released_records(candidate.counts, columns), self.range)
        sensitivity = step.sensitivity(columns.limits, possible)
        farthest = step.farthest(columns.limits, possible)
        figure = partial(distance_of_steps, columns=columns, step=step)
        slack = partial(
            slack_of_steps, columns=columns, step=step, threshold=self.threshold, sensitivity=sensitivity, farthest=farthest
        )
        return Query(sensitivity=sensitivity, figure=figure, slack=slack, void=step.void)

    def contradictions(self) -> Iterator[str | Unexpected]:
        yield from super().contradictions()
        if not self.range[0] < self.range[1]:
            yield "range must be [lowest, highest], with lowest < highest"
        if self.line is not None and self.fit_epsilon is not None:
            yield 'Set either fit_epsilon, which pays for a private line, or line = "measurements", but not both'

    @property
    def charge(self) -> Charge:
        return mechanism(f"criterion: {self.name}", self.epsilon, "Laplace mechanism")

    @property
    def fit_charge(self) -> Charge | None:
        if self.fit_epsilon is None:
            return None
        because = "functional mechanism, joint form (Zhang et al. 2012)"
        return mechanism(f"private line: {self.name}", self.fit_epsilon, because)

    def per_score(self) -> tuple[Charge, ...]:
        return (self.charge,)

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        yield from super().mistakes(setting, earlier)
        if self.prior is not None and self.fit_epsilon is None:
            yield Mistake("prior", "Without fit_epsilon no regression is fitted. Delete the prior, or set fit_epsilon")

    @property
    def measured_line(self) -> bool:
        return self.line is not None


class _Step(LinearStep):
    """The Newton step of least squares, from the synthetic table alone. `inverse` is the (d, d) matrix A_S^-1 of the
    features."""

    @classmethod
    def of(cls, released: Records, allowed: tuple[float, float]) -> _Step:
        from synthrelease.criteria.records_mechanism import in_units

        line, spreads = least_squares(released)
        features = released.values[:, :-1]
        weights = released.counts / max(1, released.rows)
        units = StandardUnits.of(weights @ features, spreads)
        standard = in_units(features, units)
        products = (standard * weights[:, None]).T @ standard
        with rejecting(np.linalg.LinAlgError, because="the eigenvalues of the candidate's moments cannot be computed"):
            void = not np.linalg.eigvalsh(products)[0] > _SINGULAR
            inverse = np.linalg.pinv(products, hermitian=True)  # the intercept is orthogonal to centred features
        return cls(line=line, units=units, inverse=inverse, allowed=allowed, rows=max(1, released.rows), void=void)

    def sensitivity(self, limits: Sequence[Interval], possible: np.ndarray) -> float:
        """Return an upper limit on the sensitivity of the criterion value, 2 max || v(z) ||_1 / m over the records z that
        the rules for private rows allow, where z adds v(z) / m to the slopes and m is the number of released rows. It is
        computed with intervals, so it holds even with rounding.

        Parameters
        ----------
        limits : for each feature and then the target, the (n_bins,) intervals of values.
        possible : an (n_cells,) mask, False where the rules exclude every record; the target's bins vary fastest.
        """
        parts = self.units.of_limits(limits[:-1])
        steps = sum(linear(0.0, parts, slopes).furthest for slopes in self.inverse.T.tolist())
        widest = 2 * float((np.ravel(steps) * self._residuals(limits, possible).furthest).max())
        # without spread in S the criterion value is 0, but noise of scale 0 cannot be drawn
        return max(widest, (self.allowed[1] - self.allowed[0]) * 2.0**-20) / self.rows

    def farthest(self, limits: Sequence[Interval], possible: np.ndarray) -> list[tuple[np.ndarray, float]]:
        """Return the 2^d directions (a sign for each slope), each with an upper limit (at least 0) on how far one allowed
        record can move the slopes along it, even with rounding. Empty for more than `_MOST_DIRECTIONS` directions.
        """
        d = len(limits) - 1
        if 2**d > _MOST_DIRECTIONS:
            return []
        parts, residuals = self.units.of_limits(limits[:-1]), self._residuals(limits, possible)
        farthest = []
        for signs in product((1.0, -1.0), repeat=d):
            direction = np.array(signs)
            steps = linear(0.0, parts, (self.inverse @ direction).tolist())
            along = Interval(np.ravel(steps.low), np.ravel(steps.high)) * residuals
            farthest.append((direction, max(0.0, float(along.high.max()))))
        return farthest

    def _residuals(self, limits: Sequence[Interval], possible: np.ndarray) -> Interval:
        """Return the (n,) lowest and highest residuals from the released line in each cell of the features; 0 for excluded
        cells.
        """
        *features, target = limits
        predictions = linear(self.line.intercept, features, self.line.coefficients.tolist()).clipped(*self.allowed)
        shape = (-1, len(target.low))
        column = Interval(predictions.low.reshape(-1, 1), predictions.high.reshape(-1, 1))
        residuals, allowed = target - column, possible.reshape(shape)
        low = np.where(allowed, residuals.low, np.inf).min(axis=1)
        high = np.where(allowed, residuals.high, -np.inf).max(axis=1)
        some = allowed.any(axis=1)
        return Interval(np.where(some, low, 0.0), np.where(some, high, 0.0))


class RegressionOneStepExplained(RegressionCoefficientsExplained[RegressionOneStep]):
    """Explain a limit on the change of the coefficients by one Newton step."""

    no_sensitivity: ClassVar[str] = (
        "The sensitivity follows from the released table if all columns are represented by their released bins. The files of a "
        "release contain no numbers of rows in other bins."
    )

    def seconds(self, layout: Layout, rows: int) -> float:
        return 2e-6 * rows

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"First, {self._line} is fitted on the released rows. Then one Newton step is taken on the original records. The "
            "criterion value is the sum of the absolute changes of the coefficients, per standard deviation of each feature. "
            "If released and original records agree in the spread and the correlation of the features, this is the distance "
            "between the coefficients of two fits, on the released and on the original records"
            f"{what_counts(self.about.values, self.about.ranges, self.about.columns, facts)}."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        """Return the sensitivity from the released table and the rules for private rows, or None if the regression uses
        other bins than the released ones.
        """
        columns = [facts.by_name[name] for name in self.about.columns]
        if any(column.binning != self.about.representation[column.name] for column in columns):
            return None
        possible = facts.of_values(facts.possible(self.about.columns), self.about.columns)
        numbers, limits = public_axes(columns, self.about.ranges, self.about.own_values_of)
        from synthrelease.criteria.records_mechanism import records_of_cells

        released = records_of_cells(facts.of_values(facts.cells(self.about.columns), self.about.columns), numbers)
        return _Step.of(released, self.about.range).sensitivity(limits, possible)


class RegressionPrediction(Criterion):
    """The difference between the mean absolute errors of two regressions on the private file: one fitted to the private
    file with noise, one to the released table ("train on synthetic, test on real"). Predictions and values are clipped to
    `range`.

    Records that lack one of the columns are excluded. The sum is divided by m, the public number of synthetic rows that
    have all columns.

    Privacy
    -------
    Both lines are public. The criterion value is |sum of the gaps of the records| / m. The gap of a record is the
    difference between its two absolute errors. With `bound` = "lines" the sensitivity is (largest gap - smallest gap) / m,
    taken over all records that the public rules allow. If a record can lack a column, a gap of 0 is included (theory 3.5,
    regression prediction). The gaps lie in [-(U - L), U - L], so 2 (U - L) / m is always an upper limit (`bound` = "range";
    Proposition 9). The gap of a record is computed from the public lines before the counts are read. Its products with
    counts have relative errors of at most 2^-53, and their sum is correctly rounded in any order (math.fsum). So the error
    of the criterion value is less than n 2^-51 / m times the largest gap. This is less than a quarter of a grid step,
    because the sensitivity is at least n 2^(b - 47) / m times that gap, and a step is above 2^-(b + 1) of the sensitivity
    (`grid_bits`).

    Attributes
    ----------
    coefficients : the name of an earlier criterion, whose private regression is used. Example: `coefficients = "regression
        coefficients"`.
    range : the lowest and the highest value, to which predictions and values of the target are clipped. The noise grows
        with the width of the range. Example: `range = [1400, 4600]`.
    bound : "range" uses the sensitivity of the paper, "lines" a smaller one that follows from the two regressions. Example:
        `bound = "lines"`.

    Examples
    --------
    >>> judged = RegressionPrediction(
    ...     kind="regression_prediction", name="errors", threshold=5, epsilon="0.01",
    ...     coefficients="line", range=[0, 900]
    ... )
    >>> judged.charge.epsilon
    Fraction(1, 100)
    """

    no_measured_bound: ClassVar[str] = "A prediction error depends on whole records, which tables of two columns do not show."
    kind: Literal["regression_prediction"]
    coefficients: str
    range: tuple[float, float]
    bound: Literal["range", "lines"] = "range"

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.records_mechanism import difference_of_mean_errors

        partner = _coefficients(setting.criteria, self.coefficients)
        lowest, highest = self.range
        columns = partner.regression_columns(setting, candidate.transformation)
        regression = fitted.regression(self.coefficients)
        rows, line, _ = _released_line(candidate.counts, columns)
        lines = regression.fitted, line
        figure = partial(difference_of_mean_errors, columns=columns, lines=lines, allowed=self.range, rows=max(1, rows))
        widest = 2 * (highest - lowest)
        if self.bound == "lines":
            gaps = _gaps(columns.limits, lines, self.range)
            least, most = (np.append(end[regression.possible], [0.0] if regression.design.counted else []) for end in gaps)
            # equal lines would need no noise, but noise of scale 0 cannot be drawn; and the noise must cover the rounding of a
            # sum of large gaps that differ little
            room = 2.0 ** (grid_bits(n) - 47)
            furthest = max(float(np.abs(least).max()), float(np.abs(most).max()))
            widest = max(float(most.max() - least.min()), widest * 2.0**-20, n * furthest * room)
        return Query(sensitivity=widest / max(1, rows), figure=figure, void=not rows)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if not self.range[0] < self.range[1]:
            yield "range must be [lowest, highest], with lowest < highest"

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        lines = {name: criterion for name, criterion in earlier.items() if isinstance(criterion, RegressionCoefficients)}
        usable = [name for name, criterion in lines.items() if criterion.fit_charge or criterion.measured_line]
        if self.coefficients not in usable:
            kinds = "regression_coefficients, or regression_one_step with fit_epsilon or line"
            problem = f"{self.coefficients!r} is not an earlier criterion with a regression line ({kinds})"
            there = f"The criteria with a line are {listing(usable)}" if usable else "No earlier criterion has a line"
            yield Mistake("coefficients", f"{problem}. {there}", suggestion=closest(self.coefficients, usable))
            return
        partner = _coefficients(earlier, self.coefficients)
        numbers = partner.regression_columns(setting, setting.atomic).numbers[-1]
        if not self.range[0] <= numbers.min() <= numbers.max() <= self.range[1]:
            numbers_of_target = f"all numbers of the target, from {numbers.min():.15g} to {numbers.max():.15g}"
            yield Mistake("range", f"The range {list(self.range)} must contain {numbers_of_target}")


def _gaps(
    limits: Sequence[Interval], lines: tuple[LinearModel, LinearModel], allowed: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper limits on the absolute error of the first line minus that of the second, for all records of
    each cell, as two (n_cells,) arrays.

    They are computed with intervals; the gap is also at most the distance of the predictions.
    """
    *features, target = limits
    predictions = [linear(line.intercept, features, line.coefficients.tolist()) for line in lines]
    inside = target.clipped(*allowed)
    ours, theirs = ((prediction.clipped(*allowed).outer() - inside).size for prediction in predictions)
    slopes = (lines[0].coefficients - lines[1].coefficients).tolist()
    apart = linear(lines[0].intercept - lines[1].intercept, features, slopes).outer().furthest
    sizes = [Interval.exactly(feature.furthest) for feature in features]
    terms = [linear(abs(line.intercept), sizes, np.abs(line.coefficients).tolist()).high[..., None] for line in lines]
    rounding = 2.0**-45 * (terms[0] + terms[1])
    gap, most = ours - theirs, apart * (1 + 2.0**-40) + rounding
    return np.maximum(gap.low, -most).ravel(), np.minimum(gap.high, most).ravel()


@lru_cache(maxsize=1)  # one criterion limits the slopes of a line, and another one its errors
def _released_line(released: Counts, columns: RegressionColumns) -> tuple[int, LinearModel, np.ndarray]:
    """Return the number of records of a public table, its line, and the standard deviations of its features."""
    from synthrelease.criteria.records_mechanism import released_records

    records = released_records(released, columns)
    return records.rows, *least_squares(records)


def _coefficients(criteria: Mapping[str, Criterion], name: str) -> RegressionCoefficients:
    criterion = criteria[name]
    if not isinstance(criterion, RegressionCoefficients):
        raise LookupError(f"{name!r} is not a regression_coefficients criterion")
    return criterion


class RegressionPredictionExplained(Explanation[RegressionPrediction]):
    """Explain a limit on the difference between the mean absolute errors of two regression lines."""

    no_sensitivity: ClassVar[str] = (
        'With bound = "lines" the sensitivity needs two lines, and a release contains only one, from the released rows.'
    )
    no_bounds: ClassVar[str] = "The mean errors of two lines give no limit on the error of single counts or means."
    no_offender: ClassVar[str] = "The criterion value is one mean over all rows."

    def figure_unit(self, facts: PublicFacts) -> str:
        partner = facts.criteria.get(self.about.coefficients)
        return facts.unit(partner.target) if isinstance(partner, RegressionCoefficients) else ""

    def sentence(self, facts: PublicFacts) -> str:
        low, high = self.about.range
        partner = facts.criteria.get(self.about.coefficients)
        measured = isinstance(partner, RegressionCoefficients) and partner.measured_line
        theirs = "the noisy tables give" if measured else "was fitted, with noise, on the original records"
        return (
            "On the original records, the difference between the mean absolute errors of two linear predictions: by the line "
            f"that was fitted on the released rows and by the line that {theirs}. "
            f"Predictions and values are limited to {in_words(low)} to {in_words(high)}."
        )

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        partner, rows = facts.criteria.get(self.about.coefficients), facts.n
        if isinstance(partner, RegressionCoefficients):
            rows = max(1, facts.rows_with_values(partner.columns))
        elif any(column.missing is not None for column in facts.columns):
            return None
        return 2 * (self.about.range[1] - self.about.range[0]) / rows if self.about.bound == "range" else None
