"""Marginals as they are typically used: the mean, and a quantile, of the distances of many tables.

The largest error is the guarantee for each single cell; at the same budget a mean over hundreds of tables says more about the
use of the whole (theory 3.10, distances of tables).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from synthrelease.criteria.base import Query, Setting
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.guarding import LostPair
from synthrelease.criteria.marginal_tables import MarginalCriterion, furthest
from synthrelease.criteria.measured_sums import Limits, Sums
from synthrelease.criteria.members import OfMembers, reads_members
from synthrelease.criteria.offenders import Offender, PublicCounts, share
from synthrelease.criteria.wording import shown, words
from synthrelease.data.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from synthrelease.generators.drawing import Drawing


class TypicalMarginalError(MarginalCriterion, OfMembers):
    """A figure of the distances of the compared tables: of each, the share of the rows that would have to move to make it
    right.

    The distance of a table is its total variation, sum |r - s| / (2n) over its cells; cells that one side lacks count with all
    the other has.
    """

    counts_rows: ClassVar[bool] = True

    @property
    def worst_figure(self) -> float:
        return 1.0

    def figure_unit(self, facts: PublicFacts) -> str:
        return "share of the rows"

    def public_sensitivity(self, facts: PublicFacts) -> float:
        return 1 / facts.n

    def guards(self, pair: LostPair) -> bool:
        """Only where no other table is compared: a figure of many tables hardly moves when one pair is lost."""
        alone = self.largest is None and len(self._named) == 1 and bool(self._named[0] and self._named[0].columns)
        return alone and self.compares_table(pair.columns, pair.n_columns) and pair.distance > self.threshold

    def drawn_error(self, drawing: Drawing, facts: PublicFacts) -> float:
        """No table is further off than it was by more than the distance of its drawn rows from those of the file."""
        return drawing.of_distances(self.compared(facts), {column.name: len(column.labels) for column in facts.columns})

    def measured_sums(self, facts: PublicFacts) -> list[Sums]:
        """Every cell of every table."""
        return [Sums(columns=columns) for columns in self.compared(facts)]

    def furthest_moved(self, limits: Sequence[Limits], facts: PublicFacts) -> list[int]:
        """Of every compared table the largest sum |r - s|."""
        return [int(furthest(each, facts.cells(columns)).sum()) for columns, each in self._with(limits, facts)]

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        """The table that is furthest off."""
        from synthrelease.criteria.marginals.mechanism import moved

        layout = candidate.counts.layout
        found = moved(public.counts, candidate.counts, self.up_to(len(layout.sizes)), self.named(layout))
        columns, furthest_off = max(found, key=lambda each: each[1])
        names = " by ".join(words(candidate.counts.layout.columns[column]) for column in columns)
        return Offender(
            where=f"the table of {names}", released=f"{share(furthest_off, 2 * candidate.n)} of the rows off", original="none"
        )


@reads_members
class MeanMarginalError(TypicalMarginalError):
    """The mean over the compared tables of sum |r - s| / (2n), their total variation distance.

    Privacy
    -------
    Sensitivity 1/n: one replaced record moves two cells of a table by 1 at most, so its sum by 2 and its distance by 1/n; the
    mean of numbers that each move by at most 1/n moves by no more. The sums are whole numbers; the mean is rounded once.

    Examples
    --------
    >>> judged = MeanMarginalError(
    ...     kind="mean_marginal_error", name="typical tables", threshold=0.05, epsilon="0.01",
    ...     tables=["all 2-way"]
    ... )
    >>> judged.least_sensitivity(10_000)
    0.0001
    """

    no_bounds: ClassVar[str] = "A mean over tables says nothing about a single one of them."
    asked_for: ClassVar[str] = "A table of columns as a whole: the share of the rows in a wrong cell"
    kind: Literal["mean_marginal_error"]

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft]:
        yield CriterionDraft(
            settings={
                "name": "typical error of pairs",
                "kind": "mean_marginal_error",
                "tables": ["all 2-way"],
                "threshold": 0.05,
                "epsilon": Fraction(1, 100),
            },
            remark="the share of rows in a wrong cell, on average over all tables of two columns",
            asks="pairs",
        )
        n = len(file.strongest)
        if 0 < n < math.comb(len(file.columns), 2):
            yield CriterionDraft(
                settings={
                    "name": "typical error of the strongest pairs",
                    "kind": "mean_marginal_error",
                    "tables": [":".join(pair) for pair in file.strongest],
                    "threshold": 0.1,
                    "epsilon": Fraction(1, 100),
                },
                remark=(
                    "the share of rows in a wrong cell of the table of the two columns that hang together"
                    if n == 1
                    else f"the share of rows in a wrong cell, on average over the tables of the {n} pairs of columns that hang "
                    "together most"
                ),
                asks="pairs",
            )
        if file.members:
            yield from _of_members(file)

    def sentence(self, facts: PublicFacts) -> str:
        return (
            "On average over all tables of "
            f"{self.tables_in_words(len(facts.columns))}: the share of the released rows that would have to be moved to "
            "another cell for the table to be the original one."
        )

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals.mechanism import mean_distance

        layout = candidate.counts.layout
        largest, named = self.up_to(len(layout.sizes)), self.named(layout)
        tables = self.n_tables(layout)
        return Query(
            sensitivity=1 / n,
            figure=partial(mean_distance, candidate=candidate.counts, largest=largest, named=named, tables=tables, rows=n),
        )

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        return sum(self.furthest_moved(limits, facts)) / (2 * facts.n * len(limits))


@reads_members
class QuantileMarginalError(TypicalMarginalError):
    """The q-quantile over the compared tables of sum |r - s| / (2n): a share q of the tables is at most so far off.

    Attributes
    ----------
    quantile : q, above 0 and at most 1 (the largest distance). Example: `quantile = 0.95`.

    Privacy
    -------
    Sensitivity 1/n: each table's distance moves by at most 1/n (`MeanMarginalError`), and so does the k-th smallest of them.
    Which tables count is fixed beforehand. A share of tables above a limit, on the other hand, could move by 1: it is never
    released.

    Examples
    --------
    >>> judged = QuantileMarginalError(
    ...     kind="quantile_marginal_error", name="most tables", threshold=0.05, epsilon="0.01",
    ...     quantile=0.9
    ... )
    >>> judged.least_sensitivity(10_000)
    0.0001
    """

    no_draft: ClassVar[str] = "The mean is drafted; which share of the tables matters is a decision about the table at hand."
    no_bounds: ClassVar[str] = "Which tables are among the share that is less far off is not known."
    kind: Literal["quantile_marginal_error"]
    quantile: float = Field(gt=0, le=1)

    def sentence(self, facts: PublicFacts) -> str:
        return (
            f"Of all tables of {self.tables_in_words(len(facts.columns))}, a share of {shown(self.quantile)} is at most so far "
            "off: the share of the released rows that would have to be moved to another cell for it to be the original one."
        )

    def measured_bound(self, limits: Sequence[Limits], facts: PublicFacts) -> float:
        """The k-th smallest distance is at most the k-th smallest of what bounds each."""
        place = math.ceil(Fraction(str(self.quantile)) * len(limits)) - 1
        return sorted(self.furthest_moved(limits, facts))[place] / (2 * facts.n)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.marginals.mechanism import quantile_distance

        layout = candidate.counts.layout
        largest, named = self.up_to(len(layout.sizes)), self.named(layout)
        place = math.ceil(Fraction(str(self.quantile)) * self.n_tables(layout)) - 1
        return Query(
            sensitivity=1 / n,
            figure=partial(quantile_distance, candidate=candidate.counts, largest=largest, named=named, place=place, rows=n),
        )


def _of_members(file: FileFacts) -> Iterable[CriterionDraft]:
    """All members, and who lives with whom: each a mean over tables of two columns."""
    slots = {f"{name}_" for name in file.members}
    roots = [each.name for each in file.columns if not any(each.name.startswith(slot) for slot in slots)]
    pairs = [*combinations(file.members, 2), *((root, member) for root in roots for member in file.members)]
    drafts = {
        "members": ("members in pairs of columns", pairs, "the share of members in a wrong cell, on average over their tables"),
        "pairs": (
            "members who belong together",
            [(name, f"other.{name}") for name in file.members],
            "the share of pairs of members of one root that are in a wrong cell, on average over their tables",
        ),
    }
    for of, (name, tables, remark) in drafts.items():
        yield CriterionDraft(
            settings={
                "name": name,
                "kind": "mean_marginal_error",
                "of": of,
                "tables": [":".join(pair) for pair in tables],
                "threshold": 0.1,
                "epsilon": Fraction(1, 100),
            },
            remark=remark,
        )
