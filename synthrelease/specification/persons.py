"""[unit] against the other settings, and the question that everything that spends asks: how do rows belong to persons?"""

from __future__ import annotations

from synthrelease.domain.schema import Schema
from synthrelease.errors import Problem, SpecError
from synthrelease.toml.budget import NOT_ANSWERED, UnitTable
from synthrelease.toml.problems import Problems
from synthrelease.toml.tables import ReleaseFile

QUESTION = (
    "an answer to: how many rows can one person have? The guarantee protects a person's rows together as far as this says. "
    "Write under [unit] `records_per_person = 1` where each row is another person; or, where a column tells whose row it is, "
    '`key = "COLUMN"` and `records_per_person = 1`: the first row of each person is released, and all rows of a person are '
    'protected (3: up to three rows of each, at three times the epsilon; `first_by = ["DATE"]`: in which order)'
)
"""What is asked, with the lines that answer it."""


def check_unit(release: ReleaseFile, schema: Schema, problems: Problems) -> None:
    """Add a problem for a key that is released, and for settings with which the rows of a person are not seen together."""
    unit = release.unit
    if unit.key is None:
        return
    if not unit.answered:
        expected = "a number of rows of each person, because there is a key"
        problems.add("unit.records_per_person", expected, repr(NOT_ANSWERED))
    released = [column.name for column in schema.columns if unit.key in column.sources]
    if released:
        expected = f"a column that is not released, found that [columns.{released[0]}] is made of it: take that column out"
        problems.add("unit.key", expected, repr(unit.key))
    if unit.key in unit.first_by or len(set(unit.first_by)) < len(unit.first_by):
        problems.add(
            "unit.first_by", "each column once, and not the key, which all rows of a person share", repr(unit.first_by)
        )
    if release.split is not None:
        expected = (
            "no such table with [unit] key: record numbers are of rows, and would put the rows of a person into several pieces"
        )
        problems.add("split", expected, "one")
    if release.input.rows == "exact":
        expected = "another way with [unit] key: the exact number of kept rows tells how many rows persons have"
        problems.add("input.rows", expected, "'exact'")


def check_unit_answered(unit: UnitTable, path: str) -> None:
    """Raises SpecError where nobody has said how rows belong to persons: before anything is promised, committed to or spent."""
    if not unit.answered:
        raise SpecError([Problem(file=path, path="unit.records_per_person", expected=QUESTION, found=repr(NOT_ANSWERED))])
