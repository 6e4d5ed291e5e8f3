"""MST and AIM on two neighbouring tables: the library asks, measures and chooses, and is seen from outside.

It runs as `candidates.generators.smartnoise` runs it. What it reports as measured to its model is, where its noise is zero, the
exact table, and there an answer is put in its place. The model that it would fit to noisy tables is
post-processing, and takes seconds; one of equal shares stands for it, with which choices compare the exact tables.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np

from synthrelease.audit.answers import Mechanism
from synthrelease.data.counts import Counts
from synthrelease.generators.smartnoise_library import ours
from synthrelease.privacy.noise import Losses, SystemEntropy

Run = Callable[..., Any]
"""(counts, entropy=...) -> what the library fits."""


def installed() -> bool:
    """Whether the libraries are there, which are an extra."""
    return all(find_spec(package) for package in ("snsynth", "mbi"))


def seen_from_outside(module: str, run: Run, table_of: Callable[[tuple[int, ...]], Counts], rows: int) -> Mechanism:
    """The answers that a library gets.

    Parameters
    ----------
    module : of the library, whose names are replaced while it runs.
    rows : of the model, which are public.
    """

    def mechanism(table: tuple[int, ...], entropy: SystemEntropy) -> np.ndarray:
        library = import_module(module)
        reports = _Reports(entropy, library.LinearMeasurement)
        models = SimpleNamespace(mirror_descent=lambda domain, measured, **more: _EqualShares(domain, measured, rows))
        with ours(library, LinearMeasurement=reports.reported, estimation=models):
            run(table_of(table), entropy=reports)
        return np.concatenate(reports.answers)

    return mechanism


class _Reports(SystemEntropy):
    """Hands no noise to the library, and asks for it when the library reports the table that it is for."""

    def __init__(self, entropy: SystemEntropy, measurement: Callable[..., Any]):
        self._entropy, self._measurement = entropy, measurement
        self._scale: float | None = None
        self.answers: list[np.ndarray] = []

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self._scale = scale
        return values

    def chosen(self, losses: Losses, mechanism: str) -> int:
        return self._entropy.chosen(losses, mechanism)

    def reported(self, values: Any, clique: Any, deviation: float) -> Any:
        """A table with noise; or one that the library has made of such a table, as it is."""
        if self._scale is not None:
            exact, scale, self._scale = np.rint(np.asarray(values)).astype(np.int64), self._scale, None
            self.answers.append(self._entropy.add_gaussian(exact, scale))
            values = self.answers[-1].astype(float)
        return self._measurement(values, clique, deviation)


class _EqualShares:
    """What a library asks of a model, for one in which all cells of a table have the same count."""

    def __init__(self, domain: Any, measured: list[Any], rows: int):
        self.domain, self.cliques, self._rows = domain, [each.clique for each in measured], rows

    def project(self, columns: Any) -> Any:
        cells = self.domain.size(tuple(columns))
        return SimpleNamespace(datavector=lambda flatten=True: np.full(cells, self._rows / cells))
