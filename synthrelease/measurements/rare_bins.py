"""Rare bins whose rows are counted apart: one count for each bin, and no table and no sum has these rows.

A replaced record moves a table of all rows by two counts, one down and one up. One that comes from a bin counted apart, or goes
there, moves it by one. So these records leave half of the budget over, and it pays for the count of their bin
(theory 12.14, bins counted apart).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask
from synthrelease.errors import Unexpected
from synthrelease.measurements.scored_sums import ScoredSum, ScoreFactor, terms_of
from synthrelease.settings.base import Mistake

SHARE = Fraction(1, 2)
"""Of the budget of all tables and sums, which the count of each bin gets beside them."""

_FIELD = "rare_bins"
_EXPECTED = (
    "bins such as 'children[0 0 0 1] + children[1 0 0 0]', joined by +: one column, with 1 for a rare bin and 0 for all others"
)


@dataclass(frozen=True, kw_only=True)
class RareBin:
    """A bin whose rows are counted apart.

    Attributes
    ----------
    column, bin : their places in the layout.
    """

    column: int
    bin: int

    def forbidden(self, layout: Layout) -> Mask:
        """No row of the model of all other rows is in it."""
        return Mask(columns=(self.column,), forbidden=np.arange(layout.sizes[self.column]) == self.bin)


@dataclass(frozen=True, kw_only=True)
class NoisyBin:
    """The noisy number of rows in a rare bin.

    Attributes
    ----------
    value : the count plus noise; at least 0, and together with those before it at most the number of all rows.
    """

    of: RareBin
    value: int


def merged(bins: Iterable[NoisyBin], maps: Sequence[np.ndarray]) -> tuple[NoisyBin, ...]:
    """On coarser bins, each of which holds rare ones alone or none. Post-processing."""
    values = dict[RareBin, int]()
    for one in bins:
        coarse = RareBin(column=one.of.column, bin=int(maps[one.of.column][one.of.bin]))
        values[coarse] = values.get(coarse, 0) + one.value
    return tuple(NoisyBin(of=of, value=value) for of, value in values.items())


def bins_of(text: str | None, layout: Layout) -> tuple[RareBin, ...]:
    """The bins that a text without `mistakes` names, in its order."""
    return tuple(
        RareBin(column=layout.index(factor.column), bin=factor.scores.index(Fraction(1))) for factor in read_bins(text)
    )


@lru_cache(maxsize=1_000)
def read_bins(text: str | None) -> tuple[ScoreFactor, ...]:
    """Read "age[0 0 1] + age[1 0 0]". Raises Unexpected for what is no such list."""
    found = []
    for term in terms_of(text) if text is not None else ():
        read = ScoredSum.of(term)
        one = read.factors[0]
        if len(read.factors) > 1 or read.limits is not None or not isinstance(one, ScoreFactor) or one.spread:
            raise Unexpected(_EXPECTED, repr(term.strip()))
        if sorted(one.scores) != [*[0] * (len(one.scores) - 1), 1]:
            raise Unexpected(_EXPECTED, repr(term.strip()))
        found.append(one)
    if len({one.column for one in found}) > 1 or len(set(found)) < len(found):
        raise Unexpected("different bins of one column", repr(text))
    return tuple(found)


def mistakes_of(text: str | None, layout: Layout) -> Iterable[Mistake]:
    """What is wrong with the columns, with how many scores they have, or where no row is left for the tables."""
    factors = read_bins(text)
    for factor in factors:
        mistake = next(iter(ScoredSum(factors=(factor,)).mistakes(layout)), None)
        if mistake is not None:
            yield replace(mistake, field=_FIELD)
            return
    if factors and len(factors) == layout.sizes[layout.index(factors[0].column)]:
        yield Mistake(field=_FIELD, expected=f"a bin of {factors[0].column!r} that is no rare one", found="all of them")
