"""Estimate slopes of a linear regression from noisy moments, each as a ratio of two noisy sums (theory 13.9, measured
slopes).

With X the columns and y the target, A = X'X and b = X'y are sums over the rows. The errors E and e of the noisy A and b are
weighted sums of noise terms, with known weights. For the slope of column k, let h be the row vector with h_k = 1 such that
the noisy h A is 0 in all other columns. Then h b - slope * h A[:, k] = h (e - E theta), where theta are the coefficients in
the true table. The interval contains every slope for which plausible noise explains this equation, so noise in X'X does not
bias slopes towards 0.

For members, the sums over positions are added. The sample is a sample of roots, so the sampling variance uses the squares
of sums over the members of each root (theory 13.14, figures of members).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from synthrelease.answers.averages import Counted, Ratio, Sampling, counted, of_roots, possible
from synthrelease.answers.questions import Question, over_cells
from synthrelease.answers.tables import PublishedTables
from synthrelease.errors import InputError, listing
from synthrelease.generators.measured_noise import Noises, SharedNoise

MOST_NOISE = 0.5
"""Slopes are estimated only up to this total standard deviation of the noise in A, scaled so that A is the identity."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Slopes:
    """The slopes of a linear regression, one for each explanatory column.

    Attributes
    ----------
    file, population : the slopes for the rows of the file that the rules keep, and for a population from which they are a
        sample.
    robust : whether the interval for a population allows different variances around the line, which needs one table with
        all columns.
    """

    file: tuple[Ratio, ...]
    population: tuple[Ratio, ...]
    robust: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """Noisy sums over rows of products of any two variables of a regression.

    The variables are the constant 1, the explanatory columns and the target. They may be shifted and scaled.

    Attributes
    ----------
    values : (k + 1, k + 1) noisy sums of products; the target comes last.
    weights : (k + 1, k + 1, n_noises) weights of the noise terms in the errors of these sums.
    """

    values: np.ndarray
    weights: np.ndarray


def slopes(tables: PublishedTables, question: Question) -> Slopes:
    """Estimate the slope of each explanatory column from noisy tables.

    Raises
    ------
    InputError : if some of the columns were not measured together, or if the noise is too large for an estimate.
    """
    joint = all(tables.number(part.columns) for part in question.parts)
    if question.weight and not joint:
        raise InputError(
            f"{question.text!r}: a weighted slope needs a published noisy table that contains all columns of the question "
            f"together ({listing(sorted(question.columns))}). There is no such table."
        )
    moments = _moments(tables, question, joint)
    check_noise(moments, tables.noises, question.on)
    *units, of_target = (_middle_and_unit(tables, name)[1] for name in _named(question.parts[0]))
    survey = Sampling.of(question, tables.release)

    def spread(theta: np.ndarray, h: np.ndarray) -> float:
        return _spread(tables, question, moments, theta, h, joint)

    in_units = [1.0, *(of_target / unit for unit in units)]
    of_file, of_population = coefficients(moments, tables.noises, in_units, spread, (tables.kept.left_out, survey.factor))
    return Slopes(file=of_file[1:], population=of_population[1:], robust=joint)


def coefficients(
    moments: Moments,
    noises: Noises | SharedNoise,
    units: Sequence[float],
    spread: Callable[[np.ndarray, np.ndarray], float],
    factors: tuple[float, float],
) -> tuple[tuple[Ratio, ...], tuple[Ratio, ...]]:
    """Estimate the coefficients of a least-squares regression, the constant first, with errors for the file and for a
    population.

    Parameters
    ----------
    units : the factor by which each coefficient is multiplied, for example to convert it to the units of the columns.
    spread : function of theta and h that returns the variance over samples of h X'(y - X theta).
    factors : factors of this variance for drawing rows from the file, and from a population.
    """
    size = len(moments.values) - 1
    a, b = moments.values[:size, :size], moments.values[:size, size]
    theta, pairs = np.linalg.solve(a, b), list[tuple[Ratio, ...]]()
    for index in range(size):
        rest = [index_ for index_ in range(size) if index_ != index]
        inverse = np.linalg.inv(a[np.ix_(rest, rest)])
        h = np.zeros(size)
        h[index], h[rest] = 1.0, -inverse @ a[rest, index]
        noise_a = np.tensordot(h, moments.weights[:size, :size], axes=1)  # (size, n_noises): of h E
        noise_b = h @ moments.weights[:size, size]
        fixed = inverse @ b[rest]  # the other coefficients are fixed - slope * inverse @ a[others, place]
        off = moments.weights[rest, size] - np.tensordot(theta, moments.weights[:size], axes=1)[rest]
        bias = -float(np.trace(inverse @ noises.covariance(off, noise_a[rest])))
        unit = units[index]
        ratio = Ratio(
            numerator=(float(h @ b) - bias) * unit,
            denominator=float(h @ a[:, index]),
            weights=np.stack([(noise_b - fixed @ noise_a[rest]) * unit, h @ noise_a]),
            noises=noises,
        )
        drawn = spread(theta, h) * unit**2
        pairs.append(tuple(replace(ratio, sampling=factor * np.diag([drawn, 0.0])) for factor in factors))
    return tuple(of_file for of_file, _ in pairs), tuple(of_population for _, of_population in pairs)


def _named(part: Question) -> list[str]:
    return [*part.on, part.column]


def _placed(question: Question) -> Iterator[tuple[Question, int | None]]:
    """Yield the parts of a question whose sums are added up, each with the position of its members (None for rows)."""
    yield from zip(question.parts, range(len(question.slots)) if question.slots else (None,), strict=True)


def _moments(tables: PublishedTables, question: Question, joint: bool) -> Moments:
    size = len(question.on) + 2
    values, weights = np.zeros((size, size)), np.zeros((size, size, len(tables.noises.count)))
    for part, slot in _placed(question):
        names = _named(part)
        gaps = [name for name in names if _may_lack(tables, name, slot)]
        if gaps and not joint:
            raise InputError(
                f"{listing(gaps)} may have missing values. In this case, the slope needs one published noisy table that "
                f"contains {listing(names)} together. There is no such table."
            )
        for first, second in combinations_with_replacement(range(size), 2):
            used = {names[position - 1] for position in (first, second) if position} | part.where.columns
            if gaps:
                used |= set(names)
            if question.weight:
                used.add(question.weight)
            if used or slot is not None:
                cells = counted(tables, part, used, [name for name in names if name in used], slot)
                products = _numbers(tables, cells)
                sums = tables.sums(cells.names, (products[first] * products[second] * cells.counts)[None])
                value, weight = sums.values[0], sums.weights[0]
            else:
                value, weight = float(tables.release.n_rows), np.zeros(len(tables.noises.count))
            for row, column in {(first, second), (second, first)}:
                values[row, column] += value
                weights[row, column] += weight
    return Moments(values=values, weights=weights)


def _may_lack(tables: PublishedTables, name: str, slot: int | None) -> bool:
    """Return whether a column may have missing values in the rows (with a member at position `slot`) that a question counts."""
    linked = tables.release.linked
    of_slot = linked.place_of(name) if linked else None
    filled = linked is not None and slot is not None and of_slot is not None and of_slot <= slot and name in linked.needed
    return tables.release.by_name[name].missing is not None and not filled


def _numbers(tables: PublishedTables, cells: Counted) -> np.ndarray:
    """Return the (k + 2, n_cells) variables of a regression: the constant 1, the explanatory columns and the target, scaled
    to [-1, 1].

    A column that the cells lack is 0. For weighted rows, each number is multiplied by the square root of the weight.
    """
    rows = [np.ones(len(cells.counts))]
    for name in _named(cells.asked):
        if name not in cells.names:
            rows.append(np.zeros(len(cells.counts)))
            continue
        middle, unit = _middle_and_unit(tables, name)
        column = tables.release.by_name[name]
        scaled = np.array([0.0 if value is None else (value - middle) / unit for value in column.numbers])
        rows.append(over_cells(cells.columns, name, scaled))
    if weight := cells.asked.weight:
        column = tables.release.by_name[weight]
        return np.array(rows) * np.sqrt(over_cells(cells.columns, weight, np.array(column.numbers, dtype=float)))
    return np.array(rows)


def _middle_and_unit(tables: PublishedTables, name: str) -> tuple[float, float]:
    column = tables.release.by_name[name]
    numbers = [float(number) for number in column.numbers[: column.present] if number is not None]
    return (max(numbers) + min(numbers)) / 2, ((max(numbers) - min(numbers)) / 2) or 1.0


def check_noise(moments: Moments, noises: Noises | SharedNoise, on: Sequence[str]) -> None:
    """Raise an InputError if noise hides whether the explanatory columns vary independently of each other."""
    size = len(on) + 1
    a = moments.values[:size, :size]
    values, vectors = np.linalg.eigh(a)
    if values[0] > 1e-9 * max(values[-1], 1.0):
        root = vectors / np.sqrt(values)
        whitened = np.einsum("ia,ijc,jb->abc", root, moments.weights[:size, :size], root, optimize=True)
        if float((whitened**2 @ noises.variances).sum()) <= MOST_NOISE**2:
            return
    hidden = "varies" if len(on) == 1 else "vary independently of each other"
    raise InputError(
        f"The slope cannot be estimated, because the noise hides whether {listing(on)} {hidden} in these rows. Ask for fewer "
        "columns, or for more rows."
    )


def _spread(tables: PublishedTables, asked: Question, moments: Moments, theta: np.ndarray, h: np.ndarray, joint: bool) -> float:
    """Return the sampling variance, over roots for members, of h X'(y - X theta), which determines the error of a slope."""
    size = len(theta)
    if not joint:  # the square of the sum over a root's members is at most the number of members times the sum of squares
        a, b = moments.values[:size, :size], moments.values[:size, size]
        around = max(0.0, float(moments.values[size, size] - theta @ b)) / float(a[0, 0])
        return len(asked.parts) * float(possible(np.array([[around * float(h @ a @ h)]]))[0, 0])
    parts, figures, squares = [], [], []
    for part, slot in _placed(asked):
        cells = counted(tables, part, part.columns, _named(part), slot)
        products = _numbers(tables, cells)
        residuals = (h @ products[:size]) * (products[size] - theta @ products[:size])
        squares.append(float(tables.sums(cells.names, (residuals**2 * cells.counts)[None]).values[0]))
        parts.append(cells)
        figures.append((residuals * cells.counts)[None])
    if not asked.slots:
        return max(0.0, squares[0])
    return float(of_roots(tables, parts, figures, np.array(squares).reshape(-1, 1, 1))[0, 0])
