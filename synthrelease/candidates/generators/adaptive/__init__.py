"""A generator that finds its own tables, in two ways: zero-concentrated and pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.candidates.associations import Ties
from synthrelease.candidates.generators.adaptive.rounds import Learned, RoundsPlan, learned
from synthrelease.candidates.generators.base import Background, Generator, Guaranteed
from synthrelease.candidates.generators.bayesian_network import BayesianNetwork
from synthrelease.candidates.generators.bin_groups import divided, split_masks
from synthrelease.candidates.generators.junction_tree import JunctionTree
from synthrelease.candidates.generators.maximum_entropy import families_of
from synthrelease.data.counts import DENSE_LIMIT, Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.measurements.terms import Formula, FormulaTerm, read_terms, unknown_columns
from synthrelease.privacy.charges import GENERATION, Charge, zero_concentrated
from synthrelease.privacy.charges import mechanism as pure_charge
from synthrelease.privacy.plan import pure_epsilon
from synthrelease.settings.base import Mistake, ReleasedPrior

if TYPE_CHECKING:
    from synthrelease.candidates.generators.adaptive.mechanism import Gaussian, Laplace


@dataclass(frozen=True, kw_only=True)
class AdaptiveModel:
    """A network over groups of bins, and how groups are divided into bins again.

    Attributes
    ----------
    layout : of the bins.
    """

    layout: Layout
    network: BayesianNetwork
    learned: Learned

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """n rows by systematic rounding of the model's expected counts; inside groups by noisy counts of their bins."""
        groups = self.network.sample(n, generator)
        if groups.layout == self.layout:
            return groups
        digits = []
        for column, into in enumerate(self.learned.maps):
            rows = np.repeat(groups.bins[column], groups.counts)
            if groups.layout.sizes[column] < self.layout.sizes[column]:
                rows = divided(rows, into, self.learned.columns[column] * (n / self.learned.fit.n), generator)
            digits.append(rows)
        return Counts.of(self.layout, digits)


class AdaptiveGenerator(Generator):
    """What both ways share.

    Attributes
    ----------
    tables : the tables that may be measured, as in a log-linear model, with the weight of a table's error in front, as in
        "all 2-way + 3 age:region". Columns are measured always; tables of more than two columns may be once the model ties
        their columns together. A term of weight 0 is not measured: the model takes what ties its columns together from the
        prior.
        Example: `tables = "all 2-way + 3 age:region"`.
    prior : a public file with the columns of the private one, relative to the configuration: where the model starts. A wrong
        one costs accuracy, never privacy. An earlier release of the same series is named by its folder, as
        `prior = { release = "../births-2023" }`. Example: `prior = "../public.csv"`.
    prior_weight : how many records the prior (the uniform table, where none is named) is worth against the noise.
        Example: `prior_weight = [50, 300]`.
    clique_cells : cells that the model ties together, at most; more takes more time and memory.
        Example: `clique_cells = 65536`.
    draw : "evenly" lets rows share out the bins of a column among those with the same bins in the columns that it depends on,
        so that drawing them adds next to no error to the tables of the model. It costs no epsilon, and tells where there are
        many columns, or rare bins. Without it, once there are too many columns to round the model's counts, each row's bin is
        a draw of its own. Example: `draw = "evenly"`.
    """

    counts: ClassVar[bool] = True
    tables: Formula = "all 2-way + all 3-way"
    prior: str | ReleasedPrior | None = None
    prior_weight: float = Field(default=50.0, gt=0, le=1e12)
    clique_cells: int = Field(default=2**16, ge=1, le=DENSE_LIMIT)
    draw: Literal["evenly"] | None = None

    first: ClassVar[Fraction]
    """Share of the budget for the columns, before anything else."""

    last: ClassVar[Fraction]
    """Share of the budget for the columns after the rounds, where rare bins need it."""

    rounds_per_column: ClassVar[int]
    """A round gets one part of so many for each column, or more or less by the cells of its table."""

    growth: ClassVar[float]
    """The part of a table grows as this power of its possible cells."""

    @cached_property
    def terms(self) -> tuple[FormulaTerm, ...]:
        return read_terms(self.tables)

    @property
    def prior_file(self) -> str | None:
        return self.prior.name if isinstance(self.prior, ReleasedPrior) else self.prior

    def weights(self, layout: Layout) -> dict[Columns, int]:
        """Every table of at least two columns with its weight as a whole number; 0 for those that are not measured."""
        found: dict[Columns, Fraction] = {}
        for term in self.terms:
            for columns in term.sets(layout):
                if len(columns) > 1:
                    found[columns] = found.get(columns, Fraction(0)) + term.weight
        whole = math.lcm(*(weight.denominator for weight in found.values()))
        scaled = {columns: int(weight * whole) for columns, weight in found.items()}
        divisor = math.gcd(*scaled.values()) or 1
        return {columns: weight // divisor for columns, weight in scaled.items()}

    def mistakes(self, layout: Layout, tied: Iterable[Columns]) -> Iterable[Mistake]:
        unknown = list(unknown_columns(self.terms, layout))
        yield from unknown
        if not unknown:
            kept = [columns for columns, weight in self.weights(layout).items() if not weight]
            cells = JunctionTree.of(layout.sizes, kept).largest
            if cells > DENSE_LIMIT:
                expected = f"tables of weight 0 that tie at most {DENSE_LIMIT} cells together"
                yield Mistake(field="tables", expected=expected, found=f"{cells} cells")

    def ties(self, layout: Layout) -> Ties:
        """Tables that may be measured: of any columns, or of those that are named. A public table may tie any two."""
        every = self.prior is not None or any(term.ways > 1 for term in self.terms)
        return super().ties(layout) if every else Ties(chosen=tuple(self.weights(layout)))

    def plan(self, layout: Layout) -> RoundsPlan:
        """How a budget is spent. Public."""
        return RoundsPlan(
            tables=self.weights(layout),
            first=self.first,
            last=self.last,
            choice=Fraction(1, 10),
            rounds=self.rounds_per_column * len(layout.sizes),
            growth=self.growth,
            cells=self.clique_cells,
            weight=self.prior_weight,
        )

    def _fit(
        self, private: PrivateCounts, charge: Charge, background: Background, kind: type[Gaussian | Laplace], budget: Fraction
    ) -> AdaptiveModel:
        from synthrelease.candidates.generators.adaptive.mechanism import asked_within

        rules = [mask.columns for mask in split_masks(background.plausibility.masks)]
        if JunctionTree.of(private.layout.sizes, rules).largest > DENSE_LIMIT:
            raise RejectedRound("the rules tie too many cells together")  # known before anything is spent
        plan, entropy, layout, n = self.plan(private.layout), private.entropy, private.layout, private.n
        learn = partial(learned, layout=layout, n=n, background=background, plan=plan)
        found = private.spend(charge, partial(asked_within, kind=kind, budget=budget, entropy=entropy, learn=learn))
        families = tuple(families_of(found.fit.tree, found.fit.shares))
        evenly = self.draw is not None
        network = BayesianNetwork(layout=found.layout, families=families, plausibility=found.rules, evenly=evenly)
        return AdaptiveModel(layout=layout, network=network, learned=found)

    def effort(self, layout: Layout) -> float:
        return float(self.clique_cells * len(layout.sizes))

    def seconds(self, layout: Layout, rows: int) -> float:
        """Rounds grow with the columns, and so do a round's cliques (measured: docs/appendix/benchmarks.md)."""
        return 3e-7 * min(self.clique_cells, layout.n_cells) * len(layout.sizes) ** 2

    def peak_cells(self, layout: Layout) -> int:
        """Sampling, or the cliques: every round may add one, with a few copies of each, and the tables that compete."""
        cliques = 4 * len(layout.sizes) * min(self.clique_cells, layout.n_cells)
        competing = 3 * sum(layout.subset(columns).n_cells for columns in self.weights(layout) if len(columns) == 2)
        return max(6 * min(layout.n_cells, BayesianNetwork.frontier_limit), cliques + competing)


class Adaptive(AdaptiveGenerator):
    """Tables are chosen and measured where the model is worst: zero-concentrated.

    Examples
    --------
    >>> Adaptive().guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "Adaptive measurement (after AIM: McKenna, Mullins, Sheldon and Miklau, PVLDB 2022): again and again the small table "
        "that the model gets most wrong is chosen privately and measured with noise; the rows follow the table of largest "
        "entropy that matches all measurements."
    )
    no_draft: ClassVar[str] = "A draft keeps to pure differential privacy, of which `adaptive_pure` is the family."
    family: Literal["adaptive"] = "adaptive"
    guarantee: ClassVar[Guaranteed] = "zCDP"
    gaussian: ClassVar[bool] = True
    first: ClassVar[Fraction] = Fraction(1, 4)
    last: ClassVar[Fraction] = Fraction(3, 20)
    rounds_per_column: ClassVar[int] = 3
    growth: ClassVar[float] = 2 / 3  # the l1 errors of tables with cells k and noise variance 1 / part add up to the least

    def charge(self, epsilon: Fraction) -> Charge:
        return zero_concentrated(GENERATION, epsilon, "adaptive choice and measurement of tables (Feldman & Zrnic 2021)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        """Measure the columns, then choose and measure tables until the budget is used up.

        Privacy
        -------
        rho-zero-concentrated, and sqrt(2 rho)-Gaussian where the charge says so, neighbours replace one record: rounded
        Gaussian tables of squared l2 sensitivity 2 and choices of sensitivity 2 for each unit of weight, whose parts add up to
        at most rho (`mechanism`; theory 12.11, adaptive generators).
        """
        from synthrelease.candidates.generators.adaptive.mechanism import ExactlyGaussian, Gaussian

        kind = ExactlyGaussian if charge.gaussian else Gaussian
        return self._fit(private, charge, background, kind, charge.curve().rho)


class AdaptivePure(AdaptiveGenerator):
    """Tables are chosen and measured where the model is worst: pure differential privacy.

    Examples
    --------
    >>> AdaptivePure(tables="0.5 all 1-way + all 2-way").guarantee
    'pure'
    """

    words: ClassVar[str] = (
        "Adaptive measurement under pure differential privacy (after AIM: McKenna, Mullins, Sheldon and Miklau, PVLDB 2022): "
        "again and again the small table that the model gets most wrong is chosen privately and measured with noise; the rows "
        "follow the table of largest entropy that matches all measurements."
    )
    draft: ClassVar[dict[str, object]] = {"prior_weight": [50, 300]}
    family: Literal["adaptive_pure"] = "adaptive_pure"
    tables: Formula = "all 2-way"
    guarantee: ClassVar[Guaranteed] = "pure"
    first: ClassVar[Fraction] = Fraction(3, 10)
    last: ClassVar[Fraction] = Fraction(0)
    rounds_per_column: ClassVar[int] = 1
    growth: ClassVar[float] = 0.0  # with one round for a column, unequal parts leave too few

    def charge(self, epsilon: Fraction) -> Charge:
        return pure_charge(
            GENERATION, epsilon, "adaptive choice and measurement of tables (Rogers, Roth, Ullman & Vadhan 2016)"
        )

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        """Measure the columns, then choose and measure tables until the budget is used up.

        Privacy
        -------
        eps-DP, eps = pure_epsilon(charge), neighbours replace one record: discrete Laplace tables of l1 sensitivity 2 and
        choices of sensitivity 2 for each unit of weight, whose parts add up to at most eps (`mechanism`; theory 12.11,
        adaptive generators).
        """
        from synthrelease.candidates.generators.adaptive.mechanism import Laplace

        return self._fit(private, charge, background, Laplace, pure_epsilon(charge))
