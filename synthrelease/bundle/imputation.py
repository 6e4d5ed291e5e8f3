"""imputed.csv: complete copies of the released rows, one below the other, as R's mice calls a long format.

    .imp,.id,.imputed,COLUMNS...[,synthetic]

`.imp` is the number of the copy, from 1; `.id` the row of data.csv, from 1, whose observed values these are; `.imputed` names
the columns whose values were filled in, with a space between two, and is empty where none was. `synthetic` is 1 in every row,
and there where data.csv has it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import numpy as np

from synthrelease.bundle.tables import AcceptedRows
from synthrelease.criteria.facts import figure, words
from synthrelease.data.donors import Completed, NotImputed, completed, gaps_of_cells
from synthrelease.published.options import HEAD, ImputationPart, flags_of_rows, gaps_of, missing_bins
from synthrelease.published.table import MARK, ROWS_PER_BATCH, ReleasedTable
from synthrelease.settings.options import ImputationTable
from synthrelease.settings.tables import SYNTHETIC, BundleTable


def complete_copies(value: ImputationTable, rows: AcceptedRows) -> tuple[ImputationPart, dict[str, bytes]]:
    """Return what release.json says of the copies, and the file with them; where they cannot be made, the reason.

    Notes
    -----
    The donors are drawn with the operating system's randomness, and the result is published whole: a function of the
    released table and of that randomness alone.
    """
    counts = rows.table.counts
    open_ = gaps_of_cells(counts, missing_bins(rows.columns), rows.rules)
    lacking = int(counts.counts[open_.any(axis=1)].sum())
    part = placeholder(value, rows).model_copy(update={"rows": lacking, "smallest": rows.smallest})
    try:
        from synthrelease.privacy.noise import SYSTEM  # which who verifies has no use of

        copies = completed(counts, gaps_of(part, rows.columns), rows.rules, SYSTEM.generator())
        return part, {part.file(rows.bundle): imputed_bytes(rows.table, copies, open_)}
    except NotImputed as error:
        failed = str(error)
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        failed = f"the copies could not be made ({type(error).__name__})"
    return part.model_copy(update={"failed": failed}), {}


def placeholder(value: ImputationTable, rows: AcceptedRows) -> ImputationPart:
    """Return the part for a preview, with copies of no row."""
    match = list(value.match if value.match is not None else rows.table.names)
    return ImputationPart(copies=value.copies, donors=value.donors, match=match, rows=0, smallest=1, failed="")


def files_anew(part: ImputationPart, files: Mapping[str, bytes], before: BundleTable, now: BundleTable) -> dict[str, bytes]:
    """Return the file under another name, or with or without the column that says that it is synthetic."""
    if part.file(before) not in files:
        return {}
    content = files[part.file(before)]
    return {part.file(now): relabelled(content, marked=before.synthetic_column, mark=now.synthetic_column)}


def sentences(part: ImputationPart, bundle: BundleTable) -> tuple[str, ...]:
    """Return how to use the copies, and what they assume; or why there are none."""
    if part.failed:
        return (
            f"Complete copies of the table were wanted, but could not be made: {part.failed}. The table itself, in which "
            "missing values are a bin of their own, met all criteria and was released.",
        )
    name, table = part.file(bundle), f"{bundle.stem}.csv"
    times = "once" if part.smallest == 1 else f"{part.smallest} times"
    return (
        f"{figure(part.rows)} of the released rows have a gap. {name} has {part.copies} complete copies of the "
        f"table: .imp is the number of the copy, .id the row of {table}, .imputed the columns that were filled in. "
        f"Observed values are as in {table}. Figures and criteria are about the table with its gaps, and not about the "
        "copies.",
        f"A gap was filled with the values of a released row that has them, drawn among those that agree in "
        f"{', '.join(words(name) for name in part.match)}; in fewer of these, from the last one back, until {part.donors} rows "
        "agreed. Where the plausibility rules demand that a value is missing, as of a question that was not asked, it stays "
        "missing. No original record was looked at, so it cost no privacy. No filled row breaks a plausibility rule, and every "
        f"row of a copy occurs at least {times} in it, because equal incomplete rows were filled in blocks.",
        "This assumes that, among rows that agree in these columns, whether a value is missing has nothing to do with the "
        "value (missing at random). Nothing here can tell whether that is so.",
        "Compute an estimate in each copy and take the mean of the estimates. Their variance b between the M copies shows what "
        "filling the gaps adds; one copy alone looks more certain than it is. Rubin's variance v + (1 + 1/M) b, v the mean of "
        "the M variances, is too small for an interval here: v leaves out the error of the synthesis, and the donors are taken "
        "as if they were all there are.",
    )


def imputed_bytes(table: ReleasedTable, copies: Sequence[Completed], open_: np.ndarray) -> bytes:
    """Return the file: UTF-8, a header, "\\n" line ends."""
    flags = flags_of_rows(table, open_)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
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
    return text.getvalue().encode("utf-8")


def relabelled(content: bytes, *, marked: bool, mark: bool) -> bytes:
    """Return the file with or without the column that says that it is synthetic.

    Parameters
    ----------
    marked, mark : whether it has the column, and is to have it.
    """
    if marked == mark:
        return content
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for place, line in enumerate(csv.reader(io.StringIO(content.decode("utf-8"), newline=""))):
        writer.writerow([*line, MARK if place else SYNTHETIC] if mark else line[:-1])
    return text.getvalue().encode("utf-8")
