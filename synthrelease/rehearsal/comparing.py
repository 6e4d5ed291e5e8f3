"""A configuration beside every method to compare with, on one public file: the same bins, the same criteria, the same figures.

A reviewer asks what other ways to protect the table would have given, with which guarantee. The configuration is the best of a
few of the specification's space, or of a shortlist; its copies are those of a release at its planned budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, RejectedRound, on_public_data
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.plan import loss_text
from synthrelease.rehearsal.attempts import run_attempts
from synthrelease.rehearsal.baselines.base import MadeTables
from synthrelease.rehearsal.compared import (
    BaselineFigures,
    WantedMethods,
    compare_baseline,
    errors_on,
    judged,
    not_made,
    public_file,
    questions,
)
from synthrelease.rehearsal.copies import CopyComparison, made_copy
from synthrelease.rehearsal.parallel import Workers, running
from synthrelease.releasing.attempt import read_priors
from synthrelease.releasing.selection import one_thread
from synthrelease.sources.source import Source
from synthrelease.spec.release_spec import ReleaseSpec

RELEASE = "release"
"""The name of the configuration among the methods."""

TRIED = 6
"""Configurations that are tried, evenly spread over the space; the best is compared with."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class MethodComparison:
    """What a comparison found.

    Attributes
    ----------
    configuration, tried : the index of the configuration whose bins all methods have, and of how many it was the best.
    methods : the release first, then the methods in the order that was asked for.
    copies, seed : tables of each method; and what makes them repeatable.
    n_rows : rows of the public file that the rules keep.
    """

    spec: ReleaseSpec
    configuration: int
    tried: int
    methods: tuple[BaselineFigures, ...]
    copies: int
    seed: int
    n_rows: int


@on_public_data()
def compare_methods(
    spec: ReleaseSpec,
    data: str | Path | Source,
    *,
    wanted: WantedMethods,
    workers: Workers,
    seed: int = 1,
    copies: int = 3,
    quasi_identifiers: Sequence[str] | None = None,
    progress: Progress = lambda phase, done, total: None,
) -> MethodComparison:
    """Compare a release with other methods on public data. Reads nothing private, spends nothing, promises nothing.

    Parameters
    ----------
    data : a **public** file of the layout of the private one. Its figures are shown without noise: never give a private file.
    wanted : the methods.
    seed : the same seed gives the same figures.
    copies, quasi_identifiers : tables of each method, and columns that an intruder is taken to know, as of a rehearsal.

    Raises
    ------
    BudgetError : when the plan has no guarantee.
    InputError : when the file does not fit, or the release divides its rows ([partition]), which no other method does.
    """
    _ = spec.plan.total  # what has no guarantee is refused before anything is read
    if spec.partition is not None:
        raise InputError(
            f"{spec.path}: expected a release of all rows, found [partition]: its figures are about a piece of the file, and "
            "other methods take the whole. Compare a copy of the configuration without [partition]."
        )
    comparison = CopyComparison.of(spec, copies, quasi_identifiers)
    progress("reading the public file", 0, 0)
    counts = read_public(data, spec.schema, spec.input, spec.raw, spec.unit)
    if not counts.total:
        raise InputError("--data: expected rows that the rules keep, found none.")
    public, priors = PrivateCounts(counts, Meter(())), read_priors(spec)  # public rows, as the code of a release takes them
    with running(workers) as run:

        def results(phase: str, action: Callable, arguments: Sequence[tuple]) -> Iterator:
            progress(phase, 0, len(arguments))
            with closing(run(action, arguments)) as found:
                for done, one in enumerate(found, start=1):
                    yield one
                    progress(phase, done, len(arguments))

        tried = _spread(len(spec.space))
        attempts = [(spec, public, priors, seed, [(c, 0)], spec.generation_budget) for c in tried]
        figures = {one[0].configuration: one[0].figures for one in results("configurations", run_attempts, attempts)}
        index = min(tried, key=lambda c: (_worst(spec, figures[c]), c))
        shared = (comparison, wanted)
        (own,) = results("the release", own_figures, [(spec, public, counts, priors, seed, index, *shared)])
        methods = [(spec, counts, seed, index, *shared, method) for method in wanted.methods]
        made = [one for found in results("methods to compare with", compare_baseline, methods) for one in found]
    made.sort(key=lambda one: wanted.methods.index(one.method))
    return MethodComparison(
        spec=spec,
        configuration=index,
        tried=len(tried),
        methods=(own, *made),
        copies=comparison.copies,
        seed=seed,
        n_rows=counts.total,
    )


def _spread(size: int) -> list[int]:
    """A few numbers below `size`, evenly spread."""
    return sorted({place * size // TRIED for place in range(TRIED)})


def _worst(spec: ReleaseSpec, figures: Sequence[float | None]) -> float:
    """The largest share of its threshold that a figure uses; infinite without a figure."""
    shares = [
        math.inf if figure is None or math.isnan(figure) else share_of_threshold(figure, criterion.threshold)
        for figure, criterion in zip(figures, spec.criteria, strict=True)
    ]
    return max(shares, default=0.0)


def share_of_threshold(figure: float, threshold: float) -> float:
    """How much of a threshold a figure uses, more than 1 where it is missed; of a threshold of 0 nothing or all and more."""
    if threshold > 0:
        return figure / threshold
    return 0.0 if figure <= threshold else math.inf


@one_thread
def own_figures(
    spec: ReleaseSpec,
    public: PrivateCounts,
    counts: Counts,
    priors: Mapping[str, Counts],
    seed: int,
    index: int,
    comparison: CopyComparison,
    wanted: WantedMethods,
) -> BaselineFigures:
    """Copies of one configuration at the planned budget, judged as the methods are."""
    start, copies = process_time(), list[Counts]()
    for number in range(max(1, comparison.copies)):
        with suppress(RejectedRound):
            copies.append(made_copy(spec, public, priors, seed, index, number))
    taken = process_time() - start
    if not copies:
        return not_made(RELEASE, "every attempt ended without a candidate")
    total = spec.plan.total
    lacking = max(1, comparison.copies) - len(copies)
    made = MadeTables(
        name="this release",
        guarantee=loss_text(total),
        epsilon=float(total.epsilon),
        copies=copies,
        notes=((f"{lacking} of {comparison.copies} attempts ended without a candidate",) if lacking else ()),
    )
    file = public_file(spec, counts, index, comparison, wanted, seed)
    errors = errors_on(questions(file, wanted.methods), file.table, copies)
    return replace(judged(spec, counts, index, comparison, RELEASE, made), errors=errors, seconds=taken)
