"""The sentence for a member of the population, in release.json and on the card."""

from __future__ import annotations

from fractions import Fraction

from synthrelease.bundle.card.numbers import exact_epsilon, figure
from synthrelease.bundle.part import Statement, Writing
from synthrelease.parts.population.published import PopulationPart
from synthrelease.parts.population.table import PopulationTable
from synthrelease.published.document import ReleaseDocument


class _Population(Writing[PopulationTable, PopulationPart]):
    """What a member of the population is promised that the file is a sample of."""

    def part(self, value: PopulationTable, document: ReleaseDocument) -> PopulationPart | None:
        """Of a release whose file has a public number of rows."""
        rows = document.domain.file_rows
        return None if rows is None else PopulationPart.of(value, document.guarantee.guarantee(), rows)

    def statement(self, part: PopulationPart) -> Statement:
        """Beside the guarantee."""
        delta = "" if part.delta_exact == "0" else f", delta = {float(Fraction(part.delta_exact)):.3g}"
        text = (
            f"The file is a simple random sample, without replacement, of {figure(part.sampled)} of {figure(part.size)} "
            f"records ({part.source}). For one of these of whom nobody knows whether he is in the file: epsilon = "
            f"{exact_epsilon(part.epsilon_exact)}{delta}. Whoever is known to have been drawn has the guarantee above, and "
            "that alone counts in the budget of the dataset; of several releases from the file the guarantees are added up "
            "first."
        )
        return Statement(heading="Population", text=text)


WRITING = _Population()
