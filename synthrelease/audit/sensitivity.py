"""Sensitivities by enumeration: every private table, every neighbour, every synthetic table of a tiny world.

For every triple (R, R', S), R and R' tables of n records that differ in one, S a synthetic table:

- the integers to which the code adds noise differ by at most the integer sensitivity for which the noise was drawn;
- the exact figures, in whole numbers from a second implementation (`exact_figures`), differ by at most the proved bound.

The same holds for every triple (F, F', S) of files of which rows are left out: all tables that the program may make of two
neighbouring files are among those pairs (`left_out_rows`), and every pair of files that leads to a pair of tables with too
large a change counts as a violation of its own.

And for every pair (R, S) the code's figure is the exact one up to half a step of its grid, and its sensitivity the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from synthrelease.audit.exact_figures import exact_figures, least_slack
from synthrelease.audit.left_out_rows import ResizedPairs, pair_numbers, resized_pairs
from synthrelease.audit.sweep import Sweep
from synthrelease.audit.worlds import World
from synthrelease.criteria.base import Fitted, Regression
from synthrelease.criteria.regressions import RegressionCoefficients
from synthrelease.criteria.scoring import JointTest
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.grids import noise_grid
from synthrelease.privacy.noise import SystemEntropy

GRID_SHARE = 2.0**-13
"""Half a step of a figure's grid, as a share of its sensitivity, at most (`randomness.laplace_figure`)."""


class Recording(SystemEntropy):
    """Adds nothing, and keeps what noise would have been added to: for made-up tables only."""

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
    """What was enumerated and found.

    Attributes
    ----------
    figures : pairs (R, S) whose figure was computed, by the code and exactly.
    triples : unordered {R, R'} of neighbours, with S.
    files : unordered {F, F'} of neighbouring files of which rows are left out or not used, with S.
    coupled : pairs of tables that those lead to, with S.
    violations : triples of either kind with a change above the sensitivity, in the code's integers or in exact fractions.
    disagreements : pairs (R, S) where the code's figure is not the exact one, or its sensitivity not the bound; and pairs
        (F, F') whose tables do not follow the resizing theorem.
    largest : the largest change as a share of the bound, exact.
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

    @property
    def sound(self) -> bool:
        """No violation, no disagreement, and the bound attained where that is claimed."""
        return not self.violations and not self.disagreements and (self.largest == 1 or not self.tight)


def neighbour_pairs(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of all unordered pairs of tables (n_tables, n_cells) that differ in one replaced record."""
    first, second = np.triu_indices(len(tables), k=1)
    apart = np.abs(tables[first] - tables[second]).sum(axis=1) == 2
    return first[apart], second[apart]


def enumerate_sweep(sweep: Sweep, most_records: int) -> Enumeration:
    """Enumerate a sweep for tables of 1, 2, ... `most_records` records, made of files of `most_records` rows."""
    most_records = min(most_records, sweep.most or most_records)
    parts = [_enumerate(sweep, n, most_records) for n in range(1, most_records + 1)]
    return Enumeration(
        name=sweep.name,
        kind=sweep.kind,
        tight=sweep.tight,
        most_records=most_records,
        cells=parts[0].cells,
        figures=sum(part.figures for part in parts),
        triples=sum(part.triples for part in parts),
        violations=sum(part.violations for part in parts),
        disagreements=sum(part.disagreements for part in parts),
        largest=max(part.largest for part in parts),
        files=sum(part.files for part in parts),
        coupled=sum(part.coupled for part in parts),
    )


def _enumerate(sweep: Sweep, n: int, n_file: int) -> Enumeration:
    world = sweep.world
    codes = world.all_tables(n)
    tables = world.dense(codes)
    first, second = neighbour_pairs(tables)
    bins = tuple((name, high + (name in sweep.missing)) for name, high in sweep.highs.items())  # the last one's index
    resized = resized_pairs(bins, n, n_file) if sweep.linked is None else ResizedPairs.none()
    scorer = CodeFigures(sweep, world)
    privates = [scorer.behind_the_door(table) for table in codes]
    violations, disagreements, largest = 0, resized.contradictions, Fraction(0)
    for synthetic, counts in zip(codes, tables, strict=True):
        found = scorer.figures(privates, synthetic)
        if sweep.joint:
            exact = least_slack(sweep.asked, world, tables, counts, sweep.fitted)
        elif sweep.reference:
            exact = sweep.reference(sweep.criteria[-1], world, tables, counts)
        else:
            exact = exact_figures(sweep.criteria[-1], world, tables, counts, sweep.fitted)
        changes = np.abs(exact.numerators[first] - exact.numerators[second])
        allowed = exact.bound * exact.denominator
        too_large = changes > int(allowed // 1)
        too_large |= np.abs(found.steps[first] - found.steps[second]) > found.allowed_steps
        violations += int(too_large.sum())
        violations += resized.touched(pair_numbers(first[too_large], second[too_large], len(tables)))
        tolerance = found.sensitivity * GRID_SHARE * (1 + 1e-9)
        disagreements += int((np.abs(found.values - exact.values) > tolerance).sum())
        disagreements += int(abs(found.sensitivity - float(exact.bound) * exact.unit) > 1e-12 * found.sensitivity)
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
    )


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What the code would have released about every private table, against one synthetic table.

    `steps` (n_tables,) are the integers that noise is added to, `allowed_steps` their integer sensitivity.
    """

    values: np.ndarray
    steps: np.ndarray
    allowed_steps: int
    sensitivity: float


class CodeFigures:
    """A criterion's own `score`, or the joint test of several, with the noise left out and written down."""

    def __init__(self, sweep: Sweep, world: World):
        self.world, self.sweep, self.criterion, self.entropy = world, sweep, sweep.criteria[-1], Recording()
        self.setting = world.setting(*sweep.criteria)
        found: dict[str, Regression] = {}
        for partner in sweep.criteria:
            if isinstance(partner, RegressionCoefficients):
                possible = np.ones(math.prod(binning.present for binning in partner.binnings(self.setting)), dtype=bool)
                design = partner.design(self.setting, possible)
                found[partner.name] = Regression(design=design, possible=possible, model=sweep.fitted)
        self.fitted = Fitted(regressions=found)

    def behind_the_door(self, table: Sequence[int]) -> PrivateCounts:
        """As rounds get it: what a criterion makes of the table is kept from one synthetic table to the next."""
        return self.world.private(table, (), self.entropy).on(self.world.transformation)

    def figures(self, privates: Sequence[PrivateCounts], synthetic: Sequence[int]) -> Recorded:
        """Score one synthetic table against every private table.

        Raises
        ------
        ValueError : when the criterion does not release one figure of the same, public sensitivity for all of them.
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
            raise ValueError(f"{self.criterion.name}: expected one figure and one public sensitivity for all private tables")
        steps = np.concatenate(self.entropy.values)
        (sensitivity,), (scale,) = sensitivities, scales
        grid = noise_grid(sensitivity).step if sensitivity else np.nan
        return Recorded(
            values=steps * grid,
            steps=steps,
            allowed_steps=round(Fraction(scale) * epsilon),
            sensitivity=float(sensitivity or 0),
        )

    def _score(self, privates: Sequence[PrivateCounts], candidate: Candidate) -> tuple[Fraction, set[float | None]]:
        """Score every private table: the epsilon of a score, and the sensitivities that the scores state."""
        charges, (n,) = self.criterion.per_score(), {private.n for private in privates}
        asked = self.criterion.asked(n, candidate, self.setting, self.fitted)  # public: the same for all
        scores = [self.criterion.answer(private.with_plan(charges), asked) for private in privates]
        return sum((charge.epsilon for charge in charges), Fraction(0)), {score.sensitivity for score in scores}

    def _test(self, privates: Sequence[PrivateCounts], candidate: Candidate) -> tuple[Fraction, set[float | None]]:
        """Test every private table: the epsilon of a test, and the sensitivity of a slack."""
        test, (n,) = JointTest(epsilon=Fraction(1), false_acceptance=Fraction(1, 10)), {private.n for private in privates}
        asked = [(one, one.query(n, candidate, self.setting, self.fitted)) for one in self.sweep.asked]
        for private in privates:
            test.noisy_slack(private.with_plan([test.charge]), asked)
        return test.epsilon, {1.0}
