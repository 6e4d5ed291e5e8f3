"""The private half of MST and AIM: run the library inside `spend`, with this package's noise and choices.

Private: the rows of the table, as the library's data set, and everything that the library computes from them before noise is
added. Out: the fitted model, public.

Guarantee: rho-zero-concentrated for adding or removing a record, which are the library's neighbours. The caller passes a
quarter of the rho for replacing a record (`privacy.plan.replacing_one`). For these neighbours, tables of counts have l2
sensitivity 1, and l1 errors have sensitivity 1. `Randomness` draws all noise and choices, and refuses a draw that would
exceed rho. The library mixes measuring and fitting, so the whole fit runs here.
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

_STEPS = 2**10  # Scores are rounded down to multiples of their sensitivity divided by this number


def run_mst(counts: Counts, rho: Fraction, entropy: SystemEntropy) -> LearnedField:
    """Run MST, which spends a third of rho each on single columns, on the choice of a tree, and on the pairs of the tree.

    Privacy
    -------
    The mechanism is rho-zero-concentrated for adding or removing a record. The model gets the public total number of rows. The
    first third of rho pays for rounded Gaussian noise on the counts of d columns, which have l2 sensitivity 1; each column
    costs rho / (3 d). The second third pays for d - 1 exponential mechanisms, one for each edge of the tree. Each of them
    chooses among the pairs that could still join two parts of the tree, by their l1 errors of sensitivity 1, and costs
    epsilon^2 / 8 = rho / (3 (d - 1)). The last third pays for rounded Gaussian noise on the counts of the d - 1 pairs. Bins are
    merged after the first third, based on noisy counts alone. The library's conversion from (epsilon, delta) is replaced by rho
    itself, and the costs of all draws are added up (`Randomness`).
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
    """Run AIM, which measures all columns and then, in every round, a privately chosen table with a large model error.

    Privacy
    -------
    The mechanism is rho-zero-concentrated for adding or removing a record. Every measured table gets Gaussian noise at 1 /
    (2 sigma^2), l2 sensitivity 1. Every choice is an exponential mechanism of cost epsilon^2 / 8 on weighted l1 errors,
    whose sensitivity is the largest weight. The library adds up the costs, and the last round takes the rest of rho.
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
        "hypothetical_model_size": hypothetical_model_size,  # the library's own function ignores ties between tables
    }
    with ours(library, **replaced):
        workload = synthesizer.get_workload(data, degree=degree, max_cells=10**6)
        synthesizer.AIM(data, workload)
    return LearnedField(synthesizer.synthesizer, lambda columns, values: values)


def dataset(counts: Counts) -> Any:
    """Return the rows as the library's `mbi.Dataset` over the whole public domain. A single column gets a second one with
    one bin.
    """
    import pandas as pd
    from mbi import Dataset, Domain

    names, sizes, rows = column_names(counts.layout), list(counts.layout.sizes), counts.expand()
    if len(sizes) == 1:
        names, sizes, rows = [*names, "col1"], [*sizes, 1], np.column_stack([rows, np.zeros(len(rows), dtype=np.int64)])
    return Dataset(pd.DataFrame(rows, columns=names), Domain(names, sizes))


class Randomness:
    """The source of noise and of private choices for a library. It adds up their costs, independently of the library's
    account, and refuses a draw that would exceed `rho`.

    Privacy
    -------
    The guarantee is zero-concentrated for adding or removing a record. A table of counts has l2 sensitivity 1, so noise of
    standard deviation s on its counts costs 1 / (2 s^2). An exponential mechanism with parameter epsilon costs epsilon^2 /
    8 (Cesar & Rogers 2021, Lemma 4).
    """

    def __init__(self, rho: Fraction, entropy: SystemEntropy):
        self.left, self._entropy = rho, entropy

    def gaussian_noise(self, sigma: float, size: int | None = None) -> Any:
        self._spend(1 / (2 * Fraction(float(sigma)) ** 2))
        noise = self._entropy.add_gaussian(np.zeros(size or 1, dtype=np.int64), float(sigma))
        return noise[0] if size is None else noise.tolist()

    def choose(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        """Choose the index of a high score by the exponential mechanism. Scores are rounded down, so their sensitivity is
        one step larger.

        This step also covers rounding errors of the scores that differ by less than a step between neighbours. The l1
        distances of exact counts from public numbers, in double precision as in mbi, have an error below 2^-17 for tables
        of up to 2^30 rows and 2^22 cells, and a step is 2^-10.
        """
        self._spend(Fraction(float(epsilon)) ** 2 / 8)
        finite = np.nan_to_num(np.asarray(scores, dtype=float), nan=0.0)  # a score may be NaN if the public model is NaN
        steps = [int(step) for step in np.floor(finite / sensitivity * _STEPS)]
        exact = Fraction(float(epsilon))
        return choose(steps, sensitivity=_STEPS + 1, epsilon=exact, mechanism="exponential", entropy=self._entropy)

    def _spend(self, rho: Fraction) -> None:
        self.left -= rho
        if self.left < 0:
            raise BudgetError("the library wants to spend more than it was given")
