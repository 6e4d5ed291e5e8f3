"""What conversations with every generator show: the largest loss beside the claim."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from synthrelease.audit.answers import Conversation, converse
from synthrelease.audit.loss_cases import LossCase
from synthrelease.audit.running import Progress

ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class LossFinding:
    """What the conversations of one case told.

    Attributes
    ----------
    noise, choices : losses: epsilon of the conversation that tells most, or the mean of rho.
    error : standard error of a mean.
    leak : what differs beside the answers.
    """

    case: LossCase
    noise: float
    choices: float
    error: float
    leak: str
    seconds: float

    @property
    def unit(self) -> str:
        return "epsilon" if self.case.pure else "mu"

    @property
    def claimed(self) -> float:
        """Epsilon, or mu of the rho that is claimed."""
        return self._stated(float(self.case.claim))

    @property
    def shown(self) -> float:
        """Epsilon, or the mu of Gaussian noise with this mean loss."""
        return self._stated(self.noise + self.choices)

    @property
    def share(self) -> float:
        return self.shown / self.claimed

    @property
    def exceeded(self) -> bool:
        return bool(self.leak) or not self.share <= 1 + ROUNDING

    def _stated(self, loss: float) -> float:
        return loss if self.case.pure else math.sqrt(2 * max(loss, 0.0))


def audit_losses(cases: Sequence[LossCase], progress: Progress = lambda phase, done, total: None) -> list[LossFinding]:
    """Converse with every case, some times each."""
    found = []
    for done, case in enumerate(cases):
        found.append(_finding(case))
        progress("losses", done + 1, len(cases))
    return found


def _finding(case: LossCase) -> LossFinding:
    start, told = time.process_time(), list[Conversation]()
    for key in range(case.conversations):
        told.append(converse(case.mechanism, case.left, case.right, pure=case.pure, key=key))
        if told[-1].leak:
            told = told[-1:]
            break
    whole = [each.noise + each.choices for each in told]
    if case.pure:
        told = [told[whole.index(max(whole))]]
    return LossFinding(
        case=case,
        noise=statistics.mean(each.noise for each in told),
        choices=statistics.mean(each.choices for each in told),
        error=statistics.stdev(whole) / math.sqrt(len(whole)) if len(told) > 1 else 0.0,
        leak=next((each.leak for each in told if each.leak), ""),
        seconds=time.process_time() - start,
    )
