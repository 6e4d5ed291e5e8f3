"""The base class of families of generators: settings, its charge, its fit, and the model that it gives.

The contract of every generator: fit on private counts at a stated charge, then sample as often as wanted.
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
    """A fitted, already private model of the table."""

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Return exactly n synthetic rows over the layout that the model was fitted on. Post-processing: free."""
        ...


@dataclass(frozen=True, kw_only=True)
class Background:
    """The public facts about a table on the bins of an attempt.

    Attributes
    ----------
    plausibility : rules for synthetic rows over the layout (structural zeros).
    prior : a public table over the layout, where the generator names one.
    ordered : per column, how many of its first bins are in order, so that neighbours may be put together; 0 where none are, and
        for all columns where it is empty.
    """

    plausibility: Plausibility
    prior: Counts | None = None
    ordered: tuple[int, ...] = ()


class Generator(SpecTable):
    """Hyperparameters of one family, validated as they stand in the configuration file.

    Adding a family takes one file with a subclass, one line in `GENERATORS`, and examples (tests/examples). Its
    words, its memory, its work and how `init` drafts it stand on the class, and tests/test_contracts.py demands them.

    Attributes
    ----------
    family : which family of models this is; its hyperparameters follow from it.
    """

    family: str
    guarantee: ClassVar[Guaranteed]
    """Differential privacy that is pure, zero-concentrated or approximate; it says what the budget of a fit is."""

    gaussian: ClassVar[bool] = False
    """Whether a fit at rho is also sqrt(2 rho)-Gaussian where its charge says so (`privacy.curves`)."""

    words: ClassVar[str]
    """The method of the family and its source, in two sentences for the card."""

    draft: ClassVar[Mapping[str, object]] = {}
    """Hyperparameters that `init` drafts, by their keys; empty where it drafts none."""

    no_draft: ClassVar[str] = ""
    """Why `init` drafts no such generator."""

    library_megabytes: ClassVar[int] = 0
    """What the libraries of this family add to the memory of a process, measured (docs/appendix/benchmarks.md)."""

    counts: ClassVar[bool] = False
    """Whether rules that count are exact zeros of its models (`counters`), so that its rows follow them."""

    most_rows: ClassVar[int] = MOST_ROWS
    """Rows for which its privacy is proved: its docstring says where the bound comes from."""

    by_library: ClassVar[bool] = False
    """Whether a library draws the noise, which counts in adding or removing a record."""

    packages: ClassVar[tuple[str, ...]] = ()
    """Libraries that this family alone uses, by the names of their packages."""

    @property
    def prior_file(self) -> str | None:
        """Return the public table that the fit starts from, as the configuration names it."""
        return None

    def load(self) -> None:
        """Import the libraries of a fit, so that a missing one is reported before anything is spent.

        Raises
        ------
        InputError : when something cannot be imported.
        """

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        """Return the mistakes in these hyperparameters.

        Parameters
        ----------
        layout : of the finest table that a configuration may use.
        tied : sets of columns, each of which one plausibility rule ties together.
        """
        return ()

    def charge(self, epsilon: Fraction) -> Charge:
        """Return the cost of a fit with this budget: epsilon, or rho where the guarantee is zCDP."""
        raise NotImplementedError

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> Model:
        """Spend the charge on a private table, already merged to the bins of this attempt.

        Raises
        ------
        RejectedRound : when the noisy measurements allow no model; a function of noisy values only.
        """
        raise NotImplementedError

    def fixed_tables(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        """Return columns, by increasing index, of the tables that every fit measures; none where a fit chooses its tables
        itself."""
        return ()

    def fixed_questions(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        """Return the columns of every table and of every sum that each fit measures."""
        return self.fixed_tables(layout)

    def stated(self, layout: Layout) -> Sequence[tuple[int, ...]]:
        """Return columns, by increasing index, of every table and sum of the model, where the settings state all that ties
        columns; otherwise none.

        Raises
        ------
        ValueError : for columns that the layout does not have.
        """
        return ()

    def ties(self, layout: Layout) -> Ties:
        """Return the associations between columns in the rows of its models. A fit whose class does not override this
        chooses its tables privately.
        """
        return Ties(chosen=(tuple(range(len(layout.sizes))),))

    def count_noise(self, layout: Layout, charge: Charge) -> Mapping[tuple[int, ...], TableNoise]:
        """Return the noise of the tables that a fit at this charge measures; none where they are chosen privately."""
        return {}

    def bins_apart(self, layout: Layout) -> frozenset[int]:
        """Return columns with bins whose rows are in no table."""
        return frozenset()

    def unmeasured(self, layout: Layout, tied: Sequence[set[int]]) -> set[int]:
        """Return the columns about which a fit of fixed tables, without a public table, has no information, not even
        through columns tied by a rule.
        """
        measured = {column for columns in self.fixed_questions(layout) for column in columns}
        if not measured or self.prior_file is not None:
            return set()
        for _ in tied:
            measured = measured.union(*(columns for columns in tied if columns & measured))
        return set(range(len(layout.sizes))) - measured

    def effort(self, layout: Layout) -> float:
        """Return how much work a fit is, in no particular unit: compares hyperparameters of one family on one layout."""
        return float(self.peak_cells(layout))

    seconds_per_effort: ClassVar[float] = 1e-8
    """Seconds of one unit of `effort`, as measured (docs/appendix/benchmarks.md); rough, and different on every machine."""

    def seconds(self, layout: Layout, rows: int) -> float:
        """Return an estimate of how long a fit takes on one core, for a table of so many rows."""
        return self.effort(layout) * self.seconds_per_effort

    def grows(self, layout: Layout) -> str:
        """Return the quantity that the time and memory of an attempt grow with, in words."""
        few = layout.n_cells <= DENSE_LIMIT
        return "with the product of all bins" if few else "with rows and columns, not with the product of all bins"

    def megabytes(self, layout: Layout) -> int:
        """Return the memory that a fit or a sample adds to a process at its peak."""
        return self.library_megabytes + self.peak_cells(layout) * _BYTES_OF_A_NUMBER // 2**20

    def peak_cells(self, layout: Layout) -> int:
        """Return the largest number of cells that the fit or the sample holds at once, for the memory estimate."""
        raise NotImplementedError


class MeasuringGenerator(Generator):
    """A generator that measures once and models afterwards, so that its measurements can be shared or published."""

    noise: ClassVar[type[CountNoise]] = DiscreteLaplace
    """The noise of every count of its tables."""

    @property
    def leaves_out(self) -> str:
        """The setting by which its tables are not of all rows, or not all that is measured; empty where they are."""
        return ""

    def part(self, charge: Charge) -> Fraction:
        """Return the part of a charge that the tables and sums share: its epsilon, or its rho where their noise is Gaussian."""
        return pure_epsilon(charge) if self.noise.cost == "epsilon" else charge.curve().rho

    def measure(self, private: PrivateCounts, charge: Charge) -> NoisyMarginals:
        """Spend the charge; everything after it is post-processing."""
        raise NotImplementedError

    def measured_tables(self, layout: Layout, part: Fraction) -> Mapping[tuple[int, ...], Fraction]:
        """Return the columns, by increasing index, of every table measured with this `part`, and the cost of each."""
        raise NotImplementedError

    def count_noise(self, layout: Layout, charge: Charge) -> Mapping[tuple[int, ...], TableNoise]:
        measured = self.measured_tables(layout, self.part(charge))
        return {columns: TableNoise(law=self.noise.of_table(cost)) for columns, cost in measured.items() if cost}

    def fixed_tables(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        return self.measured_tables(layout, Fraction(1))

    def fixed_questions(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        return [*self.fixed_tables(layout), *(noisy_sum.columns for noisy_sum in self.measured_sums(layout, Fraction(1)))]

    def measured_sums(self, layout: Layout, part: Fraction) -> tuple[NoisySum, ...]:
        """Return every sum measured with this `part`, with value 0 in place of the result."""
        return ()

    def model(self, measured: NoisyMarginals, background: Background) -> Model:
        """Return the model of measurements over the background's layout: a function of these, without any randomness.

        Raises
        ------
        RejectedRound : when there is none.
        """
        raise NotImplementedError

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> Model:
        return self.model(self.measure(private, charge), background)

    def same_measurements(self, other: Generator) -> bool:
        """Return whether the other one would measure the same, so that both can share measurements."""
        raise NotImplementedError
