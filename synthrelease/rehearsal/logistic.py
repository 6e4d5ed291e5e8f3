"""Logistic regression of "synthetic" on the cells of a stacked table: one line of the design per cell, not per row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from synthrelease.criteria.records import NewtonResult, maximum
from synthrelease.data.counts import Counts
from synthrelease.rehearsal.public_table import PublicTable

_RIDGE = 1e-6
"""Penalty on the squared coefficients, in units of one row's log-likelihood: it keeps coefficients finite where a bin occurs
in one table alone, and is far too weak to be seen elsewhere."""

_CONVERGED = 1e-7
_CONVERGED_PER_ROW = 1e-13
"""Log-likelihood that may still be missing, of about 0.7 per row; the second part is above the rounding of a billion rows."""

_ONE_SIDED = 15.0
"""Where the coefficient of a bin that occurs in one table alone starts: its likelihood has no maximum, and Newton's method
takes a step of about 1 each time on the way there."""

_MOST_STEPS = 200
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class StackedDesign:
    """The model matrix of the propensity model over the cells of the original and the synthetic table, stacked.

    Attributes
    ----------
    rows, synthetic : (n_cells,) rows of both tables, and of the synthetic one, in each cell.
    indicators : (n_cells, k_1) the intercept, and an indicator for every bin but one of every column.
    products : (n_cells, k_2) products of the standardised numbers of every two columns that have numbers and vary; 0 where one
        is missing, which the indicators tell.
    start : (k_1 + k_2,) coefficients to start from.
    """

    rows: np.ndarray
    synthetic: np.ndarray
    indicators: sparse.csr_matrix
    products: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, public: PublicTable, copy: Counts) -> StackedDesign:
        stacked = public.counts + copy
        synthetic = np.zeros(len(stacked))
        synthetic[stacked.find(copy.bins)] = copy.counts
        rows = stacked.counts.astype(float)
        cells = np.arange(len(rows))
        blocks, starts = [sparse.csr_matrix(np.ones((len(rows), 1)))], [np.array([logit(synthetic.sum() / rows.sum())])]
        for column, size in enumerate(stacked.layout.sizes):
            digits = stacked.digits(column)
            both = np.bincount(digits, weights=rows, minlength=size)
            only = np.bincount(digits, weights=synthetic, minlength=size)
            kept = np.flatnonzero(both)
            kept = kept[kept != np.argmax(both)]  # the most frequent bin is the reference: the tables share it, if any
            blocks.append(sparse.csr_matrix((np.ones(len(rows)), (cells, digits)), shape=(len(rows), size))[:, kept])
            starts.append(_ONE_SIDED * ((only == both).astype(float) - (only == 0))[kept])
        products = _products(public, stacked)
        return cls(
            rows=rows,
            synthetic=synthetic,
            indicators=sparse.hstack(blocks, format="csr"),
            products=products,
            start=np.concatenate([*starts, np.zeros(products.shape[1])]),
        )

    @cached_property
    def n_parameters(self) -> int:
        """k, the rank of the model matrix."""
        gram = self._gram(self.rows)
        scale = np.sqrt(np.diag(gram))
        scale[scale == 0] = 1.0  # a product can vanish in all cells
        return int(np.linalg.matrix_rank(gram / np.outer(scale, scale), tol=_RANK_TOLERANCE, hermitian=True))

    def probabilities(self) -> np.ndarray:
        """(n_cells,) fitted probabilities of "synthetic", by Newton's method with halved steps.

        Raises
        ------
        ArithmeticError : when it does not converge. The likelihood is concave: that would be a defect here, not of the data.
        """
        penalty = np.full(len(self.start), _RIDGE)
        penalty[0] = 0.0
        enough = _CONVERGED + _CONVERGED_PER_ROW * self.rows.sum()

        def derivatives(coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            fitted = expit(self._line(coefficients))
            residual = self.synthetic - self.rows * fitted
            gradient = np.concatenate([self.indicators.T @ residual, self.products.T @ residual]) - penalty * coefficients
            return gradient, self._gram(self.rows * fitted * (1 - fitted)) + np.diag(penalty)

        def small(step: np.ndarray, found: NewtonResult) -> bool:
            return bool(found.gradient @ step < enough)  # twice what is left to gain where the likelihood is nearly quadratic

        found = maximum(
            lambda coefficients: self._likelihood(coefficients, penalty),
            derivatives,
            self.start,
            small=small,
            most_steps=_MOST_STEPS,
        )
        if found is None or not found.reached:
            raise ArithmeticError(f"the logistic regression of the propensity scores did not converge in {_MOST_STEPS} steps.")
        return expit(self._line(found.at))

    def _line(self, coefficients: np.ndarray) -> np.ndarray:
        k = self.indicators.shape[1]
        return self.indicators @ coefficients[:k] + self.products @ coefficients[k:]

    def _likelihood(self, coefficients: np.ndarray, penalty: np.ndarray) -> float:
        line = self._line(coefficients)
        return float(self.synthetic @ line - self.rows @ np.logaddexp(0.0, line) - penalty @ coefficients**2 / 2)

    def _gram(self, weights: np.ndarray) -> np.ndarray:
        """(k, k) design' diag(weights) design; indicators stay sparse, which is most of the work saved."""
        weighted = self.products * weights[:, None]
        corner = (self.indicators.T @ self.indicators.multiply(weights[:, None]).tocsr()).toarray()
        side = self.indicators.T @ weighted
        return np.block([[corner, side], [side.T, self.products.T @ weighted]])


def _products(public: PublicTable, stacked: Counts) -> np.ndarray:
    standard = []
    for column, name in enumerate(public.columns):
        if not public.has_numbers(name):
            continue
        numbers = public.numbers("propensity score", name)[stacked.digits(column)]
        present = np.isfinite(numbers)
        rows = stacked.counts * present
        if not rows.any():
            continue
        numbers = np.where(present, numbers, 0.0)
        centred = np.where(present, numbers - rows @ numbers / rows.sum(), 0.0)
        spread = np.sqrt(rows @ centred**2 / rows.sum())
        if spread > 1e-12 * np.abs(numbers).max():
            standard.append(centred / spread)
    pairs = [left * right for left, right in combinations(standard, 2)]
    return np.column_stack(pairs) if pairs else np.empty((len(stacked), 0))
