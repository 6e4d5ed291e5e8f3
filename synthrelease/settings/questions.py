"""Define the tables with questions: `QuestionTable`, answered from the released data, and `ModelTable`, answered from separate
noisy sums."""

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
    query : a condition, written in the same way as in a rule. The question asks how many rows meet the condition. Numbers in
        the condition must be limits of released bins. `query` may also be a question for `synthrelease estimate`, such as
        `share gestation_week < 37: mother_age >= 35 against < 35`. In this case, `why` is the only other setting that you may
        use. Example: `query = "mother_age >= 35 and parity == 1"`.
    given : a second condition. With this setting, the question asks which share of the rows that meet `given` also meet
        `query`. Example: `given = "mother_age >= 35"`, `query = "gestation_week < 37"`.
    mean : a column. With this setting, the question asks for the mean of this column over the rows that meet `query`. Example:
        `mean = "birth_weight"`.
    minus : a condition to compare with `query`. With this setting, the question asks for the answer for `query` minus the
        answer for `minus`. Example: `minus = "birth_sex == 'F'"`, `mean = "birth_weight"`, `query = "birth_sex == 'M'"`.
    why : the purpose of the question, for the data card. Example: `why = "Reported every year"`, `query = "parity == 1"`.
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
    """[[models]]: a question that the release answers from separate noisy sums, not from the synthetic rows. A question may ask
    for the mean of a column, the means of several groups, a comparison of two groups, a linear regression, or the ratio of two
    totals. All these questions together cost the epsilon that is set by `models` in [budget]. The release publishes the noisy
    sums and the answers.

    Attributes
    ----------
    question : the question, written in the same way as for `synthrelease estimate`. A condition after "on" is an indicator
        variable, which is 1 for the rows that meet the condition and 0 for all others. Example: `question = "slope income on
        age, hours, sex == 'F'"`.
    limits : for a column, the lowest and the highest value that this question uses. Values outside these limits are replaced by
        the nearest limit. The defaults are the bounds of the column. Narrower limits need less noise. The limits are published,
        so do not derive them from the private file. Example: `limits = { income = [0, 9000] }`, `question = "mean income"`.
    why : the purpose of the question. Example: `why = "Asked by the tax office"`, `question = "mean income"`.
    """

    question: Annotated[Line, Field(min_length=1, max_length=1000)]
    limits: dict[str, tuple[float, float]] = Field(default_factory=dict, max_length=100)
    why: Reason = ""

    def contradictions(self) -> Iterator[str | Unexpected]:
        for name, (low, high) in self.limits.items():
            if not -math.inf < low < high < math.inf:
                yield f"The limits of {name} must be two finite numbers, the lower one first"
