"""Adapt the library smartnoise-synth for MST and AIM: replace its functions temporarily, and represent its fitted model."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from synthrelease.data.layout import Columns, Layout


@dataclass(frozen=True)
class LearnedField:
    """A Markov random field of the library, with a function that undoes its merging of bins.

    Attributes
    ----------
    field : the library's model.
    expand : a function that converts a table of some columns from the domain of the library's model to the layout.
    """

    field: Any
    expand: Callable[[Columns, np.ndarray], np.ndarray]


def column_names(layout: Layout) -> list[str]:
    return [f"col{i}" for i in range(len(layout.sizes))]


@contextlib.contextmanager
def ours(module: ModuleType, **replaced: Any) -> Iterator[None]:
    """Within this context, a module of the library uses the given functions, for example for noise. Output and warnings are
    suppressed.
    """
    originals = {name: getattr(module, name) for name in replaced}
    try:
        for name, function in replaced.items():
            setattr(module, name, function)
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, function in originals.items():
            setattr(module, name, function)


def library_budget(rho: Fraction) -> float:
    return float(rho) * (1 - 1e-9)


def decompressed(values: np.ndarray, columns: Columns, supports: dict[int, np.ndarray]) -> np.ndarray:
    """Divide the share of the last bin, into which MST merges bins with small noisy counts, evenly among these bins."""
    for axis, column in enumerate(columns):
        supported = supports[column]
        if not supported.all():
            into = np.where(supported, np.cumsum(supported) - 1, supported.sum())
            shared = np.where(supported, 1.0, (~supported).sum())
            shape = [-1 if other == axis else 1 for other in range(values.ndim)]
            values = values.take(into, axis=axis) / shared.reshape(shape)
    return values
