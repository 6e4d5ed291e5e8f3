"""Predict the errors of answers due to noise, the epsilon that an accuracy needs, and the sampling errors of a survey."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.answers.questions import over_cells, parse_condition, parse_question
from synthrelease.answers.stated import in_words, question
from synthrelease.data.questions import is_question, split_question
from synthrelease.errors import InputError
from synthrelease.generators.measurements import read_bins
from synthrelease.published.options import DesignPart
from synthrelease.settings.questions import QuestionTable
from synthrelease.sources.source import Source
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.measured_tables import MeasuredTable, measured_tables

if TYPE_CHECKING:
    from synthrelease.studio.rehearsal.attempts import BinnedColumns

MOST_STEPS = 60
_DEAREST = Fraction(1000)  # Largest generation budget of the search for an accuracy


@dataclass(frozen=True, kw_only=True)
class ExpectedAnswer:
    """The expected error of the answer to an intended question due to noise.

    Attributes
    ----------
    question : the question, in words.
    table : the columns of the measured table with the best answer, or an empty tuple.
    cells : the number of cells that are added up for the answer.
    off : the 95% margin of error, in rows, of the number of rows that the question counts, or None without a table.
    why : the reason why there is no expected error, or an empty string.
    """

    question: str
    table: tuple[str, ...] = ()
    cells: int = 0
    off: float | None = None
    why: str = ""


def off_by_column(tables: Sequence[MeasuredTable]) -> dict[str, float]:
    """Return the 95% margin of error, in rows, of the count of one bin of each column, from the table with the smallest
    margin.
    """
    errors: dict[str, float] = {}
    for table in tables:
        for name, size in zip(table.columns, table.sizes, strict=True):
            off = table.off(math.prod(table.sizes) // size)
            errors[name] = min(off, errors.get(name, math.inf))
    return errors


def expected_answers(spec: ReleaseSpec) -> tuple[ExpectedAnswer, ...]:
    from synthrelease.studio.rehearsal.attempts import BinnedColumns  # here, for `plan` loads nothing that reads rows

    columns, tables = BinnedColumns.of(spec.space[0]), measured_tables(spec)
    apart = {factor.column for factor in read_bins(getattr(spec.space.generators[0], "rare_bins", None))}

    def expected(intended: QuestionTable) -> ExpectedAnswer:
        if not tables:
            raise InputError("the generator chooses its tables during the release, so only a rehearsal shows the error")
        query, given = intended.query, intended.given
        parts = split_question(query).conditions if is_question(query) else (query, given)
        condition = parse_condition(" and ".join(f"({part})" for part in parts if part), columns)
        if condition.columns & apart:
            raise InputError("rows of a rare bin are in no table, so only a rehearsal shows the error")
        needed = condition.columns | ({intended.mean} if intended.mean else set())
        chosen = tuple(column for column in columns.schema if column.name in condition.columns)
        met, answers = int(condition.mask(chosen).sum()) if chosen else 1, []
        for table in (table for table in tables if needed <= set(table.columns)):
            sizes = zip(table.columns, table.sizes, strict=True)
            beside = math.prod(size for name, size in sizes if name not in condition.columns)
            answers.append((table.off(max(1, met) * beside), met * beside, table.columns))
        if not answers:
            raise InputError("no measured table contains all columns of this question")
        off, cells, names = min(answers)
        return ExpectedAnswer(question=question(intended), table=names, cells=cells, off=off)

    answers_expected = []
    for intended in spec.questions:
        try:
            answers_expected.append(expected(intended))
        except InputError as error:
            answers_expected.append(ExpectedAnswer(question=question(intended), why=str(error)))
    return tuple(answers_expected)


def accuracies(spec: ReleaseSpec) -> dict[str, float]:
    """Return the 95% margins of error, in rows, that noise gives to counts, by intended question and by column (one bin).

    Questions without an expected error are left out.
    """
    of_questions = {answer.question: answer.off for answer in expected_answers(spec) if answer.off is not None}
    return of_questions | off_by_column(measured_tables(spec))


def cheapest_for(spec: ReleaseSpec, name: str, rows: float) -> ReleaseSpec | None:
    """Return the specification with the smallest generation budget at which a count has a 95% margin of at most `rows`
    rows.

    The budget is rounded up to two digits. Return None if no measured table has the columns, or if no budget suffices.

    Parameters
    ----------
    name : a key of `accuracies`: an intended question, or a column.
    """

    def off(generation: Fraction) -> float:
        return accuracies(spec.with_budget(generation=generation)).get(name, math.inf)

    if not off(_DEAREST) <= rows:
        return None
    low, high = 0.0, float(_DEAREST)
    for _ in range(MOST_STEPS):
        middle = math.sqrt(max(low, 1e-4) * high)
        low, high = (low, middle) if off(Fraction(middle)) <= rows else (middle, high)
        if high - low < 0.01 * high:
            break
    digits = 1 - math.floor(math.log10(high))
    return spec.with_budget(generation=Fraction(math.ceil(high * 10**digits), 1) / Fraction(10) ** digits)


# The errors of a survey's answers: from drawing the sample, from missing answers, and from the noise.

REPLICATES = 200
"""Number of samples that are drawn from the public file."""


@dataclass(frozen=True, kw_only=True)
class SurveyErrors:
    """The errors of the answer to an intended question to a survey, as standard deviations over repeated draws.

    Attributes
    ----------
    question : the question, in words.
    answer : answer of the public file, with its design weights, among rows without a missing value.
    sampling : error due to drawing clusters (or rows) within strata, as the design does.
    missing : error due to missing answers, which are as frequent as in the public file, by stratum and weight class.
    noise : error due to the noise of the measured table with the best answer, or None if no table has the columns.
    why : the reason why there are no errors, or an empty string.
    """

    question: str
    answer: float | None = None
    sampling: float | None = None
    missing: float | None = None
    noise: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class _PublicSample:
    """The rows of a public survey, each with its bins, its stratum and its cluster (or row) of the sampling design.

    Attributes
    ----------
    codes : the released bin of each row, by column.
    stratum, unit : (n_rows,) numbers, from 0, of the stratum and of the cluster (or row) that is drawn.
    """

    columns: BinnedColumns
    codes: dict[str, np.ndarray]
    stratum: np.ndarray
    unit: np.ndarray

    def replicates(self, random: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield the (n_units,) weights of the sampled units (clusters or rows) in bootstrap samples of the survey.

        In a stratum of n units, n - 1 are drawn, and each draw counts n / (n - 1) times (Rao & Wu 1988). A stratum of one
        unit has no sampling error.
        """
        stratum_of = self.stratum[np.unique(self.unit, return_index=True)[1]]
        members = [np.flatnonzero(stratum_of == stratum) for stratum in np.unique(stratum_of)]
        for _ in range(REPLICATES):
            times = np.ones(len(stratum_of))
            for units in (units for units in members if len(units) > 1):
                n = len(units)
                times[units] = np.bincount(random.integers(0, n, n - 1), minlength=n) * n / (n - 1)
            yield times


def survey_errors(spec: ReleaseSpec, data: str | Path | Source, seed: int | None = None) -> tuple[SurveyErrors, ...]:
    """Estimate the errors of the answer to each intended question from a public file that was sampled as in [design].

    Rows without a bin in a column are left out.

    Raises
    ------
    InputError : if the configuration has no [design] or no intended question, or if the file cannot be read.
    """
    import pandas as pd

    from synthrelease.enclave.counting import BinRule
    from synthrelease.enclave.reading import batches
    from synthrelease.privacy.public_entropy import SeededEntropy
    from synthrelease.studio.rehearsal.attempts import BinnedColumns

    design = spec.options.design
    if design is None or not spec.questions:
        raise InputError("--design needs a configuration with [design] and [[intended_queries]].")
    clusters = [] if design.clusters is None else [design.clusters]
    rule, atoms, keys = BinRule(spec.schema, spec.input), list[np.ndarray](), dict[str, list[str | None]]()
    for _, batch in batches(data, spec.schema, spec.input, [*design.strata, *clusters]):
        atoms.append(np.array([digits.rows() for digits in rule.bins(batch)]))
        for name in (*design.strata, *clusters):
            keys.setdefault(name, []).extend(batch[name].texts[code] for code in batch[name].codes)
    rows = np.concatenate(atoms, axis=1)
    with_bins, transformation = (rows >= 0).all(axis=0), spec.space[0].transformation
    table = pd.DataFrame(keys, index=np.arange(rows.shape[1]))[with_bins].assign(all=0)
    sample = _PublicSample(
        columns=replace(BinnedColumns.of(spec.space[0]), design=DesignPart.of(design)),
        codes={
            name: np.array(transformation.binning(name).of_atom)[of_rows[with_bins]]
            for name, of_rows in zip(spec.schema.names, rows, strict=True)
        },
        stratum=table.groupby(["all", *design.strata], dropna=False).ngroup().to_numpy(),
        unit=table.groupby([*design.strata, *clusters], dropna=False).ngroup().to_numpy()
        if clusters
        else np.arange(len(table)),
    )
    tables, random = measured_tables(spec), SeededEntropy(seed or 0).generator()
    return tuple(_errors(sample, tables, in_words(question_), random) for question_ in spec.questions)


def _errors(sample: _PublicSample, tables: Sequence[MeasuredTable], words: str, random: np.random.Generator) -> SurveyErrors:
    try:
        asked = parse_question(words, sample.columns)
        if asked.kind not in ("share", "mean") or asked.by or asked.groups or asked.slots:
            raise InputError("the plan gives errors only for shares and means of one group of rows")
    except InputError as error:
        return SurveyErrors(question=words, why=str(error))
    columns = tuple(column for column in sample.columns.schema if column.name in asked.columns)

    def of_cells(name: str) -> np.ndarray:
        return over_cells(columns, name, np.array([number or 0.0 for number in sample.columns.by_name[name].numbers]))

    shape = [len(column.labels) for column in columns]
    present, may_count = np.ones(math.prod(shape), dtype=bool), asked.where.mask(columns)
    for axis, column in enumerate(columns):
        if column.name in (asked.column, *asked.met.columns):  # a row counts only if it has an answer in this column
            present &= over_cells(columns, column.name, np.arange(len(column.labels)) < column.present)
            may_count = np.broadcast_to(may_count.any(axis=axis, keepdims=True), shape)
    figures = of_cells(asked.column) if asked.column else asked.met.mask(columns).ravel().astype(float)
    design = of_cells(asked.weight) if asked.weight else np.ones(len(present))
    weights = asked.where.mask(columns).ravel() * design
    cell = np.ravel_multi_index([sample.codes[column.name] for column in columns], shape)
    answered, figure, weight, was_asked = present[cell], figures[cell], weights[cell], may_count.ravel()[cell]
    classes = np.unique(design[cell], return_inverse=True)[1]
    kinds = sample.stratum * (classes.max() + 1) + classes
    rates = np.bincount(kinds, weights=answered & was_asked) / np.maximum(np.bincount(kinds, weights=was_asked), 1)

    def totals(times: np.ndarray, counted: np.ndarray) -> float:
        by_unit = [np.bincount(sample.unit, weights=part * weight * counted) for part in (figure, np.ones(len(weight)))]
        return float(times @ by_unit[0] / (times @ by_unit[1]))

    pairs = []
    for times in sample.replicates(random):
        whole = totals(times, answered)
        pairs.append((whole, totals(times, answered & (random.random(len(cell)) < rates[kinds])) - whole))
    answer, size = totals(np.ones(sample.unit.max() + 1), answered), float((weight * answered).sum())
    spread = float((((weights * present) * (figures - answer)) ** 2).sum()) / size**2
    held = [table for table in tables if asked.columns <= set(table.columns)]
    noises = [math.sqrt(table.noise.variance * spread * math.prod(table.sizes) / len(present)) for table in held]
    sampling, missing = np.std(np.array(pairs), axis=0).tolist()
    return SurveyErrors(question=words, answer=answer, sampling=sampling, missing=missing, noise=min(noises, default=None))
