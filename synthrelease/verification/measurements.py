"""The published noisy tables are those that the configuration names, at the cost and with the noise that were charged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from synthrelease.data.layout import Layout
from synthrelease.data.schema import STEPS
from synthrelease.errors import Unexpected
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import MeasuringGenerator
from synthrelease.generators.measured_noise import cube_sd
from synthrelease.privacy.charges import GENERATION
from synthrelease.privacy.grids import laplace_sd
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import (
    NAME,
    MeasuredSumPart,
    MeasuredTablePart,
    MeasurementsPart,
    on_released_bins,
    read_measurements,
    sum_on_released_bins,
)
from synthrelease.published.verify.checks import Check

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
    if read.sums:
        found = f"{len(read.tables)} noisy tables and {len(read.sums)} noisy sums, the ones that were charged"
    return Check(name="measurements", found=found, problems=problems)


def _problems(document: ReleaseDocument, read: MeasurementsPart, content: bytes) -> Iterator[str]:
    if read.dumped() != content:
        yield "expected the layout in which it was written, found another"
    if read.n_rows != document.n_rows:
        yield f"expected {document.n_rows} rows, found {read.n_rows}"
    columns = {column.name: column for column in document.columns}
    expected = dict(_expected(document))
    generator, _ = _generator(document)
    alike = generator is not None and all(table.kind is generator.noise for table in read.tables)
    found = {tuple(table.columns): table.cost for table in read.tables} if alike else {}
    if found != expected or len(found) != len(read.tables):
        yield "its tables and what they cost are not those of the configuration and of the charge of the generation"
        return
    sums = read.sums or []
    parts: list[MeasuredTablePart | MeasuredSumPart] = [*read.tables, *sums]
    sizes = {name: len(labels) for part in parts for name, labels in zip(part.columns, part.labels, strict=False)}
    layout = Layout(columns=tuple(columns), sizes=tuple(sizes.get(name, len(columns[name].bins)) for name in columns))
    found_sums = [
        (one.sum, tuple(one.columns), Fraction(one.epsilon), one.together or 1, one.steps or one.own_values) for one in sums
    ]
    if found_sums != list(_expected_sums(document, layout)):
        yield "its sums, their scores and what they cost are not those of the configuration and of the charge of the generation"
        return
    for one in sums:
        yield from (f"sum {one.sum}: {problem}" for problem in _sum_problems(one, [columns[name] for name in one.columns]))
    for table in read.tables:
        name = ":".join(table.columns)
        problems = list(_table_problems(table, [columns[one] for one in table.columns]))
        if not problems and document.linked is None and document.divided_rows is None:  # else members, or a piece, are counted
            problems += _total_problem(table, read.n_rows)
        yield from (f"table {name}: {problem}" for problem in problems)


def _expected(document: ReleaseDocument) -> Iterator[tuple[tuple[str, ...], Fraction]]:
    """Columns of every table, and what it costs."""
    generator, part = _generator(document)
    if generator is not None:
        names = tuple(column.name for column in document.columns)
        layout = Layout(columns=names, sizes=tuple(len(column.bins) for column in document.columns))
        for chosen, each in generator.measured_tables(layout, part).items():
            yield tuple(names[place] for place in chosen), each


def _expected_sums(
    document: ReleaseDocument, layout: Layout
) -> Iterator[tuple[str, tuple[str, ...], Fraction, int, list[Any]]]:
    """Of every sum its name, columns, epsilon, how many share its noise, and steps, on the measured bins."""
    generator, part = _generator(document)
    if generator is None or any(generator.mistakes(layout, ())):
        return
    for one in generator.measured_sums(layout, part):
        adds = one.scores.tolist() if one.own is None else list(one.own.ends)
        yield one.text, tuple(layout.columns[place] for place in one.columns), one.epsilon, one.together, adds


def _generator(document: ReleaseDocument) -> tuple[MeasuringGenerator | None, Fraction]:
    """The one that measured, and its budget; None where none did."""
    settings = document.configuration["generator"]
    generator = GENERATORS[str(settings.get("family"))].model_validate(settings)
    charged = [leaf for leaf in document.charges.leaves() if leaf.name == GENERATION]
    if isinstance(generator, MeasuringGenerator) and len(charged) == 1:
        return generator, generator.part(charged[0].charge())
    return None, Fraction(0)


def _sum_problems(one: MeasuredSumPart, columns: list[ColumnPart]) -> Iterator[str]:
    try:
        sum_on_released_bins(one, [column.labels for column in columns])
    except Unexpected as error:
        yield str(error)
        return
    scale = Fraction(STEPS if one.steps is None else int(np.ptp(np.array(one.steps)))) / Fraction(one.epsilon)
    together = one.together or 1
    sd = laplace_sd(scale) if together == 1 else cube_sd(together, scale)
    if (one.noise == "one noise") != (together > 1) or not (_near(one.scale, float(scale)) and _near(one.variance, sd**2)):
        yield "its noise, scale and variance are not those of its steps, its epsilon and the sums that share its noise"
    yield from _bin_problems(one.labels, one.released, columns)


def _table_problems(table: MeasuredTablePart, columns: list[ColumnPart]) -> Iterator[str]:
    noise = table.kind.of_table(table.cost)
    if not (_near(table.scale, noise.scale) and _near(table.variance, noise.variance)):
        yield f"its scale and variance are not those of its {noise.cost}"
    try:
        on_released_bins(table, [column.labels for column in columns])
    except Unexpected as error:
        yield str(error)
        return
    yield from _bin_problems(table.labels, table.released, columns)


def _total_problem(table: MeasuredTablePart, n_rows: int) -> Iterator[str]:
    """A table counts all rows once, so its numbers add up to them but for their noise; so two tables agree, too.

    The limit is exceeded with a probability of 1e-15: sums of k Laplace draws of scale b have a moment generating function
    of at most exp(2 k (b t)^2) for b t up to sqrt(1/2), and normal ones a smaller one. In a million rounds of a search, that
    is below 1e-9 for each table.
    """
    counts, beyond = np.array(table.counts, dtype=float), math.log(2e15)
    k, total, b = counts.size, math.fsum(counts.ravel()), math.sqrt(table.variance / 2)
    near = b * math.sqrt(8 * k * beyond)
    limit = near if near <= 2 * math.sqrt(2) * k * b else math.sqrt(2) * b * (k + beyond)
    if abs(total - n_rows) > limit:
        found = f"found {total:g}, and noise of its size moves a sum by at most {limit:g}"
        yield f"expected numbers that add up to {n_rows} rows; {found}"


def _bin_problems(labels: list[list[str]], released: list[list[int]], columns: list[ColumnPart]) -> Iterator[str]:
    for column, own, into in zip(columns, labels, released, strict=False):
        if any(label in column.labels and column.labels.index(label) != place for label, place in zip(own, into, strict=True)):
            yield f"column {column.name!r}: a measured bin goes into a released one of another label"
        if set(into) != set(range(len(column.labels))) or (column.ordered and into != sorted(into)):
            yield f"column {column.name!r}: its bins go into released ones in another order, or leave one out"


def _near(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=_RELATIVE)
