"""Make a candidate, a synthetic table to be scored: fit a model, sample plausible rows, and change rows that are too rare."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators.base import Background, MeasuringGenerator, Model
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Charge

if TYPE_CHECKING:
    from synthrelease.generators.measurements import NoisyMarginals

# Models of shared measurements are fitted once, and later rounds use the same model.
#
# With shared measurements, the model of a configuration is a function of the measurements, the configuration and public tables.
# So this model is the same in every round. Storing the model is post-processing and does not change the distribution of any
# output (theory 5.1, measure once, select many). Rows are drawn again in every round. Only running times show which rounds used
# a stored model, and these are not published.

# Largest number of numbers in all stored models together: 32 MB. Models beyond this limit are fitted again in every round.
_MOST_NUMBERS = 2**22


def _numbers_in(value: object) -> int:
    """Return how many numbers the arrays of a model contain, without the plausibility rules, which models share."""
    if isinstance(value, np.ndarray | tuple):
        return value.size if isinstance(value, np.ndarray) else sum(map(_numbers_in, value))
    if not is_dataclass(value) or isinstance(value, Plausibility):
        return 0
    return sum(_numbers_in(getattr(value, part.name)) for part in fields(value))


@dataclass(kw_only=True)
class KeptModels:
    """A cache of models fitted to the same noisy measurements. The key of a model stands for everything else that
    determines its fit.
    """

    numbers: int = 0
    _models: dict[str, Model | str] = field(default_factory=dict)

    def get(self, key: str, fit: Callable[[], Model]) -> Model:
        """Return the model with this key. Otherwise fit it, and store it unless the cache would become too large.

        Raises
        ------
        RejectedRound : if the fit fails; later calls with this key raise the same error.
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


# A candidate whose rows contradict the noisy tables of its own model is rejected.
#
# Criteria check only what the steward specified. A column without a criterion could have any error if a prior outweighs the
# tables or a model did not converge. Rows and published tables of one release would then contradict each other. The comparison
# has no privacy cost, because it uses only outputs that are already charged.

FAR = 0.1
"""Largest difference between the share of a bin in the rows and in the noisy tables, beyond the noise."""
RISK = 1e-6
"""Probability, for each count, that the noise of the count exceeds its limit."""


def contradicts_its_tables(rows: Counts, measured: NoisyMarginals, plausibility: Plausibility) -> bool:
    """Return whether synthetic rows differ clearly from the noisy tables of their model, in the share of some bin of a
    column.

    Counts of agreements are compared, too. Rows in rare bins that are counted separately, and cells that the rules exclude,
    are ignored.

    Parameters
    ----------
    rows, measured, plausibility : over the same bins.
    """
    from synthrelease.generators.marginals_mechanism import without

    rows = without(rows, [rare_bin.of for rare_bin in measured.rare_bins])
    shares = [margin / rows.total for margin in rows.margins()]
    for table in measured.tables:
        allowed = ~plausibility.structural_zeros(table.columns)
        values, cells = np.where(allowed, table.values, 0), np.where(allowed, table.cells, 0)
        total, limit = int(values.sum()), table.noise.limit(RISK)
        if total <= limit * math.sqrt(cells.sum()):
            continue  # the table cannot be distinguished from noise
        for axis, column in enumerate(table.columns):
            beside = tuple(other_axis for other_axis in range(len(table.columns)) if other_axis != axis)
            share, noise = values.sum(axis=beside) / total, limit * np.sqrt(cells.sum(axis=beside)) / total
            if (np.abs(shares[column] - share) > FAR + noise).any():
                return True
    if (agreements := measured.agreements) is None:
        return False
    second = np.array([shares[column][1] for column in agreements.columns])
    far = FAR + agreements.laws[0].limit(RISK) / measured.n
    return bool((np.abs(second - agreements.counts / measured.n) > far).any())


MAX_RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A synthetic table over the bins of its configuration. It is differentially private, and therefore public.

    `measured` are the noisy marginals from which it was made, or None.
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
    """Fit the generator, draw rows that obey the rules, and apply the projection, which replaces rare rows.

    Parameters
    ----------
    private : the private table, merged to the configuration's bins.
    background : rules and prior over the same bins.
    charge : the planned charge of one fit.
    shared : measurements that were made once for all rounds. With them, the fit spends nothing.
    kept_models : the cache for these shared measurements.
    rows : the public number of rows to sample, or None for that of the private table.

    Raises
    ------
    RejectedRound : if the noisy model yields no table, or a table that contradicts the model's own measurements.

    Privacy
    -------
    Only the generator's fit reads private counts, and the fit spends the generator's own charge. With `shared` no private
    counts are read. The comparison afterwards (`contradicts_its_tables`) is a function of the measurements and of the rows,
    which are public.
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
        raise RejectedRound("the rows contradict the noisy tables from which they were made")
    return Candidate(configuration=configuration, counts=counts, measured=measured)


def sample_plausible(model: Model, n: int, plausibility: Plausibility, entropy: np.random.Generator) -> Counts:
    """Draw n plausible rows of a model, with replacements for implausible ones. Raises RejectedRound if too few are found."""
    table = plausibility.filter(model.sample(n, entropy))
    for _ in range(MAX_RESAMPLES):
        missing = n - table.total
        if not missing:
            return table
        table = table + plausibility.filter(model.sample(missing, entropy))
    raise RejectedRound("the model gives too little probability to plausible rows")
