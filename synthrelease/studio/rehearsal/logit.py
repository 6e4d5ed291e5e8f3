"""Fit penalised logistic regressions to counts of groups of rows by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from synthrelease.criteria.records import NewtonResult, maximum


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignMatrix:
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
    design: DesignMatrix,
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
