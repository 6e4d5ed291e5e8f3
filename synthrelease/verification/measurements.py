"""The published noisy tables are those that the configuration names, at the cost and with the noise that were charged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

from synthrelease.accounting.charges import GENERATION
from synthrelease.candidates.generators import GENERATORS, MeasuringGenerator
from synthrelease.domain.schema import Layout
from synthrelease.errors import Unexpected
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import (
    NAME,
    MeasuredTablePart,
    MeasurementsPart,
    on_released_bins,
    read_measurements,
)
from synthrelease.randomness import laplace_sd
from synthrelease.verification.checks import Check

__all__ = ["NAME", "measurements"]

_RELATIVE = 1e-9


def measurements(document: ReleaseDocument, files: Mapping[str, bytes]) -> Check:
    """Which tables, at which epsilon, follows from the configuration and the charges; a noisy count follows from nothing."""
    try:
        read = read_measurements(files.get(NAME, b""), unknown="forbid")
    except Unexpected as error:
        return Check(name="measurements", problems=(f"{NAME}: {error}",))
    problems = tuple(f"{NAME}: {problem}" for problem in _problems(document, read, files[NAME]))
    found = f"{len(read.tables)} noisy tables, the ones that were charged"
    return Check(name="measurements", found=found, problems=problems)


def _problems(document: ReleaseDocument, read: MeasurementsPart, content: bytes) -> Iterator[str]:
    if read.dumped() != content:
        yield "expected the layout in which it was written, found another"
    if read.n_rows != document.n_rows:
        yield f"expected {document.n_rows} rows, found {read.n_rows}"
    columns = {column.name: column for column in document.columns}
    expected = dict(_expected(document))
    found = {tuple(table.columns): Fraction(table.epsilon) for table in read.tables}
    if found != expected or len(found) != len(read.tables):
        yield "its tables and what they cost are not those of the configuration and of the charge of the generation"
        return
    for table in read.tables:
        name = ":".join(table.columns)
        yield from (f"table {name}: {problem}" for problem in _table_problems(table, [columns[one] for one in table.columns]))


def _expected(document: ReleaseDocument) -> Iterator[tuple[tuple[str, ...], Fraction]]:
    """Columns of every table, and its epsilon."""
    settings = document.configuration["generator"]
    generator = GENERATORS[str(settings.get("family"))].model_validate(settings)
    charged = [leaf for leaf in document.charges.leaves() if leaf.name == GENERATION]
    if isinstance(generator, MeasuringGenerator) and len(charged) == 1:
        names = tuple(column.name for column in document.columns)
        layout = Layout(columns=names, sizes=tuple(len(column.bins) for column in document.columns))
        for chosen, epsilon in generator.measured_tables(layout, charged[0].charge().epsilon).items():
            yield tuple(names[place] for place in chosen), epsilon


def _table_problems(table: MeasuredTablePart, columns: list[ColumnPart]) -> Iterator[str]:
    scale = Fraction(2) / Fraction(table.epsilon)
    if not (_near(table.scale, float(scale)) and _near(table.variance, laplace_sd(scale) ** 2)):
        yield "its scale and variance are not those of its epsilon"
    try:
        on_released_bins(table, [column.labels for column in columns])
    except Unexpected as error:
        yield str(error)
        return
    for column, own, into in zip(columns, table.labels, table.released or [], strict=False):
        if any(label in column.labels and column.labels.index(label) != place for label, place in zip(own, into, strict=True)):
            yield f"column {column.name!r}: a measured bin goes into a released one of another label"
        if set(into) != set(range(len(column.labels))) or (column.ordered and into != sorted(into)):
            yield f"column {column.name!r}: its bins go into released ones in another order, or leave one out"


def _near(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=_RELATIVE)
