"""What the other columns of a public file say about a column of whole numbers: whether its order means something.

Of a quantity, neighbouring numbers stand for rows that are alike: those aged 41 earn, marry and live much as those aged 42. Of
codes they do not, more than any two codes do. So for each other column the means by value are compared between neighbours and
between any two values, both less what chance alone would make of so few rows (the variogram of geostatistics, by its nugget).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synthrelease.drafting.column_draft import Answers
from synthrelease.drafting.missing import NUMBER
from synthrelease.drafting.rows import PublicRows

_ROWS = 20_000
"""Rows that are looked at, at most."""
_TEXTS = 200
"""Different texts of a column of categories, at most, whose most frequent ones are taken as columns of 0 and 1."""
_FREQUENT = 3
_OTHERS = 60
"""Columns of numbers, or of 0 and 1, that are compared with, at most."""
_FEW_VALUES = 60
"""Values of which all pairs are compared; of more, those at some distances."""
_DISTANCES = 30
_CLEAR = 5.0
"""Standard errors by which the differences between values must exceed chance for a column to have a say."""
_TOLD = 0.999
"""Share of the variance of a column between values from which on they tell it."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """Whether neighbouring values of a column are alike in the others.

    Attributes
    ----------
    unlike : how far neighbours differ, in units of how far any two values do: 0 where order is everything, about 1 where it is
        nothing; the median of the columns that have a say. None where none has.
    witnesses : how many have.
    tells : a column that its values tell, without being an order of ranges; empty where there is none.
    part_of : a column that is the first digits of this one, or of which it is the first or last ones; empty where none is.
    """

    unlike: float | None = None
    witnesses: int = 0
    tells: str = ""
    part_of: str = ""


def orders(answers: Mapping[str, Answers], rows: PublicRows) -> dict[str, Order]:
    """For every column of whole numbers, by its name in the file, what the others say of it."""
    taken = slice(None, None, -(-rows.n_rows // _ROWS))
    numbers = {source: _numbers(found, rows, taken) for source, found in answers.items() if _are_numbers(found)}
    names, others = _witnesses(answers, numbers, rows, taken)
    whole = {source: values for source, values in numbers.items() if np.array_equal(values, np.rint(values), equal_nan=True)}
    beginnings = _beginnings(whole)
    found = {}
    for source, values in whole.items():
        if len(answers[source].texts) < 3:
            continue
        unlike, tells = _compared(source, values, names, others)
        found[source] = Order(
            unlike=float(np.median(unlike)) if unlike else None,
            witnesses=len(unlike),
            tells=tells,
            part_of=beginnings.get(source, ""),
        )
    return found


def _are_numbers(found: Answers) -> bool:
    return bool(found.texts) and all(map(NUMBER.fullmatch, found.texts))


def _numbers(found: Answers, rows: PublicRows, taken: slice) -> np.ndarray:
    """(n_rows,) the numbers; not a number where there is no answer."""
    return np.array([*map(float, rows.texts[found.source]), np.nan])[rows.codes[found.source][taken]]


def _witnesses(
    answers: Mapping[str, Answers], numbers: Mapping[str, np.ndarray], rows: PublicRows, taken: slice
) -> tuple[list[str], np.ndarray]:
    """The columns that are compared with, and (n_rows, n_columns) what they say: ranks of numbers, and 0 or 1 for frequent
    categories, with mean 0 and standard deviation 1; not a number where there is no answer. Row numbers and keys are none.
    """
    names, columns = [], []
    for source, found in answers.items():
        said = []
        if source in numbers:
            if len(found.texts) < 0.95 * found.rows or any("." in text for text in found.texts):
                said = [_ranks(numbers[source])]
        elif len(found.texts) <= _TEXTS:
            codes = rows.codes[source][taken]
            frequent = sorted(range(len(found.texts)), key=lambda place: -found.texts[rows.texts[source][place]])
            frequent = frequent[: 1 if len(frequent) <= 2 else _FREQUENT]
            said = [np.where(codes < 0, np.nan, codes == place) for place in frequent]
        for column in said:
            known = ~np.isnan(column)
            spread = column[known].std() if known.any() else 0
            if spread > 0:
                names.append(source)
                columns.append((column - column[known].mean()) / spread)
    every = -(-len(names) // _OTHERS) or 1
    return names[::every], np.array(columns[::every]).T


def _ranks(values: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values)
    _, inverse, times = np.unique(values[known], return_inverse=True, return_counts=True)
    ranks = np.full(len(values), np.nan)
    ranks[known] = (np.cumsum(times) - times / 2)[inverse]
    return ranks


def _compared(source: str, values: np.ndarray, names: list[str], others: np.ndarray) -> tuple[list[float], str]:
    """How unlike neighbours are in each other column that has a say, and one that the values tell, but not by ranges."""
    own = np.array([name != source for name in names], dtype=bool)
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    _, starts = np.unique(values[known][order], return_index=True)
    if not own.any() or len(starts) < 3:
        return [], ""
    sorted_others = others[known][order][:, own]
    given = ~np.isnan(sorted_others)
    sorted_others = np.where(given, sorted_others, 0.0)
    rows = np.add.reduceat(given.astype(float), starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(rows > 0, np.add.reduceat(sorted_others, starts) / rows, 0.0)
        n_values, n_rows = (rows > 0).sum(axis=0), rows.sum(axis=0)
        total = (sorted_others**2).sum(axis=0) - n_rows * (sorted_others.sum(axis=0) / n_rows) ** 2
        within = np.maximum((sorted_others**2).sum(axis=0) - (rows * means**2).sum(axis=0), 0.0)
        chance = np.maximum(within / (n_rows - n_values), 1e-9)
        excess = total - within - (n_values - 1) * chance
        clear = (n_values > 2) & (n_rows > 2 * n_values) & (excess > _CLEAR * chance * np.sqrt(2 * (n_values - 1)))
    told = clear & (rows.max(axis=0) < 0.9 * n_rows) & (n_rows > 5 * n_values) & (total - within >= _TOLD * total)
    if not clear.any():
        return [], ""
    near = _differences(means[:, clear], rows[:, clear], chance[clear], [1])
    lags = np.arange(1, len(starts)) if len(starts) <= _FEW_VALUES else np.linspace(1, len(starts) - 1, _DISTANCES).astype(int)
    any_two = _differences(means[:, clear], rows[:, clear], chance[clear], lags.tolist())
    unlike = near / np.maximum(any_two, 1e-12)
    own_names = [name for name, is_own in zip(names, own, strict=True) if is_own]
    tells = (own_names[column] for column in np.flatnonzero(told) if _has_no_order(means[rows[:, column] > 0, column]))
    return unlike.tolist(), next(tells, "")


def _has_no_order(means: np.ndarray) -> bool:
    """Whether what goes with the values, in their order, comes again and again, or goes up and down."""
    changes = np.diff(np.round(means, 6))
    changes = changes[changes != 0]
    turns = np.count_nonzero(changes[1:] * changes[:-1] < 0)
    levels = len(np.unique(np.round(means, 6)))
    return bool(len(changes) > 2 * (levels - 1) or (len(changes) >= 4 and levels > 2 and turns > 0.4 * (len(changes) - 1)))


def _differences(means: np.ndarray, rows: np.ndarray, chance: np.ndarray, lags: list[int]) -> np.ndarray:
    """(n_columns,) mean squared difference of the means of values so far apart, less what chance makes of it, halved."""
    total, weights = np.zeros(means.shape[1]), np.zeros(means.shape[1])
    for lag in lags:
        one, other = rows[:-lag], rows[lag:]
        both = (one > 0) & (other > 0)
        weight = np.where(both, one * other / np.maximum(one + other, 1), 0.0)
        total += (weight * (means[lag:] - means[:-lag]) ** 2 - both * chance).sum(axis=0)
        weights += weight.sum(axis=0)
    return total / np.maximum(2 * weights, 1e-12)


def _beginnings(whole: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Columns of which the first digits are another one (a municipality that begins with its county), these others, and those
    that are the rest of the digits.

    Ages in years and in decades are like that, too, but have all endings.
    """
    found: dict[str, str] = {}
    distinct = {source: np.unique(values[~np.isnan(values)]) for source, values in whole.items()}
    for source, values in whole.items():
        different = distinct[source]
        if len(different) < 10 or different[0] < 10 or len(different) > 0.5 * (different[-1] - different[0] + 1):
            continue
        for digits in range(1, len(str(int(different[-1])))):
            beginning = np.floor(values / 10**digits)
            groups = np.unique(np.floor(different / 10**digits))
            if len(groups) < 3:
                break
            for other, compared in whole.items():
                if other != source and len(distinct[other]) == len(groups) and np.array_equal(distinct[other], groups):
                    both = ~np.isnan(values) & ~np.isnan(compared)
                    if both.sum() > 0.9 * (~np.isnan(values)).sum() and np.array_equal(beginning[both], compared[both]):
                        found[source] = other
                        found.setdefault(other, source)
                        ending = values - beginning * 10**digits
                        for last, compared_last in whole.items():
                            if last not in (source, other) and np.array_equal(ending[both], compared_last[both]):
                                found.setdefault(last, source)
    return found
