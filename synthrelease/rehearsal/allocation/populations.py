"""Populations that an allocation is tried on: the public table, and others that are made of it by thinning its rows.

A private table is another population than the public one that it is rehearsed on. A choice that is good on the public table
alone may rest on an accident of it: on how many rows its rarest bin has. So others are made: in three columns, drawn at random,
the rows on one side of a cut, drawn at random, too, are kept with probability 0.85. They have other shares, and about a fifth
fewer rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.enclave.door import random_pieces, uniform_subset
from synthrelease.privacy.public_entropy import SeededEntropy

_COLUMNS, _KEPT = 3, 0.85
_PRIOR_SHARE = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class Populations:
    """Tables that play the private one, with the public tables that generators start from.

    Attributes
    ----------
    public : the public file's rows.
    priors : public tables that generators start from, by their name. One that *is* the public file is replaced by a random
        fifth of it, and no population has a row of that fifth: otherwise the model would start from the truth.
    rows : the most rows that a population has; more are thinned at random. None for no bound.
    """

    public: Counts
    priors: Mapping[str, Counts]
    rows: int | None = None
    seed: int

    @property
    def divided(self) -> bool:
        """Whether the public file is divided into a public and a judged part."""
        return any(prior.same_as(self.public) for prior in self.priors.values())

    def of(self, index: int) -> tuple[Counts, dict[str, Counts]]:
        """One population and its public tables; 0 is the public file as it is, but for the bound of its rows."""
        table, priors = self.public, dict(self.priors)
        if self.divided:
            part = table.total // _PRIOR_SHARE
            fifth, table = random_pieces(table, (part, table.total - part), SeededEntropy(self.seed, 4))
            priors = {name: fifth if prior.same_as(self.public) else prior for name, prior in priors.items()}
        entropy = SeededEntropy(self.seed, 5, index)
        if index:
            table = _thinned(table, entropy.generator())
        if self.rows is not None and table.total > self.rows:
            table = uniform_subset(table, self.rows, entropy)
        return table, priors


def _thinned(table: Counts, generator: np.random.Generator) -> Counts:
    keep = np.ones(len(table))
    sizes = table.layout.sizes
    cut = [column for column, size in enumerate(sizes) if size > 1]
    for column in generator.permutation(cut)[:_COLUMNS].tolist():
        below = table.digits(column) < generator.integers(1, sizes[column])
        keep *= np.where(below == (generator.random() < 0.5), _KEPT, 1.0)
    return table.with_counts(generator.binomial(table.counts, keep))
