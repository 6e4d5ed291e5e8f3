"""A question as a table: what somebody asks of a release, or what it is meant to answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from synthrelease.errors import Unexpected
from synthrelease.settings.base import Line, Reason, SpecTable

_Condition = Annotated[Line, Field(max_length=1000)]


class QuestionTable(SpecTable):
    """A question, as `synthrelease bound` asks it.

    Attributes
    ----------
    query : a condition, in the grammar of the rules, with limits between released bins; the question is how many rows meet it.
        Or a whole question as `synthrelease estimate` takes it, such as `share gestation_week < 37: mother_age >= 35 against <
        35`; then only `why` may stand beside it. Example: `query = "mother_age >= 35 and parity == 1"`.
    given : a condition; the question is the share of `query` among the rows that meet it. Example: `given = "mother_age >=
        35"`, `query = "gestation_week < 37"`.
    mean : a column; the question is its mean over the rows that meet `query`. Example: `mean = "birth_weight"`.
    minus : a second condition; the question is the difference between the answers for `query` and for this one. Example:
        `minus = "birth_sex == 'F'"`, `mean = "birth_weight"`, `query = "birth_sex == 'M'"`.
    why : the use of the answer, for the card. Example: `why = "Reported every year"`, `query = "parity == 1"`.
    """

    query: _Condition = ""
    given: _Condition = ""
    mean: str | None = None
    minus: _Condition | None = None
    why: Reason = ""

    def contradictions(self) -> Iterator[str | Unexpected]:
        if not (self.query.strip() or self.mean):
            yield "a condition as query, or a column as mean, is needed"
