"""Fit least-squares regressions by the joint form of the functional mechanism (Zhang et al., PVLDB 2012), which adds one
noise vector to all moments.

A least-squares line depends on the data only through sums over the records: of the features, of the target, and of their
products. Noise is added to the whole vector of sums at once, so the budget is not split. Two public choices lower the noise
and do not affect the guarantee (theory 3.8, functional mechanism, joint form). First, every moment is scaled so that the
most important moments get the least noise. Second, the target is replaced by its residual from a public guess, so that the
noise in the products of features is multiplied only by the error of the guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

import numpy as np
from pydantic import Field

from synthrelease.criteria.records import Finite, Interval, MomentGrid, Records, upper_triangle
from synthrelease.criteria.records import LinearModel as LinearModel
from synthrelease.criteria.records import Prior as Prior
from synthrelease.errors import rejecting
from synthrelease.settings.base import KEYS, SpecTable

# Importance of the intercept's moments relative to the moments of slopes; the coefficient criterion uses slopes only.
_INTERCEPT_WEIGHT = 0.3

# Largest absolute value of standardised features, residuals, spreads and the uncertainty, and of the reciprocals of spreads
# and uncertainty. Products of several of these numbers are then finite.
_LARGEST = 1e50

_BATCH = 2**16  # Number of cells that are processed at once, to limit memory

# Lower limit of eigenvalues of the noisy matrix of mean feature products. Smaller eigenvalues are raised to this limit, so
# that the fit always exists.
_SMALLEST_EIGENVALUE = 1e-3


def too_large(numbers: tuple[np.ndarray, ...], limits: tuple[Interval, ...], prior: Prior | None) -> bool:
    """Return whether a regression with these public numbers and this guess could exceed the range of floating-point numbers."""
    prior = prior or _mid_range(numbers)
    *features, target = (np.concatenate([axis, limit.low, limit.high]) for axis, limit in zip(numbers, limits, strict=True))
    with np.errstate(all="ignore"):
        standard = [
            np.abs(axis - centre).max() / spread
            for axis, centre, spread in zip(features, prior.centres, prior.spreads, strict=True)
        ]
        parts = [np.abs(axis).max() * abs(slope) for axis, slope in zip(features, prior.coefficients, strict=True)]
        bounds = [*standard, np.abs(target).max() + abs(prior.intercept) + sum(parts), *prior.spreads, *(1 / prior.spreads)]
        return not all(bound <= _LARGEST for bound in [*bounds, prior.uncertainty, 1 / prior.uncertainty])


@dataclass(frozen=True, kw_only=True)
class Design(MomentGrid):
    """The public design of a regression: the possible records, and the whole numbers that each adds to the sums from which
    the line is computed.

    Attributes
    ----------
    numbers : for each feature and then the target, the representative values of the bins, whose product are the cells;
        those of the target vary fastest.
    limits : for the same columns, the limits of original values in each bin.
    """

    numbers: tuple[np.ndarray, ...]
    limits: tuple[Interval, ...]

    @classmethod
    def of(
        cls,
        numbers: tuple[np.ndarray, ...],
        possible: np.ndarray,
        prior: Prior | None,
        *,
        limits: tuple[Interval, ...] | None = None,
        counted: bool = False,
    ) -> Design:
        """Compute how the moments of a record are scaled to whole numbers, and the sensitivity of their sums.

        Parameters
        ----------
        possible : an (n_cells,) mask, which is False where the public raw rules exclude every record of the cell.
        prior : a public guess, or None for the middle of each range.
        limits : the limits of the values in each bin, or None for representative values.
        """
        from synthrelease.criteria.records_mechanism import MOST, rounded

        limits = limits or tuple(map(Interval.exactly, numbers))
        prior = prior or _mid_range(numbers)
        bare = cls(numbers=numbers, limits=limits, prior=prior, scales=np.ones(1), sensitivity=0, counted=counted)
        cells = bare.extreme_cells(possible)
        batches = np.array_split(cells, max(1, len(cells) // _BATCH))
        largest = np.max([bare.largest_moments(batch).max(axis=0, initial=1e-12) for batch in batches], axis=0)
        weights = np.sqrt(_importance(len(numbers) - 1, prior.uncertainty, counted) / largest)
        scales = weights * MOST / (weights * largest).max() * (1 - 2.0**-40)  # no scaled moment exceeds MOST
        if not (np.isfinite(scales).all() and (scales > 0).all()):
            raise ValueError("The numbers of the prior are too large or too small")
        scaled = replace(bare, scales=scales)
        sizes = [int(rounded(scaled.largest_moments(batch), scaled.scales).sum(axis=1).max(initial=1)) for batch in batches]
        return replace(scaled, sensitivity=2 * max(sizes))

    def _chosen(self, axes: Sequence[np.ndarray], indices: np.ndarray) -> list[np.ndarray]:
        digits = np.unravel_index(indices, [len(axis) for axis in self.numbers])
        return [axis[digit] for axis, digit in zip(axes, digits, strict=True)]

    def largest_moments(self, indices: np.ndarray) -> np.ndarray:
        """Return (n, k) upper limits on the absolute moments of any record in each of these cells.

        The operations of `records_mechanism.real_moments` are applied to intervals. Rounding is monotone, so no record
        exceeds the limits.
        """
        from synthrelease.criteria.records_mechanism import all_moments

        records = self._records(indices)
        centres, spreads = self.prior.centres.tolist(), self.prior.spreads.tolist()
        standard = [
            np.maximum(np.abs((record.low - centre) / spread), np.abs((record.high - centre) / spread))
            for record, centre, spread in zip(records, centres, spreads, strict=False)
        ]
        return all_moments(np.column_stack(standard), self._residuals(records), self.counted)

    def extreme_cells(self, possible: np.ndarray) -> np.ndarray:
        """Return, for each combination of bins of the features, the possible cell with the largest residual from the
        guessed line. No other cell has larger limits on moments.
        """
        rows, chosen = possible.reshape(-1, len(self.numbers[-1])), [np.zeros(0, dtype=np.int64)]
        for batch in np.array_split(np.flatnonzero(rows.any(axis=1)), max(1, possible.size // _BATCH)):
            cells = batch[:, None] * rows.shape[1] + np.arange(rows.shape[1])
            residuals = self._residuals(self._records(cells.ravel())).reshape(cells.shape)
            chosen.append(cells[np.arange(len(batch)), np.where(rows[batch], residuals, -1).argmax(axis=1)])
        return np.concatenate(chosen)

    def _records(self, indices: np.ndarray) -> list[Interval]:
        ends = [self._chosen([getattr(limit, end) for limit in self.limits], indices) for end in ("low", "high")]
        return [Interval(low, high) for low, high in zip(*ends, strict=True)]

    def _residuals(self, records: Sequence[Interval]) -> np.ndarray:
        residual = records[-1] - Interval.exactly(np.array(self.prior.intercept))
        for feature, coefficient in zip(records, self.prior.coefficients.tolist(), strict=False):
            residual = residual - feature.times(coefficient)
        return residual.furthest


def design_of(
    numbers: tuple[np.ndarray, ...], possible: np.ndarray, prior: Prior | None, *, limits: tuple[Interval, ...], counted: bool
) -> Design:
    """Return the public design of a regression (`Design.of`), cached because a rehearsal needs it for every private fit."""
    guess = (prior.coefficients, prior.centres, prior.spreads) if prior else ()
    arrays = (*numbers, *(end for limit in limits for end in (limit.low, limit.high)), possible, *guess)
    key = (*(array.tobytes() for array in arrays), counted, prior and (prior.intercept, prior.uncertainty))
    if key not in _designs:
        if len(_designs) >= _MOST_DESIGNS:
            del _designs[next(iter(_designs))]
        _designs[key] = Design.of(numbers, possible, prior, limits=limits, counted=counted)
    return _designs[key]


_MOST_DESIGNS = 8

_designs: dict[tuple[object, ...], Design] = {}


@dataclass(frozen=True, kw_only=True)
class NoisyMoments:
    """The noisy sums from which a regression line is computed, in real units, and the scale of their noise on the integer
    grid. Both are public.
    """

    design: Design
    sums: np.ndarray
    noise_scale: float

    @classmethod
    def of(cls, design: Design, noisy: np.ndarray, epsilon: Fraction) -> NoisyMoments:
        return cls(design=design, sums=noisy / design.scales, noise_scale=float(design.sensitivity / epsilon))

    def solve(self, n: int) -> LinearModel:
        """Return the least-squares line for the noisy moments, which exists for every input (post-processing). If the
        records were counted (`Design.counted`), their noisy number replaces n.
        """
        prior, correction = self.design.prior, self._corrections(self.sums, n)
        slopes = correction[1:] / prior.spreads
        return LinearModel(
            intercept=float(prior.intercept + correction[0] - slopes @ prior.centres), coefficients=prior.coefficients + slopes
        )

    def _corrections(self, sums: np.ndarray, n: int) -> np.ndarray:
        """Return the (..., d + 1) corrections of the guessed line that (..., k) noisy sums imply, in standard units; the
        intercept comes first.
        """
        d = len(self.design.numbers) - 1
        means = sums[..., 1:] / np.maximum(1.0, sums[..., :1]) if self.design.counted else sums / n
        products = np.empty((*sums.shape[:-1], d + 1, d + 1))
        products[..., 0, 0] = 1.0
        products[..., 0, 1:] = products[..., 1:, 0] = means[..., :d]
        rows, columns = upper_triangle(d)
        products[..., rows + 1, columns + 1] = products[..., columns + 1, rows + 1] = means[..., d : d + len(rows)]
        with rejecting(np.linalg.LinAlgError, because="the eigenvalues of the noisy moments cannot be computed"):
            values, vectors = np.linalg.eigh(products)
        scaled = vectors @ (np.eye(d + 1) / np.maximum(values, _SMALLEST_EIGENVALUE)[..., None, :])
        return np.asarray(scaled @ vectors.swapaxes(-1, -2) @ means[..., d + len(rows) :, None])[..., 0]

    def redrawn(self, n: int, n_draws: int, entropy: np.random.Generator) -> np.ndarray:
        """Simulate (n_draws, d) slopes by adding further noise of the same scale to the noisy sums (parametric bootstrap,
        post-processing).
        """
        noise = entropy.laplace(0.0, self.noise_scale, (n_draws, len(self.sums))) / self.design.scales
        prior = self.design.prior
        return prior.coefficients + self._corrections(self.sums + noise, n)[:, 1:] / prior.spreads


def least_squares(records: Records) -> tuple[LinearModel, np.ndarray]:
    """Fit ordinary least squares to public records. Return the line and the (d,) standard deviations of the features."""
    weights = records.counts.astype(float)
    features, target = records.values[:, :-1], records.values[:, -1]
    total = max(weights.sum(), 1.0)
    means = weights @ features / total
    centred = features - means
    target_mean = weights @ target / total
    products = centred.T @ (centred * weights[:, None]) / total
    with rejecting(np.linalg.LinAlgError, because="the matrix of the candidate's moments cannot be inverted"):
        inverse = np.linalg.pinv(products, hermitian=True)
    slopes = inverse @ (centred.T @ (weights * (target - target_mean)) / total)
    model = LinearModel(intercept=float(target_mean - means @ slopes), coefficients=slopes)
    return model, np.sqrt(np.maximum(np.diag(products), 0.0))


def _importance(d: int, uncertainty: float, counted: bool) -> np.ndarray:
    """Return how much an error in each mean moment changes the slopes, to first order and in units of the target.

    The slopes move by A^-1 (delta v - delta A a), with A near the identity and |a| about `uncertainty`. So product moments
    have the importance `uncertainty`, off-diagonal ones twice this.
    """
    rows, columns = upper_triangle(d)
    products = uncertainty * np.where(rows == columns, 1.0, 2.0)
    number = [_INTERCEPT_WEIGHT * uncertainty] if counted else []
    return np.concatenate([number, np.full(d, _INTERCEPT_WEIGHT * uncertainty), products, [_INTERCEPT_WEIGHT], np.ones(d)])


def _mid_range(numbers: tuple[np.ndarray, ...]) -> Prior:
    """Return the default guess of a regression line: slopes of 0, centred at the middles of the ranges."""
    *features, target = numbers
    spreads = np.array([max((axis.max() - axis.min()) / 4, 1e-9) for axis in features])
    return Prior(
        intercept=float((target.max() + target.min()) / 2),
        coefficients=np.zeros(len(features)),
        centres=np.array([(axis.max() + axis.min()) / 2 for axis in features]),
        spreads=spreads,
        uncertainty=float(max(target.max() - target.min(), 1e-9) / 8),
    )


class PriorGuess(SpecTable):
    """A public guess of the regression, for example from the public file. It lowers the noise and costs no epsilon. A wrong
    guess makes the fit noisier, but not less private.

    Attributes
    ----------
    intercept : the intercept of the guessed regression. Example: `intercept = -2044`.
    coefficients : the slope for each feature, per unit of the feature. Example: `coefficients = { parity = 14.7, age = 4.8
        }`.
    centres : a typical value of each feature. Example: `centres = { parity = 2.3, age = 29.1 }`.
    spreads : a typical standard deviation of each feature, above 0. Example: `spreads = { parity = 1.4, age = 5.8 }`.
    uncertainty : the likely error of a guessed slope: the error in the predicted target if the feature increases by its
        spread. Example: `uncertainty = 10`.
    """

    intercept: float = Field(allow_inf_nan=False)
    coefficients: Annotated[Mapping[str, Finite], KEYS]
    centres: Annotated[Mapping[str, Finite], KEYS]
    spreads: Annotated[Mapping[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]], KEYS]
    uncertainty: float = Field(gt=0, allow_inf_nan=False)
