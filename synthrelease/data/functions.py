"""Find columns whose value is determined by another column, because of the rules: the municipality determines the region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product
from typing import Protocol

import numpy as np

from synthrelease.data.rules import (
    HOLDS,
    IS_MISSING,
    Comparison,
    Count,
    Domain,
    Gap,
    Rule,
    Truth,
    columns_of,
    plain_rule,
    truth_of,
)
from synthrelease.data.schema import PublishedColumn

MOST_CELLS = 10**7
"""Largest number of cells of a pair of columns that is examined. Larger pairs are skipped."""
_EVERY_ROW = {"raw", "synthetic"}


class StatedRule(Protocol):
    """A published plausibility rule: a condition that must never be true, and the rows to which it applies."""

    @property
    def never(self) -> str: ...

    @property
    def applies_to(self) -> Sequence[str]: ...


def functions_of(rules: Iterable[StatedRule], columns: Sequence[Sequence[PublishedColumn]]) -> Iterator[tuple[int, tuple[int]]]:
    """Yield pairs of a column and, in a tuple, the column that determines it in every row, by index: (0, (3,)) if column 3
    determines column 0.

    `columns` contains each column under each alternative binning, for all of which this must hold. Only rules for both private
    and released rows are used: the former ensure that each measured table with the other column also determines this column;
    the latter, that the model reproduces the relation.
    """
    domains = {alternatives[0].name: _domain(alternatives[0]) for alternatives in columns}
    place_of = {alternatives[0].name: index for index, alternatives in enumerate(columns)}
    of_columns = dict[frozenset[int], list[Rule]]()
    for rule in rules:
        if _EVERY_ROW.issubset(rule.applies_to) and (read := plain_rule(rule.never, domains)) is not None:
            columns_named = frozenset(place_of[name] for name in columns_of(read))
            of_columns.setdefault(columns_named, []).append(read)
    for pair in (columns_named for columns_named in of_columns if len(columns_named) == 2):
        held = [rule for columns_named, some in of_columns.items() if columns_named <= pair for rule in some]
        for upper, lower in permutations(sorted(pair)):
            binnings = product(columns[upper], columns[lower])
            if all(_follows(held, upper_bins, lower_bins) for upper_bins, lower_bins in binnings):
                yield upper, (lower,)


def _domain(column: PublishedColumn) -> Domain:
    categories = tuple(name for held in column.categories for name in held)
    return Domain(kind=column.kind, bounds=column.bounds, categories=categories, missing=column.missing is not None)


def _follows(rules: Sequence[Rule], upper: PublishedColumn, lower: PublishedColumn) -> bool:
    """Return whether the rules allow at most one bin of `upper` for each bin of `lower`. False, unchecked, above MOST_CELLS
    combinations."""
    shape = len(upper.labels), len(lower.labels)
    if shape[0] * shape[1] > MOST_CELLS:
        return False
    forbidden = np.zeros(shape, dtype=bool)

    def leaf(part: Comparison | Gap | Count) -> Truth:
        if not isinstance(part, Comparison):
            raise TypeError("expected a rule on single columns, found a rule that counts or compares columns")
        column, view = (upper, (-1, 1)) if part.column == upper.name else (lower, (1, -1))
        true, false = _of_bins(part, column)
        return true.reshape(view), false.reshape(view)

    for rule in rules:
        forbidden |= truth_of(rule, leaf)[0]
    return bool(((~forbidden).sum(axis=0) <= 1).all())


def _of_bins(part: Comparison, column: PublishedColumn) -> Truth:
    """Return two boolean (n_bins,) arrays: whether a comparison is true, or false, for all values of a bin. Both are False in
    the bin for missing values, unless the operator is `is missing`."""
    absent = np.arange(len(column.labels)) == column.missing
    if part.operator == IS_MISSING:
        return absent, ~absent
    if isinstance(part.value, str):
        met = [[(name == part.value) == (part.operator == "==") for name in held] for held in column.categories]
        true, false = [bool(held) and all(held) for held in met], [bool(held) and not any(held) for held in met]
        return np.array(true) & ~absent, np.array(false) & ~absent
    surely, never = np.zeros(len(absent), dtype=bool), np.zeros(len(absent), dtype=bool)
    for bin_, (low, high) in enumerate(zip(*column.value_limits, strict=True)):
        at_ends = [HOLDS[part.operator](value, float(part.value)) for value in (low, high)]
        if part.operator in ("==", "!=") and low < float(part.value) < high:
            continue  # true for some values, and false for other values
        surely[bin_], never[bin_] = all(at_ends), not any(at_ends)
    return surely, never
