"""Make a model obey rules that count, such as "at most one spouse", by additional columns with running counts.

Such a rule counts parts, one for each member: "member 1 is a spouse", and so on. So it concerns a column of every member at
once, and a table of all these columns would have too many cells. The running count after a member depends only on the
previous count and on this member's bins. With an additional column for each running count, every table is small, and the
rule concerns only the last count. The additional columns are functions of the original columns, so a distribution over
extended rows determines one over original rows that excludes exactly the rows that break the rule. No private data are
used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.data.rules import Any, Comparison, Count, Gap, Not, RecordRule, Rule, Truth, columns_of, truth_of, walk
from synthrelease.generators.junction_tree import largest_clique

_UPWARDS, _DOWNWARDS = (">", ">="), ("<", "<=")
State = tuple[int, int]
"""The state of a running count: how many parts are certainly true so far, and how many parts may be true so far."""


@dataclass(frozen=True, kw_only=True)
class CountSoFar:
    """One step of a running count: an additional column with the number of conditions of a rule that are true so far.

    Attributes
    ----------
    column : the position of the running count, after the columns of the rows.
    before : the position of the preceding running count, or None.
    into : the bin of the running count, with the bins of `before`, if any, and of `columns` as axes. -1 means that a rule
        is broken.
    """

    column: int
    before: int | None
    columns: Columns
    into: np.ndarray
    size: int

    @property
    def mask(self) -> Mask:
        axes_of = (*self.columns, *(() if self.before is None else (self.before,)), self.column)
        into = self.into if self.before is None else np.moveaxis(self.into, 0, -1)
        return Mask(columns=axes_of, forbidden=into[..., None] != np.arange(self.size))


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Additional columns with running counts. They turn a rule that counts into a few small tables of forbidden cells.

    Attributes
    ----------
    layout : the layout of the rows without running counts.
    ends : the masks of the rules, over final counts and columns that are not counted.
    """

    layout: Layout
    steps: tuple[CountSoFar, ...] = ()
    ends: tuple[Mask, ...] = ()

    @classmethod
    def of(cls, plausibility: Plausibility, cells: int, structure: Iterable[Columns] = ()) -> Counters:
        """Create running counts for all plausibility rules that count. A rule that would create a clique of more than
        `cells` cells is ignored.

        Parameters
        ----------
        structure : further column sets that the model connects.

        Examples
        --------
        >>> layout = Layout(columns=("a", "b"), sizes=(2, 2))
        >>> Counters.of(Plausibility(layout=layout, masks=()), 1000).wide == layout
        True
        """
        counters, tied = cls(layout=plausibility.layout), [*structure, *(mask.columns for mask in plausibility.masks)]
        for rule in _joined(plausibility.records):
            extended = _with(counters, rule, plausibility, cells)
            if extended is None:
                continue
            sets = [*tied, *(mask.columns for mask in extended.masks)]
            counters = extended if largest_clique(extended.wide.sizes, sets) <= cells else counters
        return counters

    @property
    def wide(self) -> Layout:
        numbers = range(1, len(self.steps) + 1)
        return Layout(
            columns=(*self.layout.columns, *(f"count {number}" for number in numbers)),
            sizes=(*self.layout.sizes, *(step.size for step in self.steps)),
        )

    @property
    def masks(self) -> list[Mask]:
        return [*(step.mask for step in self.steps), *self.ends]

    def added(self, table: Counts) -> Counts:
        """Return a table with the running counts as additional columns, without the rows that break a counting rule."""
        bins, follows = list(table.bins), np.ones(len(table), dtype=bool)
        for step in self.steps:
            columns = (*(() if step.before is None else (step.before,)), *step.columns)
            count = step.into[tuple(bins[column] for column in columns)]
            follows &= count >= 0
            bins.append(np.maximum(count, 0))
        for mask in self.ends:
            follows &= ~mask.forbidden[tuple(bins[column] for column in mask.columns)]
        return Counts.of(self.wide, [column_bins[follows] for column_bins in bins], table.counts[follows])


def _joined(rules: Iterable[RecordRule]) -> list[RecordRule]:
    """Join rules that count the same things, so that they share one running count."""
    by_count: dict[frozenset[tuple[Rule, ...]], RecordRule] = {}
    for rule in rules:
        counted = frozenset(count.parts for count in _counts_of(rule.rule))
        earlier = by_count.get(counted)
        if earlier is not None:
            rule = RecordRule(
                rule=Any((earlier.rule, rule.rule)),
                places={**earlier.places, **rule.places},
                of_bins={**earlier.of_bins, **rule.of_bins},
                ranges={**earlier.ranges, **rule.ranges},
            )
        by_count[counted] = rule
    return list(by_count.values())


def _with(counters: Counters, rule: RecordRule, plausibility: Plausibility, cells: int) -> Counters | None:
    """Extend running counts by those of one more rule. None if the rule counts nothing, or a counted condition depends on
    too many cells.
    """
    counts = list(_counts_of(rule.rule))
    parts = list(dict.fromkeys(count.parts for count in counts))
    if not parts:
        return None
    steps, chains = list(counters.steps), list[tuple[tuple[Rule, ...], int, list[State]]]()
    for counted in parts:
        alike = [count for count in counts if count.parts == counted]
        whole = any(isinstance(part_, Not) for part_ in walk(rule.rule, into_counts=False))
        low = whole or any(count.operator not in _DOWNWARDS for count in alike)
        high = whole or any(count.operator not in _UPWARDS for count in alike)
        cap = max(_enough(count, rule) for count in alike)
        tables = [_part(part, rule, plausibility, low, high, cells) for part in counted]
        if any(table is None for table in tables):
            return None
        states, last = [(0, 0)], None
        for columns, sure, maybe in filter(None, tables):
            if not maybe.any() and not sure.any():
                continue
            more = product(states, sorted({(int(a), int(b)) for a, b in zip(sure.ravel(), maybe.ravel(), strict=True)}))
            after = sorted({(min(s[0] + a, cap), min(s[1] + b, cap)) for s, (a, b) in more})
            bin_of = {state: number for number, state in enumerate(after)}
            into = np.empty((len(states), *sure.shape), dtype=np.int64)
            for number, state in enumerate(states):
                for cell in np.ndindex(sure.shape):
                    into[(number, *cell)] = bin_of[min(state[0] + int(sure[cell]), cap), min(state[1] + int(maybe[cell]), cap)]
            column = len(counters.layout.sizes) + len(steps)
            into = into[0] if last is None else into
            steps.append(CountSoFar(column=column, before=last, columns=columns, into=into, size=len(after)))
            states, last = after, column
        if last is None:
            return None
        chains.append((counted, last, states))
    end = _end(rule, chains, counters.layout)
    if len(chains) == 1:
        shortened, end = _without_ends(steps[len(counters.steps) :], end)
        steps = [*counters.steps, *shortened]
    ends = [*counters.ends, end] if end.forbidden.any() else list(counters.ends)
    return Counters(layout=counters.layout, steps=tuple(steps), ends=tuple(ends))


def _without_ends(steps: Sequence[CountSoFar], end: Mask) -> tuple[list[CountSoFar], Mask]:
    """Shorten running counts: remove each value at which the rule is certain to be broken. For "at most one", 0 and 1
    remain.
    """
    breaks = end.forbidden.all(axis=tuple(range(end.forbidden.ndim - 1)))
    if breaks.all():
        return list(steps), end
    end, shortened = Mask(columns=end.columns, forbidden=end.forbidden[..., ~breaks]), list[CountSoFar]()
    for step in reversed(steps):
        into, size = np.where(breaks, -1, np.cumsum(~breaks) - 1)[step.into], int((~breaks).sum())
        if step.before is not None:
            breaks = (into < 0).reshape(len(into), -1).all(axis=1)
            into = into[~breaks]
        shortened.append(replace(step, into=into, size=size))
    return shortened[::-1], end


def _end(rule: RecordRule, chains: Sequence[tuple[tuple[Rule, ...], int, list[State]]], layout: Layout) -> Mask:
    """Return the forbidden combinations of a counting rule, as a mask over the columns outside its counts and its final
    counts.
    """
    outside = sorted({rule.places[name] for part in walk(rule.rule, into_counts=False) for name in _named(part)})
    shape = (*(layout.sizes[column] for column in outside), *(len(states) for _, _, states in chains))
    axes = np.indices(shape)
    digits = dict(zip(outside, axes, strict=False))
    numbers = {
        counted: np.array(states, dtype=float)[axes[len(outside) + number]]
        for number, (counted, _, states) in enumerate(chains)
    }

    def leaf(part: Comparison | Gap | Count) -> Truth:
        if not isinstance(part, Count):
            return rule.of_part(part, digits)
        return rule.of_part(part, digits, (numbers[part.parts][..., 0], numbers[part.parts][..., 1]))

    forbidden = np.broadcast_to(truth_of(rule.rule, leaf)[0], shape)
    return Mask(columns=(*outside, *(last for _, last, _ in chains)), forbidden=np.array(forbidden))


def _part(
    part: Rule, rule: RecordRule, plausibility: Plausibility, low: bool, high: bool, cells: int
) -> tuple[Columns, np.ndarray, np.ndarray] | None:
    """Return the columns of a counted condition, and masks of their cells: where it is certainly true, and where it may be
    true. None if there are too many cells.

    Columns that make no difference are dropped. No part is true for an absent member. Without need of a lower count (`low`)
    or an upper count (`high`), the first or the second mask is False.
    """
    columns = sorted(rule.places[name] for name in columns_of(part))
    shape = tuple(plausibility.layout.sizes[column] for column in columns)
    if math.prod(shape) > cells:
        return None
    digits = np.zeros((len(plausibility.layout.sizes), math.prod(shape)), dtype=np.int64)
    digits[columns] = np.indices(shape).reshape(len(columns), -1)
    true, false = (table.reshape(shape) for table in _truth_of(part, rule, digits))
    possible = ~plausibility.structural_zeros(columns)
    sure, maybe = true & possible & low, ~false & possible & high
    for axis in reversed(range(len(columns))):
        some = np.asarray(possible.any(axis=axis))
        alike = [(np.asarray(table.any(axis=axis)), np.asarray((table | ~possible).all(axis=axis))) for table in (sure, maybe)]
        if all((somewhere == everywhere)[some].all() for somewhere, everywhere in alike):
            (sure, _), (maybe, _) = alike
            possible = some
            del columns[axis]
    return tuple(columns), sure, maybe


def _truth_of(part: Rule, rule: RecordRule, digits: np.ndarray) -> Truth:
    """Return for each record whether a condition is certainly true, and whether it is certainly false. Neither holds for a
    bin with both kinds of values.
    """
    true, false = (replace(rule, rule=wanted).forbidden(list(digits)) for wanted in (part, Not(part)))
    return true, false


def _enough(count: Count, rule: RecordRule) -> int:
    """Return the count from which on a rule treats all counts alike: 2 for "at most one"."""
    most = count.more + (0.0 if count.other is None else float(np.nanmax(rule.ranges[count.other][1])))
    return max(0, math.ceil(most) if count.operator in ("<", ">=") else math.floor(most) + 1)


def _counts_of(rule: Rule) -> Iterable[Count]:
    return (part for part in walk(rule, into_counts=False) if isinstance(part, Count))


def _named(part: Rule) -> set[str]:
    if isinstance(part, Comparison):
        return {part.column}
    if isinstance(part, Gap):
        return {part.column, part.other}
    return {part.other} if isinstance(part, Count) and part.other is not None else set()
