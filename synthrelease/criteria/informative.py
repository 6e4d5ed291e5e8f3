"""Whether a criterion can say anything at all: its threshold against what the figure can be, and against its noise.

Known without data, as far as the settings tell (`synthrelease plan`); with the sensitivities that public rows showed, a
rehearsal knows more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.joint import JointTest
from synthrelease.criteria.wording import figure

MOST_LUCK = 0.05
"""Probability that noise decides about a candidate without any error; beyond it a criterion is a matter of luck."""


class NobodyPasses(str):
    """Why no table at all meets a threshold, whatever the generator does."""

    __slots__ = ()


def none_can_fail(criteria: Iterable[Criterion]) -> str:
    """Why none of these criteria can refuse a table for being unlike the original one; empty where one can.

    A criterion can when its threshold is below the worst figure that is possible, or when that is not known
    (`Criterion.worst_figure` is infinite). One that looks at released rows alone says nothing about likeness. An answer
    from measurements may lie above the worst figure; a threshold there promises nothing either.
    """
    told = []
    for each in criteria:
        worst = each.worst_figure
        if not each.compares:
            told.append(f"{each.name!r}, which looks at released rows alone")
        elif each.threshold >= worst:
            told.append(f"{each.name!r} with a threshold of {figure(each.threshold)}, where {figure(worst)} is the worst")
        else:
            return ""
    return "; ".join(told)


def uninformative(criterion: Criterion, joint_test: JointTest | None, sensitivity: float | None) -> Iterator[str]:
    """Why a criterion can refuse nothing, accept nothing, or decides by luck; nothing for a criterion that can say something.

    Parameters
    ----------
    joint_test : of the release, or None where every figure decides by itself.
    sensitivity : of the figure, or what it is at least; None where it is not known.
    """
    threshold, best, worst = criterion.threshold, criterion.best_figure, criterion.worst_figure
    if not criterion.compares:
        return
    if threshold >= worst:
        yield (
            f"its value cannot exceed {figure(worst)}, and the threshold is {figure(threshold)}. Every table passes, so the "
            "criterion tests nothing. Take a smaller threshold."
        )
        return
    if sensitivity is None or criterion.answered_by is not None:
        return
    room = threshold - best
    if room <= 0:
        yield NobodyPasses(
            f"its value cannot be below {figure(best)}, and the threshold is {figure(threshold)}. No table can pass, not even "
            "a perfect one, except by the luck of noise. Take a larger threshold."
        )
    elif joint_test is not None:
        taken = joint_test.margin * sensitivity
        if taken >= room:
            yield NobodyPasses(
                f"the margin of the joint test is {figure(taken, 2)} or more in its unit, and the threshold is "
                f"{figure(threshold)}. No table can pass, not even a perfect one. Take a larger threshold or test_epsilon."
            )
        elif taken >= room / 2:
            yield (
                f"the margin of the joint test takes {taken / room:.0%} or more of the threshold {figure(threshold)}. Tables "
                f"with a value above {figure(threshold - taken, 2)} mostly fail. Take a larger threshold or test_epsilon."
            )
    elif criterion.figure_gets_noise and (luck := math.exp(-room * float(criterion.epsilon) / sensitivity) / 2) >= MOST_LUCK:
        enough = math.log(1 / (2 * MOST_LUCK)) * sensitivity / room
        yield (
            f"its noise is large beside its threshold {figure(threshold)}. A perfect table is refused in {luck:.0%} of cases "
            f"or more, and a table with an error as far above the threshold passes as often. Take an epsilon of "
            f"{figure(enough, 2)} or more, or a larger threshold."
        )


def unanswerable(criterion: Criterion, least: float) -> Iterator[str]:
    """Why the noise of the measurements alone lets no table pass, or few; nothing for a criterion that can be answered.

    Parameters
    ----------
    least : what the bound is at least, whatever the tables.
    """
    if least > criterion.threshold:
        yield NobodyPasses(
            f"the noise of the measurements alone makes its bound {figure(least, 2)} or more, and the threshold is "
            f"{figure(criterion.threshold)}. No table can pass, not even a perfect one. Give its tables more of the budget, or "
            "the criterion an epsilon in place of answered_by."
        )
    elif least - criterion.best_figure > (criterion.threshold - criterion.best_figure) / 2:
        yield (
            f"the noise of the measurements alone makes its bound {figure(least, 2)} or more of the threshold "
            f"{figure(criterion.threshold)}. Give its tables more of the budget, or the criterion an epsilon in place of "
            "answered_by."
        )
