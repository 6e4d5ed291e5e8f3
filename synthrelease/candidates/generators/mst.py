"""MST (McKenna, Miklau & Sheldon, 2021), from smartnoise-synth: a spanning tree of columns, chosen privately and measured."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal

from synthrelease.candidates.generators.base import Background
from synthrelease.candidates.generators.bayesian_network import BayesianNetwork
from synthrelease.candidates.generators.smartnoise import LibraryGenerator, network_of, tables_of
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import Charge


class MST(LibraryGenerator):
    """MST: all tables of one column, and pairs along a privately chosen tree (smartnoise-synth).

    Examples
    --------
    >>> MST().guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "MST (McKenna, Miklau and Sheldon 2021): all single columns and, along a privately chosen tree, pairs of columns are "
        "measured with noise; the rows follow a model of these tables."
    )
    no_draft: ClassVar[str] = "Its library is an extra, which is not always installed."
    family: Literal["mst"] = "mst"
    paper: ClassVar[str] = "McKenna, Miklau & Sheldon 2021"

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> BayesianNetwork:
        """Run the library behind the door, and build a network of what it fitted.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record (`rho_of_library`; `mechanism.run_mst` says why).
        """
        from synthrelease.candidates.generators.smartnoise.mechanism import run_mst

        rho = self.rho_of_library(charge)
        learned = private.spend(charge, partial(run_mst, rho=rho, entropy=private.entropy))
        return network_of(tables_of(learned, private.layout), background.plausibility)
