"""Run many tasks on public or made-up data, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any

Progress = Callable[[str, int, int], None]
"""A function that is called with the phase, the number of its finished tasks, and the number of all its tasks."""

Run = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Generator[Any, None, None]]


def running(jobs: int = 1) -> Run:
    """Return a function that calls `action(*arguments)` for many arguments and yields the results in any order."""
    from joblib import Parallel, delayed

    def run(action: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Generator[Any, None, None]:
        tasks = (delayed(action)(*chosen) for chosen in arguments)
        parallel = Parallel(
            n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=2 * jobs, max_nbytes=None, backend="loky"
        )
        yield from parallel(tasks)

    return run
