"""The table [imputation]: completed copies of an accepted table in which missing values are a bin."""

from __future__ import annotations

from pydantic import Field

from synthrelease.settings.base import SpecTable


class ImputationTable(SpecTable):
    """[imputation]: complete copies of the released rows, beside the incomplete ones, where missing values are a bin. They are
    made from the accepted table and cost nothing.

    Attributes
    ----------
    copies : how many complete copies; what differs between them shows how unsure the filled values are. Example: `copies = 10`.
    donors : a gap is filled from a released row that has the value and agrees in the columns of `match`; in fewer of them, from
        the last one back, until so many rows agree. Example: `donors = 20`.
    match : the columns in which rows should agree, the most important first; left out, all in their order.
        Example: `match = ["age", "sex"]`.
    """

    copies: int = Field(default=5, ge=1, le=100)
    donors: int = Field(default=10, ge=1)
    match: tuple[str, ...] | None = None


TABLE = ImputationTable
