"""[partition] and [split] against the other settings: what does not go together is refused before anything is read."""

from __future__ import annotations

from collections.abc import Sequence

from synthrelease.accounting.ledger_pieces import SplitRule
from synthrelease.accounting.pieces import PartitionRule
from synthrelease.criteria import Criterion
from synthrelease.domain.schema import Schema
from synthrelease.toml.problems import Problems
from synthrelease.toml.tables import ReleaseFile


def partition_rule(release: ReleaseFile) -> PartitionRule | None:
    """How rows are divided; None where they are not."""
    return None if release.partition is None else PartitionRule(fit=release.partition.fit)


def check_partition(release: ReleaseFile, criteria: Sequence[Criterion], problems: Problems, acceptance: str) -> None:
    """Add a problem for every setting that speaks of all rows where figures are about one piece of them."""
    if release.partition is None:
        return
    for index, each in enumerate(criteria):
        if each.answered_by is not None or each.measured_line:
            named = "answered_by" if each.answered_by is not None else "line"
            expected = "a figure of its own: with [partition], measurements are about another piece than the criteria"
            problems.add(f"criteria[{index}].{named}", expected, "measurements", file=acceptance)
    if release.selection.publish_measurements:
        expected = "false: with [partition], the measurements are about another piece than the released figures"
        problems.add("selection.publish_measurements", expected, "true")
    if release.intended_queries:
        expected = "none: with [partition], figures are about a random piece, and no bound for all rows follows from them"
        problems.add("intended_queries", expected, f"{len(release.intended_queries)}")


def split_rule(release: ReleaseFile) -> SplitRule | None:
    """Which piece of the register is read; None where all rows are."""
    table = release.split
    return None if table is None else SplitRule(by=table.by, piece=table.piece, of=table.of)


def check_split(release: ReleaseFile, schema: Schema, problems: Problems) -> None:
    """Add a problem where the record number would be released, and for every setting that speaks of the whole register."""
    table = release.split
    if table is None:
        return
    for column in schema.columns:
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
        expected = "none: with [split], figures are about a piece of the register, and no bound for all rows follows from them"
        problems.add("intended_queries", expected, f"{len(release.intended_queries)}")
