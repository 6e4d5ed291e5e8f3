"""Explain a criterion in public: its words, its sensitivity, and what its figure says about other questions.

Nothing here scores. What is said follows from public facts (`criteria.facts`): from a released table, from the settings, or,
in a rehearsal, from rows that are public.
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
    """Explain a criterion to readers of a release, and to a steward before a release.

    A kind says of itself what it can; what it cannot say has a reason (`no_sensitivity`, `no_bounds`, `no_offender`), and
    tests/test_contracts.py demands one or the other.
    """

    about: Kind
    bounds_every_cell: ClassVar[bool] = False
    """Whether the figure bounds the error of every cell of small tables, on which all other bounds rest."""
    no_sensitivity: ClassVar[str] = ""
    """Why, or when, the sensitivity does not follow from what a bundle holds."""
    no_bounds: ClassVar[str] = ""
    """Why the figure says nothing about queries that no criterion named."""
    no_offender: ClassVar[str] = ""
    """Why no part of the public table can be named as the one with the largest error."""

    # Words, for card, plan and report.

    def sentence(self, facts: PublicFacts) -> str:
        """Return the meaning of the figure, for readers of the card."""
        raise NotImplementedError

    def figure_unit(self, facts: PublicFacts) -> str:
        """Return the unit of the figure, in words; empty where it has none."""
        if self.about.counts_rows:
            return "share of the rows"
        raise NotImplementedError

    # What readers compute themselves.

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        """Return the sensitivity of the figure, from public facts alone; None where they do not determine it."""
        return 1 / facts.n if self.about.counts_rows else None

    def public_figure(self, facts: PublicFacts) -> float | None:
        """Return the figure, where the released table alone determines it; None where it depends on private counts."""
        return None

    # What follows for other questions.

    def known_error(self, limit: float, facts: PublicFacts) -> KnownError | None:
        """Return what follows for the original table when the exact figure is at most `limit`; None where nothing follows."""
        return None

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float | None:
        """Return the most that the exact figure grows when all kept rows of the file replace the drawn ones, except at the risk
        of the drawing, with rows counted as shares; None without a limit (theory 13.17, drawn shares).
        """
        return None

    def every_cell_up_to(self, n_columns: int) -> int:
        """Return of how many columns a table may be for the figure to bound the error of each of its cells; 0 for none."""
        return 0

    # Before a release, for a plan and a rehearsal.

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float | None:
        """Return a lower limit of the sensitivity for any candidate of n rows; None where the settings do not determine it."""
        return 1 / n if self.about.counts_rows else None

    def seconds(self, layout: Layout, rows: int) -> float:
        """Estimate how long a score takes on one core, beyond a few passes through the cells that occur."""
        return 0.0

    @property
    def asks_single_columns(self) -> bool:
        """Return whether the figure looks at each column by itself. Then a table of independent columns with the right
        shares meets it, whatever the threshold is, and it shows nothing about associations.
        """
        return False

    def guards(self, pair: LostPair) -> bool:
        """Return whether the figure concerns these two columns together: it names them, or must fail when their association
        is lost.
        """
        return False

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """Return where on public rows the figure comes from; None where the class says why (`no_offender`), or for a perfect
        candidate.

        Parameters
        ----------
        public : a table of public rows on the candidate's bins. Never a private one: see `criteria.facts`.
        """
        return None
