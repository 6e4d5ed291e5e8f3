"""Define the section of release.json on questions that were measured directly ([[models]]): noisy sums and answers.

    {"epsilon": "1/10", "steps": 1048576, "noises": [{"epsilon": "1/10", "scale": 10485760.0, "size": 3}],
     "sums": [{"of": ["age(0..99)", "age(0..99)"], "low": 0, "high": 1, "value": 4182731123, "noise": 0}],
     "models": [{"question": "mean age", "limits": {"age": [0, 99]}}], "answers": [...]}

A sum adds up a product over all rows. Each factor in `of` is either the exact value of the row (clipped to the limits in
brackets and scaled to the range from -1 to 1) or a condition (1 if the row meets it, else 0). Rows that do not meet
`where`, or lack a value in a column of `valued`, add 0. Up to its noise, the sum is n * low + value * (high - low) / steps,
where n is the number of rows. The noise terms of all `size` sums with the same `noise` are drawn together, with Pr[z]
proportional to exp(-max|z_i| / scale).

For means of groups, the measured sums are in `groups`. Each row distributes 2^30 units over the three `shares` of its
group, in the proportions (1 - t)^2, 2 t (1 - t) and t^2, where t, from 0 to 1, is the position of the row's value between
the limits. Every share has discrete Laplace noise of `scale`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from synthrelease.data.questions import Kind
from synthrelease.published.base import ExactText, Number, Part

Positive = Annotated[Number, Field(gt=0)]


class SharedNoisePart(Part):
    """One vector of noise, with one entry for each of `size` sums: its scale, and the total epsilon of these sums."""

    epsilon: ExactText
    scale: Positive
    size: Annotated[int, Field(ge=1)]


class SumPart(Part):
    """A noisy sum over all rows of a product of at most two factors, which lies between `low` and `high`. `value` is the
    sum in steps, a fixed fraction of the range from `low` to `high`.
    """

    of: Annotated[list[str], Field(max_length=2)]
    where: str = ""
    valued: list[str] = []
    low: Number
    high: Number
    value: int
    noise: Annotated[int, Field(ge=0)]


class GroupPart(Part):
    """A group of rows, such as all women, and the three noisy sums that give its mean."""

    group: str
    shares: Annotated[list[int], Field(min_length=3, max_length=3)]


class ModelPart(Part):
    """A question that was answered by its own measurement of the private file.

    Attributes
    ----------
    limits : limits to which the exact values of each column are clipped.
    valued : columns in which a row must have a value; other rows add 0.
    epsilon, scale, groups : for means of groups, the epsilon, the scale of the noise, and the groups. The noise of these
        sums is independent of other noise.
    """

    question: str
    limits: dict[str, Annotated[list[Number], Field(min_length=2, max_length=2)]]
    valued: list[str] = []
    why: str = ""
    epsilon: ExactText | None = None
    scale: Positive | None = None
    groups: list[GroupPart] = []


class ModelTermPart(Part):
    """One number in the answer to a question, such as a coefficient of a regression.

    It is null if the noisy sums do not determine it. The ends of an interval are null if there is no interval.

    Attributes
    ----------
    low, high : the interval for the rows of the file that the rules keep.
    population_low, population_high : the interval for a population, or absent if the rows are no sample of a population.
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
    """The answer to a question as a list of numbers, or the reason why there is no answer."""

    question: str
    kind: Kind
    terms: list[ModelTermPart] = []
    refused: str = ""


class ModelsPart(Part):
    """All questions that were answered by their own measurements of the private file. `level` is the confidence of each
    interval separately.
    """

    epsilon: ExactText
    steps: Annotated[int, Field(ge=1)]
    level: Number = 0.95
    noises: list[SharedNoisePart] = []
    sums: list[SumPart] = []
    models: Annotated[list[ModelPart], Field(min_length=1)]
    answers: list[ModelAnswerPart] = []
