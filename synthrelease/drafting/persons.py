"""How rows belong to persons: what `init --unit` answers, and the table [unit] of a draft, which asks where nobody has."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.drafting.column_draft import LeftOut
from synthrelease.drafting.keys import heavy_value
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.rows import every_row
from synthrelease.errors import InputError, closest, listing
from synthrelease.settings.tables import NOT_ANSWERED
from synthrelease.sources.paths import without_secrets

ROW = "row"
MOST, FEWEST_PERSONS = 1000, 20
AS_KEY = "[unit] has it as the key, which tells whose row it is and is never released"
_IF_NONE = (
    "If that says that a row has no key, leave the key of such rows empty in the private file: then they are left out. As it "
    "is, they count as one person, of whom the first rows are released."
)
_MENTIONED = 6
"""Candidates that a draft names."""


@dataclass(frozen=True, kw_only=True)
class UnitAnswer:
    """How rows belong to persons.

    Attributes
    ----------
    key, records : the column that tells whose row it is, and how many rows of each person are released; without a key each
        row is another person.
    first_by : the column by which a person's rows are ordered, where there is one.
    heavy : the value of the key that may stand for none (`keys.heavy_value`).
    """

    key: str | None = None
    records: int = 1
    first_by: tuple[str, ...] = ()
    heavy: str = ""

    @property
    def doubt(self) -> str:
        """What the steward is asked about the key, in sentences; empty where nothing is doubtful."""
        return f"In the public file the key {self.key!r} has {self.heavy}. {_IF_NONE}" if self.heavy else ""

    @classmethod
    def of(cls, asked: str, names: Collection[str]) -> UnitAnswer:
        """From the words `row`, `KEY` or `KEY:3`.

        Raises
        ------
        InputError : when there is no such column, or the number is none from 1 to 1000.
        """
        if asked == ROW:
            return cls()
        key, mark, number = asked.rpartition(":")
        if asked in names or not mark:
            key, number = asked, "1"
        if key not in names:
            guess = closest(key, names)
            meant = f" Did you mean {guess!r}?" if guess else ""
            raise InputError(
                f"--unit: expected `row`, or a column of the file ({listing(names)}), perhaps with how many rows of each "
                f"person are released behind a colon; found {without_secrets(repr(key), [key])}.{meant}"
            )
        if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= MOST):
            raise InputError(
                f"--unit: expected a number of rows of each person from 1 to {MOST} behind {key + ':'!r}, found {number!r}."
            )
        return cls(key=key, records=int(number))

    def ordered(self, file: PublicFile, dated: Sequence[str]) -> UnitAnswer:
        """With the first column of dates in which the rows of one person differ, and the value that may stand for no key.

        Raises
        ------
        InputError : when the key has so few values that it tells no persons apart.
        """
        if self.key is None:
            return self
        rows = every_row(file, (self.key, *dated), self.key)
        keys, every = rows[self.key]
        if (n := len({*keys} - {""})) < FEWEST_PERSONS:
            raise InputError(
                f"--unit: expected a column that tells persons apart, by at least {FEWEST_PERSONS} values; found {self.key!r} "
                f"with {n} in the public file."
            )
        times = np.bincount(every, minlength=len(keys)).tolist()
        heavy = heavy_value({key: often for key, often in zip(keys, times, strict=True) if key})
        with_key = every != (keys.index("") if "" in keys else -1)
        persons = every[with_key]
        for name in dated:
            texts, codes = rows[name]
            pairs = persons * len(texts) + codes[with_key]
            if len(np.unique(pairs)) > len(np.unique(persons)):
                return replace(self, first_by=(name,), heavy=heavy)
        return replace(self, heavy=heavy)


def with_drafted_order(answer: UnitAnswer | None, sources: Collection[str]) -> UnitAnswer | None:
    """The answer without a date of which no column is released: only a released column says how its dates are written."""
    return answer and replace(answer, first_by=tuple(name for name in answer.first_by if name in sources))


def unit_lines(answer: UnitAnswer | None, left_out: Sequence[LeftOut]) -> list[str]:
    """The table [unit], and what is said above it."""
    keys = sorted((each for each in left_out if each.rows_of_one > 1), key=lambda each: (-each.mean_rows, each.source))
    named = [f"{each.source!r} up to {each.rows_of_one} rows, {each.mean_rows:.3g} in the mean" for each in keys]
    more = f"; and {len(keys) - _MENTIONED} more" if len(keys) > _MENTIONED else ""
    found = f"In the public file rows share the values of {'; '.join(named[:_MENTIONED])}{more}." if keys else ""
    if heavy := "; ".join(f"{each.source!r} has {each.heavy}" for each in keys[:_MENTIONED] if each.heavy):
        found += f" {heavy}. {_IF_NONE}"
    if answer is None:
        none = "No column of the public file looks like a key that several rows share. Persons may come again all the same."
        return [
            *_comment(
                "HOW MANY ROWS CAN ONE PERSON HAVE? All rows of a person are protected together only as far as this table "
                f"says. `plan`, `check` and `release` refuse to go on until it is answered. {found or none} The answers:"
            ),
            "# - each row is another person:",
            "#     records_per_person = 1",
            "# - a column tells whose row it is:",
            f"#     key = {_text(keys[0].source)}" if len(keys) == 1 else '#     key = "COLUMN"',
            "#     records_per_person = 1",
            *_comment(
                "The first row of each person is then released, all others are left out, and all rows of a person are "
                "protected. With records_per_person = 3 up to three rows of each are released, at three times a person's "
                'epsilon. first_by = ["COLUMN"], a date for example, says which rows come first; without it low values do. To '
                "release persons with all their rows as a second table, draft with --key in place of --unit (docs/linked.md)."
            ),
            "[unit]",
            'name = "record"                 # what a record is, in a word or two',
            f"records_per_person = {_text(NOT_ANSWERED)}",
        ]
    if answer.key is None:
        said = "Each row is another person, says `init --unit row`. Who stands in k rows is protected at k times the epsilon."
        return [*_comment(f"{said} {found}"), "[unit]", "records_per_person = 1"]
    order = "which rows of a person come first"
    if not answer.first_by:
        order = "no released date differs within persons: rows with low values come first"
    return [
        *_comment(
            f"{answer.key!r} tells whose row it is, says `init --unit`. All rows of a person are protected together. Rows "
            "beyond those that are released, and rows without a key, are left out. The fits of this draft leave them out, too; "
            "numbers of rows beside a column are of all rows. " + answer.doubt
        ),
        "[unit]",
        f"key = {_text(answer.key)}",
        f"first_by = [{', '.join(map(_text, answer.first_by))}]".ljust(31) + f" # {order}",
        f"records_per_person = {answer.records}".ljust(31) + " # rows of each person that are released, at most",
    ]


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 120, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
