"""A criterion in release.json: its threshold, its released figure, and how far that can be from the exact one."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from synthrelease.published.parts import ExactText, Number, Part, number, upwards

if TYPE_CHECKING:
    from synthrelease.criteria.base import Criterion
    from synthrelease.criteria.facts import OneNoise, Score

MOST_SHARING = 100
"""Figures that share one noise, at most: `measurements.cube_law.MOST_NUMBERS`, which a reader need not load."""

How = Literal["noise and selection", "noise", "redrawn noise", "measurements", "exact"]


class IntervalPart(Part):
    """An interval for the exact figure, which compares the released rows with those that the release worked with; `high` is
    null when nothing bounds it.

    Attributes
    ----------
    file_high : where these were drawn at random from the rows of the file that the rules keep: a limit, at 95%, of the same
        figure with all of them. Absent where no rows were drawn (then `high` is about the file), and where nothing limits it.
    """

    level: Number
    low: Number
    high: Number | None
    how: How
    file_high: Number | None = None


class OneNoisePart(Part):
    """The noise that a figure shares with others: how many they are, itself counted, and what it cost for all of them."""

    figures: Annotated[int, Field(ge=2, le=MOST_SHARING)]
    epsilon_exact: Annotated[ExactText, Field(pattern="^[^0]")]

    @classmethod
    def of(cls, noise: OneNoise) -> OneNoisePart:
        """As it is published."""
        return cls(figures=noise.figures, epsilon_exact=str(noise.epsilon))

    def noise(self) -> OneNoise:
        """The noise itself."""
        from synthrelease.criteria.facts import OneNoise

        return OneNoise(figures=self.figures, epsilon=Fraction(self.epsilon_exact))


class CriterionPart(Part):
    """A criterion, its threshold and its released figure.

    Attributes
    ----------
    best, worst : what an exact figure can be; worst is null where nothing bounds it.
    decides : whether this very figure was compared with the threshold.
    parameters : everything else that stands in the acceptance file.
    one_noise : the noise that the figure shares with others, `epsilon` being its share of what that cost; absent where it has
        its own.
    """

    name: str
    kind: str
    threshold: Number
    value: Number
    epsilon: Number
    epsilon_exact: ExactText
    mechanism: str
    sensitivity: Annotated[Number, Field(gt=0)] | None
    noise_sd: Annotated[Number, Field(ge=0)] | None
    noise_bound: Annotated[Number, Field(ge=0)] | None
    passed: bool
    decides: bool
    best: Number
    worst: Number | None
    interval: IntervalPart | None
    parameters: dict[str, Any]
    one_noise: OneNoisePart | None = None

    @property
    def noise(self) -> OneNoise | None:
        """The noise that the figure shares with others."""
        return None if self.one_noise is None else self.one_noise.noise()

    @property
    def answered(self) -> bool:
        """Whether the published measurements answer it: `value` is then an upper bound of the exact figure."""
        return self.parameters.get("answered_by") == "measurements"

    def criterion(self) -> Criterion | None:
        """The criterion itself; None for a kind that is not known here. Raises ValueError for parameters of another kind."""
        return self._criterion

    def __copy__(self) -> CriterionPart:
        """Without the criterion that was read: a copy may have other parameters."""
        found = super().__copy__()
        found.__dict__.pop("_criterion", None)
        return found

    @cached_property
    def _criterion(self) -> Criterion | None:
        from synthrelease.criteria import published_criterion

        return published_criterion(
            self.kind,
            name=self.name,
            threshold=self.threshold,
            epsilon=self.epsilon_exact,
            parameters=self.parameters,
        )

    @classmethod
    def of(cls, score: Score, figure_range: tuple[float, float], parameters: dict[str, Any]) -> CriterionPart:
        """A criterion with its figure; the interval follows from the other fields (`bundle.interval`)."""
        best, worst = figure_range
        return cls(
            name=score.name,
            kind=score.kind,
            threshold=number(score.threshold),
            value=number(score.value),
            epsilon=upwards(score.epsilon),
            epsilon_exact=str(score.epsilon),
            mechanism=score.mechanism,
            sensitivity=score.sensitivity,
            noise_sd=score.noise_sd,
            noise_bound=score.noise_bound,
            passed=score.passed,
            decides=score.decides,
            best=number(best),
            worst=number(worst) if math.isfinite(worst) else None,
            interval=None,
            parameters=parameters,
            one_noise=None if score.one_noise is None else OneNoisePart.of(score.one_noise),
        )

    def score(self) -> Score:
        """The figure as the release published it."""
        from synthrelease.criteria.facts import Score

        return Score(
            name=self.name,
            kind=self.kind,
            threshold=float(self.threshold),
            value=float(self.value),
            epsilon=Fraction(self.epsilon_exact),
            mechanism=self.mechanism,
            sensitivity=None if self.sensitivity is None else float(self.sensitivity),
            noise_sd=None if self.noise_sd is None else float(self.noise_sd),
            noise_bound=None if self.noise_bound is None else float(self.noise_bound),
            passed=self.passed,
            decides=self.decides,
            one_noise=self.noise,
        )
