"""The part of release.json about random pieces of the rows: one that the generator saw, and one that the criteria asked."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from synthrelease.privacy.charges import Way
from synthrelease.privacy.subsets import PartitionRule
from synthrelease.published.base import ExactText, Fact, Part


class PartitionPart(Part):
    """How the rows that the release worked with were divided, at random and without a look at their values.

    Attributes
    ----------
    fit_exact : the share of the rows that the generator was fitted to; the criteria asked the rest.
    rows, fit_rows, score_rows : rows that the release worked with, and those of the two pieces. The released table has
        `score_rows` rows, and the figures of the criteria compare it with that piece.
    """

    fit_exact: ExactText
    rows: Annotated[int, Field(ge=2)]
    fit_rows: Annotated[int, Field(ge=1)]
    score_rows: Annotated[int, Field(ge=1)]

    @classmethod
    def of(cls, rule: PartitionRule, rows: int) -> PartitionPart:
        fit, score = rule.sizes(rows)
        return cls(fit_exact=str(rule.fit), rows=rows, fit_rows=fit, score_rows=score)

    @property
    def rule(self) -> PartitionRule:
        """The rule by which the rows were divided."""
        return PartitionRule(fit=Fraction(self.fit_exact))

    @property
    def divided_rows(self) -> int:
        """Those of both pieces."""
        return self.rows

    @property
    def figures_about(self) -> str:
        """The piece that the criteria asked."""
        return "a random piece of them ([partition])"

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """Sizes follow from the number of rows, where that is published or stated."""
        sources: dict[Way, tuple[Fact, ...]] = {
            "exact": (("private_file", "partition"),),
            "whole": (("private_file", "partition"),),
            "stated": (("specification", "partition"),),
        }
        return sources.get(way, ())

    def sampling_error(self, share: float = 0.5) -> float:
        """The standard deviation of a share in the scored piece around this share of all rows (theory 11.11, counts of random
        pieces)."""
        left = (self.rows - self.score_rows) / max(self.rows - 1, 1)
        return (share * (1 - share) / self.score_rows * left) ** 0.5


PUBLISHED = PartitionPart
