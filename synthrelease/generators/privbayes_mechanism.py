"""The private half of `privbayes`: choose the structure of a Bayesian network by dependence scores, and measure its tables with
noise.

Private: the exact sub-tables of the table, and their dependence scores. Out: noisy joint tables with their columns, public.

Guarantee: (eps_structure + eps_tables)-DP; neighbours replace one record. A score is a whole number of sensitivity 6 n + 4
(`score_sensitivity`), and each choice costs its part of eps_structure. Replacing a record changes two counts in each of the
d tables, so their joint l1 sensitivity is 2 d (theory 6, PrivBayes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import Lattice, lattice
from synthrelease.generators.bayesian_network import NoisyTable
from synthrelease.privacy.noise import SYSTEM, SystemEntropy, choose, discrete_laplace

_PRODUCTS = 2**30  # Largest number of rows for which 64-bit integers suffice for a score

ParentSets = Callable[[int, Sequence[int]], list[tuple[int, ...]]]
"""A public function that returns the possible parent sets of a column, given the columns placed before it."""


def measured(
    counts: Counts,
    n: int,
    parent_sets: ParentSets,
    epsilon_structure: Fraction,
    epsilon_tables: Fraction,
    selector: str,
    entropy: SystemEntropy,
) -> list[NoisyTable]:
    """Choose the network's parent sets privately, then measure the table of each column with its parents."""
    marginals = lattice(counts)
    network = _choose_structure(marginals, n, parent_sets, epsilon_structure, selector, entropy)
    return _measure(marginals, network, epsilon_tables, entropy)


def dependence_score(joint: np.ndarray, n: int) -> int:
    """Return how strongly a column depends on its parents, as an exact integer: sum |n c(x,p) - c(x) c(p)| = 2 n^2 R(X, P),
    where c are counts.

    R(X, P) = 1/2 sum |Pr[x,p] - Pr[x] Pr[p]| is the score of PrivBayes (Zhang et al. 2014, Section 4.3).

    Parameters
    ----------
    joint : the counts of all cells, with axes (parents..., column); they sum to n.
    """
    table = joint.reshape(-1, joint.shape[-1]).astype(np.int64)
    parents, column = table.sum(axis=1), table.sum(axis=0)
    if n > _PRODUCTS:
        return _sum_of_large(table, n, parents, column)
    return int(np.abs(n * table - np.multiply.outer(parents, column)).sum())


def _sum_of_large(table: np.ndarray, n: int, parents: np.ndarray, column: np.ndarray) -> int:
    """Return exactly, for up to 2^40 rows, the sum of absolute values in `dependence_score`, even if its terms exceed 64
    bits. Each term is split into high 2^64 + low.

    The low part is the term modulo 2^64, in [-2^63, 2^63). The remainder divided by 2^64 is a whole number, which doubles
    approximate with an error of at most (2^81 2^-52 + 2^63 2^-52) / 2^64 < 2^-34.
    """
    low = n * table - np.multiply.outer(parents, column)  # wraps around
    high = np.rint((float(n) * table - np.multiply.outer(parents.astype(float), column) - low) / 2.0**64).astype(np.int64)
    sign = np.where(high != 0, np.sign(high), np.sign(low))
    above, below = low >> 32, low & (2**32 - 1)
    return (int((sign * high).sum()) << 64) + (int((sign * above).sum()) << 32) + int((sign * below).sum())


def score_sensitivity(n: int) -> int:
    """Return the largest change of `dependence_score` when one record is replaced: 6 n + 4.

    R changes by at most 3/n + 2/n^2 (theory 6.1, dependence score); the score is 2 n^2 R.
    """
    return 6 * n + 4


def _choose_structure(
    marginals: Lattice, n: int, parent_sets: ParentSets, epsilon: Fraction, selector: str, entropy: SystemEntropy = SYSTEM
) -> list[tuple[tuple[int, ...], int]]:
    """Choose the parents of every column privately, and return the (parents, column) pairs in sampling order.

    Privacy
    -------
    The structure is eps-DP. The first column is drawn uniformly. Each of the d - 1 further choices gets eps / (d - 1), and its
    scores have sensitivity 6n + 4 (theory 6.2, structure). Which pairs compete depends only on public sizes and earlier
    choices, because `parent_sets` gets nothing else. So two neighbours choose among the same pairs, for any earlier choices.
    The costs of the choices add up (adaptive composition). Only later choices use the stored exact scores.
    """
    sizes = marginals.layout.sizes
    first = entropy.pick(len(sizes))
    network: list[tuple[tuple[int, ...], int]] = [((), first)]
    placed, left = [first], [column for column in range(len(sizes)) if column != first]
    share = epsilon / max(1, len(left))
    scores: dict[tuple[tuple[int, ...], int], int] = {}
    while left:
        pairs = [(parents, column) for column in left for parents in parent_sets(column, placed)]
        for parents, column in sorted(pair for pair in pairs if pair not in scores):  # same parents are adjacent
            scores[parents, column] = dependence_score(marginals.joint(parents, column), n)
        chosen = choose(
            [scores[pair] for pair in pairs],
            sensitivity=score_sensitivity(n),
            epsilon=share,
            mechanism=selector,
            entropy=entropy,
        )
        network.append(pairs[chosen])
        placed.append(pairs[chosen][1])
        left.remove(pairs[chosen][1])
    return network


def _measure(
    marginals: Lattice, network: list[tuple[tuple[int, ...], int]], epsilon: Fraction, entropy: SystemEntropy = SYSTEM
) -> list[NoisyTable]:
    """Measure one joint table per column with noise. The axes of a table are (parents..., column).

    Privacy
    -------
    The tables are eps-DP. Replacing one record moves one row between two cells of each of the d tables. Their joint l1
    sensitivity is 2 d, so each cell gets discrete Laplace noise of scale 2 d / eps (theory 6.3, tables).
    """
    tables = [marginals.joint(parents, column) for parents, column in network]
    flat = np.concatenate([table.ravel() for table in tables])
    noisy = discrete_laplace(flat, sensitivity=2 * len(tables), epsilon=epsilon, entropy=entropy)
    pieces = np.split(noisy, np.cumsum([table.size for table in tables])[:-1])
    return [
        NoisyTable(columns=(*parents, column), values=piece.reshape(table.shape).astype(float))
        for (parents, column), table, piece in zip(network, tables, pieces, strict=True)
    ]
