"""Represent noisy measurements (tables, sums and rare bins), and parse the formulas that name tables."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Annotated, TypeVar

import numpy as np
from pydantic import AfterValidator, Field

from synthrelease.data.layout import Layout
from synthrelease.data.marginals import with_merged_bins
from synthrelease.data.plausibility import Mask
from synthrelease.errors import Unexpected, closest, listing, percent
from synthrelease.generators.agreements import NoisyAgreements
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace, cube_sd, entry_limit
from synthrelease.generators.scored_sums import ScoredSum, ScoreFactor, merged_scores, terms_of
from synthrelease.settings.base import Mistake

# The noise of tables of areas on each level, and a division of the budget by wanted errors. All of this is public.

Table = TypeVar("Table", bound=Hashable)
"""The key of a table: the positions or the names of its columns."""

# Shares are fractions with a denominator of about this size times the number of tables, so that they are exact.
_AREA_GRID = 10**6


@dataclass(frozen=True, kw_only=True)
class AreaNoise:
    """The noise in the counts of the areas of one level, such as all regions.

    Attributes
    ----------
    rows : standard deviation of the noise in the number of rows of an area, from all tables of this level and of the levels
        below.
    cell : standard deviation of the noise in a count of the most accurate table of this level.
    cells : the number of cells of this table for each area.
    """

    column: str
    areas: int
    rows: float
    cell: float
    cells: int

    def text(self, n: int) -> str:
        area, cell = n / self.areas, n / (self.areas * self.cells)
        return (
            f"{self.column}: {self.rows:,.1f} rows ({percent(self.rows / area)} of {area:,.0f}, the mean of an area), "
            f"{self.cell:,.1f} in a cell ({percent(self.cell / cell)} of {cell:,.0f}, the mean of a cell)"
        )


def area_noise(
    chain: Sequence[str], layout: Layout, costs: Mapping[tuple[int, ...], Fraction], noise: type[CountNoise]
) -> tuple[AreaNoise, ...]:
    """Return the noise in the counts of areas on each level that has a table, largest areas first. `costs` are the epsilons
    or rhos of the tables, by their columns.

    The rows of an area are estimated from each table of its level, and from the smaller areas in it. Estimates are weighted
    by their precision. The public total is not used, which matters only for few areas.
    """
    levels, below, of_below = list[AreaNoise](), 0.0, 1
    for name in reversed(chain):
        place = layout.columns.index(name)
        areas = layout.sizes[place]
        precision = below * areas / of_below  # precision of the sum over the areas of the level below
        best: tuple[float, int] | None = None
        for columns, cost in costs.items():
            if place not in columns:
                continue
            law, cells = noise.of_table(cost), math.prod(layout.sizes[column] for column in columns) // areas
            precision += 1 / (law.variance_above * cells)
            best = min(best or (math.inf, 0), (math.sqrt(law.variance_above), cells))
        if precision and best is not None:
            rows = 1 / math.sqrt(precision)
            levels.append(AreaNoise(column=name, areas=areas, rows=rows, cell=best[0], cells=best[1]))
        below, of_below = precision, areas
    return tuple(reversed(levels))


def power_of(noise: type[CountNoise]) -> float:
    """Return the power p by which a budget is best divided among tables: in proportion to (cells / wanted error)^p (theory
    12.13, areas within areas).
    """
    return 1.0 if noise.cost == "rho" else 2 / 3


def divided(cells: Mapping[Table, int], wanted: Mapping[Table, float], noise: type[CountNoise]) -> dict[Table, Fraction]:
    """Divide a budget among tables, and return exact shares, so that the sum of (relative error of a mean cell / wanted
    error)^2 is smallest.

    A mean cell of a table of c cells has n / c rows. With Gaussian noise of variance 1 / rho_t, the minimum is at rho_t in
    proportion to c_t / w_t. With Laplace noise of variance 8 / eps_t^2, it is at eps_t in proportion to (c_t / w_t)^(2/3)
    (theory 12.13, areas within areas).
    """
    power = power_of(noise)
    weights = {columns: (count / wanted[columns]) ** power for columns, count in cells.items()}
    largest = max(weights.values())
    whole = {columns: max(1, round(_AREA_GRID * weight / largest)) for columns, weight in weights.items()}
    total = sum(whole.values())
    return {columns: Fraction(weight, total) for columns, weight in whole.items()}


# `noise_limit` bounds a weighted sum of independent noises at a stated risk (theory 13.5, limits of noise).
#
# A part (z, w, k) stands for w (z_1 + ... + z_k), where w is a whole number and every z_i has the distribution z, whose
# characteristic function E[e^(i t z)] and moments E[e^(h z)] are known (`measured_noise`). The distribution of a sum that fits
# on a grid of `_GRID` points follows from its characteristic function by one Fourier transform. Other sums are bounded by
# Markov's inequality for e^(h sum), for which every h gives a valid limit.

Parts = tuple[tuple[CountNoise, int, int], ...]
"""The parts (z, w, k) of a sum: a noise distribution z, an integer weight w above 0, and the number k of noise terms with this
distribution and weight.
"""

_TRIED = 400  # Number of values of h that are tried. Each value of h gives a valid limit.

_FARTHEST = 2.0  # Values of h are tried up to this multiple of the best value for a normal distribution

_GRID = 2**17  # Largest number of grid points on which the distribution of a sum is computed

# Allowance in a probability that is computed on the grid: for the rounding of 2^17 terms (below 1e-9 in all), the
# probability beyond the grid (at most 1e-10), and the rounding of scales (2^-50 of a probability for each of at most a
# million noises).
_ALLOWANCE = 1e-8


@lru_cache(maxsize=100_000)
def noise_limit(parts: Parts, risk: float) -> int:
    """Return a t that the absolute value of a sum of independent noises exceeds with probability at most `risk` (0 to 1)."""
    if len(parts) == 1 and parts[0][1:] == (1, 1):
        return parts[0][0].rounded_up.limit(risk)
    markov = _markov(parts, risk)
    if risk < 100 * _ALLOWANCE or sum(count for _, _, count in parts) > 1_000_000:
        return markov
    points = 2 ** math.ceil(math.log2(2 * _markov(parts, _ALLOWANCE / 100) + 4))
    return markov if points > _GRID else min(markov, _on_grid(parts, risk, points))


def _markov(parts: Parts, risk: float) -> int:
    """Return a t that the absolute value of a sum of noises exceeds with probability at most `risk`, fast but larger than
    needed (Markov's inequality).

    Pr[|sum| > t] <= 2 e^(-h (t+1)) E[e^(h sum)] for every h at which all moments are finite.
    """
    wider = [(noise.rounded_up, weight, count) for noise, weight, count in parts]
    variance = sum(count * weight**2 * noise.variance for noise, weight, count in wider)
    normal = _FARTHEST * math.sqrt(2 * math.log(2 / risk) / variance)
    finite = min(noise.highest_moment / weight for noise, weight, _ in wider)
    h = np.arange(1, _TRIED) / _TRIED * (finite if math.isfinite(finite) else normal)
    log_moment = np.zeros_like(h)
    for noise, weight, count in wider:
        log_moment += count * noise.log_moment(h * weight)
    return max(0, math.ceil(float(((log_moment + math.log(2 / risk)) / h).min())) - 1)


def _on_grid(parts: Parts, risk: float, points: int) -> int:
    """Return the smallest t that the absolute value of a sum of noises exceeds with probability at most `risk`, by a
    Fourier transform on `points` grid points.
    """
    angles = np.arange(points // 2 + 1) * (2 * np.pi / points)
    log_law = np.zeros_like(angles)
    for noise, weight, count in parts:
        log_law += count * noise.log_characteristic(angles * weight)
    law = np.fft.irfft(np.exp(log_law), points)[: points // 2]
    beyond = 2 * np.cumsum(law[::-1])[::-1]  # of |sum| >= t
    enough = np.flatnonzero(beyond[1:] + _ALLOWANCE <= risk)
    return int(enough[0]) if len(enough) else points


# Rows of rare bins are counted separately: there is one count for each rare bin, and these rows are in no table and no sum.
#
# Replacing a record changes two counts of a table of all rows. A record that leaves or enters a rare bin changes only one
# count. So such records use half of the budget for tables, and the other half pays for the count of their bin (theory 12.14,
# bins counted apart).

SHARE = Fraction(1, 2)
"""Each rare bin is counted with this share of the budget of all tables and sums, without a further charge."""

_FIELD = "rare_bins"
_EXAMPLE = "Write for example 'children[0 0 0 1]', with 1 for the rare bin and 0 for each other bin. Join several bins by +"


@dataclass(frozen=True, kw_only=True)
class RareBin:
    """A rare bin, whose rows are counted separately. `column` and `bin` are indices."""

    column: int
    bin: int

    def forbidden(self, layout: Layout) -> Mask:
        return Mask(columns=(self.column,), forbidden=np.arange(layout.sizes[self.column]) == self.bin)


@dataclass(frozen=True, kw_only=True)
class NoisyBin:
    """The noisy number of rows in a rare bin: at least 0, and together with earlier rare bins at most the number of all
    rows.
    """

    of: RareBin
    value: int


def merged(bins: Iterable[NoisyBin], maps: Sequence[np.ndarray]) -> tuple[NoisyBin, ...]:
    """Return the noisy numbers of rows in rare bins after bins are merged (post-processing). A merged bin must contain only
    rare bins, or none.
    """
    values = dict[RareBin, int]()
    for noisy_bin in bins:
        coarse = RareBin(column=noisy_bin.of.column, bin=int(maps[noisy_bin.of.column][noisy_bin.of.bin]))
        values[coarse] = values.get(coarse, 0) + noisy_bin.value
    return tuple(NoisyBin(of=of, value=value) for of, value in values.items())


def bins_of(text: str | None, layout: Layout) -> tuple[RareBin, ...]:
    places = ((layout.index(factor.column), factor.scores.index(Fraction(1))) for factor in read_bins(text))
    return tuple(RareBin(column=column, bin=bin_) for column, bin_ in places)


@lru_cache(maxsize=1_000)
def read_bins(text: str | None) -> tuple[ScoreFactor, ...]:
    """Parse a list of rare bins such as "age[0 0 1] + age[1 0 0]". Raises Unexpected."""
    factors = []
    for term in terms_of(text) if text is not None else ():
        read = ScoredSum.of(term)
        factor = read.factors[0]
        if len(read.factors) > 1 or read.limits is not None or not isinstance(factor, ScoreFactor) or factor.spread:
            raise Unexpected(f"{term.strip()!r} is not a rare bin. {_EXAMPLE}")
        if sorted(factor.scores) != [*[0] * (len(factor.scores) - 1), 1]:
            raise Unexpected(f"{term.strip()!r} does not name exactly one rare bin. {_EXAMPLE}")
        factors.append(factor)
    if len(set(factors)) < len(factors):
        raise Unexpected(f"{text!r} names a rare bin twice. Name each bin once")
    return tuple(factors)


def mistakes_of(text: str | None, layout: Layout) -> Iterable[Mistake]:
    """Yield the mistakes in a list of rare bins: unknown columns, wrong numbers of scores, columns of rare bins only."""
    factors = read_bins(text)
    if mistakes := [mistake for factor in factors for mistake in ScoredSum(factors=(factor,)).mistakes(layout)]:
        yield replace(mistakes[0], field=_FIELD)
        return
    for column, number in Counter(factor.column for factor in factors).items():
        if number == layout.sizes[layout.index(column)]:
            yield Mistake(field=_FIELD, text=f"All bins of {column!r} are named as rare. At least one of them must not be rare")


# Formulas name tables, as in "age:(region + sex) + 2 all 2-way".

BY_CELLS = "by cells:"
"""If a formula starts with this text, the weight of each table is also multiplied by `weight_of`, which depends on the table's
number of cells.
"""
_NAME = r"(?:(?:first|other)\.)?\w+"
_WEIGHT, _TABLE = r"(?:(?P<weight>[0-9]+(?:\.[0-9]+)?)\s+)?", rf"{_NAME}(?:\s*:\s*{_NAME})*"
_TERM = re.compile(rf"{_WEIGHT}(?:all\s+(?P<ways>[1-9])-way(?:\s+with\s+(?P<one>{_NAME}))?|(?P<columns>{_TABLE}))")
_FOLDED = re.compile(rf"(?P<first>{_WEIGHT}{_TABLE})\s*:\s*\((?P<others>[^()]*)\)")


def weight_of(columns: Sequence[int], sizes: Sequence[int]) -> Fraction:
    """Return the weight of a table under "by cells:", the square root of its number of cells, to two digits.

    For D columns, the number of cells of a single column is first multiplied by (D - 1) / 2, if above 1, because its error
    is a part of the errors of its D - 1 pairs. With Laplace noise, the square root minimises the total noise of all cells.
    """
    cells = math.prod(sizes[column] for column in columns)
    counted = cells * max(1.0, (len(sizes) - 1) / 2) if len(columns) == 1 else cells
    return Fraction(f"{math.sqrt(counted):.1e}")


@dataclass(frozen=True, kw_only=True)
class FormulaTerm:
    """One term of a formula such as "2 age:region + all 2-way": the table of some columns, or all tables of `ways` columns,
    with a weight.

    Attributes
    ----------
    columns : the columns of the table; for "all N-way with COLUMN", the column that all tables contain.
    ways : the N of "all N-way", otherwise 0.
    weight : the number in front of the term.
    by_cells : whether the weight of each table is also multiplied by `weight_of`.
    """

    columns: tuple[str, ...] = ()
    ways: int = 0
    weight: Fraction
    by_cells: bool = False

    @classmethod
    def of(cls, text: str) -> FormulaTerm:
        """Parse a term such as "age:region", "2 region" or "all 2-way with region". Raises Unexpected."""
        match = _TERM.fullmatch(text.strip())
        columns = tuple(name.strip() for name in (match["columns"] or match["one"] or "").split(":")) if match else ()
        if match is None or len(set(columns)) != len(columns):
            problem = "names a column twice" if match is not None else "is not a table"
            examples = "Write for example 'age:region', '2 region', 'all 2-way' or 'all 2-way with age'. Join tables by +"
            raise Unexpected(f"{text.strip()!r} {problem}. {examples}")
        weight = Fraction(1 if match["weight"] is None else match["weight"])
        return cls(columns=columns if any(columns) else (), ways=int(match["ways"] or 0), weight=weight)

    @property
    def text(self) -> str:
        of_column = f" with {self.columns[0]}" if self.columns else ""
        tables = f"all {self.ways}-way{of_column}" if self.ways else ":".join(self.columns)
        return tables if self.weight == 1 else f"{float(self.weight):.12g} {tables}"

    def sets(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        own_columns = {layout.index(name) for name in self.columns}
        if not self.ways:
            return [tuple(sorted(own_columns))]
        every = combinations(range(len(layout.sizes)), min(self.ways, len(layout.sizes)))
        return (columns for columns in every if own_columns <= {*columns})

    def weighted(self, layout: Layout) -> Iterable[tuple[tuple[int, ...], Fraction]]:
        for columns in self.sets(layout):
            yield columns, self.weight * (weight_of(columns, layout.sizes) if self.by_cells else 1)


def read_terms(formula: str) -> tuple[FormulaTerm, ...]:
    """Parse all terms of a formula, which are joined by +. "age:(region + sex)" gives two terms. Raises Unexpected."""
    text = formula.strip()
    terms = unfolded(text.removeprefix(BY_CELLS)).split("+")
    return tuple(replace(FormulaTerm.of(term), by_cells=text.startswith(BY_CELLS)) for term in terms)


def unfolded(formula: str) -> str:
    """Return the formula without brackets: "age:region + age:sex" for "age:(region + sex)"."""
    return _FOLDED.sub(
        lambda match: " + ".join(f"{match['first']}:{other.strip()}" for other in match["others"].split("+")), formula
    )


def folded(terms: Sequence[FormulaTerm]) -> list[str]:
    """Write terms as strings, with pairs joined as in "age:(region + sex)"."""
    groups = dict[tuple[str, ...], list[FormulaTerm]]()
    for number, term in enumerate(terms):
        pair = len(term.columns) == 2 and not term.ways
        groups.setdefault((str(term.weight), term.columns[0]) if pair else (str(number),), []).append(term)
    return [
        f"{of[0].text.rpartition(':')[0]}:({' + '.join(term.columns[1] for term in of)})" if len(of) > 1 else of[0].text
        for of in groups.values()
    ]


def formula_of(terms: Sequence[FormulaTerm], columns: Sequence[str] = ()) -> str:
    """Write a formula, abbreviated by "all 1-way" and "all 2-way with COLUMN" if the columns of the release are given."""
    left, stars = list(terms), list[str]()
    often = Counter(name for term in terms if len(term.columns) == 2 for name in term.columns)
    for name in (name for name in columns if often[name] >= len(columns) - 1):  # all pairs of important columns are measured
        pairs = [
            term for term in left if term.weight == 1 and len(term.columns) == 2 and name in term.columns and not term.ways
        ]
        if len({*pairs}) == len(pairs) == len(columns) - 1 > 2:
            stars.append(f"all 2-way with {name}")
            left = [term for term in left if term not in pairs]
    alone = [term for term in left if term.weight == 1 and len(term.columns) == 1 and not term.ways]
    whole = bool(columns) and {term.columns[0] for term in alone} == {*columns}
    texts = [*stars, *folded([term for term in left if not (whole and term in alone)]), *(["all 1-way"] if whole else [])]
    return f"{BY_CELLS} " * any(term.by_cells for term in terms) + " + ".join(texts)


def formula_by_cells(tables: Sequence[str], columns: Sequence[str]) -> str:
    return formula_of(read_terms(f"{BY_CELLS} {' + '.join(tables)}"), columns)


def spelled_out(formula: str, layout: Layout) -> str:
    """Return the equivalent formula without brackets, with the weights of "by cells:" as numbers."""
    if not formula.strip().startswith(BY_CELLS):
        return unfolded(formula)
    weighted = (pair for term in read_terms(formula) for pair in term.weighted(layout))
    named = ((":".join(layout.columns[column] for column in table), weight) for table, weight in weighted)
    return " + ".join(f"{float(weight):.12g} {table}" for table, weight in named)


def _measures(formula: str) -> str:
    if not any(term.weight for term in read_terms(formula)):
        raise Unexpected(f"All tables in {formula!r} have weight 0. At least one weight must be above 0")
    return formula


Formula = Annotated[str, Field(min_length=1, max_length=100_000), AfterValidator(_measures)]
"""A formula of the tables that a generator measures. At least one table has a weight above 0."""


def unknown_columns(terms: Sequence[FormulaTerm], layout: Layout) -> Iterable[Mistake]:
    names = [name for term in terms for name in term.columns]
    for name in dict.fromkeys(names):
        if name not in layout.columns:
            guess = closest(name, layout.columns)
            problem = f"There is no column {name!r}. The columns are {listing(layout.columns)}"
            yield Mistake(field="tables", text=problem, suggestion=guess)


@dataclass(frozen=True, kw_only=True)
class NoisyMarginal:
    """A noisy table of counts over some columns, with its privacy cost.

    Attributes
    ----------
    columns : the increasing indices of the columns.
    values : int64 noisy counts, one axis per column.
    cost : the epsilon of the table or, with Gaussian noise, its rho.
    cells : how many noisy cells are added up in each value; 1 before merging.
    """

    columns: tuple[int, ...]
    values: np.ndarray
    cost: Fraction
    cells: np.ndarray
    kind: type[CountNoise] = DiscreteLaplace

    @cached_property
    def noise(self) -> CountNoise:
        return self.kind.of_table(self.cost)

    def variance(self) -> np.ndarray:
        """Return the noise variance of each value; for Laplace noise an upper bound, the variance of the continuous
        distribution.
        """
        return self.cells * self.noise.variance_above

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisyMarginal:
        values, cells = self.values, self.cells
        for axis, column in enumerate(self.columns):
            values, cells = (with_merged_bins(array, axis, maps[column], layout.sizes[column]) for array in (values, cells))
        return replace(self, values=values, cells=cells)


@dataclass(frozen=True, kw_only=True)
class NoisySum:
    """One measured sum of public scores over all rows.

    Attributes
    ----------
    scores : one axis per column: the score of a row in each cell, from 0 to `schema.STEPS` (mean scores on merged bins).
    value : the sum plus discrete Laplace noise of scale `sensitivity` / epsilon, or an entry of a shared noise.
    epsilon : the cost of the sum, or of all sums that share its noise.
    sensitivity : largest change of the sum when a record is replaced: the highest measured score, because the lowest is 0.
    exact : whether `value` is the sum of `scores` over the rows plus noise. False if bins of different scores were merged,
        or exact values added up.
    own : the factors of a sum of exact values, or None. For such a sum, `scores` come from representative values.
    together : the number of successive sums that share the noise (theory 9.18, one noise for many numbers).
    """

    text: str
    columns: tuple[int, ...]
    scores: np.ndarray
    value: int
    epsilon: Fraction
    sensitivity: int
    exact: bool = True
    own: ScoredSum | None = None
    together: int = 1

    @property
    def variance(self) -> float:
        scale = self.sensitivity / self.epsilon
        return 2.0 * float(scale) ** 2 if self.together == 1 else cube_sd(self.together, scale) ** 2

    def limit(self, risk: float) -> int:
        return entry_limit(self.together, self.sensitivity / self.epsilon, risk)

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisySum:
        if self.own is not None:
            return replace(self, scores=self.own.scores(layout))
        merged = merged_scores(self.scores, self.columns, layout.sizes, maps)
        same = np.array_equal(merged[np.ix_(*(maps[column] for column in self.columns))], self.scores)
        return replace(self, scores=merged, exact=self.exact and same)


@dataclass(frozen=True, kw_only=True)
class NoisyMarginals:
    """All noisy tables, sums and counts of one private table. They are differentially private and may be published.

    Attributes
    ----------
    n : the number of rows in the tables and sums: all rows, or approximately those outside rare bins.
    rare_bins : the rare bins, whose rows are in no table and no sum.
    agreements : the agreements of pairs of two-bin columns, or None.
    """

    layout: Layout
    n: int
    tables: tuple[NoisyMarginal, ...]
    sums: tuple[NoisySum, ...] = ()
    rare_bins: tuple[NoisyBin, ...] = ()
    agreements: NoisyAgreements | None = None

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisyMarginals:
        """Return the same measurements on coarser bins: bin b of column c becomes `maps[c][b]`."""
        tables = tuple(table.merge(layout, maps) for table in self.tables)
        sums = tuple(noisy_sum.merge(layout, maps) for noisy_sum in self.sums)
        agreements = self.agreements and self.agreements.merge(layout, maps, self.n)
        return replace(
            self, layout=layout, tables=tables, sums=sums, rare_bins=merged(self.rare_bins, maps), agreements=agreements
        )
