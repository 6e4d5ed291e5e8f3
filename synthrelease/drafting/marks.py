"""Groups of rare marks that come together, and whether a draft keeps more of them by their number in each row.

A mark that one row in a hundred has comes together with another one in a few rows, which the noise of their own table hides.
How many marks of a group a row has is one table of four cells, and each mark by that number one of eight: a model of largest
entropy shares the number out among the marks. Everything here looks at public data alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import lattice
from synthrelease.drafting.column_draft import ColumnDraft, plain_name
from synthrelease.drafting.toml_text import comment, toml
from synthrelease.parts import PARTS
from synthrelease.privacy.charges import decimal_text
from synthrelease.rehearsal.dependence import (
    LEAST_ODD,
    WEAKEST,
    cramers_v,
    from_independence,
    weight_of,
)

MOST = 3
"""Marks of one row that are told apart: so many stand for more, too."""
RARE = 0.1
"""Part of the rows that have a mark, at most."""
_TOGETHER = 0.8 * WEAKEST
"""Mean Cramer's V between the marks of two groups from which on they are one."""


@dataclass(frozen=True, kw_only=True)
class MarksDraft:
    """The draft of [marks].

    Attributes
    ----------
    groups : by the name of the column with their number, the columns of marks.
    yes : of each of these the category that is a mark.
    """

    groups: Mapping[str, tuple[str, ...]]
    yes: Mapping[str, str]

    def tables(self, raced: Sequence[str], names: Sequence[str], sizes: Sequence[int]) -> tuple[str, ...]:
        """The tables that were raced, without those of two marks of one group, and the number of each group by each mark.

        These tell how many rows have each mark, too, so that tables of single marks count half, and they themselves twice as
        much as other tables (docs/appendix/benchmarks.md has what other weights keep).

        Parameters
        ----------
        raced : tables with weights, as `PlanRace.terms` has them.
        names, sizes : of the columns without the numbers.
        """
        places = {name: place for place, name in enumerate((*names, *self.groups))}
        sizes = [*sizes, *(min(MOST, len(marks)) + 1 for marks in self.groups.values())]
        named = [tuple(term.rpartition(" ")[2].split(":")) for term in raced]
        inside = [set(marks) for marks in self.groups.values()]
        kept = [columns for columns in named if len(columns) == 1 or not any(set(columns) <= group for group in inside)]
        if any(len(columns) == 1 for columns in named):
            kept += [(number,) for number in self.groups]
        kept += [(number, mark) for number, marks in self.groups.items() for mark in marks]

        def weight(columns: tuple[str, ...]) -> str:
            of_numbers, whole = {*columns} & {*self.groups}, weight_of(tuple(sorted(places[name] for name in columns)), sizes)
            if len(columns) == 1:
                return decimal_text(whole / 2 if {*columns} & {*self.yes, *self.groups} else whole)
            return decimal_text(2 * whole if of_numbers else whole)

        return tuple(f"{weight(columns)} {':'.join(columns)}" for columns in kept)

    def lines(self, before: int, lost: int) -> list[str]:
        """The table [marks], and what is said above it.

        Parameters
        ----------
        before, lost : pairs that fits of the draft lose without and with it.
        """
        yes = {name: [label] for name, label in self.yes.items() if label != "1"}
        return [
            *comment(
                "Rare marks that come together in the public file. How many of a group a row has gets a column of its own, "
                f"which follows from the row exactly: with it most fits to the public file lose {lost} pairs of columns that "
                f"hang together, without it {before}, at the same epsilon."
            ),
            "[marks]",
            f"most = {MOST}".ljust(31) + " # stands for itself and all above",
            *([f"yes = {toml(yes)}"] if yes else []),
            "",
            "[marks.groups]",
            *(f"{name} = {toml(marks)}" for name, marks in self.groups.items()),
        ]


def draft_marks(columns: Sequence[ColumnDraft], table: Counts, lost: Collection[tuple[str, str]]) -> MarksDraft | None:
    """Groups of rare marks that come together, as far as a draft loses pairs of them; None where there are none.

    Parameters
    ----------
    table : the public rows in the drafted bins.
    lost : pairs of columns that fits of the draft lose.
    """
    if "marks" not in PARTS:
        return None
    yes = dict(_marks(columns, table))
    of_pairs = [set(pair) for pair in lost]
    if not any(pair <= set(yes) for pair in of_pairs):
        return None
    together = _together(table, yes)
    groups, taken = dict[str, tuple[str, ...]](), {column.name for column in columns}
    for group in _joined(list(yes), together):
        ties = [set(pair) for pair, (_, odd) in together.items() if odd >= LEAST_ODD and set(pair) <= set(group)]
        if len(group) > 2 and ties and any(pair <= set(group) for pair in of_pairs):
            name = plain_name(f"marks_{len(groups) + 1}", taken | set(groups))
            groups[name] = tuple(group)
    found = {mark: yes[mark][1] for group in groups.values() for mark in group}
    return MarksDraft(groups=groups, yes=found) if groups else None


def _marks(columns: Sequence[ColumnDraft], table: Counts) -> Iterator[tuple[str, tuple[int, str]]]:
    """The columns of two categories of which one is rare, with its bin and its label."""
    for column in columns:
        plain = column.kind in ("code", "category") and not column.common and not column.levels and len(column.codes) == 2
        if plain and column.name in table.layout.columns:
            rows = table.marginal([table.layout.columns.index(column.name)])[:2]
            mark = int(rows.argmin())
            if 0 < rows[mark] <= RARE * rows.sum():
                yield column.name, (mark, [draft.label for draft in column.codes.values()][mark])


def _together(table: Counts, yes: Mapping[str, tuple[int, str]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Of every two marks Cramer's V, 0 where they avoid each other, and the rows that have both beyond chance."""
    names, tables, found = table.layout.columns, lattice(table), dict[tuple[str, str], tuple[float, float]]()
    for one, other in combinations(sorted(yes, key=names.index), 2):
        counts = tables.get((names.index(one), names.index(other)))[:2, :2]
        odd = float(from_independence(counts)[yes[one][0], yes[other][0]])
        found[one, other] = (cramers_v(counts) if odd > 0 else 0.0, odd)
    return found


def _joined(marks: Sequence[str], together: Mapping[tuple[str, str], tuple[float, float]]) -> list[list[str]]:
    """Groups: again and again the two that come together most are joined, by the mean over their marks."""
    strength = np.zeros((len(marks), len(marks)))
    for (one, other), (v, _) in together.items():
        strength[marks.index(one), marks.index(other)] = strength[marks.index(other), marks.index(one)] = v
    groups = [[place] for place in range(len(marks))]
    while len(groups) > 1:
        mean, first, second = max(
            (float(strength[np.ix_(groups[a], groups[b])].mean()), a, b) for a, b in combinations(range(len(groups)), 2)
        )
        if mean < _TOGETHER:
            break
        groups[first] += groups.pop(second)
    return [[marks[place] for place in sorted(group)] for group in groups]
