"""The complete copies of a released table: observed values stayed, and what was filled in has a donor among its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.donors import Gaps, NotImputed, gaps_of_cells, patterns
from synthrelease.data.plausibility import Plausibility
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import HEAD, ImputationPart, flags_of_rows, gaps_of
from synthrelease.published.table import ReleasedTable, TableError, csv_lines, rows_of_lines
from synthrelease.published.verify.part import KnownFiles, Verifying
from synthrelease.settings.options import ImputationTable


class ImputationVerifying(Verifying[ImputationTable, ImputationPart]):
    """The copies belong to the table. Which donor was drawn is random, and only that there is one can be checked."""

    def asked(self, value: ImputationTable, part: ImputationPart, document: ReleaseDocument) -> Iterator[str]:
        """As many copies, made in the way that the specification says."""
        match = [column.name for column in document.columns] if value.match is None else list(value.match)
        if (part.copies, part.donors, part.match) != (value.copies, value.donors, match):
            yield "imputation: expected the copies that the specification asks for, found others"

    def found(self, part: ImputationPart, known: KnownFiles) -> str:
        """How many there are."""
        return f"{0 if part.failed else part.copies} copies, observed values as in data.csv, others with donors"

    def problems(self, document: ReleaseDocument, part: ImputationPart, known: KnownFiles) -> Iterator[str]:
        """Each row of each copy."""
        name = part.file(document.bundle)
        yield from (f"{name}: {problem}" for problem in _problems(document, part, name, known))


def _problems(document: ReleaseDocument, part: ImputationPart, name: str, known: KnownFiles) -> Iterator[str]:
    table, rules = known.table, known.rules
    if part.failed:
        if name in document.files:
            yield "expected none, found one"
        return
    gaps = gaps_of(part, document.columns)
    if part.smallest != document.minimum_count:
        yield f"expected rows that occur at least {document.minimum_count} times, release.json states {part.smallest}"
    open_ = gaps_of_cells(table.counts, gaps.missing, rules)
    if part.rows != int(table.counts.counts[open_.any(axis=1)].sum()):
        yield f"{part.rows} rows are said to lack a value; in data.csv there are others"
    if name not in known.files or name not in document.files:
        yield "expected in the bundle, not there"
        return
    try:
        lines = csv_lines(known.files.content(name))
        stated = [*HEAD, *replace(table.shape, weighted=False).header]
        if next(lines, []) != stated:
            yield f"expected the columns {', '.join(stated)}, found others"
            return
        flags = flags_of_rows(table, open_)
        for number in range(1, part.copies + 1):
            yield from _copy_problems(number, list(islice(lines, len(flags))), flags, table, gaps, rules, open_)
        if next(lines, None) is not None:
            yield f"expected {part.copies} copies, found more rows"
    except TableError as error:
        yield str(error)


def _copy_problems(
    number: int,
    lines: list[list[str]],
    flags: list[str],
    table: ReleasedTable,
    gaps: Gaps,
    rules: Plausibility,
    open_: np.ndarray,
) -> Iterator[str]:
    head = [[str(number), str(row), flag] for row, flag in enumerate(flags, start=1)]
    if [line[:3] for line in lines] != head:
        yield f"copy {number}: expected one line for each row of data.csv, in order, with the columns that it lacks"
        return
    try:
        batches = list(rows_of_lines((line[len(HEAD) :] for line in lines), replace(table.shape, weighted=False)))
    except TableError as error:
        yield f"copy {number}: {error}"
        return
    bins = [np.concatenate(parts).astype(np.int64) for parts in zip(*(batch.bins for batch in batches), strict=True)]
    lacking = np.repeat(open_, table.counts.counts, axis=0)
    for column, gap in enumerate(gaps.missing):
        if (bins[column] != table.counts.rows(column))[~lacking[:, column]].any():
            yield f"copy {number}: an observed value of {table.names[column]} is another one than in data.csv"
        if gap is not None and (bins[column] == gap)[lacking[:, column]].any():
            yield f"copy {number}: a value of {table.names[column]} is still missing"
    yield from (f"copy {number}: {problem}" for problem in _donor_problems(bins, table, gaps, open_))
    if rules.forbidden(bins).any():
        yield f"copy {number}: a row breaks the plausibility rules for released rows"
    if int(Counts.of(table.counts.layout, bins).counts.min()) < gaps.smallest:
        yield f"copy {number}: a row occurs fewer than {gaps.smallest} times"


def _donor_problems(bins: list[np.ndarray], table: ReleasedTable, gaps: Gaps, open_: np.ndarray) -> Iterator[str]:
    """Values filled in together that no released row has together."""
    starts = np.concatenate([[0], np.cumsum(table.counts.counts)])
    try:
        for pattern in patterns(table.counts, gaps.missing, open_):
            layout = table.counts.layout.subset(pattern.columns)
            donors = Counts.of(layout, [table.counts.bins[column][pattern.donors] for column in pattern.columns])
            rows = np.concatenate([np.arange(starts[cell], starts[cell + 1]) for cell in pattern.recipients])
            if (donors.find([bins[column][rows] for column in pattern.columns]) < 0).any():
                yield f"values of {', '.join(layout.columns)} were filled in that no released row has"
    except NotImputed as error:
        yield str(error)


VERIFYING = ImputationVerifying()
