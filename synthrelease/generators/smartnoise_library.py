"""The public side of the library behind MST and AIM: how it is asked, and what it has fitted."""

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
    """A Markov random field that a library has fitted.

    Attributes
    ----------
    expand : a table of these columns over the field's domain -> the same over the layout.
    """

    field: Any
    expand: Callable[[Columns, np.ndarray], np.ndarray]


def column_names(layout: Layout) -> list[str]:
    return [f"col{i}" for i in range(len(layout.sizes))]


@contextlib.contextmanager
def ours(module: ModuleType, **replaced: Any) -> Iterator[None]:
    """Replace these functions of a library module for a while, and silence it."""
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
    """Return a rho for the library, with room for the rounding of its sums."""
    return float(rho) * (1 - 1e-9)


def decompressed(values: np.ndarray, columns: Columns, supports: dict[int, np.ndarray]) -> np.ndarray:
    """Undo MST's merging of the bins with little noisy support: its last bin's share is spread evenly over them."""
    for axis, column in enumerate(columns):
        supported = supports[column]
        if not supported.all():
            into = np.where(supported, np.cumsum(supported) - 1, supported.sum())
            shared = np.where(supported, 1.0, (~supported).sum())
            shape = [-1 if other == axis else 1 for other in range(values.ndim)]
            values = values.take(into, axis=axis) / shared.reshape(shape)
    return values
