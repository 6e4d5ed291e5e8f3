"""Run rounds until one is accepted, in this process or in worker processes.

This is private selection (theory 2, selection). The module `privacy.selection` computes its privacy cost.

Hidden number (theory 2b, price of a distribution): draw a hidden K from a public distribution that was fixed beforehand;

    up to K times: run a round; if it is accepted, output it and halt;
    output "nothing".

Known threshold (Liu & Talwar, STOC 2019, Theorem 3.1):

    repeat: run a round; if it is accepted, output it and halt;
            else with the stop probability output "nothing" and halt.

Best of K (Papernot & Steinke, ICLR 2022): the same loop with the truncated negative binomial distribution of K.

The theorem of Papernot and Steinke is about the best of K rounds in a total order. Give every round an independent uniform
tag, and order rounds by (accepted, tag). The tags change no divergence, and prevent ties. If some round is accepted, the
best round is uniformly random among the accepted rounds; otherwise it is a rejected round, and is replaced by "nothing".
Condition on K, and on some round being accepted. Then the output of the best round has the distribution of one round given
acceptance, because rounds are independent and identically distributed. The first accepted round has the same distribution,
and the loop returns it without running the others.

A round that fails after the noise, for a reason other than noise (`InternalError`), also ends the loop, like an accepted
output. Both theorems hold for any mechanism Q whose output says whether the loop halts, and for the output of the first
round in which it halts. Here Q's output is "rejected", "accepted" with a table, or "broken" with the type and the place of
an error. All code outside `PrivateCounts.spend` sees noisy values alone, so type and place are post-processing, covered by
the guarantee of a round. (For the best of K: in the total order, rounds that halt come after all others.) If a broken round
counted as rejected, an error in every round would spend the whole budget and then output "nothing". In parallel runs, such
a round takes effect only at its place in the order, like an accepted round.

Rounds are independent and identically distributed, and only the output is used. The number of rounds, K, the times of the
rounds and the rejected tables are not used.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache, wraps
from itertools import count, repeat
from typing import TYPE_CHECKING, Generic, NamedTuple, ParamSpec, TypeVar

from synthrelease.errors import BudgetError, InternalError, PrivateFailure, RejectedRound, failure_of
from synthrelease.privacy.hidden_numbers import coin, from_finite_law, truncated_negative_binomial
from synthrelease.privacy.protection import set_core_limit
from synthrelease.privacy.selection import SelectionRule

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

# One thread for linear algebra inside private code.
#
# With several threads, the order of the additions in a matrix product depends on their number and on the load of the machine.
# No number that is rounded for noise comes from such a product (docstrings say so). With one thread, the computations before
# it do not depend on threads either, and products as small as these are faster than the coordination of threads.

Given = ParamSpec("Given")
Result = TypeVar("Result")


def one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make a function use a single thread in the loaded libraries for linear algebra.

    The libraries are searched for once, and again after each import that may have loaded another one.
    """

    @wraps(function)
    def limited(*arguments: Given.args, **named: Given.kwargs) -> Result:
        with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
            return function(*arguments, **named)

    return limited


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Return the loaded libraries for linear algebra, cached until the number of loaded modules changes."""
    from threadpoolctl import ThreadpoolController  # imported here, because `plan` does not need this library

    return ThreadpoolController()


# Worker processes end with the process that started them, because they hold private counts, and they ignore Ctrl-C.
#
# Otherwise a worker whose parent was killed would wait some minutes for more work, and Ctrl-C, which a terminal sends to all
# processes of a command, would make each of them print a traceback.

SECONDS = 1.0
"""Seconds between two checks by a worker whether its parent process is still running."""


def end_with_parent(parent: int) -> None:
    """Let this worker end within about a second after its parent, or on Windows at its time limit.

    A worker calls this function before its first task. The parent passes its process number, because a worker whose parent
    has ended may already be the child of another process.
    """
    if os.name != "nt":
        set_core_limit(0)  # a worker may be older than the limit that its parent has set
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(1)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Ignore Ctrl-C in this process and in all processes that are started, if called in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what happens to signals
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


T = TypeVar("T")


class Verdict(Enum):
    """The way in which a round ended."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"
    BROKEN = "broken"


class RoundResult(NamedTuple, Generic[T]):
    """How a round ended, its value if it was accepted, and the type and place of an error after the noise was added."""

    verdict: Verdict
    value: T | None
    failure: str = ""


def select_by(rule: SelectionRule, run_round: Callable[[], T | None], jobs: int = 1) -> T | None:
    """Run rounds until one is accepted, or until the selection rule ends the search.

    Parameters
    ----------
    rule : the selection rule (a stop probability or a hidden number of rounds), which was fixed before private data were
        read. The loop can run forever only if the stop probability is 0.
    run_round : returns the output of an accepted round, or None for a rejected one. It must be picklable if jobs > 1.
    jobs : the number of processes that run rounds in parallel, in advance. Of the rounds that would end the loop, the first
        in order determines the output, even if another round finishes earlier. So the output has the same distribution for
        any number of jobs.

    Returns
    -------
    The accepted output, or None if the search ended without an accepted output.

    Raises
    ------
    PrivateFailure : if a round that the loop needs failed in code that reads private counts.
    InternalError : if such a round failed after the noise was added, for a reason other than the noise.
    """
    is_over, results = _ending(rule), _results(run_round, jobs)
    try:
        for result in results:
            if result.verdict is Verdict.ACCEPTED:
                return result.value
            if result.verdict is Verdict.FAILED:
                raise PrivateFailure()
            if result.verdict is Verdict.BROKEN:
                raise InternalError(result.failure)
            if is_over():
                return None
    finally:
        results.close()
    raise PrivateFailure()


def _ending(rule: SelectionRule) -> Callable[[], bool]:
    """Return a function that says after every rejected round whether the search ends.

    It ends by a draw with the stop probability, or after a hidden number of rounds, which is drawn before the first round.
    """
    if rule.rounds is not None:
        hidden = from_finite_law(rule.rounds.atoms)
    elif rule.shape is not None:
        hidden = truncated_negative_binomial(rule.shape, rule.stop_probability)
    else:
        return lambda: coin(rule.stop_probability)
    rejected = count(1)
    return lambda: next(rejected) == hidden


def _results(run_round: Callable[[], T | None], jobs: int) -> Generator[RoundResult[T], None, None]:
    if jobs == 1:
        while True:
            yield guarded(run_round)
    from concurrent.futures import BrokenExecutor

    from joblib import Parallel, delayed

    # max_nbytes=None: arrays travel through pipes; joblib would otherwise write private counts to files
    watched = {"initializer": end_with_parent, "initargs": (os.getpid(),)}
    parallel = Parallel(
        n_jobs=jobs, backend="loky", return_as="generator", pre_dispatch=jobs, batch_size=1, max_nbytes=None, **watched
    )
    with deaf_children():
        ordered = parallel(delayed(guarded)(run_round) for _ in repeat(None))
    died = False
    try:
        for result in ordered:  # noqa: UP028 ("yield from" would close joblib's generator outside the block below)
            yield result
    except BrokenExecutor:
        died = True  # for example for lack of memory, which may depend on the data
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning of joblib would show the number of unused rounds
            ordered.close()
    if died:
        raise PrivateFailure()


def guarded(run_round: Callable[[], T | None]) -> RoundResult[T]:
    """Run a round, and return a failure as a `Verdict`. So a failed round that was run in advance does not end the loop.

    Only a BudgetError is raised. The verdict is FAILED if code that reads private counts failed, or if there was too little
    memory, because private counts need memory. A `RejectedRound` is caused by noise (theory 2.7, failures). Any other
    failure is BROKEN, with its type and place. These depend only on noisy values, because only code inside
    `PrivateCounts.spend` sees private values.
    """
    try:
        value = run_round()
    except (PrivateFailure, MemoryError):
        return RoundResult(Verdict.FAILED, None)
    except BudgetError:
        raise  # a mistake in the program, found before any private count was read
    except RejectedRound:
        return RoundResult(Verdict.REJECTED, None)
    except Exception as error:
        return RoundResult(Verdict.BROKEN, None, failure_of(error))
    return RoundResult(Verdict.REJECTED if value is None else Verdict.ACCEPTED, value)
