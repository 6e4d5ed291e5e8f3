"""Columns that say for how many persons a row of the file stands."""

from __future__ import annotations

import math
from collections.abc import Sequence

from synthrelease.data.schema import Transformation
from synthrelease.data.weights import WEIGHT
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import ReleaseFile


def check_design_weights(release: ReleaseFile, transformations: Sequence[Transformation], problems: Problems) -> None:
    """A column of design weights needs positive numbers, and a file of which each row is one respondent."""
    marked = [name for name, table in release.columns.items() if table.role == WEIGHT]
    if marked and release.input.one_row_per is None:
        problems.add(
            "input.one_row_per",
            f"'respondent', because {marked[0]!r} is a weight: a file that was expanded by weight is outside of the guarantee",
            "nothing",
        )
    for name in marked:
        binnings = {binning.name: binning for binning in (one.binning(name) for one in transformations)}
        numbers = [number for binning in binnings.values() for number in binning.numbers]
        if not all(number is not None and 0 < number < math.inf for number in numbers):
            expected = "a number above 0 for every bin of a weight (categories need `numbers`, missing values have none)"
            problems.add(f"columns.{name}.role", expected, "bins without one")
