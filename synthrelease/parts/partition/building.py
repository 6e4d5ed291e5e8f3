"""[partition] against the other settings, and its sentence in the plan."""

from __future__ import annotations

from synthrelease.privacy.subsets import PartitionRule
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import PartitionTable
from synthrelease.spec.part import Building, Surroundings


class PartitionBuilding(Building[PartitionTable, PartitionTable]):
    """Figures are about one piece of the rows, so nothing may speak of all of them."""

    def division(self, table: PartitionTable) -> PartitionRule:
        """The shares."""
        return PartitionRule(fit=table.fit)

    def build(self, table: PartitionTable, around: Surroundings, problems: Problems) -> PartitionTable:
        """A problem for every setting that speaks of all rows."""
        release = around.release
        for index, each in enumerate(around.criteria):
            if each.answered_by is not None or each.measured_line:
                named = "answered_by" if each.answered_by is not None else "line"
                expected = "a figure of its own: with [partition], measurements are about another piece than the criteria"
                problems.add(f"criteria[{index}].{named}", expected, "measurements", file=around.acceptance)
        if release.selection.publish_measurements:
            expected = "false: with [partition], the measurements are about another piece than the released figures"
            problems.add("selection.publish_measurements", expected, "true")
        if release.intended_queries:
            expected = "none: with [partition], figures are about a random piece, and no bound for all rows follows from them"
            problems.add("intended_queries", expected, f"{len(release.intended_queries)}")
        return table

    def rows_text(self, value: PartitionTable) -> str:
        """Both pieces."""
        return (
            f"Pieces: the rows are divided at random, once. The generator is fitted to {float(value.fit):.0%} of them; the "
            f"criteria ask the other {float(value.score):.0%}, and the released table has as many rows as these. All figures "
            "are about that piece: thresholds must bear how it differs from the whole by chance."
        )


BUILDING = PartitionBuilding()
