"""Methods that are compared with on public data, and that a release refuses: why, and what to do instead."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A method, by the words that its names hold.

    Attributes
    ----------
    words : one of these stands in the name, in lower case, words joined by one space.
    why : why a release cannot use it, and the alternative.
    """

    words: tuple[str, ...]
    why: str


METHODS = (
    Refused(
        words=("da mi", "dami", "data augmented", "partially synthetic"),
        why=(
            "data-augmented imputation is for public data alone, because the columns that it does not draw anew are published "
            "as they are; take a generator, whose noise covers every column, and compare with DA-MI on public data by "
            "`compare --method dami`"
        ),
    ),
    Refused(
        words=("sequential", "cart", "synthpop", "norm and logit", "saturated"),
        why=(
            "classical sequential synthesis is for public data alone, because tables and regressions that are fitted without "
            "noise show the records they were fitted to; take a generator such as 'privbayes', which draws columns in turn "
            "from tables with noise, and compare by `compare --method sequential`"
        ),
    ),
    Refused(
        words=("independent",),
        why=(
            "independent columns with exact shares are for public data alone, because exact counts have no guarantee; take the "
            "generator 'marginals' with all columns by themselves, and compare by `compare --method independent`"
        ),
    ),
    Refused(
        words=("swap",),
        why=(
            "permutation swapping is for public data alone, because its guarantee holds subject to its invariants and does not "
            "compose with that of a release; take a generator, and where totals must be right, [calibration] weights the "
            "accepted table to published ones"
        ),
    ),
    Refused(
        words=("imput", "nearest neigh", "knn", "hot deck"),
        why=(
            "filling gaps from other records is for public data alone, because one person's values would then stand in many "
            "rows; take missing = 'bin' for the column, and [imputation] fills the gaps of the accepted table at no cost"
        ),
    ),
    Refused(
        words=("post strat", "poststrat", "raking", "iterative proportional", "ipf", "weighted count"),
        why=(
            "weighting before the noise is for public data alone, because weights that depend on who else answered multiply "
            "what one record can do; take [calibration], which weights the accepted table to published totals at no cost, and "
            "role = 'weight' for a design weight"
        ),
    ),
)
"""Names of generators and criteria."""

INVARIANTS = Refused(
    words=("invariant", "keep exact", "exact total", "exact margin", "exact count", "true total", "true margin", "keep total"),
    why=(
        "no counts of the private file that stay exact: about a table that is published exactly nothing is protected, the "
        "guarantee would hold among files that agree on it alone, and would not add up with others; totals that were published "
        "elsewhere can be met by [calibration], after the noise"
    ),
)
"""Names of settings."""


def refused_method(name: str) -> str | None:
    """Why a release cannot use a method of this name, and the alternative; None for other names."""
    spoken = _spoken(name)
    return next((method.why for method in METHODS if any(word in spoken for word in method.words)), None)


def refused_setting(name: str) -> str | None:
    """Why there is no setting of this name, and the alternative; None for other names."""
    spoken = _spoken(name)
    return INVARIANTS.why if any(word in spoken for word in INVARIANTS.words) else None


def _spoken(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.strip().lower())
