"""The part of release.json about the population that the file is a simple random sample of."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from synthrelease.privacy.charges import Way
from synthrelease.privacy.plan import Loss
from synthrelease.published.base import ExactText, Fact, Part


class PopulationPart(Part):
    """What a member of the population is promised of whom nobody knows whether he was drawn. The guarantee stands beside it,
    and it alone counts in a ledger.

    Attributes
    ----------
    size, source : records of the population, and where that is published.
    sample : how the file was drawn from them.
    sampled : rows of the file.
    epsilon_exact, delta_exact : of this sentence (theory 11.3, amplification by a subset).
    """

    size: Annotated[int, Field(ge=1)]
    source: str
    sample: Literal["simple random, without replacement"]
    sampled: Annotated[int, Field(ge=1)]
    epsilon_exact: ExactText
    delta_exact: ExactText

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """The file has as many rows as were drawn."""
        return (("private_file", "population.sampled"),)

    def loss(self) -> Loss:
        """The sentence as it is stated."""
        return Loss(Fraction(self.epsilon_exact), Fraction(self.delta_exact))


PUBLISHED = PopulationPart
