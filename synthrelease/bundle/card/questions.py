"""The questions that a release is meant to answer, with what is stated about each."""

from __future__ import annotations

import numpy as np

from synthrelease.answers.stated import StatedAnswer, question, verdict
from synthrelease.bundle.card.associations import pairs_not_carried
from synthrelease.generators.associations import Associations
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import release_of
from synthrelease.settings.questions import QuestionTable


def rows(document: ReleaseDocument, carried: Associations | None) -> list[tuple[str, str, str, str, str]]:
    """Per question: it in words, what it is wanted for, what is stated, because of what, and its estimate."""
    if not document.questions:
        return []
    release = release_of(document, np.zeros((0, len(document.columns)), dtype=np.int64))
    found = [(asked, verdict(release, asked)) for asked in document.questions]
    return [
        (
            question(asked),
            asked.why,
            each.word,
            "; ".join(filter(None, (each.because, _lacking(carried, asked, each)))),
            each.estimated,
        )
        for asked, each in found
    ]


def _lacking(rows: Associations | None, asked: QuestionTable, stated: StatedAnswer) -> str:
    """What the rows do not carry of it, where no criterion has looked at its answer."""
    return "" if stated.word == "covered by a criterion" else pairs_not_carried(rows, asked)
