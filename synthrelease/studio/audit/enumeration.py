"""Check sensitivities by enumerating every private table, every neighbour and every synthetic table of a tiny world.

A triple (R, R', S) has two private tables R and R' of n records that differ in one record, and a synthetic table S. For
every triple:

- the integers to which the code adds noise differ by at most the integer sensitivity for which the noise was drawn;
- the exact values, which a second implementation computes in whole numbers (`exact_figures`), differ by at most the proved
  bound.

For every pair (R, S), the value of the code equals the exact value up to half a step of its grid, and its sensitivity
equals the bound. Neighbouring files with excluded rows are covered, because the tables made from them are among the pairs
(R, R') (`tiny`). Every pair of files that leads to tables with too large a change counts as a separate violation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Fitted, Regression
from synthrelease.criteria.facts import Query
from synthrelease.criteria.functional import LinearModel
from synthrelease.criteria.regressions import RegressionCoefficients
from synthrelease.criteria.scoring import JointTest
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.resizing import resize
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.charges import RowsRule
from synthrelease.privacy.grids import noise_grid
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.studio.audit.exact import ExactFigures, exact_figures, least_slack
from synthrelease.studio.audit.sweep import SMALL, WIDE, Sweep, Table, criterion
from synthrelease.studio.audit.tiny import FROM_0, ResizedPairs, Rows, World, file_pairs, resized_pairs
from synthrelease.studio.audit.worlds import SWEEPS

GRID_SHARE = 2.0**-13
"""Largest rounding error of a value, as a share of its sensitivity (half a step of the grid of `laplace_figure`)."""


class Recording(SystemEntropy):
    """An entropy source that adds no noise and records the values to which noise would be added. For made-up tables only."""

    def __init__(self) -> None:
        self.values: list[np.ndarray] = []
        self.scales: list[float] = []

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.values.append(np.array(values, dtype=np.int64))
        self.scales.append(scale)
        return self.values[-1]

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self.add_laplace(values, scale)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        return self.add_laplace(values, float(1 / rate))


@dataclass(frozen=True, kw_only=True)
class Enumeration:
    """The result of trying all small tables: whether replacing one record ever changes a value by more than its claimed
    sensitivity.

    Attributes
    ----------
    tight : whether some triple is claimed to reach the bound.
    most_records, cells : the largest number of records of a table, and the number of cells of the world.
    figures : number of pairs (R, S) whose value was computed, by the code and exactly.
    triples : number of triples of two neighbouring tables (in either order) and S.
    files : number of triples of two neighbouring files with excluded or unused rows (in either order) and S.
    coupled : number of triples of S and a pair of tables to which two of these files lead.
    violations : number of triples whose change is above the sensitivity, in the integers of the code or in exact fractions.
    disagreements : number of pairs (R, S) that the second implementation contradicts, plus number of pairs of files whose
        tables do not follow the resizing theorem.
    largest : the largest change as an exact share of the bound.
    """

    name: str
    kind: str
    tight: bool
    most_records: int
    cells: int
    figures: int
    triples: int
    violations: int
    disagreements: int
    largest: Fraction
    files: int = 0
    coupled: int = 0
    first: str = ""

    @classmethod
    def of_all(cls, parts: Sequence[Enumeration], most_records: int) -> Enumeration:
        """Sum up the enumerations of tables of 1, 2, ... `most_records` records as one result."""
        added = ("figures", "triples", "violations", "disagreements", "files", "coupled")
        totals = {name: sum(getattr(part, name) for part in parts) for name in added}
        first = next((part.first for part in parts if part.first), "")
        return replace(parts[-1], most_records=most_records, largest=max(part.largest for part in parts), first=first, **totals)

    @property
    def sound(self) -> bool:
        """Whether no change exceeds the claimed sensitivity, both implementations agree, and a tight sensitivity is reached."""
        return not self.violations and not self.disagreements and (self.largest == 1 or not self.tight)


def neighbour_pairs(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of all pairs of tables, given as (n_tables, n_cells) counts, that differ in one replaced record."""
    first, second = np.triu_indices(len(tables), k=1)
    apart = np.abs(tables[first] - tables[second]).sum(axis=1) == 2
    return first[apart], second[apart]


def enumerate_sweep(sweep: Sweep, most_records: int) -> Enumeration:
    """Check the sensitivity of a criterion on all pairs of neighbouring private tables of 1 to `most_records` records."""
    most_records = min(most_records, sweep.most or most_records)
    return Enumeration.of_all([_enumerate(sweep, n, most_records) for n in range(1, most_records + 1)], most_records)


def _enumerate(sweep: Sweep, n: int, n_file: int) -> Enumeration:
    world = sweep.world
    codes = world.all_tables(n)
    tables = world.dense(codes)
    first, second = neighbour_pairs(tables)
    bins = tuple((name, high + (name in sweep.missing)) for name, high in sweep.highs.items())  # the index of the last value
    plain = sweep.linked is None and sweep.coding == FROM_0  # the exclusion of rows does not depend on numbers
    resized = resized_pairs(bins, n, n_file) if plain else ResizedPairs.none()
    scorer = CodeFigures(sweep, world)
    privates = [scorer.behind_the_door(table) for table in codes]
    violations, disagreements, largest, shown = 0, resized.contradictions, Fraction(0), ""
    for synthetic, counts in zip(codes, tables, strict=True):
        recorded = scorer.figures(privates, synthetic)
        if sweep.joint:
            exact = least_slack(sweep.asked, world, tables, counts, sweep.fitted)
        else:
            exact = exact_figures(sweep.criteria[-1], world, tables, counts, sweep.fitted)
        changes = np.abs(exact.numerators[first] - exact.numerators[second])
        allowed = exact.bound * exact.denominator
        too_large = changes > int(allowed // 1)
        too_large |= np.abs(recorded.steps[first] - recorded.steps[second]) > recorded.allowed_steps
        violations += int(too_large.sum()) + resized.touched(first[too_large], second[too_large])
        tolerance = recorded.sensitivity * GRID_SHARE * (1 + 1e-9)
        others = np.abs(recorded.values - exact.values) > tolerance
        disagreements += int(others.sum())
        other_bound = abs(recorded.sensitivity - float(exact.bound) * exact.unit) > 1e-12 * recorded.sensitivity
        disagreements += int(other_bound)
        if not shown and (too_large.any() or others.any() or other_bound):
            places = [*first[too_large][:1], *second[too_large][:1], *np.flatnonzero(others)[:1]]
            shown = _in_words(world, synthetic, codes, places, recorded, exact)
        largest = max(largest, Fraction(int(changes.max(initial=0))) / allowed)
    return Enumeration(
        name=sweep.name,
        kind=sweep.kind,
        tight=sweep.tight,
        most_records=n,
        cells=len(world.cells),
        figures=len(tables) ** 2,
        triples=len(first) * len(tables),
        violations=violations,
        disagreements=disagreements,
        largest=largest,
        files=resized.files * len(tables),
        coupled=resized.coupled * len(tables),
        first=shown,
    )


def _in_words(
    world: World, synthetic: Table, codes: Sequence[Table], places: Sequence[int], recorded: Recorded, exact: ExactFigures
) -> str:
    figures = [
        f"{world.in_words(codes[place])} has the value {recorded.values[place]:g} (second formula: {exact.values[place]:g})"
        for place in places
    ]
    sensitivity = f"the sensitivity is {recorded.sensitivity:g} (second formula: {float(exact.bound) * exact.unit:g})"
    return f"for the synthetic table {world.in_words(synthetic)}, {', '.join([*figures, sensitivity])} (audit/exact.py)"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The values that the code of a criterion computes for every private table and one synthetic table.

    Noise is added to the integers `steps`, (n_tables,), whose integer sensitivity is `allowed_steps`.
    """

    values: np.ndarray
    steps: np.ndarray
    allowed_steps: int
    sensitivity: float


class CodeFigures:
    """Runs a criterion, or the joint test of several, on made-up private tables, and records the values before noise."""

    def __init__(self, sweep: Sweep, world: World):
        self.world, self.sweep, self.criterion, self.entropy = world, sweep, sweep.criteria[-1], Recording()
        self.setting = world.setting(*sweep.criteria)
        regressions: dict[str, Regression] = {}
        for partner in sweep.criteria:
            if isinstance(partner, RegressionCoefficients):
                possible = np.ones(math.prod(binning.present for binning in partner.binnings(self.setting)), dtype=bool)
                design = partner.design(self.setting, possible)
                regressions[partner.name] = Regression(design=design, possible=possible, model=sweep.fitted)
        self.fitted = Fitted(regressions=regressions)

    def behind_the_door(self, table: Sequence[int]) -> PrivateCounts:
        """Return a made-up table in the type of private tables, which keeps intermediate results for all synthetic tables."""
        return self.world.private(table, (), self.entropy).on(self.world.transformation)

    def figures(self, privates: Sequence[PrivateCounts], synthetic: Sequence[int]) -> Recorded:
        """Compute the criterion value of every private table for one synthetic table, before noise.

        Raises
        ------
        ValueError : if the criterion does not release one value with the same public sensitivity for all tables.
        """
        self.entropy.values.clear()
        self.entropy.scales.clear()
        candidate = self.world.candidate(synthetic)
        if self.sweep.joint:
            epsilon, sensitivities = self._test(privates, candidate)
        else:
            epsilon, sensitivities = self._score(privates, candidate)
        scales = set(self.entropy.scales)
        if len(sensitivities) != 1 or len(scales) != 1 or len(self.entropy.values) != len(privates):
            raise ValueError(f"{self.criterion.name}: all private tables must have one value and the same public sensitivity")
        steps = np.concatenate(self.entropy.values)
        (bound,), (scale,) = sensitivities, scales
        grid = noise_grid(bound).step if bound else np.nan
        return Recorded(
            values=steps * grid, steps=steps, allowed_steps=round(Fraction(scale) * epsilon), sensitivity=float(bound or 0)
        )

    def _score(self, privates: Sequence[PrivateCounts], candidate: Candidate) -> tuple[Fraction, set[float | None]]:
        charges, (n,) = self.criterion.per_score(), {private.n for private in privates}
        query = self.criterion.asked(n, candidate, self.setting, self.fitted)  # public: the same for every private table
        if isinstance(query, Query) and not query.sensitivity > 0:
            raise ValueError(f"{self.sweep.name}: the sensitivity must be above 0 for any table, but it is {query.sensitivity}")
        scores = [self.criterion.answer(private.with_plan(charges), query) for private in privates]
        return sum((charge.epsilon for charge in charges), Fraction(0)), {score.sensitivity for score in scores}

    def _test(self, privates: Sequence[PrivateCounts], candidate: Candidate) -> tuple[Fraction, set[float | None]]:
        """Run the joint test on every private table. Return its epsilon, and the set of sensitivities of its slack
        (distance from failing).
        """
        test, (n,) = JointTest(epsilon=Fraction(1), false_acceptance=Fraction(1, 10)), {private.n for private in privates}
        queries = [(criterion, criterion.query(n, candidate, self.setting, self.fitted)) for criterion in self.sweep.asked]
        for private in privates:
            test.noisy_slack(private.with_plan([test.charge]), queries)
        return test.epsilon, {1.0}


# Enumerated criteria: every criterion that spends epsilon, in worlds of at most six cells and five records.
#
# The parameters of the criteria (`examples/criteria`) are chosen so that every branch has an effect: clips, ranges, small and
# empty groups, margins, and values that must match exactly.

MOST_RECORDS = 5


def sweeps() -> Iterator[Sweep]:
    for kind in CRITERIA:
        yield from SWEEPS.get(kind, ())
    yield from _joint_tests()


def _joint_tests() -> Iterator[Sweep]:
    absolute = criterion("absolute_marginal_error", threshold=0.5)
    ratio = criterion("relative_marginal_error", clip=4)
    faithful = criterion("faithfulness", exact=["a"], within_one_bin=["b"], threshold=0.4)
    means = {"column": "b", "by": ["a"], "size_margin": 0.2, "threshold": 0.7}
    mean, narrow = (criterion("conditional_mean", range=(0, high), **means) for high in (2, 1))
    line = criterion("regression_coefficients", target="b", features=["a"], representation={"a": "single", "b": "single"})
    prediction = criterion("regression_prediction", coefficients=line.name, range=(0, 2), bound="lines", threshold=0.5)
    fitted = LinearModel(intercept=0.5, coefficients=np.array([0.75]))
    for name, criteria in (
        ("ratios", (ratio,)),
        ("marginals and ratios", (absolute, ratio)),
        ("means and faithfulness", (mean, faithful)),
        ("five criteria", (absolute, ratio, mean, faithful, line, prediction)),
    ):
        yield Sweep(name=f"joint test, {name}, 2 x 3", highs=WIDE, criteria=criteria, fitted=fitted, joint=True)
    yield Sweep(
        name="joint test, with missing values, 2 x 2", highs=SMALL, missing=("b",), criteria=(ratio, narrow), joint=True
    )


# The number of rows that the rules do not exclude, before noise, for every file and every neighbour of the file.

NUMBER_OF_ROWS = "number of rows"
_HIGHS = {"a": 1, "b": 2}
_RULE = RowsRule(way="counted", epsilon=Fraction(1))


def enumerate_numbers(most_records: int) -> Enumeration:
    """Check that replacing one row changes the number of rows that pass the rules by at most its sensitivity.

    All files of `most_records` rows are tried. A number without noise counts as a violation if it differs between neighbours.
    """
    world = World(_HIGHS)
    pairs = list(file_pairs(world.layout.n_cells, most_records))
    counted = {rows: _counted(world, rows, most_records) for pair in pairs for rows in (pair.kept(0), pair.kept(1))}
    changes = [
        (abs(left - right), sensitivity)
        for pair in pairs
        for (left, sensitivity), (right, _) in [(counted[pair.kept(0)], counted[pair.kept(1)])]
    ]
    return Enumeration(
        name=NUMBER_OF_ROWS,
        kind=NUMBER_OF_ROWS,
        tight=True,
        most_records=most_records,
        cells=world.layout.n_cells,
        figures=len(counted),
        triples=0,
        violations=sum(change > sensitivity for change, sensitivity in changes),
        disagreements=sum(number != len(rows) for rows, (number, _) in counted.items()),
        largest=max(change / max(sensitivity, Fraction(1, 1000)) for change, sensitivity in changes),
        files=len(pairs),
    )


def _counted(world: World, rows: Rows, n_file: int) -> tuple[int, Fraction]:
    """Return the number of rows before noise, and the sensitivity for which the noise is drawn; without noise, 0."""
    recorder = Recording()
    raw = Plausibility(layout=world.layout, masks=())
    charge = _RULE.charge
    resized = resize(world.rows(rows, n_file, recorder), _RULE, raw, [charge] if charge else [])
    if not recorder.values:
        return resized.n, Fraction(0)
    return int(recorder.values[0][0]), Fraction(recorder.scales[0]) * (_RULE.epsilon or 0)
