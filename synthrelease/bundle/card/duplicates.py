"""What repeated rows do to the standard errors of whoever computes with a released table."""

from __future__ import annotations

import math

from synthrelease.bundle.card.numbers import figure
from synthrelease.generators.projections import published_projection
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable


def effective_rows(table: ReleasedTable, minimum_count: int) -> float:
    """Kish's effective sample size n^2 / sum of w^2 when rows that occur just `minimum_count` times count as one draw each.

    A projection to a minimum count m keeps about a share k/m of the cells with k < m rows, m times each (theory 7.1, minimum
    count). To the variance of a sum each such cell then adds m^2 (k/m)(1 - k/m) = k (m - k), beside the k of its own rows as
    independent draws: k (m - k + 1) in all, no more than the k m that blocks of m equal rows, one draw each, are taken for.
    Rows that came m times anyway are counted as blocks, too. So the true effective size is no smaller, but for chance.
    """
    counts, n = table.counts.counts, table.counts.total
    blocks = int((counts == minimum_count).sum())
    return n**2 / (n + blocks * (minimum_count**2 - minimum_count))


def _intervals(document: ReleaseDocument) -> str:
    """Which questions have intervals."""
    if document.estimates is None:
        return "No question has an interval from noisy tables here: none are published."
    tables = "; ".join(" × ".join(columns) for columns in document.estimates.together)
    return (
        "Intervals there are for shares, counts, means, medians, differences and linear slopes of columns that were measured "
        f"together ({tables}); there are none for other models that are fitted to the rows."
    )


def sentences(document: ReleaseDocument, table: ReleasedTable) -> list[str]:
    """What readers must know before they compute a standard error; nothing where no row was repeated on purpose."""
    projection, m = published_projection(document.configuration.get("projection", {})), document.minimum_count
    rest = (
        "Such a standard error also leaves out the error of the synthesis, which does not get smaller with more rows. It is "
        "covered by "
        + ("the intervals of estimates.csv, " if document.estimates is not None else "")
        + "the figures above, and the ranges of “synthrelease bound”."
    )
    if m == 1:
        if projection is None or projection.asked_count == 1:
            return []
        return [
            "Some rows were left out, and copies of others, drawn at random, replace them; nobody can see which of several "
            "equal rows are copies. A standard error that counts every row as one person is too small. "
            f"{rest}"
        ]
    rows = int(table.counts.counts[table.counts.counts == m].sum())
    if not rows:
        return []
    effective = effective_rows(table, m)
    weights = " The design effect of the weights comes on top of it." if document.weighted else ""
    return [
        "Some rows occur several times on purpose: rare rows were dropped, or repeated up to the minimum count. "
        f"{figure(rows)} of the {figure(document.n_rows)} rows ({rows / document.n_rows:.0%}) occur exactly {m} times. "
        "A standard error that counts every row as one person is too small.",
        f"Effective sample size: with every group of {m} equal rows taken as one draw (Kish), the table is worth about "
        f"{figure(math.floor(effective))} rows.{weights} "
        f"No factor makes standard errors from these rows right. {_intervals(document)} {rest}",
    ]
