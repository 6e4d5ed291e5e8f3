"""The tables [[intended_queries]]: what a release is meant to answer."""

from __future__ import annotations

from synthrelease.settings.questions import QuestionTable


class IntendedQueryTable(QuestionTable):
    """[[intended_queries]]: a question that the release is meant to answer, as `synthrelease bound` asks it. The card says of
    each whether a criterion covers it, whether its error is bounded, or that nothing is stated.
    """


LISTED = IntendedQueryTable
