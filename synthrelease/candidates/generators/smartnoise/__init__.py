"""MST and AIM as smartnoise-synth 1.0.8 has them (on mbi 1.1), with noise, choices and rows of our own.

The library decides which tables are measured and fits the model. Three things of it are not used (docs/generators.md):

- Its domain comes from the public layout, never from the rows that occur.
- Its Gaussian noise is replaced by exact, rounded Gaussian noise, which is as good on integer counts, and its exponential
  mechanism, which draws from numpy's global generator, by the one of all other generators: both draw from the operating system.
- Its rows are not used. mbi's default, `round`, keeps the order of the rows inside each parent group, so that columns depend on
  each other that should not. Rows are drawn from the fitted tables.

Measuring and fitting are mixed there, so all of a fit runs behind the door (`mechanism`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from synthrelease.candidates.generators.base import Generator, Guaranteed
from synthrelease.candidates.generators.bayesian_network import BayesianNetwork, margin_of
from synthrelease.candidates.generators.junction_tree import JunctionTree, spread
from synthrelease.candidates.generators.maximum_entropy import families_of
from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import InputError, RejectedRound, rejecting
from synthrelease.libraries import install
from synthrelease.privacy.charges import GENERATION, Charge
from synthrelease.privacy.plan import library_charge, replacing_one
from synthrelease.settings.base import Mistake

if TYPE_CHECKING:
    from synthrelease.candidates.generators.smartnoise.library import LearnedField

_FLOOR = 1e-12
"""Added to the share of every possible cell, so that rules can leave any of them."""


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
            expected = 'a family that is installed; this one comes with the extra "smartnoise" of synthrelease'
            yield Mistake(field="family", expected=expected, found=repr(self.family))

    def load(self) -> None:
        try:
            for module in ("mbi", "mbi.junction_tree", f"snsynth.{self.family}"):
                import_module(module)
        except Exception as error:  # whatever a broken installation raises
            raise InputError(
                f"Expected the libraries of {self.family!r}, found an installation that cannot be used ({error}). Nothing was "
                f"spent. {install('smartnoise')}"
            ) from error

    def charge(self, epsilon: Fraction) -> Charge:
        """The rho of a fit. A quarter of it is asked of the library (`neighbours`)."""
        return replacing_one(self._by_library(epsilon))

    def rho_of_library(self, charge: Charge) -> Fraction:
        """The rho that the library is given.

        Privacy
        -------
        It is rho / 4 zero-concentrated for adding or removing a record, and replacing one is two such steps (`replacing_one`).
        The number of rows that it is given is public.
        """
        return self._by_library(charge.curve().rho).curve().rho

    def _by_library(self, rho: Fraction) -> Charge:
        return library_charge(GENERATION, self.guarantee, rho, f"{self.family.upper()} ({self.paper})")

    def seconds(self, layout: Layout, rows: int) -> float:
        return self.usual_seconds * len(layout.sizes) / 6

    def peak_cells(self, layout: Layout) -> int:
        return BayesianNetwork.peak_cells(layout)


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
    from synthrelease.candidates.generators.smartnoise.library import column_names

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
