"""What criteria know beside a candidate: values that are public once they were paid for, by the name of the criterion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Binning, Transformation

if TYPE_CHECKING:
    from synthrelease.criteria.functional_mechanism import Design, LinearModel
    from synthrelease.criteria.measured_sums import Limits, Sums
    from synthrelease.generators.measurements import NoisyMarginals


@dataclass(frozen=True, kw_only=True)
class Regression:
    """The public design of a regression, and its private fit once it was made.

    `possible` (n_cells,) is False where the public raw rules exclude every record of a cell of the design.
    `redraws` (n_draws, d) are slopes as the noise might have made them; they give the figure its noise deviation.
    """

    design: Design
    possible: np.ndarray
    model: LinearModel | None
    redraws: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def fitted(self) -> LinearModel:
        if self.model is None:
            raise LookupError("the private fit is missing")
        return self.model


@dataclass(frozen=True, kw_only=True)
class MeasuredAnswers:
    """Shared measurements as criteria use them: the limits of all their sums, for each transformation once.

    Attributes
    ----------
    measured : on the `common` bins of all transformations.
    risk : probability, over the noise of the measurements, that any limit on any of the transformations is wrong.
    transformations : how many there are; each gets an equal part of the risk.
    """

    measured: NoisyMarginals
    common: Transformation
    risk: Fraction
    transformations: int
    _kept: dict[tuple[str, ...], Mapping[str, Sequence[Limits]]] = field(default_factory=dict)

    def limits(
        self,
        transformation: Transformation,
        sums: Callable[[Transformation], Mapping[str, Sequence[Sums]]],
        raw: Plausibility,
    ) -> Mapping[str, Sequence[Limits]]:
        """The limits of the sums of every criterion that is answered, on the bins of a transformation.

        Parameters
        ----------
        raw : the rules for private rows, over atomic cells.
        """
        from synthrelease.criteria.measured_sums import all_limits

        key = tuple(binning.name for binning in transformation.binnings)
        if key not in self._kept:
            pairs = zip(self.common.binnings, transformation.binnings, strict=True)
            measured = self.measured.merge(transformation.layout, [finer.map_to(coarser) for finer, coarser in pairs])
            self._kept[key] = all_limits(
                sums(transformation),
                measured,
                possible_cells(raw.merge(transformation)),
                float(self.risk) / self.transformations,
            )
        return self._kept[key]


def possible_cells(raw: Plausibility) -> Callable[[tuple[str, ...]], np.ndarray]:
    """For columns, (n_cells,) False where the rules exclude every row. `raw` is over the bins of the cells."""
    return lambda names: ~raw.structural_zeros([raw.layout.index(name) for name in names]).ravel()


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What a round knows beside its candidate: the regressions that were fitted before the loop, or in this round, and what the
    shared measurements answer."""

    regressions: Mapping[str, Regression] = field(default_factory=dict)
    answers: MeasuredAnswers | None = None

    def regression(self, name: str) -> Regression:
        """The regression of a criterion. Raises LookupError when nothing was prepared for it."""
        if name not in self.regressions:
            raise LookupError(f"nothing was prepared for {name!r}")
        return self.regressions[name]

    def with_regression(self, name: str, regression: Regression) -> Fitted:
        """The same with another regression of a criterion."""
        return replace(self, regressions={**self.regressions, name: regression})

    def with_lines(self, columns: Mapping[str, Sequence[tuple[str, Binning]]]) -> Fitted:
        """The same with the line of the shared measurements for some criteria: by name, their columns with the bins to take.

        Raises LookupError where nothing was measured.
        """
        from synthrelease.criteria.measured_line import measured_line

        found = self
        for name, taken in columns.items():
            if self.answers is None:
                raise LookupError("nothing was measured")
            names, binnings = zip(*taken, strict=True)
            model = measured_line(names, binnings, self.answers.measured, self.answers.common)
            found = found.with_regression(name, replace(found.regression(name), model=model))
        return found

    def measured_limits(
        self,
        transformation: Transformation,
        sums: Callable[[Transformation], Mapping[str, Sequence[Sums]]],
        raw: Plausibility,
    ) -> Mapping[str, Sequence[Limits]]:
        """As `MeasuredAnswers.limits`. Raises LookupError where nothing was measured."""
        if self.answers is None:
            raise LookupError("nothing was measured")
        return self.answers.limits(transformation, sums, raw)
