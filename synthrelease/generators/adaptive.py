"""Generate data adaptively: repeatedly choose, privately, the table with the largest model error, and measure it with noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.data.counts import DENSE_LIMIT, Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators.associations import Ties
from synthrelease.generators.base import Background, Generator, Guaranteed
from synthrelease.generators.bayesian_network import BayesianNetwork
from synthrelease.generators.bin_groups import divided, grouped_rules, groups_of, rule_classes, split_masks
from synthrelease.generators.clique_tables import CompetingTables, are_apart, joining_sets, pair_shares
from synthrelease.generators.counters import Counters
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.generators.maximum_entropy import ProportionalFit, Target, base_potentials, families_of, tolerances_of
from synthrelease.generators.measurements import Formula, FormulaTerm, read_terms, unknown_columns
from synthrelease.privacy.charges import GENERATION, Charge, zero_concentrated
from synthrelease.privacy.charges import mechanism as pure_charge
from synthrelease.privacy.plan import pure_epsilon
from synthrelease.settings.base import Mistake, ReleasedPrior

if TYPE_CHECKING:
    from synthrelease.generators.adaptive_mechanism import Gaussian, Laplace, PrivateTables

# Columns are measured before the rounds and after them. After the rounds, the model shows which bins are rare. The relative
# error of rare bins is the largest error of single columns, so the last measurement goes to the columns in which this error is
# largest.

_WEIGHTS = 10**6  # Shares of the columns are rounded to multiples of the largest share divided by this number

_SLICES = 24  # Number of equal parts into which the budget of the last measurement is divided

# Tolerances of a fit: a share of the standard deviation of a cell's noise, and a number of records (`ProportionalFit.solve`).
_PRECISION, _FINEST = 0.2, 0.05

# Largest number of sweeps of a fit after a round, which starts from the previous fit, and of the last fit.
_SWEEPS, _LAST_SWEEPS = 20, 100

# After each fit, the number of chosen tables is the square of the planned number of rounds divided by this number, and at least
# 1. The time of a fit and its comparisons grows with the square of the number of columns. With five instead of two tables after
# each fit to 60 columns, the error is the same (docs/appendix/benchmarks.md).
_SPARED = 6_000

_MOST = 4  # Largest multiple of the usual part of the budget that a table gets. Its inverse is the smallest multiple.

# Limits for strong noise. If the noise of a cell would exceed the first number as a share of the rows, there are fewer rounds.
# The second number is then the share of a round's budget for its private choice, and the third number is the smallest size of a
# group in units of the noise. Without these limits, with 84 rounds at epsilon 1 on 14,000 households and their members, tables
# were chosen at random (docs/appendix/benchmarks.md, linked tables).
_LOUD, _LOUD_CHOICE, _LOUD_ROWS = 0.004, Fraction(1, 4), 2.5

_GROUP = 5.0  # Smallest number of rows of a group of bins, as a multiple of the noise of a table of usual size

# Parts of the budget are multiples of the usual part divided by this number, so that the remaining budget is a short
# fraction.
_STEPS = 64


class TableWeights(dict[Columns, int]):
    """Weights of the errors of tables of at least two columns, by which the next table to measure is selected.

    A table that is not listed has the weight `of_width` of its number of columns.

    Attributes
    ----------
    of_width : the weight for each number of columns, so that millions of tables need not be listed.
    n_columns : number of columns of the release. Columns of `Counters` follow them and are never measured.
    """

    def __init__(self, listed: Mapping[Columns, int], of_width: Mapping[int, int], n_columns: int):
        super().__init__(listed)
        self.of_width, self.n_columns = of_width, n_columns

    def __missing__(self, columns: Columns) -> int:
        return self.of_width.get(len(columns), 0) if max(columns) < self.n_columns else 0


@dataclass(frozen=True, kw_only=True)
class RoundsPlan:
    """A plan of how a fit spends its budget. It is public, and fixed before any private count is read.

    Attributes
    ----------
    tables : weights of the tables of two or more columns. A table of weight 0 is not measured, but the model keeps its
        columns in one clique.
    first, last : shares of the budget for single columns, before and after the rounds.
    choice : share of a round's budget for its private choice.
    rounds : the planned number of rounds.
    growth : an exponent. A table's part of the budget is proportional to its number of possible cells to this power; 0
        means equal parts.
    cells : largest number of cells of a clique, except by rules and tables of weight 0.
    weight : the weight of the prior, as a number of records.
    """

    tables: TableWeights
    first: Fraction
    last: Fraction
    choice: Fraction
    rounds: int
    growth: float
    cells: int
    weight: float

    @property
    def measures(self) -> bool:
        return any(self.tables.values()) or any(self.tables.of_width.values())


@dataclass(frozen=True, kw_only=True)
class Learned:
    """The result of an adaptive fit. In the model, bins with few rows are merged into groups.

    Attributes
    ----------
    maps : per column, (n_bins,) the group of every bin.
    columns : per column, (n_bins,) noisy counts, averaged if the column was measured twice.
    layout : the layout of the groups, followed by the columns of running counts.
    fit : the fitted model.
    """

    maps: tuple[np.ndarray, ...]
    columns: tuple[np.ndarray, ...]
    layout: Layout
    fit: ProportionalFit


def learn(private: PrivateTables, layout: Layout, n: int, background: Background, plan: RoundsPlan) -> Learned:
    """Measure tables of a private table with n rows, chosen by the error of the model, until the budget is spent. Return
    the measurements and the fitted model.

    The method follows AIM (McKenna, Mullins, Sheldon & Miklau, PVLDB 2022). In each round, the tables compete by their l1
    error minus the noise that a measurement would add. The method differs from AIM in seven ways. Single columns are
    measured first, and bins with too few rows for their noise are grouped (`bin_groups`). Tables with more cells get larger
    parts of the budget. Neighbours replace one record. Choices and noise are exact. Cells that a rule excludes are exact
    zeros. The model may start from a public table. With many columns, several tables without a common column are measured
    between two fits.

    The function sees the private table only through the answers of `private`. Everything else is post-processing.
    """
    # Plan: divide the budget, and find the columns that a rule or a table of weight 0 connects. All of this is public.
    total = private.left
    plan, rows = _rounds_within_noise(private, n, plan, len(layout.sizes))
    first, last = (plan.first * total, plan.last * total) if plan.measures else (total, Fraction(0))
    unmeasured = [columns for columns, weight in plan.tables.items() if not weight]
    counters = Counters.of(background.plausibility, plan.cells, unmeasured)
    masks = [*split_masks(background.plausibility.masks), *counters.masks]

    # Measure every column, and group bins that are too small for the noise of later tables.
    parts = [share * first for share in column_shares(layout.sizes)]
    columns = tuple(private.table((column,), part) for column, part in enumerate(parts))
    variances = [private.variance(part) for part in parts]
    of_table = (total - first - last or total) * (1 - plan.choice) / plan.rounds
    usual = math.sqrt(private.variance(of_table)) * private.mean_error
    smallest = rows * usual * float(np.median(layout.sizes))
    maps = tuple(
        groups_of(
            counts,
            rule_classes(column, len(counts), masks),
            background.ordered[column] if background.ordered else 0,
            2 * math.sqrt(variances[column]),
            max(2 * math.sqrt(variances[column]), smallest),
        )
        for column, counts in enumerate(columns)
    )
    grouped = Layout(columns=layout.columns, sizes=tuple(int(into.max()) + 1 for into in maps))
    private.merge(grouped, maps)

    # Start the model: the columns on groups of their bins, followed by the columns of running counts.
    wide_maps = [*maps, *(np.arange(step.size) for step in counters.steps)]
    wide = Layout(columns=counters.wide.columns, sizes=(*grouped.sizes, *(step.size for step in counters.steps)))
    rules = grouped_rules(masks, wide_maps, wide)
    prior = None if background.prior is None else counters.added(background.prior).merge(wide, wide_maps)
    targets = [_on_groups(*each) for each in zip(range(len(columns)), columns, variances, maps, strict=True)]
    model = _GrowingModel(plan=plan, n=n, rules=rules, prior=prior, targets=targets, sizes=wide.sizes)

    # Select and measure tables, until only the budget of the last measurement is left. The part of a round never shrinks, and a
    # remainder that is smaller than this part is spent at once on the chosen table. So every answer costs at least a fixed
    # share of the budget, the number of answers is finite, and their noise is bounded (theory 12.11, adaptive generators).
    # If many rounds are planned, several tables are chosen after each fit.
    part, together = (private.left - last) / plan.rounds, max(1, plan.rounds**2 // _SPARED)
    fit = model.fit(_SWEEPS)
    while (left := private.left - last) > 0:
        is_rest = left < part
        competing, parts = model.competing(fit, left if is_rest else part, private)
        if not len(competing):
            break
        measured, free, widest = list[int](), np.arange(len(competing)), max(map(len, competing.columns))
        padded = np.array([(*one, *one[:1] * (widest - len(one))) for one in competing.columns])
        while len(free) and len(measured) < together and (not measured or left >= part):
            paid = plan.choice * (left if 2 * left < 3 * part else part)
            chosen = int(free[private.choice(competing.some(free), paid)])
            left = private.left - last
            paid = left if is_rest or 2 * left < 3 * parts[chosen] else parts[chosen]
            columns_of = competing.columns[chosen]
            model.add(fit.tree, columns_of, private.table(columns_of, paid), private.variance(paid))
            left -= paid
            measured.append(chosen)
            if len(measured) < together:
                free = free[are_apart(fit.tree, columns_of, padded[free])]
        if left > 0:
            fit = model.fit(_SWEEPS)
            if 2 * sum(model.change(fit, competing, place) <= competing.handicaps[place] for place in measured) > len(measured):
                part = max(part, min(2 * part, private.left - last))
    fit = model.fit(_SWEEPS if private.left else _LAST_SWEEPS)

    # Measure the columns with rare bins in the model again, and fit the model once more.
    if private.left:
        group_counts = [n * fit.margin(column) for column in range(len(columns))]
        again = look_again(private, columns, variances, expected_bins(group_counts, maps, columns))
        columns = tuple(counts for counts, _ in again)
        model.targets[: len(again)] = [_on_groups(column, *each, maps[column]) for column, each in enumerate(again)]
        fit = model.fit(_LAST_SWEEPS)
    return Learned(maps=maps, columns=columns, layout=wide, fit=fit)


def column_shares(sizes: Sequence[int]) -> list[Fraction]:
    """Return each column's share of the budget for single columns, in proportion to the square root of its number of bins.

    The power 2/3 would minimise the summed error of all cells, and equal shares would serve rare bins of small columns
    best. The square root was the best compromise on the births data.
    """
    weights = [max(1, round(_WEIGHTS * (size / max(sizes)) ** (1 / 2))) for size in sizes]
    return [Fraction(weight, sum(weights)) for weight in weights]


def _rounds_within_noise(private: PrivateTables, n: int, plan: RoundsPlan, columns: int) -> tuple[RoundsPlan, float]:
    """Return the plan, with fewer rounds if the noise of a round would otherwise be too strong. Also return the smallest
    number of rows of a group of merged bins, as a multiple of the noise in a table of typical size. Both are public.
    """
    spent = private.left * (1 - plan.first - plan.last)

    def is_loud(rounds: int, choice: Fraction) -> bool:
        return math.sqrt(private.variance(spent * (1 - choice) / rounds)) * private.mean_error > _LOUD * n

    if not plan.measures or plan.rounds <= columns or not is_loud(plan.rounds, plan.choice):
        return plan, _GROUP
    fewer = range(plan.rounds, columns, -1)
    rounds = next((number for number in fewer if not is_loud(number, _LOUD_CHOICE)), columns)
    return replace(plan, rounds=rounds, choice=_LOUD_CHOICE), _LOUD_ROWS


def expected_bins(
    groups: Sequence[np.ndarray], maps: Sequence[np.ndarray], columns: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Return the (n_bins,) expected counts of each column: the model's count (`groups`) for an unmerged bin, the noisy
    count (`columns`) for a merged bin.
    """
    return tuple(
        np.where(np.bincount(into)[into] == 1, counts[into], noisy)
        for counts, into, noisy in zip(groups, maps, columns, strict=True)
    )


def look_again(
    private: PrivateTables, columns: Sequence[np.ndarray], variances: Sequence[float], expected: Sequence[np.ndarray]
) -> list[tuple[np.ndarray, float]]:
    """Spend the remaining budget on measuring some single columns again. Return, for each column, its counts (averaged if
    measured twice) and the noise variance of each bin.

    Parameters
    ----------
    columns, variances : earlier noisy counts per column, with the noise variance of each bin.
    """
    budget = private.left
    shares = last_shares(expected, variances, lambda share: private.variance(share * budget))
    averaged = []
    for column, (share, earlier, variance) in enumerate(zip(shares, columns, variances, strict=True)):
        if share:
            noisy, added = private.bins(column, share * budget), private.variance(share * budget)
            weight = variance / (variance + added)
            averaged.append((weight * noisy + (1 - weight) * earlier, weight * added))
        else:
            averaged.append((earlier, variance))
    return averaged


def last_shares(
    expected: Sequence[np.ndarray], variances: Sequence[float], variance_of: Callable[[Fraction], float]
) -> list[Fraction]:
    """Divide the budget of the last measurement among the columns to reduce the largest relative error of a bin. Some
    shares may be 0.

    Each of 24 equal parts goes to the column whose rarest bin has the largest relative noise. Counts below twice the
    standard deviation of the noise at the whole budget are replaced by this number.
    """
    least = 2 * math.sqrt(variance_of(Fraction(1)))
    rarest = [float(np.maximum(counts, least).min()) for counts in expected]
    slices = [0] * len(expected)

    def error(column: int) -> float:
        added = 1 / variance_of(Fraction(slices[column], _SLICES)) if slices[column] else 0.0
        return 1 / ((1 / variances[column] + added) * rarest[column] ** 2)

    for _ in range(_SLICES):
        slices[max(range(len(slices)), key=error)] += 1
    return [Fraction(slice_, _SLICES) for slice_ in slices]


def _on_groups(column: int, counts: np.ndarray, variance: float, into: np.ndarray) -> Target:
    values = np.bincount(into, weights=counts.astype(float))
    return Target(columns=(column,), values=values, variance=np.bincount(into) * variance)


class _GrowingModel:
    """The tables measured so far, and the maximum-entropy model that fits them."""

    def __init__(
        self, *, plan: RoundsPlan, n: int, rules: Plausibility, prior: Counts | None, targets: list[Target], sizes: Columns
    ):
        self.targets = targets
        self._plan, self._n, self._rules, self._prior, self._sizes = plan, n, rules, prior, sizes
        self._structure: list[Columns] = [mask.columns for mask in rules.masks]
        self._structure += [columns for columns, weight in plan.tables.items() if not weight]
        self._structure += [target.columns for target in targets]
        wide = [columns for columns, weight in plan.tables.items() if weight and min(sizes[column] for column in columns) > 1]
        self._pairs = [columns for columns in wide if len(columns) == 2]
        self._widths = {*plan.tables.of_width, *map(len, plan.tables)} - {2}
        self._parameters: list[np.ndarray] | None = None
        self._usual: float | None = None

    def add(self, tree: JunctionTree, columns: Columns, noisy: np.ndarray, variance: float) -> None:
        """Add a noisy table, whose cells have this noise variance, to the tables that the model must fit. A table of two
        columns also extends the structure of the model.
        """
        self.targets.append(Target(columns=columns, values=noisy.astype(float), variance=np.full(noisy.shape, variance)))
        self._structure += [columns, *(joining_sets(tree, columns) if len(columns) == 2 else ())]

    def fit(self, sweeps: int) -> ProportionalFit:
        tree = JunctionTree.of(self._sizes, self._structure)
        start = self._parameters
        if start is not None:
            start = [*start, *(np.zeros(target.values.shape) for target in self.targets[len(start) :])]
        base = base_potentials(tree, self._rules, self._prior)
        fit = ProportionalFit(tree, base, self.targets, self._n, self._plan.weight, start)
        fit.solve(tolerances_of(self.targets, _PRECISION, _FINEST), sweeps)
        self._parameters = fit.parameters
        return fit

    def competing(self, fit: ProportionalFit, part: Fraction, private: PrivateTables) -> tuple[CompetingTables, list[Fraction]]:
        """Return the tables that may be measured next, and the part of the budget that each measurement would cost. Tables
        that would make the model too large are left out.
        """
        tables = dict(self._tables(fit))
        sizes = np.fromiter((share.size for share in tables.values()), dtype=int, count=len(tables))
        shares = np.concatenate([np.zeros(0), *(share.ravel() for share in tables.values())])
        starts = sizes.cumsum() - sizes
        cells = np.add.reduceat(shares > 0, starts, dtype=int) if tables else sizes
        if tables and self._usual is None:
            self._usual = max(1.0, _power_mean(cells, self._plan.growth))
        several, kind = np.unique(cells, return_inverse=True)
        parts = [(1 - self._plan.choice) * part * self._times(possible) for possible in several.tolist()]
        noise = [math.sqrt(private.variance(paid)) * private.mean_error for paid in parts]
        handicaps = [math.ceil(of_cell * possible) for of_cell, possible in zip(noise, several.tolist(), strict=True)]
        competing = CompetingTables(
            columns=list(tables),
            expected=np.rint(self._n * shares).astype(np.int64),
            starts=starts,
            sizes=sizes,
            weights=np.array([self._plan.tables[columns] for columns in tables], dtype=object),
            handicaps=np.array(handicaps, dtype=object)[kind],
        )
        return competing, [parts[number] for number in kind.tolist()]

    def change(self, fit: ProportionalFit, competing: CompetingTables, place: int) -> float:
        """Return the l1 distance between the counts that the present and the previous fit expect in the table at index
        `place`.
        """
        before = competing.expected[competing.starts[place] :][: competing.sizes[place]]
        return float(np.abs(self._n * fit.table(competing.columns[place]).ravel() - before).sum())

    def _times(self, cells: int) -> Fraction:
        """Return the budget of a table with this number of possible cells, as a multiple of that of a typical table."""
        times = (cells / (self._usual or 1.0)) ** self._plan.growth
        return Fraction(round(_STEPS * min(_MOST, max(1 / _MOST, times))), _STEPS)

    def _tables(self, fit: ProportionalFit) -> Iterator[tuple[Columns, np.ndarray]]:
        """Yield the columns of each table that may be measured next, with the model's shares of its cells. A table of more
        than two columns must lie inside a clique.

        A column with a single group is excluded: it adds no information, and could give a clique more columns than an array
        has axes.
        """
        tree = fit.tree
        pairs, joined = pair_shares(tree, fit.shares, self._plan.cells)
        for pair in self._pairs:
            if joined[pair] <= self._plan.cells:
                yield pair, pairs[pair]
        inside = {columns for clique in tree.cliques for width in self._widths for columns in combinations(clique, width)}
        for columns in sorted(inside):
            if self._plan.tables[columns]:
                yield columns, fit.table(columns)


def _power_mean(values: np.ndarray, power: float) -> float:
    return float(np.mean(values.astype(float) ** power) ** (1 / power)) if power else 1.0


@dataclass(frozen=True, kw_only=True)
class AdaptiveModel:
    """A fitted model over groups of merged bins. The noisy counts of the bins divide the rows of a group among its bins."""

    layout: Layout
    network: BayesianNetwork
    learned: Learned

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        groups = self.network.sample(n, generator)
        if groups.layout == self.layout:
            return groups
        digits = []
        for column, into in enumerate(self.learned.maps):
            rows = np.repeat(groups.bins[column], groups.counts)
            if groups.layout.sizes[column] < self.layout.sizes[column]:
                rows = divided(rows, into, self.learned.columns[column] * (n / self.learned.fit.n), generator)
            digits.append(rows)
        return Counts.of(self.layout, digits)


class AdaptiveGenerator(Generator):
    """The base class of generators that select tables by their error: `Adaptive`, with Gaussian noise, and `AdaptivePure`,
    whose guarantee has no delta.

    Attributes
    ----------
    tables : the tables that the generator may select, written as a formula. A number in front of a table multiplies its
        error in the selection. Single columns are always measured. A table of more than two columns can be selected once
        the model connects its columns. A table of weight 0 is never measured; the model takes the association of its
        columns from the prior. Example: `tables = "all 2-way + 3 age:region"`.
    prior : a public file with the columns of the private file, from which the model starts, as a path relative to the
        configuration. A wrong prior costs accuracy, never privacy. `prior = { release = "../births-2023" }` names the
        folder of an earlier release of the same series. Example: `prior = "../public.csv"`.
    prior_weight : how many records the prior counts for. Without `prior`, the prior is the uniform distribution. Example:
        `prior_weight = [50, 300]`.
    clique_cells : the largest number of cells of a clique, a set of columns whose joint table the model stores. A larger
        number lets the model connect more columns, but takes more time and memory. Example: `clique_cells = 65536`.
    draw : "evenly" draws rows so that each bin occurs as often as the model expects, up to rounding. This costs no epsilon,
        and helps with many columns or rare bins. By default, expected counts are rounded for few columns, and rows are
        drawn at random for many. Example: `draw = "evenly"`.
    """

    counts: ClassVar[bool] = True
    tables: Formula = "all 2-way + all 3-way"
    prior: str | ReleasedPrior | None = None
    prior_weight: float = Field(default=50.0, gt=0, le=1e12)
    clique_cells: int = Field(default=2**16, ge=1, le=DENSE_LIMIT)
    draw: Literal["evenly"] | None = None

    first: ClassVar[Fraction]
    """Share of the budget for single columns, before the rounds."""

    last: ClassVar[Fraction]
    """Share of the budget that is spent after the rounds, on single columns with rare bins."""

    rounds_per_column: ClassVar[int]
    """Planned number of rounds for each column."""

    growth: ClassVar[float]
    """An exponent. A table's share of the budget is proportional, within limits, to its number of possible cells to this
    power. With 0, all shares are equal.
    """

    @cached_property
    def terms(self) -> tuple[FormulaTerm, ...]:
        return read_terms(self.tables)

    @property
    def prior_file(self) -> str | None:
        return self.prior.name if isinstance(self.prior, ReleasedPrior) else self.prior

    def weights(self, layout: Layout) -> TableWeights:
        """Return the weight of every table of at least two columns as a whole number, 0 for tables that are not measured."""
        wide = [term for term in self.terms if 2 < term.ways <= len(layout.sizes) and term.weight]
        terms = [term for term in wide if not (term.columns or term.by_cells)]
        of_width = {ways: sum(term.weight for term in terms if term.ways == ways) for ways in {term.ways for term in terms}}
        weights: dict[Columns, Fraction] = {}
        for term in self.terms:
            for columns, weight in term.weighted(layout) if term not in terms else ():
                if len(columns) > 1:
                    weights[columns] = weights.get(columns, Fraction(of_width.get(len(columns), 0))) + weight
        found = [*weights.values(), *of_width.values()]
        common = math.gcd(*(weight.numerator for weight in found)) or 1
        divisor = Fraction(common, math.lcm(*(weight.denominator for weight in found)))
        return TableWeights(
            {columns: int(weight / divisor) for columns, weight in weights.items()},
            {ways: int(weight / divisor) for ways, weight in of_width.items()},
            len(layout.sizes),
        )

    def mistakes(self, layout: Layout, tied: Iterable[Columns]) -> Iterable[Mistake]:
        unknown = list(unknown_columns(self.terms, layout))
        yield from unknown
        if not unknown:
            unmeasured = [columns for columns, weight in self.weights(layout).items() if not weight]
            cells = JunctionTree.of(layout.sizes, unmeasured).largest
            if cells > DENSE_LIMIT:
                problem = f"The tables of weight 0 connect {cells:,} cells. The limit is {DENSE_LIMIT:,}"
                yield Mistake(field="tables", text=f"{problem}. Name fewer or smaller tables of weight 0")

    def ties(self, layout: Layout) -> Ties:
        every = self.prior is not None or any(term.ways > 1 for term in self.terms)
        return super().ties(layout) if every else Ties(chosen=self.weights(layout).keys())

    def plan(self, layout: Layout) -> RoundsPlan:
        return RoundsPlan(
            tables=self.weights(layout),
            first=self.first,
            last=self.last,
            choice=Fraction(1, 10),
            rounds=self.rounds_per_column * len(layout.sizes),
            growth=self.growth,
            cells=self.clique_cells,
            weight=self.prior_weight,
        )

    def _fit(
        self, private: PrivateCounts, charge: Charge, background: Background, kind: type[Gaussian | Laplace], budget: Fraction
    ) -> AdaptiveModel:
        from synthrelease.generators.adaptive_mechanism import opened

        rules = [mask.columns for mask in split_masks(background.plausibility.masks)]
        if JunctionTree.of(private.layout.sizes, rules).largest > DENSE_LIMIT:
            raise RejectedRound("the rules connect too many cells")  # known before any budget is spent
        tables = private.spend(charge, partial(opened, kind=kind, budget=budget, entropy=private.entropy))
        learned = learn(tables, private.layout, private.n, background, self.plan(private.layout))
        families = tuple(families_of(learned.fit.tree, learned.fit.shares))
        network = BayesianNetwork(layout=learned.layout, families=families, evenly=self.draw is not None)
        return AdaptiveModel(layout=private.layout, network=network, learned=learned)

    def effort(self, layout: Layout) -> float:
        return float(self.clique_cells * len(layout.sizes))

    def seconds(self, layout: Layout, rows: int) -> float:
        return 3.5e-6 * min(self.clique_cells, layout.n_cells) * len(layout.sizes)  # 3 s for 14 columns, 48 for 200

    def peak_cells(self, layout: Layout) -> int:
        cliques = 4 * len(layout.sizes) * min(self.clique_cells, layout.n_cells)
        competing = 3 * sum(layout.subset(columns).n_cells for columns in self.weights(layout) if len(columns) == 2)
        return max(6 * min(layout.n_cells, BayesianNetwork.frontier_limit), cliques + competing)


class Adaptive(AdaptiveGenerator):
    """Repeatedly selects the table in which the model has the largest error, and measures this table. The guarantee has a
    delta.

    Examples
    --------
    >>> Adaptive().guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "Adaptive measurement (after AIM: McKenna, Mullins, Sheldon and Miklau, PVLDB 2022): each step privately chooses a "
        "small table in which the model has a large error, and measures it with noise. The rows follow the table of largest "
        "entropy that matches all measurements."
    )
    no_draft: ClassVar[str] = "A draft uses pure differential privacy, and so the family `adaptive_pure`."
    family: Literal["adaptive"] = "adaptive"
    guarantee: ClassVar[Guaranteed] = "zCDP"
    gaussian: ClassVar[bool] = True
    first: ClassVar[Fraction] = Fraction(1, 4)
    last: ClassVar[Fraction] = Fraction(3, 20)
    rounds_per_column: ClassVar[int] = 3
    growth: ClassVar[float] = 2 / 3  # minimises the sum of l1 errors of tables with k cells and noise variance 1 / part

    def charge(self, epsilon: Fraction) -> Charge:
        return zero_concentrated(GENERATION, epsilon, "adaptive choice and measurement of tables (Feldman & Zrnic 2021)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        """Measure the columns, then choose and measure tables until the budget is used up.

        Privacy
        -------
        A fit is rho-zero-concentrated, and sqrt(2 rho)-Gaussian if the charge says so. Neighbours differ by replacing one
        record. Tables have squared l2 sensitivity 2 and get rounded Gaussian noise. The score of a choice has sensitivity 2
        times the weight of the table. The parts of the budget add up to at most rho (`adaptive_mechanism`; theory 12.11,
        adaptive generators).
        """
        from synthrelease.generators.adaptive_mechanism import ExactlyGaussian, Gaussian

        kind = ExactlyGaussian if charge.gaussian else Gaussian
        return self._fit(private, charge, background, kind, charge.curve().rho)


class AdaptivePure(AdaptiveGenerator):
    """Repeatedly selects the table in which the model has the largest error, and measures this table. The guarantee has no
    delta.

    Examples
    --------
    >>> AdaptivePure(tables="0.5 all 1-way + all 2-way").guarantee
    'pure'
    """

    words: ClassVar[str] = (
        "Adaptive measurement under pure differential privacy (after AIM: McKenna, Mullins, Sheldon and Miklau, PVLDB 2022): "
        "each step privately chooses a small table in which the model has a large error, and measures it with noise. The rows "
        "follow the table of largest entropy that matches all measurements."
    )
    draft: ClassVar[dict[str, object]] = {"prior_weight": [50, 300]}
    family: Literal["adaptive_pure"] = "adaptive_pure"
    tables: Formula = "all 2-way"
    guarantee: ClassVar[Guaranteed] = "pure"
    first: ClassVar[Fraction] = Fraction(3, 10)
    last: ClassVar[Fraction] = Fraction(0)
    rounds_per_column: ClassVar[int] = 1
    growth: ClassVar[float] = 0.0  # with one round per column, unequal parts leave too few rounds

    def charge(self, epsilon: Fraction) -> Charge:
        return pure_charge(
            GENERATION, epsilon, "adaptive choice and measurement of tables (Rogers, Roth, Ullman & Vadhan 2016)"
        )

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        """Measure the columns, then choose and measure tables until the budget is used up.

        Privacy
        -------
        A fit is eps-DP with eps = pure_epsilon(charge). Neighbours differ by replacing one record. Tables have l1
        sensitivity 2 and get discrete Laplace noise. The score of a choice has sensitivity 2 times the weight of the table.
        The parts of the budget add up to at most eps (`adaptive_mechanism`; theory 12.11, adaptive generators).
        """
        from synthrelease.generators.adaptive_mechanism import Laplace

        return self._fit(private, charge, background, Laplace, pure_epsilon(charge))
