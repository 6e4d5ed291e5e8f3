"""Decide which cells are plausible, and make plausible filler rows.

Plausibility rules as masks over cells.

The limits in the rules are edges of the atomic bins, so a rule is either true or false for a whole atomic cell; a coarser
cell is implausible when every atomic cell in it is.

A missing value makes a comparison unknown: neither it nor its negation is true (Kleene's strong three-valued logic: `and` and
`or` are decided by the other parts where these suffice). A rule forbids a cell only when it is *true* there. Nobody knows that
a person of unknown age is too young for something; to forbid what is not known to be wrong would drop incomplete rows, whose
absence is just what a bin of missing values is there to avoid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts, number_of_marks
from synthrelease.data.layout import Layout, MarksCounted
from synthrelease.data.linked import Linked
from synthrelease.data.marginals import spread_out
from synthrelease.data.rules import (
    Comparison,
    Count,
    Gap,
    RecordRule,
    Rule,
    RuleError,
    Said,
    columns_of,
    compared,
    numbers_of,
    of_atoms,
    of_records,
    said,
)
from synthrelease.data.schema import Column, Transformation
from synthrelease.errors import listing


class AllowedCells:
    """(n, n_columns) the indices of the entries of a mask that are False, in lexicographic order, as an array is indexed.

    Parameters
    ----------
    forbidden : the mask, an axis for each column.

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
    """Which combinations of some columns are implausible: a boolean array over their bins."""

    columns: tuple[int, ...]
    forbidden: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Plausibility:
    """All rules of one kind (raw or synthetic) over one layout; rules that share columns are joined in one mask.

    Joining by shared columns makes merging exact: a coarse cell is a product of sets, and a product is wholly
    implausible just when one of its column-disjoint factors is. Rules for synthetic rows are joined only as far as exact
    merging to the alternatives of the columns needs it (`from_rules`, apart).

    Attributes
    ----------
    linked : of rules for private rows, how these are roots with their members: that slots without a member are empty, and
        others are not, holds as they are read.
    counted : of rules for private rows, the columns that follow from others in the same row, as they are read.
    records : rules that count, or compare columns: in no mask, or not in one of the file, and asked of each row by itself.
    """

    layout: Layout
    masks: tuple[Mask, ...]
    linked: Linked | None = None
    counted: tuple[MarksCounted, ...] = ()
    records: tuple[RecordRule, ...] = ()

    @classmethod
    def from_rules(
        cls, rules: Sequence[Rule], columns: Sequence[Column], layout: Layout, *, apart: bool = False
    ) -> Plausibility:
        """Return masks over atomic bins.

        Parameters
        ----------
        apart : join rules only where that is needed for merging to be exact on every alternative of the columns; masks may then
            share columns. Questions of a survey that follow from one another (no work: no occupation, no hours, no wage) stay
            one small mask each.

            A rule is *even* in a column when it treats the atoms of each bin alike, in every alternative. Rules that share a
            column in which both are uneven are joined. Proof that this is enough: a coarse cell is plausible when some row in
            it meets all masks. Whether a row meets a mask depends on its bins, and within them on the columns in which the
            mask is uneven. No two masks have such a column in common, so rows that meet one mask each can be put together to
            one that meets all of them.

        Raises
        ------
        RuleError : when the rules in one mask span too many cells.
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
        """Return the masks over the bins of a transformation: forbidden where every atomic combination in the cell is."""
        masks = []
        for mask in self.masks:
            allowed = ~mask.forbidden
            for axis, column in enumerate(mask.columns):
                into = transformation.maps[column]
                if np.array_equal(into, np.arange(transformation.layout.sizes[column])):
                    continue
                order = np.argsort(into, kind="stable")
                bins, starts = np.unique(into[order], return_index=True)
                merged = np.zeros(
                    (*allowed.shape[:axis], transformation.layout.sizes[column], *allowed.shape[axis + 1 :]), dtype=bool
                )
                merged[(slice(None),) * axis + (bins,)] = np.logical_or.reduceat(allowed.take(order, axis), starts, axis)
                allowed = merged
            masks.append(Mask(columns=mask.columns, forbidden=~allowed))
        records = tuple(rule.merge(transformation) for rule in self.records)
        return Plausibility(layout=transformation.layout, masks=tuple(masks), records=records)

    def forbidden(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """Return (n,) True where the cell with these bin indices (one array per column) is implausible."""
        bad = np.zeros(len(digits[0]), dtype=bool)
        for mask in self.masks:
            bad |= mask.forbidden[tuple(digits[column] for column in mask.columns)]
        for rule in self.records:
            bad |= rule.forbidden(digits)
        return bad

    def filter(self, table: Counts) -> Counts:
        """Return the rows of a table that are plausible."""
        return table.keep(~self.forbidden(table.bins)) if self.masks or self.records else table

    def drawn_from(self) -> list[tuple[tuple[int, ...], AllowedCells | np.ndarray]]:
        """Return, for each mask, its columns, and (n, n_columns) the combinations of their bins that it allows in a row of the
        file.

        `follow` makes rows of them: where rows are roots with members, these are combinations that a member who is there can
        have.
        """
        drawn: list[tuple[tuple[int, ...], AllowedCells | np.ndarray]] = []
        for mask in self.masks:
            needed = [self.linked is not None and self.layout.columns[column] in self.linked.needed for column in mask.columns]
            present = tuple(
                slice(-1) if is_needed else slice(None) for is_needed in needed
            )  # the last bin is that of an empty slot
            drawn.append((mask.columns, AllowedCells(mask.forbidden[present])))
        tied = {column for columns, _ in drawn for column in columns}
        for column, (name, size) in enumerate(zip(self.layout.columns, self.layout.sizes, strict=True)):
            if column not in tied:
                most = size - 1 if self.linked is not None and name in self.linked.needed else size
                drawn.append(((column,), np.arange(most)[:, None]))
        return drawn

    def follow(self, digits: list[np.ndarray]) -> None:
        """Set the bins that follow from others, in rows that were put together from such combinations: slots without a
        member are empty, and counts of indicators are those of the row.
        """
        if self.linked is not None:
            self.linked.empty(self.layout.columns, self.layout.sizes, digits)
        for counted in self.counted:
            digits[counted.column] = number_of_marks(counted, digits)

    def structural_zeros(self, columns: Sequence[int]) -> np.ndarray:
        """Return boolean array over the bins of `columns` (in that order): the cells that the rules alone exclude."""
        shape = tuple(self.layout.sizes[column] for column in columns)
        zeros = np.zeros(shape, dtype=bool)
        for mask in self.masks:
            if set(mask.columns) <= set(columns):
                zeros |= spread_out(mask.forbidden, mask.columns, columns, shape)
        return zeros

    def home_of(self, upper: int, lower: int) -> np.ndarray | None:
        """Return the (bins of `lower`,) one bin of `upper` that the rules alone leave each; None where they leave a choice."""
        possible = ~self.structural_zeros((upper, lower))
        return None if (possible.sum(axis=0) != 1).any() else possible.argmax(axis=0)


def _has_mask(rule: Rule, columns: Sequence[Column]) -> bool:
    """Return whether a rule counts nothing and its mask is not too large."""
    names = columns_of(rule)
    cells = math.prod(len(column.atoms) for column in columns if column.name in names)
    return cells <= MAX_MASK_CELLS and not any(isinstance(part, Count) for part in of_records(rule))


def _mask_of(rules: Sequence[Rule], columns: Sequence[Column]) -> Mask:
    """Return one mask of some rules, over the atomic bins of all their columns."""
    names = set[str]().union(*map(columns_of, rules))
    chosen = [i for i, column in enumerate(columns) if column.name in names]
    shape = tuple(len(columns[i].atoms) for i in chosen)
    if math.prod(shape) > MAX_MASK_CELLS:
        raise RuleError(
            f"rules that connect at most {MAX_MASK_CELLS} cells", f"{math.prod(shape)} over {listing(sorted(names))}"
        )
    axes = {columns[i].name: (axis, columns[i]) for axis, i in enumerate(chosen)}
    forbidden = np.zeros(shape, dtype=bool)

    def leaf(part: Comparison | Gap | Count) -> Said:
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
        forbidden |= said(rule, leaf)[0]
    return Mask(columns=tuple(chosen), forbidden=forbidden)


def _uneven(rule: Rule, columns: Sequence[Column]) -> set[str]:
    """Return the columns in which a rule treats atoms of one bin differently, in some alternative."""
    mask, uneven = _mask_of([rule], columns), set()
    for axis, column in enumerate(mask.columns):
        by_atom = np.moveaxis(mask.forbidden, axis, 0)
        for binning in columns[column].alternatives.values():
            first = np.unique(binning.of_atom, return_index=True)[1]
            if not np.array_equal(by_atom, by_atom[first[list(binning.of_atom)]]):
                uneven.add(columns[column].name)
    return uneven


def _connected(rules: list[tuple[Rule, set[str]]]) -> list[list[tuple[Rule, set[str]]]]:
    """Return groups of rules linked by shared columns."""
    groups: list[tuple[set[str], list[tuple[Rule, set[str]]]]] = []
    for rule, names in rules:
        linked = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        merged = set(names).union(*(group[0] for group in linked))
        groups.append((merged, [item for group in linked for item in group[1]] + [(rule, names)]))
    return [members for _, members in groups]


def _along(values: np.ndarray, axis: int, n_axes: int) -> np.ndarray:
    """Return values of the bins of one column, as an array that broadcasts to a mask."""
    return values.reshape([-1 if other == axis else 1 for other in range(n_axes)])


# Plausible rows that are no record of anybody: what a table is filled up with that has too few.

_TRIED = 10_000
"""Rows of the sequence among which some must follow the rules that are asked of whole rows."""


class FillerRows:
    """A fixed, public sequence of plausible rows, which fills up a table that has too few.

    Row i takes, in every group of columns that rules tie together and in every other column, the allowed bin combination at
    the place i, i + 1, ... (one further for each group), over and over: all of them occur, nearly equally often. Where rules
    are asked of whole rows, or columns follow from others, those that they keep of the first ones come over and over.
    """

    def __init__(self, raw: Plausibility):
        self.layout: Layout = raw.layout
        self._groups, self._raw = raw.drawn_from(), raw
        self._kept: np.ndarray | None = None
        if raw.records or raw.counted:
            self._kept = np.flatnonzero(~raw.forbidden(self._digits(np.arange(_TRIED))))
            if not len(self._kept):
                raise RuleError("rules that leave some row possible", f"none among {_TRIED:,} rows of a public sequence")

    def first(self, size: int) -> Counts:
        """Return the first rows of the sequence, as counts."""
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
