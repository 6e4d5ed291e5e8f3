"""[partition] against the other settings, what it costs less, and its sentence in the plan."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from synthrelease.accounting.charges import decimal_text
from synthrelease.accounting.guarantee import Loss
from synthrelease.accounting.pieces import PartitionRule
from synthrelease.parts.partition.table import PartitionTable
from synthrelease.specification.part import Building, Surroundings
from synthrelease.toml.problems import Problems

if TYPE_CHECKING:
    from synthrelease.specification.release_spec import ReleaseSpec

_PAYS = Fraction(95, 100)
"""Offered where the total would be at most this share of what it is."""


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

    def plan_text(self, value: PartitionTable, total: Loss, rows: int) -> str:
        """Both pieces."""
        return (
            f"Pieces: the rows are divided at random, once. The generator is fitted to {float(value.fit):.0%} of them; the "
            f"criteria ask the other {float(value.score):.0%}, and the released table has as many rows as these. All figures "
            "are about that piece: thresholds must bear how it differs from the whole by chance."
        )

    def offered(self, spec: ReleaseSpec) -> list[str]:
        """A sentence where it costs less, from the totals of two plans, and goes with the other settings."""
        alone = spec.partition is None and not spec.publish_measurements and not spec.intended_queries
        if not alone or spec.setting.answered or spec.setting.measured_lines:
            return []
        divided = replace(spec, partition=PartitionRule(fit=Fraction(1, 2)))
        now, then = spec.plan.total.epsilon, divided.plan.total.epsilon
        if then > _PAYS * now:
            return []
        return [
            f"With [partition] fit = 0.5, score = 0.5 this specification would cost epsilon = {_up(then)} in place of "
            f"{_up(now)}, and with any other shares as much: the generator is fitted to one random piece of the rows and the "
            "criteria ask the other. The released table has as many rows as the latter, and the figures are about it. "
            "Thresholds must bear how it differs from the whole: rehearse with these lines first."
        ]


def _up(epsilon: Fraction) -> str:
    return decimal_text(Fraction(-(-epsilon * 1000 // 1), 1000))


BUILDING = PartitionBuilding()
