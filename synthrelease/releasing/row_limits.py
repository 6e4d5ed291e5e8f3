"""How many rows a release can work with: figures, generators and the joint test are each proved exact enough for so many."""

from __future__ import annotations

from synthrelease.errors import BudgetError
from synthrelease.spec.release_spec import ReleaseSpec


def check_rows(spec: ReleaseSpec, n: int, *, spent: bool = False) -> None:
    """Raises BudgetError for more rows than every part of the specification takes.

    Parameters
    ----------
    n : the public number of rows.
    spent : whether the budget was reserved, so that the message says so.
    """
    for part, most in spec.row_limits():
        if n > most:
            ending = "The whole planned budget counts as spent: nothing was published." if spent else "Nothing was spent."
            raise BudgetError(f"Refused: {part} takes at most {most} rows, found {n}. {ending}")
