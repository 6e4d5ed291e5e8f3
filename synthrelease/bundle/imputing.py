"""imputed.csv: complete copies of the released rows, one below the other, as R's mice calls a long format.

    .imp,.id,.imputed,COLUMNS...[,synthetic]

`.imp` is the number of the copy, from 1; `.id` the row of data.csv, from 1, whose observed values these are; `.imputed` names
the columns whose values were filled in, with a space between two, and is empty where none was. `synthetic` is 1 in every row,
and there where data.csv has it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from synthrelease.bundle.table_files import CsvLines
from synthrelease.domain.donors import Completed, Gaps, NotImputed, completed
from synthrelease.domain.gaps import gaps_of_cells
from synthrelease.domain.plausibility import Plausibility
from synthrelease.published.columns import ColumnPart
from synthrelease.published.imputation import ImputationPart
from synthrelease.published.lines import MARK, ROWS_PER_BATCH
from synthrelease.published.table import ReleasedTable
from synthrelease.randomness import SYSTEM
from synthrelease.toml.bundle import SYNTHETIC
from synthrelease.toml.imputation import ImputationTable

HEAD = (".imp", ".id", ".imputed")


def missing_bins(columns: Sequence[ColumnPart]) -> tuple[int | None, ...]:
    """Per column, the index of its bin of missing values; None where it has none."""
    return tuple(next((place for place, one in enumerate(column.bins) if one.missing), None) for column in columns)


def gaps_of(part: ImputationPart, columns: Sequence[ColumnPart]) -> Gaps:
    """How gaps are filled, on the released bins."""
    names = [column.name for column in columns]
    return Gaps(
        missing=missing_bins(columns),
        match=tuple(names.index(name) for name in part.match),
        donors=part.donors,
        copies=part.copies,
        smallest=part.smallest,
    )


def imputed(
    table: ReleasedTable,
    asked: ImputationTable | None,
    columns: Sequence[ColumnPart],
    plausibility: Plausibility,
    smallest: int,
) -> tuple[ImputationPart | None, bytes | None]:
    """What release.json says about complete copies, and the file with them; None where they are not asked for or cannot be.

    Parameters
    ----------
    plausibility : the rules for released rows on the released bins.
    smallest : how often every released row occurs at least.

    Notes
    -----
    The donors are drawn with the operating system's randomness, and the result is published whole: a function of the released
    table and of that randomness alone.
    """
    if asked is None:
        return None, None
    open_ = gaps_of_cells(table.counts, missing_bins(columns), plausibility)
    part = ImputationPart(
        copies=asked.copies,
        donors=asked.donors,
        match=list(asked.match if asked.match is not None else table.names),
        rows=int(table.counts.counts[open_.any(axis=1)].sum()),
        smallest=smallest,
        failed="",
    )
    gaps = gaps_of(part, columns)
    try:
        copies = completed(table.counts, gaps, plausibility, SYSTEM.generator())
        return part, imputed_bytes(table, copies, open_)
    except NotImputed as error:
        return part.model_copy(update={"failed": str(error)}), None
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        return part.model_copy(update={"failed": f"the copies could not be made ({type(error).__name__})"}), None


def imputed_bytes(table: ReleasedTable, copies: Sequence[Completed], open_: np.ndarray) -> bytes:
    """The file: UTF-8, a header, "\\n" line ends."""
    flags = flags_of_rows(table, open_)
    lines = list[str]()
    writer = csv.writer(CsvLines(lines), lineterminator="\n")
    writer.writerow([*HEAD, *table.names, *([SYNTHETIC] if table.marked else [])])
    for number, copy in enumerate(copies, start=1):
        for start in range(0, len(flags), ROWS_PER_BATCH):
            batch = slice(start, start + ROWS_PER_BATCH)
            texts = [
                map(labels.__getitem__, bins[batch].tolist()) for labels, bins in zip(table.labels, copy.bins, strict=True)
            ]
            ids = range(start + 1, start + 1 + len(flags[batch]))
            marks = [[MARK] * len(ids)] if table.marked else []
            writer.writerows(zip([number] * len(ids), ids, flags[batch], *texts, *marks, strict=True))
    return "".join(lines).encode("utf-8")


def relabelled(content: bytes, *, marked: bool, mark: bool) -> bytes:
    """The file with or without the column that says that it is synthetic.

    Parameters
    ----------
    marked, mark : whether it has the column, and is to have it.
    """
    if marked == mark:
        return content
    lines = list[str]()
    writer = csv.writer(CsvLines(lines), lineterminator="\n")
    for place, line in enumerate(csv.reader(io.StringIO(content.decode("utf-8"), newline=""))):
        writer.writerow([*line, MARK if place else SYNTHETIC] if mark else line[:-1])
    return "".join(lines).encode("utf-8")


def flags_of_rows(table: ReleasedTable, open_: np.ndarray) -> list[str]:
    """Per row of data.csv, the names of the columns in which it has a gap, with a space between two.

    Parameters
    ----------
    open_ : (n_cells, n_columns) the gaps of the table (`gaps_of_cells`).
    """
    names = np.full(len(table.counts), "", dtype=object)
    for column, name in enumerate(table.names):
        names[open_[:, column]] += f" {name}"
    return [text.strip() for text in np.repeat(names, table.counts.counts).tolist()]
