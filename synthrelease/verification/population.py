"""The sentence for a member of the population follows from the guarantee and from both numbers of records."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from synthrelease.accounting.charges import decimal_text
from synthrelease.accounting.guarantee import Loss
from synthrelease.accounting.sampling import of_the_population
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.population import PopulationPart
from synthrelease.verification.checks import Check


def population(document: ReleaseDocument, stated: PopulationPart) -> Check:
    """Compute it once more; and nothing says that the file is another sample, or that more was published about its records."""
    found = f"a sample of {stated.sampled} of {stated.size}: epsilon {decimal_text(stated.loss().epsilon)} beside the guarantee"
    return Check(name="population", found=found, problems=tuple(_problems(document, stated)))


def _problems(document: ReleaseDocument, stated: PopulationPart) -> Iterator[str]:
    guarantee = document.guarantee
    if stated.sampled != document.domain.file_rows or stated.sampled > stated.size:
        yield f"population: expected a sample of {document.domain.file_rows} rows, as the file has, found {stated.sampled} rows"
        return
    whole = Loss(Fraction(guarantee.epsilon_exact), Fraction(guarantee.delta_exact))
    expected = of_the_population(whole, stated.sampled, stated.size)
    if stated.loss() != expected:
        yield f"population: expected epsilon {expected.epsilon} and delta {expected.delta}, found others"
    if guarantee.person.records > 1:
        yield "population: expected none where a person stands in several records, found one"
    if document.series is not None and document.series.earlier:
        yield "population: expected none where there are earlier releases of the same records, found one"
