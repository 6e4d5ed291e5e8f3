"""MST and AIM as smartnoise-synth 1.0.8 has them (on mbi 1.1), with noise, choices and rows of our own.

The library decides which tables are measured and fits the model. Three things of it are not used (docs/generators.md):

- Its domain comes from the public layout, never from the rows that occur.
- Its Gaussian noise is replaced by exact discrete Gaussian noise, which is as good on integer counts, and its exponential
  mechanism, which draws from numpy's global generator, by the one of all other generators: both draw from the operating system.
- Its rows are not used. mbi's default, `round`, keeps the order of the rows inside each parent group, so that columns depend on
  each other that should not. Rows are drawn from the fitted tables.

Measuring and fitting are mixed there, so all of a fit runs behind the door.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from synthrelease.accounting.charges import GENERATION, Charge
from synthrelease.accounting.neighbours import library_charge, replacing_one
from synthrelease.candidates.generators.base import Background, Generator, Guaranteed
from synthrelease.candidates.generators.bayesian_network import BayesianNetwork, margin_of
from synthrelease.candidates.generators.junction_tree import Columns, JunctionTree, spread
from synthrelease.candidates.generators.maximum_entropy import families_of
from synthrelease.domain.counts import DENSE_LIMIT, Counts
from synthrelease.domain.plausibility import Plausibility
from synthrelease.domain.schema import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import BudgetError, InputError, RejectedRound, rejecting
from synthrelease.randomness import SystemEntropy, choose
from synthrelease.toml.fields import Mistake

_STEPS = 2**10
"""Scores are rounded down to this part of their sensitivity."""

_FLOOR = 1e-12
"""Added to the share of every possible cell, so that rules can leave any of them."""


@dataclass(frozen=True)
class LearnedField:
    """A Markov random field that a library has fitted.

    Attributes
    ----------
    expand : a table of these columns over the field's domain -> the same over the layout.
    """

    field: Any
    expand: Callable[[Columns, np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class FittedTables:
    """What a library fitted: shares of the cells of some tables, by their column sets, all of the same law."""

    layout: Layout
    tables: dict[Columns, np.ndarray]


class LibraryGenerator(Generator):
    """A family of smartnoise-synth with a zero-concentrated guarantee for adding or removing one record."""

    guarantee: ClassVar[Guaranteed] = "zCDP"
    by_library: ClassVar[bool] = True
    library_megabytes: ClassVar[int] = 1200
    most_rows: ClassVar[int] = 2**30  # `Randomness.choose`
    usual_seconds: ClassVar[float] = 5.0
    """Of a fit of the births, six columns; nearly all of it is the library's optimiser, whose work grows with the columns."""
    packages: ClassVar[tuple[str, ...]] = ("smartnoise-synth", "mbi", "jax")
    paper: ClassVar[str]

    def mistakes(self, layout: Layout, tied: Iterable[Columns]) -> Iterable[Mistake]:
        if not all(find_spec(package) for package in ("snsynth", "mbi")):
            expected = 'a family that is installed; for this one: pip install "synthrelease[smartnoise]"'
            yield Mistake(field="family", expected=expected, found=repr(self.family))

    def load(self) -> None:
        try:
            for module in ("mbi", "mbi.junction_tree", f"snsynth.{self.family}"):
                import_module(module)
        except Exception as error:  # whatever a broken installation raises
            raise InputError(
                f"Expected the libraries of {self.family!r}, found an installation that cannot be used ({error}). Nothing was "
                'spent. Try: pip install "synthrelease[smartnoise]"'
            ) from error

    def charge(self, epsilon: Fraction) -> Charge:
        """The rho of a fit. A quarter of it is asked of the library (`neighbours`)."""
        return replacing_one(self._by_library(epsilon))

    def _by_library(self, rho: Fraction) -> Charge:
        return library_charge(GENERATION, self.guarantee, rho, f"{self.family.upper()} ({self.paper})")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> BayesianNetwork:
        """Run the library behind the door, and build a network of what it fitted.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record: the library is rho / 4 zero-concentrated for adding or removing a
        record (`_run` of each family says why), and replacing one is two such steps (`replacing_one`). The number of rows that
        it is given is public.
        """
        rho = self._by_library(charge.curve().rho).curve().rho
        learned = private.spend(charge, lambda counts: self._run(counts, rho, private.entropy))
        return network_of(tables_of(learned, private.layout), background.plausibility)

    def _run(self, counts: Counts, rho: Fraction, entropy: SystemEntropy) -> LearnedField:
        raise NotImplementedError

    def seconds(self, layout: Layout, rows: int) -> float:
        return self.usual_seconds * len(layout.sizes) / 6

    def peak_cells(self, layout: Layout) -> int:
        return BayesianNetwork.peak_cells(layout)


def dataset(counts: Counts) -> Any:
    """The rows as the library wants them, over the whole public domain; a column of one bin is added where there is but one."""
    import pandas as pd
    from mbi import Dataset, Domain

    names, sizes, rows = column_names(counts.layout), list(counts.layout.sizes), counts.expand()
    if len(sizes) == 1:
        names, sizes, rows = [*names, "col1"], [*sizes, 1], np.column_stack([rows, np.zeros(len(rows), dtype=np.int64)])
    return Dataset(pd.DataFrame(rows, columns=names), Domain(names, sizes))


def column_names(layout: Layout) -> list[str]:
    return [f"col{i}" for i in range(len(layout.sizes))]


class Randomness:
    """Noise and choices for a library, drawn as all other generators draw them, and added up as they are drawn.

    The sum does not rest on the library's own: every draw is refused that would pass `rho`.

    Privacy
    -------
    Zero-concentrated for adding or removing a record: noise of deviation s on a table of counts, whose l2 sensitivity is 1,
    costs 1 / (2 s^2); an exponential mechanism of epsilon costs epsilon^2 / 8 (Cesar & Rogers 2021, Lemma 4).
    """

    def __init__(self, rho: Fraction, entropy: SystemEntropy):
        self.left, self._entropy = rho, entropy

    def gaussian_noise(self, sigma: float, size: int | None = None) -> Any:
        """Discrete Gaussian noise for the counts of one table."""
        self._spend(1 / (2 * Fraction(float(sigma)) ** 2))
        noise = self._entropy.add_gaussian(np.zeros(size or 1, dtype=np.int64), float(sigma))
        return noise[0] if size is None else noise.tolist()

    def choose(self, scores: Sequence[float], epsilon: float, sensitivity: float) -> int:
        """Index of a high score: the exponential mechanism on scores rounded down, whose sensitivity is a step more.

        That step also covers the rounding errors of the scores, as long as they differ by less than a step in two neighbours:
        l1 distances of exact counts from public numbers, computed in double precision as mbi does, are off by less than 2^-17
        for tables of up to 2^30 rows and 2^22 cells, and a step is 2^-10.
        """
        self._spend(Fraction(float(epsilon)) ** 2 / 8)
        known = np.nan_to_num(np.asarray(scores, dtype=float), nan=0.0)  # where the model, which is public, is no number
        steps = [int(step) for step in np.floor(known / sensitivity * _STEPS)]
        exact = Fraction(float(epsilon))
        return choose(steps, sensitivity=_STEPS + 1, epsilon=exact, mechanism="exponential", entropy=self._entropy)

    def _spend(self, rho: Fraction) -> None:
        self.left -= rho
        if self.left < 0:
            raise BudgetError("the library wants to spend more than it was given")


@contextlib.contextmanager
def ours(module: ModuleType, **replaced: Callable[..., Any]) -> Iterator[None]:
    """While it lasts, these functions of a module of the library are ours, and it prints nothing."""
    theirs = {name: getattr(module, name) for name in replaced}
    try:
        for name, function in replaced.items():
            setattr(module, name, function)
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, function in theirs.items():
            setattr(module, name, function)


def library_budget(rho: Fraction) -> float:
    """A rho for the library, with room for the rounding of its sums."""
    return float(rho) * (1 - 1e-9)


def network_of(fitted: FittedTables, plausibility: Plausibility) -> BayesianNetwork:
    """A network to draw rows from. Rules on columns that stand together in a table are exact zeros. Post-processing.

    Raises
    ------
    RejectedRound : when the library's tables hold what is not a number, or nothing plausible.
    """
    layout = fitted.layout
    tree = JunctionTree.of(layout.sizes, fitted.tables)
    potentials = []
    for index, clique in enumerate(tree.cliques):
        shares = fitted.tables[clique] + _FLOOR
        given = margin_of(shares, clique, tree.separator(index))
        with np.errstate(all="ignore"):
            table = np.log(shares) - np.log(spread(given, tree.separator(index), clique))
        potentials.append(np.where(plausibility.structural_zeros(clique), -np.inf, table))
    total, beliefs = tree.calibrate(potentials)
    if not np.isfinite(total) or any(np.isnan(belief).any() for belief in beliefs):
        raise RejectedRound("the library fitted no table")
    families = tuple(families_of(tree, [np.exp(belief) for belief in beliefs]))
    return BayesianNetwork(layout=layout, families=families, plausibility=plausibility)


def tables_of(learned: LearnedField, layout: Layout) -> FittedTables:
    """The shares of what was learned, on the cliques of its junction tree. Post-processing.

    Raises
    ------
    RejectedRound : when a clique has too many cells.
    """
    model = learned.field
    names = column_names(layout)
    sets = [tuple(sorted(names.index(name) for name in clique if name in names)) for clique in model.cliques]
    tree = JunctionTree.of(layout.sizes, [columns for columns in sets if columns])
    if tree.largest > DENSE_LIMIT:
        raise RejectedRound("the model ties too many cells together")
    tables = {}
    for clique in tree.cliques:
        with rejecting(ArithmeticError, np.linalg.LinAlgError, because="the library's model cannot be evaluated"):
            values = np.asarray(model.project([names[c] for c in clique]).datavector(flatten=False), dtype=float)
        tables[clique] = learned.expand(clique, np.maximum(values, 0.0) / values.sum())
    return FittedTables(layout=layout, tables=tables)
