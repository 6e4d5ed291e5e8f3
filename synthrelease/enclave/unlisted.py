"""Count the texts of columns without a list of categories. As in `door`, only `spend` gives access to the counts.

A text is taken without spaces around it and cut after 100 characters, and a number has one form (12 for 12.0). So it is a
function of its row alone (theory 1.8, reading row by row). Every text is counted: with a limit on their number, one row could
displace the texts of other rows (theory 9.20, texts that no list names). Memory grows with the number of rows. Before the
charge, the memory for the stated number of rows is compared with the machine's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np

from synthrelease.data.schema import Schema
from synthrelease.enclave.door import opaque
from synthrelease.enclave.reading import batches
from synthrelease.enclave.values import number_form
from synthrelease.errors import InputError
from synthrelease.privacy.charges import Charge, Meter
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source

Result = TypeVar("Result")
LONGEST = 100
"""Number of characters of a text that are kept; the rest is cut off."""


class PrivateTexts:
    """The number of rows with each text, by column; "" stands for a gap. Only a planned charge gives access to these counts."""

    def __init__(self, columns: dict[str, Counter[str]], planned: Sequence[Charge]):
        self.__columns = columns
        self._meter = Meter(planned)

    def spend(self, charge: Charge, mechanism: Callable[[dict[str, Counter[str]]], Result]) -> Result:
        """Run a mechanism that satisfies the guarantee of `charge`, and return its output.

        Raises
        ------
        BudgetError, PrivateFailure : as `Door.spend`.
        """
        self._meter.take(charge)
        return opaque(lambda: mechanism(self.__columns))


def count_texts(
    data: Source, columns: Mapping[str, Collection[str]], policy: InputTable, planned: Sequence[Charge]
) -> PrivateTexts:
    """Read these columns once and count their texts.

    Parameters
    ----------
    columns : the columns, each with the texts that mean a gap in addition to those of the policy.

    Raises
    ------
    InputError : as `reading.batches`, with the name of the file and no cause that saw a value.
    """
    problem, counted = "", {name: Counter[str]() for name in columns}
    try:
        for _, texts in batches(data, Schema(columns=()), policy, [*columns], only=True):
            for name, missing in columns.items():
                cells = texts[name]
                rows = np.bincount(cells.codes, minlength=len(cells.texts)).tolist()
                for text, count in zip(cells.texts, rows, strict=True):
                    if count:
                        counted[name][normal_form(text, policy, missing)] += count
    except InputError as error:
        problem = str(error)
    if problem:
        raise InputError(f"{data}: {problem}")
    return PrivateTexts(counted, planned)


def normal_form(text: str | None, policy: InputTable, missing: Collection[str] = ()) -> str:
    """Return the form in which a text is counted; "" for a gap."""
    stripped = "" if text is None else text.strip()
    return (
        ""
        if stripped in policy.missing_values or stripped in missing
        else (number_form(stripped, policy.decimal) or stripped)[:LONGEST]
    )
