"""Define the families MST and AIM, which run smartnoise-synth 1.0.8 (on mbi 1.1) with the noise, choices and sampling of
this package.

The library determines which tables are measured, and fits the model. This package replaces three parts
(docs/generators.md):

- The domain comes from the public layout, never from the rows that occur.
- Exact, rounded Gaussian noise replaces the Gaussian noise, and `noise.choose` the exponential mechanism, which draws from
  numpy's global generator. Both then use the operating system's entropy.
- Rows are drawn from the fitted tables. mbi's default method `round` keeps the order of the rows inside each parent group,
  which makes independent columns dependent.

The library mixes measuring and fitting, so the whole fit runs inside `spend` (`smartnoise_mechanism`).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.marginals import added_up
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import InputError, RejectedRound, rejecting, so_many
from synthrelease.generators.base import Background, Generator, Guaranteed
from synthrelease.generators.bayesian_network import BayesianNetwork
from synthrelease.generators.junction_tree import JunctionTree, spread
from synthrelease.generators.maximum_entropy import families_of
from synthrelease.privacy.charges import GENERATION, Charge
from synthrelease.privacy.plan import library_charge, replacing_one
from synthrelease.resources import install
from synthrelease.settings.base import Mistake

if TYPE_CHECKING:
    from synthrelease.generators.smartnoise_library import LearnedField

_FLOOR = 1e-12  # Number that is added to the share of every cell, so that every plausible cell has a positive share


class LibraryGenerator(Generator):
    """The base class of the generators of the library smartnoise-synth, whose guarantee is zero-concentrated for adding or
    removing one record.
    """

    guarantee: ClassVar[Guaranteed] = "zCDP"
    no_draft: ClassVar[str] = "The library of this generator is an extra that may not be installed."
    by_library: ClassVar[bool] = True
    library_megabytes: ClassVar[int] = 1200
    most_rows: ClassVar[int] = 2**30  # `Randomness.choose`
    usual_seconds: ClassVar[float] = 5.0
    """Seconds of a fit to six columns of the births. The library's optimiser takes nearly all of this time. More columns take
    longer.
    """
    packages: ClassVar[tuple[str, ...]] = ("smartnoise-synth", "mbi", "jax")
    paper: ClassVar[str]

    def mistakes(self, layout: Layout, tied: Iterable[Columns]) -> Iterable[Mistake]:
        if not all(find_spec(package) for package in ("snsynth", "mbi")):
            problem = f"The libraries of {self.family!r} are not installed"
            yield Mistake(field="family", text=f'{problem}. Install the extra "smartnoise" of synthrelease')

    def load(self) -> None:
        try:
            for module in ("mbi", "mbi.junction_tree", f"snsynth.{self.family}"):
                import_module(module)
        except Exception as error:  # a broken installation may raise any error
            raise InputError(
                f"The installed libraries of {self.family!r} cannot be used ({error}). No budget was spent. "
                f"{install('smartnoise')}"
            ) from error

    def charge(self, epsilon: Fraction) -> Charge:
        """Return the charge of a fit with budget `epsilon`. The library gets a quarter of its rho, because it counts adding
        or removing a record (`replacing_one`).
        """
        return replacing_one(self._by_library(epsilon))

    def rho_of_library(self, charge: Charge) -> Fraction:
        """Return the rho that the library may spend.

        Privacy
        -------
        The library is (rho / 4)-zero-concentrated for adding or removing a record. Replacing a record is one removal and
        one addition (`replacing_one`). The library also receives the number of rows, which is public.
        """
        return self._by_library(charge.curve().rho).curve().rho

    def _by_library(self, rho: Fraction) -> Charge:
        return library_charge(GENERATION, self.guarantee, rho, f"{self.family.upper()} ({self.paper})")

    def seconds(self, layout: Layout, rows: int) -> float:
        return self.usual_seconds * len(layout.sizes) / 6

    def peak_cells(self, layout: Layout) -> int:
        return BayesianNetwork.peak_cells(layout)


def network_of(learned: LearnedField, layout: Layout, plausibility: Plausibility) -> BayesianNetwork:
    """Convert the Markov random field of the library into a Bayesian network, from which rows are drawn (post-processing).
    Rules on columns that share a clique are exact zeros.

    Raises
    ------
    RejectedRound : if a clique has too many cells, or if the library's tables cannot be computed, contain NaN or have no
        plausible cell.
    """
    from synthrelease.generators.smartnoise_library import column_names

    model, names = learned.field, column_names(layout)
    sets = [tuple(sorted(names.index(name) for name in clique if name in names)) for clique in model.cliques]
    tree = JunctionTree.of(layout.sizes, [columns for columns in sets if columns])
    if tree.largest > DENSE_LIMIT:
        raise RejectedRound("the model connects too many cells")
    potentials = []
    for index, clique in enumerate(tree.cliques):
        with rejecting(ArithmeticError, np.linalg.LinAlgError, because="the library's model cannot be evaluated"):
            values = np.asarray(model.project([names[c] for c in clique]).datavector(flatten=False), dtype=float)
        shares = learned.expand(clique, np.maximum(values, 0.0) / values.sum()) + _FLOOR
        of_separator = added_up(shares, clique, tree.separator(index))
        with np.errstate(all="ignore"):
            table = np.log(shares) - np.log(spread(of_separator, tree.separator(index), clique))
        potentials.append(np.where(plausibility.structural_zeros(clique), -np.inf, table))
    total, beliefs = tree.calibrate(potentials)
    if not np.isfinite(total) or any(np.isnan(belief).any() for belief in beliefs):
        raise RejectedRound("the library fitted no table")
    families = tuple(families_of(tree, [np.exp(belief) for belief in beliefs]))
    return BayesianNetwork(layout=layout, families=families)


# AIM, an adaptive and iterative mechanism (McKenna, Mullins, Sheldon & Miklau, PVLDB 2022), from smartnoise-synth.


class AIM(LibraryGenerator):
    """AIM of smartnoise-synth: each round selects the table in which the model has the largest error, and measures this
    table.

    Attributes
    ----------
    degree : the number of columns of each table. Example: `degree = 3`.
    rounds : a round gets the whole budget divided by this number, which must be at least the number of columns: with less,
        the library would spend more than its budget on single columns. The actual number of rounds depends on noisy
        answers. Example: `rounds = [16, 96]`.
    max_model_size : the largest size of the fitted model (of its junction tree), in megabytes. Example: `max_model_size =
        20`.

    Examples
    --------
    >>> AIM(rounds=3).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "AIM (McKenna, Mullins, Sheldon and Miklau, PVLDB 2022): each round privately chooses a table in which the model "
        "has a large error, and measures it with noise. The rows follow a model of these tables."
    )
    family: Literal["aim"] = "aim"
    library_megabytes: ClassVar[int] = 1900
    usual_seconds: ClassVar[float] = 40.0
    degree: int = Field(default=2, ge=1, le=4)
    rounds: int = Field(default=16, ge=1, le=1000)
    max_model_size: float = Field(default=10.0, gt=0, le=32)
    paper: ClassVar[str] = "McKenna, Mullins, Sheldon & Miklau 2022"

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        yield from super().mistakes(layout, tied)
        if self.rounds < len(layout.sizes):
            problem = f"There are {len(layout.sizes)} columns but only {so_many(self.rounds, 'round')}. Each column needs one"
            yield Mistake(field="rounds", text=problem)

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> BayesianNetwork:
        """Let the library fit its model with noise, and convert it into a network.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record (`rho_of_library`; the proof is in
        `smartnoise_mechanism.run_aim`).
        """
        from synthrelease.generators.smartnoise_mechanism import run_aim

        rho, settings = self.rho_of_library(charge), self.model_dump(include={"degree", "rounds", "max_model_size"})
        learned = private.spend(charge, partial(run_aim, rho=rho, entropy=private.entropy, **settings))
        return network_of(learned, private.layout, background.plausibility)


# MST (McKenna, Miklau & Sheldon, 2021), from smartnoise-synth: a spanning tree of columns, chosen privately and measured.


class MST(LibraryGenerator):
    """MST of smartnoise-synth: measures every column, selects a tree of columns privately, and measures the pairs of the
    tree.

    Examples
    --------
    >>> MST().guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "MST (McKenna, Miklau and Sheldon 2021): all single columns and, along a privately chosen tree, pairs of columns are "
        "measured with noise; the rows follow a model of these tables."
    )
    family: Literal["mst"] = "mst"
    paper: ClassVar[str] = "McKenna, Miklau & Sheldon 2021"

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> BayesianNetwork:
        """Let the library fit its model with noise, and convert it into a network.

        Privacy
        -------
        rho-zero-concentrated, neighbours replace one record (`rho_of_library`; the proof is in
        `smartnoise_mechanism.run_mst`).
        """
        from synthrelease.generators.smartnoise_mechanism import run_mst

        rho = self.rho_of_library(charge)
        learned = private.spend(charge, partial(run_mst, rho=rho, entropy=private.entropy))
        return network_of(learned, private.layout, background.plausibility)
