"""[partition] against the other settings: what does not go together is refused before anything is read."""

from __future__ import annotations

from collections.abc import Sequence

from synthrelease.accounting.pieces import PartitionRule
from synthrelease.criteria import Criterion
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
