"""[split] against the other settings, and its sentence in the plan."""

from __future__ import annotations

from synthrelease.privacy.subsets import SplitRule
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import SplitTable
from synthrelease.spec.part import Building, Surroundings


class SplitBuilding(Building[SplitTable, SplitTable]):
    """Record numbers are not released, and nothing may speak of the whole register."""

    def piece_of_register(self, table: SplitTable) -> SplitRule:
        """The piece."""
        return SplitRule(by=table.by, piece=table.piece, of=table.of)

    def build(self, table: SplitTable, around: Surroundings, problems: Problems) -> SplitTable:
        """A problem where the record number would be released, and for every setting that speaks of the whole register."""
        release = around.release
        for column in around.schema.columns:
            if table.by in column.sources:
                expected = "a column with a public record number that no released column is read from"
                problems.add("split.by", expected, f"{table.by!r}, which {column.name!r} is read from")
        if release.input.rows == "exact":
            expected = '"private" or a number: with [split], an exact number of kept rows would be one of a secret piece'
            problems.add("input.rows", expected, '"exact"')
        if release.selection.publish_measurements:
            expected = "false: with [split], the measurements are about a piece, and no estimate for the whole register follows"
            problems.add("selection.publish_measurements", expected, "true")
        if release.intended_queries:
            expected = (
                "none: with [split], figures are about a piece of the register, and no bound for all rows follows from them"
            )
            problems.add("intended_queries", expected, f"{len(release.intended_queries)}")
        return table

    def rows_text(self, value: SplitTable) -> str:
        """Which piece, and what that means."""
        return (
            f"Register: the release reads piece {value.piece} of {value.of}; a secret key and the record number ({value.by}) "
            "say which records these are. The ledger charges that piece alone. All figures are about it: thresholds must bear "
            "how it differs from the whole by chance. Rehearse on as many rows as the piece has."
        )


BUILDING = SplitBuilding()
