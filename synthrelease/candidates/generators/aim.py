"""AIM, an adaptive and iterative mechanism (McKenna, Mullins, Sheldon & Miklau, PVLDB 2022), from smartnoise-synth."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from synthrelease.candidates.generators.base import Background
from synthrelease.candidates.generators.bayesian_network import BayesianNetwork
from synthrelease.candidates.generators.smartnoise import LibraryGenerator, network_of, tables_of
from synthrelease.data.layout import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.charges import Charge
from synthrelease.settings.base import Mistake


class AIM(LibraryGenerator):
    """AIM: tables are chosen and measured round by round, where the model is worst (smartnoise-synth).

    Attributes
    ----------
    degree : columns of the tables of the workload. Example: `degree = 3`.
    rounds : the budget of a round is one part of so many; it may end sooner or go on, as noisy answers say. At least as many as
        there are columns: with fewer the library would spend more than its budget on the columns alone.
        Example: `rounds = [16, 96]`.
    max_model_size : megabytes of the model's junction tree, at most. Example: `max_model_size = 20`.

    Examples
    --------
    >>> AIM(rounds=3).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "AIM (McKenna, Mullins, Sheldon and Miklau, PVLDB 2022): in every round the table that the model gets most wrong is "
        "chosen privately and measured with noise; the rows follow a model of these tables."
    )
    no_draft: ClassVar[str] = "Its library is an extra, which is not always installed."
    family: Literal["aim"] = "aim"
    library_megabytes: ClassVar[int] = 1900
    usual_seconds: ClassVar[float] = 40.0
    degree: int = Field(default=2, ge=1, le=4)
    rounds: int = Field(default=16, ge=1, le=1000)
    max_model_size: float = Field(default=10.0, gt=0, le=32)
    paper: ClassVar[str] = "McKenna, Mullins, Sheldon & Miklau 2022"

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        yield from super().mistakes(layout, tied)
        if self.rounds < len(layout.sizes):
            yield Mistake(field="rounds", expected=f"at least {len(layout.sizes)}, one for each column", found=str(self.rounds))

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> BayesianNetwork:
        """Run the library behind the door, and build a network of what it fitted.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record (`rho_of_library`; `mechanism.run_aim` says why).
        """
        from synthrelease.candidates.generators.smartnoise.mechanism import run_aim

        rho = self.rho_of_library(charge)
        learned = private.spend(
            charge,
            partial(
                run_aim,
                rho=rho,
                entropy=private.entropy,
                degree=self.degree,
                rounds=self.rounds,
                max_model_size=self.max_model_size,
            ),
        )
        return network_of(tables_of(learned, private.layout), background.plausibility)
