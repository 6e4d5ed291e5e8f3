"""What all answers of a mechanism tell: it runs on two neighbouring tables with the same answers, and their losses add up.

Whatever a mechanism learns of a table passes through a source of entropy: noise, and private choices. A `ReplayedEntropy`
stands in for it. It repeats answers that were given before, and stops the mechanism at the first question that has none. Then
the exact law of that answer is known on both tables, one answer is given to both, and both run again from the start. So the
loss of a whole conversation is computed, not estimated, and what is made of the answers must be the same on both sides.

Of a pure mechanism the loss is that of one conversation, whose answers are chosen to tell the tables apart: noise of zero on
the left table, and the choice of the largest ratio. The logarithm of how much likelier it is on the left is at most epsilon.

Of a zero-concentrated or Gaussian one it is the mean loss, the mean of ln(p / q) under p (the Kullback-Leibler divergence). It
adds up over the answers, each given those before (chain rule). It is at most rho = mu^2 / 2 in both: it is the limit of Renyi
divergences of orders that go to 1, and post-processing lowers that of N(mu, 1) from N(0, 1), which is mu^2 / 2. Gaussian noise
on a table that moves by its whole sensitivity has it. Answers are drawn as on the left table, and conversations averaged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from synthrelease.audit.losses import log_shares, mean_of_gaussian
from synthrelease.exact_choices import Losses
from synthrelease.public_entropy import SeededEntropy
from synthrelease.randomness import SYSTEM, SystemEntropy

Mechanism = Callable[[tuple[int, ...], SystemEntropy], Any]
"""(cells of the records, where it draws from) -> everything that it makes public, as arrays."""


@dataclass(frozen=True, kw_only=True)
class AskedDraw:
    """What a mechanism asks of its source of entropy.

    Attributes
    ----------
    law : its kind, how many values or candidates there are, and scale or rate: the same on both tables.
    values : exact integers, or how far candidates lie below the best.
    """

    law: tuple[Any, ...]
    values: np.ndarray

    @property
    def is_choice(self) -> bool:
        return self.law[0] == "choice"

    def log_shares(self) -> np.ndarray:
        """Of a choice: the logarithms of the candidates' probabilities."""
        return log_shares(self.values.tolist(), self.law[2], self.law[3])

    def drawn(self) -> Any:
        """An answer as the mechanism gives it on this table."""
        if self.is_choice:
            return SYSTEM.chosen(Losses(self.values.tolist(), self.law[2]), self.law[3])
        return getattr(SYSTEM, f"add_{self.law[0]}")(self.values, self.law[2])


class Unanswered(Exception):
    """Stops a mechanism at a question."""


class ReplayedEntropy(SystemEntropy):
    """A source of entropy that gives these answers and then stops; public draws are those of a key.

    Attributes
    ----------
    question : the first one that has no answer.
    """

    def __init__(self, answers: list[Any], key: int):
        self._answers, self._given = answers, 0
        self._public = SeededEntropy(key)
        self.question: AskedDraw | None = None

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self.asked("laplace", values, scale)

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self.asked("gaussian", values, scale)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        return self.asked("cube", values, rate)

    def chosen(self, losses: Losses, mechanism: str) -> int:
        return self.asked("choice", np.array(losses.losses), losses.rate, mechanism)

    def pick(self, n_choices: int) -> int:
        return self._public.pick(n_choices)

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        return self._public.picks(bounds)

    def generator(self) -> np.random.Generator:
        return self._public.generator()

    def asked(self, kind: str, values: np.ndarray, *law: Any) -> Any:
        """The answer to a question. Raises Unanswered where there is none."""
        if self._given == len(self._answers):
            self.question = AskedDraw(law=(kind, len(values), *law), values=np.array(values, dtype=np.int64))
            raise Unanswered
        self._given += 1
        answer = self._answers[self._given - 1]
        return answer if kind == "choice" else answer.copy()


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """What a conversation tells.

    Attributes
    ----------
    noise, choices : losses of noisy values, and of private choices.
    leak : what differs beside the answers; nothing of a right mechanism.
    """

    noise: float
    choices: float
    leak: str = ""


def converse(mechanism: Mechanism, left: tuple[int, ...], right: tuple[int, ...], *, pure: bool, key: int) -> Conversation:
    """One conversation of a mechanism with two neighbouring tables.

    Parameters
    ----------
    pure : whether the loss of the worst answers is wanted, and not the mean loss of drawn ones.
    key : of public draws, the same on both tables.
    """
    answers: list[Any] = []
    found = {True: 0.0, False: 0.0}
    while True:
        (ours, mine), (theirs, other) = (_heard(mechanism, table, answers, key) for table in (left, right))
        leak = _difference(mine, other, ours, theirs)
        if leak or mine is None or other is None:
            return Conversation(noise=found[False], choices=found[True], leak=leak)
        answer, loss = _worst(mine, other) if pure else _mean(mine, other)
        found[mine.is_choice] += loss
        answers.append(answer)


def _heard(mechanism: Mechanism, table: tuple[int, ...], answers: list[Any], key: int) -> tuple[Any, AskedDraw | None]:
    """What a mechanism makes of the answers, or its next question."""
    replayed = ReplayedEntropy(answers, key)
    try:
        return mechanism(table, replayed), None
    except Exception:
        if replayed.question is None:
            raise
        return None, replayed.question


def _difference(mine: AskedDraw | None, other: AskedDraw | None, ours: Any, theirs: Any) -> str:
    if (mine and mine.law) != (other and other.law):
        return f"asked are {mine and mine.law} on one table and {other and other.law} on the other"
    if mine is None and not np.array_equal(ours, theirs):
        return "what is made of the same answers differs"
    return ""


def _worst(mine: AskedDraw, other: AskedDraw) -> tuple[Any, float]:
    """An answer that is as much likelier on the left as any, and the logarithm of how much."""
    kind, law = mine.law[0], mine.law[2]
    if mine.is_choice:
        ratios = mine.log_shares() - other.log_shares()
        return int(ratios.argmax()), float(ratios.max())
    change = np.abs(mine.values - other.values)
    if kind == "gaussian":
        raise ValueError("expected noise of a pure mechanism, found Gaussian noise, which has no worst answer")
    return mine.values, float(change.sum() / law) if kind == "laplace" else float(change.max() * law)


def _mean(mine: AskedDraw, other: AskedDraw) -> tuple[Any, float]:
    """A drawn answer, and the mean loss of such answers."""
    if mine.is_choice:
        logs, others = mine.log_shares(), other.log_shares()
        return mine.drawn(), float((np.exp(logs) * (logs - others)).sum())
    if mine.law[0] != "gaussian":
        raise ValueError(f"expected Gaussian noise and choices, found {mine.law[0]} noise")
    return mine.drawn(), mean_of_gaussian(mine.values - other.values, mine.law[2])
