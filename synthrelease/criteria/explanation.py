"""Define the base class of explanations, which describe a criterion, its sensitivity, and the error bounds that follow from
its value.

Explanations do not score candidates. They use only public facts (`criteria.facts`): a released table, the settings, or the
public rows of a rehearsal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.facts import KnownError, LostPair, Offender, PublicCounts, PublicFacts

if TYPE_CHECKING:
    from synthrelease.data.layout import Layout
    from synthrelease.data.synthetic_table import SyntheticTable
    from synthrelease.generators.drawing import Drawing

Kind = TypeVar("Kind", bound=Criterion)


@dataclass(frozen=True)
class Explanation(Generic[Kind]):
    """Explain a criterion to the readers of a release, and to the steward before it.

    Each kind overrides these methods, or gives the reason why a method does not apply.
    """

    about: Kind
    bounds_every_cell: ClassVar[bool] = False
    """Whether the criterion value bounds the error of every cell of small tables. Most bounds from other criteria need this
    bound.
    """
    no_sensitivity: ClassVar[str] = ""
    """The reason why the sensitivity cannot be computed from the files of a bundle, or cannot be computed in some cases."""
    no_bounds: ClassVar[str] = ""
    """The reason why the criterion value gives no bound on other quantities."""
    no_offender: ClassVar[str] = ""
    """The reason why the program cannot name the part of the table with the largest error."""

    # Texts that card, plan and report show.

    def sentence(self, facts: PublicFacts) -> str:
        raise NotImplementedError

    def figure_unit(self, facts: PublicFacts) -> str:
        if self.about.counts_rows:
            return "share of the rows"
        raise NotImplementedError

    # Values that readers of a release can compute.

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        """Return the sensitivity from public facts, or None if they do not determine it."""
        return 1 / facts.n if self.about.counts_rows else None

    def public_figure(self, facts: PublicFacts) -> float | None:
        """Return the criterion value if it follows from the released table alone, else None."""
        return None

    # Error bounds of other quantities.

    def known_error(self, limit: float, facts: PublicFacts) -> KnownError | None:
        """Return the bound on errors of counts, means or ratios if the exact value is at most `limit`, or None."""
        return None

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float | None:
        """Return an upper limit on how much larger the criterion value could be for all rows of the file that pass the
        rules than for the random subset that the release uses, or None. Both values use counts as shares of the rows
        (theory 13.17, drawn shares). The limit is wrong with probability at most `drawing.risk`.
        """
        return None

    def every_cell_up_to(self, n_columns: int) -> int:
        """Return the largest k for which the value bounds the error of every cell in all tables of at most k columns, or 0."""
        return 0

    # For a plan and a rehearsal, before the release is made.

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float | None:
        """Return a lower limit on the sensitivity for every candidate of n rows, or None if the settings determine none."""
        return 1 / n if self.about.counts_rows else None

    def seconds(self, layout: Layout, rows: int) -> float:
        """Return the estimated seconds of one score on one core, without a few passes over the occupied cells."""
        return 0.0

    @property
    def asks_single_columns(self) -> bool:
        """Return whether the value depends only on the shares of single columns, so that independent columns with the right
        shares meet any threshold.
        """
        return False

    def guards(self, pair: LostPair) -> bool:
        """Return whether the criterion would notice that the association of two columns is lost."""
        return False

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """Return the part, such as a cell or a group, in which the candidate has the largest error compared with public
        rows, or None (`no_offender`).

        Parameters
        ----------
        public : a table of public rows on the candidate's bins; never a private table (see `criteria.facts`).
        """
        return None
