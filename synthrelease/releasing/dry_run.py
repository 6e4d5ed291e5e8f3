"""Make complete attempts on a made-up table before the budget is charged, so that a run that would certainly fail costs
nothing.

Every generator family is tried in its largest configuration, and in its smallest if that is at most a quarter as large or
takes more work. The attempts run the code of a release, from one-off fits to the criterion values after acceptance. The
rows of the table are drawn uniformly over all cells that the rules allow, and are the same in every run. They contain
nothing private, so messages may show where an error occurred, and the time and memory used. A rejected round is not
reported, because made-up rows do not resemble a population.

`MadeUp` is a `PrivateCounts` whose errors state their cause. Only this module creates such an object, and only from rows
that it has drawn.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts
from synthrelease.data.schema import Transformation
from synthrelease.enclave.door import PrivateCounts, random_pieces
from synthrelease.errors import PrivateFailure, RejectedRound, ResourceError, SpecError, SynthreleaseError, failure_of
from synthrelease.generators.candidate import Candidate
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Charge, Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.attempt import (
    Prepared,
    PrivatePieces,
    PrivateTable,
    generate,
    judge,
    prepare,
    released_figures,
    released_models,
)
from synthrelease.releasing.attempt_costs import check_measured, megabytes_in_use
from synthrelease.spec.release_spec import ReleaseSpec

ROWS = 2000
"""Number of rows of the made-up table. This number is large enough for a few rows in every group, and small enough for an
attempt to take about a second.
"""

SIMILAR = 4
"""The smallest configuration of a family is also tried if the ratio of cells or of work between the largest and the smallest is
at least this number.
"""

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """The configurations that a dry run (a trial on made-up rows) tried, and the seconds of the longest attempt with one
    process.
    """

    configurations: tuple[Configuration, ...]
    seconds: float


class MadeUp(PrivateCounts):
    """A made-up table that mechanisms can read like a private table, once for each planned charge. Their errors are raised
    unchanged.
    """

    def __init__(self, counts: Counts, meter: Meter):
        super().__init__(counts, meter)
        self._counts = counts

    def on(self, transformation: Transformation) -> MadeUp:
        return MadeUp(BinnedCounts.of_atoms(self._counts, transformation), self._meter)

    def with_plan(self, planned: Sequence[Charge]) -> MadeUp:
        return MadeUp(self._counts, Meter(planned))

    def spend(self, charge: Charge | Sequence[Charge], mechanism: Callable[[Counts], Result]) -> Result:
        self._meter.take_all(charge)
        return mechanism(self._counts)


def dry_run(spec: ReleaseSpec, priors: Mapping[str, Counts], jobs: int = 1) -> DryRun:
    """Try the largest and the smallest configurations (see `extremes`) on a made-up table, before the private file is read.

    Parameters
    ----------
    jobs : number of processes of the release, which determines the memory that the release needs.

    Raises
    ------
    SpecError : if an attempt ends with an error (the message names the configuration and the place), or if the rules allow
        no row.
    ResourceError : if this machine has too little memory for the attempts.
    """
    table, before = made_up(spec), megabytes_in_use()
    shared = _run(spec, None, lambda: prepare(spec, _behind_doors(spec, table, spec.plan.once), priors))
    tried, longest = tuple(extremes(spec)), 0.0
    for configuration in tried:
        started = time.perf_counter()
        _run(spec, configuration, partial(_attempt, spec, configuration, table, shared))
        longest = max(longest, time.perf_counter() - started)
    check_measured(before, megabytes_in_use(), jobs)
    return DryRun(configurations=tried, seconds=longest)


def made_up(spec: ReleaseSpec) -> Counts:
    """Return random made-up rows that obey the rules of the specification, in its finest (atomic) cells.

    Raises
    ------
    SpecError : if the rules for private rows forbid every row.
    """
    layout, generator = spec.schema.layout, SeededEntropy(ROWS).generator()
    rows = min(ROWS, spec.rows.stated or ROWS)
    digits = [np.zeros(rows, dtype=np.int64) for _ in layout.sizes]
    for columns, allowed in spec.raw.drawn_from():  # no two rules share a column
        if not len(allowed):
            names = ", ".join(layout.columns[column] for column in columns)
            raise SpecError.at(spec.path, "rules", f"The rules forbid every combination of {names}, so they allow no row")
        drawn = allowed[generator.integers(len(allowed), size=rows)]
        for column, bins in zip(columns, drawn.T, strict=True):
            digits[column] = bins.copy()
    spec.raw.follow(digits)
    return Counts.of(layout, digits)


def extremes(spec: ReleaseSpec) -> Iterator[Configuration]:
    """Yield the largest configuration of every generator family, by cells and work of fitting, after the smallest if the
    two differ much.

    With a shortlist, only its configurations are used. Otherwise only the first projection is used, because every
    projection keeps the number of rows or rejects the round.
    """
    by_family: dict[str, list[Configuration]] = {}
    space = spec.space if spec.space.shortlist is not None else replace(spec.space, projections=spec.space.projections[:1])
    for configuration in space:
        by_family.setdefault(configuration.generator.family, []).append(configuration)
    for configurations in by_family.values():
        efforts: dict[str, float] = {}

        def size(drawn: Configuration, efforts: dict[str, float] = efforts) -> tuple[int, float]:
            layout, key = drawn.transformation.layout, drawn.generator.model_dump_json()
            if key not in efforts:
                efforts[key] = drawn.generator.effort(layout)
            return layout.n_cells, efforts[key]

        smallest, largest = min(configurations, key=size), max(configurations, key=size)
        (few, little), (many, much) = size(smallest), size(largest)
        if many >= SIMILAR * few or not little <= much < SIMILAR * little:
            yield smallest
        yield largest


def _attempt(spec: ReleaseSpec, configuration: Configuration, table: Counts, prepared: Prepared) -> None:
    """Make one attempt on the made-up table, which itself is judged if no synthetic table can be made because of the noise."""
    private = _behind_doors(spec, table, ())
    try:
        merged, candidate = generate(spec, configuration, private, prepared)
    except RejectedRound:
        transformation = configuration.transformation
        merged = private.with_plan(spec.plan.per_round).score.on(transformation)
        made_up_rows = _pieces(spec, table)[-1].merge(transformation.layout, transformation.maps)
        candidate = Candidate(configuration=configuration, counts=made_up_rows)
    try:
        verdict = judge(spec, merged, candidate, prepared)
        released_figures(spec, verdict, private, prepared)
        released_models(spec, verdict, private)
    except RejectedRound:
        return


def _behind_doors(spec: ReleaseSpec, table: Counts, planned: Sequence[Charge]) -> PrivateTable:
    """Return the made-up table, or its two parts, for mechanisms. Every call returns the same rows."""
    pieces = _pieces(spec, table)
    if len(pieces) == 1:
        return MadeUp(table, Meter(planned))
    return PrivatePieces(*(MadeUp(piece, Meter(())) for piece in pieces)).with_plan(planned)


def _pieces(spec: ReleaseSpec, table: Counts) -> tuple[Counts, ...]:
    """Return the tables for the generator and for the criteria, or a single table if both use the same rows."""
    if spec.options.partition is None:
        return (table,)
    return random_pieces(table, spec.options.partition.sizes(table.total), SeededEntropy(ROWS))


def _run(spec: ReleaseSpec, configuration: Configuration | None, part: Callable[[], Result]) -> Result:
    tried = "the part that all rounds share" if configuration is None else f"the configuration {_described(configuration)}"
    problem: SynthreleaseError
    try:
        return part()
    except MemoryError:
        problem = ResourceError(
            f"Refused: even with a made-up table of {ROWS:,} rows, {tried} needs more memory than this machine has. Nothing "
            "was spent."
        )
    except Exception as error:
        if isinstance(error, SynthreleaseError) and not isinstance(error, PrivateFailure):
            raise
        # the data are made up, so the message of the error is public
        cause = "the program failed on counts" if isinstance(error, PrivateFailure) else f"{failure_of(error)} ({error})"
        text = (
            f"A trial on a made-up table of {ROWS:,} rows failed in {tried}: {cause}. Every round of the release could fail in "
            "the same way. Nothing was read, and nothing was spent"
        )
        problem = SpecError.at(spec.path, "generators" if configuration else "criteria", text)
    raise problem


def _described(configuration: Configuration) -> str:
    description, schema = configuration.describe(), configuration.transformation.schema
    bins = {name: chosen for name, chosen in configuration.transformation.choice.items() if len(schema[name].alternatives) > 1}
    return json.dumps({"generator": description["generator"], "projection": description["projection"], "transformation": bins})
