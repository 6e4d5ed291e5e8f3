"""A candidate is a synthetic table to be scored: private counts are merged, modelled, sampled, filtered and projected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from synthrelease.candidates.configuration import Configuration
from synthrelease.candidates.generators import Background, MeasuringGenerator, Model
from synthrelease.candidates.kept_models import KeptModels
from synthrelease.candidates.own_tables import contradicts_its_tables
from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.measurements.noisy_tables import NoisyMarginals
from synthrelease.privacy.charges import Charge

MAX_RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A synthetic table over the bins of its configuration. Differentially private already: public from here on.

    `measured` are the noisy marginals it was made from, where its generator has such.
    """

    configuration: Configuration
    counts: Counts
    measured: NoisyMarginals | None = None

    @property
    def transformation(self) -> Transformation:
        return self.configuration.transformation

    @property
    def n(self) -> int:
        return self.counts.total


def make_candidate(
    configuration: Configuration,
    private: PrivateCounts,
    background: Background,
    charge: Charge,
    shared: NoisyMarginals | None = None,
    kept: KeptModels | None = None,
    rows: int | None = None,
) -> Candidate:
    """Fit the generator, sample n plausible rows, project them.

    Parameters
    ----------
    private : the private table, merged to the configuration's bins.
    background : rules and prior over the same bins.
    charge : the planned charge of one fit.
    shared : measurements over the configuration's bins, made once for all rounds; then nothing is spent here.
    kept : models of these shared measurements that were fitted before.
    rows : how many rows to sample, public; as many as the private table has when omitted.

    Raises
    ------
    RejectedRound : when the noisy model yields no table, or one that contradicts its own measurements.

    Privacy
    -------
    Only the generator's fit reads private counts; it spends its own charge. With `shared` nothing does. What is compared
    afterwards (`own_tables`) is a function of the measurements and of the rows, which are public from here on.
    """
    chosen, measured = configuration.generator, shared
    if isinstance(chosen, MeasuringGenerator):
        if measured is None:
            measured = chosen.measure(private, charge)
        fit = partial(chosen.model, measured, background)
        model: Model = fit() if shared is None or kept is None else kept.get(configuration.model_key, fit)
    else:
        model = chosen.fit(private, charge, background)
    entropy = private.entropy.generator()
    synthetic = sample_plausible(model, private.n if rows is None else rows, background.plausibility, entropy)
    counts = configuration.projection.project(synthetic, entropy)
    if measured is not None and contradicts_its_tables(counts, measured, background.plausibility):
        raise RejectedRound("its rows contradict the noisy tables that they were made from")
    return Candidate(configuration=configuration, counts=counts, measured=measured)


def sample_plausible(model: Model, n: int, plausibility: Plausibility, entropy: np.random.Generator) -> Counts:
    """n plausible rows by rejection: draw, drop implausible rows, draw the missing ones again."""
    table = plausibility.filter(model.sample(n, entropy))
    for _ in range(MAX_RESAMPLES):
        missing = n - table.total
        if not missing:
            return table
        table = table + plausibility.filter(model.sample(missing, entropy))
    raise RejectedRound("the model gives too little mass to plausible rows")
