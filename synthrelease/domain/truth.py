"""What a rule says of bins and of whole records: true, false, or, where a value is missing, neither.

Of atomic bins each comparison is decided. On coarser ones it is true where it is for all that a bin holds, false where it is
for none, and else unknown. So what is true of a coarse record is true of every record in it; the converse need not be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.domain.rules import IS_MISSING, All, Any, Comparison, Count, Gap, Not, Rule, columns_of, comparisons
from synthrelease.domain.schema import Column, Transformation

Said = tuple[np.ndarray, np.ndarray]
"""Where a rule is true, and where it is false; elsewhere it is unknown."""
Range = tuple[np.ndarray, np.ndarray]
"""The lowest and the highest number; NaN where there is none."""
_OPERATORS = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def said(rule: Rule, leaf: Callable[[Comparison | Gap | Count], Said]) -> Said:
    """What a rule says, from what its parts without `and`, `or` and `not` say."""
    if isinstance(rule, Not):
        true, false = said(rule.part, leaf)
        return false, true
    if isinstance(rule, All | Any):
        parts = [said(part, leaf) for part in rule.parts]
        true_parts = np.broadcast_arrays(*[true for true, _ in parts])
        false_parts = np.broadcast_arrays(*[false for _, false in parts])
        if isinstance(rule, All):
            return np.logical_and.reduce(true_parts), np.logical_or.reduce(false_parts)
        return np.logical_or.reduce(true_parts), np.logical_and.reduce(false_parts)
    return leaf(rule)


def of_atoms(part: Comparison, column: Column) -> Said:
    """(n_atoms,) what a comparison says of each atomic bin."""
    present = np.arange(len(column.atoms)) < column.atoms.present
    if part.operator == IS_MISSING:
        return ~present, present
    met = np.zeros(len(column.atoms), dtype=bool)
    met[present] = _met(part, column)
    return met, present & ~met


def _met(rule: Comparison, column: Column) -> np.ndarray:
    """(n_present,) whether a comparison is true for the values of each atomic bin, the missing one apart."""
    if isinstance(rule.value, str):
        same = np.zeros(column.atoms.present, dtype=bool)
        place = column.atoms.places.get(rule.value, len(same))
        same[place : place + 1] = True  # none of them where it is no label, or that of the missing bin
        return same if rule.operator == "==" else ~same
    # every limit is an edge, so an atomic bin satisfies the comparison just when its lowest value does
    lowest = (column.bounds or (-math.inf, math.inf))[0]
    return _OPERATORS[rule.operator](np.array([lowest, *column.edges]), rule.value)


def numbers_of(column: Column) -> np.ndarray:
    """(n_atoms,) the whole number that each atomic bin of a column stands for that a rule compares with another one; NaN for
    the bin of missing values."""
    lowest = (column.bounds or (-math.inf, math.inf))[0]
    found = np.full(len(column.atoms), np.nan)
    found[: column.atoms.present] = [lowest, *column.edges]
    return found


def compared(low: np.ndarray, high: np.ndarray, operator: str) -> Said:
    """What `difference operator 0` says of differences between a lowest and a highest one; NaN is neither true nor false."""
    if operator in ("==", "!="):
        same, other = (low == 0) & (high == 0), (low > 0) | (high < 0)
        return (same, other) if operator == "==" else (other, same)
    strict, weak = (high, low) if operator in ("<", "<=") else (low, high)
    against = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[operator]
    return _OPERATORS[operator](strict, 0), _OPERATORS[against](weak, 0)


@dataclass(frozen=True, kw_only=True)
class RecordRule:
    """A rule that is asked of whole records, because a table of all its columns would have too many cells.

    Attributes
    ----------
    places : of its columns in the layout.
    of_bins : what each comparison with a value says of the bins of its column.
    ranges : of the columns that are compared with one another or with a count, the numbers in each bin.
    """

    rule: Rule
    places: Mapping[str, int]
    of_bins: Mapping[Comparison, Said]
    ranges: Mapping[str, Range]

    @classmethod
    def of(cls, rule: Rule, columns: Sequence[Column]) -> RecordRule:
        """A rule on atomic bins."""
        known, places = {column.name: column for column in columns}, {column.name: at for at, column in enumerate(columns)}
        named = columns_of(rule)
        return cls(
            rule=rule,
            places={name: places[name] for name in named},
            of_bins={part: of_atoms(part, known[part.column]) for part in comparisons(rule)},
            ranges={name: (numbers_of(known[name]),) * 2 for name in named if known[name].kind == "integer"},
        )

    def merge(self, transformation: Transformation) -> RecordRule:
        """The rule on the bins of a transformation."""

        def every(met: np.ndarray, place: int) -> np.ndarray:
            found = np.ones(transformation.layout.sizes[place], dtype=bool)
            np.logical_and.at(found, transformation.maps[place], met)
            return found

        def ends(numbers: Range, place: int) -> Range:
            size, into = transformation.layout.sizes[place], transformation.maps[place]
            low, high, known = np.full(size, np.inf), np.full(size, -np.inf), ~np.isnan(numbers[0])
            np.minimum.at(low, into[known], numbers[0][known])
            np.maximum.at(high, into[known], numbers[1][known])
            none = low > high  # a bin of missing values holds nothing else
            return np.where(none, np.nan, low), np.where(none, np.nan, high)

        places = self.places
        return RecordRule(
            rule=self.rule,
            places=places,
            of_bins={
                part: (every(true, places[part.column]), every(false, places[part.column]))
                for part, (true, false) in self.of_bins.items()
            },
            ranges={name: ends(numbers, places[name]) for name, numbers in self.ranges.items()},
        )

    def forbidden(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """(n,) where the rule is true of the records with these bins, one array for each column of the layout."""
        shape = np.shape(digits[0])

        def leaf(part: Comparison | Gap | Count) -> Said:
            if isinstance(part, Comparison):
                true, false = self.of_bins[part]
                bins = digits[self.places[part.column]]
                return true[bins], false[bins]
            if isinstance(part, Gap):
                low, high = (ends[digits[self.places[part.column]]] for ends in self.ranges[part.column])
            else:
                counted = [said(each, leaf) for each in part.parts]
                low = np.sum([true for true, _ in counted], axis=0)
                high = np.sum([~false for _, false in counted], axis=0)
            least, most = (np.zeros(shape),) * 2
            if part.other is not None:
                least, most = (ends[digits[self.places[part.other]]] for ends in self.ranges[part.other])
            return compared(low - most - part.more, high - least - part.more, part.operator)

        return said(self.rule, leaf)[0]
