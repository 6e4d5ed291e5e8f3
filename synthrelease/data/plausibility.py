"""Determine which cells of a table the plausibility rules allow, and make a public sequence of plausible rows.

Every limit in a rule is an edge of an atomic bin (the finest bins of a column), so a rule is true or false in a whole atomic
cell. A coarser cell is implausible if every atomic cell in it is.

With a missing value, a comparison is unknown, and so is its negation; the other parts of `and` and `or` may still decide the
rule (Kleene's strong three-valued logic). A rule forbids a cell only if it is *true* there: if the age of a person is missing,
a rule about age does not exclude the person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts, number_of_indicators
from synthrelease.data.layout import CountedIndicators, Layout
from synthrelease.data.linked import Linked
from synthrelease.data.marginals import spread_out
from synthrelease.data.rules import (
    Comparison,
    Count,
    Gap,
    RecordRule,
    Rule,
    RuleError,
    Truth,
    columns_of,
    compared,
    numbers_of,
    of_atoms,
    of_records,
    truth_of,
)
from synthrelease.data.schema import Column, Transformation
from synthrelease.errors import listing


class AllowedCells:
    """The combinations of bins that a mask allows, in lexicographic order, as the rows of an array in little memory.

    Parameters
    ----------
    forbidden : the mask, with one axis for each column and True for forbidden cells.

    Examples
    --------
    >>> found = AllowedCells(np.array([[False, True], [True, False], [False, False]]))
    >>> len(found), found[np.array([3, 0, 1])].tolist()
    (4, [[2, 1], [0, 0], [1, 1]])
    """

    def __init__(self, forbidden: np.ndarray):
        self._shape, self._cells = forbidden.shape, np.flatnonzero(~forbidden)

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        return np.stack(np.unravel_index(self._cells[places], self._shape), axis=1)


MAX_MASK_CELLS = 50_000_000


@dataclass(frozen=True, kw_only=True)
class Mask:
    """The combinations of bins of some columns, given by position, that plausibility rules forbid. `forbidden` has one axis for
    each column."""

    columns: tuple[int, ...]
    forbidden: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Plausibility:
    """All plausibility rules for one kind of rows (private or synthetic) of a table.

    Rules that share columns are combined in one mask, so that masks remain exact when bins are merged: a product of sets over
    disjoint columns is wholly implausible if and only if one of its factors is. Rules for synthetic rows are combined only as
    far as this requires (see `apart` of `from_rules`).

    Attributes
    ----------
    linked : for private rows of linked tables, the arrangement of the members in the wide record (see `data.linked`).
    counted : for private rows, the columns that list the indicators of the same row.
    records : the rules without a mask, evaluated for each row: rules that count conditions, and comparisons of two columns (for
        synthetic rows only if their mask would be too large).
    """

    layout: Layout
    masks: tuple[Mask, ...]
    linked: Linked | None = None
    counted: tuple[CountedIndicators, ...] = ()
    records: tuple[RecordRule, ...] = ()

    @classmethod
    def from_rules(
        cls, rules: Sequence[Rule], columns: Sequence[Column], layout: Layout, *, apart: bool = False
    ) -> Plausibility:
        """Convert rules to masks over atomic bins.

        Parameters
        ----------
        apart : whether to combine rules only if masks would otherwise not remain exact when bins are merged to an alternative
            of the columns. Masks may then share columns.

            A rule is *uneven* in a column if it does not treat all atomic bins of a bin alike, in every alternative. Two rules
            are joined if they share a column in which both are uneven. Proof that this suffices: a coarse cell is plausible
            when some row in it satisfies all masks. Whether a row satisfies a mask depends on the row's bins, and within these
            bins only on the columns in which the mask is uneven. No two masks have such a column in common. So rows that
            satisfy one mask each can be combined into a row that satisfies all masks.

        Raises
        ------
        RuleError : if a mask for rules that must be combined would have too many cells.
        """
        plain = [rule for rule in rules if not any(of_records(rule))]
        tied = [(rule, _uneven(rule, columns) if apart else columns_of(rule)) for rule in plain]
        joined = [[rule for rule, _ in group] for group in _connected(tied)]
        alone = [rule for rule in rules if any(of_records(rule))]
        if apart:
            masked = [rule for rule in alone if _has_mask(rule, columns)]
            joined += [[rule] for rule in masked]
            alone = [rule for rule in alone if rule not in masked]
        of_columns: dict[tuple[int, ...], Mask] = {}
        for group in joined:
            mask = _mask_of(group, columns)
            earlier = of_columns.get(mask.columns)
            forbidden = mask.forbidden if earlier is None else earlier.forbidden | mask.forbidden
            of_columns[mask.columns] = Mask(columns=mask.columns, forbidden=forbidden)
        records = tuple(RecordRule.of(rule, columns) for rule in alone)
        return cls(layout=layout, masks=tuple(of_columns.values()), records=records)

    def merge(self, transformation: Transformation) -> Plausibility:
        """Convert the masks to the coarser bins of a transformation. A cell is forbidden if all atomic cells in it are."""
        masks = []
        for mask in self.masks:
            allowed = ~mask.forbidden
            for axis, column in enumerate(mask.columns):
                into = transformation.maps[column]
                if np.array_equal(into, np.arange(transformation.layout.sizes[column])):
                    continue
                order = np.argsort(into, kind="stable")
                bins, starts = np.unique(into[order], return_index=True)
                shape = (*allowed.shape[:axis], transformation.layout.sizes[column], *allowed.shape[axis + 1 :])
                merged = np.zeros(shape, dtype=bool)
                merged[(slice(None),) * axis + (bins,)] = np.logical_or.reduceat(allowed.take(order, axis), starts, axis)
                allowed = merged
            masks.append(Mask(columns=mask.columns, forbidden=~allowed))
        records = tuple(rule.merge(transformation) for rule in self.records)
        return Plausibility(layout=transformation.layout, masks=tuple(masks), records=records)

    def forbidden(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """Return an (n,) mask that is True for implausible cells. `digits` contains the (n,) bins of each column."""
        bad = np.zeros(len(digits[0]), dtype=bool)
        for mask in self.masks:
            bad |= mask.forbidden[tuple(digits[column] for column in mask.columns)]
        for rule in self.records:
            bad |= rule.forbidden(digits)
        return bad

    def filter(self, table: Counts) -> Counts:
        return table.keep(~self.forbidden(table.bins)) if self.masks or self.records else table

    def drawn_from(self) -> list[tuple[tuple[int, ...], AllowedCells | np.ndarray]]:
        """List the allowed combinations of bins, as columns and an (n, n_columns) array-like: jointly for columns that rules
        connect, alone for every other column.

        For linked tables, the combinations describe only existing members; `follow` completes the rows.
        """
        drawn: list[tuple[tuple[int, ...], AllowedCells | np.ndarray]] = []
        for mask in self.masks:
            needed = [self.linked is not None and self.layout.columns[column] in self.linked.needed for column in mask.columns]
            present = tuple(
                slice(-1) if is_needed else slice(None) for is_needed in needed
            )  # the last bin is the bin of an empty slot
            drawn.append((mask.columns, AllowedCells(mask.forbidden[present])))
        tied = {column for columns, _ in drawn for column in columns}
        for column, (name, size) in enumerate(zip(self.layout.columns, self.layout.sizes, strict=True)):
            if column not in tied:
                most = size - 1 if self.linked is not None and name in self.linked.needed else size
                drawn.append(((column,), np.arange(most)[:, None]))
        return drawn

    def follow(self, digits: list[np.ndarray]) -> None:
        """Set, in place, the bins that follow from other bins of the same row: those of slots without a member, and of columns
        that list indicators."""
        if self.linked is not None:
            self.linked.empty(self.layout.columns, self.layout.sizes, digits)
        for counted in self.counted:
            digits[counted.column] = number_of_indicators(counted, digits)

    def structural_zeros(self, columns: Sequence[int]) -> np.ndarray:
        """Return a boolean array, with one axis for each column, of the cells that a rule on some of these columns forbids.
        Rules without a mask are ignored."""
        shape = tuple(self.layout.sizes[column] for column in columns)
        zeros = np.zeros(shape, dtype=bool)
        for mask in self.masks:
            if set(mask.columns) <= set(columns):
                zeros |= spread_out(mask.forbidden, mask.columns, columns, shape)
        return zeros

    def home_of(self, upper: int, lower: int) -> np.ndarray | None:
        """Return, for each bin of `lower` (such as a municipality), the only bin of `upper` (its region) that the rules allow,
        or None if some bin has not exactly one."""
        possible = ~self.structural_zeros((upper, lower))
        return None if (possible.sum(axis=0) != 1).any() else possible.argmax(axis=0)


def _has_mask(rule: Rule, columns: Sequence[Column]) -> bool:
    """Return whether a rule has a mask: it counts no conditions, and the mask has at most MAX_MASK_CELLS cells."""
    names = columns_of(rule)
    cells = math.prod(len(column.atoms) for column in columns if column.name in names)
    return cells <= MAX_MASK_CELLS and not any(isinstance(part, Count) for part in of_records(rule))


def _mask_of(rules: Sequence[Rule], columns: Sequence[Column]) -> Mask:
    """Return the combinations of atomic bins that break at least one of these rules, as a mask over all their columns."""
    names = set[str]().union(*map(columns_of, rules))
    chosen = [i for i, column in enumerate(columns) if column.name in names]
    shape = tuple(len(columns[i].atoms) for i in chosen)
    if math.prod(shape) > MAX_MASK_CELLS:
        raise RuleError(
            f"The rules connect the columns {listing(sorted(names))}, whose bins have {math.prod(shape):,} combinations. At "
            f"most {MAX_MASK_CELLS:,} are possible. Use wider bins, or rules with fewer columns"
        )
    axes = {columns[i].name: (axis, columns[i]) for axis, i in enumerate(chosen)}
    forbidden = np.zeros(shape, dtype=bool)

    def leaf(part: Comparison | Gap | Count) -> Truth:
        if isinstance(part, Count):
            raise TypeError("a rule that counts has no mask")
        axis, column = axes[part.column]
        if isinstance(part, Comparison):
            true, false = of_atoms(part, column)
            return _along(true, axis, len(shape)), _along(false, axis, len(shape))
        beside, other = axes[part.other]
        low, high = (_along(ends, axis, len(shape)) for ends in numbers_of(column))
        least, most = (_along(ends, beside, len(shape)) for ends in numbers_of(other))
        return compared(low - most - part.more, high - least - part.more, part.operator)

    for rule in rules:
        forbidden |= truth_of(rule, leaf)[0]
    return Mask(columns=tuple(chosen), forbidden=forbidden)


def _uneven(rule: Rule, columns: Sequence[Column]) -> set[str]:
    """Return the columns in which a rule is uneven (see `Plausibility.from_rules`): it treats two atomic bins of one bin
    differently."""
    mask, uneven = _mask_of([rule], columns), set()
    for axis, column in enumerate(mask.columns):
        by_atom = np.moveaxis(mask.forbidden, axis, 0)
        for binning in columns[column].alternatives.values():
            first = np.unique(binning.of_atom, return_index=True)[1]
            if not np.array_equal(by_atom, by_atom[first[list(binning.of_atom)]]):
                uneven.add(columns[column].name)
    return uneven


def _connected(rules: list[tuple[Rule, set[str]]]) -> list[list[tuple[Rule, set[str]]]]:
    """Divide rules into groups that share columns, directly or through other rules."""
    groups: list[tuple[set[str], list[tuple[Rule, set[str]]]]] = []
    for rule, names in rules:
        linked = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        merged = set(names).union(*(group[0] for group in linked))
        groups.append((merged, [item for group in linked for item in group[1]] + [(rule, names)]))
    return [members for _, members in groups]


def _along(values: np.ndarray, axis: int, n_axes: int) -> np.ndarray:
    return values.reshape([-1 if other == axis else 1 for other in range(n_axes)])


# Filler rows are plausible rows that belong to no real person. They complete a table that has too few rows.

# Among this number of first rows of the sequence, at least one must satisfy the rules that are evaluated for whole rows.
_TRIED = 10_000


class FillerRows:
    """A fixed, public sequence of plausible rows, which fills up a table that has too few rows.

    Columns that rules connect form a group, and every other column is a group of its own. Row i takes, cyclically, the allowed
    combination at position i in the first group, i + 1 in the second, and so on, so that all occur nearly equally often. If
    some rules have no mask, or if columns list indicators, the sequence repeats the plausible rows among the first 10,000.

    Raises
    ------
    RuleError : if none of the first 10,000 rows is plausible.
    """

    def __init__(self, raw: Plausibility):
        self.layout: Layout = raw.layout
        self._groups, self._raw = raw.drawn_from(), raw
        self._kept: np.ndarray | None = None
        if raw.records or raw.counted:
            self._kept = np.flatnonzero(~raw.forbidden(self._digits(np.arange(_TRIED))))
            if not len(self._kept):
                raise RuleError(f"The rules seem to exclude every row. None of {_TRIED:,} rows that were tried satisfies them")

    def first(self, size: int) -> Counts:
        places = np.arange(size)
        return Counts.of(self.layout, self._digits(places if self._kept is None else self._kept[places % len(self._kept)]))

    def _digits(self, places: np.ndarray) -> list[np.ndarray]:
        digits = [np.zeros(len(places), dtype=np.int64)] * len(self.layout.sizes)
        for shift, (columns, allowed) in enumerate(self._groups):
            chosen = allowed[(places + shift) % len(allowed)]
            for axis, column in enumerate(columns):
                digits[column] = chosen[:, axis]
        self._raw.follow(digits)
        return digits
