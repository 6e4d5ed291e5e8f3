"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava & Xiao, SIGMOD 2014; TODS 2017), native, on cell counts.

Theory 6, PrivBayes.

A Bayesian network is chosen privately (eps1 = epsilon_split * eps), then one joint table per column is measured with
integer Laplace noise (eps2 = eps - eps1). Everything after the noise is post-processing: consistency between the tables,
structural zeros from the public rules, and sampling by randomised rounding (docs/appendix/benchmarks.md says what this
buys).
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

# Which sets of columns may be the parents of a column in a Bayesian network: the maximal ones, or a public choice of them.
#
# PrivBayes, Algorithms 5 and 6 (Zhang, Cormode, Procopiuc, Srivastava & Xiao, TODS 2017), one column at a time. Nothing here
# sees data: all of it is a function of the sizes of the columns, of which are already placed, and of two bounds.

_ORDERS_PER_SET = 4
"""How many orders are tried for each set that is wanted: different orders may lead to the same set."""


def competing_sets(sizes: Sequence[int], placed: Sequence[int], bound: float, most: int, limit: int) -> list[tuple[int, ...]]:
    """Return all maximal parent sets when there are at most `limit` of them; otherwise at most `limit`, chosen by a public
    rule.

    The rule: for each of a fixed sequence of orders of all columns, the set that is filled with the placed columns in that
    order, each taken when it still fits. Such a set cannot be extended, so it is a maximal one, and every maximal set is that
    of some order. The orders are the same for all columns and all choices, so that most sets stay the same when one more
    column is placed, and are not scored again.

    Parameters
    ----------
    sizes : number of bins of every column.
    placed : the columns that may be parents.
    bound : most joint cells of a set.
    most : most columns of a set.
    limit : most sets, at least 1.

    Privacy
    -------
    No private data: the result depends on the arguments alone. A private choice among these sets is as private as one among
    all sets as long as the arguments are public or outputs of earlier, paid choices: neighbours then choose among the same.
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
    """Yield the sets of at most `most` placed columns with at most `bound` joint cells that cannot be extended, each once,
    without looking at the others. The empty set is always allowed, so that every column has a choice.

    Columns are taken or left out from small to large. The first one left out is the smallest outside the set: the set is
    maximal just when that one no longer fits, which is known as soon as it happens. A branch is not entered when that one would
    fit even beside all that follow. The product of sizes is compared as an integer with the bound rounded down.
    """
    columns = sorted(placed, key=lambda column: (sizes[column], column))
    spans = [sizes[column] for column in columns]
    rest = [math.prod(spans[i:]) for i in range(len(spans) + 1)]
    n, most = len(columns), max(most, 0)

    def extended(taken: tuple[int, ...], start: int, room: int, left_out: float) -> Iterator[tuple[int, ...]]:
        """Yield maximal sets that begin with `taken`; `room` more cells fit, `left_out` is the size of the smallest outside."""
        if len(taken) == most or room < min(left_out, spans[start] if start < n else math.inf):
            yield tuple(sorted(taken))
            return
        for i in range(start, n):
            hopeless = len(taken) + n - i < most and room // rest[i] >= left_out  # it fits even beside all that follow
            if spans[i] > room or hopeless:
                return
            yield from extended((*taken, columns[i]), i + 1, room // spans[i], left_out)
            left_out = min(left_out, spans[i])

    yield from extended((), 0, max(math.floor(bound), 0), math.inf)


def _filled(sizes: Sequence[int], order: Sequence[int], room: int, most: int) -> tuple[int, ...]:
    """Return the columns in this order, each taken if it still fits."""
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
    """Return a fixed order of the columns that looks random: by the digest of the two numbers, the same on every machine."""
    return tuple(sorted(range(n_columns), key=lambda column: blake2b(f"{number}:{column}".encode(), digest_size=8).digest()))


MOST_PAIRS = 2048
"""About how many (parents, column) pairs compete in a choice of the structure: each column gets an equal share of them."""


class PrivBayes(Generator):
    """PrivBayes: a Bayesian network. Its structure is selected privately; the tables of its nodes get noise.

    Attributes
    ----------
    flavour : how the size of a node's table is limited. "theta": the average cell must be at least theta times its noise.
        "degree": a column has at most `degree` parents. Example: `flavour = "theta"`, `theta = [4, 8, 20]`.
    theta : for flavour "theta", the least ratio of an average cell to its noise. A larger ratio gives smaller tables. Example:
        `theta = [4, 8, 20]`, `flavour = "theta"`.
    degree : for flavour "degree", the largest number of parents of a column. Example: `degree = [1, 2]`, `flavour = "degree"`.
    epsilon_split : the share of the budget that selects the structure, between 0 and 1; the tables get the rest. Example:
        `epsilon_split = [0.1, 0.3]`.
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
            yield f"flavour {self.flavour!r} needs {needed!r} and must not have {unused!r}"

    def charge(self, epsilon: Fraction) -> Charge:
        return pure_charge(
            GENERATION,
            epsilon,
            f"PrivBayes: structure {float(self.epsilon_split):g} of it by {self.selector.replace('_', ' ')}, "
            "the rest for noisy tables (Zhang et al. 2014)",
        )

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> BayesianNetwork:
        """Choose the structure and measure the tables.

        Privacy
        -------
        eps-DP, eps = pure_epsilon(charge), neighbours replace one record: structure eps1 and tables eps2 in sequence
        (`privbayes_mechanism`).
        """
        from synthrelease.generators.privbayes_mechanism import measured

        # Compile: how the budget is divided, and which parents may compete. Both are public.
        epsilon = pure_epsilon(charge)
        epsilon_structure = exact(self.epsilon_split) * epsilon
        epsilon_tables = epsilon - epsilon_structure
        parent_sets = self._parent_sets(private.n, private.layout, epsilon_tables)

        # Select the structure, and measure the tables along it, behind the door.
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

        # Estimate: the tables are made to agree, and become conditional ones.
        return build_network(tables, private.n, private.layout, background.plausibility, private.entropy.generator())

    def effort(self, layout: Layout) -> float:
        return float(self.degree or 0) + (1 / self.theta if self.theta else 0.0)

    def seconds(self, layout: Layout, rows: int) -> float:
        """Return an estimate: each column's choice looks at up to `MOST_PAIRS` tables of the cells that occur; each measured
        cell gets noise.

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
        """Return the parent sets that each column may choose from the columns already placed.

        All maximal ones, or, where that is more than the column's share of `MOST_PAIRS`, as many by the rule of
        `competing_sets`.

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
            possible = [other for other in telling if other in placed]
            return competing_sets(sizes, possible, bound / sizes[column], most, limit)

        return sets
