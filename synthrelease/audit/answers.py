"""What all answers of a mechanism tell: it runs on two neighbouring tables with the same answers, and their losses add up.

Whatever a mechanism learns of a table passes through a source of entropy: noise, and private choices. A `ReplayedEntropy`
stands in for it. On the left table it answers as far as an answer needs nothing of the right one, on the right table it repeats
these answers, and the exact law of each is known on both. A choice whose answer depends on both tables stops the mechanism,
which runs again from the start with that answer. So the loss of a whole conversation is computed, not estimated, and what is
made of the answers must be the same on both sides.

Of a pure mechanism the loss is that of one conversation, whose answers are chosen to tell the tables apart: noise of zero on
the left table, and the choice of the largest ratio. The logarithm of how much likelier it is on the left is at most epsilon.

Of a zero-concentrated or Gaussian one it is the mean loss, the mean of ln(p / q) under p (the Kullback-Leibler divergence). It
adds up over the answers, each given those before (chain rule). It is at most rho = mu^2 / 2 in both: it is the limit of Renyi
divergences of orders that go to 1, and post-processing lowers that of N(mu, 1) from N(0, 1), which is mu^2 / 2. Gaussian noise
on a table that moves by its whole sensitivity has it. Answers are drawn as on the left table, and conversations averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np

from synthrelease.audit.losses import log_shares, mean_of_gaussian
from synthrelease.privacy.noise import SYSTEM, Losses, SystemEntropy
from synthrelease.privacy.public_entropy import SeededEntropy

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
    """A source of entropy that gives these answers; public draws are those of a key.

    Parameters
    ----------
    answers : those to the first questions; what `answer` says to more of them is added.
    answer : what to say to a question; None where it has no answer, and the mechanism stops.
    expected : what was asked on the other table; the mechanism stops at a question of another law.

    Attributes
    ----------
    questions : all that were asked.
    stopped : whether the last of them was not answered.
    """

    def __init__(
        self,
        answers: list[Any],
        key: int,
        answer: Callable[[AskedDraw], Any] = lambda question: None,
        expected: Sequence[AskedDraw] = (),
    ):
        self._answers, self._answer, self._expected = answers, answer, expected
        self._public = SeededEntropy(key)
        self.questions: list[AskedDraw] = []
        self.stopped = False

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
        place = len(self.questions)
        question = AskedDraw(law=(kind, len(values), *law), values=np.array(values, dtype=np.int64))
        self.questions.append(question)
        as_expected = place >= len(self._expected) or question.law == self._expected[place].law
        if as_expected and place == len(self._answers) and (answer := self._answer(question)) is not None:
            self._answers.append(answer)
        self.stopped |= not as_expected or place >= len(self._answers)
        if self.stopped:
            raise Unanswered
        return self._answers[place] if kind == "choice" else self._answers[place].copy()


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
    alone = (lambda question: None if question.is_choice else question.values) if pure else AskedDraw.drawn
    loss, answers = (_worst if pure else _mean), list[Any]()
    while True:
        mine = ReplayedEntropy(answers, key, alone)
        ours = _heard(mechanism, left, mine)
        other = ReplayedEntropy(answers, key, expected=mine.questions)
        theirs = _heard(mechanism, right, other)
        leak = _difference(mine, other, ours, theirs)
        if leak or not mine.stopped:
            break
        answers.append(int((mine.questions[-1].log_shares() - other.questions[-1].log_shares()).argmax()))
    found = {True: 0.0, False: 0.0}
    for one, same in zip(mine.questions, other.questions, strict=False):
        if one.law == same.law:
            found[one.is_choice] += loss(one, same)
    return Conversation(noise=found[False], choices=found[True], leak=leak)


def _heard(mechanism: Mechanism, table: tuple[int, ...], replayed: ReplayedEntropy) -> Any:
    """What a mechanism makes of the answers; None where it stopped at a question."""
    try:
        return mechanism(table, replayed)
    except Exception:
        if not replayed.stopped:
            raise
        return None


def _difference(mine: ReplayedEntropy, other: ReplayedEntropy, ours: Any, theirs: Any) -> str:
    for one, same in zip_longest(mine.questions, other.questions):
        if (one and one.law) != (same and same.law):
            return f"asked are {one and one.law} on one table and {same and same.law} on the other"
    if not mine.stopped and not np.array_equal(ours, theirs):
        return "what is made of the same answers differs"
    return ""


def _worst(mine: AskedDraw, other: AskedDraw) -> float:
    """The logarithm of how much likelier an answer is on the left: a choice of the largest ratio, or noise of zero."""
    kind, law = mine.law[0], mine.law[2]
    if mine.is_choice:
        return float((mine.log_shares() - other.log_shares()).max())
    change = np.abs(mine.values - other.values)
    if kind == "gaussian":
        raise ValueError("expected noise of a pure mechanism, found Gaussian noise, which has no worst answer")
    return float(change.sum() / law) if kind == "laplace" else float(change.max() * law)


def _mean(mine: AskedDraw, other: AskedDraw) -> float:
    """The mean loss of answers that are drawn as on the left."""
    if mine.is_choice:
        logs, others = mine.log_shares(), other.log_shares()
        return float((np.exp(logs) * (logs - others)).sum())
    if mine.law[0] != "gaussian":
        raise ValueError(f"expected Gaussian noise and choices, found {mine.law[0]} noise")
    return mean_of_gaussian(mine.values - other.values, mine.law[2])
