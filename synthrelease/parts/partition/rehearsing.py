"""Whether dividing the rows would pay: what [partition] would save, from the totals of two plans."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.subsets import PartitionRule
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.part import Rehearsing

_PAYS = Fraction(95, 100)
"""Offered where the total would be at most this share of what it is."""


class PartitionRehearsing(Rehearsing):
    """Each record then costs what its piece spends, not the sum."""

    def offered(self, spec: ReleaseSpec) -> list[str]:
        """A sentence where it costs less, from the totals of two plans, and goes with the other settings."""
        alone = spec.partition is None and not spec.publish_measurements and not spec.questions
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


REHEARSING = PartitionRehearsing()
