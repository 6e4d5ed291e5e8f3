"""What nobody can check without the private file: every verification lists it, and so does the sheet to sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import NAME as MEASUREMENTS


def beyond(document: ReleaseDocument, words: Sequence[str]) -> Iterator[str]:
    """What release.json says and no other file tells, a part of a sentence each.

    Parameters
    ----------
    words : tables of the configuration that are no part of the published specification (`specification.canonical.WORDS`).
    """
    rows, in_file = document.rows_worked_with, document.domain.file_rows
    if in_file is None:
        yield f"that {rows} rows of a private file were kept and counted"
    elif (persons := document.domain.persons) is not None:
        yield f"that a private file of {persons} persons was counted, {rows} of whose rows were worked with"
        yield "that one key in it is one person, and that the first rows of each were taken as the specification says"
    else:
        yield f"that a private file of {in_file} rows was counted, {rows} of which were worked with"
    yield "that noise was drawn as it should be: a released figure can be any number on the grid of its noise"
    if any(part.noise_bound is not None for part in document.criteria):
        yield "how far noise moves the figures to which none is added (their intervals are estimates)"
    which, drawn_from = "that the configuration", document.selection.configurations
    if drawn_from > 1:
        which = f"which of the {drawn_from} configurations was drawn, and that it"
    yield f"{which} made these rows: they can be any rows that fit the bins, the rules and the promised counts"
    if MEASUREMENTS in document.files:
        yield "that the noisy tables count the private file: each number can be any that fits the number of rows"
    records = document.guarantee.person.records
    if document.domain.persons is None:
        yield f"that no person stands in more than {records} record{'s' if records > 1 else ''} of the file"
    yield from (part.beyond for part in document.parts.values() if part.beyond)
    yield "with which versions of programs the run was made"
    fixed = {} if document.first_run else document.fixed_parts
    tables = ", ".join(f"[{name}]{' (but for its plan)' * (name in fixed)}" for name in words if name != "card")
    yield f"the publisher's words, which are no part of the specification: the card, and what {tables} ask for"
