"""Methods to compare with, on a public table: made by what stands in `baselines`, and judged as configurations are.

Each is applied to the public rows over the bins of one configuration, and judged by the criteria and by the utility and risk
figures that the configurations are judged by. None can be released (docs/appendix/baselines.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from time import process_time

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.weights import Calibration
from synthrelease.errors import InputError, closest, listing
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.rehearsal.baselines import BASELINES
from synthrelease.rehearsal.baselines.base import NO_GUARANTEE, AskedNumber, ComparedFile, DoesNotFit, MadeTables
from synthrelease.rehearsal.copies import CopyComparison, compared
from synthrelease.rehearsal.dependence import cramers_v
from synthrelease.rehearsal.judging import PublicJudge, merged
from synthrelease.rehearsal.linked_errors import linked_errors
from synthrelease.rehearsal.public_table import PublicTable
from synthrelease.rehearsal.risk_groups import risk_groups
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec

MOST_VALUES = 2**28
"""Rows times columns of the largest table that is handled row by row; some numbers of 8 bytes each are held."""

OF_MEMBERS = "members"
METHODS = tuple(method for method in BASELINES if method != OF_MEMBERS)
"""What `compare` shows where nothing is asked for; `OF_MEMBERS` as well, where records have members."""


@dataclass(frozen=True, kw_only=True)
class WantedMethods:
    """Which methods to compare with.

    Attributes
    ----------
    methods : of `METHODS`, each once.
    variables, key : columns whose values are swapped, and that a stratum agrees on; chosen here where empty (None for the key).
    rate : probability that a record is selected for swapping, in (0, 1).
    """

    methods: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    key: tuple[str, ...] | None = None
    rate: Fraction = Fraction(1, 20)

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        methods: Sequence[str],
        variables: Sequence[str] | None = None,
        key: Sequence[str] | None = None,
        rate: float = 0.05,
    ) -> WantedMethods:
        """Check what a user asks for; `names` are the columns.

        Raises
        ------
        InputError : for an unknown method or column, or a rate that is none.
        """
        for asked, given, there in (
            ("--method", methods, tuple(BASELINES)),
            ("--swap", variables or (), names),
            ("--swap-key", key or (), names),
        ):
            for name in given:
                if name not in there:
                    guess = closest(name, there)
                    raise InputError(
                        f"{asked}: expected one of {listing(there)}, found {name!r}."
                        + (f" Did you mean {guess!r}?" if guess else "")
                    )
        if not 0 < rate < 1:
            raise InputError(f"--swap-rate: expected a number above 0 and below 1, found {rate:g}.")
        used = [*(variables or ()), *(key or ())]
        if len(set(used)) != len(used):
            raise InputError("--swap, --swap-key: expected different columns, found one twice.")
        if len(names) == len(used) and used and not key:
            raise InputError("--swap: expected a column that stays in its place, found all of them swapped together.")
        return cls(
            methods=tuple(dict.fromkeys(methods)),
            variables=tuple(variables or ()),
            key=None if key is None else tuple(key),
            rate=Fraction(str(rate)),
        )


@dataclass(frozen=True, kw_only=True)
class BaselineFigures:
    """One method on the public table.

    Attributes
    ----------
    method : of `METHODS`. name : what it is, in words.
    guarantee : "no guarantee", or the nominal one. epsilon : the number in it; None without one.
    notes : what was chosen, and what is odd about the table.
    not_made : why there is none, in words; empty where there is.
    figures : per criterion the median over the copies, without noise; NaN where there is none. Empty without a table.
    met : per criterion, whether that figure is within the threshold.
    breaks_rules : share of the rows that no release could have, for the rules forbid them.
    utility, risk : as of the configurations (`copies.CopyFigures`).
    of_members : where records have members, how far off pairs of columns are (`linked_errors`), the median over copies.
    errors : by question, how far the answer is off, the median over copies or draws.
    seconds : CPU time of making it; no part of what is compared, as it differs from run to run.
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
    errors: Mapping[str, float] = field(default_factory=dict)
    of_members: Mapping[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False, repr=False)


def public_file(
    spec: ReleaseSpec, counts: Counts, index: int, comparison: CopyComparison, wanted: WantedMethods, seed: int
) -> ComparedFile:
    """The public rows over the bins of configuration `index`, as methods take them."""
    configuration = spec.space[index]
    transformation, table = configuration.transformation, merged(counts, configuration)
    names, sizes = table.layout.columns, table.layout.sizes

    def generator(*key: int) -> np.random.Generator:
        return SeededEntropy(seed, 8, *key).generator()

    def strength(one: int, other: int) -> float:
        """Cramer's V of two columns, missing values as a value; 0 where their table is too large to look at."""
        return cramers_v(table.marginal((one, other))) if sizes[one] * sizes[other] <= 2**20 else 0.0

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
        calibration=None if (totals := spec.part(Calibration)) is None else totals.on(transformation),
        linked=spec.schema.linked,
        swap=wanted.variables,
        swap_key=wanted.key,
        swap_rate=wanted.rate,
    )


@one_thread
def compare_baseline(
    spec: ReleaseSpec, counts: Counts, seed: int, index: int, comparison: CopyComparison, wanted: WantedMethods, method: str
) -> tuple[BaselineFigures, ...]:
    """One method on the public rows over the bins of configuration `index`: made, judged and compared.

    Parameters
    ----------
    counts : the public rows over atomic cells.
    """
    start, file, maker = process_time(), public_file(spec, counts, index, comparison, wanted, seed), BASELINES[method]()
    columns = len(file.names)
    if file.table.total * columns > MOST_VALUES:
        return (
            not_made(
                method,
                f"it works row by row, and the table has {file.table.total:,} rows of {columns} columns, "
                f"more than {MOST_VALUES:,} values; compare on a random sample to have it",
            ),
        )
    try:
        tables, answers = maker.tables(file), maker.answers(file)
    except (ValueError, np.linalg.LinAlgError) as error:
        return (not_made(method, str(error)),)
    except MemoryError:
        return (not_made(method, "this machine's memory is too small for it; compare on a random sample to have it"),)
    taken = process_time() - start
    asked = questions(file, wanted.methods)
    found = [
        replace(judged(spec, counts, index, comparison, method, each), errors=errors_on(asked, file.table, each.copies))
        for each in tables
    ]
    found += [
        BaselineFigures(
            method=method,
            name=each.name,
            guarantee=each.guarantee,
            epsilon=each.epsilon,
            notes=each.notes,
            errors={each.question.words: _typical(each.values - each.question.of(file.table))},
            utility={},
            risk={},
        )
        for each in answers
    ]
    return tuple(replace(one, seconds=taken / len(found)) for one in found)


def not_made(method: str, why: str) -> BaselineFigures:
    """A method without a table or an answer, and why."""
    return BaselineFigures(method=method, name=method, guarantee=NO_GUARANTEE, not_made=why, utility={}, risk={})


def judged(
    spec: ReleaseSpec, counts: Counts, index: int, comparison: CopyComparison, method: str, made: MadeTables
) -> BaselineFigures:
    """What criteria, utility and risk figures say of copies of a table over the bins of configuration `index`."""
    copies = [copy for copy in made.copies if copy.total]
    if not copies:
        return not_made(method, "no row of it is plausible")
    configuration = spec.space[index]
    judge, plausibility = PublicJudge(spec, counts, configuration), spec.synthetic.merge(configuration.transformation)
    every = np.array([judge.figures(copy) for copy in copies])
    figures = tuple(math.nan if np.isnan(column).any() else float(np.median(column)) for column in every.T)
    met = tuple(figure <= criterion.threshold for figure, criterion in zip(figures, spec.criteria, strict=True))
    forbidden = [copy.total - plausibility.filter(copy).total for copy in copies]
    broken = sum(forbidden) / sum(copy.total for copy in copies)
    utility, risk = compared(counts, configuration, copies, comparison, made.rule)
    notes = (*made.notes, *((f"{_share(broken)} of the rows break a rule, which a release's rows never do",) if broken else ()))
    return BaselineFigures(
        method=method,
        name=made.name,
        guarantee=made.guarantee,
        epsilon=made.epsilon,
        notes=notes,
        figures=figures,
        met=met,
        breaks_rules=broken,
        utility=utility,
        risk=risk,
        of_members=_of_members(spec, merged(counts, configuration), copies),
    )


def _of_members(spec: ReleaseSpec, original: Counts, copies: Sequence[Counts]) -> dict[str, float]:
    if (linked := spec.schema.linked) is None:
        return {}
    every = [linked_errors(linked, original, copy) for copy in copies]
    return {kind: float(np.median([each.get(kind, math.nan) for each in every])) for kind in every[0]}


def questions(file: ComparedFile, methods: Sequence[str]) -> list[AskedNumber]:
    """What those of the methods ask that give no table, where they fit the file."""
    found = []
    for method in methods:
        if not BASELINES[method].makes_tables:
            with suppress(DoesNotFit):
                found.append(BASELINES[method]().question(file))
    return found


def errors_on(questions: Sequence[AskedNumber], original: Counts, copies: Sequence[Counts]) -> dict[str, float]:
    """For each question the median error of the copies' own answers; NaN where a copy has none."""
    found = {}
    for question in questions:
        try:
            exact = question.of(original)
            found[question.words] = _typical(np.array([question.of(copy) - exact for copy in copies]))
        except DoesNotFit:
            found[question.words] = math.nan
    return found


def _typical(errors: np.ndarray) -> float:
    """The median of how far off: noise for smooth sensitivity may have no mean square."""
    return float(np.median(np.abs(errors)))


def _share(value: float) -> str:
    return f"{value:.1%}" if value >= 0.001 else "under 0.1%"
