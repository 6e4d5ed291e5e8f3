"""Methods to compare with, on the public table of a rehearsal: swapped, classically synthesised, DA-MI, independent columns.

Each is applied to the public rows over the bins of one configuration, and judged by the criteria and by the utility and risk
figures that the configurations are judged by. None can be released (docs/baselines.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.domain.counts import Counts
from synthrelease.errors import InputError, closest, listing
from synthrelease.randomness import SeededEntropy
from synthrelease.rehearsal.baselines.back_off import PRIOR
from synthrelease.rehearsal.baselines.data_augmented import DataAugmented
from synthrelease.rehearsal.baselines.masks import MatrixMask, NoiseMask, OrderedMask
from synthrelease.rehearsal.baselines.sequential import norm_and_logit, saturated
from synthrelease.rehearsal.baselines.swapping import PermutationSwapping
from synthrelease.rehearsal.combining import Rule
from synthrelease.rehearsal.copies import CopyComparison, compared
from synthrelease.rehearsal.dependence import cramers_v
from synthrelease.rehearsal.judging import PublicJudge, merged
from synthrelease.rehearsal.public_table import PublicTable
from synthrelease.rehearsal.risk_groups import risk_groups
from synthrelease.rehearsal.yardsticks import independent_columns
from synthrelease.releasing.threads import one_thread
from synthrelease.specification.release_spec import ReleaseSpec

NO_GUARANTEE = "no guarantee"

LOOSE = 0.5
"""Cramer's V of a swap variable and a key that is chosen here, at most: values that follow from the key would stay."""

MOST_VALUES = 2**28
"""Rows times columns of the largest table that is handled row by row; some numbers of 8 bytes each are held."""

KEPT_SHARES = (0.9, 0.7, 0.5)
"""Of the masks of low, medium and high risk: how often W is the value itself, where values have no order."""

SPREADS = (0.5, 1.0, 2.0)
"""And how far W is off in standard deviation, in bins, where they have."""


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
        for option, given, known in (
            ("--baseline", methods, METHODS),
            ("--swap", variables or (), names),
            ("--swap-key", key or (), names),
        ):
            for name in given:
                if name not in known:
                    guess = closest(name, known)
                    raise InputError(
                        f"{option}: expected one of {listing(known)}, found {name!r}."
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
    guarantee : "no guarantee", or the nominal one.
    notes : what was chosen, and what is odd about the table.
    not_made : why there is none, in words; empty where there is.
    figures : per criterion the median over the copies, without noise; NaN where there is none. Empty without a table.
    met : per criterion, whether that figure is within the threshold.
    breaks_rules : share of the rows that no release could have, for the rules forbid them.
    utility, risk : as of the configurations (`copies.CopyFigures`).
    """

    method: str
    name: str
    guarantee: str
    notes: tuple[str, ...] = ()
    not_made: str = ""
    figures: tuple[float, ...] = ()
    met: tuple[bool, ...] = ()
    breaks_rules: float = 0.0
    utility: Mapping[str, float]
    risk: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Made:
    name: str
    guarantee: str
    copies: Sequence[Counts]
    rule: Rule = "partial"
    notes: tuple[str, ...] = ()


class _Workshop:
    """The public rows over the bins of one configuration, and the methods."""

    def __init__(
        self, spec: ReleaseSpec, counts: Counts, index: int, comparison: CopyComparison, wanted: WantedMethods, seed: int
    ):
        self.configuration = spec.space[index]
        self.transformation = self.configuration.transformation
        self.table = merged(counts, self.configuration)
        self.plausibility = spec.synthetic.merge(self.transformation)
        self.comparison, self.wanted, self.seed = comparison, wanted, seed
        self.copies = max(1, comparison.copies)
        names = self.table.layout.columns
        self.known = [names.index(name) for name in comparison.quasi_identifiers]

    def numbers(self, column: int) -> np.ndarray | None:
        """(n_bins,) numbers of the bins of a column, NaN for missing values; None where a value has none."""
        name = self.table.layout.columns[column]
        found = self.transformation.numbers(name)
        return found if np.isfinite(found[: self.transformation.binnings[column].present]).all() else None

    def strength(self, one: int, other: int) -> float:
        """Cramer's V of two columns, missing values as a value; 0 where their table is too large to look at."""
        sizes = self.table.layout.sizes
        return cramers_v(self.table.marginal((one, other))) if sizes[one] * sizes[other] <= 2**20 else 0.0

    def by_strength(self, column: int, others: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(others, key=lambda other: (-self.strength(column, other), other)))

    def generator(self, *key: int) -> np.random.Generator:
        return SeededEntropy(self.seed, 8, *key).generator()

    def swapping(self) -> list[_Made]:
        sizes, names = self.table.layout.sizes, self.table.layout.columns
        if len(sizes) < 2:
            raise ValueError("swapping needs two columns or more")
        variables = tuple(map(names.index, self.wanted.variables))
        if not variables:
            ranked = sorted(self.known, key=lambda c: (self.numbers(c) is not None, -sizes[c], c))
            variables = (next((c for c in ranked if self.wanted.key is None or names[c] not in self.wanted.key), ranked[0]),)
        if self.wanted.key is None:
            free = [c for c in range(len(sizes)) if c not in variables and 1 < sizes[c] <= 20]
            loose = [c for c in free if self.strength(variables[0], c) <= LOOSE]
            key = self.by_strength(variables[0], loose)[:1]
        else:
            key = tuple(map(names.index, self.wanted.key))
        method = PermutationSwapping(key=key, variables=variables, rate=self.wanted.rate)
        nominal, pairwise = method.nominal_epsilon(self.table), method.pairwise_epsilon(self.table)
        told = listing([names[c] for c in variables])
        within = f"among records with the same {listing([names[c] for c in key])}" if key else "among all records"
        return [
            _Made(
                name=f"swapping at {float(self.wanted.rate):.3g}",
                guarantee=(
                    f"nominal: epsilon {nominal:.2f} for each record that differs, {pairwise:.2f} between the closest tables"
                ),
                copies=[method.swap(self.table, self.generator(0, number)) for number in range(self.copies)],
                notes=(
                    f"values of {told} are swapped {within}; all tables without {told}, and that of {told} with the key, are "
                    "exact; "
                    f"largest stratum {method.largest_stratum(self.table):,}, itself published",
                ),
            )
        ]

    def sequential(self) -> list[_Made]:
        columns = range(len(self.table.layout.sizes))
        predictors = {column: self.by_strength(column, range(column)) for column in columns}
        tables, plain = (
            [saturated(self.table, predictors, self.plausibility, self.generator(key, k), prior) for k in range(self.copies)]
            for key, prior in ((1, PRIOR), (6, 0.0))
        )
        numbers = [self.numbers(column) for column in columns]
        lines = [
            norm_and_logit(self.table, predictors, numbers, self.plausibility, self.generator(2, k)) for k in range(self.copies)
        ]
        names = self.table.layout.columns
        rest = tuple(names[column] for column in lines[0][1])
        return [
            _Made(name="sequential tables", guarantee=NO_GUARANTEE, copies=tables, rule="simple", notes=self._lacking(tables)),
            _Made(
                name="sequential tables, no prior",
                guarantee=NO_GUARANTEE,
                copies=plain,
                rule="simple",
                notes=("each value is that of a random record, as in a leaf of a tree", *self._lacking(plain)),
            ),
            _Made(
                name="sequential, norm and logit",
                guarantee=NO_GUARANTEE,
                copies=[each for each, _ in lines],
                notes=(
                    *((f"no regression was fitted to {listing(rest)}, drawn from tables",) if rest else ()),
                    *self._lacking([each for each, _ in lines]),
                ),
            ),
        ]

    def _lacking(self, tables: Sequence[Counts]) -> tuple[str, ...]:
        fewest = min(table.total for table in tables)
        if fewest == self.table.total:
            return ()
        return (
            f"{1 - fewest / self.table.total:.2%} of the rows are lacking: the model gives too little mass to plausible ones",
        )

    def dami(self) -> list[_Made]:
        columns = range(len(self.table.layout.sizes))
        predictors = {column: self.by_strength(column, [c for c in columns if c != column]) for column in self.known}
        public = PublicTable(counts=self.table, transformation=self.transformation, public_because="given to a rehearsal")
        method = DataAugmented(
            table=self.table,
            predictors=predictors,
            masks=[{c: self._mask(c, *levels) for c in self.known} for levels in zip(KEPT_SHARES, SPREADS, strict=True)],
            risk=risk_groups(public, self.comparison.quasi_identifiers),
            plausibility=self.plausibility,
        )
        masked = method.masked(self.generator(3))
        rest = [name for name in self.table.layout.columns if name not in self.comparison.quasi_identifiers]
        kept = f"published as it is: {listing(rest)}" if rest else "every column is drawn anew, so nothing is left as it is"
        return [
            _Made(
                name="DA-MI",
                guarantee=f"{NO_GUARANTEE}: columns are published as they are" if rest else NO_GUARANTEE,
                copies=[method.copy(masked, self.generator(4, number)) for number in range(self.copies)],
                notes=(
                    f"{kept}; masks of low, medium and high risk keep a value with probability "
                    f"{', '.join(f'{share:g}' for share in KEPT_SHARES)}, or are off by "
                    f"{', '.join(f'{sd:g}' for sd in SPREADS)} bins in "
                    "standard deviation; one mask for all copies",
                ),
            )
        ]

    def _mask(self, column: int, kept: float, sd: float) -> NoiseMask:
        binning = self.transformation.binnings[column]
        if self.numbers(column) is None or binning.present < 3:
            return MatrixMask.keeping(len(binning), kept)
        return OrderedMask(present=binning.present, missing=binning.missing is not None, sd=sd, kept=kept)

    def independent(self) -> list[_Made]:
        copies = [independent_columns(self.table, self.generator(5, number)) for number in range(self.copies)]
        return [
            _Made(name="independent columns", guarantee=NO_GUARANTEE, copies=copies, notes=("every column is exact by itself",))
        ]


_MAKERS = {
    "swapping": _Workshop.swapping,
    "sequential": _Workshop.sequential,
    "dami": _Workshop.dami,
    "independent": _Workshop.independent,
}

METHODS = tuple(_MAKERS)
"""What `--baseline` takes."""


@one_thread
def compare_baseline(
    spec: ReleaseSpec, counts: Counts, seed: int, index: int, comparison: CopyComparison, wanted: WantedMethods, method: str
) -> tuple[BaselineFigures, ...]:
    """One method on the public rows over the bins of configuration `index`: made, judged and compared.

    Parameters
    ----------
    counts : the public rows over atomic cells.
    """
    workshop = _Workshop(spec, counts, index, comparison, wanted, seed)
    columns = len(workshop.table.layout.sizes)
    values = workshop.table.total * columns
    if values > MOST_VALUES:
        return (
            not_made(
                method,
                f"it works row by row, and the table has {workshop.table.total:,} rows of {columns} columns, "
                f"more than {MOST_VALUES:,} values; rehearse on a random sample to have it",
            ),
        )
    try:
        made = _MAKERS[method](workshop)
    except (ValueError, np.linalg.LinAlgError) as error:
        return (not_made(method, str(error)),)
    except MemoryError:
        return (not_made(method, "this machine's memory is too small for it; rehearse on a random sample to have it"),)
    judge = PublicJudge(spec, counts, workshop.configuration)
    return tuple(_judged(spec, counts, workshop, judge, method, one) for one in made)


def not_made(method: str, why: str) -> BaselineFigures:
    """A method without a table, and why."""
    return BaselineFigures(method=method, name=method, guarantee=NO_GUARANTEE, not_made=why, utility={}, risk={})


def _judged(
    spec: ReleaseSpec, counts: Counts, workshop: _Workshop, judge: PublicJudge, method: str, made: _Made
) -> BaselineFigures:
    copies = [copy for copy in made.copies if copy.total]
    if not copies:
        return not_made(method, "no row of it is plausible")
    every = np.array([judge.figures(copy) for copy in copies])
    figures = tuple(math.nan if np.isnan(column).any() else float(np.median(column)) for column in every.T)
    met = tuple(figure <= criterion.threshold for figure, criterion in zip(figures, spec.criteria, strict=True))
    forbidden = [copy.total - workshop.plausibility.filter(copy).total for copy in copies]
    broken = sum(forbidden) / sum(copy.total for copy in copies)
    utility, risk = compared(counts, workshop.configuration, copies, workshop.comparison, made.rule)
    notes = (*made.notes, *((f"{_share(broken)} of the rows break a rule, which a release's rows never do",) if broken else ()))
    return BaselineFigures(
        method=method,
        name=made.name,
        guarantee=made.guarantee,
        notes=notes,
        figures=figures,
        met=met,
        breaks_rules=broken,
        utility=utility,
        risk=risk,
    )


def _share(value: float) -> str:
    return f"{value:.1%}" if value >= 0.001 else "under 0.1%"
