"""Repeat rounds until one is accepted, here or in worker processes.

Private selection repeats rounds until one is accepted (theory 2, selection). `privacy.selection` has what it costs.

Hidden number (theory 2b, price of a law): draw a hidden K from a public law that was fixed beforehand;

    up to K times: run a round; if it is accepted, output it and halt;
    output "nothing".

Known threshold (Liu & Talwar, STOC 2019, Theorem 3.1):

    repeat: run a round; if it is accepted, output it and halt;
            else with the stop probability output "nothing" and halt.

Best of K (Papernot & Steinke, ICLR 2022): the same loop with the truncated negative binomial law of K.

Their theorem is about the best of K rounds in a total order. Give every round an independent uniform tag and order rounds by
(accepted, tag): the tags change no divergence, there are no ties, and the best is an accepted round, uniformly random among
the accepted ones, or a rejected one, which is then replaced by "nothing". Given K and that some round is accepted, that round's
output has the law of one round given acceptance, because rounds are independent and identically distributed; so has the
output of the first accepted round, which is what the loop returns without running the others.

A round that breaks after the noise, for a reason that is not noise (`InternalError`), ends the loop, too. To both theorems it
is an output like an accepted one: they speak of any mechanism Q whose output says whether the loop halts there, and of the
output of the first round that does. Here Q's output is "rejected", "accepted" with a table, or "broken" with the type and the
place of an error; all code outside `PrivateCounts.spend` sees noisy values alone, so type and place are post-processing of them
and covered by the guarantee of a round. (For the best of K: in the total order, rounds that halt come after all others.) Were
it counted as rejected, an error in every round would spend the whole budget and then say "nothing". In parallel runs it counts
only in its place in the order, as an accepted round does.

Rounds are independent and identically distributed, and nothing but the output is used: not the number of rounds, K, their
times, or what was rejected.
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
from functools import lru_cache, partial, wraps
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
# A matrix product that several threads share adds in an order that depends on how many there are and on what else the machine
# does. No number that is rounded for noise comes out of one (each says so in its docstring); with one thread what comes before
# it does not depend on such things either, and products as small as these are faster than threads can be told of them.

Given = ParamSpec("Given")
Result = TypeVar("Result")


def one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return the same function, during which the libraries of linear algebra that are loaded by then use one thread.

    To find them takes some milliseconds, once and again after each import of a module that may have brought another.
    """

    @wraps(function)
    def limited(*arguments: Given.args, **named: Given.kwargs) -> Result:
        with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
            return function(*arguments, **named)

    return limited


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Return the libraries loaded when so many modules are."""
    from threadpoolctl import ThreadpoolController  # here, because `plan` needs none of it

    return ThreadpoolController()


# Worker processes end with the process that started them, because they hold private counts; and they leave Ctrl-C to it.
#
# Left alone, a worker whose parent was killed waits some minutes for more work before it goes; and Ctrl-C, which a terminal
# sends to all processes of a command, makes each of them print where it was.

_WorkersResult = TypeVar("_WorkersResult")
SECONDS = 1.0
"""How often a worker looks for its parent."""
_watching: set[int] = set()
"""The process that watches its parent: this one, once it does."""


def run_watched(parent: int, task: Callable[[], _WorkersResult]) -> _WorkersResult:
    """Run a task in a worker that ends itself within a second or so when its parent has gone.

    The parent says its number: by the time a worker begins with its first task, it may be another process's child.

    On Windows the number of the parent does not tell; there the worker's own time limit ends it.
    """
    if os.name != "nt" and os.getpid() not in _watching:
        _watching.add(os.getpid())
        set_core_limit(0)  # a worker may be older than the limit that its parent has set
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return task()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(1)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Start processes in this block that ignore Ctrl-C. This process ignores it too, for the tenth of a second it takes."""
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
    """How a round ended."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"
    BROKEN = "broken"


class RoundResult(NamedTuple, Generic[T]):
    """The result of a round: a value only if it is accepted, the type and place of an error only if it failed."""

    verdict: Verdict
    value: T | None
    failure: str = ""


def select_by(rule: SelectionRule, run_round: Callable[[], T | None], jobs: int = 1) -> T | None:
    """Run rounds until one is accepted, or until the rule says that no further one is run.

    Parameters
    ----------
    rule : fixed before private data were read; with a stop probability of 0 and nothing else the loop may never end.
    run_round : one round; returns its output when accepted, None when rejected. Picklable when jobs > 1.
    jobs : rounds run ahead of need in this many processes. The outcome is that of the first round in order that ends the
        loop, never of the first to finish, so the output has the same law for any number of jobs.

    Returns
    -------
    The accepted output, or None for "nothing".

    Raises
    ------
    PrivateFailure : when a round that the loop needs failed inside private code.
    InternalError : when one failed after the noise, for a reason that is not noise.
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
    """Return the function called once after every rejected round: whether the coin ends the search, or K rounds have been run.

    K is hidden, and drawn before the first round.
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
    """Yield the results of rounds 0, 1, 2, ... in this order."""
    if jobs == 1:
        while True:
            yield guarded(run_round)
    from concurrent.futures import BrokenExecutor

    from joblib import Parallel, delayed

    # max_nbytes=None: arrays travel through pipes; joblib would otherwise write private counts to files
    parallel = Parallel(n_jobs=jobs, backend="loky", return_as="generator", pre_dispatch=jobs, batch_size=1, max_nbytes=None)
    with deaf_children():
        ordered = parallel(delayed(run_watched)(os.getpid(), partial(guarded, run_round)) for _ in repeat(None))
    died = False
    try:
        for result in ordered:  # noqa: UP028 ("yield from" would close joblib's generator outside the block below)
            yield result
    except BrokenExecutor:
        died = True  # for example for lack of memory, which may depend on the data
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib would tell how many rounds were run in vain
            ordered.close()
    if died:
        raise PrivateFailure()


def guarded(run_round: Callable[[], T | None]) -> RoundResult[T]:
    """Run a round; turn every failure into a verdict, so that one that is run ahead of need cannot end the loop.

    A failure inside private code is FAILED; so is one for lack of memory, of which private counts take a part. A
    `RejectedRound` is what noise brings about (theory 2.7, failures). Any other failure is BROKEN, with its type and place: a
    function of noisy values, because only code inside `PrivateCounts.spend` sees private ones.
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
