"""Draw rows that meet a condition from the published noisy tables of a release: the command `rows`.

The rows come from a maximum entropy model of the noisy tables. This is post-processing of published values (theory 1.2,
post-processing), so it costs no epsilon. The released criterion values say nothing about these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.answers.estimates import estimate
from synthrelease.answers.questions import parse_condition
from synthrelease.answers.words import Term
from synthrelease.bundle.tables import csv_pieces, files_of_rows
from synthrelease.bundle.write import new_file
from synthrelease.data.counts import DENSE_LIMIT, Counts
from synthrelease.data.layout import Columns
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.errors import InputError, RejectedRound, listing, so_many
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.generators.maximum_entropy import maximum_entropy
from synthrelease.generators.measured_noise import LAWS
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals
from synthrelease.generators.projections import published_projection
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.published.folder import load_without_rows
from synthrelease.published.table import ReleasedTable, RowsBatch, TableShape, table_of
from synthrelease.published.verify.alone import rebuild

if TYPE_CHECKING:
    from synthrelease.published import PublishedRelease

MOST_ROWS = 1_000_000
# Weight of the uniform prior table in records, relative to the noise of the tables, as in the adaptive generators.
_UNIFORM_ROWS = 50.0

_MOST_DRAWS = 20  # Largest number of further draws that replace rows which break a plausibility rule


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalRows:
    """Synthetic rows that all meet a condition, drawn from a model of the published noisy tables.

    Attributes
    ----------
    condition : the condition of the question.
    table : the rows, over the released bins.
    shape : the columns of the released table, without weights.
    group : an estimate of the number of rows in the file that meet the condition, with its interval (`rows`, `rows_low`,
        `rows_high`).
    measured : the columns that are in a published noisy table together with all columns of the condition.
    through : all other columns, which are associated with the condition only through the measured columns.
    n_tables : number of noisy tables from which the rows were made.
    """

    condition: str
    table: ReleasedTable
    shape: TableShape
    group: Term
    measured: tuple[str, ...]
    through: tuple[str, ...]
    n_tables: int

    def write(self, path: Path) -> None:
        """Write the rows as CSV in the format of data.csv.

        Raises
        ------
        OutputError : if the file exists or cannot be written.
        """
        with new_file(path) as file:
            file.writelines(csv_pieces(*files_of_rows(self.table)))

    def __str__(self) -> str:
        low, high = self.group.rows_low, self.group.rows_high
        found, rows = f"{low:,} to {high:,}", self.group.rows
        about = f"{found} rows (95% interval)" if rows is None else f"about {rows:,} rows (95% interval: {found})"
        sentences = [
            f"{self.table.counts.total:,} rows with {self.condition} were drawn from "
            f"{so_many(self.n_tables, 'published noisy table')}. This cost no epsilon.",
            f"In the file, {about} meet the condition. More synthetic rows than this add no information.",
            f"Measured together with the condition: {listing(self.measured, 40)}."
            if self.measured
            else "No other column was measured together with the condition.",
            f"Not measured together with the condition: {listing(self.through, 40)}. In the rows, only other columns connect "
            "these columns with the condition."
            if self.through
            else "",
            "No acceptance criterion tested these rows. Do not append them to the released table. For a number with an "
            "interval, use `synthrelease estimate`.",
        ]
        return "\n".join(fill(sentence, 80) for sentence in sentences if sentence)


def conditional_rows(release: str | Path, condition: str, n: int) -> ConditionalRows:
    """Draw synthetic rows that meet a condition from a model of the published noisy tables, without private data or
    epsilon.

    The rows satisfy the plausibility rules of the release, and are projected in the same way as its rows.

    Parameters
    ----------
    release : the folder of a release with published noisy tables.
    condition : a condition in the grammar of the plausibility rules, with limits between released bins. A noisy table must
        contain all columns of the condition.
    n : number of rows, from 1 to 1,000,000.

    Raises
    ------
    InputError : if the condition cannot be read, if no noisy table contains its columns, if the noise is so large that
        perhaps no row of the file meets the condition, if the release has linked tables, or if no row is possible.

    Examples
    --------
    >>> from synthrelease.bundle.rows import conditional_rows
    >>> drawn = conditional_rows("measured", "face == 'head'", 100)
    >>> drawn.table.counts.total, drawn.measured
    (100, ('year',))
    """
    if not 1 <= n <= MOST_ROWS:
        raise InputError(f"The number of rows must be 1 to {MOST_ROWS:,}, not {n:,}.")
    document, published = load_without_rows(release)
    if published.linked is not None:
        raise InputError(f"{published.folder}: rows of a group cannot be drawn from linked tables.")
    asked = parse_condition(condition, published)
    if asked.rule is None:
        raise InputError('Name the group of rows by a condition, such as "age >= 80". All rows are in data.csv.')
    group = estimate(published, f"share {condition}").terms[0]
    if not group.rows_low:
        high = "" if group.rows_high is None else f" (at most {group.rows_high:,})"
        raise InputError(
            f"{condition!r}: the file may have no rows in this group{high}, because the noise is as large as the group. Ask "
            "for a larger group."
        )
    names = [column.name for column in published.schema if column.name in asked.columns]
    columns = tuple(published.layout.columns.index(name) for name in names)
    outside = Mask(columns=columns, forbidden=~asked.mask(tuple(published.by_name[name] for name in names)))
    rules, tables = rebuild(document).plausibility, _tables(published)
    together = [table for table in tables if set(columns) <= set(table.columns)]
    fitted = _fitting(tables, columns, rules)
    drawn = _drawn(fitted, outside, rules, published, n)
    beside = {column for table in together for column in table.columns} - set(columns)
    shape = replace(document.shape, weighted=False)
    return ConditionalRows(
        condition=asked.text,
        table=table_of([RowsBatch(bins=[np.repeat(bins, drawn.counts) for bins in drawn.bins])], shape),
        shape=shape,
        group=group,
        measured=tuple(name for index, name in enumerate(published.layout.columns) if index in beside),
        through=tuple(name for index, name in enumerate(published.layout.columns) if index not in beside | set(columns)),
        n_tables=len(fitted),
    )


def _tables(release: PublishedRelease) -> list[NoisyMarginal]:
    published = release.measurements.tables if release.measurements else ()
    place, tables = release.layout.columns.index, []
    for table in published:
        order = np.argsort([place(name) for name in table.columns])
        tables.append(
            NoisyMarginal(
                columns=tuple(sorted(map(place, table.columns))),
                values=table.values.transpose(order),
                cells=table.cells.transpose(order),
                cost=table.cost,
                kind=LAWS[table.law],
            )
        )
    return tables


def _fitting(tables: Sequence[NoisyMarginal], columns: Columns, rules: Plausibility) -> list[NoisyMarginal]:
    """Choose the noisy tables for one model: those that share most columns with the condition first, while it is not too
    large.
    """
    sets = [columns, *(mask.columns for mask in rules.masks)]
    chosen: list[NoisyMarginal] = []
    for table in sorted(tables, key=lambda table: -len(set(columns) & set(table.columns))):
        if JunctionTree.of(rules.layout.sizes, [*sets, table.columns]).largest <= DENSE_LIMIT:
            sets.append(table.columns)
            chosen.append(table)
    return chosen


def _drawn(tables: list[NoisyMarginal], outside: Mask, rules: Plausibility, release: PublishedRelease, n: int) -> Counts:
    """Draw n rows that meet the condition and break no rule from a model of these tables, and apply the projection of the
    release.

    Raises
    ------
    InputError : if the model allows no such rows.
    """
    generator = SystemEntropy().generator()
    measured = NoisyMarginals(layout=release.layout, n=release.measured_rows, tables=tuple(tables))
    structure = [outside.columns, *(table.columns for table in tables)]
    try:
        network = maximum_entropy(measured, structure, rules, None, _UNIFORM_ROWS, given=outside)
        rows = rules.filter(network.sample(n, generator))
        for _ in range(_MOST_DRAWS):
            if rows.total == n:
                break
            rows = rows + rules.filter(network.sample(n - rows.total, generator))
        if rows.total < n:
            raise RejectedRound("the rules between columns forbid nearly all of them")
        projection = published_projection(release.configuration.get("projection") or {})
        return rows if projection is None else projection.project(rows, generator)
    except RejectedRound as error:
        problem = str(error)
    raise InputError(f"{release.folder}: the release allows no rows that meet the condition: {problem}.")
