"""The private half of named models: measure sums over rows and shares of groups with noise.

Private: the counts of the table with the exact values of its atomic cells. Out: `NoisyModels`, public.

Guarantee: eps-DP, where eps is the sum of all eps_i and eps_j; neighbours replace one record. The summed functions, with their
conditions and limits, are public. A row adds a whole number from 0 to STEPS to a sum, which is a function of the row alone. So
replacing a record changes each sum by at most STEPS, which is its sensitivity. One noise vector makes a block of sums eps_i-DP
(theory 9.18, one noise for many numbers). For means of groups, each row contributes SHARES parts to three numbers of its group,
or nothing. Replacing a record changes all these numbers together by at most 2 SHARES in l1 norm. So discrete Laplace noise of
scale 2 SHARES / eps_j makes the numbers eps_j-DP (theory 12.16, named models). Costs add up by sequential composition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import atoms_of
from synthrelease.data.rules import Comparison, Count, Gap, Rule, Truth, of_atoms, truth_of
from synthrelease.data.schema import Schema, Transformation
from synthrelease.generators.row_functions import (
    SHARE_STEPS,
    SHARES,
    STEPS,
    GroupMeans,
    NoisyModels,
    RowFunction,
    Rows,
    Value,
    columns_of,
)
from synthrelease.privacy.noise import SystemEntropy, discrete_laplace, one_noise

Digits = Mapping[str, np.ndarray]
"""For each column, an (n_cells,) array with the atomic bin of every distinct row."""


def measured_models(
    counts: Counts,
    blocks: Sequence[tuple[Sequence[RowFunction], Fraction]],
    tables: Sequence[tuple[GroupMeans, Fraction]],
    transformation: Transformation,
    entropy: SystemEntropy,
) -> NoisyModels:
    """Measure with noise all sums and all shares of groups. Each block and each table has its own epsilon.

    Parameters
    ----------
    blocks : the functions whose sums share one noise, with their epsilon.
    tables : the means of groups, with their epsilons.
    transformation : the map to the released bins.
    """
    rows, schema = atoms_of(counts, transformation), transformation.schema
    return NoisyModels(
        sums=tuple(noisy_totals(rows, block, schema, epsilon, entropy) for block, epsilon in blocks),
        tables=tuple(noisy_shares(rows, table, transformation, epsilon, entropy) for table, epsilon in tables),
    )


def noisy_totals(
    rows: Counts, functions: Sequence[RowFunction], schema: Schema, epsilon: Fraction, entropy: SystemEntropy
) -> tuple[int, ...]:
    """Measure sums of functions over the rows with one noise vector. One record changes each sum by at most STEPS."""
    exact = np.array([_total(rows, function, schema) for function in functions], dtype=np.int64)
    return tuple(one_noise(exact, sensitivity=STEPS, epsilon=epsilon, entropy=entropy).tolist())


def noisy_shares(
    rows: Counts, table: GroupMeans, transformation: Transformation, epsilon: Fraction, entropy: SystemEntropy
) -> tuple[tuple[int, int, int], ...]:
    """Measure with noise three sums for each group (`group_shares`). Replacing a record changes the sums of all groups
    together by at most 2 SHARES in l1 norm."""
    exact = group_shares(rows, table, transformation)
    noisy = discrete_laplace(exact.ravel(), sensitivity=2 * SHARES, epsilon=epsilon, entropy=entropy)
    return tuple((first, second, third) for first, second, third in noisy.reshape(-1, 3).tolist())


def group_shares(rows: Counts, table: GroupMeans, transformation: Transformation) -> np.ndarray:
    """Return (n_groups, 3) exact sums. Each row adds (1 - t)^2, 2 t (1 - t) and t^2 to the sums of its group; t, from 0 to
    1, is the position of its value between the limits.

    They determine the number of rows of a group, and its sums of t and t^2. A row of two groups belongs to the first.
    """
    schema, by = transformation.schema, table.by
    distinct, digits = _distinct(rows, columns_of([table.value, *table.groups, table.rows]) | ({by} - {""}))
    if by:
        number, group = len(transformation.binning(by)), transformation.maps[schema.layout.index(by)][digits[by]]
    else:
        number = len(table.groups)
        group = np.select([_meets(condition.rule, schema, digits) for condition in table.groups], range(number), number)
    kept = _counted(table.rows, schema, digits) & (group < number)
    places = np.rint((_values(table.value, schema, digits) + 1) / 2 * SHARE_STEPS).astype(np.int64)
    shares = np.array([(SHARE_STEPS - places) ** 2, 2 * places * (SHARE_STEPS - places), places**2])
    exact = np.zeros((3, number), dtype=np.int64)
    for share in range(3):
        np.add.at(exact[share], group[kept], (shares[share] * distinct.counts)[kept])
    return exact.T


def _total(rows: Counts, function: RowFunction, schema: Schema) -> int:
    """Return the exact sum of a function over the rows, with each row's value rounded to whole steps from 0 to STEPS."""
    distinct, digits = _distinct(rows, columns_of([*function.factors, function.rows]))
    product = _counted(function.rows, schema, digits).astype(float)
    for factor in function.factors:
        product *= _values(factor, schema, digits) if isinstance(factor, Value) else _meets(factor.rule, schema, digits)
    low, high = function.ends
    return int(distinct.counts @ np.rint((product - low) / (high - low) * STEPS).astype(np.int64))


def _distinct(rows: Counts, names: set[str]) -> tuple[Counts, Digits]:
    ordered = tuple(index for index, name in enumerate(rows.layout.columns) if name in names)
    distinct = rows.project(ordered)
    return distinct, {rows.layout.columns[column]: distinct.digits(axis) for axis, column in enumerate(ordered)}


# The following functions are computed for each row from its atomic bins alone, elementwise.


def _values(value: Value, schema: Schema, digits: Digits) -> np.ndarray:
    """Return the (n_cells,) values of a column, clipped and scaled to [-1, 1]; 0 for rows without a value."""
    scaled = (schema[value.column].atoms.known_numbers - value.middle) / value.half
    return np.clip(np.where(np.isfinite(scaled), scaled, 0.0), -1.0, 1.0)[digits[value.column]]


def _meets(rule: Rule, schema: Schema, digits: Digits) -> np.ndarray:
    def leaf(part: Comparison | Gap | Count) -> Truth:
        if not isinstance(part, Comparison):
            raise TypeError("expected a condition that compares one column with values")
        true, false = of_atoms(part, schema[part.column])
        return true[digits[part.column]], false[digits[part.column]]

    return truth_of(rule, leaf)[0]


def _counted(rows: Rows, schema: Schema, digits: Digits) -> np.ndarray:
    """Return an (n_cells,) mask of the rows that a question uses."""
    kept = np.ones(len(next(iter(digits.values()))), dtype=bool)
    if rows.rule is not None:
        kept &= _meets(rows.rule, schema, digits)
    for name in rows.valued:
        kept &= digits[name] < schema[name].atoms.present
    return kept
