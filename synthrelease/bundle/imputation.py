"""Write imputed.csv: completed copies of the released rows, one below the other, in the long format of R's mice.

    .imp,.id,.imputed,COLUMNS...[,synthetic]

`.imp` is the number of the copy, from 1. `.id` is the row of data.csv, from 1, that the copy completes. `.imputed` names
the columns whose values were filled in, separated by spaces. `synthetic` is 1 in every row, if data.csv has this column.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import numpy as np

from synthrelease.bundle.card.numbers import paragraphs_of
from synthrelease.bundle.tables import AcceptedRows
from synthrelease.data.donors import Completed, NotImputed, completed, gaps_of_cells
from synthrelease.published.options import HEAD, ImputationPart, flags_of_rows, gaps_of, missing_bins
from synthrelease.published.table import MARK, ROWS_PER_BATCH, ReleasedTable
from synthrelease.settings.options import ImputationTable
from synthrelease.settings.tables import SYNTHETIC, BundleTable


def complete_copies(value: ImputationTable, rows: AcceptedRows) -> tuple[ImputationPart, dict[str, bytes]]:
    """Make complete copies of the released table. Return the section of release.json about them, and the file by name.

    If the copies cannot be made, the section states the reason, and there is no file.

    Notes
    -----
    Donors are drawn with random bits from the operating system, and all copies are published. The copies depend only on the
    released table and on these random bits, so they cost no epsilon.
    """
    counts = rows.table.counts
    open_ = gaps_of_cells(counts, missing_bins(rows.columns), rows.rules)
    lacking = int(counts.counts[open_.any(axis=1)].sum())
    part = placeholder(value, rows).model_copy(update={"rows": lacking, "smallest": rows.smallest})
    try:
        from synthrelease.privacy.noise import SYSTEM  # imported here, because `verify` does not need it

        copies = completed(counts, gaps_of(part, rows.columns), rows.rules, SYSTEM.generator())
        return part, {part.file(rows.bundle): imputed_bytes(rows.table, copies, open_)}
    except NotImputed as error:
        failed = str(error)
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        failed = f"the copies could not be made ({type(error).__name__})"
    return part.model_copy(update={"failed": failed}), {}


def placeholder(value: ImputationTable, rows: AcceptedRows) -> ImputationPart:
    match = list(value.match if value.match is not None else rows.table.names)
    return ImputationPart(copies=value.copies, donors=value.donors, match=match, rows=0, smallest=1, failed="")


def files_anew(part: ImputationPart, files: Mapping[str, bytes], old: BundleTable, new: BundleTable) -> dict[str, bytes]:
    """Take over the completed copies into a rewritten bundle, which may name the file and mark its rows differently."""
    if part.file(old) not in files:
        return {}
    content = files[part.file(old)]
    return {part.file(new): relabelled(content, marked=old.synthetic_column, mark=new.synthetic_column)}


def sentences(part: ImputationPart, bundle: BundleTable) -> tuple[str, ...]:
    """Return the card's paragraphs on how to use the completed copies, or why there are none."""
    return paragraphs_of("copies", part, part.file(bundle), f"{bundle.stem}.csv")


def imputed_bytes(table: ReleasedTable, copies: Sequence[Completed], open_: np.ndarray) -> bytes:
    """Return the content of imputed.csv: UTF-8, with a header and "\\n" line ends."""
    flags = flags_of_rows(table, open_)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*HEAD, *table.names, *([SYNTHETIC] if table.marked else [])])
    for number, copy in enumerate(copies, start=1):
        for start in range(0, len(flags), ROWS_PER_BATCH):
            batch = slice(start, start + ROWS_PER_BATCH)
            texts = [map(names.__getitem__, bins[batch].tolist()) for names, bins in zip(table.labels, copy.bins, strict=True)]
            ids = range(start + 1, start + 1 + len(flags[batch]))
            marks = [[MARK] * len(ids)] if table.marked else []
            writer.writerows(zip([number] * len(ids), ids, flags[batch], *texts, *marks, strict=True))
    return text.getvalue().encode("utf-8")


def relabelled(content: bytes, *, marked: bool, mark: bool) -> bytes:
    """Add the column `synthetic` to the file with the completed copies, or remove it.

    Parameters
    ----------
    marked : whether the given file has the column `synthetic`.
    mark : whether the returned file should have the column.
    """
    if marked == mark:
        return content
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for index, line in enumerate(csv.reader(io.StringIO(content.decode("utf-8"), newline=""))):
        writer.writerow([*line, MARK if index else SYNTHETIC] if mark else line[:-1])
    return text.getvalue().encode("utf-8")
