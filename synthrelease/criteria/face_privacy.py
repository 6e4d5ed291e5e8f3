"""Face privacy as a criterion: no row of the candidate occurs fewer than `minimum_count` times.

Paper 4.6; theory 3.7, face privacy.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from synthrelease.accounting.charges import Charge
from synthrelease.candidates.candidate import Candidate
from synthrelease.criteria.base import Criterion, Score, Setting
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.domain.counts import Counts


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
    no_sensitivity: ClassVar[str] = "The figure gets no noise: the released table alone decides it (`public_figure`)."
    no_bounds: ClassVar[str] = "The figure looks at released rows only."
    kind: Literal["face_privacy"]
    minimum_count: int = Field(ge=1)
    threshold: float = Field(default=0.0, ge=0, le=0)
    epsilon: Fraction = Field(default=Fraction(0), ge=0, le=0)

    def per_score(self) -> tuple[Charge, ...]:
        return ()

    @property
    def promised_count(self) -> int:
        return self.minimum_count

    def figure_unit(self, facts: PublicFacts) -> str:
        return "different rows"

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"How many different rows occur fewer than {self.minimum_count} times. It looks at released rows only and needs no "
            "noise."
        )

    def public_figure(self, facts: PublicFacts) -> float:
        return self._rare(facts.table)

    def _rare(self, table: Counts) -> float:
        return float((table.counts < self.minimum_count).sum())

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft]:
        yield CriterionDraft(
            settings={"name": "face privacy", "kind": "face_privacy", "minimum_count": 2},
            remark="no row of the release may look unique; costs nothing",
        )

    def query(self, n: int, candidate: Candidate, setting: Setting, fitted: Fitted) -> Score:
        return self._judged(self._rare(candidate.counts), "none: looks at synthetic rows only", None, None, self.epsilon)
