"""What criteria have fitted: values that are public once they were paid for, by the name of the criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from synthrelease.criteria.functional_mechanism import Design, LinearModel


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
class Fitted:
    """What a round knows beside its candidate: the regressions that were fitted before the loop, or in this round."""

    regressions: Mapping[str, Regression] = field(default_factory=dict)

    def regression(self, name: str) -> Regression:
        """The regression of a criterion. Raises LookupError when nothing was prepared for it."""
        if name not in self.regressions:
            raise LookupError(f"nothing was prepared for {name!r}")
        return self.regressions[name]

    def with_regression(self, name: str, regression: Regression) -> Fitted:
        """The same with another regression of a criterion."""
        return Fitted(regressions={**self.regressions, name: regression})
