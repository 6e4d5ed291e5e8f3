"""What a rehearsal has to say about a threshold: whether it can be met, and whether anybody learns anything when it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import figure
from synthrelease.criteria.scoring import JointTest, uninformative
from synthrelease.rehearsal.yardsticks import Yardstick

Kind = Literal["says nothing", "cannot be met", "stricter than chance"]


@dataclass(frozen=True, kw_only=True)
class ThresholdProblem:
    """One thing that is wrong with a threshold, in a sentence; `kind` for programs."""

    kind: Kind
    text: str


def verdicts(
    criterion: Criterion,
    joint_test: JointTest | None,
    sensitivity: float | None,
    yardstick: Yardstick,
    noiseless: float,
) -> tuple[ThresholdProblem, ...]:
    """What is wrong with the threshold of a criterion, as far as public rows show it.

    Parameters
    ----------
    sensitivity : a typical one of the figure, or None.
    noiseless : the figure of a fit of the release's own model without noise; NaN where there is none.
    """
    if not criterion.compares:
        return ()
    threshold = criterion.threshold
    found = [ThresholdProblem(kind="says nothing", text=text) for text in uninformative(criterion, joint_test, sensitivity)]
    if yardstick.independent <= threshold and not criterion.asks_single_columns:
        text = (
            f"a table with independent columns passes it ({figure(yardstick.independent, 2)} against the threshold "
            f"{figure(threshold)}): it says nothing about how columns hang together."
        )
        found.append(ThresholdProblem(kind="says nothing", text=text))
    reached = math.isfinite(noiseless) and noiseless <= threshold
    if yardstick.perfect > threshold and not reached:
        fitted = f" and a fit without noise {figure(noiseless, 2)}" if math.isfinite(noiseless) else ""
        text = (
            f"the two halves of the public file have {figure(yardstick.perfect, 2)} between them{fitted}; the threshold "
            f"{figure(threshold)} is below that, and cannot be met."
        )
        found.append(ThresholdProblem(kind="cannot be met", text=text))
    elif yardstick.perfect > threshold:
        text = (
            f"the threshold {figure(threshold)} is below what another sample would have: the two halves of the public file "
            f"have {figure(yardstick.perfect, 2)} between them. A release that follows the chance differences of this "
            f"very file can meet it (a fit without noise: {figure(noiseless, 2)}), another sample would not."
        )
        found.append(ThresholdProblem(kind="stricter than chance", text=text))
    elif math.isfinite(noiseless) and noiseless > threshold:
        text = (
            f"a fit without any noise has {figure(noiseless, 2)}, above the threshold {figure(threshold)}: not the budget is "
            "too small for it, the model is too simple. Measure the tables it is about, or take finer bins for them."
        )
        found.append(ThresholdProblem(kind="cannot be met", text=text))
    return tuple(found)
