"""Running many parts of an audit, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

Progress = Callable[[str, int, int], None]
"""Told the phase, what is done of it, and all there is."""

Outcome = TypeVar("Outcome")


def side_by_side(
    action: Callable[..., Outcome], arguments: Sequence[tuple[Any, ...]], jobs: int
) -> Generator[Outcome, None, None]:
    """`action(*each)` in worker processes, in the order in which they finish; in this process when jobs is 1."""
    if jobs == 1:
        yield from (action(*task) for task in arguments)
    elif arguments:
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered", batch_size=1, max_nbytes=None)
        yield from parallel(delayed(action)(*task) for task in arguments)
