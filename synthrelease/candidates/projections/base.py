"""The contract of every projection: edit a synthetic table, keep its number of rows."""

from __future__ import annotations

import numpy as np

from synthrelease.domain.counts import Counts
from synthrelease.toml.tables import SpecTable


class Projection(SpecTable):
    """Settings of one projection, validated as they stand in the configuration file.

    Adding one takes one file with a subclass and one line in `PROJECTIONS`.

    Attributes
    ----------
    kind : which projection this is; its settings follow from it.
    """

    kind: str

    def project(self, table: Counts, generator: np.random.Generator) -> Counts:
        """The projected table, of the same size. Sees synthetic rows only: free.

        Raises
        ------
        RejectedRound : when there is no such table.
        """
        raise NotImplementedError
