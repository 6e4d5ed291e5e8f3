"""List the tiny worlds in which the values of each acceptance criterion, and the measurements of generators, are enumerated.

`SWEEPS` has worlds of at most six cells with all their neighbours; `worlds.toml` lists them. A kind of criterion that uses
no private data has no world. `ENUMERATED` names the enumerations of the measurements of a generator, or of the private fit
of a criterion (`model_sensitivity`); several families may share one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.criteria.functional import LinearModel
from synthrelease.studio.audit.sweep import FLAT, SMALL, TALL, WIDE, Households, Sweep, criterion, sweep

ENUMERATED: Mapping[str, Sequence[str]] = {
    "adaptive": ("adaptive",),
    "adaptive_pure": ("adaptive",),
    "dpctgan": ("networks",),
    "dpgan": ("networks",),
    "gaussian_marginals": ("marginals",),
    "marginals": ("marginals",),
    "nested": ("marginals",),
    "nested_pure": ("marginals",),
    "privbayes": ("PrivBayes",),
    "regression_coefficients": ("functional mechanism",),
}

# Possible private regression lines: intercept and slope by name.
_LINES = {"opposite": (9.0, -9.0), "flat": (0.0, 0.0), "above the range": (5.0, 0.0), "rising": (0.5, 0.75)}


_COLUMNS = {"2 x 3": WIDE, "3 x 2": TALL, "6": FLAT, "2 x 2": SMALL}
_LINE = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}


def _listed(kind: str, world: Mapping[str, Any]) -> Sweep:
    more = {name: value for name, value in world.items() if name in ("groups", "tight", "attained")}
    settings, name = world.get("settings", {}), world["name"]
    if "households" in world:
        return Households(**world["households"]).sweep(kind, name, world["of"], settings, **more)
    highs = _COLUMNS[world["columns"]]
    if "line" in world:  # the world has the predictions of one of the lines in `_LINES`
        intercept, slope = _LINES[world["line"]]
        settings = {"coefficients": "line", "range": (0, highs["b"]), "bound": world["bound"]}
        more["before"] = (criterion("regression_coefficients", name="line", **_LINE),)
        more["fitted"] = LinearModel(intercept=intercept, coefficients=np.array([slope]))
    return sweep(kind, name, highs, settings, missing=tuple(world.get("missing", ())), **more)


SWEEPS: Mapping[str, Sequence[Sweep]] = {
    kind: tuple(_listed(kind, world) for world in worlds)
    for kind, worlds in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
