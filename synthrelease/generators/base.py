"""The contract of every generator: fit on private counts at a stated charge, then sample as often as wanted."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np

from synthrelease.constraints import Plausibility
from synthrelease.privacy import Charge
from synthrelease.private import PrivateCounts
from synthrelease.spec_files import SpecTable
from synthrelease.table import Counts


class Model(Protocol):
    """A fitted, already private model of the table."""

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Exactly n synthetic rows over the layout that the model was fitted on. Post-processing: free."""
        ...


class Generator(SpecTable):
    """Hyperparameters of one family, validated as they stand in the configuration file.

    Adding a family takes one file with a subclass and one line in `GENERATORS`.
    """

    family: str
    guarantee: ClassVar[str]

    def charge(self, epsilon: Fraction) -> Charge:
        """What one fit costs when it is given this budget."""
        raise NotImplementedError

    def fit(self, private: PrivateCounts, charge: Charge, plausibility: Plausibility) -> Model:
        """Spend the charge on a private table, already merged to the bins of this attempt.

        Parameters
        ----------
        plausibility : the public rules for synthetic rows over the same layout (structural zeros).

        Raises
        ------
        RejectedRound : when the noisy measurements allow no model; a function of noisy values only.
        """
        raise NotImplementedError

    def peak_cells(self, layout_cells: int) -> int:
        """Largest number of cells that the fit or the sample holds at once, for the memory estimate."""
        raise NotImplementedError
