"""The questions that a release is meant to answer, with what is stated about each."""

from __future__ import annotations

import numpy as np

from synthrelease.bounds.stated import question, verdict
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import release_of


def rows(document: ReleaseDocument) -> list[tuple[str, str, str, str, str]]:
    """Per question: it in words, what it is wanted for, what is stated, because of what, and its estimate."""
    if not document.questions:
        return []
    release = release_of(document, np.zeros((0, len(document.columns)), dtype=np.int64))
    found = [(asked, verdict(release, asked)) for asked in document.questions]
    return [(question(asked), asked.why, each.word, each.because, each.estimated) for asked, each in found]
