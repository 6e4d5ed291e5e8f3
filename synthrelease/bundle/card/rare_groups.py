"""The rare groups of a release: bins of which only the number of rows was measured."""

from __future__ import annotations

from synthrelease.published.document import ReleaseDocument


def rare_groups(document: ReleaseDocument) -> list[tuple[str, str]]:
    """The column and the label of every bin that was counted apart, by the generator that was drawn.

    The label is empty where the released bins are not those that were measured, or the column is one of members.
    """
    text = document.configuration["generator"].get("rare_bins")
    if not text:
        return []
    from synthrelease.generators.measurements import read_bins

    labels = {column.name: [bin_.label for bin_ in column.bins] for column in document.columns}
    found = []
    for factor in read_bins(text):
        of = labels.get(factor.column, [])
        found.append((factor.column, of[factor.scores.index(1)] if len(of) == len(factor.scores) else ""))
    return found
