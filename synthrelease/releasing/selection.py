"""Private selection repeats rounds until one is accepted (theory 2, selection). `accounting.selection` has what it costs.

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
import warnings
from collections.abc import Callable, Generator
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import count, repeat
from typing import Generic, NamedTuple, TypeVar

from synthrelease.errors import BudgetError, InternalError, PrivateFailure, RejectedRound, failure_of
from synthrelease.privacy.hidden_numbers import coin, from_finite_law, truncated_negative_binomial
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.releasing.workers import deaf_children, run_watched

T = TypeVar("T")


class Verdict(Enum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"
    BROKEN = "broken"


class RoundResult(NamedTuple, Generic[T]):
    """What a round hands to the loop: a value only when accepted, type and place of an error only when broken."""

    verdict: Verdict
    value: T | None
    failure: str = ""


def select(run_round: Callable[[], T | None], stop_probability: Fraction, jobs: int = 1) -> T | None:
    """Run rounds until one is accepted or the stop coin says so.

    Parameters
    ----------
    run_round : one round; returns its output when accepted, None when rejected. Picklable when jobs > 1.
    stop_probability : gamma in [0, 1]; at 0 the loop may never end.
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
    return _first_accepted(run_round, jobs, lambda: coin(stop_probability))


def select_best(run_round: Callable[[], T | None], shape: Fraction, stop_probability: Fraction, jobs: int = 1) -> T | None:
    """Run at most K rounds, K hidden and truncated negative binomial, until one is accepted.

    Parameters
    ----------
    run_round, jobs : as for `select`.
    shape, stop_probability : eta > -1 and gamma in (0, 1) of the law of K.

    Returns
    -------
    The accepted output, or None for "nothing".

    Raises
    ------
    PrivateFailure : when a round that the loop needs failed inside private code.
    InternalError : when one failed after the noise, for a reason that is not noise.
    """
    return _up_to(truncated_negative_binomial(shape, stop_probability), run_round, jobs)


def select_hidden(run_round: Callable[[], T | None], law: FiniteLaw, jobs: int = 1) -> T | None:
    """Run at most K rounds, K hidden and drawn from a law with finitely many values before the first, until one is accepted.

    Parameters
    ----------
    run_round, jobs : as for `select`.
    law : fixed before private data were read.

    Returns
    -------
    The accepted output, or None for "nothing".

    Raises
    ------
    PrivateFailure : when a round that the loop needs failed inside private code.
    InternalError : when one failed after the noise, for a reason that is not noise.
    """
    return _up_to(from_finite_law(law.atoms), run_round, jobs)


def _up_to(hidden: int, run_round: Callable[[], T | None], jobs: int) -> T | None:
    rejected = count(1)
    return _first_accepted(run_round, jobs, lambda: next(rejected) == hidden)


def select_by(rule: SelectionRule, run_round: Callable[[], T | None], jobs: int = 1) -> T | None:
    """The loop of a rule."""
    if rule.rounds is not None:
        return select_hidden(run_round, rule.rounds, jobs)
    if rule.shape is None:
        return select(run_round, rule.stop_probability, jobs)
    return select_best(run_round, rule.shape, rule.stop_probability, jobs)


def _first_accepted(run_round: Callable[[], T | None], jobs: int, is_over: Callable[[], bool]) -> T | None:
    """The output of the first accepted round; None as soon as it is over, which is asked once after every rejected round."""
    results = _results(run_round, jobs)
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


def _results(run_round: Callable[[], T | None], jobs: int) -> Generator[RoundResult[T], None, None]:
    """Results of rounds 0, 1, 2, ... in this order."""
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
