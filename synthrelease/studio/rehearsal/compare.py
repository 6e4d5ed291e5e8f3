"""Compare a release with other methods (`baselines`) on a public table, by the same criteria, utility and risk statistics.

Each method gets the public rows in the bins of one configuration. A release cannot use these methods
(docs/appendix/baselines.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

import numpy as np

from synthrelease.bundle.write import check_free_name, new_file
from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, OutputError, RejectedRound, on_public_data, so_many
from synthrelease.generators.associations import cramers_v
from synthrelease.privacy.plan import loss_text
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.attempt import read_priors
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import ComparisonRequest
from synthrelease.studio.baselines import BASELINES
from synthrelease.studio.baselines.base import NO_GUARANTEE, ComparedFile, MadeTables
from synthrelease.studio.parallel import Progress, running
from synthrelease.studio.rehearsal.attempts import PublicTable, Trials, run_attempts
from synthrelease.studio.rehearsal.closer_look import PublicJudge, merged
from synthrelease.studio.rehearsal.report import describe, plain
from synthrelease.studio.rehearsal.risk import risk_groups
from synthrelease.studio.rehearsal.utility import CopyComparison, check_known, compared
from synthrelease.studio.rehearsal.words import short

MOST_VALUES = 2**28
"""Largest number of values (rows times columns) for methods that work row by row and store several numbers for each value."""

T = TypeVar("T")

METHODS = tuple(BASELINES)
"""Methods that `compare` runs by default."""


def checked_request(names: Sequence[str], request: ComparisonRequest) -> ComparisonRequest:
    """Check a request, and return it with each method listed once. Without methods, it gets all methods.

    Raises
    ------
    InputError : for an unknown method or column, or a rate that is not between 0 and 1.
    """
    methods, swapped, key = request.method or METHODS, request.swap or (), request.swap_key or ()
    check_known("--method", methods, tuple(BASELINES))
    check_known("--swap", swapped, names)
    check_known("--swap-key", key, names)
    if not 0 < request.swap_rate < 1:
        raise InputError(f"--swap-rate: expected a number above 0 and below 1, found {request.swap_rate:g}.")
    used = {*swapped, *key}
    if len(used) != len(swapped) + len(key):
        raise InputError("--swap and --swap-key name a column twice. Name each column once.")
    if len(names) == len(used) and not key:
        raise InputError("--swap names all columns. Leave out at least one column.")
    return replace(request, method=tuple(dict.fromkeys(methods)))


@dataclass(frozen=True, kw_only=True)
class BaselineFigures:
    """The results of one method on the public table.

    Attributes
    ----------
    method, name : one of `METHODS`, and its name in words.
    guarantee : "no guarantee", or the nominal guarantee.
    epsilon : the epsilon of the guarantee, or None.
    notes : the choices that the method made, and problems of the table.
    not_made : the reason why the method made no table, or an empty string.
    figures : for each criterion, the median of its value over the copies, without noise, or NaN. Empty without a table.
    met : for each criterion, whether this value is within the threshold.
    breaks_rules : share of the synthetic rows that break a plausibility rule. A release has no such rows.
    utility, risk : the same statistics as for configurations (`utility.CopyFigures`).
    seconds : CPU time for making the table; comparisons of results ignore it.
    """

    method: str
    name: str
    guarantee: str
    epsilon: float | None = None
    notes: tuple[str, ...] = ()
    not_made: str = ""
    figures: tuple[float, ...] = ()
    met: tuple[bool, ...] = ()
    breaks_rules: float = 0.0
    utility: Mapping[str, float]
    risk: Mapping[str, float]
    seconds: float = field(default=0.0, compare=False, repr=False)


def public_file(trials: Trials, index: int, comparison: CopyComparison, request: ComparisonRequest) -> ComparedFile:
    """Return the public rows in the bins of configuration `index`, with the settings and random numbers of other methods."""
    spec, configuration = trials.spec, trials.spec.space[index]
    transformation, table = configuration.transformation, merged(trials.counts, configuration)
    names, sizes = table.layout.columns, table.layout.sizes

    def generator(*key: int) -> np.random.Generator:
        return SeededEntropy(trials.seed, 8, *key).generator()

    def strength(first: int, second: int) -> float:
        """Return Cramer's V of two columns, with missing as a value, or 0 if their joint table is too large."""
        return float(cramers_v(table.marginal((first, second)))) if sizes[first] * sizes[second] <= 2**20 else 0.0

    def risk() -> np.ndarray:
        public = PublicTable(counts=table, transformation=transformation, public_because="given to a rehearsal")
        return risk_groups(public, comparison.quasi_identifiers)

    return ComparedFile(
        table=table,
        transformation=transformation,
        plausibility=spec.synthetic.merge(transformation),
        known=[names.index(name) for name in comparison.quasi_identifiers],
        copies=max(1, comparison.copies),
        generator=generator,
        strength=strength,
        risk=risk,
        epsilon=float(spec.plan.total.epsilon),
        swap=request.swap or (),
        swap_key=request.swap_key,
        swap_rate=Fraction(str(request.swap_rate)),
    )


_INSTEAD = "to include the method, compare on a random sample"


@one_thread
def compare_baseline(
    trials: Trials, index: int, comparison: CopyComparison, request: ComparisonRequest, method: str
) -> tuple[BaselineFigures, ...]:
    """Apply another method to the public rows in the bins of configuration `index`. Return the results of its variants."""
    start, file, maker = process_time(), public_file(trials, index, comparison, request), BASELINES[method]()
    columns = len(file.names)
    if file.table.total * columns > MOST_VALUES:
        size = f"{file.table.total:,} rows of {columns} columns, more than {MOST_VALUES:,} values"
        return (not_made(method, f"the method works row by row, and the table has {size}; {_INSTEAD}"),)
    try:
        tables = maker.tables(file)
    except (ValueError, np.linalg.LinAlgError) as error:
        return (not_made(method, str(error)),)
    except MemoryError:
        return (not_made(method, f"this machine has too little memory for this method; {_INSTEAD}"),)
    taken = process_time() - start
    results = [judged(trials, index, comparison, method, table) for table in tables]
    return tuple(replace(result, seconds=taken / len(results)) for result in results)


def not_made(method: str, why: str) -> BaselineFigures:
    return BaselineFigures(method=method, name=method, guarantee=NO_GUARANTEE, not_made=why, utility={}, risk={})


def judged(trials: Trials, index: int, comparison: CopyComparison, method: str, tables: MadeTables) -> BaselineFigures:
    copies = [copy for copy in tables.copies if copy.total]
    if not copies:
        return not_made(method, "the rules allow no row of its table")
    spec, configuration = trials.spec, trials.spec.space[index]
    judge, plausibility = PublicJudge(spec, trials.counts, configuration), spec.synthetic.merge(configuration.transformation)
    every = np.array([judge.figures(copy) for copy in copies])
    figures = tuple(math.nan if np.isnan(column).any() else float(np.median(column)) for column in every.T)
    met = tuple(figure <= criterion.threshold for figure, criterion in zip(figures, spec.criteria, strict=True))
    forbidden = [copy.total - plausibility.filter(copy).total for copy in copies]
    broken = sum(forbidden) / sum(copy.total for copy in copies)
    utility, risk = compared(trials.counts, configuration, copies, comparison, tables.rule)
    notes = (
        *tables.notes,
        *((f"{_share(broken)} of the rows break a rule, whereas no row of a release does",) if broken else ()),
    )
    return BaselineFigures(
        method=method,
        name=tables.name,
        guarantee=tables.guarantee,
        epsilon=tables.epsilon,
        notes=notes,
        figures=figures,
        met=met,
        breaks_rules=broken,
        utility=utility,
        risk=risk,
    )


def _share(value: float) -> str:
    return f"{value:.1%}" if value >= 0.001 else "under 0.1%"


# A configuration and all methods to compare with, on one public file, with the same bins, criteria and statistics.
#
# A reviewer asks how other methods would have protected the table, and with which guarantee. The configuration is the best of a
# few from the specification's space, or from a shortlist. The copies are made as in a release with the planned budget.

RELEASE = "release"
"""Name of the release in the list of methods."""

TRIED = 6
"""Number of configurations to try, evenly spread over all configurations. The comparison uses the best of them."""


@dataclass(frozen=True, kw_only=True)
class MethodComparison:
    """The result of a comparison of a release with other methods.

    Attributes
    ----------
    configuration, tried : index of the configuration whose bins all methods use, the best of `tried` configurations.
    methods : the results of the release, then of the other methods in the requested order.
    copies, seed : number of tables of each method, and the seed of all draws.
    n_rows : number of rows of the public file that the rules keep.
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
    spec: ReleaseSpec, request: ComparisonRequest, *, progress: Progress = lambda phase, done, total: None
) -> MethodComparison:
    """Compare a release with other methods on public data. This reads no private data, spends nothing, and has no
    guarantee.

    Raises
    ------
    BudgetError : if the plan has no guarantee.
    InputError : for an unknown method or column, if the file does not fit, or if the release divides its rows
        ([partition]).
    """
    # refuse a request that cannot be compared, before anything is read
    request = checked_request(spec.schema.names, request)
    _ = spec.plan.total  # refuses a plan without a guarantee
    if spec.options.partition is not None:
        raise InputError(
            f"{spec.path}: a configuration with [partition] cannot be compared, because it releases only some rows, and the "
            "other methods use the whole file. Remove [partition] from a copy of the configuration, and compare the copy."
        )
    comparison = CopyComparison.of(spec, request.copies, request.quasi_identifiers)

    # the public file
    progress("reading the public file", 0, 0)
    counts = read_public(request.source, spec.schema, spec.input, spec.raw, spec.unit)
    if not counts.total:
        raise InputError("--data: no row of the public file meets the rules. Use another file, or check [[rules]].")
    trials = Trials(spec=spec, counts=counts, priors=read_priors(spec), seed=request.seed)

    def results(phase: str, action: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        progress(phase, 0, len(arguments))
        with closing(running(request.jobs)(action, arguments)) as finished:
            for done, result in enumerate(finished, start=1):
                yield result
                progress(phase, done, len(arguments))

    # the configuration whose bins all methods get: the best of a few, with one attempt of each
    tried = sorted({step * len(spec.space) // TRIED for step in range(TRIED)})
    attempts = [(trials, [(c, 0)], spec.budget.generation) for c in tried]
    figures = {result[0].configuration: result[0].figures for result in results("configurations", run_attempts, attempts)}
    index = min(tried, key=lambda c: (_worst(spec, figures[c]), c))

    # copies of the release, and tables of every method, with the same statistics
    (release,) = results("the release", own_figures, [(trials, index, comparison)])
    arguments = [(trials, index, comparison, request, method) for method in request.method]
    by_method = results("methods to compare with", compare_baseline, arguments)
    baselines = [baseline for figures_of_method in by_method for baseline in figures_of_method]
    baselines.sort(key=lambda baseline: request.method.index(baseline.method))
    return MethodComparison(
        spec=spec,
        configuration=index,
        tried=len(tried),
        methods=(release, *baselines),
        copies=comparison.copies,
        seed=request.seed,
        n_rows=counts.total,
    )


def _worst(spec: ReleaseSpec, figures: Sequence[float | None]) -> float:
    shares = [
        math.inf if figure is None or math.isnan(figure) else share_of_threshold(figure, criterion.threshold)
        for figure, criterion in zip(figures, spec.criteria, strict=True)
    ]
    return max(shares, default=0.0)


def share_of_threshold(figure: float, threshold: float) -> float:
    """Return a criterion value as a share of its threshold: 0 or infinity for a threshold of 0."""
    if threshold > 0:
        return figure / threshold
    return 0.0 if figure <= threshold else math.inf


@one_thread
def own_figures(trials: Trials, index: int, comparison: CopyComparison) -> BaselineFigures:
    """Make copies with one configuration of the release, and judge them like the copies of the other methods."""
    start, copies = process_time(), list[Counts]()
    for copy in range(max(1, comparison.copies)):
        with suppress(RejectedRound):
            copies.append(trials.candidate(index, SeededEntropy(trials.seed, 2, index, copy)).counts)
    taken = process_time() - start
    if not copies:
        return not_made(RELEASE, "every attempt ended without a table")
    total = trials.spec.plan.total
    lacking = max(1, comparison.copies) - len(copies)
    tables = MadeTables(
        name="this release",
        guarantee=loss_text(total),
        epsilon=float(total.epsilon),
        copies=copies,
        notes=((f"{lacking} of {comparison.copies} attempts ended without a table",) if lacking else ()),
    )
    return replace(judged(trials, index, comparison, RELEASE, tables), seconds=taken)


# A comparison with other methods as rows of a table, as sentences, and as JSON.


def comparison_rows(comparison: MethodComparison) -> list[tuple[str, ...]]:
    """Return a row for each method that made a table.

    A row has the name, the epsilon, the thresholds met, the CPU time, the match risk, and each criterion value as a share
    of its threshold.
    """
    criteria = comparison.spec.criteria
    return [
        (
            method.name,
            guarantee_word(method),
            f"{sum(method.met)} of {len(method.met)}",
            seconds(method.seconds),
            short(method.risk.get("mean_risk", math.nan)),
            *(_share_text(f, criterion.threshold) for f, criterion in zip(method.figures, criteria, strict=True)),
        )
        for method in comparison.methods
        if method.figures
    ]


def guarantee_word(method: BaselineFigures) -> str:
    """Return the epsilon of a method, in brackets if it is only nominal, or NONE without a guarantee."""
    if method.epsilon is None:
        return "NONE"
    nominal = method.guarantee.startswith("nominal")
    return f"({method.epsilon:.4g})" if nominal else f"{method.epsilon:.4g}"


def seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 9.95 else f"{value:.1f} s"


def _share_text(figure: float, threshold: float) -> str:
    if math.isnan(figure):
        return "none"
    share = share_of_threshold(figure, threshold)
    if math.isinf(share):
        return "over"
    if share < 0:  # the difference of a median from the edge of its range, inside
        return "<0"
    return f"{share:.2f}" if share < 9.95 else f"{share:.0f}"


def comparison_words(comparison: MethodComparison) -> list[str]:
    """Return sentences on methods without a guarantee, on their choices, and on methods that made no table."""
    bare = [method.name for method in comparison.methods if method.epsilon is None and not method.not_made]
    nominal = [method for method in comparison.methods if method.guarantee.startswith("nominal")]
    sentences = []
    if bare:
        sentences.append(
            f"NONE means that a method gives no guarantee, so somebody may recognise persons in its table ({'; '.join(bare)})."
        )
    for method in nominal:
        sentences.append(
            f"{method.name}: the epsilon in brackets holds only for tables with the same exact statistics. It cannot be "
            "compared with the epsilon of a release or added to it."
        )
    for method in comparison.methods:
        if method.not_made:
            sentences.append(f"{method.name}: left out. {method.not_made[:1].upper()}{method.not_made[1:]}.")
        elif method.notes:
            sentences.append(f"{method.name}: {'; '.join(method.notes)}.")
    return sentences


def configuration_words(comparison: MethodComparison) -> str:
    label = describe(comparison.spec.space[comparison.configuration])
    is_alone = len(comparison.spec.space) == 1
    chosen = "the only configuration" if is_alone else f"the best of {comparison.tried} configurations tried"
    chosen += f": {label}" if label else ""
    of_each = so_many(max(1, comparison.copies), "table")
    return f"{so_many(comparison.n_rows, 'public row')}, {of_each} of each method, in the bins of {chosen}"


def comparison_document(comparison: MethodComparison) -> dict[str, Any]:
    return {
        "public_data_only": True,
        "configuration": comparison.spec.described(comparison.spec.space[comparison.configuration]),
        "rows": comparison.n_rows,
        "copies": comparison.copies,
        "seed": comparison.seed,
        "criteria": [{"name": criterion.name, "threshold": criterion.threshold} for criterion in comparison.spec.criteria],
        "methods": plain(comparison.methods),
    }


def check_comparison_file(path: Path) -> None:
    if path.suffix != ".json":
        raise OutputError(f"--out {path}: the name of the file must end in .json.")
    check_free_name(path)


def write_comparison(comparison: MethodComparison, path: Path) -> None:
    with new_file(path) as file:
        file.write(json.dumps(comparison_document(comparison), indent=2, allow_nan=False).encode() + b"\n")
