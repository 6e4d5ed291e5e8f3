"""Maximum likelihood of a logistic regression on groups of rows, by Newton's method; none where the groups are separated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from synthrelease.criteria.records import NewtonResult, maximum

_MOST_STEPS = 40
_SMALL_STEP = 1e-8
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitFit:
    """(k,) estimates and their (k, k) covariance, the inverse of the information."""

    estimates: np.ndarray
    covariance: np.ndarray


def fit_logit(design: np.ndarray | sparse.csr_matrix, rows: np.ndarray, positive: np.ndarray) -> LogitFit | None:
    """The logistic regression of `positive` out of `rows` on the columns of the design.

    Parameters
    ----------
    design : (n_groups, k) with finite numbers, an intercept among them. rows, positive : (n_groups,) counts, 0 <= positive <=
        rows.

    Returns
    -------
    None where the rows do not determine the estimates: where a column is a linear function of the others, and where a line
    separates the outcomes, so that the likelihood grows without end. Newton's method then takes steps of about 1 in the linear
    predictor for ever, which is how it is found out: near a maximum its steps shrink quadratically.

    Notes
    -----
    What is here has no penalty: an estimate is the textbook's.
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
    standard = design @ sparse.diags(1 / scale)
    gram = _gram(standard, rows) / rows.sum()
    if not np.linalg.eigvalsh(gram)[0] > _RANK_TOLERANCE:
        return None

    def likelihood(estimates: np.ndarray) -> float:
        line = standard @ estimates
        return float(positive @ line - rows @ np.logaddexp(0.0, line))

    def derivatives(estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        fitted = expit(standard @ estimates)
        return standard.T @ (positive - rows * fitted), _gram(standard, rows * fitted * (1 - fitted))

    def small(step: np.ndarray, _: NewtonResult) -> bool:
        return bool(np.abs(standard @ step).max() < _SMALL_STEP)

    found = maximum(likelihood, derivatives, np.zeros(k), small=small, most_steps=_MOST_STEPS)
    if found is None or not found.reached or not np.linalg.eigvalsh(found.information)[0] > _RANK_TOLERANCE * rows.sum():
        return None  # the likelihood grows for ever, or until nothing more can be seen: it is flat as far as doubles tell
    return LogitFit(estimates=found.at / scale, covariance=np.linalg.inv(found.information) / np.outer(scale, scale))


def _gram(design: sparse.csr_matrix, weights: np.ndarray) -> np.ndarray:
    return np.asarray((design.T @ design.multiply(weights[:, None]).tocsr()).toarray())
