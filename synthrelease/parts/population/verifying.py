"""The sentence for a member of the population follows from the guarantee and from both numbers of records."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import PopulationPart
from synthrelease.published.verify.part import KnownFiles, Verifying
from synthrelease.settings.options import PopulationTable


class PopulationVerifying(Verifying[PopulationTable, PopulationPart]):
    def asked(self, value: PopulationTable, part: PopulationPart, document: ReleaseDocument) -> Iterator[str]:
        """The population of the specification."""
        if (part.size, part.sample, part.source) != (value.size, value.sample, value.source):
            yield "population: expected the one that the specification names, found another"

    def found(self, part: PopulationPart, known: KnownFiles) -> str:
        """Both numbers, and what follows."""
        return f"a sample of {part.sampled} of {part.size}: epsilon {decimal_text(part.loss().epsilon)} beside the guarantee"

    def problems(self, document: ReleaseDocument, part: PopulationPart, known: KnownFiles) -> Iterator[str]:
        """Compute it once more; and nothing says that the file is another sample, or that more was published of its records."""
        guarantee = document.guarantee
        if part.sampled != document.domain.file_rows or part.sampled > part.size:
            there = document.domain.file_rows
            yield f"population: expected a sample of {there} rows, as the file has, found {part.sampled} rows"
            return
        whole = Loss(Fraction(guarantee.epsilon_exact), Fraction(guarantee.delta_exact))
        expected = of_the_population(whole, part.sampled, part.size)
        if part.loss() != expected:
            yield f"population: expected epsilon {expected.epsilon} and delta {expected.delta}, found others"
        if guarantee.person.records > 1:
            yield "population: expected none where a person stands in several records, found one"
        if document.several_releases:
            yield "population: expected none where there are other releases of the same records, found one"


VERIFYING = PopulationVerifying()
