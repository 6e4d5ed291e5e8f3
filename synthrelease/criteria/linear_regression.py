"""Linear regression: distance of the coefficients (paper 4.5.4; theory 3.9, regression coefficients)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.criteria.base import Criterion, Mistake, Score, Setting
from synthrelease.criteria.columns import representation_mistakes, unknown_columns
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted, Regression
from synthrelease.criteria.functional_mechanism import (
    Design,
    NoisyMoments,
    Prior,
    design_of,
    least_squares,
    too_large,
)
from synthrelease.criteria.guarding import LostPair
from synthrelease.criteria.measured_moments import furthest_slopes, moment_sums
from synthrelease.criteria.measured_sums import Limits, Sums
from synthrelease.criteria.offenders import Offender, PublicCounts
from synthrelease.criteria.records import Finite, RegressionColumns, check_ranges
from synthrelease.criteria.wording import figure, what_counts, words
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Binning, Transformation
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import listing
from synthrelease.privacy.charges import Charge, mechanism
from synthrelease.settings.base import SpecTable

if TYPE_CHECKING:
    from synthrelease.enclave.door import PrivateCounts

_REDRAWS = 200
"""Draws behind the noise deviation of a distance: it is then known to about 5%."""


class PriorGuess(SpecTable):
    """Public guess of the regression, for example from the surrogate: it lowers the noise and costs nothing.

    `centres` and `spreads` are typical values and deviations of the features; `intercept` and `coefficients` a guess of the
    fitted line; `uncertainty` how far the coefficients may be off, in units of the target per spread. A wrong guess makes
    the fit noisier, never less private.

    Attributes
    ----------
    intercept : of the guessed line. Example: `intercept = -2044`.
    coefficients : of the guessed line, for each feature, per unit of it.
        Example: `coefficients = { parity = 14.7, age = 4.8 }`.
    centres : a typical value of each feature. Example: `centres = { parity = 2.3, age = 29.1 }`.
    spreads : a typical deviation of each feature, above 0. Example: `spreads = { parity = 1.4, age = 5.8 }`.
    uncertainty : how far the coefficients may be off, in units of the target per spread. Example: `uncertainty = 10`.
    """

    intercept: float = Field(allow_inf_nan=False)
    coefficients: Mapping[str, Finite]
    centres: Mapping[str, Finite]
    spreads: Mapping[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]
    uncertainty: float = Field(gt=0, allow_inf_nan=False)


class RegressionCoefficients(Criterion):
    """|| w_eps(R) - w(S) ||_1 over the slopes, in units of the target per standard deviation of each feature in S.

    Attributes
    ----------
    target : the column that is explained. Example: `target = "birth_weight"`.
    features : the columns that explain it. Example: `features = ["parity", "age"]`.
    representation : for the target and each feature the alternative whose numbers stand for the rows of S ("categories" for a
        column of categories without alternatives). It is fixed for all candidates so that the private fit does not depend on
        the configuration; every other alternative must fit inside it, so it is the coarsest.
        Example: `representation = { birth_weight = "hundreds", parity = "five", age = "nine" }`.
    values : "own" takes private rows by their own values, on the grids of the columns (`step`). "own target" takes the features
        by the numbers of the bins of the representation, and the target by its own values: the line of the file on the groups
        that are released. "bins" takes all by their bins' numbers, as Hod & Canetti (2024) do; the line is then that of a table
        of bin numbers, which differs from both lines of the file. Example: `values = "own target"`.
    ranges : for some of the columns [lowest, highest]: values and numbers beyond it count as its ends. The noise grows with the
        furthest values that the rules allow. Left out, the bounds of the column. Example: `ranges = { parity = [1, 10] }`.
    fit : "once", before the loop and outside the selection (paper 4.14.1), or "every_round", as the paper ran it.
        Example: `fit = "every_round"`.
    prior : a public guess of the line that centres the private fit; its settings follow.
        Example:
        `prior = { intercept = 0, coefficients = { age = 5 }, centres = { age = 29 }, spreads = { age = 6 }, uncertainty = 9 }`.

    Privacy
    -------
    The private fit is eps-DP (functional mechanism in joint form, `private_least_squares`); everything else is
    post-processing of it and of the candidate.

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
    no_sensitivity: ClassVar[str] = "The noise is in the private line; none is added to the figure."
    no_bounds: ClassVar[str] = "A distance of slopes says nothing about single counts or means."
    no_draft: ClassVar[str] = "Which line the data are for is known to their users, and not from a file."
    kind: Literal["regression_coefficients"]
    target: str
    features: tuple[str, ...] = Field(min_length=1)
    representation: Mapping[str, str]
    fit: Literal["once", "every_round"] = "once"
    prior: PriorGuess | None = None
    values: Literal["own", "own target", "bins"] = "own"
    ranges: Mapping[str, tuple[Finite, Finite]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _columns_once(self) -> RegressionCoefficients:
        if len(set(self.columns)) != len(self.columns):
            raise ValueError("the target and the features must be different columns")
        check_ranges(self.ranges, self.columns)
        return self

    @property
    def own_values_of(self) -> tuple[str, ...]:
        return {"own": self.columns, "own target": (self.target,), "bins": ()}[self.values]

    @property
    def columns(self) -> tuple[str, ...]:
        """Features, then the target."""
        return (*self.features, self.target)

    @property
    def charge(self) -> Charge:
        return mechanism(f"criterion: {self.name}", self.epsilon, "functional mechanism, joint form (Zhang et al. 2012)")

    @property
    def fit_charge(self) -> Charge | None:
        """What the private fit costs; None where there is none."""
        return self.charge if self.answered_by is None else None

    @property
    def measured_line(self) -> bool:
        """Whether the line for prediction errors is that of the shared measurements."""
        return self.answered_by is not None

    def measured_columns(self, setting: Setting) -> Sequence[tuple[str, Binning]]:
        return list(zip(self.columns, self.binnings(setting), strict=True))

    def once(self) -> tuple[Charge, ...]:
        return (self.fit_charge,) if self.fit == "once" and self.fit_charge else ()

    def per_score(self) -> tuple[Charge, ...]:
        return () if self.fit == "once" or self.answered_by is not None else (self.charge,)

    def figure_unit(self, facts: PublicFacts) -> str:
        return facts.unit(self.target)

    def guards(self, pair: LostPair) -> bool:
        """It names the target and its features."""
        return pair.is_one_of(self.target, self.features)

    def effort(self, layout: Layout, n: int) -> float:
        """The rows are counted by the cells of the regression, whose products are summed."""
        sizes = [size for name, size in zip(layout.columns, layout.sizes, strict=True) if name in self.columns]
        return float(min(n, layout.n_cells)) * len(sizes) + float(min(n, math.prod(sizes))) * len(sizes) ** 2

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The slope that is furthest from that of the public rows, both by least squares."""
        from synthrelease.criteria.records.mechanism import original_records, released_records

        columns, transformation = self.regression_columns(setting), candidate.transformation
        ours, deviations = least_squares(released_records(candidate.counts, columns, transformation))
        theirs, _ = least_squares(original_records(public.counts, columns, transformation))
        worst = int((np.abs(ours.coefficients - theirs.coefficients) * deviations).argmax())
        released, original = (figure(float(line.coefficients[worst]), 3) for line in (ours, theirs))
        where = f"slope of {words(self.target)} on {words(self.features[worst])}"
        return Offender(where=where, released=released, original=original)

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"The distance between the coefficients of the linear regression of {words(self.target)} on "
            f"{', '.join(map(words, self.features))}, fitted on the released and, with noise, on the original records: the sum "
            "of the absolute differences, per standard deviation of each feature. Only rows with all these columns count"
            f"{what_counts(self.values, self.ranges, self.columns, facts)}."
        )

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Moments of all pairs of columns."""
        return moment_sums(self.columns, facts)

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        """Of the distance of the slopes of the two least-squares lines, of R and of S, without any noise."""
        return furthest_slopes(self.columns, limits, facts)

    def _unanswered(self, setting: Setting) -> Iterable[Mistake]:
        """Why moments of pairs of columns do not determine the line that is compared."""
        if self.values != "bins":
            yield Mistake(
                field="answered_by",
                expected='values = "bins" beside it: noisy tables tell how many rows a bin has, and not their own values',
                found=f'values = "{self.values}"',
            )
        for name in self.columns:
            others = {one.binning(name).name for one in setting.transformations} - {self.representation[name]}
            lacking = setting.schema[name].alternatives[self.representation[name]].missing is not None
            if others or lacking:
                yield Mistake(
                    field="answered_by",
                    expected=f"a column {name!r} without missing values whose only alternative in use is that of the "
                    "representation, because moments of pairs of columns answer",
                    found="missing values" if lacking else f"also {listing(sorted(others))}",
                )

    def joint_test_mistakes(self) -> Iterable[Mistake]:
        if self.fit == "every_round":
            expected = '"once", because [selection] test = "joint" tests rounds without a fit of their own'
            yield Mistake(field="fit", expected=expected, found='"every_round"')

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        schema = setting.schema
        found = [*unknown_columns(schema, "target", [self.target]), *unknown_columns(schema, "features", self.features)]
        if found:
            return found
        found = [*representation_mistakes(setting, self.columns, self.representation, self.columns)]
        if self.prior:
            for field in ("coefficients", "centres", "spreads"):
                if set(getattr(self.prior, field)) != set(self.features):
                    found.append(
                        Mistake(
                            field=f"prior.{field}",
                            expected=f"one number for each feature ({listing(self.features)})",
                            found=listing(getattr(self.prior, field)) or "none",
                        )
                    )
        if not found and self.answered_by is not None:
            found += self._unanswered(setting)
        columns = None if found else self.regression_columns(setting)
        if columns is not None and too_large(columns.numbers, columns.limits, self.public_prior()):
            found.append(
                Mistake(
                    field="prior" if self.prior else "representation",
                    expected="numbers that a regression can be computed with (spreads and uncertainty from 1e-50 to 1e50; "
                    "residuals, and features in spreads from their centres, up to 1e50)",
                    found="numbers that lead beyond",
                )
            )
        return found

    def binnings(self, setting: Setting) -> tuple[Binning, ...]:
        return tuple(setting.schema[name].alternatives[self.representation[name]] for name in self.columns)

    def regression_columns(self, setting: Setting) -> RegressionColumns:
        """The columns of the regression, and what stands for the rows of either table in them."""
        return RegressionColumns(
            schema=setting.schema,
            names=self.columns,
            wanted=self.binnings(setting),
            ranges=self.ranges,
            own=self.own_values_of,
        )

    def public_prior(self) -> Prior | None:
        """The public guess, in the order of the features."""
        if self.prior is None:
            return None
        pick = self.prior
        return Prior(
            intercept=pick.intercept,
            coefficients=np.array([pick.coefficients[name] for name in self.features]),
            centres=np.array([pick.centres[name] for name in self.features]),
            spreads=np.array([pick.spreads[name] for name in self.features]),
            uncertainty=pick.uncertainty,
        )

    def design(self, setting: Setting, possible: np.ndarray) -> Design:
        """The public domain of (features, target): every combination of bins that the raw rules allow."""
        counted = any(binning.missing is not None for binning in self.binnings(setting))
        columns = self.regression_columns(setting)
        return design_of(columns.numbers, possible, self.public_prior(), limits=columns.limits, counted=counted)

    def prepare(self, private: PrivateCounts, setting: Setting) -> Regression:
        possible = setting.possible(self.columns, self.binnings(setting))
        regression = Regression(design=self.design(setting, possible), possible=possible, model=None)
        if self.fit == "every_round" or self.fit_charge is None:
            return regression
        return self.private_fit(private, setting, regression, setting.atomic)

    def private_fit(
        self, private: PrivateCounts, setting: Setting, regression: Regression, transformation: Transformation
    ) -> Regression:
        """w_eps(R), of a private table on the bins of a transformation."""
        from synthrelease.criteria.records.mechanism import noisy_moments

        design, columns, charge = regression.design, self.regression_columns(setting), self.fit_charge or self.charge
        sums = partial(
            noisy_moments,
            columns=columns,
            transformation=transformation,
            design=design,
            epsilon=charge.epsilon,
            entropy=private.entropy,
        )
        noisy = NoisyMoments.of(design, private.spend(charge, sums), charge.epsilon)
        redraws = noisy.redrawn(private.n, _REDRAWS, private.entropy.generator())
        return replace(regression, model=noisy.solve(private.n), redraws=redraws)

    def refit(self, private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Fitted:
        if self.fit == "once" or self.answered_by is not None:
            return fitted
        again = self.private_fit(private, setting, fitted.regression(self.name), candidate.transformation)
        return fitted.with_regression(self.name, again)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Score:
        from synthrelease.criteria.records.mechanism import released_records

        regression = fitted.regression(self.name)
        released = released_records(candidate.counts, self.regression_columns(setting), candidate.transformation)
        synthetic, deviations = least_squares(released)
        lines = np.vstack([regression.fitted.coefficients, *regression.redraws])
        distances = np.abs((lines - synthetic.coefficients) * deviations).sum(axis=1)
        score = self._judged(float(distances[0]), self.mechanism_words, None, None, self.epsilon)
        if not len(regression.redraws):
            return score
        # by the triangle inequality, noise that moves the line by so much moves the distance by no more
        moves = np.abs((lines[1:] - lines[0]) * deviations).sum(axis=1)
        bound = float(np.quantile(moves, 0.95, method="higher"))
        return replace(score, noise_sd=float(np.std(distances[1:])), noise_bound=bound)
