"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava & Xiao, SIGMOD 2014; TODS 2017), native, on cell counts.

Theory 6, PrivBayes.

A Bayesian network is chosen privately (eps1 = epsilon_split * eps), then one joint table per column is measured with
integer Laplace noise (eps2 = eps - eps1). Everything after the noise is post-processing: consistency between the tables,
structural zeros from the public rules, and sampling by randomised rounding (docs/generators.md says what differs from the
paper and what it buys).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synthrelease.accounting.charges import GENERATION, Charge, exact, mechanism
from synthrelease.accounting.plan import pure_epsilon
from synthrelease.candidates.generators.base import Background, Generator, Guaranteed
from synthrelease.candidates.generators.bayesian_network import BayesianNetwork, NoisyTable, build_network
from synthrelease.candidates.generators.parent_sets import competing_sets
from synthrelease.domain.counts import DENSE_LIMIT, Counts
from synthrelease.domain.lattice import Lattice, lattice
from synthrelease.domain.schema import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.randomness import SYSTEM, SystemEntropy, choose, discrete_laplace

MOST_PAIRS = 2048
"""About how many (parents, column) pairs compete in a choice of the structure: each column gets an equal share of them."""

_PRODUCTS = 2**30
"""Rows up to which 64 bits hold the sum of a score."""

ParentSets = Callable[[int, Sequence[int]], list[tuple[int, ...]]]


class PrivBayes(Generator):
    """PrivBayes: a Bayesian network whose structure is chosen privately, with noisy tables along it.

    Attributes
    ----------
    flavour : "theta" bounds the size of each joint table so that its average cell is worth theta times its noise;
        "degree" allows `degree` parents. Example: `flavour = "theta"`, `theta = [4, 8, 20]`.
    theta : for the flavour "theta": how many times its noise an average cell is worth at least; larger means smaller tables.
        Example: `theta = [4, 8, 20]`, `flavour = "theta"`.
    degree : for the flavour "degree": parents of a column, at most. Example: `degree = [1, 2]`, `flavour = "degree"`.
    epsilon_split : share of the budget for the structure, in (0, 1); the rest is for the tables.
        Example: `epsilon_split = [0.1, 0.3]`.
    selector : the private choice mechanism for the structure. Example: `selector = "exponential"`.

    Examples
    --------
    >>> PrivBayes(flavour="theta", theta=0.5, epsilon_split="0.3").guarantee
    'pure'
    """

    words: ClassVar[str] = (
        "PrivBayes (Zhang et al., SIGMOD 2014): a Bayesian network is chosen privately, its small tables are measured with "
        "noise, and rows are drawn column by column."
    )
    draft: ClassVar[Mapping[str, object]] = {"flavour": "theta", "theta": [4, 8, 20], "epsilon_split": [0.1, 0.3]}
    family: Literal["privbayes"] = "privbayes"
    flavour: Literal["theta", "degree"]
    theta: float | None = Field(default=None, gt=0)
    degree: int | None = Field(default=None, ge=1, le=8)
    epsilon_split: Fraction = Field(gt=0, lt=1)
    selector: Literal["permute_and_flip", "exponential"] = "permute_and_flip"
    guarantee: ClassVar[Guaranteed] = "pure"

    @model_validator(mode="after")
    def _one_of(self) -> PrivBayes:
        wanted, other = ("theta", "degree") if self.flavour == "theta" else ("degree", "theta")
        if getattr(self, wanted) is None or getattr(self, other) is not None:
            raise ValueError(f"flavour {self.flavour!r} needs {wanted!r} and must not have {other!r}")
        return self

    def charge(self, epsilon: Fraction) -> Charge:
        return mechanism(
            GENERATION,
            epsilon,
            f"PrivBayes: structure {float(self.epsilon_split):g} of it by {self.selector.replace('_', ' ')}, "
            "the rest for noisy tables (Zhang et al. 2014)",
        )

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> BayesianNetwork:
        """Choose the structure and measure the tables.

        Privacy
        -------
        eps-DP, eps = pure_epsilon(charge), neighbours replace one record: structure eps1 (`_choose_structure`) and tables eps2
        (`_measure`) in sequence.
        """
        epsilon = pure_epsilon(charge)
        epsilon_structure = exact(self.epsilon_split) * epsilon
        epsilon_tables = epsilon - epsilon_structure
        parent_sets = self._parent_sets(private.n, private.layout, epsilon_tables)

        def measured(counts: Counts) -> list[NoisyTable]:
            marginals = lattice(counts)
            network = _choose_structure(marginals, private.n, parent_sets, epsilon_structure, self.selector, private.entropy)
            return _measure(marginals, network, epsilon_tables, private.entropy)

        return build_network(
            private.spend(charge, measured), private.n, private.layout, background.plausibility, private.entropy.generator()
        )

    def effort(self, layout: Layout) -> float:
        return float(self.degree or 0) + (1 / self.theta if self.theta else 0.0)

    def seconds(self, layout: Layout, rows: int) -> float:
        """Each column's choice looks at up to `MOST_PAIRS` tables of the cells that occur; each measured cell gets noise.

        How many cells theta leaves depends on the budget: an epsilon of 4 is supposed.
        """
        sizes = sorted(layout.sizes, reverse=True)
        choices = sum(min(MOST_PAIRS, 2**column) for column in range(len(sizes)))
        if self.theta:
            measured = 2 * rows / self.theta
        else:
            measured = len(sizes) * min(math.prod(sizes[: 1 + int(self.degree or 0)]), DENSE_LIMIT) / 4
        return 0.1 + 1.1e-9 * choices * min(rows, layout.n_cells) + 1e-7 * measured

    def peak_cells(self, layout: Layout) -> int:
        return BayesianNetwork.peak_cells(layout)

    def _parent_sets(self, n: int, layout: Layout, epsilon_tables: Fraction) -> ParentSets:
        """The parent sets that each column may choose from the columns already placed.

        All maximal ones, or, where that is more than the column's share of `MOST_PAIRS`, as many by the rule of `parent_sets`.

        Privacy
        -------
        No private data: a function of n, the sizes, the hyperparameters and the columns placed before.
        """
        sizes = layout.sizes
        if self.theta is None:
            most, bound = int(self.degree or 0), float(DENSE_LIMIT)
        else:
            most, bound = len(sizes), min(n * float(epsilon_tables) / (2 * len(sizes) * self.theta), DENSE_LIMIT)
        # a column of one bin tells nothing, and an array has only so many axes
        telling = [column for column, size in enumerate(sizes) if size > 1]

        def sets(column: int, placed: Sequence[int]) -> list[tuple[int, ...]]:
            limit = max(1, MOST_PAIRS // (len(sizes) - len(placed)))
            there = [other for other in telling if other in placed]
            return competing_sets(sizes, there, bound / sizes[column], most, limit)

        return sets


def dependence_score(joint: np.ndarray, n: int) -> int:
    """Dependence of the last axis on all others: sum |n c(x,p) - c(x) c(p)| = 2 n^2 R(X, P), an exact integer.

    R(X, P) = 1/2 sum |Pr[x,p] - Pr[x] Pr[p]| is the score of PrivBayes (Zhang et al. 2014, Section 4.3).

    Parameters
    ----------
    joint : counts of every cell of (parents..., column), summing to n.
    """
    table = joint.reshape(-1, joint.shape[-1]).astype(np.int64)
    parents, column = table.sum(axis=1), table.sum(axis=0)
    if n > _PRODUCTS:
        return _sum_of_large(table, n, parents, column)
    return int(np.abs(n * table - np.multiply.outer(parents, column)).sum())


def _sum_of_large(table: np.ndarray, n: int, parents: np.ndarray, column: np.ndarray) -> int:
    """The same sum where 64 bits do not hold its terms, up to 2^40 rows: each as high 2^64 + low, exactly.

    The low part is the term modulo 2^64, in [-2^63, 2^63); what is left, over 2^64, is a whole number, and doubles know it up
    to (2^81 2^-52 + 2^63 2^-52) / 2^64 < 2^-34.
    """
    low = n * table - np.multiply.outer(parents, column)  # wraps around
    high = np.rint((float(n) * table - np.multiply.outer(parents.astype(float), column) - low) / 2.0**64).astype(np.int64)
    sign = np.where(high != 0, np.sign(high), np.sign(low))
    above, below = low >> 32, low & (2**32 - 1)
    return (int((sign * high).sum()) << 64) + (int((sign * above).sum()) << 32) + int((sign * below).sum())


def score_sensitivity(n: int) -> int:
    """Largest change of `dependence_score` when one record is replaced: 6 n + 4.

    R changes by at most 3/n + 2/n^2 (theory 6.1, dependence score); the score is 2 n^2 R.
    """
    return 6 * n + 4


def _choose_structure(
    marginals: Lattice,
    n: int,
    parent_sets: ParentSets,
    epsilon: Fraction,
    selector: str,
    entropy: SystemEntropy = SYSTEM,
) -> list[tuple[tuple[int, ...], int]]:
    """(parents, column) pairs in sampling order.

    Privacy
    -------
    eps-DP: the first column is drawn uniformly; each of the d - 1 further choices gets eps / (d - 1) and scores of
    sensitivity 6n + 4 (theory 6.2, structure). Which pairs compete depends only on public sizes and earlier choices, whether
    all maximal sets compete or a part of them (`parent_sets` gets nothing else): so, whatever was chosen before, two neighbours
    choose among the same pairs, each choice is eps / (d - 1)-DP for every value of the earlier ones, and adaptive composition
    adds them up. The scores that are kept from earlier choices are the exact ones and are looked at by further choices alone.
    """
    sizes = marginals.layout.sizes
    first = entropy.pick(len(sizes))
    network: list[tuple[tuple[int, ...], int]] = [((), first)]
    placed, left = [first], [column for column in range(len(sizes)) if column != first]
    share = epsilon / max(1, len(left))
    scores: dict[tuple[tuple[int, ...], int], int] = {}
    while left:
        pairs = [(parents, column) for column in left for parents in parent_sets(column, placed)]
        for parents, column in sorted(pair for pair in pairs if pair not in scores):  # same parents one after the other
            scores[parents, column] = dependence_score(_joint(marginals, parents, column), n)
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
    """One noisy joint table per column, axes (parents..., column).

    Privacy
    -------
    eps-DP: replacing one record moves one count down and one up in each of the d tables, l1 sensitivity 2 d in all, so
    each cell gets discrete Laplace noise of scale 2 d / eps (theory 6.3, tables).
    """
    tables = [_joint(marginals, parents, column) for parents, column in network]
    flat = np.concatenate([table.ravel() for table in tables])
    noisy = discrete_laplace(flat, sensitivity=2 * len(tables), epsilon=epsilon, entropy=entropy)
    pieces = np.split(noisy, np.cumsum([table.size for table in tables])[:-1])
    return [
        NoisyTable(columns=(*parents, column), values=piece.reshape(table.shape).astype(float))
        for (parents, column), table, piece in zip(network, tables, pieces, strict=True)
    ]


def _joint(marginals: Lattice, parents: tuple[int, ...], column: int) -> np.ndarray:
    """Counts over (parents..., column) with the column on the last axis."""
    return marginals.joint(parents, column)
