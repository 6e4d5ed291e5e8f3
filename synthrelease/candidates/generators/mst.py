"""MST (McKenna, Miklau & Sheldon, 2021), from smartnoise-synth: a spanning tree of columns, chosen privately and measured."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from synthrelease.candidates.generators.junction_tree import Columns
from synthrelease.candidates.generators.smartnoise import (
    LearnedField,
    LibraryGenerator,
    Randomness,
    dataset,
    library_budget,
    ours,
)
from synthrelease.domain.counts import Counts
from synthrelease.randomness import SystemEntropy


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

    def _run(self, counts: Counts, rho: Fraction, entropy: SystemEntropy) -> LearnedField:
        """A third of rho each for the columns, the tree and the pairs, as the library splits it.

        Privacy
        -------
        rho-zero-concentrated for adding or removing a record; the number of rows that the model adds up to is given. A third:
        discrete Gaussian noise of variance 3 d / (2 rho) on the counts of each of the d columns, l2 sensitivity 1 each, so
        rho / (3 d) each. A third: d - 1 exponential mechanisms, one for each edge of the tree, on the l1 errors of the pairs
        that could still join two parts of it, sensitivity 1, each epsilon^2 / 8 = rho / (3 (d - 1)). A third: discrete Gaussian
        noise of variance 3 (d - 1) / (2 rho) on the counts of each of the d - 1 pairs. Bins whose noisy count is below three
        deviations are merged after the first third, by noisy counts alone. The library's conversion from (epsilon, delta) is
        replaced by the rho itself, and what it draws is added up as it is drawn (`Randomness`).
        """
        from snsynth.mst import mst as library

        class Ours(library.MSTSynthesizer):  # type: ignore[misc, name-defined, valid-type]
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
        supports = {int(name.removeprefix("col")): np.asarray(kept) for name, kept in synthesizer.supports.items()}
        model = synthesizer.synthesizer
        return LearnedField(model, lambda columns, values: decompressed(values, columns, supports))


def decompressed(values: np.ndarray, columns: Columns, supports: dict[int, np.ndarray]) -> np.ndarray:
    """Undo MST's merging of the bins with little noisy support: its last bin's share is spread evenly over them."""
    for axis, column in enumerate(columns):
        kept = supports[column]
        if not kept.all():
            into = np.where(kept, np.cumsum(kept) - 1, kept.sum())
            shared = np.where(kept, 1.0, (~kept).sum())
            shape = [-1 if other == axis else 1 for other in range(values.ndim)]
            values = values.take(into, axis=axis) / shared.reshape(shape)
    return values
