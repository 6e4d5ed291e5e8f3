"""A candidate is a synthetic table to be scored: private counts are merged, modelled, sampled, filtered and projected."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators.base import Background, MeasuringGenerator, Model
from synthrelease.generators.measurements import NoisyMarginals
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Charge

# Models of shared measurements are fitted once: what a round has fitted, later rounds take as it is.
#
# With shared measurements the model of a configuration is a function of these, of the configuration and of public tables, the
# same in every round. Keeping it is post-processing and changes nothing about the law of any output (theory 5.1, measure once,
# select many); rows are drawn afresh in every round. Which rounds found a kept model shows in times alone, which are not
# published.

_MOST_NUMBERS = 2**22
"""Of all kept models together: 32 MB. What does not fit is fitted again in every round."""


def _numbers_in(value: object) -> int:
    """Return how many numbers a model holds: in all arrays of its fields, but in its rules, which all models share."""
    if isinstance(value, np.ndarray | tuple):
        return value.size if isinstance(value, np.ndarray) else sum(map(_numbers_in, value))
    if not is_dataclass(value) or isinstance(value, Plausibility):
        return 0
    return sum(_numbers_in(getattr(value, part.name)) for part in fields(value))


@dataclass(kw_only=True)
class KeptModels:
    """The models fitted in one process to the same measurements, by their other inputs."""

    numbers: int = 0
    _models: dict[str, Model | str] = field(default_factory=dict)

    def get(self, key: str, fit: Callable[[], Model]) -> Model:
        """Return the model of this key; fit it if it is missing.

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
            numbers = _numbers_in(model)
            if self.numbers + numbers > _MOST_NUMBERS:
                return model
            self.numbers += numbers
            self._models[key] = model
        kept_model = self._models[key]
        if isinstance(kept_model, str):
            raise RejectedRound(kept_model)
        return kept_model


# Rows beside the noisy tables that they were made from: a model that did not follow its own tables gives no release.
#
# Criteria ask what the steward thought of. A column that none asks about can be wrong by any amount, where a prior weighs more
# than the tables or a model did not converge, and then rows and published tables of one release contradict each other. The
# comparison costs nothing: both sides are what the round has paid for.

FAR = 0.1
"""Of the rows: how far the share of a bin may be from that of its own tables, beyond their noise."""
RISK = 1e-6
"""The probability that the noise of a count is beyond its limit, for each count."""


def contradicts_its_tables(rows: Counts, measured: NoisyMarginals, plausibility: Plausibility) -> bool:
    """Return whether a bin of a single column has another share in the rows than in a table that holds the column, by far.

    Rows in a bin that is counted apart are in no table, so they are left aside. Cells that the rules exclude are no part of the
    comparison: released rows have none of them, whatever the tables say.

    Parameters
    ----------
    rows, measured, plausibility : over the same bins.
    """
    from synthrelease.generators.marginals_mechanism import without

    rows = without(rows, [rare_bin.of for rare_bin in measured.rare_bins])
    shares = cache(lambda column: rows.marginal((column,)) / rows.total)  # many tables have the same column
    for table in measured.tables:
        allowed = ~plausibility.structural_zeros(table.columns)
        values, cells = np.where(allowed, table.values, 0), np.where(allowed, table.cells, 0)
        total, limit = int(values.sum()), table.noise.limit(RISK)
        if total <= limit * math.sqrt(cells.sum()):
            continue  # no row is told from noise
        for axis, column in enumerate(table.columns):
            beside = tuple(other_axis for other_axis in range(len(table.columns)) if other_axis != axis)
            share, noise = values.sum(axis=beside) / total, limit * np.sqrt(cells.sum(axis=beside)) / total
            if (np.abs(shares(column) - share) > FAR + noise).any():
                return True
    if (agreements := measured.agreements) is None:
        return False
    second = np.array([shares(column)[1] for column in agreements.columns])
    far = FAR + agreements.laws[0].limit(RISK) / measured.n
    return bool((np.abs(second - agreements.counts / measured.n) > far).any())


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
    kept_models: KeptModels | None = None,
    rows: int | None = None,
) -> Candidate:
    """Fit the generator, sample n plausible rows, project them.

    Parameters
    ----------
    private : the private table, merged to the configuration's bins.
    background : rules and prior over the same bins.
    charge : the planned charge of one fit.
    shared : measurements over the configuration's bins, made once for all rounds; then nothing is spent here.
    kept_models : models of these shared measurements that were fitted before.
    rows : how many rows to sample, public; as many as the private table has when omitted.

    Raises
    ------
    RejectedRound : when the noisy model yields no table, or one that contradicts its own measurements.

    Privacy
    -------
    Only the generator's fit reads private counts; it spends its own charge. With `shared` nothing does. What is compared
    afterwards (`contradicts_its_tables`) is a function of the measurements and of the rows, which are public from here on.
    """
    chosen, measured = configuration.generator, shared
    if isinstance(chosen, MeasuringGenerator):
        if measured is None:
            measured = chosen.measure(private, charge)
        fit = partial(chosen.model, measured, background)
        model: Model = fit() if shared is None or kept_models is None else kept_models.get(configuration.model_key, fit)
    else:
        model = chosen.fit(private, charge, background)
    entropy = private.entropy.generator()
    synthetic = sample_plausible(model, private.n if rows is None else rows, background.plausibility, entropy)
    counts = configuration.projection.project(synthetic, entropy)
    if measured is not None and contradicts_its_tables(counts, measured, background.plausibility):
        raise RejectedRound("its rows contradict the noisy tables that they were made from")
    return Candidate(configuration=configuration, counts=counts, measured=measured)


def sample_plausible(model: Model, n: int, plausibility: Plausibility, entropy: np.random.Generator) -> Counts:
    """Return n plausible rows by rejection: draw, drop implausible rows, draw the missing ones again."""
    table = plausibility.filter(model.sample(n, entropy))
    for _ in range(MAX_RESAMPLES):
        missing = n - table.total
        if not missing:
            return table
        table = table + plausibility.filter(model.sample(missing, entropy))
    raise RejectedRound("the model gives too little mass to plausible rows")
