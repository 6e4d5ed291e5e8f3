"""The maximum of a concave function of a few parameters, by Newton's method with halved steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_MOST_HALVINGS = 20
_ROUNDING = 1e-15
"""A step that lowers the value by no more than this part of it is taken: near the maximum that is rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonResult:
    """Where the search ended.

    Attributes
    ----------
    at : (k,) parameters.
    gradient, information : (k,) first derivatives there, and (k, k) second derivatives with the other sign.
    reached : whether it ended because a step was small enough, and not because it had taken all its steps.
    """

    at: np.ndarray
    gradient: np.ndarray
    information: np.ndarray
    reached: bool


def maximum(
    value: Callable[[np.ndarray], float],
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    *,
    small: Callable[[np.ndarray, NewtonResult], bool],
    most_steps: int,
) -> NewtonResult | None:
    """Newton steps from `start` on, each halved until it does not lower the value; None where the information was singular.

    Parameters
    ----------
    value, derivatives : of the parameters: the function, its gradient and its information. `derivatives` may itself raise
        numpy.linalg.LinAlgError, where it takes the information to be singular.
    small : whether the step that would be next, (k,), is small enough to end where the search is.

    Examples
    --------
    >>> import numpy as np
    >>> found = maximum(
    ...     lambda x: float(2 * x[0] - np.exp(x[0])),
    ...     lambda x: (2 - np.exp(x), np.exp(x)[:, None]),
    ...     np.zeros(1),
    ...     small=lambda step, found: bool(np.abs(step).max() < 1e-12),
    ...     most_steps=50,
    ... )
    >>> found.reached, round(float(np.exp(found.at[0])), 9)
    (True, 2.0)
    """
    at, now = start, value(start)
    for _ in range(most_steps):
        try:
            gradient, information = derivatives(at)
            step = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            return None
        if small(step, found := NewtonResult(at=at, gradient=gradient, information=information, reached=True)):
            return found
        least = now - _ROUNDING * max(1.0, abs(now))
        for _ in range(_MOST_HALVINGS):
            if value(at + step) >= least:
                break
            step = step / 2
        at = at + step
        now = value(at)
    try:
        gradient, information = derivatives(at)
    except np.linalg.LinAlgError:
        return None
    return NewtonResult(at=at, gradient=gradient, information=information, reached=False)
