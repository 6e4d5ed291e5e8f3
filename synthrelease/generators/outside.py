"""Run a generator of another package, which gets only noisy tables and sums, so that the guarantee does not depend on its
code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from synthrelease.data.counts import DENSE_LIMIT, Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.generators.base import Background, Generator, Model
from synthrelease.privacy.charges import GENERATION, Charge, zero_concentrated
from synthrelease.privacy.charges import mechanism as pure_charge
from synthrelease.privacy.plan import pure_epsilon

if TYPE_CHECKING:
    from synthrelease.enclave.door import PrivateCounts
    from synthrelease.generators.adaptive_mechanism import PrivateTables


class NoisyTables:
    """The noisy tables and sums that a generator of another package may request. Each answer takes a share of the budget.

    Attributes
    ----------
    layout : the columns with their numbers of bins.
    n : the number of rows, public.

    Privacy
    -------
    The charge of the fit covers all answers together, for any requests in any order. A request may depend on earlier
    answers. Shares that add up to more than 1 are refused (`PrivateTables`; theory 12.10, a budget that answers share out).
    """

    def __init__(self, tables: PrivateTables, layout: Layout, n: int):
        self.layout, self.n = layout, n
        self._tables, self._budget = tables, tables.left

    @property
    def left(self) -> Fraction:
        """Return the share of the budget that is not yet spent, from 1 down to 0."""
        return self._tables.left / self._budget

    def table(self, columns: Sequence[int], share: Fraction) -> np.ndarray:
        """Return the noisy int64 counts of the table of these columns, one axis per column.

        Parameters
        ----------
        columns : increasing column indices, at least one.
        share : the share of the budget for this table, above 0 and at most `left`.

        Raises
        ------
        ValueError : if the share exceeds `left`, or if the columns are invalid. In these cases no private count is read.
        """
        return self._tables.table(self._checked(columns), self._part(share))

    def total(self, columns: Sequence[int], scores: np.ndarray, share: Fraction) -> int:
        """Return the noisy sum over all rows of a score of cells, such as 0, 1 or 2.

        Parameters
        ----------
        columns : as in `table`.
        scores : public whole numbers between -10^6 and 10^6, one for each cell of the table. Replacing a record changes the
            sum by at most the highest minus the lowest score.
        share : as in `table`.
        """
        return self._tables.total(self._checked(columns), scores, self._part(share))

    def _checked(self, columns: Sequence[int]) -> Columns:
        if not columns or list(columns) != sorted({*columns} & set(range(len(self.layout.sizes)))):
            raise ValueError(f"Columns must be ascending numbers below {len(self.layout.sizes)}, not {tuple(columns)}")
        return tuple(columns)

    def _part(self, share: Fraction) -> Fraction:
        if not isinstance(share, Fraction | int):  # sums of floats are inexact
            raise ValueError(f"The share must be a Fraction, not a {type(share).__name__}")
        if not 0 < share <= self.left:
            limit = f"The share must be above 0 and at most {self.left}" if self.left else "The whole budget is already used"
            raise ValueError(f"{limit}. The requested share is {share}")
        return share * self._budget


class OutsideGenerator(Generator):
    """A generator of another package, registered as an entry point of the group `synthrelease.generators`.

    A subclass defines its settings as fields, describes its method in `words`, and implements one method: `build`.

    Privacy
    -------
    `guarantee` is "pure" (discrete Laplace noise) or "zCDP" (rounded Gaussian noise), at the budget of a fit; neighbours
    replace one record. The subclass gets no exact counts, so the guarantee does not depend on its code.
    """

    guarantee = "pure"
    RESERVED: ClassVar[frozenset[str]] = frozenset(("charge", "fit", "count_noise", "gaussian", "by_library", "most_rows"))
    """Names of methods and attributes that determine noise and charge. No subclass may define one of them."""

    def build(self, ask: NoisyTables, background: Background) -> Model:
        """Ask for noisy tables (`ask`), and return a model. Its method `sample(n, generator)` must return exactly n rows,
        as `Counts` over `ask.layout`.
        """
        raise NotImplementedError

    def charge(self, epsilon: Fraction) -> Charge:
        because = f"noisy tables and sums that {self.family} asks for"
        return (pure_charge if self.guarantee == "pure" else zero_concentrated)(GENERATION, epsilon, because)

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> Model:
        """Run `build` with noisy answers about the counts, within the budget of the charge.

        Privacy
        -------
        A fit has the guarantee of the charge, because only answers of `NoisyTables` leave the wrapper; neighbours replace
        one record.
        """
        from synthrelease.generators.adaptive_mechanism import Gaussian, Laplace, opened

        kind, budget = (Laplace, pure_epsilon(charge)) if self.guarantee == "pure" else (Gaussian, charge.curve().rho)
        tables = private.spend(charge, partial(opened, kind=kind, budget=budget, entropy=private.entropy))
        return _Checked(model=self.build(NoisyTables(tables, private.layout, private.n), background), layout=private.layout)

    def peak_cells(self, layout: Layout) -> int:
        return min(layout.n_cells, DENSE_LIMIT)


@dataclass(frozen=True, kw_only=True)
class _Checked:
    """A model of another package. The layout and the number of its drawn rows are checked."""

    model: Model
    layout: Layout

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        rows = self.model.sample(n, generator)
        if not isinstance(rows, Counts) or rows.layout != self.layout or rows.total != n:
            raise ValueError(
                f"The model of another package must return {n:,} rows of the fitted columns, but it returned other rows"
            )
        return rows
