"""Which associations the released rows will carry, for `plan`, `check` and `init`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from synthrelease.errors import so_many

if TYPE_CHECKING:
    from synthrelease.spec.release_spec import ReleaseSpec

MOST_LINES = 30
MOST_TRIPLES = 10


def carried_lines(spec: ReleaseSpec, rows: int | None = None) -> Iterator[str]:
    """The list in sentences, the first of them a heading, for a file of so many rows."""
    from synthrelease.generators.associations import LEAST_REPEATED, CarriedPairs
    from synthrelease.releasing.attempt_costs import usual_rows
    from synthrelease.spec.associations import planned_associations

    rows = rows or usual_rows(spec)
    found = CarriedPairs.of(planned_associations(spec, rows))
    if not found.pairs:
        return
    if found.unknown == found.pairs:
        yield (
            "Associations: the generator chooses with noise which columns it measures together. The choice is not published, "
            "so nobody can list the pairs of columns that the rows will carry."
        )
        return
    unknown = (
        f" Of {found.unknown} pairs nobody can tell: the generator chooses its tables with noise." if found.unknown else ""
    )
    yield f"Associations: the rows will carry {found.carried:,} of {found.pairs:,} pairs of columns.{unknown}"
    if found.noisy:
        pairs = so_many(found.noisy, "more pair is", "more pairs are")
        yield (
            f"{pairs} measured, but the table is mostly noise: at {rows:,} rows the noise moves a cell, on average, by more "
            f"rows than the mean cell has, or the rows repeat less than {LEAST_REPEATED:.0%} of an association. Give the table "
            "a larger weight, a larger budget or fewer bins."
        )
    if not found.columns:
        return
    yield "Do not compute a table, a mean by group or a slope of another pair: its error has no limit."
    for line in found.columns[:MOST_LINES]:
        others = ", ".join(line.others) or "no other column"
        yield f"  {line.column}: {'only with' if line.only and line.others else 'with' if line.only else 'not with'} {others}"
    if (more := len(found.columns) - MOST_LINES) > 0:
        yield f"  and {more} more columns; `synthrelease plan --json` lists every pair."
    named = "; ".join(" × ".join(triple) for triple in found.carried_triples[:MOST_TRIPLES])
    dots = "; ..." if len(found.carried_triples) > MOST_TRIPLES else ""
    yield f"Three columns at once: {len(found.carried_triples):,} of {found.triples:,}{f': {named}{dots}' if named else ''}."
