"""What a reader would conclude for each intended question from released rows alone, beside the truth of the public file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.answers.questions import Condition, parse_condition, parse_question
from synthrelease.answers.stated import question
from synthrelease.data.counts import Counts
from synthrelease.data.questions import is_question
from synthrelease.errors import InputError
from synthrelease.generators.space import Configuration
from synthrelease.rehearsal.binned_columns import BinnedColumns
from synthrelease.settings.questions import QuestionTable


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """One intended question.

    Attributes
    ----------
    question : in words.
    unit : "rows", "share" or that of a mean.
    public : the answer of the public file, on the released bins; None where there is none.
    candidates : those of some candidates; None of one in which no row is asked about.
    why : why there is no answer; empty where there is one.
    """

    question: str
    unit: str = ""
    public: float | None = None
    candidates: tuple[float | None, ...] = ()
    why: str = ""


def conclusions(
    asked: Sequence[QuestionTable], configuration: Configuration, original: Counts, candidates: Sequence[Counts]
) -> tuple[Conclusion, ...]:
    """An answer to each question, from tables on the bins of the configuration."""
    columns = BinnedColumns.of(configuration)
    return tuple(_concluded(one, columns, original, candidates) for one in asked)


def _concluded(asked: QuestionTable, columns: BinnedColumns, original: Counts, candidates: Sequence[Counts]) -> Conclusion:
    words = question(asked)
    try:
        kind, column, first, second = _read(asked, columns)
        if kind == "mean" and None in columns.by_name[column].numbers[: columns.by_name[column].present]:
            raise InputError(f"the bins of {column!r} have no numbers")
    except InputError as error:
        return Conclusion(question=words, why=str(error))

    def answer(table: Counts) -> float | None:
        found = [_answer(kind, column, part, columns, table, original.total) for part in (first, second) if part is not None]
        known = [value for value in found if value is not None]
        if len(known) < len(found):
            return None
        return known[0] - known[1] if len(known) == 2 else known[0]

    unit = columns.by_name[column].unit if kind == "mean" else kind
    return Conclusion(question=words, unit=unit, public=answer(original), candidates=tuple(map(answer, candidates)))


Asked = tuple[Condition, tuple[Condition, ...]]
"""What is counted, among the rows that meet all of these."""


def _read(asked: QuestionTable, columns: BinnedColumns) -> tuple[str, str, Asked, Asked | None]:
    """The kind, the column of a mean, what is asked, and what is subtracted from it."""
    every = Condition(text="", rule=None)
    if not is_question(asked.query):
        query, given = parse_condition(asked.query, columns), parse_condition(asked.given, columns)
        less = None if asked.minus is None else parse_condition(asked.minus, columns)
        if asked.mean:
            return "mean", asked.mean, (every, (query, given)), None if less is None else (every, (less, given))
        return "share" if asked.given else "rows", "", (query, (given,)), None if less is None else (less, (given,))
    read = parse_question(asked.query, columns)
    if read.kind not in ("share", "mean") or read.by or read.slots:
        raise InputError("a rehearsal answers shares and means of all rows or of two groups; `estimate` answers this one")
    met = read.met if read.kind == "share" else every
    parts: list[Asked] = [(met, (group, read.where)) for group in read.groups] or [(met, (read.where,))]
    return read.kind, read.column, parts[0], parts[1] if len(parts) == 2 else None


def _answer(kind: str, column: str, part: Asked, columns: BinnedColumns, table: Counts, n_rows: int) -> float | None:
    met, among = part
    names = met.columns.union(*(each.columns for each in among), {column} if column else ())
    chosen = tuple(each for each in columns.schema if each.name in names)
    counts = table.marginal([table.layout.index(each.name) for each in chosen]) if chosen else np.array(table.total)
    inside = counts * np.logical_and.reduce([each.mask(chosen) for each in among])
    if kind != "mean":
        whole = table.total / n_rows if kind == "rows" else inside.sum()
        return float((inside * met.mask(chosen)).sum() / whole) if whole else None
    place, present = [each.name for each in chosen].index(column), columns.by_name[column].present
    by_bin = np.moveaxis(inside, place, 0).reshape(inside.shape[place], -1).sum(axis=1)[:present]
    numbers = np.array([float(number or 0) for number in columns.by_name[column].numbers[:present]])
    return float(by_bin @ numbers / by_bin.sum()) if by_bin.sum() else None
