"""The rounds of an adaptive generator: measure columns, then again and again the table that the model gets most wrong.

After McKenna, Mullins, Sheldon & Miklau (AIM, PVLDB 2022): a table competes by the improvement to expect, its l1 error less
what the noise would add; no clique grows above a limit. Other than there: columns are measured first and their bins grouped by
what the noise allows (`bin_groups`), tables with more cells get larger parts of the budget, neighbours replace one record from
the start, choices and noise are exact, rules are exact zeros, and the model may start from a public table.

The private table is met in `PrivateTables` alone. All else is post-processing of its answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.candidates.generators.adaptive.asked import Asked
from synthrelease.candidates.generators.adaptive.column_looks import column_shares, expected_bins, look_again
from synthrelease.candidates.generators.base import Background
from synthrelease.candidates.generators.bin_groups import grouped_rules, groups_of, rule_classes, split_masks
from synthrelease.candidates.generators.clique_tables import joinings, pair_shares
from synthrelease.candidates.generators.consistent_tables import Target
from synthrelease.candidates.generators.counters import Counters
from synthrelease.candidates.generators.junction_tree import JunctionTree
from synthrelease.candidates.generators.maximum_entropy import base_potentials
from synthrelease.candidates.generators.proportional_fitting import ProportionalFit, tolerances_of
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Plausibility

_PRECISION, _FINEST = 0.2, 0.05
"""A fit ends within this share of the noise deviations, or of a record, in the root mean square over four (`solve`)."""

_SWEEPS, _LAST_SWEEPS = 20, 100
"""Of a fit after a round, which starts from the one before, and of the last."""

_MOST = 4
"""Times the part of a table of usual size, at most; and at least its inverse."""

_LOUD, _LOUD_CHOICE, _LOUD_ROWS = 0.004, Fraction(1, 4), 2.5
"""Where the noise of a cell would be a larger share of the rows than the first of these, there are fewer rounds, each with the
second of these as the share of its choice, and groups need the third of these times the noise: with 84 rounds at epsilon 1 on
14,000 households and their members, choices fell to tables by chance (docs/linked.md)."""

_GROUP = 5.0
"""Times the noise of a table of usual size that a group of bins has rows, at least."""

_STEPS = 64
"""Parts are these fractions of the usual one, so that what is left of the budget stays a short fraction."""

if TYPE_CHECKING:
    from synthrelease.candidates.generators.adaptive.mechanism import PrivateTables


@dataclass(frozen=True, kw_only=True)
class RoundsPlan:
    """How the budget is spent: public, and fixed before anything is looked at.

    Attributes
    ----------
    tables : the tables of two and more columns that may be chosen, with their weights; of weight 0 are those that the model
        keeps together unmeasured.
    first, last : shares of the budget for the columns, before the rounds and after them.
    choice : share of a round's part for its choice.
    rounds : a round gets one part of so many, or more or less by the cells of its table.
    growth : how the part of a table grows with its possible cells: as this power of them; 0 for equal parts.
    cells : of the largest clique, at most; rules and tables of weight 0 may make larger ones.
    weight : how many records the prior is worth.
    """

    tables: Mapping[Columns, int]
    first: Fraction
    last: Fraction
    choice: Fraction
    rounds: int
    growth: float
    cells: int
    weight: float


@dataclass(frozen=True, kw_only=True)
class Learned:
    """All that was measured, and the model of it on groups of bins.

    Attributes
    ----------
    maps : per column, (n_bins,) the group of every bin.
    columns : per column, (n_bins,) noisy counts.
    layout, rules : on groups, with the columns of what rules count behind them.
    """

    maps: tuple[np.ndarray, ...]
    columns: tuple[np.ndarray, ...]
    layout: Layout
    rules: Plausibility
    fit: ProportionalFit


def learned(private: PrivateTables, layout: Layout, n: int, background: Background, plan: RoundsPlan) -> Learned:
    """Spend the budget of a private table with n rows over a layout."""
    total = private.left
    plan, rows = _rounds_within_noise(private, n, plan, len(layout.sizes))
    first, last = (plan.first * total, plan.last * total) if any(plan.tables.values()) else (total, Fraction(0))
    kept = [columns for columns, weight in plan.tables.items() if not weight]
    counters = Counters.of(background.plausibility, plan.cells, kept)
    masks = [*split_masks(background.plausibility.masks), *counters.masks]
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
            max(2 * math.sqrt(variances[column]), rows * usual * float(np.median(layout.sizes))),
        )
        for column, counts in enumerate(columns)
    )
    grouped = Layout(columns=layout.columns, sizes=tuple(int(into.max()) + 1 for into in maps))
    private.merge(grouped, maps)
    counts = [np.arange(step.size) for step in counters.steps]
    wide = Layout(columns=counters.wide.columns, sizes=(*grouped.sizes, *map(len, counts)))
    rules = grouped_rules(masks, [*maps, *counts], wide)
    targets = [
        _merged(column, counts, variance, into)
        for column, (counts, variance, into) in enumerate(zip(columns, variances, maps, strict=True))
    ]
    prior = None if background.prior is None else counters.added(background.prior).merge(wide, [*maps, *counts])
    rounds = _Rounds(private=private, plan=plan, n=n, rules=rules, prior=prior, targets=targets, sizes=wide.sizes, last=last)
    fit = rounds.run()
    if private.left:
        groups = [n * fit.margin(column) for column in range(len(columns))]
        seen = look_again(private, columns, variances, expected_bins(groups, maps, columns))
        columns = tuple(counts for counts, _ in seen)
        fit = rounds.with_columns([_merged(column, *each, maps[column]) for column, each in enumerate(seen)])
    return Learned(maps=maps, columns=columns, layout=wide, rules=rules, fit=fit)


def _rounds_within_noise(private: PrivateTables, n: int, plan: RoundsPlan, columns: int) -> tuple[RoundsPlan, float]:
    """The plan with as many rounds as noise allows, and how many times the noise of a table of usual size a group has rows, at
    least. All of it is public."""
    spent = private.left * (1 - plan.first - plan.last)

    def loud(rounds: int, choice: Fraction) -> bool:
        return math.sqrt(private.variance(spent * (1 - choice) / rounds)) * private.mean_error > _LOUD * n

    if not any(plan.tables.values()) or plan.rounds <= columns or not loud(plan.rounds, plan.choice):
        return plan, _GROUP
    rounds = next((each for each in range(plan.rounds, columns, -1) if not loud(each, _LOUD_CHOICE)), columns)
    return replace(plan, rounds=rounds, choice=_LOUD_CHOICE), _LOUD_ROWS


def _merged(column: int, counts: np.ndarray, variance: float, into: np.ndarray) -> Target:
    values = np.bincount(into, weights=counts.astype(float))
    return Target(columns=(column,), values=values, variance=np.bincount(into) * variance)


@dataclass(frozen=True, kw_only=True)
class _Competing:
    """A table that competes, the part of the budget that it would be measured with, and what it needs to be in a clique."""

    asked: Asked
    part: Fraction
    ties: tuple[Columns, ...]


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
        self._usual: float | None = None

    def run(self) -> ProportionalFit:
        """Choose and measure until all but the last look is spent.

        The part of a round never shrinks, and a rest below it is paid at once to the table that is chosen: every answer costs
        at least a fixed share of the budget. So there are finitely many, and their noise is bounded (theory 12.11, adaptive
        generators).
        """
        private, plan = self._private, self._plan
        part = (private.left - self._last) / plan.rounds
        fit = self._fit(_SWEEPS)
        while (left := private.left - self._last) > 0:
            rest = left < part
            competing = self._competing(fit, left if rest else part)
            if not competing:
                break
            choice = plan.choice * (left if 2 * left < 3 * part else part)
            chosen = competing[private.choice([each.asked for each in competing], choice)]
            left = private.left - self._last
            paid = left if rest or 2 * left < 3 * chosen.part else chosen.part
            columns = chosen.asked.columns
            noisy, variance = private.table(columns, paid), private.variance(paid)
            self._targets.append(Target(columns=columns, values=noisy.astype(float), variance=np.full(noisy.shape, variance)))
            self._structure += [columns, *chosen.ties]
            if private.left > self._last:
                fit = self._fit(_SWEEPS)
                taught = np.abs(self._n * fit.margin(len(self._targets) - 1) - chosen.asked.expected).sum()
                if taught <= chosen.asked.handicap:
                    part = max(part, min(2 * part, private.left - self._last))
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

    def _competing(self, fit: ProportionalFit, part: Fraction) -> list[_Competing]:
        """The tables that fit into the limit, with what the model expects of them.

        Tables of more than two columns compete as soon as they lie inside a clique. Only possible cells keep their noise.
        """
        found = list(self._tables(fit))
        cells = [int(np.count_nonzero(share)) for _, share, _ in found]
        if cells and self._usual is None:
            self._usual = max(1.0, _power_mean(cells, self._plan.growth))
        competing = []
        for (columns, share, ties), possible in zip(found, cells, strict=True):
            paid = (1 - self._plan.choice) * part * self._times(possible)
            noise = math.sqrt(self._private.variance(paid)) * self._private.mean_error
            expected, handicap = np.rint(self._n * share).astype(np.int64), math.ceil(noise * possible)
            asked = Asked(columns=columns, expected=expected, weight=self._plan.tables[columns], handicap=handicap)
            competing.append(_Competing(asked=asked, part=paid, ties=ties))
        return competing

    def _times(self, cells: int) -> Fraction:
        """How many times the usual part a table of so many possible cells gets."""
        times = (cells / (self._usual or 1.0)) ** self._plan.growth
        return Fraction(round(_STEPS * min(_MOST, max(1 / _MOST, times))), _STEPS)

    def _tables(self, fit: ProportionalFit) -> Iterator[tuple[Columns, np.ndarray, tuple[Columns, ...]]]:
        """The tables that may be measured now, the model's shares of their cells, and what each needs to be in a clique.

        A pair with a column of one group says nothing that the other column does not. Left out, such columns also never grow a
        clique, whose cells they do not add to, beyond the axes of an array.
        """
        tree = fit.tree
        pairs, ways = pair_shares(tree, fit.shares), joinings(tree)
        sizes = {len(columns) for columns in self._plan.tables if len(columns) > 2}
        inside = {columns for clique in tree.cliques for size in sizes for columns in combinations(clique, size)}
        for columns, weight in self._plan.tables.items():
            if len(columns) == 2 and min(tree.sizes[column] for column in columns) == 1:
                continue
            if weight and len(columns) == 2 and ways[columns].cells <= self._plan.cells:
                yield columns, pairs[columns], ways[columns].sets
            elif weight and columns in inside:
                yield columns, fit.table(columns), ()


def _power_mean(values: Sequence[int], power: float) -> float:
    """The number whose power is the mean of theirs."""
    return float(np.mean(np.array(values, dtype=float) ** power) ** (1 / power)) if power else 1.0
