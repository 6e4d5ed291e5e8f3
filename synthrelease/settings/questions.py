"""Define the tables of the configuration that state questions. `QuestionTable` is a question to a release. `ModelTable` is a
question that the release measures directly, by separate sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from synthrelease.errors import Unexpected
from synthrelease.settings.base import Line, Reason, SpecTable

_Condition = Annotated[Line, Field(max_length=1000)]


class QuestionTable(SpecTable):
    """A question that `synthrelease bound` answers.

    Attributes
    ----------
    query : a condition, written like the condition of a rule. The numbers in the condition must lie on limits of released bins.
        The question is the number of rows that meet the condition. `query` may also be a question of `synthrelease estimate`,
        such as `share gestation_week < 37: mother_age >= 35 against < 35`; then the only other setting is `why`. Example:
        `query = "mother_age >= 35 and parity == 1"`.
    given : a condition. The question is the share of `query` among the rows that meet this condition. Example: `given =
        "mother_age >= 35"`, `query = "gestation_week < 37"`.
    mean : a column. The question is the mean of this column over the rows that meet `query`. Example: `mean = "birth_weight"`.
    minus : a second condition. The question is the answer for `query` minus the answer for this condition. Example: `minus =
        "birth_sex == 'F'"`, `mean = "birth_weight"`, `query = "birth_sex == 'M'"`.
    why : what the answer is used for. The card prints this text. Example: `why = "Reported every year"`, `query = "parity ==
        1"`.
    """

    query: _Condition = ""
    given: _Condition = ""
    mean: str | None = None
    minus: _Condition | None = None
    why: Reason = ""

    def contradictions(self) -> Iterator[str | Unexpected]:
        if not (self.query.strip() or self.mean):
            yield "A question needs a condition (query) or a column (mean)"


class ModelTable(SpecTable):
    """[[models]]: a question that the release measures directly, by separate sums. The question may ask for the mean of a
    column, the means of several groups, a comparison of two groups, a linear regression, or the ratio of two totals. All these
    questions share the epsilon `models` of [budget]. The release publishes the measured sums and the answers.

    Attributes
    ----------
    question : the question, as in `synthrelease estimate`. A condition after "on" is an indicator, which is 1 for a row that
        meets the condition. Example: `question = "slope income on age, hours, sex == 'F'"`.
    limits : the lowest and highest value of a column for this question. Values beyond these limits are replaced by the nearest
        limit. The default is the bounds of the column. Narrow limits make the noise smaller. Limits are published: never look
        them up in the private file. Example: `limits = { income = [0, 9000] }`, `question = "mean income"`.
    why : what the answer is used for. Example: `why = "Asked by the tax office"`, `question = "mean income"`.
    """

    question: Annotated[Line, Field(min_length=1, max_length=1000)]
    limits: dict[str, tuple[float, float]] = Field(default_factory=dict, max_length=100)
    why: Reason = ""

    def contradictions(self) -> Iterator[str | Unexpected]:
        for name, (low, high) in self.limits.items():
            if not -math.inf < low < high < math.inf:
                yield f"The limits of {name} must be two finite numbers, the lower one first"
