"""Expected errors of answers because of the noise, known from the two files before anything is read or spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.answers.questions import parse_condition
from synthrelease.answers.stated import question
from synthrelease.data.questions import is_question, split_question
from synthrelease.errors import InputError
from synthrelease.generators.base import MeasuringGenerator
from synthrelease.generators.measured_noise import CountNoise, Noises, half_width
from synthrelease.generators.measurements import read_bins
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import BinnedColumns

LEVEL = 0.95
MOST_STEPS = 60
_DEAREST = Fraction(1000)
"""Generation budget up to which one is looked for."""


@dataclass(frozen=True, kw_only=True)
class MeasuredTable:
    """A table of which every cell is counted with noise, whatever the data.

    Attributes
    ----------
    columns : its columns.
    sizes : their numbers of bins.
    noise : of each of its cells.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    noise: CountNoise

    def off(self, cells: int) -> float:
        """Return by how many rows the sum of so many cells is off at most, in 95 of 100 releases."""
        noises = Noises(laws=(self.noise,), law=np.zeros(1, dtype=np.int64), count=np.array([cells]))
        return half_width(noises, np.ones(1), 0.0, LEVEL)


@dataclass(frozen=True, kw_only=True)
class ExpectedAnswer:
    """The effect of noise on the answer of an intended question.

    Attributes
    ----------
    question : in words.
    table : the columns of the measured table that answers it best; empty where none holds its columns together.
    cells : how many of its cells are added up.
    off : by how many rows the count that is asked for is off at most, in 95 of 100 releases; None without a table.
    why : why nothing is said; empty where something is.
    """

    question: str
    table: tuple[str, ...] = ()
    cells: int = 0
    off: float | None = None
    why: str = ""


def measured_tables(spec: ReleaseSpec) -> tuple[MeasuredTable, ...]:
    """The tables that the first family of models measures; none where it chooses them itself."""
    generator = spec.space.generators[0]
    if not isinstance(generator, MeasuringGenerator):
        return ()
    layout = spec.space.common.layout if spec.shared_measurements else spec.space[0].transformation.layout
    return tuple(
        MeasuredTable(
            columns=tuple(layout.columns[axis] for axis in axes),
            sizes=tuple(layout.sizes[axis] for axis in axes),
            noise=generator.noise.of_table(cost),
        )
        for axes, cost in generator.measured_tables(layout, generator.part(spec.generation_charge)).items()
    )


def off_by_column(tables: Sequence[MeasuredTable]) -> dict[str, float]:
    """Return by how many rows the count of one bin of each column is off, from the table that tells it best."""
    errors: dict[str, float] = {}
    for table in tables:
        for name, size in zip(table.columns, table.sizes, strict=True):
            off = table.off(math.prod(table.sizes) // size)
            errors[name] = min(off, errors.get(name, math.inf))
    return errors


def expected_answers(spec: ReleaseSpec) -> tuple[ExpectedAnswer, ...]:
    """Return the expected answer of each intended question, in their order."""
    columns, tables = BinnedColumns.of(spec.space[0]), measured_tables(spec)
    apart = {factor.column for factor in read_bins(getattr(spec.space.generators[0], "rare_bins", None))}
    answers_expected = []
    for intended in spec.questions:
        words = question(intended)
        if not tables:
            answers_expected.append(
                ExpectedAnswer(question=words, why="the model chooses what it measures; a rehearsal shows it")
            )
            continue
        try:
            parts = (
                split_question(intended.query).conditions if is_question(intended.query) else (intended.query, intended.given)
            )
            condition = parse_condition(" and ".join(f"({part})" for part in parts if part), columns)
        except InputError as error:
            answers_expected.append(ExpectedAnswer(question=words, why=str(error)))
            continue
        if condition.columns & apart:
            answers_expected.append(
                ExpectedAnswer(question=words, why="rows of a rare bin are in no table; a rehearsal shows it")
            )
            continue
        held = [
            table for table in tables if condition.columns | ({intended.mean} if intended.mean else set()) <= set(table.columns)
        ]
        if not held:
            answers_expected.append(ExpectedAnswer(question=words, why="no measured table holds its columns together"))
            continue
        answers = []
        for table in held:
            chosen = tuple(column for column in columns.schema if column.name in condition.columns)
            met = int(condition.mask(chosen).sum()) if chosen else 1
            cells_beside = math.prod(
                size for name, size in zip(table.columns, table.sizes, strict=True) if name not in condition.columns
            )
            answers.append((table.off(max(1, met) * cells_beside), met * cells_beside, table.columns))
        off, cells, names = min(answers)
        answers_expected.append(ExpectedAnswer(question=words, table=names, cells=cells, off=off))
    return tuple(answers_expected)


def accuracies(spec: ReleaseSpec) -> dict[str, float]:
    """Return by how many rows each intended question, in words, and the count of one bin of each column is off."""
    of_questions = {answer.question: answer.off for answer in expected_answers(spec) if answer.off is not None}
    return of_questions | off_by_column(measured_tables(spec))


def cheapest_for(spec: ReleaseSpec, name: str, rows: float) -> ReleaseSpec | None:
    """The specification with the smallest generation budget, to two digits, at which a count is off by so few rows.

    Parameters
    ----------
    name : of `accuracies`: an intended question, or a column.

    Returns
    -------
    ReleaseSpec | None
        None where no measured table tells it, or no budget is enough.
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
