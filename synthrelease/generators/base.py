"""Define the base classes of generator families, with their settings, charge, fit and model.

Every generator fits a model to private counts at a stated charge. Rows can then be sampled any number of times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np

from synthrelease.data.counts import DENSE_LIMIT, Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.generators.associations import TableNoise, Ties
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace
from synthrelease.privacy.charges import Charge
from synthrelease.privacy.grids import MOST_ROWS
from synthrelease.privacy.plan import pure_epsilon
from synthrelease.settings.base import Mistake, SpecTable

if TYPE_CHECKING:
    from synthrelease.enclave.door import PrivateCounts
    from synthrelease.generators.measurements import NoisyMarginals, NoisySum

Guaranteed = Literal["pure", "zCDP", "approximate"]

_BYTES_OF_A_NUMBER = 8


class Model(Protocol):
    """A fitted, differentially private model of a table."""

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Draw exactly n synthetic rows over the columns and bins of the fit. This is post-processing, without a privacy
        cost.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Background:
    """Public facts that a fit may use, over the same bins as the private table.

    Attributes
    ----------
    prior : a public table over the layout, or None.
    ordered : for each column, the number of leading bins that are ordered, whose neighbours may be grouped; 0 without an
        order. () if no column is ordered.
    """

    plausibility: Plausibility
    prior: Counts | None = None
    ordered: tuple[int, ...] = ()


class Generator(SpecTable):
    """The base class of generator families. An object contains the validated hyperparameters from the configuration file.

    A new family needs one file with a subclass, one line in `GENERATORS`, and examples (tests/examples). The subclass
    describes its method in words, states its memory and work, and says how `init` drafts it. tests/test_contracts.py checks
    this.

    Attributes
    ----------
    family : the family of generators, which determines the further hyperparameters.
    """

    family: str
    guarantee: ClassVar[Guaranteed]
    """The privacy definition of a fit: pure, zero-concentrated or approximate. It determines whether the budget is an epsilon
    or a rho.
    """

    gaussian: ClassVar[bool] = False
    """Whether a fit at rho is also sqrt(2 rho)-Gaussian, if its charge states this (`privacy.curves`)."""

    words: ClassVar[str]
    """Two sentences for the card: how generators of this family work, and the paper with the method."""

    draft: ClassVar[Mapping[str, object]] = {}
    """Hyperparameters that `init` writes into a draft, by key; empty if `init` drafts no such generator."""

    no_draft: ClassVar[str] = ""
    """The reason why `init` drafts no such generator."""

    library_megabytes: ClassVar[int] = 0
    """Memory in megabytes that the libraries of this family add to a process, as measured (docs/appendix/benchmarks.md)."""

    counts: ClassVar[bool] = False
    """Whether the family's models enforce rules that count (`counters`): combinations that break such a rule have probability
    0.
    """

    most_rows: ClassVar[int] = MOST_ROWS
    """Largest number of rows for which the privacy of a fit is proved. The docstring of the fit states the reason."""

    by_library: ClassVar[bool] = False
    """Whether a library draws the noise. The library's neighbours differ by adding or removing one record."""

    packages: ClassVar[tuple[str, ...]] = ()
    """Names of the packages that only this family needs."""

    @property
    def prior_file(self) -> str | None:
        """Return the public table from which the fit starts, as written in the configuration, or None."""
        return None

    def load(self) -> None:
        """Import the libraries that a fit needs, so that a missing one is reported before any budget is spent.

        Raises
        ------
        InputError : if a library cannot be imported.
        """

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        """Yield what is wrong in these hyperparameters for a table with this layout, such as an unknown column.

        Parameters
        ----------
        layout : the layout of the finest table that a configuration may use.
        tied : the columns of each plausibility rule.
        """
        return ()

    def charge(self, epsilon: Fraction) -> Charge:
        """Return the charge for one fit with budget `epsilon`, stated as an epsilon or, if the guarantee is zCDP, as a rho."""
        raise NotImplementedError

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> Model:
        """Fit a model to a private table with noise, at the cost of `charge`.

        Raises
        ------
        RejectedRound : if no model fits the noisy measurements. Whether this happens depends on noisy values only.
        """
        raise NotImplementedError

    def fixed_tables(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        """Return the columns, in increasing order, of each table that every fit measures; () if tables are chosen during
        the fit.
        """
        return ()

    def fixed_questions(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        """Return the columns of each table and sum that every fit measures."""
        return self.fixed_tables(layout)

    def stated(self, layout: Layout) -> Sequence[tuple[int, ...]]:
        """Return the columns, in increasing order, of each table and sum that the settings tell the model to use, by
        default none.

        Raises
        ------
        ValueError : if the settings name columns that the layout does not have.
        """
        return ()

    def ties(self, layout: Layout) -> Ties:
        """Return the sets of columns whose association a model may contain, by default all columns, because a fit chooses
        its tables privately.
        """
        return Ties(chosen=(tuple(range(len(layout.sizes))),))

    def count_noise(self, layout: Layout, charge: Charge) -> Mapping[tuple[int, ...], TableNoise]:
        """Return the noise of each table that a fit at this charge measures; empty if tables are chosen privately."""
        return {}

    def bins_apart(self, layout: Layout) -> frozenset[int]:
        return frozenset()

    def unmeasured(self, layout: Layout, tied: Sequence[set[int]]) -> set[int]:
        """Return the columns that no measurement contains, and that no chain of rules (`tied`) connects with a measured
        column.

        Empty for a fit that chooses its tables or starts from a public table.
        """
        measured = {column for columns in self.fixed_questions(layout) for column in columns}
        if not measured or self.prior_file is not None:
            return set()
        for _ in tied:
            measured = measured.union(*(columns for columns in tied if columns & measured))
        return set(range(len(layout.sizes))) - measured

    def effort(self, layout: Layout) -> float:
        """Return the work of a fit in arbitrary units, comparable within a family on the same layout."""
        return float(self.peak_cells(layout))

    seconds_per_effort: ClassVar[float] = 1e-8
    """Approximate seconds for one unit of `effort`, as measured (docs/appendix/benchmarks.md). Machines differ."""

    def seconds(self, layout: Layout, rows: int) -> float:
        return self.effort(layout) * self.seconds_per_effort

    def grows(self, layout: Layout) -> str:
        """Return a phrase that says how the time and memory of an attempt grow."""
        few = layout.n_cells <= DENSE_LIMIT
        return "with the number of cells of the whole table" if few else "with the numbers of rows and columns, not of cells"

    def megabytes(self, layout: Layout) -> int:
        return self.library_megabytes + self.peak_cells(layout) * _BYTES_OF_A_NUMBER // 2**20

    def peak_cells(self, layout: Layout) -> int:
        """Return the largest number of cells that a fit or a sample keeps in memory at once."""
        raise NotImplementedError


class MeasuringGenerator(Generator):
    """The base class of generators that first measure the private table with noise, and then fit a model. Measurements can
    be shared by several rounds, and published.
    """

    noise: ClassVar[type[CountNoise]] = DiscreteLaplace
    """The kind of noise that every count of a table gets."""

    @property
    def leaves_out(self) -> str:
        """Return the name of a setting that keeps rows or measurements out of the measured tables, such as `rare_bins`, or
        "".
        """
        return ""

    def part(self, charge: Charge) -> Fraction:
        """Return the budget of all tables and sums of a fit: the epsilon of the charge or, with Gaussian noise, its rho."""
        return pure_epsilon(charge) if self.noise.cost == "epsilon" else charge.curve().rho

    def measure(self, private: PrivateCounts, charge: Charge) -> NoisyMarginals:
        """Spend the charge on noisy measurements of a private table. All later steps are post-processing."""
        raise NotImplementedError

    def measured_tables(self, layout: Layout, part: Fraction) -> Mapping[tuple[int, ...], Fraction]:
        """Return the cost of each measured table out of the budget `part`, by the columns of the table in increasing order."""
        raise NotImplementedError

    def count_noise(self, layout: Layout, charge: Charge) -> Mapping[tuple[int, ...], TableNoise]:
        measured = self.measured_tables(layout, self.part(charge))
        return {columns: TableNoise(law=self.noise.of_table(cost)) for columns, cost in measured.items() if cost}

    def fixed_tables(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        return self.measured_tables(layout, Fraction(1))

    def fixed_questions(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        return [*self.fixed_tables(layout), *(noisy_sum.columns for noisy_sum in self.measured_sums(layout, Fraction(1)))]

    def measured_sums(self, layout: Layout, part: Fraction) -> tuple[NoisySum, ...]:
        """Return the sums that a fit measures, with their noise at the budget `part` and the value 0."""
        return ()

    def model(self, measured: NoisyMarginals, background: Background) -> Model:
        """Fit a model to noisy measurements over the bins of `background`. Equal arguments give equal models.

        Raises
        ------
        RejectedRound : if no model fits the measurements.
        """
        raise NotImplementedError

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> Model:
        return self.model(self.measure(private, charge), background)

    def same_measurements(self, other: Generator) -> bool:
        """Return whether another generator would measure the same tables and sums, so that both can share measurements."""
        raise NotImplementedError
