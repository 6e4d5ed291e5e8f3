"""Define the family PrivBayes, a Bayesian network with a privately chosen structure (Zhang et al., SIGMOD 2014; TODS 2017).

Theory 6, PrivBayes. The structure is chosen privately (eps1 = epsilon_split * eps), then one joint table per column is
measured with integer Laplace noise (eps2 = eps - eps1). All later steps are post-processing (docs/appendix/benchmarks.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.layout import Layout
from synthrelease.errors import Unexpected
from synthrelease.generators.base import Background, Generator, Guaranteed
from synthrelease.generators.bayesian_network import BayesianNetwork, build_network
from synthrelease.privacy.charges import GENERATION, Charge, exact
from synthrelease.privacy.charges import mechanism as pure_charge
from synthrelease.privacy.plan import pure_epsilon

if TYPE_CHECKING:
    from synthrelease.enclave.door import PrivateCounts
    from synthrelease.generators.privbayes_mechanism import ParentSets

# `competing_sets` determines the possible parent sets of a column: all maximal sets, or a public selection of them.
#
# See PrivBayes, Algorithms 5 and 6 (Zhang, Cormode, Procopiuc, Srivastava & Xiao, TODS 2017). These functions use no data: the
# result depends on the sizes of the columns, on the columns that are already placed, and on two bounds.

_ORDERS_PER_SET = 4  # Number of column orders that are tried per wanted set. Different orders may lead to the same set.


def competing_sets(sizes: Sequence[int], placed: Sequence[int], bound: float, most: int, limit: int) -> list[tuple[int, ...]]:
    """Return the possible parent sets of a column: all maximal sets (to which no column can be added), or at most `limit`
    of them, selected by a public rule.

    The rule uses a fixed sequence of orders of all columns. For each order, placed columns that fit are added in this
    order, which gives a maximal set. The orders are the same for all columns and choices, so most sets stay the same when
    one more column is placed, and are not scored again.

    Parameters
    ----------
    most : largest number of columns of a set.
    limit : largest number of sets, at least 1.

    Privacy
    -------
    The function uses no private data: the result depends on the arguments alone. A private choice among these sets is as
    private as a choice among all sets, if the arguments are public or outputs of earlier, paid choices. Then the choice for
    two neighbouring tables is among the same sets.
    """
    maximal = list(islice(maximal_sets(sizes, placed, bound, most), limit + 1))
    if len(maximal) <= limit:
        return maximal
    room, is_placed = max(math.floor(bound), 0), set(placed)
    chosen: dict[tuple[int, ...], None] = {}
    for number in range(_ORDERS_PER_SET * limit):
        order = [column for column in _order(number, len(sizes)) if column in is_placed]
        chosen[_filled(sizes, order, room, most)] = None
        if len(chosen) == limit:
            break
    return list(chosen)


def maximal_sets(sizes: Sequence[int], placed: Sequence[int], bound: float, most: int) -> Iterator[tuple[int, ...]]:
    """Yield every maximal parent set: at most `most` placed columns, with at most `bound` joint cells, to which no column
    can be added.

    If no column fits, yield the empty set.

    Columns are decided from the smallest to the largest. A set is maximal if and only if the smallest omitted column no
    longer fits; a branch is skipped if this column would fit even with all later ones.
    """
    columns = sorted(placed, key=lambda column: (sizes[column], column))
    spans = [sizes[column] for column in columns]
    rest = [math.prod(spans[i:]) for i in range(len(spans) + 1)]
    n, most = len(columns), max(most, 0)

    def extended(taken: tuple[int, ...], start: int, room: int, left_out: float) -> Iterator[tuple[int, ...]]:
        """Yield the maximal sets with the columns `taken` and others from position `start` on, which may multiply the cells
        by at most `room`.

        `left_out` is the number of bins of the smallest omitted column.
        """
        if len(taken) == most or room < min(left_out, spans[start] if start < n else math.inf):
            yield tuple(sorted(taken))
            return
        for i in range(start, n):
            hopeless = len(taken) + n - i < most and room // rest[i] >= left_out  # the omitted one fits with all later ones
            if spans[i] > room or hopeless:
                return
            yield from extended((*taken, columns[i]), i + 1, room // spans[i], left_out)
            left_out = min(left_out, spans[i])

    yield from extended((), 0, max(math.floor(bound), 0), math.inf)


def _filled(sizes: Sequence[int], order: Sequence[int], room: int, most: int) -> tuple[int, ...]:
    """Return at most `most` columns, taken greedily in `order` while the joint table has at most `room` cells."""
    taken: list[int] = []
    for column in order:
        if len(taken) == most:
            break
        if sizes[column] <= room:
            taken.append(column)
            room //= sizes[column]
    return tuple(sorted(taken))


@lru_cache(maxsize=4096)
def _order(number: int, n_columns: int) -> tuple[int, ...]:
    """Return a fixed pseudo-random order of the columns, the same on every machine."""
    return tuple(sorted(range(n_columns), key=lambda column: blake2b(f"{number}:{column}".encode(), digest_size=8).digest()))


MOST_PAIRS = 2048
"""Approximate largest number of (parents, column) pairs that compete in a choice. Each column gets an equal share of these
pairs.
"""


class PrivBayes(Generator):
    """Fits a Bayesian network: selects its structure privately, and adds noise to the table of each node.

    Attributes
    ----------
    flavour : how the size of a node's table is limited. With "theta", the average count of a cell is at least theta times
        its noise. With "degree", a column has at most `degree` parents. Example: `flavour = "theta"`, `theta = [4, 8, 20]`.
    theta : with flavour "theta", the smallest ratio of an average count to its noise. A larger ratio gives smaller tables.
        Example: `theta = [4, 8, 20]`, `flavour = "theta"`.
    degree : with flavour "degree", the largest number of parents of a column. Example: `degree = [1, 2]`, `flavour =
        "degree"`.
    epsilon_split : the share of the budget for the structure, between 0 and 1. Example: `epsilon_split = [0.1, 0.3]`.
    selector : the mechanism that selects the structure. Example: `selector = "exponential"`.

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

    def contradictions(self) -> Iterator[str | Unexpected]:
        needed, unused = ("theta", "degree") if self.flavour == "theta" else ("degree", "theta")
        if getattr(self, needed) is None or getattr(self, unused) is not None:
            yield f"With flavour = {self.flavour!r}, set {needed} and do not set {unused}"

    def charge(self, epsilon: Fraction) -> Charge:
        return pure_charge(
            GENERATION,
            epsilon,
            f"PrivBayes: structure {float(self.epsilon_split):g} of it by {self.selector.replace('_', ' ')}, "
            "the rest for noisy tables (Zhang et al. 2014)",
        )

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> BayesianNetwork:
        """Choose the structure privately, measure the tables, and return the network.

        Privacy
        -------
        A fit is eps-DP with eps = pure_epsilon(charge); neighbours replace one record. The structure costs eps1 and the
        tables cost eps2, in sequence (`privbayes_mechanism`).
        """
        from synthrelease.generators.privbayes_mechanism import measured

        # Plan: the division of the budget, and the possible parent sets. Both are public.
        epsilon = pure_epsilon(charge)
        epsilon_structure = exact(self.epsilon_split) * epsilon
        epsilon_tables = epsilon - epsilon_structure
        parent_sets = self._parent_sets(private.n, private.layout, epsilon_tables)

        # Choose the structure, and measure its tables, inside `spend`.
        tables = private.spend(
            charge,
            partial(
                measured,
                n=private.n,
                parent_sets=parent_sets,
                epsilon_structure=epsilon_structure,
                epsilon_tables=epsilon_tables,
                selector=self.selector,
                entropy=private.entropy,
            ),
        )

        # Make the tables consistent, and convert them to conditional probabilities.
        return build_network(tables, private.n, private.layout, background.plausibility, private.entropy.generator())

    def effort(self, layout: Layout) -> float:
        return float(self.degree or 0) + (1 / self.theta if self.theta else 0.0)

    def seconds(self, layout: Layout, rows: int) -> float:
        """Return the estimated seconds of a fit. The number of cells for a theta depends on the budget; an epsilon of 4 is
        assumed.
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
        """Return a function that lists the possible parent sets of a column, given the columns already in the network
        (`competing_sets`).

        Privacy
        -------
        The function reads no private data. The result depends only on n, the sizes, the hyperparameters and the columns
        that were placed before.
        """
        sizes = layout.sizes
        if self.theta is None:
            most, bound = int(self.degree or 0), float(DENSE_LIMIT)
        else:
            most, bound = len(sizes), min(n * float(epsilon_tables) / (2 * len(sizes) * self.theta), DENSE_LIMIT)
        # a column with one bin has no information, and would use an axis of the array
        telling = [column for column, size in enumerate(sizes) if size > 1]

        def sets(column: int, placed: Sequence[int]) -> list[tuple[int, ...]]:
            limit = max(1, MOST_PAIRS // (len(sizes) - len(placed)))
            possible = [other for other in telling if other in placed]
            return competing_sets(sizes, possible, bound / sizes[column], most, limit)

        return sets
