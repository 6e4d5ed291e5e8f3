"""Models of shared measurements are fitted once: what a round has fitted, later rounds take as it is.

With shared measurements the model of a configuration is a function of these, of the configuration and of public tables, the
same in every round. Keeping it is post-processing and changes nothing about the law of any output (theory 5.1, measure once,
select many); rows are drawn afresh in every round. Which rounds found a kept model shows in times alone, which
are not published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from synthrelease.candidates.generators.base import KeptModel
from synthrelease.errors import RejectedRound

_MOST_NUMBERS = 2**22
"""Of all kept models together: 32 MB. What does not fit is fitted again in every round."""


@dataclass(kw_only=True)
class KeptModels:
    """The models that were fitted in one process to the same measurements, by what else they are a function of."""

    numbers: int = 0
    _models: dict[str, KeptModel | str] = field(default_factory=dict)

    def get(self, key: str, fit: Callable[[], KeptModel]) -> KeptModel:
        """The model of this key, fitted if it was not.

        Raises
        ------
        RejectedRound : when there is none: every time, for the reason of the first.
        """
        if key not in self._models:
            try:
                model = fit()
            except RejectedRound as rejected:
                self._models[key] = str(rejected)
                raise
            if self.numbers + model.numbers > _MOST_NUMBERS:
                return model
            self.numbers += model.numbers
            self._models[key] = model
        found = self._models[key]
        if isinstance(found, str):
            raise RejectedRound(found)
        return found
