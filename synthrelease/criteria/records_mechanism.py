"""The private half of the regressions: what the rows of the table add to moments, to Newton steps and to mean errors.

Private: the numbers of the rows that have all columns, how many have them, and exact sums over these. Out: noisy moment sums
(`noisy_moments`), and exact figures for `criteria.base_mechanism` alone, which adds the noise.

Neighbours replace one record. What a record adds is a function of its own numbers alone, computed number by number, so a sum
moves by what one record adds less what the other adds; each public half bounds that over all records that the rules allow, by
the same steps on intervals (theory 3.4, one-step regression; theory 3.5, regression prediction; theory 3.8, functional
mechanism, joint form; theory 3.13, one-step logistic regression). Moments are whole numbers; other sums are correctly rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.criteria.records import (
    LinearModel,
    LinearStep,
    LogisticStep,
    MomentGrid,
    Records,
    RegressionColumns,
    StandardUnits,
)
from synthrelease.data.counts import Counts, codes_of
from synthrelease.data.layout import Layout
from synthrelease.data.member_counts import BinnedCounts, atoms_of
from synthrelease.data.schema import Binning

if TYPE_CHECKING:
    from synthrelease.privacy.noise import SystemEntropy

MOST = 2**20
"""Largest integer that one record adds to a moment; finer grids would not lower the noise visibly."""
_BATCH = 2**16
"""Records whose moments are computed at a time, for the memory."""
MOST_REPLACED = 2**12
"""Records that must be replaced are counted up to so many."""


def released_records(table: Counts, columns: RegressionColumns) -> Records:
    """Return the rows of a table on released bins, each with the numbers of its bins of the representation."""
    present = [columns.transformation.binning(name) for name in columns.names]
    return records_of_cells(sub_table(table, columns.names, present, columns.wanted), columns.numbers)


def original_records(table: Counts, columns: RegressionColumns) -> Records:
    """Return the rows of the original, on released bins. Each record's values are its own, whatever others are."""
    if not columns.own:
        return released_records(table, columns)

    def projected() -> Counts:
        places = [columns.transformation.schema.layout.index(name) for name in columns.names]
        return atoms_of(table, columns.transformation).project(places)

    rows = table.cached(("records", columns.names), projected) if isinstance(table, BinnedCounts) else projected()
    numbers = [columns.of_atoms(*column) for column in zip(columns.names, columns.wanted, columns.numbers, strict=True)]
    values = np.column_stack([axis[rows.digits(number)] for number, axis in enumerate(numbers)])
    whole = np.isfinite(values).all(axis=1)
    return Records(values=values[whole], counts=rows.counts[whole])


def records_of_cells(rows: np.ndarray, numbers: Sequence[np.ndarray]) -> Records:
    """Return the rows of a table over the product of bins, the target's varying fastest, by the numbers of these bins."""
    occupied = np.flatnonzero(rows)
    digits = np.unravel_index(occupied, [len(axis) for axis in numbers])
    values = [axis[digit] for axis, digit in zip(numbers, digits, strict=True)]
    return Records(values=np.column_stack(values), counts=rows[occupied])


def sub_table(table: Counts, columns: tuple[str, ...], present: Sequence[Binning], coarser: Sequence[Binning]) -> np.ndarray:
    """Return (n_cells,) counts over the product of the wanted bins of `columns`, the last column varying fastest.

    Rows that lack a value in one of the columns are left out, and so are the bins of missing values.
    """
    into = {
        table.layout.index(column): finer.map_to(then) for column, finer, then in zip(columns, present, coarser, strict=True)
    }
    layout = Layout(columns=columns, sizes=tuple(binning.present for binning in coarser))
    digits = [bins[table.digits(index)] for index, bins in into.items()]
    valued = np.all([bins < size for bins, size in zip(digits, layout.sizes, strict=True)], axis=0)
    return Counts(layout, codes_of(layout, [bins[valued] for bins in digits]), table.counts[valued]).dense()


def noisy_moments(
    counts: Counts, columns: RegressionColumns, design: MomentGrid, epsilon: Fraction, entropy: SystemEntropy
) -> np.ndarray:
    """Return the moment sums of the table with noise."""
    return noisy_sums(original_records(counts, columns), design, epsilon, entropy)


def noisy_sums(records: Records, design: MomentGrid, epsilon: Fraction, entropy: SystemEntropy) -> np.ndarray:
    """Return (k,) moment sums of a private table on the integer grid, with noise.

    Parameters
    ----------
    records : the private records that have all columns.

    Privacy
    -------
    eps-DP, neighbours replace one record: the sums are exact sums of integers, each a function of one record alone
    (`real_moments`). Replacing one record changes them in l1 by at most sum_k |t_k(z) - t_k(z')| <= 2 max_z sum_k
    |t_k(z)| <= design.sensitivity, over all records z that the public domain allows: `Design.largest_moments` bounds each
    |t_k(z)| in the cell of z, rounding included. A record that lacks a column adds 0, so that replacing it changes less. Each
    sum gets discrete Laplace noise of scale sensitivity / eps.
    """
    from synthrelease.privacy.noise import discrete_laplace  # here, for readers of a release have no use for it

    batches = [slice(start, start + _BATCH) for start in range(0, len(records.counts) or 1, _BATCH)]  # of whole numbers, exact
    sums = np.sum([records.counts[batch] @ moments(records.values[batch], design) for batch in batches], axis=0)
    return discrete_laplace(sums, sensitivity=design.sensitivity, epsilon=epsilon, entropy=entropy)


def moments(records: np.ndarray, design: MomentGrid) -> np.ndarray:
    """Return (n, k) integers that each of some (n, d + 1) records adds to the moment sums.

    Raises
    ------
    ValueError : when a moment is not a number that an integer can be made of: it would become the lowest of all.
    """
    return rounded(real_moments(records, design), design.scales)


def rounded(moments: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return real moments as whole numbers. Raises ValueError as `moments`."""
    rounded = np.rint(moments * scales)
    if not (np.abs(rounded) <= MOST).all():
        raise ValueError("expected finite moments of at most the resolution in every possible cell")
    return rounded.astype(np.int64)


def real_moments(records: np.ndarray, design: MomentGrid) -> np.ndarray:
    """Return (n, k): features, their products (upper triangle), residual, residual times each feature; 1 before, if `counted`.

    A record's numbers are a function of the record alone: single numbers are added and multiplied, feature by feature. A matrix
    product adds in an order that depends on how many rows it has, so that the last bit of a record's moments, and with it where
    they are rounded to, would depend on the other records.

    Parameters
    ----------
    records : (n, d + 1) values of the features, and last of the target.
    """
    features, target = records[:, :-1], records[:, -1]
    standard = (features - design.prior.centres) / design.prior.spreads
    residual = added(target - design.prior.intercept, features.T, -design.prior.coefficients)
    return all_moments(standard, residual, design.counted)


def all_moments(standard: np.ndarray, residual: np.ndarray, counted: bool) -> np.ndarray:
    """Return (n, k) from standardised features and residuals, or from bounds of both: elementwise."""
    rows, columns = np.triu_indices(standard.shape[1])
    products = standard[:, rows] * standard[:, columns]
    ones = [np.ones(len(residual))] if counted else []
    return np.column_stack([*ones, standard, products, residual, standard * residual[:, None]])


def distance_of_steps(counts: Counts, columns: RegressionColumns, step: LinearStep) -> float:
    """Return the sum over the slopes of how far one Newton step of the table's rows moves them."""
    records = original_records(counts, columns)
    shares = steps_of_records(records.values, step) * records.counts[:, None]
    return math.fsum(abs(math.fsum(steps.tolist())) for steps in shares.T) / step.rows


def slack_of_steps(
    counts: Counts,
    columns: RegressionColumns,
    step: LinearStep,
    threshold: float,
    sensitivity: float,
    farthest: Sequence[tuple[np.ndarray, float]],
) -> float:
    """Return how far the table is from a distance of steps above the threshold: sensitivity 1, below 0 exactly when it is
    above.

    (threshold - figure) / sensitivity where that is below 0; otherwise the records that must be replaced before it is above,
    less 1, where those are more (theory 3.4, one-step regression).
    """
    plain = (threshold - distance_of_steps(counts, columns, step)) / sensitivity
    if plain < 0 or not farthest:
        return plain
    records = original_records(counts, columns)
    return max(plain, replaced_before(records, counts.total - records.rows, step, threshold, farthest) - 1)


def replaced_before(
    records: Records, lacking: int, step: LinearStep, threshold: float, farthest: Sequence[tuple[np.ndarray, float]]
) -> int:
    """Return how many records must be replaced, at least, before the sum of the steps is above the threshold; at most
    `MOST_REPLACED`.

    In one direction after the other records with the least steps are replaced by ones with the farthest step that the rules
    allow. What a record adds is a whole number, rounded up, of steps of a public grid: a function of the record alone.

    Parameters
    ----------
    lacking : how many records lack a column; they add 0.
    farthest : directions of (d,) ones, 1 or -1, with the largest step along them of any record, rounding included.
    """
    parts = in_units(records.values[:, :-1], step.units).T
    residuals = residuals_of_records(records.values, step)
    number = np.append(records.counts, lacking)
    n, most = records.rows + lacking, max(far for _, far in farthest)
    grid = 2.0 ** (60 - n.bit_length() - math.frexp(most)[1])
    limit = math.floor(min((threshold - most * 2.0**-40) * step.rows * grid, 2.0**62))

    def whole(direction: np.ndarray) -> np.ndarray:
        along = added(0.0, parts, step.inverse @ direction)
        return np.append(np.ceil(along * residuals * grid).astype(np.int64), 0)

    bounds = []
    for index, (direction, far) in enumerate(farthest):
        adds, highest = whole(direction), math.ceil(far * grid)
        left = limit - int(adds @ number)
        if left < 0:
            return 0
        gain = highest - int(adds.min())
        if gain:
            bounds.append((left // gain + 1, index, left, highest))
    least = MOST_REPLACED
    for bound, index, left, highest in sorted(bounds):  # where fewest could do, first: few directions are left then
        if bound < least:
            least = min(least, _replaced(whole(farthest[index][0]), number, highest, left, least))
    return least


def _replaced(adds: np.ndarray, number: np.ndarray, highest: int, left: int, most: int) -> int:
    """Return the smallest k, if it is below `most`, at which replacing the k smallest numbers by the highest adds more than
    what is left.

    Parameters
    ----------
    adds, number : (n,) whole numbers, and how many records have each.
    """
    first = np.argpartition(adds, most)[:most] if most < len(adds) else np.arange(len(adds))
    first = first[np.argsort(adds[first])]
    gains = highest - adds[first]
    reached = np.cumsum(gains * number[first])
    last = int(np.searchsorted(reached, left, side="right"))
    if last == len(first):
        return most
    covered = int(reached[last - 1]) if last else 0
    return int(number[first[:last]].sum()) + (left - covered) // int(gains[last]) + 1


def steps_of_records(records: np.ndarray, step: LinearStep) -> np.ndarray:
    """Return (n, d) v(z) of each of some (n, d + 1) records, by single sums and products: a function of the record alone."""
    parts, residuals = in_units(records[:, :-1], step.units).T, residuals_of_records(records, step)
    return np.column_stack([added(0.0, parts, slopes) * residuals for slopes in step.inverse.T])


def residuals_of_records(records: np.ndarray, step: LinearStep) -> np.ndarray:
    """Return (n,) target less clipped prediction."""
    prediction = added(step.line.intercept, records.T[:-1], step.line.coefficients)
    return records[:, -1] - np.clip(prediction, *step.allowed)


def largest_logistic_step(counts: Counts, columns: RegressionColumns, step: LogisticStep) -> float:
    """Return how far one Newton step of the table's rows moves the slope it moves most."""
    return max(abs(change) for change in logistic_steps(original_records(counts, columns), step))


def logistic_steps(records: Records, step: LogisticStep) -> list[float]:
    """Return (d,) sum of v_j over some records, over m."""
    shares = logistic_steps_of_records(records.values, step) * records.counts[:, None]
    return [math.fsum(steps.tolist()) / step.rows for steps in shares.T]


def logistic_steps_of_records(records: np.ndarray, step: LogisticStep) -> np.ndarray:
    """Return (n, d) v(z) of each of some (n, d + 1) records, by single sums and products: a function of the record alone."""
    parts, (start, *slopes) = in_units(records[:, :-1], step.units).T, step.coefficients
    residuals = records[:, -1] - probability(added(start, parts, slopes))
    return np.column_stack([added(first, parts, rest) * residuals for first, *rest in step.inverse.T[1:]])


def difference_of_mean_errors(
    counts: Counts, columns: RegressionColumns, lines: tuple[LinearModel, LinearModel], allowed: tuple[float, float], rows: int
) -> float:
    """Return |the sum of the differences of the absolute errors of the table's rows by two lines| over a public number of
    rows.
    """
    records = original_records(counts, columns)
    ours, theirs = (absolute_errors(records.values, line, *allowed) for line in lines)
    return abs(math.fsum((records.counts * (ours - theirs)).tolist())) / rows


def absolute_errors(records: np.ndarray, model: LinearModel, lowest: float, highest: float) -> np.ndarray:
    """Return (n,) |target - prediction|, both clipped, of a line for each of some (n, d + 1) records: each by itself."""
    prediction = added(model.intercept, records.T[:-1], model.coefficients)
    return np.abs(np.clip(prediction, lowest, highest) - np.clip(records[:, -1], lowest, highest))


def in_units(features: np.ndarray, units: StandardUnits) -> np.ndarray:
    """Return (n, d) features of records in standard units, number by number."""
    return (features - units.centres) / units.deviations


def added(start: float | np.ndarray, parts: np.ndarray, slopes: Iterable[float]) -> np.ndarray:
    """Return start + slope * part + slope * part + ..., one after the other, number by number: of each record by itself."""
    total = np.full(parts.shape[1], start)
    for part, slope in zip(parts, slopes, strict=True):
        total = total + part * slope
    return total


def probability(scores: np.ndarray) -> np.ndarray:
    """Return (n,) the probabilities of log odds; beyond 700 of them exp would overflow."""
    return 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
