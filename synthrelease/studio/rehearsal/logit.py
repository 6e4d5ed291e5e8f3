"""Fit logistic regressions to counts of groups of rows by maximum likelihood, and detect groups that are separated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from synthrelease.criteria.records import NewtonResult, maximum

_MOST_STEPS = 40
_SMALL_STEP = 1e-8
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """A model matrix with (n, k_1) sparse columns, followed by (n, k_2) dense columns."""

    few: sparse.csr_matrix
    many: np.ndarray

    def line(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the (n,) values of the linear predictor."""
        k = self.few.shape[1]
        return self.few @ coefficients[:k] + self.many @ coefficients[k:]

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return the (k, k) matrix design' diag(weights) design."""
        weighted = self.many * weights[:, None]
        corner = (self.few.T @ self.few.multiply(weights[:, None]).tocsr()).toarray()
        side = self.few.T @ weighted
        return np.block([[corner, side], [side.T, self.many.T @ weighted]])


def most_likely(
    design: Design,
    rows: np.ndarray,
    positive: np.ndarray,
    start: np.ndarray,
    penalty: np.ndarray,
    small: Callable[[np.ndarray, NewtonResult], bool],
    most_steps: int,
) -> NewtonResult | None:
    """Maximise the log-likelihood of `positive` out of `rows`, minus penalty @ coefficients^2 / 2, by Newton's method.

    Parameters
    ----------
    start, penalty : (k,) initial coefficients, and the weight of each squared coefficient, at least 0.
    small : a function that returns whether a step is so small that the maximum is reached.
    """

    def likelihood(coefficients: np.ndarray) -> float:
        line = design.line(coefficients)
        return float(positive @ line - rows @ np.logaddexp(0.0, line) - penalty @ coefficients**2 / 2)

    def derivatives(coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        fitted = expit(design.line(coefficients))
        residual = positive - rows * fitted
        gradient = np.concatenate([design.few.T @ residual, design.many.T @ residual]) - penalty * coefficients
        return gradient, design.gram(rows * fitted * (1 - fitted)) + np.diag(penalty)

    return maximum(likelihood, derivatives, start, small=small, most_steps=most_steps)


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitFit:
    """A fitted regression: (k,) estimates and their (k, k) covariance, the inverse of the information."""

    estimates: np.ndarray
    covariance: np.ndarray


def fit_logit(design: np.ndarray | sparse.csr_matrix, rows: np.ndarray, positive: np.ndarray) -> LogitFit | None:
    """Return the logistic regression of `positive` out of `rows` on the columns of the design.

    Parameters
    ----------
    design : (n_groups, k) finite numbers; one column is the intercept.
    rows, positive : (n_groups,) counts, 0 <= positive <= rows.

    Returns
    -------
    None if the rows do not determine the estimates: if a column is a linear function of the others, or if a line separates the
    outcomes, so that the likelihood has no maximum. The steps of Newton's method show separation: they stay about 1 in the
    linear predictor. Near a maximum, the steps shrink quadratically.

    Notes
    -----
    The regression has no penalty; the estimates are the textbook estimates.
    """
    design = sparse.csr_matrix(design)
    used = rows > 0
    design, rows, positive = design[used], rows[used].astype(float), positive[used].astype(float)
    k = design.shape[1]
    if rows.sum() <= k:
        return None
    scale = np.sqrt(np.asarray(design.multiply(design).T @ rows).ravel() / rows.sum())
    if not (scale > 0).all():
        return None
    standard = Design(few=design @ sparse.diags(1 / scale), many=np.empty((len(rows), 0)))
    if not np.linalg.eigvalsh(standard.gram(rows) / rows.sum())[0] > _RANK_TOLERANCE:
        return None

    def small(step: np.ndarray, _: NewtonResult) -> bool:
        return bool(np.abs(standard.line(step)).max() < _SMALL_STEP)

    maximum_found = most_likely(standard, rows, positive, np.zeros(k), np.zeros(k), small, _MOST_STEPS)
    if (
        maximum_found is None
        or not maximum_found.reached
        or not np.linalg.eigvalsh(maximum_found.information)[0] > _RANK_TOLERANCE * rows.sum()
    ):
        return None  # the likelihood grows for ever, or until nothing more can be seen: it is flat as far as doubles tell
    return LogitFit(
        estimates=maximum_found.at / scale, covariance=np.linalg.inv(maximum_found.information) / np.outer(scale, scale)
    )
