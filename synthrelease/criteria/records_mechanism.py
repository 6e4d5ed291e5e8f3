"""The private half of the regression criteria: sum the contributions of rows to moments, Newton steps and mean errors.

Private: the values of the rows that have all columns, the counts of these rows, and exact sums over them. Out: noisy moment
sums (`noisy_moments`), and exact criterion values only for `criteria.base_mechanism`, which adds the noise.

Neighbours replace one record. The contribution of a record is computed elementwise from the values of this record alone. So a
sum moves by the difference of two contributions. The public half of each criterion bounds this difference, which is the
sensitivity, over all records that the rules allow, by the same operations on intervals (theory 3.4, one-step regression; theory
3.5, regression prediction; theory 3.8, functional mechanism, joint form; theory 3.13, one-step logistic regression). Moments
are whole numbers; other sums are correctly rounded.
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
    upper_triangle,
)
from synthrelease.data.counts import Counts, few_rows
from synthrelease.data.layout import Layout
from synthrelease.data.member_counts import atoms_of, cached_if_binned
from synthrelease.data.schema import Binning

if TYPE_CHECKING:
    from synthrelease.privacy.noise import SystemEntropy

MOST = 2**20
"""Largest integer that one record adds to a moment. Finer grids would hardly lower the noise."""
_BATCH = 2**13  # Number of records whose moments are computed at once, which fits into the cache of a processor
_MOST_BITS = 1000  # Powers of 2 up to about this exponent are floating-point numbers
MOST_REPLACED = 2**12
"""Largest number of records up to which `replaced_before` counts."""


def released_records(table: Counts, columns: RegressionColumns) -> Records:
    """Return the rows of a table in released bins as records of a regression, with representative values."""
    present = [columns.transformation.binning(name) for name in columns.names]
    cells = sub_table(table, columns.names, present, columns.wanted)
    values = [axis[bins] for axis, bins in zip(columns.numbers, cells.bins, strict=True)]
    return Records(values=np.column_stack(values), counts=cells.counts)


def original_records(table: Counts, columns: RegressionColumns) -> Records:
    """Return the original records, with exact values in the columns `own`. A record depends on no other record."""
    if not columns.own:
        return released_records(table, columns)

    def projected() -> Counts:
        places = [columns.transformation.schema.layout.index(name) for name in columns.names]
        return atoms_of(table, columns.transformation).project(places)

    rows = cached_if_binned(table, ("records", columns.names), projected)
    numbers = [columns.of_atoms(*column) for column in zip(columns.names, columns.wanted, columns.numbers, strict=True)]

    def valued() -> Records:
        values = np.array([axis[bins] for axis, bins in zip(numbers, rows.bins, strict=True)])
        whole = np.isfinite(values).all(axis=0)
        # column after column in memory, because all computations are elementwise in columns
        return Records(values=values.compress(whole, axis=1).T, counts=rows.counts[whole])

    return cached_if_binned(table, ("values", columns.names, *(axis.tobytes() for axis in numbers)), valued)


def records_of_cells(rows: np.ndarray, numbers: Sequence[np.ndarray]) -> Records:
    """Return the records of a table, given the counts of all combinations of bins (the target's vary fastest) and the
    numbers of the bins."""
    occupied = np.flatnonzero(rows)
    digits = np.unravel_index(occupied, [len(axis) for axis in numbers])
    values = [axis[digit] for axis, digit in zip(numbers, digits, strict=True)]
    return Records(values=np.column_stack(values), counts=rows[occupied])


def sub_table(table: Counts, columns: tuple[str, ...], present: Sequence[Binning], coarser: Sequence[Binning]) -> Counts:
    """Return the table of some columns on coarser bins, without rows and bins of missing values."""
    into = {
        table.layout.index(column): finer.map_to(then) for column, finer, then in zip(columns, present, coarser, strict=True)
    }
    layout = Layout(columns=columns, sizes=tuple(binning.present for binning in coarser))
    digits = [bins[table.bins[index]] for index, bins in into.items()]
    valued = np.all([bins < size for bins, size in zip(digits, layout.sizes, strict=True)], axis=0)
    counts = table.counts
    if not valued.all():
        digits, counts = [bins[valued] for bins in digits], counts[valued]
    return Counts.of(layout, digits, counts)


def noisy_moments(
    counts: Counts, columns: RegressionColumns, design: MomentGrid, epsilon: Fraction, entropy: SystemEntropy
) -> np.ndarray:
    return noisy_sums(original_records(counts, columns), design, epsilon, entropy)


def noisy_sums(records: Records, design: MomentGrid, epsilon: Fraction, entropy: SystemEntropy) -> np.ndarray:
    """Return the (k,) noisy sums of scaled moments (whole numbers, such as products of features) over private records.

    Parameters
    ----------
    records : the private records that have values in all columns.

    Privacy
    -------
    The result is eps-DP; neighbours replace one record. The sums are exact sums of integers, each of which is a function of one
    record alone (`real_moments`). Let t_k(z) be the integer that record z adds to sum k. Replacing one record changes the
    sums in l1 norm by at most sum_k |t_k(z) - t_k(z')| <= 2 max_z sum_k |t_k(z)| <= design.sensitivity, over all records z
    that the public domain allows: `Design.largest_moments` bounds each |t_k(z)| in the cell of z, with its rounding. A
    record that lacks a column adds 0, so replacing it changes the sums less. Each sum gets discrete Laplace noise of scale
    sensitivity / eps.
    """
    from synthrelease.privacy.noise import discrete_laplace  # imported here because readers of a release do not need it

    batches = [slice(start, start + _BATCH) for start in range(0, len(records.counts) or 1, _BATCH)]  # of whole numbers, exact
    sums = np.sum([records.counts[batch] @ moments(records.values[batch], design) for batch in batches], axis=0)
    return discrete_laplace(sums, sensitivity=design.sensitivity, epsilon=epsilon, entropy=entropy)


def moments(records: np.ndarray, design: MomentGrid) -> np.ndarray:
    """Return the (n, k) whole numbers that (n, d + 1) records add to the sums of moments.

    Raises
    ------
    ValueError : if a scaled moment is NaN or above `MOST`.
    """
    return rounded(real_moments(records, design), design.scales)


def rounded(moments: np.ndarray, scales: np.ndarray) -> np.ndarray:
    rounded = np.rint(moments * scales)
    if not (np.abs(rounded) <= MOST).all():
        raise ValueError("expected finite moments of at most the resolution in every possible cell")
    return rounded.astype(np.int64)


def real_moments(records: np.ndarray, design: MomentGrid) -> np.ndarray:
    """Return the (n, k) real moments of (n, d + 1) records: the features, their products (upper triangle), the residual,
    and the residual times each feature. With `counted`, a moment 1 comes first.

    Numbers are added and multiplied elementwise, feature by feature, so a record's moments are a function of the record
    alone. A matrix product would add in an order that depends on the number of rows, and so let other records change the
    last bit.
    """
    features, target = records[:, :-1], records[:, -1]
    standard = (features - design.prior.centres) / design.prior.spreads
    residual = added(target - design.prior.intercept, features.T, -design.prior.coefficients)
    return all_moments(standard, residual, design.counted)


def all_moments(standard: np.ndarray, residual: np.ndarray, counted: bool) -> np.ndarray:
    """Return the (n, k) moments, elementwise from standardised features and residuals, or from bounds on them."""
    features = standard.T
    products = (features[row] * features[column] for row, column in zip(*upper_triangle(len(features)), strict=True))
    ones = [np.ones(len(residual))] if counted else []
    return np.array([*ones, *features, *products, residual, *(features * residual)]).T


def distance_of_steps(counts: Counts, columns: RegressionColumns, step: LinearStep) -> float:
    """Return the sum of the absolute changes of the slopes by one Newton step on the rows of the table."""
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
    """Return the slack (distance from failing) of the one-step criterion. It has sensitivity 1 and is below 0 if and only
    if the criterion value is above the threshold.

    Let s = (threshold - criterion value) / sensitivity. If s is below 0, it is the slack. Otherwise, let k be the number of
    records that must be replaced before the criterion value exceeds the threshold. The slack is the larger of s and k - 1
    (theory 3.4, one-step regression).
    """
    plain = (threshold - distance_of_steps(counts, columns, step)) / sensitivity
    if plain < 0 or not farthest:
        return plain
    records = original_records(counts, columns)
    return max(plain, replaced_before(records, counts.total - records.rows, step, threshold, farthest) - 1)


def replaced_before(
    records: Records, lacking: int, step: LinearStep, threshold: float, farthest: Sequence[tuple[np.ndarray, float]]
) -> int:
    """Return a lower limit on how many records must be replaced before the criterion value exceeds the threshold, at most
    `MOST_REPLACED`.

    For each direction, the records with the smallest steps are replaced by records with the largest step that the rules
    allow. The contribution of a record is a function of the record alone, rounded up to whole steps of a public grid.

    Parameters
    ----------
    lacking : the number of records that lack a column, and so add 0.
    farthest : directions as (d,) arrays of 1 and -1, each with an upper limit on the rounded step of any record along it.
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
    for bound, index, left, highest in sorted(bounds):  # records with the lowest bound first, to skip most of the other records
        if bound < least:
            least = min(least, _replaced(whole(farthest[index][0]), number, highest, left, least))
    return least


def _replaced(adds: np.ndarray, number: np.ndarray, highest: int, left: int, most: int) -> int:
    """Return how many numbers must be replaced by `highest`, smallest first, so that their sum grows by more than `left`;
    any number of at least `most` if there are so many.

    Parameters
    ----------
    adds, number : (n,) whole numbers, and the number of records with each of these numbers.
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
    """Return the (n, d) steps v(z) that (n, d + 1) records contribute to the d slopes, each from one record."""
    parts, residuals = in_units(records[:, :-1], step.units).T, residuals_of_records(records, step)
    return np.column_stack([added(0.0, parts, slopes) * residuals for slopes in step.inverse.T])


def residuals_of_records(records: np.ndarray, step: LinearStep) -> np.ndarray:
    prediction = added(step.line.intercept, records.T[:-1], step.line.coefficients)
    return records[:, -1] - np.clip(prediction, *step.allowed)


def largest_logistic_step(counts: Counts, columns: RegressionColumns, step: LogisticStep) -> float:
    return max(abs(change) for change in logistic_steps(original_records(counts, columns), step))


def logistic_steps(records: Records, step: LogisticStep) -> list[float]:
    """Return the d changes of the slopes: the sums of the records' steps v_j, divided by m (`step.rows`)."""
    shares = logistic_steps_of_records(records.values, step) * records.counts[:, None]
    return [math.fsum(steps.tolist()) / step.rows for steps in shares.T]


def logistic_steps_of_records(records: np.ndarray, step: LogisticStep) -> np.ndarray:
    """Return the (n, d) numbers v_j(z) that (n, d + 1) records contribute to the changes of the slopes, each from one
    record.
    """
    parts, (start, *slopes) = in_units(records[:, :-1], step.units).T, step.coefficients
    residuals = records[:, -1] - probability(added(start, parts, slopes))
    return np.column_stack([added(first, parts, rest) * residuals for first, *rest in step.inverse.T[1:]])


def difference_of_mean_errors(
    counts: Counts, columns: RegressionColumns, lines: tuple[LinearModel, LinearModel], allowed: tuple[float, float], rows: int
) -> float:
    """Return |difference of the summed absolute errors of two lines|, divided by a public number of rows."""
    records = original_records(counts, columns)

    def gaps(some: slice) -> np.ndarray:
        ours, theirs = (absolute_errors(records.values[some], line, *allowed) for line in lines)
        return np.asarray(records.counts[some] * (ours - theirs))

    return abs(float(sum(map(exact_sum, map(gaps, few_rows(len(records.counts))))))) / rows


def exact_sum(values: np.ndarray) -> Fraction | float:
    """Return the exact sum of numbers, or NaN if one of them is not finite. `float` of the result is what `math.fsum`
    returns.

    Each number is split into a multiple of a power of 2, so large that 64 bits contain the sum of the multiples, and a
    remainder of at most half the power. Both are exact, because scaling by powers of 2, rounding and remainders need no
    more bits. Remainders are split in the same way, until all of them are 0.
    """
    total = Fraction(0)
    while largest := float(np.abs(values).max(initial=0.0)):
        bits = 62 - len(values).bit_length() - math.frexp(largest)[1] if math.isfinite(largest) else _MOST_BITS
        if bits >= _MOST_BITS:  # not finite, or so small that scaling would overflow
            return total + sum(map(Fraction, values.tolist())) if math.isfinite(largest) else math.nan
        whole = np.rint(values * 2.0**bits)
        total += int(whole.astype(np.int64).sum()) * Fraction(2) ** -bits
        values = values - whole * 2.0**-bits
    return total


def absolute_errors(records: np.ndarray, model: LinearModel, lowest: float, highest: float) -> np.ndarray:
    """Return the (n,) absolute errors |target - prediction| of a line, both clipped, computed for each record separately."""
    prediction = added(model.intercept, records.T[:-1], model.coefficients)
    return np.abs(np.clip(prediction, lowest, highest) - np.clip(records[:, -1], lowest, highest))


def in_units(features: np.ndarray, units: StandardUnits) -> np.ndarray:
    return (features - units.centres) / units.deviations


def added(start: float | np.ndarray, parts: np.ndarray, slopes: Iterable[float]) -> np.ndarray:
    """Return start + slope_1 * part_1 + slope_2 * part_2 + ..., added in this order for each record separately."""
    total = np.full(parts.shape[1], start, dtype=float)
    for part, slope in zip(parts, slopes, strict=True):
        total += part * slope
    return total


def probability(scores: np.ndarray) -> np.ndarray:
    """Return the (n,) probabilities for log odds, which are clipped to +-700 so that exp does not overflow."""
    return 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
