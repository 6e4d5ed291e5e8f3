"""Define the criterion face privacy: every row of the candidate, or every combination of bins in some columns, occurs at
least `minimum_count` times.

Paper 4.6; theory 3.7, face privacy. The stricter form, which checks all choices of a given number of columns, comes from a
stakeholder's request in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.columns import MAX_TABLES
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import Offender, PublicCounts, PublicFacts, Score, words
from synthrelease.data.counts import Counts
from synthrelease.data.marginals import lattice
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.privacy.charges import Charge
from synthrelease.settings.base import Mistake


class RareRows(Criterion):
    """The number of distinct released rows that occur fewer than `minimum_count` times. This number must be 0.

    With `columns` = b, the criterion counts the combinations of bins of any b columns that occur, but fewer than
    `minimum_count` times. If none is rare, no combination of fewer columns is rare. The number C(d, b) of tables of b
    columns must be at most `MAX_TABLES`.

    Privacy
    -------
    The criterion uses only the candidate, which is already differentially private, and costs nothing.

    Attributes
    ----------
    minimum_count : the smallest allowed number of copies of each distinct row or, with `columns`, of each combination. Set
        it at most to the `minimum_count` of the projection. Example: `minimum_count = 2`.
    columns : the number of columns of each checked combination. Without it, whole rows are checked. Example: `columns = 3`.
    threshold : always 0. You can omit it. Example: `threshold = 0`.
    epsilon : always 0, because only the released table is used. You can omit it. Example: `epsilon = 0`.

    Examples
    --------
    >>> RareRows(kind="face_privacy", name="rare rows", minimum_count=2).promised_count
    2
    """

    figure_gets_noise: ClassVar[bool] = False
    own_mechanism: ClassVar[str] = "none: the criterion uses synthetic rows only"
    compares: ClassVar[bool] = False
    no_measured_bound: ClassVar[str] = "The released table alone determines the criterion value."
    kind: Literal["face_privacy"]
    minimum_count: int = Field(ge=1)
    columns: int | None = Field(default=None, ge=1)
    threshold: float = Field(default=0.0, ge=0, le=0)
    epsilon: Fraction = Field(default=Fraction(0), ge=0, le=0)

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Score:
        return self._judged(self._rare(candidate.counts))

    def per_score(self) -> tuple[Charge, ...]:
        return ()

    @property
    def promised_count(self) -> int:
        return self.minimum_count if self.columns is None else 1

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        width = len(setting.schema.columns)
        if self.columns is not None and self.columns > width:
            yield Mistake("columns", f"`columns` is {self.columns}, but the release has only {width} columns")
        elif self._n_tables(width) > MAX_TABLES:
            problem = f"There are {self._n_tables(width):,} tables of {self.columns} columns. The limit is {MAX_TABLES:,}"
            yield Mistake("columns", f"{problem}. Choose a smaller number of columns")

    def _n_tables(self, width: int) -> int:
        return 1 if self.columns is None else math.comb(width, self.columns)

    def _rare(self, table: Counts) -> float:
        rows = float((table.counts < self.minimum_count).sum())
        if self.columns is None or not rows or self.columns == len(table.layout.sizes):
            return rows  # if no row is rare, no part of a row is rare
        return float(sum(rare for _, rare in self._rare_parts(table)))

    def _rare_parts(self, table: Counts) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield sets of columns (of size `columns`, or all columns), each with the number of its rare combinations."""
        from synthrelease.data.marginals import sub_tables

        width = self.columns or len(table.layout.sizes)
        for columns, values in sub_tables(lattice(table), width):
            if len(columns) == width:
                yield columns, int(((values > 0) & (values < self.minimum_count)).sum())


class RareRowsExplained(Explanation[RareRows]):
    """Explain a criterion that forbids released rows that occur too few times."""

    no_sensitivity = "The criterion value gets no noise, because the released table alone determines it (`public_figure`)."
    no_bounds: ClassVar[str] = "The criterion value uses released rows only."

    def figure_unit(self, facts: PublicFacts) -> str:
        return "different rows" if self.about.columns is None else "combinations"

    def sentence(self, facts: PublicFacts) -> str:
        columns, least = self.about.columns, self.about.minimum_count
        counted = f"different rows that occur fewer than {least} times"
        if columns is not None:
            counted = f"combinations of bins of any {columns} columns that occur, but fewer than {least} times"
        return f"The number of {counted}. The criterion uses released rows only, so it needs no noise."

    def public_figure(self, facts: PublicFacts) -> float:
        return self.about._rare(facts.table)

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        if self.about.columns is None:
            return None
        columns, rare = max(self.about._rare_parts(candidate.counts), key=lambda table: table[1])
        names = " by ".join(words(candidate.counts.layout.columns[column]) for column in columns)
        return Offender(where=f"the table of {names}", released=f"{rare} rare combinations", original="0 allowed")
