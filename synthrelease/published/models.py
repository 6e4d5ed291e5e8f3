"""The part of release.json about named models: the sums that were measured for them, and their answers.

    {"epsilon": "1/10", "steps": 1048576, "noises": [{"epsilon": "1/10", "scale": 10485760.0, "size": 3}],
     "sums": [{"of": ["age(0..99)", "age(0..99)"], "low": 0, "high": 1, "value": 4182731123, "noise": 0}],
     "models": [{"question": "mean age", "limits": {"age": [0, 99]}}], "answers": [...]}

A sum is that of a product over rows: each factor in `of` is the own value of a row, clipped to the limits in brackets and put
on -1 to 1, or a condition, 1 where it is met and 0 elsewhere. Rows that do not meet `where`, or have no value in one of the
columns `valued`, add 0. The sum is n * low + value * (high - low) / steps, n the number of rows, but for its noise: the noises
of all sums with the same `noise` are drawn together, Pr[z] proportional to exp(-max|z_i| / scale), `size` of them.

The mean of each group is measured in `groups`: each row is shared out in 2^30 parts among the three `shares` of its group,
(1 - t)^2, 2 t (1 - t) and t^2, t the place of its value between the limits. Every share has discrete Laplace noise of `scale`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from synthrelease.data.questions import Kind
from synthrelease.published.base import ExactText, Number, Part

Positive = Annotated[Number, Field(gt=0)]


class SharedNoisePart(Part):
    """Noise that several sums share, and its cost."""

    epsilon: ExactText
    scale: Positive
    size: Annotated[int, Field(ge=1)]


class SumPart(Part):
    """The noisy sum of a product over rows, in steps from `low` to `high` of each row."""

    of: Annotated[list[str], Field(max_length=2)]
    where: str = ""
    valued: list[str] = []
    low: Number
    high: Number
    value: int
    noise: Annotated[int, Field(ge=0)]


class GroupPart(Part):
    """A group, and the three noisy shares of its rows."""

    group: str
    shares: Annotated[list[int], Field(min_length=3, max_length=3)]


class ModelPart(Part):
    """A question.

    Attributes
    ----------
    limits : of each column whose own values count.
    valued : columns in which a row has a value, if it counts.
    epsilon, scale, groups : of the means of groups, which have a noise of their own.
    """

    question: str
    limits: dict[str, Annotated[list[Number], Field(min_length=2, max_length=2)]]
    valued: list[str] = []
    why: str = ""
    epsilon: ExactText | None = None
    scale: Positive | None = None
    groups: list[GroupPart] = []


class ModelTermPart(Part):
    """One number of an answer, in six digits; null where the noise leaves none, or where there is no interval.

    Attributes
    ----------
    low, high : the interval for the rows of the file that the rules keep.
    population_low, population_high : the interval for a population; absent where the rows are no sample of one.
    """

    name: str
    group: str = ""
    unit: str = ""
    estimate: Number | None
    low: Number | None
    high: Number | None
    population_low: Number | None = None
    population_high: Number | None = None


class ModelAnswerPart(Part):
    """The answer to a question, or the reason why there is none."""

    question: str
    kind: Kind
    terms: list[ModelTermPart] = []
    refused: str = ""


class ModelsPart(Part):
    """All named models: see above. `level` is the confidence of each interval by itself."""

    epsilon: ExactText
    steps: Annotated[int, Field(ge=1)]
    level: Number = 0.95
    noises: list[SharedNoisePart] = []
    sums: list[SumPart] = []
    models: Annotated[list[ModelPart], Field(min_length=1)]
    answers: list[ModelAnswerPart] = []
