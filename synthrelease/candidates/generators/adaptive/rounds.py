"""The rounds of an adaptive generator: measure columns, then again and again the table that the model gets most wrong.

After McKenna, Mullins, Sheldon & Miklau (AIM, PVLDB 2022): a table competes by the improvement to expect, its l1 error less
what the noise would add; the parts of the budget double when a measurement taught less than its noise; no clique grows above a
limit. Other than there: columns are measured first and their bins grouped by what the noise allows (`bin_groups`), neighbours
replace one record from the start, choices and noise are exact, rules are exact zeros, and the model may start from a public
table.

The private table is met in `PrivateTables` alone. All else is post-processing of its answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.candidates.generators.adaptive.column_looks import column_shares, expected_bins, look_again
from synthrelease.candidates.generators.base import Background
from synthrelease.candidates.generators.bin_groups import grouped_rules, groups_of, rule_classes, split_masks
from synthrelease.candidates.generators.clique_tables import joinings, pair_shares
from synthrelease.candidates.generators.consistent_tables import Target
from synthrelease.candidates.generators.junction_tree import Columns, JunctionTree
from synthrelease.candidates.generators.maximum_entropy import base_potentials
from synthrelease.candidates.generators.proportional_fitting import ProportionalFit, tolerances_of
from synthrelease.domain.counts import Counts
from synthrelease.domain.plausibility import Plausibility
from synthrelease.domain.schema import Layout

_PRECISION, _FINEST = 0.2, 0.05
"""A fit ends within this share of the noise deviations, or of a record, in the root mean square over four (`solve`)."""

_SWEEPS, _LAST_SWEEPS = 20, 100
"""Of a fit after a round, which starts from the one before, and of the last."""

if TYPE_CHECKING:
    from synthrelease.candidates.generators.adaptive.mechanism import Asked, PrivateTables


@dataclass(frozen=True, kw_only=True)
class RoundsPlan:
    """How the budget is spent: public, and fixed before anything is looked at.

    Attributes
    ----------
    tables : the tables of two and more columns that may be chosen, with their weights; of weight 0 are those that the model
        keeps together unmeasured.
    first, last : shares of the budget for the columns, before the rounds and after them.
    choice : share of a round's part for its choice.
    rounds : a round gets one part of so many, at first.
    cells : of the largest clique, at most; rules and tables of weight 0 may make larger ones.
    weight : how many records the prior is worth.
    """

    tables: Mapping[Columns, int]
    first: Fraction
    last: Fraction
    choice: Fraction
    rounds: int
    cells: int
    weight: float


@dataclass(frozen=True, kw_only=True)
class Learned:
    """All that was measured, and the model of it on groups of bins.

    Attributes
    ----------
    maps : per column, (n_bins,) the group of every bin.
    columns : per column, (n_bins,) noisy counts.
    layout, rules : on groups.
    """

    maps: tuple[np.ndarray, ...]
    columns: tuple[np.ndarray, ...]
    layout: Layout
    rules: Plausibility
    fit: ProportionalFit


def learned(private: PrivateTables, layout: Layout, n: int, background: Background, plan: RoundsPlan) -> Learned:
    """Spend the budget of a private table with n rows over a layout."""
    total = private.left
    first, last = (plan.first * total, plan.last * total) if any(plan.tables.values()) else (total, Fraction(0))
    masks = split_masks(background.plausibility.masks)
    parts = [share * first for share in column_shares(layout.sizes)]
    columns = tuple(private.table((column,), part) for column, part in enumerate(parts))
    variances = [private.variance(part) for part in parts]
    usual = math.sqrt(private.variance((total - first - last or total) * (1 - plan.choice) / plan.rounds)) * private.mean_error
    maps = tuple(
        groups_of(
            counts,
            rule_classes(column, len(counts), masks),
            background.ordered[column] if background.ordered else 0,
            2 * math.sqrt(variances[column]),
            max(2 * math.sqrt(variances[column]), _rows_of_a_group(usual, layout.sizes)),
        )
        for column, counts in enumerate(columns)
    )
    grouped = Layout(columns=layout.columns, sizes=tuple(int(into.max()) + 1 for into in maps))
    rules = grouped_rules(masks, maps, grouped)
    private.merge(grouped, maps)
    targets = [
        _merged(column, counts, variance, into)
        for column, (counts, variance, into) in enumerate(zip(columns, variances, maps, strict=True))
    ]
    prior = None if background.prior is None else background.prior.merge(grouped, maps)
    rounds = _Rounds(private=private, plan=plan, n=n, rules=rules, prior=prior, targets=targets, sizes=grouped.sizes, last=last)
    fit = rounds.run()
    if private.left:
        groups = [n * fit.margin(column) for column in range(len(columns))]
        seen = look_again(private, columns, variances, expected_bins(groups, maps, columns))
        columns = tuple(counts for counts, _ in seen)
        fit = rounds.with_columns([_merged(column, *each, maps[column]) for column, each in enumerate(seen)])
    return Learned(maps=maps, columns=columns, layout=grouped, rules=rules, fit=fit)


def _rows_of_a_group(noise: float, sizes: Sequence[int]) -> float:
    """Rows below which neighbouring bins are put together: a table with a column of usual size should be a fifth noise."""
    return 5 * noise * float(np.median(sizes))


def _merged(column: int, counts: np.ndarray, variance: float, into: np.ndarray) -> Target:
    values = np.bincount(into, weights=counts.astype(float))
    return Target(columns=(column,), values=values, variance=np.bincount(into) * variance)


class _Rounds:
    """The targets so far, their fit, and what is done with it in a round."""

    def __init__(
        self,
        *,
        private: PrivateTables,
        plan: RoundsPlan,
        n: int,
        rules: Plausibility,
        prior: Counts | None,
        targets: list[Target],
        sizes: Sequence[int],
        last: Fraction,
    ):
        self._private, self._plan, self._n, self._rules, self._prior = private, plan, n, rules, prior
        self._targets, self._sizes, self._last = targets, sizes, last
        self._structure: list[Columns] = [mask.columns for mask in rules.masks]
        self._structure += [columns for columns, weight in plan.tables.items() if not weight]
        self._structure += [target.columns for target in targets]
        self._fitted: list[np.ndarray] | None = None

    def run(self) -> ProportionalFit:
        private, plan = self._private, self._plan
        part = (private.left - self._last) / plan.rounds
        fit = self._fit(_SWEEPS)
        while (left := private.left - self._last) > 0:
            if 2 * left < 3 * part:
                part = left
            asked, usable = self._asked(fit, (1 - plan.choice) * part)
            if not asked:
                break
            chosen = asked[private.choice(asked, plan.choice * part)]
            noisy, variance = (
                private.table(chosen.columns, (1 - plan.choice) * part),
                private.variance((1 - plan.choice) * part),
            )
            self._targets.append(
                Target(columns=chosen.columns, values=noisy.astype(float), variance=np.full(noisy.shape, variance))
            )
            self._structure += [chosen.columns, *usable[chosen.columns]]
            if private.left > self._last:
                fit = self._fit(_SWEEPS)
                taught = np.abs(self._n * fit.margin(len(self._targets) - 1) - chosen.expected).sum()
                if taught <= chosen.handicap:
                    part = min(2 * part, private.left - self._last)
        return self._fit(_SWEEPS if private.left else _LAST_SWEEPS)

    def with_columns(self, targets: Sequence[Target]) -> ProportionalFit:
        """The last fit, with other targets for the columns."""
        self._targets[: len(targets)] = targets
        return self._fit(_LAST_SWEEPS)

    def _fit(self, sweeps: int) -> ProportionalFit:
        tree = JunctionTree.of(self._sizes, self._structure)
        started = self._fitted and [*self._fitted, *(np.zeros(t.values.shape) for t in self._targets[len(self._fitted) :])]
        base = base_potentials(tree, self._rules, self._prior)
        fit = ProportionalFit(tree, base, self._targets, self._n, self._plan.weight, started)
        fit.solve(tolerances_of(self._targets, _PRECISION, _FINEST), sweeps)
        self._fitted = fit.parameters
        return fit

    def _asked(self, fit: ProportionalFit, part: Fraction) -> tuple[list[Asked], dict[Columns, tuple[Columns, ...]]]:
        """The tables that fit into the limit, with what the model expects; and what each needs to be in a clique.

        Tables of more than two columns compete as soon as they lie inside a clique.
        """
        tree, noise = fit.tree, math.sqrt(self._private.variance(part)) * self._private.mean_error
        pairs, ways = pair_shares(tree, fit.shares), joinings(tree)
        sizes = {len(columns) for columns in self._plan.tables if len(columns) > 2}
        inside = {columns for clique in tree.cliques for size in sizes for columns in combinations(clique, size)}
        from synthrelease.candidates.generators.adaptive.mechanism import Asked

        asked, usable = list[Asked](), dict[Columns, tuple[Columns, ...]]()
        for columns, weight in self._plan.tables.items():
            if not weight:
                continue
            if len(columns) == 2:
                way = ways[columns]
                if way.cells > self._plan.cells:
                    continue
                share, usable[columns] = pairs[columns], way.sets
            elif columns in inside:
                share, usable[columns] = fit.table(columns), ()
            else:
                continue
            expected = np.rint(self._n * share).astype(np.int64)
            asked.append(Asked(columns=columns, expected=expected, weight=weight, handicap=math.ceil(noise * expected.size)))
        return asked, usable
