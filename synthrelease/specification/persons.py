"""[unit] against the other settings, what protects whom, and the question that everything that spends asks: how do rows belong
to persons?
"""

from __future__ import annotations

from synthrelease.data.schema import Schema
from synthrelease.errors import Problem, SpecError, listing
from synthrelease.privacy.charges import Charge, decimal_text
from synthrelease.privacy.plan import loss_of_group
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import NOT_ANSWERED, ReleaseFile, UnitTable

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
    if (numbered := release.numbered) is not None:
        expected = (
            "no such table with [unit] key: record numbers are of rows, and would put the rows of a person into several pieces"
        )
        problems.add(numbered, expected, "one")
    if release.input.rows == "exact":
        expected = "another way with [unit] key: the exact number of kept rows tells how many rows persons have"
        problems.add("input.rows", expected, "'exact'")


def check_unit_answered(unit: UnitTable, path: str) -> None:
    """Raises SpecError where nobody has said how rows belong to persons: before anything is promised, committed to or spent."""
    if not unit.answered:
        raise SpecError([Problem(file=path, path="unit.records_per_person", expected=QUESTION, found=repr(NOT_ANSWERED))])


FIRST_BY_VALUES = (
    "ordered by their released values, column by column: they lean towards low ones. With first_by, say a date, the first "
    "are those that happened first"
)


def guarantee_in_words(unit: UnitTable, total: Charge) -> list[str]:
    """What the plan promises to a record, and to a person with several of them.

    Parameters
    ----------
    total : of the plan.

    Examples
    --------
    >>> from synthrelease.privacy.charges import mechanism
    >>> guarantee_in_words(UnitTable(name="birth"), mechanism("all", 1, "a sum"))
    ['Guarantee: pure differential privacy; neighbouring files differ in one birth that is replaced.']
    """
    kind = "pure" if total.delta == 0 else "approximate"
    differ = f"one {unit.name} that is replaced"
    if unit.key is not None:
        differ = "the rows of one person, which are replaced by any others"
        differ += "" if unit.records == 1 else f"; epsilon is for one {unit.name} of them"
    found = [f"Guarantee: {kind} differential privacy; neighbouring files differ in {differ}."]
    return found if unit.key is None and unit.records == 1 else [*found, _person(unit, total)]


def _person(unit: UnitTable, total: Charge) -> str:
    """What protects a person with several records."""
    loss = loss_of_group(total.epsilon, total.delta, unit.records)
    protected = "by nothing: delta would be 1 or more" if loss is None else f"at epsilon = {decimal_text(loss.epsilon)}"
    protected += f", delta = {float(loss.delta):.3g}" if loss is not None and loss.delta else ""
    why = f" ({unit.why})" if unit.why else ""
    if unit.key is None:
        return f"A person stands in at most {unit.records} records{why} and is protected {protected}."
    first = "first row" if unit.records == 1 else f"first {unit.records} rows"
    order = f"ordered by {listing(unit.first_by)}, then by their released values" if unit.first_by else FIRST_BY_VALUES
    return (
        f"Persons: {unit.key!r} identifies the person of each row. The release uses the {first} of each person that the rules "
        f"keep ({order}). All other rows, and rows without a key, are excluded{why}. All rows of a person are protected "
        f"together {protected}. The key is never released. The number of persons is published; the number of their rows stays "
        "secret."
    )
