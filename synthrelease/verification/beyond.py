"""What nobody can check without the private file: every verification lists it."""

from __future__ import annotations

from collections.abc import Iterator

from synthrelease.published.document import ReleaseDocument


def beyond(document: ReleaseDocument, *, plan: bool = True, documents: bool = True) -> Iterator[str]:
    """A sentence for each thing that release.json says and nothing else tells.

    Parameters
    ----------
    plan, documents : whether these parts of the verification were made.
    """
    rows, domain = document.rows_worked_with, document.domain
    if domain.file_rows is None:
        yield f"that {rows} rows of a private file were counted, and that they are what the specification says"
    else:
        yield f"that a private file of {domain.file_rows} rows was counted, {rows} of which the release worked with"
    yield "that noise was drawn as it should be, and that the released figures are exact ones with this noise"
    drawn = document.selection.configurations
    if drawn > 1:
        yield f"which of the {drawn} configurations was drawn, and that the rows were made by it"
    records = document.guarantee.person.records
    yield f"that no person stands in more than {records} record{'s' if records > 1 else ''} of the file"
    if any(part.noise_bound is not None for part in document.criteria):
        yield "the redrawn noise of figures whose noise is not added to them: their intervals are estimates"
    if document.calibration is not None:
        yield f"that the totals which the rows are weighted to were published: {document.calibration.source}"
    if document.series is not None:
        yield "that there were no further releases of the register than those that are named"
    yield (
        "that the run was made with the stated versions of programs, and the publisher's words: the card and "
        "what [calibration], [bundle], [series] and [[intended_queries]] ask for"
    )
    if not plan:
        yield "left out here: that plan and figures follow from the specification (--plan)"
    if not documents:
        yield "left out here: that all other documents are what the program writes (--documents)"
