"""Provide other methods for protecting tables (swapping, synthesis, imputation), for comparison on public data only.

To add a method, write a file with a `base.Baseline`, and add a line to this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from synthrelease.resources import Kinds

if TYPE_CHECKING:
    from synthrelease.studio.baselines.base import Baseline

BASELINES: Mapping[str, type[Baseline]] = Kinds(
    __name__,
    {
        "swapping": "swapping:Swapping",
        "sequential": "sequential:Sequential",
        "dami": "data_augmented:AugmentedImputation",
        "independent": "base:IndependentColumns",
    },
)
