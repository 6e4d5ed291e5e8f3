"""The selection in release.json: how rounds were repeated, and what decided each."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

from pydantic import Field, model_validator

from synthrelease.errors import BudgetError
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.published.parts import ExactText, Number, Part


class JointTestPart(Part):
    """The one noisy test that decided a round: its least slack had to reach the margin, in sensitivities.

    `false_acceptance` bounds the probability that a round passes although some criterion is above its threshold.
    """

    epsilon_exact: ExactText
    false_acceptance: ExactText
    margin: Number


class BoundsPart(Part):
    """What the bounds of the criteria that measurements answer may be wrong with, all together.

    `risk_exact` is divided evenly among the `transformations` that configurations were drawn from, and in each among the sums
    that its bounds rest on.
    """

    risk_exact: ExactText
    transformations: Annotated[int, Field(ge=1)]


class SelectionPart(Part):
    """How configurations were drawn, what decided a round, and when the search would have ended with nothing.

    `joint_test` is null where every criterion was decided by its own figure. `shape` is that of a truncated negative binomial
    number of rounds, null with other laws. `rounds` is the law of a hidden number of rounds with finitely many values, each
    with its probability; absent with other laws, and `stop_probability` is null just where it is there. `bounds` is absent
    where measurements answer no criterion.
    """

    configurations: int
    stop_probability: ExactText | None
    shape: ExactText | None
    shared_measurements: bool
    joint_test: JointTestPart | None
    rounds: dict[str, ExactText] | None = None
    bounds: BoundsPart | None = None

    @model_validator(mode="after")
    def _one_law(self) -> SelectionPart:
        try:
            _ = self.rule.law
        except BudgetError as error:
            problem = str(error)
        else:
            return self
        raise ValueError(problem)

    @property
    def rule(self) -> SelectionRule:
        """How rounds are repeated. Raises ValueError where more or less than one law is stated, or one that is none."""
        if (self.rounds is None) != (self.stop_probability is not None) or (self.rounds is not None and self.shape is not None):
            raise ValueError("expected one law of the number of rounds")
        if self.rounds is not None:
            return SelectionRule(rounds=FiniteLaw.of({int(k): Fraction(share) for k, share in self.rounds.items()}))
        shape = None if self.shape is None else Fraction(self.shape)
        return SelectionRule(stop_probability=Fraction(self.stop_probability or 0), shape=shape)

    @property
    def measured_times(self) -> float:
        """How often a release measured at most, on average: the mean number of rounds, whatever was accepted."""
        if self.shared_measurements:
            return 1.0
        law = self.rule.law
        return math.inf if law is None else law.mean
