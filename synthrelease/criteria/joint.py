"""One noisy test for all criteria of a round (theory 4.1, least slack): the least slack, with one draw of noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from synthrelease.criteria.base import Criterion, Query, Score
from synthrelease.privacy.charges import JOINT_TEST, Charge, mechanism
from synthrelease.privacy.grids import laplace_tail

if TYPE_CHECKING:
    from synthrelease.enclave.door import PrivateCounts


@dataclass(frozen=True, kw_only=True)
class JointTest:
    """Whether a candidate meets all criteria, decided by one noisy number.

    Attributes
    ----------
    epsilon : budget of one test.
    false_acceptance : largest probability that a round passes although some criterion is above its threshold.
    """

    most_rows: ClassVar[int] = 2**30
    """Its grid, of steps of 2^-12, is the same for any number of rows, so the rounding of slacks must stay below a quarter of a
    step: 8 n 2^-53 sensitivities, and for a ratio's slack, of counts times a threshold t, t n 2^-53."""

    epsilon: Fraction
    false_acceptance: Fraction

    @property
    def charge(self) -> Charge:
        return mechanism(JOINT_TEST, self.epsilon, "Laplace mechanism on the least slack")

    @property
    def margin(self) -> float:
        """What the noisy least slack must reach, in sensitivities: noise alone does so with `false_acceptance` at most."""
        return laplace_tail(sensitivity=1.0, epsilon=self.epsilon, probability=self.false_acceptance)

    def passes(self, private: PrivateCounts, asked: Sequence[tuple[Criterion, Query | Score]]) -> bool:
        """Whether a candidate passes: the noisy least slack reaches the margin, and so does every public score."""
        return self.noisy_slack(private, asked) >= self.margin and all(
            found.passed for _, found in asked if isinstance(found, Score)
        )

    def noisy_slack(self, private: PrivateCounts, asked: Sequence[tuple[Criterion, Query | Score]]) -> float:
        """The least slack of all queries, with noise.

        Parameters
        ----------
        private : the private table on the candidate's bins, with this round's meter.
        asked : every criterion with its query about the candidate, or its score where nothing private is asked.

        Privacy
        -------
        eps-DP, neighbours replace one record: each slack has sensitivity 1 (`Query`), so has their minimum (Proposition 3),
        and it gets Laplace noise of scale 1 / eps. Scores are public: they are left out here, and decide without noise.
        """
        from synthrelease.criteria.mechanism import noisy_least_slack

        queries = [(criterion.threshold, found) for criterion, found in asked if isinstance(found, Query)]
        least = partial(noisy_least_slack, asked=queries, epsilon=self.epsilon, entropy=private.entropy)
        noisy = private.spend(self.charge, least)
        return noisy.value
