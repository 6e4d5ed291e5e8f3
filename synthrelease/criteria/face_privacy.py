"""Face privacy as a criterion: no row of the candidate occurs fewer than `minimum_count` times.

Paper 4.6; theory 3.7, face privacy.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from synthrelease.accounting.charges import Charge
from synthrelease.candidates.candidate import Candidate
from synthrelease.criteria.base import Criterion, Score, Setting
from synthrelease.criteria.fitted import Fitted


class FacePrivacy(Criterion):
    """Number of distinct rows that occur fewer than `minimum_count` times; passes at 0.

    Attributes
    ----------
    minimum_count : how often each distinct row must occur at least; that of the projection, or less.
        Example: `minimum_count = 2`.
    threshold : always 0, and may be left out: no row may be rarer. Example: `threshold = 0`.
    epsilon : always 0, and may be left out: the figure costs nothing. Example: `epsilon = 0`.

    Privacy
    -------
    Looks at the candidate alone, which is already differentially private: costs nothing.
    """

    figure_gets_noise: ClassVar[bool] = False
    kind: Literal["face_privacy"]
    minimum_count: int = Field(ge=1)
    threshold: float = Field(default=0.0, ge=0, le=0)
    epsilon: Fraction = Field(default=Fraction(0), ge=0, le=0)

    def per_score(self) -> tuple[Charge, ...]:
        return ()

    def query(self, n: int, candidate: Candidate, setting: Setting, fitted: Fitted) -> Score:
        rare = int((candidate.counts.counts < self.minimum_count).sum())
        return self._judged(float(rare), "none: looks at synthetic rows only", None, None, self.epsilon)
