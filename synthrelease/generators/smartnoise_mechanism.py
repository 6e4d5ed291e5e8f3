"""The private half of MST and AIM: a library measures and fits inside the door, with noise and choices of our own.

Private: the rows of the table, as the library's data set; what it computes of them until noise is added. Out: the model that it
has fitted, public.

Guarantee: rho zero-concentrated for adding or removing a record, the library's neighbours; whoever spends asks for a quarter of
what replacing one costs (`privacy.plan.replacing_one`). Tables of counts have l2 sensitivity 1 then, and l1 errors
sensitivity 1; `Randomness` draws everything and refuses what would pass rho. Measuring and fitting are mixed in the library, so
all of a fit runs here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.errors import BudgetError
from synthrelease.generators.smartnoise_library import LearnedField, column_names, decompressed, library_budget, ours
from synthrelease.privacy.noise import SystemEntropy, choose

_STEPS = 2**10
"""Scores are rounded down to this part of their sensitivity."""


def run_mst(counts: Counts, rho: Fraction, entropy: SystemEntropy) -> LearnedField:
    """MST: a third of rho each for the columns, the tree and the pairs, as the library splits it.

    Privacy
    -------
    rho-zero-concentrated for adding or removing a record; the number of rows that the model adds up to is given. A third:
    rounded Gaussian noise on the counts of each of the d columns, l2 sensitivity 1, rho / (3 d) each. A third: d - 1
    exponential mechanisms, one for each edge of the tree, on the l1 errors of the pairs that could still join two parts of it,
    sensitivity 1, each epsilon^2 / 8 = rho / (3 (d - 1)). A third: rounded Gaussian noise on the counts of the d - 1 pairs.
    Bins are merged after the first third, by noisy counts alone. The library's conversion from (epsilon, delta) is replaced by
    the rho itself, and what it draws is added up as it is drawn (`Randomness`).
    """
    from snsynth.mst import mst as library

    class Ours(library.MSTSynthesizer):  # type: ignore[misc]
        supports: dict[str, np.ndarray]

        def exponential_mechanism(self, q: Any, eps: float, sensitivity: float, *ignored: Any, **more: Any) -> int:
            return randomness.choose(q, eps, sensitivity)

        def reverse_data(self, data: Any, supports: dict[str, np.ndarray]) -> Any:
            self.supports = supports

    randomness, synthesizer = Randomness(rho, entropy), Ours()
    by_rho = {"cdp_rho": lambda epsilon, delta: library_budget(rho)}
    with ours(library, gaussian_noise=randomness.gaussian_noise, **by_rho):
        synthesizer.MST(dataset(counts), 1.0, 0.0)
        synthesizer.undo_compress_fn(None)
    supports = {int(name.removeprefix("col")): np.asarray(supported) for name, supported in synthesizer.supports.items()}
    model = synthesizer.synthesizer
    return LearnedField(model, lambda columns, values: decompressed(values, columns, supports))


def run_aim(
    counts: Counts, rho: Fraction, entropy: SystemEntropy, degree: int, rounds: int, max_model_size: float
) -> LearnedField:
    """AIM: measure all columns, then in every round the table of the workload that the model answers worst.

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
    degree, rounds = min(degree, len(data.domain)), max(rounds, len(data.domain))
    synthesizer = library.AIMSynthesizer(degree=degree, rounds=rounds, max_model_size=max_model_size)
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


def dataset(counts: Counts) -> Any:
    """Return the rows as the library wants them, over the whole public domain; a column of one bin is added where there is but
    one."""
    import pandas as pd
    from mbi import Dataset, Domain

    names, sizes, rows = column_names(counts.layout), list(counts.layout.sizes), counts.expand()
    if len(sizes) == 1:
        names, sizes, rows = [*names, "col1"], [*sizes, 1], np.column_stack([rows, np.zeros(len(rows), dtype=np.int64)])
    return Dataset(pd.DataFrame(rows, columns=names), Domain(names, sizes))


class Randomness:
    """Noise and choices for a library, drawn as all other generators draw them, and added up as they are drawn.

    The sum does not rest on the library's own: every draw is refused that would pass `rho`.

    Privacy
    -------
    Zero-concentrated for adding or removing a record: noise of deviation s on a table of counts, whose l2 sensitivity is 1,
    costs 1 / (2 s^2); an exponential mechanism of epsilon costs epsilon^2 / 8 (Cesar & Rogers 2021, Lemma 4).
    """

    def __init__(self, rho: Fraction, entropy: SystemEntropy):
        self.left, self._entropy = rho, entropy

    def gaussian_noise(self, sigma: float, size: int | None = None) -> Any:
        """Rounded Gaussian noise for the counts of one table."""
        self._spend(1 / (2 * Fraction(float(sigma)) ** 2))
        noise = self._entropy.add_gaussian(np.zeros(size or 1, dtype=np.int64), float(sigma))
        return noise[0] if size is None else noise.tolist()

    def choose(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        """Return index of a high score: the exponential mechanism on scores rounded down, whose sensitivity is a step more.

        That step also covers the rounding errors of the scores, as long as they differ by less than a step in two neighbours:
        l1 distances of exact counts from public numbers, computed in double precision as mbi does, are off by less than 2^-17
        for tables of up to 2^30 rows and 2^22 cells, and a step is 2^-10.
        """
        self._spend(Fraction(float(epsilon)) ** 2 / 8)
        finite = np.nan_to_num(np.asarray(scores, dtype=float), nan=0.0)  # where the model, which is public, is no number
        steps = [int(step) for step in np.floor(finite / sensitivity * _STEPS)]
        exact = Fraction(float(epsilon))
        return choose(steps, sensitivity=_STEPS + 1, epsilon=exact, mechanism="exponential", entropy=self._entropy)

    def _spend(self, rho: Fraction) -> None:
        self.left -= rho
        if self.left < 0:
            raise BudgetError("the library wants to spend more than it was given")
