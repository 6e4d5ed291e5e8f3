"""AIM, an adaptive and iterative mechanism (McKenna, Mullins, Sheldon & Miklau, PVLDB 2022), from smartnoise-synth."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, ClassVar, Literal

from pydantic import Field

from synthrelease.candidates.generators.smartnoise import (
    LearnedField,
    LibraryGenerator,
    Randomness,
    dataset,
    library_budget,
    ours,
)
from synthrelease.domain.counts import Counts
from synthrelease.domain.schema import Layout
from synthrelease.randomness import SystemEntropy
from synthrelease.toml.fields import Mistake


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

    def _run(self, counts: Counts, rho: Fraction, entropy: SystemEntropy) -> LearnedField:
        """Measure all columns, then in every round the table of the workload that the model answers worst.

        Privacy
        -------
        rho-zero-concentrated for adding or removing a record. Every measured table gets Gaussian noise at 1 / (2 sigma^2), l2
        sensitivity 1; every choice is an exponential mechanism of epsilon^2 / 8 on weighed l1 errors, whose sensitivity is the
        largest weight. The library adds up what is used, and the last round takes what is left of rho.
        """
        from mbi.junction_tree import hypothetical_model_size
        from snsynth.aim import aim as library

        def exponential_mechanism(errors: dict[Any, float], epsilon: float, sensitivity: float) -> Any:
            keys = list(errors)
            return keys[randomness.choose([float(errors[key]) for key in keys], epsilon, sensitivity)]

        data, randomness = dataset(counts), Randomness(rho, entropy)
        degree, rounds = min(self.degree, len(data.domain)), max(self.rounds, len(data.domain))
        synthesizer = library.AIMSynthesizer(degree=degree, rounds=rounds, max_model_size=self.max_model_size)
        synthesizer.rho = library_budget(rho)
        replaced = {
            "gaussian_noise": randomness.gaussian_noise,
            "exponential_mechanism": exponential_mechanism,
            "hypothetical_model_size": hypothetical_model_size,  # the library's own forgets what ties the tables together
        }
        with ours(library, **replaced):
            workload = synthesizer.get_workload(data, degree=degree, max_cells=10**6)
            synthesizer.AIM(data, workload)
        return LearnedField(synthesizer.synthesizer, lambda columns, values: values)
