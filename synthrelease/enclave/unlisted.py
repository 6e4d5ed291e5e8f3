"""Count how often each text occurs in columns that have no list of categories. As in `door`, only `spend` gives access to the
counts.

A text is counted without spaces around it, up to 100 characters, and a number in one form (12 for 12.0), so the counted text
depends only on its row (theory 1.8, reading row by row). Every text is counted: with a limited number of texts, one row could
displace the texts of other rows (theory 9.20, values without a public list). Memory grows with the number of rows or persons,
and is checked before the budget is charged.

With a key, the texts in the first row of each person are counted (theory 1.9, first rows of a person).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np

from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.enclave.counting import BinRule, CellCount
from synthrelease.enclave.door import opaque
from synthrelease.enclave.persons import first_rows
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Texts
from synthrelease.enclave.values import Digits, number_form
from synthrelease.errors import InputError
from synthrelease.privacy.charges import Charge, Meter
from synthrelease.privacy.grids import MOST_ROWS
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source

Result = TypeVar("Result")
LONGEST = 100
"""Number of characters of a text that are used. The rest of the text is ignored."""


class PrivateTexts:
    """Private counts of the rows that have each text, by column. "" is a missing value. The counts can be read only by spending
    a planned charge."""

    def __init__(self, columns: dict[str, Counter[str]], planned: Sequence[Charge]):
        self.__columns = columns
        self._meter = Meter(planned)

    def spend(self, charge: Charge, mechanism: Callable[[dict[str, Counter[str]]], Result]) -> Result:
        """Spend a planned charge: run a mechanism that satisfies its guarantee, and return its output.

        Raises
        ------
        BudgetError, PrivateFailure : as in `Door.spend`.
        """
        self._meter.take(charge)
        return opaque(lambda: mechanism(self.__columns))


class _Numbered(BinRule):
    """Numbers the texts of a column, in the order in which they first occur, instead of assigning bins to them."""

    def __init__(self, columns: Mapping[str, Collection[str]], policy: InputTable):
        super().__init__(Schema(columns=()), policy)
        self.layout = Layout(columns=(*columns,), sizes=(MOST_ROWS,) * len(columns))
        self._columns, self.numbers = columns, [dict[str, int]() for _ in columns]

    def bins(self, columns: Mapping[str, Texts]) -> list[Digits]:
        digits = list[Digits]()
        for known, (name, missing) in zip(self.numbers, self._columns.items(), strict=True):
            forms = (normal_form(text, self._policy, missing) for text in columns[name].texts)
            of_text = np.array([known.setdefault(form, len(known)) for form in forms])
            digits.append(Digits(of_text=of_text, codes=columns[name].codes))
        return digits

    def held(self, bins: list[np.ndarray]) -> list[np.ndarray]:
        for place, column in enumerate(bins):
            used, again = np.unique(column, return_inverse=True)
            texts = [*self.numbers[place]]
            self.numbers[place] = {texts[number]: index for index, number in enumerate(used.tolist())}
            bins[place] = again.astype(column.dtype)
        return bins


def count_texts(
    data: Source, columns: Mapping[str, Collection[str]], policy: InputTable, planned: Sequence[Charge], unit: UnitTable
) -> PrivateTexts:
    """Read columns of a private table once, and count how often each text occurs.

    Parameters
    ----------
    columns : the columns to read, each with the texts that mean a missing value besides those of the policy.
    unit : how rows are assigned to persons. With a key, only the first rows of each are counted.

    Raises
    ------
    InputError : as in `reading.batches`, with the name of the file and without a cause that saw a value.
    """
    problem, counted, rule = "", dict[str, Counter[str]](), _Numbered(columns, policy)
    key, nothing = [] if unit.key is None else [unit.key, *unit.order], Schema(columns=())
    try:
        rows, cells = batches(data, nothing, policy, [*columns, *key], only=True), CellCount(rule.layout)
        if key:
            kept = first_rows(rows, nothing, policy, Plausibility(layout=rule.layout, masks=()), unit, rule=rule).cells
        else:
            for _, texts in rows:
                cells.add(rule.bins(texts))
            kept = cells.total()
        for place, (name, known) in enumerate(zip(columns, rule.numbers, strict=True)):
            held = np.bincount(kept.digits(place), weights=kept.counts, minlength=len(known)).astype(np.int64).tolist()
            counted[name] = Counter({text: count for text, count in zip(known, held, strict=True) if count})
    except InputError as error:
        problem = str(error)
    if problem:
        raise InputError(f"{data}: {problem}")
    return PrivateTexts(counted, planned)


def normal_form(text: str | None, policy: InputTable, missing: Collection[str] = ()) -> str:
    """Return the form in which a text is counted (12 for " 12.0"), or "" for a missing value."""
    stripped = "" if text is None else text.strip()
    if stripped in policy.missing_values or stripped in missing:
        return ""
    return (number_form(stripped, policy.decimal) or stripped)[:LONGEST]
