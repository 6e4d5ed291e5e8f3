"""The part of release.json about the population that the file is a simple random sample of."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from synthrelease.accounting.guarantee import Guarantee, Loss
from synthrelease.accounting.sampling import of_the_population
from synthrelease.published.parts import ExactText, Part

if TYPE_CHECKING:
    from synthrelease.toml.population import PopulationTable


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

    @classmethod
    def of(cls, table: PopulationTable, guarantee: Guarantee, sampled: int) -> PopulationPart:
        """Of a release from a file of `sampled` rows."""
        loss = of_the_population(Loss(guarantee.epsilon, guarantee.delta), sampled, table.size)
        return cls(
            size=table.size,
            source=table.source,
            sample="simple random, without replacement",
            sampled=sampled,
            epsilon_exact=str(loss.epsilon),
            delta_exact=str(loss.delta),
        )

    def loss(self) -> Loss:
        """The sentence as it is stated."""
        return Loss(Fraction(self.epsilon_exact), Fraction(self.delta_exact))
