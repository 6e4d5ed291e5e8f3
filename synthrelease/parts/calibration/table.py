"""The table [calibration]: published totals that the rows of an accepted table are weighted to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from synthrelease.errors import Unexpected
from synthrelease.settings.base import Line, SpecTable

Cells = dict[str, float | dict[str, float]]


def _totals(value: Any) -> Any:
    """One message instead of one for each type that totals could have had; which groups there are is checked later."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or not value:
        raise Unexpected("the name of a CSV file, or a table of groups with their totals")
    for label, inner in value.items():
        for text, number in inner.items() if isinstance(inner, Mapping) else [(label, inner)]:
            if not is_total(number):
                raise Unexpected("a finite number of at least 0 for each group", f"{text!r} with something else")
    return value


def is_total(value: Any) -> bool:
    """Whether a value can be a total."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value < math.inf


class MarginTable(SpecTable):
    """[[calibration.margins]]: published totals of all combinations of groups of one or more columns.

    Attributes
    ----------
    columns : the columns. Example: `columns = ["sex", "age"]`.
    totals : the total of each group of one column, or of each pair of groups of two, by their labels: whole categories, bins
        or alternatives of the column, or coarser bins, into which each bin of every alternative fits. Or the name of a CSV
        file, relative to this one, with a column for each of `columns` and a column "total". Every group needs a total.
        Example: `totals = { F = { "<18" = 900, ">=18" = 4200 }, M = { "<18" = 1000, ">=18" = 3900 } }`,
        `columns = ["sex", "age"]`.
    """

    columns: tuple[str, ...] = Field(min_length=1, max_length=8)
    totals: Annotated[Cells | str, BeforeValidator(_totals)]


class CalibrationTable(SpecTable):
    """[calibration]: weights with which the released rows have published totals. They are made from the accepted table and cost
    nothing.

    Attributes
    ----------
    source : which published figures the totals are. Totals that were counted in the private file are not allowed: they would
        be published outside of the guarantee. Example: `source = "Population register, 1 January 2024, table 3"`.
    margins : the totals, one table for each margin; their settings follow below. Margins must agree in what they share.
        Example: `margins = [{ columns = ["sex"], totals = { F = 5100, M = 4900 } }]`.
    start : a column with `role = "weight"`: the weights start from the numbers of its bins. Left out, all start equal.
        Example: `start = "design_weight"`.
    cap : the largest weight, in mean weights. Example: `cap = 5`.
    floor : the least weight, in mean weights; rows in a group with a total of 0 weigh 0 all the same. Example: `floor = 0.2`.
    tolerance : by what share a weighted count may differ from its total; by so much margins may disagree, too. The sum of all
        margins is taken from the first one. Example: `tolerance = 0.0001`.
    collapse : columns whose neighbouring groups may be joined in a margin, where too few released rows are in a group, in the
        order in which they are tried. Groups are neighbours in the order of their bins, or in which their totals are written.
        Example: `collapse = ["age"]`.
    fewest_rows : groups of a margin with fewer released rows are joined with a neighbour, where `collapse` allows it.
        Example: `fewest_rows = 30`.
    """

    only_words: ClassVar[bool] = True

    source: Annotated[Line, Field(min_length=1, max_length=500)]
    margins: list[MarginTable] = Field(min_length=1, max_length=20)
    start: str | None = None
    cap: float = Field(default=10, gt=1, le=1e6)
    floor: float = Field(default=0, ge=0, lt=1)
    tolerance: float = Field(default=0.001, ge=1e-6, le=0.1)
    collapse: tuple[str, ...] = ()
    fewest_rows: int = Field(default=10, ge=1)


TABLE = CalibrationTable
