"""The running example of Merrill 2021, chapter 7, and other samples of the same kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reproduction.tables import running_example
from tests.reproduction.weighting import Respondents

SAMPLES, STRATA = running_example()


def of_counts(counts: Sequence[int] | np.ndarray) -> Respondents:
    """So many with base weight 1 in each bin."""
    return Respondents(bins=np.repeat(np.arange(len(counts)), counts), base_weights=np.ones(int(np.sum(counts))))
