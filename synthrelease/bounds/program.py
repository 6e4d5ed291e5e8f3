"""Range of a linear figure over all tables that agree with the facts: a linear program with a checkable certificate.

The solver only proposes. Any non-negative multipliers y of the rows "A R <= b" and any number z for the total give, for
every table R with low <= R <= high and sum n,

    q.R <= y.b + z n + sum_c max(r_c low_c, r_c high_c),   r = q - A'y - z,

so the bound that is used is computed from the multipliers by this sum: it is valid whatever the solver did, and tight when
the solver was right (weak and strong duality).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.bounds.facts import Facts

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, kw_only=True)
class BoundPart:
    """What one source of facts adds to a bound: an amount in rows (or rows times numbers), and on how many cells."""

    source: int
    amount: float
    uses: int


@dataclass(frozen=True, kw_only=True)
class Maximum:
    """An upper bound on a linear figure, and how it comes about.

    Attributes
    ----------
    value : the figure of every table that agrees with the facts is at most this.
    parts : what each source of facts contributes; they add up to `value` minus the figure of the synthetic table.
    table : (n_cells,) a table, of real numbers, that comes close to the bound; the synthetic one where the solver failed.
    """

    value: float
    parts: tuple[BoundPart, ...]
    table: np.ndarray


def maximum(facts: Facts, figure: np.ndarray) -> Maximum:
    """The largest `figure . R` over the tables that agree with the facts.

    Parameters
    ----------
    figure : (n_cells,) weight of each cell.
    """
    scale = float(np.abs(figure).max(initial=0.0)) or 1.0
    multipliers, total, table = _solve(facts, figure / scale)
    rest = figure - scale * (facts.rows.T @ multipliers + total)
    cells = np.where(rest > 0, rest * (facts.high - facts.synthetic), -rest * (facts.synthetic - facts.low))
    rows = scale * multipliers * (facts.row_limits - facts.rows @ facts.synthetic)
    answer = float(figure @ facts.synthetic)
    sources = np.concatenate([np.where(rest > 0, facts.high_source, facts.low_source), facts.row_sources])
    amounts = np.concatenate([cells, rows])
    return Maximum(value=answer + float(amounts.sum()), parts=_parts(sources, amounts), table=table)


def _parts(sources: np.ndarray, amounts: np.ndarray) -> tuple[BoundPart, ...]:
    """Amounts by source, largest first; what is only rounding is left out."""
    worth = np.abs(amounts) > 1e-7 * max(1.0, float(np.abs(amounts).sum()))
    found = [
        BoundPart(
            source=int(source), amount=float(amounts[sources == source].sum()), uses=int((worth & (sources == source)).sum())
        )
        for source in np.unique(sources[worth])
    ]
    return tuple(sorted(found, key=lambda part: -part.amount))


def _solve(facts: Facts, figure: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Multipliers of the rows, that of the total, and the maximising table."""
    from scipy.optimize import linprog

    n = float(facts.synthetic.sum())
    result = linprog(
        -figure,
        A_ub=facts.rows if len(facts.row_limits) else None,
        b_ub=facts.row_limits if len(facts.row_limits) else None,
        A_eq=_ones(len(figure)),
        b_eq=np.array([n]),
        bounds=np.stack([facts.low, facts.high], axis=1),
        method="highs",
    )
    if result.x is None or result.ineqlin is None or result.ineqlin.marginals is None:
        return np.zeros(len(facts.row_limits)), 0.0, facts.synthetic
    multipliers = np.maximum(-np.asarray(result.ineqlin.marginals, dtype=float), 0.0) if len(facts.row_limits) else np.zeros(0)
    return np.nan_to_num(multipliers), float(-result.eqlin.marginals[0]), np.asarray(result.x, dtype=float)


def _ones(n: int) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array(np.ones((1, n)))
