"""Answer questions that were measured directly ([[models]]): means, coefficients and ratios of exact values.

The joint distribution of the noise in the published sums is known, so every answer is a ratio of two noisy sums (theory
13.8, measured ratios; 13.9, measured slopes; 13.19, named models).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthrelease.answers.averages import Average, Ratio, Sampling, possible, term_of
from synthrelease.answers.contrasts import of_means
from synthrelease.answers.limits import RISK, KeptRows, check_confidence
from synthrelease.answers.slopes import Moments, check_noise, coefficients
from synthrelease.answers.stated import POPULATION, hidden, is_estimable
from synthrelease.answers.tables import PublishedTables
from synthrelease.answers.words import CONSTANT, INTERVAL, Estimate, Term
from synthrelease.data.questions import split_question
from synthrelease.data.rules import Domain, RuleError
from synthrelease.errors import InputError, Unexpected
from synthrelease.generators.measured_noise import DiscreteLaplace, Noises, SharedNoise, half_width
from synthrelease.generators.models import Measured, NamedModel, read_model
from synthrelease.generators.row_functions import SHARE_STEPS, SHARES, STEPS, Factor, RowFunction, Value
from synthrelease.published import PublishedRelease
from synthrelease.published.base import Number, six_digits
from synthrelease.published.measurements import NotSample
from synthrelease.published.models import ModelAnswerPart, ModelPart, ModelsPart, ModelTermPart

MEASURED = "The sums use exact values, not representative values. Values beyond these limits count as the limit: {limits}."
GRID = "Values of {column} are rounded to multiples of {step:.15g}. The interval allows for this rounding."
SPREAD = (
    "Population: the variance of {column} is estimated from the noisy shares of its groups or from a published noisy table. "
    "Otherwise, it is the largest variance that the mean of the column allows."
)
UNEQUAL = 4.0
"""The largest assumed ratio of the variance of a row around the line to the mean variance (theory 13.19, named models)."""
VARIANCES = (
    "Population: the standard error is twice the standard error for equal variances around the line. It is right if no group "
    "of rows varies around the line more than twice as much as rows do on average."
)
FIRST_ORDER = "In a coefficient, the noise of the other columns is approximated to first order, and its bias to second order."
NORMAL = "The error from drawing rows is treated as normal."


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """The estimates that answer a question, such as one mean for each group.

    Attributes
    ----------
    averages : the name, the group, the unit and the value of each number.
    possible_width : the width of the range of possible values, compared with which an interval may be too wide.
    compared : whether `averages` are the means of two groups, whose difference is also part of the answer.
    """

    averages: tuple[tuple[str, str, str, Average], ...]
    possible_width: float
    compared: bool = False


class MeasuredModels:
    """The noisy sums that a release publishes for declared questions, such as regressions, and the answers that follow."""

    def __init__(self, release: PublishedRelease, part: ModelsPart):
        self.release, self.part, self.kept = release, part, KeptRows.of(release)
        self.domains = {
            column.name: Domain(
                kind=column.kind,
                bounds=column.bounds,
                categories=tuple(category for bin_ in column.categories for category in bin_),
                missing=column.missing is not None,
            )
            for column in release.schema
        }
        self.place = {(tuple(entry.of), entry.where, tuple(entry.valued)): index for index, entry in enumerate(part.sums)}
        self.noises = [SharedNoise(size=noise.size, scale=float(noise.scale)) for noise in part.noises]

    def model(self, question: str) -> tuple[NamedModel, ModelPart | None] | None:
        """Return the model that answers a question, and its section of release.json if exactly this question was measured,
        or None.

        Raises
        ------
        InputError : if the string cannot be read as a question.
        """
        words = split_question(question)
        for part in self.part.models:
            model = self._read(question, part)
            if model is None:
                continue
            if replace(model.words, text="") == replace(split_question(part.question), text=""):
                return model, part
            if not model.by_group and all(function.key in self.place for function in model.functions):
                return replace(model, words=words), None
        return None

    def _read(self, question: str, part: ModelPart) -> NamedModel | None:
        try:
            limits = {name: (float(low), float(high)) for name, (low, high) in part.limits.items()}
            return read_model(question, self.domains, limits)
        except (RuleError, Unexpected, InputError):
            return None

    def answer(self, model: NamedModel, part: ModelPart | None, survey: Sampling) -> _Answer:
        """Compute the answer to a question from the measured sums.

        Raises
        ------
        InputError : if the noise is too large for an estimate.
        """
        if model.by_group and part is not None:
            return self._of_groups(model, part, survey)
        return {"mean": self._mean, "ratio": self._ratio, "slope": self._slope}[model.words.kind](model, survey)

    # sums of products

    def _noise(self, model: NamedModel) -> SharedNoise:
        used = {self.part.sums[self.place[function.key]].noise for function in model.functions}
        if len(used) > 1:
            raise InputError(
                f"{model.words.text!r}: the sums of this question must share one noise, but they do not. Run `synthrelease "
                "verify` on the folder."
            )
        return self.noises[used.pop()]

    def _sum(self, model: NamedModel, function: RowFunction) -> tuple[float, np.ndarray]:
        noise = self._noise(model)
        weights = np.zeros(noise.size)
        if not function.factors and function.rows.every:
            return float(self.release.n_rows), weights
        entry = self.part.sums[self.place[function.key]]
        first = min(index for index, other in enumerate(self.part.sums) if other.noise == entry.noise)
        step = (float(entry.high) - float(entry.low)) / self.part.steps
        weights[self.place[function.key] - first] = step
        return self.release.n_rows * float(entry.low) + entry.value * step, weights

    def _moments(self, model: NamedModel) -> Moments:
        """Return the noisy sums of the products of any two columns of a model, in their units. The constant 1 is the first
        column.
        """
        factors: list[Factor | None] = [None, *model.factors]
        size = len(factors)
        values, weights = np.zeros((size, size)), np.zeros((size, size, self._noise(model).size))
        for row, first in enumerate(factors):
            for column, second in enumerate(factors[: row + 1]):
                pair = [factor for factor in (first, second) if factor is not None]
                if len(pair) == 2 and pair[0] == pair[1] and not isinstance(pair[0], Value):
                    pair = pair[:1]
                value, weight = self._sum(model, model.product(*pair))
                values[row, column] = values[column, row] = value
                weights[row, column] = weights[column, row] = weight
        change = np.eye(size)
        for row, factor in enumerate(factors):
            if factor is not None:
                change[row, row], change[row, 0] = factor.half, factor.middle
        return Moments(
            values=change @ values @ change.T, weights=np.einsum("ij,jkm,lk->ilm", change, weights, change, optimize=True)
        )

    # answers

    def _mean(self, model: NamedModel, survey: Sampling) -> _Answer:
        value = model.answer
        (total, of_total), (rows, of_rows) = self._sum(model, model.product(value)), self._sum(model, model.product())
        scaled = float(np.clip(total / rows, -1, 1)) if rows > 0 else 0.0
        average = self._average(
            Ratio(
                numerator=total * value.half,
                denominator=rows,
                weights=np.stack([of_total * value.half, of_rows]),
                noises=self._noise(model),
                lowest=-value.half,
                highest=value.half,
            ),
            value.middle,
            self._spread_around(model, value.middle + value.half * scaled, max(rows, 0.0) * (1 - scaled**2) * value.half**2),
            survey,
        )
        return _Answer(averages=((value.column, "", self._unit(value), average),), possible_width=2 * value.half)

    def _spread_around(self, model: NamedModel, mean: float, most: float) -> float:
        """Return an upper estimate, at most `most`, of the sum over rows of squared differences between a column and a
        mean.

        Each row lies as far from the mean as its bin in a published noisy table allows. Without such a table, or if the
        model covers only some rows, the result is `most`, the largest value that the mean allows.
        """
        value, column = model.answer, self.release.by_name[model.answer.column]
        if self.release.measurements is None or model.rows.rule is not None:
            return most
        tables = PublishedTables(self.release)
        if not tables.number({value.column}):
            return most
        low, high = (np.clip(ends, value.low, value.high) - mean for ends in column.value_limits)
        squares = np.zeros((1, len(column.labels)))
        squares[0, : column.present] = np.maximum(low**2, high**2)
        return float(np.clip(tables.sums({value.column}, squares).values[0], 0.0, most))

    def _of_groups(self, model: NamedModel, part: ModelPart, survey: Sampling) -> _Answer:
        value, scale = model.answer, float(part.scale or 1.0)
        width, shares = 2 * value.half, np.array([group.shares for group in part.groups], dtype=float) / SHARES
        noises = Noises(
            laws=(DiscreteLaplace(scale),), law=np.zeros(shares.size, np.int64), count=np.ones(shares.size, np.int64)
        )
        averages = []
        for index, (group, (low, middle, high)) in enumerate(zip(part.groups, shares, strict=True)):
            weights = np.zeros((2, len(shares), 3))
            weights[0, index], weights[1, index] = np.array([0, width / 2, width]) / SHARES, 1 / SHARES
            rows, total = low + middle + high, middle / 2 + high
            place = float(np.clip(total / rows, 0, 1)) if rows > 0 else 0.5
            variance = float(np.clip(high / rows - place**2, 0, place * (1 - place))) if rows > 0 else 0.25
            average = self._average(
                Ratio(
                    numerator=total * width,
                    denominator=rows,
                    weights=weights.reshape(2, -1),
                    noises=noises,
                    lowest=0.0,
                    highest=width,
                ),
                value.low,
                max(rows, 0.0) * variance * width**2,
                survey,
            )
            averages.append((value.column, group.group, self._unit(value), average))
        return _Answer(averages=tuple(averages), possible_width=width, compared=bool(model.groups))

    def _ratio(self, model: NamedModel, survey: Sampling) -> _Answer:
        first, second = (factor for factor in model.factors if isinstance(factor, Value))
        moments = self._moments(model)
        rows = max(1.0, float(moments.values[0, 0]))
        totals = moments.values[0, 1:]
        spread = possible(moments.values[1:, 1:] - np.outer(totals, totals) / rows)
        ratio = Ratio(
            numerator=float(totals[0]), denominator=float(totals[1]), weights=moments.weights[0, 1:], noises=self._noise(model)
        )
        file, population = (replace(ratio, sampling=factor * spread) for factor in (self.kept.left_out, survey.factor))
        name = f"{first.column} to {second.column}"
        unit = self._per(self._unit(first), self._unit(second))
        return _Answer(averages=((name, "", unit, Average(file=file, population=population)),), possible_width=math.inf)

    def _slope(self, model: NamedModel, survey: Sampling) -> _Answer:
        moments = self._moments(model)
        size = len(moments.values) - 1
        names = [factor.column if isinstance(factor, Value) else factor.text for factor in model.factors[:-1]]
        check_noise(moments, self._noise(model), names)
        a, b = moments.values[:size, :size], moments.values[:size, size]

        def spread(theta: np.ndarray, h: np.ndarray) -> float:
            around = max(0.0, float(moments.values[size, size] - theta @ b)) / max(1.0, float(a[0, 0]) - size)
            return UNEQUAL * around * max(0.0, float(h @ a @ h))

        factors = self.kept.left_out, survey.factor
        of_file, of_population = coefficients(moments, self._noise(model), [1.0] * size, spread, factors)
        averages, unit = [], self._unit(model.answer)
        for factor, file, population in zip((None, *model.factors[:-1]), of_file, of_population, strict=True):
            name = CONSTANT if factor is None else factor.column if isinstance(factor, Value) else factor.text
            in_words = self._per(unit, self._unit(factor) if isinstance(factor, Value) else "")
            averages.append((name, "", in_words, Average(file=file, population=population)))
        return _Answer(averages=tuple(averages[1:] + averages[:1]), possible_width=math.inf)

    def _average(self, ratio: Ratio, middle: float, spread: float, survey: Sampling) -> Average:
        factors = self.kept.left_out, survey.factor
        file, population = (replace(ratio, sampling=factor * np.diag([spread, 0.0])) for factor in factors)
        return Average(file=file, population=population, middle=middle)

    @staticmethod
    def _per(unit: str, of: str) -> str:
        return f"{unit or '1'} / {of}" if of else unit

    def _unit(self, value: Value) -> str:
        return self.release.by_name[value.column].unit


def answered_by_models(
    release: PublishedRelease, question: str, *, confidence: float, together: bool, among: int = 1
) -> Estimate | None:
    """Answer a question from directly measured noisy sums, or return None if they do not answer it.

    Raises
    ------
    InputError : if the noise is too large for an estimate.
    """
    part = release.models
    if part is None:
        return None
    check_confidence(confidence)
    models = MeasuredModels(release, part)
    found = models.model(question)
    if found is None:
        return None
    model, part_of_model = found
    value = model.answer
    survey = Sampling.of_columns(model.columns, release)
    answer = models.answer(model, part_of_model, survey)
    number_of = len(answer.averages) + answer.compared
    level = 1 - models.kept.spare(confidence) / (number_of if together else among)
    grid = _room(release, value) if model.words.kind == "mean" else 0.0
    room = grid + value.half / (SHARE_STEPS if model.by_group else STEPS)  # also half a step of the summed values
    terms = [
        _judged(_with_room(term_of(name, group, unit, average, average.ends(level)), room), answer.possible_width)
        for name, group, unit, average in answer.averages
    ]
    contrasts = []
    if answer.compared:
        (_, _, unit, first), (_, _, _, second) = answer.averages
        difference = _with_room(of_means(unit, [first], [second], True, level), 2 * room)
        contrasts = [_judged(difference, 2 * answer.possible_width)]
    if survey.reasons:
        terms, contrasts = ([term.without(POPULATION) for term in of_terms] for of_terms in (terms, contrasts))
    clipped = (factor for factor in model.factors if isinstance(factor, Value))
    limits = ", ".join(f"{factor.column} to {factor.low:g}..{factor.high:g}" for factor in clipped)
    approximate = [MEASURED.format(limits=limits)]
    if grid:
        approximate.append(GRID.format(step=2 * grid, column=value.column))
    approximate += [FIRST_ORDER] if model.words.kind == "slope" else []
    if not survey.reasons:
        approximate += [NORMAL, VARIANCES if model.words.kind == "slope" else SPREAD.format(column=value.column)]
    about = models.kept.in_words(RISK * (1 - confidence))
    if model.rows.text:
        about += f", where {model.rows.text}"
    return Estimate(
        question=model.words.text,
        kind=model.words.kind,
        by=model.words.by,
        terms=tuple(terms),
        contrasts=tuple(contrasts),
        confidence=confidence,
        together=together,
        n_intervals=number_of,
        not_a_sample=survey.reasons,
        n_rows=release.n_rows,
        about=about,
        binned="",
        source="noisy sums that were measured for this question",
        approximate=tuple(approximate),
    )


def _room(release: PublishedRelease, value: Value) -> float:
    """Return the largest error of a mean from rounding values to the grid of the column: half a step, or 0 for whole
    numbers.
    """
    column = release.by_name[value.column]
    return 0.0 if column.step is None or (column.kind == "integer" and column.step == 1) else column.step / 2


def _with_room(term: Term, room: float) -> Term:
    moved: dict[str, Any] = {
        name: end if end is None else end + (room if name.endswith("high") else -room)
        for name, end in ((name, getattr(term, name)) for name in INTERVAL)
    }
    return replace(term, **moved)


def _judged(term: Term, possible_width: float) -> Term:
    return term if term.estimate is not None and is_estimable(term.low, term.high, possible_width) else hidden(term)


def measured_questions(part: ModelsPart) -> dict[str, dict[str, list[Number]]]:
    """Return the questions that the published sums answer, with the limits of the values of their columns. A value beyond a
    limit counts as the limit.

    These are the questions in [[models]], and the mean of each column in a regression or ratio if the other columns of this
    question have no missing values.
    """
    limits = {model.question: model.limits for model in part.models}
    for model in part.models:
        words = split_question(model.question)
        for column in model.limits if words.kind != "mean" else ():
            question = f"mean {column}" + (f" where {words.where}" if words.where else "")
            limits.setdefault(question, {column: model.limits[column]})
    return limits


def model_answers(release: PublishedRelease, declared: Sequence[NotSample] = ()) -> list[ModelAnswerPart]:
    part = release.models
    if part is None:
        return []
    release, answers = replace(release, not_a_sample=tuple(declared) or release.not_a_sample), []
    for model in part.models:
        kind = split_question(model.question).kind
        terms: list[Term] = []
        refused = ""
        try:
            answer = answered_by_models(release, model.question, confidence=float(part.level), together=False)
            terms = [] if answer is None else [*answer.terms, *answer.contrasts]
        except InputError as error:
            refused = str(error)
        parts = [_term_part(term) for term in terms]
        answers.append(ModelAnswerPart(question=model.question, kind=kind, terms=parts, refused=refused))
    return answers


def _term_part(term: Term) -> ModelTermPart:
    numbers = {name: six_digits(getattr(term, name)) for name in ("estimate", *INTERVAL)}
    return ModelTermPart(name=term.name, group=term.group, unit=term.unit, **numbers)


def may_be_refused(model: NamedModel, half_widths: Sequence[float]) -> bool:
    """Return whether an answer may be refused, because the noise may turn out too large.

    This is so if one of the half widths (from `expected_half_widths`) is at least a quarter of the possible range or, for a
    regression, if together they may hide how the columns vary (theory 13.9, measured slopes).
    """
    if model.words.kind == "slope":
        units = [model.answer.half / factor.half for factor in model.factors[:-1]]
        return len(units) * max(half / unit for half, unit in zip(half_widths, units, strict=True)) > 1
    return max(half_widths) >= (0.25 if model.words.kind == "ratio" else model.answer.half / 2)


def expected_half_widths(measured: Measured, model: NamedModel, n: int, n_groups: int) -> list[tuple[str, float]]:
    """Predict the half width of each 95% interval of an answer, from the noise alone, before anything is measured.

    Assumptions: all groups have equally many rows, and a mean lies in the middle of its limits. For coefficients, the
    columns are uncorrelated with standard deviations of a quarter of the width of their limits, and all slopes are small.

    Parameters
    ----------
    n : the number of rows that the release uses, all of them for the question.
    n_groups : the number of groups, if the question asks for means of groups.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from synthrelease.data.rules import Domain
    >>> model = read_model("mean age", {"age": Domain(kind="integer", bounds=(0, 100))}, {})
    >>> [(name, half)] = expected_half_widths(Measured(models=(model,), epsilon=Fraction(1, 10)), model, 10_000, 1)
    >>> name, round(half, 3)  # ln(20) times 100 / (epsilon n), and a little more
    ('age', 0.3)
    """
    value, level = model.answer, 0.95
    if model.by_group:
        law = DiscreteLaplace(float(2 * SHARES / measured.of_table))
        noises = Noises(laws=(law,), law=np.zeros(2, dtype=np.int64), count=np.ones(2))
        one = half_width(noises, np.array([-0.5, 0.5]) / SHARES, 0.0, level)
        return [(value.column, 2 * value.half * one * n_groups / n)]
    block, epsilon = next((block, epsilon) for block, epsilon in measured.blocks if model.functions[0] in block)
    one = SharedNoise(size=len(block), scale=float(STEPS / epsilon)).half_width(np.ones(1), 0.0, level) * 2 / STEPS / n
    if model.words.kind == "mean":
        return [(value.column, one * value.half)]
    if model.words.kind == "ratio":  # each total, divided by its largest possible value
        return [("ratio, relative", one * max(factor.half / max(abs(factor.middle), factor.half) for factor in model.factors))]
    return [
        (factor.column, 4 * one * value.half / factor.half)
        if isinstance(factor, Value)
        else (factor.text, 4 * one * value.half)
        for factor in model.factors[:-1]
    ]
