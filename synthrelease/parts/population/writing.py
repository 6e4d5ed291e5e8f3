"""The sentence for a member of the population, in release.json and on the card."""

from __future__ import annotations

from fractions import Fraction

from synthrelease.bundle.card.numbers import exact_epsilon
from synthrelease.bundle.part import CardStatement, Writing
from synthrelease.criteria.facts import figure
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import PopulationPart
from synthrelease.settings.options import PopulationTable


class PopulationWriting(Writing[PopulationTable, PopulationPart]):
    """What a member of the population is promised that the file is a sample of."""

    def part(self, value: PopulationTable, document: ReleaseDocument) -> PopulationPart | None:
        """Of a release whose file has a public number of rows."""
        rows, guarantee = document.domain.file_rows, document.guarantee.guarantee()
        if rows is None:
            return None
        loss = of_the_population(Loss(guarantee.epsilon, guarantee.delta), rows, value.size)
        return PopulationPart(
            size=value.size,
            source=value.source,
            sample="simple random, without replacement",
            sampled=rows,
            epsilon_exact=str(loss.epsilon),
            delta_exact=str(loss.delta),
        )

    def statement(self, part: PopulationPart) -> CardStatement:
        """Beside the guarantee."""
        delta = "" if part.delta_exact == "0" else f", delta = {float(Fraction(part.delta_exact)):.3g}"
        text = (
            f"The file is a simple random sample, without replacement, of {figure(part.sampled)} of {figure(part.size)} "
            f"records ({part.source}). For one of these of whom nobody knows whether he is in the file: epsilon = "
            f"{exact_epsilon(part.epsilon_exact)}{delta}. Whoever is known to have been drawn has the guarantee above, and "
            "that alone counts in the budget of the dataset; of several releases from the file the guarantees are added up "
            "first."
        )
        return CardStatement(heading="Population", text=text)


WRITING = PopulationWriting()
