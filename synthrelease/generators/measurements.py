"""Noisy marginals are what a generator measured: values that may be merged, shared by rounds and published."""

from __future__ import annotations

import math
import re
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

# How far off the tables of areas are, level by level, and the division of a budget that keeps it in proportion. Public.

Table = TypeVar("Table", bound=Hashable)
"""What a table is named by: the places of its columns, or their names."""

_AREA_GRID = 10**6
"""Shares are multiples of about one over this, so that they are exact."""


@dataclass(frozen=True, kw_only=True)
class AreaNoise:
    """The noise in the counts of one level of areas.

    Attributes
    ----------
    column : of the areas; the empty text for all of them together.
    areas : how many there are.
    rows : standard deviation of the number of rows of one area, from all tables of the level and of those below.
    cell : that of one count in the most exact table of the level itself, in which there are `cells` for each area.
    """

    column: str
    areas: int
    rows: float
    cell: float
    cells: int

    def text(self, n: int) -> str:
        """Return the noise in words: in rows, and in percent of an area of mean size."""
        area, cell = n / self.areas, n / (self.areas * self.cells)
        return (
            f"{self.column}: {self.rows:,.1f} rows ({percent(self.rows / area)} of {area:,.0f}, the mean area), "
            f"{self.cell:,.1f} in a cell ({percent(self.cell / cell)} of {cell:,.0f}, the mean one)"
        )


def area_noise(
    chain: Sequence[str], layout: Layout, costs: Mapping[tuple[int, ...], Fraction], noise: type[CountNoise]
) -> tuple[AreaNoise, ...]:
    """Return the noise of every level with a table, the largest areas first.

    The number of rows of an area is told by each table of its level, as the sum of its cells, and by those of the level below,
    as the sum over the areas in it; independent figures are weighed by their precision. That the whole number of rows is public
    is left out, which matters for few areas.

    Parameters
    ----------
    chain : the columns of areas, from the largest to the smallest.
    costs : of each table, by its columns: an epsilon, or a rho.
    """
    levels, below, of_below = list[AreaNoise](), 0.0, 1
    for name in reversed(chain):
        place = layout.columns.index(name)
        areas = layout.sizes[place]
        precision = below * areas / of_below  # of an area below, to a sum of so many of them
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
    """Return the power of (cells / wanted error) to which budgets are proportional (theory 12.13, areas within areas)."""
    return 1.0 if noise.cost == "rho" else 2 / 3


def divided(cells: Mapping[Table, int], wanted: Mapping[Table, float], noise: type[CountNoise]) -> dict[Table, Fraction]:
    """Return the shares of a budget with the least sum of squares of (relative error of a mean cell) / (the wanted one).

    A mean cell of a table of c cells has n / c rows. With Gaussian noise of variance 1 / rho_t the sum is that of
    (c_t / (n w_t))^2 / rho_t, least for rho_t in proportion to c_t / w_t; with Laplace noise of variance 8 / eps_t^2 it is
    least for eps_t in proportion to (c_t / w_t)^(2/3) (theory 12.13, areas within areas).

    Parameters
    ----------
    cells, wanted : of every table; all above 0.

    Returns
    -------
    dict
        Exact shares, which add up to 1.
    """
    power = power_of(noise)
    weights = {columns: (count / wanted[columns]) ** power for columns, count in cells.items()}
    largest = max(weights.values())
    whole = {columns: max(1, round(_AREA_GRID * weight / largest)) for columns, weight in weights.items()}
    total = sum(whole.values())
    return {columns: Fraction(weight, total) for columns, weight in whole.items()}


# How far a weighted sum of independent noises is off at most, at a stated risk.
#
# Theory 13.5, limits of noise. A part (z, w, k) stands for w (z_1 + ... + z_k), w a whole number and every z_i of the law z,
# whose characteristic function E[e^(i t z)] and moments E[e^(h z)] are known (`measured_noise`). The law of a sum that fits on
# a grid of `_GRID` points follows from its characteristic function by one Fourier transform; other sums are bounded by Markov's
# inequality for e^(h sum), for which every h gives a valid limit.

Parts = tuple[tuple[CountNoise, int, int], ...]
"""(z, w, k) of each part: the law of the noise, whole weight above 0, how many noises have both."""

_TRIED = 400
"""Values of h that are tried; each gives a valid limit."""

_FARTHEST = 2.0
"""Values of h are tried up to so many times the one that would be best for a normal law."""

_GRID = 2**17
"""Points of the largest grid on which the law of a sum is computed."""

_ALLOWANCE = 1e-8
"""Of a probability that is computed on the grid: rounding of 2^17 terms (below 1e-9 in all), what lies beyond the grid (at most
1e-10), and the scale that is rounded up (2^-50 of a law for each of at most a million noises)."""


@lru_cache(maxsize=100_000)
def noise_limit(parts: Parts, risk: float) -> int:
    """Return a t with Pr[|sum of all parts| > t] <= risk.

    Parameters
    ----------
    parts : their noises are independent.
    risk : above 0, below 1.
    """
    if len(parts) == 1 and parts[0][1:] == (1, 1):
        return parts[0][0].rounded_up.limit(risk)
    markov = _markov(parts, risk)
    if risk < 100 * _ALLOWANCE or sum(count for _, _, count in parts) > 1_000_000:
        return markov
    points = 2 ** math.ceil(math.log2(2 * _markov(parts, _ALLOWANCE / 100) + 4))
    return markov if points > _GRID else min(markov, _on_grid(parts, risk, points))


def _markov(parts: Parts, risk: float) -> int:
    """Return a t at which Markov's inequality keeps the risk: Pr[|sum| > t] <= 2 e^(-h (t+1)) E[e^(h sum)] for every h at
    which all moments are finite.
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
    """Return the least t at which the law of the sum, folded onto so many points, leaves at most the risk beyond t."""
    angles = np.arange(points // 2 + 1) * (2 * np.pi / points)
    log_law = np.zeros_like(angles)
    for noise, weight, count in parts:
        log_law += count * noise.log_characteristic(angles * weight)
    law = np.fft.irfft(np.exp(log_law), points)[: points // 2]
    beyond = 2 * np.cumsum(law[::-1])[::-1]  # of |sum| >= t
    enough = np.flatnonzero(beyond[1:] + _ALLOWANCE <= risk)
    return int(enough[0]) if len(enough) else points


# Rare bins whose rows are counted apart: one count for each bin, and no table and no sum has these rows.
#
# A replaced record moves a table of all rows by two counts, one down and one up. One that comes from a bin counted apart, or
# goes there, moves it by one. So these records leave half of the budget over, and it pays for the count of their bin (theory
# 12.14, bins counted apart).

SHARE = Fraction(1, 2)
"""Of the budget of all tables and sums, which the count of each bin gets beside them."""

_FIELD = "rare_bins"
_EXPECTED = (
    "bins such as 'children[0 0 0 1] + children[1 0 0 0]', joined by +: one column, with 1 for a rare bin and 0 for all others"
)


@dataclass(frozen=True, kw_only=True)
class RareBin:
    """A bin whose rows are counted apart.

    Attributes
    ----------
    column, bin : their places in the layout.
    """

    column: int
    bin: int

    def forbidden(self, layout: Layout) -> Mask:
        """Return the rule that excludes the rows with rare bins from the model of the other rows."""
        return Mask(columns=(self.column,), forbidden=np.arange(layout.sizes[self.column]) == self.bin)


@dataclass(frozen=True, kw_only=True)
class NoisyBin:
    """The noisy number of rows in a rare bin.

    Attributes
    ----------
    value : the count plus noise; at least 0, and together with those before it at most the number of all rows.
    """

    of: RareBin
    value: int


def merged(bins: Iterable[NoisyBin], maps: Sequence[np.ndarray]) -> tuple[NoisyBin, ...]:
    """Return the rare bins on coarser bins, each of which contains rare ones alone or none. Post-processing."""
    values = dict[RareBin, int]()
    for noisy_bin in bins:
        coarse = RareBin(column=noisy_bin.of.column, bin=int(maps[noisy_bin.of.column][noisy_bin.of.bin]))
        values[coarse] = values.get(coarse, 0) + noisy_bin.value
    return tuple(NoisyBin(of=of, value=value) for of, value in values.items())


def bins_of(text: str | None, layout: Layout) -> tuple[RareBin, ...]:
    """Return the bins that a text without `mistakes` names, in its order."""
    return tuple(
        RareBin(column=layout.index(factor.column), bin=factor.scores.index(Fraction(1))) for factor in read_bins(text)
    )


@lru_cache(maxsize=1_000)
def read_bins(text: str | None) -> tuple[ScoreFactor, ...]:
    """Read "age[0 0 1] + age[1 0 0]". Raises Unexpected for a text that is no such list."""
    factors = []
    for term in terms_of(text) if text is not None else ():
        read = ScoredSum.of(term)
        factor = read.factors[0]
        if len(read.factors) > 1 or read.limits is not None or not isinstance(factor, ScoreFactor) or factor.spread:
            raise Unexpected(_EXPECTED, repr(term.strip()))
        if sorted(factor.scores) != [*[0] * (len(factor.scores) - 1), 1]:
            raise Unexpected(_EXPECTED, repr(term.strip()))
        factors.append(factor)
    if len({factor.column for factor in factors}) > 1 or len(set(factors)) < len(factors):
        raise Unexpected("different bins of one column", repr(text))
    return tuple(factors)


def mistakes_of(text: str | None, layout: Layout) -> Iterable[Mistake]:
    """Yield the mistakes in the columns, in the number of their scores, or where no row is left for the tables."""
    factors = read_bins(text)
    for factor in factors:
        mistake = next(iter(ScoredSum(factors=(factor,)).mistakes(layout)), None)
        if mistake is not None:
            yield replace(mistake, field=_FIELD)
            return
    if factors and len(factors) == layout.sizes[layout.index(factors[0].column)]:
        yield Mistake(field=_FIELD, expected=f"a bin of {factors[0].column!r} that is no rare one", found="all of them")


# Formulas that name tables: "age:(region + sex) + 2 all 2-way".

BY_CELLS = "by cells:"
"""Begins a formula whose tables get weights by their cells (`weight_of`), times the numbers in front of its terms."""
_NAME = r"(?:(?:first|other)\.)?\w+"
_WEIGHT, _TABLE = r"(?:(?P<weight>[0-9]+(?:\.[0-9]+)?)\s+)?", rf"{_NAME}(?:\s*:\s*{_NAME})*"
_TERM = re.compile(rf"{_WEIGHT}(?:all\s+(?P<ways>[1-9])-way(?:\s+with\s+(?P<one>{_NAME}))?|(?P<columns>{_TABLE}))")
_FOLDED = re.compile(rf"(?P<first>{_WEIGHT}{_TABLE})\s*:\s*\((?P<others>[^()]*)\)")


def weight_of(columns: Sequence[int], sizes: Sequence[int]) -> Fraction:
    """Return the weight of a table in a budget: the root of its cells, to two digits; for D columns, those of a single column
    count (D - 1) / 2 times.

    In equal shares a table of two cells costs as much as one of a thousand, each of which gets its noise. With Laplace noise
    the root makes the sum of the noise of all cells least; with Gaussian noise the power 2/3 would, and keeps no more. What a
    single column is off by, all its D - 1 pairs are, each of which has two columns. Where most columns are nearly always the
    same, that is most of what a release is off by.

    Parameters
    ----------
    sizes : bins of each of the D columns.
    """
    cells = math.prod(sizes[column] for column in columns)
    counted = cells * max(1.0, (len(sizes) - 1) / 2) if len(columns) == 1 else cells
    return Fraction(f"{math.sqrt(counted):.1e}")


@dataclass(frozen=True, kw_only=True)
class FormulaTerm:
    """One term of a formula with its weight: the table of some columns, or all tables of `ways` columns, optionally those with
    `columns`.

    Attributes
    ----------
    by_cells : whether the weight of each table is also its `weight_of`.
    """

    columns: tuple[str, ...] = ()
    ways: int = 0
    weight: Fraction
    by_cells: bool = False

    @classmethod
    def of(cls, text: str) -> FormulaTerm:
        """Read "age:region", "2 region", "all 2-way" or "all 2-way with region". Raises Unexpected for anything else."""
        match = _TERM.fullmatch(text.strip())
        columns = tuple(name.strip() for name in (match["columns"] or match["one"] or "").split(":")) if match else ()
        if match is None or len(set(columns)) != len(columns):
            expected = "terms such as 'age:region', '2 region', 'all 2-way' or 'all 2-way with age', joined by +"
            raise Unexpected(f"{expected}, of different columns", repr(text.strip()))
        weight = Fraction(1 if match["weight"] is None else match["weight"])
        return cls(columns=columns if any(columns) else (), ways=int(match["ways"] or 0), weight=weight)

    @property
    def text(self) -> str:
        """Return the term as it is written."""
        of_column = f" with {self.columns[0]}" if self.columns else ""
        tables = f"all {self.ways}-way{of_column}" if self.ways else ":".join(self.columns)
        return tables if self.weight == 1 else f"{float(self.weight):.12g} {tables}"

    def sets(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        """Return increasing column indices of each of its tables; no more columns than there are."""
        own_columns = {layout.index(name) for name in self.columns}
        if not self.ways:
            return [tuple(sorted(own_columns))]
        every = combinations(range(len(layout.sizes)), min(self.ways, len(layout.sizes)))
        return (columns for columns in every if own_columns <= {*columns})

    def weighted(self, layout: Layout) -> Iterable[tuple[tuple[int, ...], Fraction]]:
        """Return its tables, each with its weight."""
        for columns in self.sets(layout):
            yield columns, self.weight * (weight_of(columns, layout.sizes) if self.by_cells else 1)


def read_terms(formula: str) -> tuple[FormulaTerm, ...]:
    """Return all terms of a formula, which are joined by +; `age:(region + sex)` is two. Raises Unexpected."""
    text = formula.strip()
    terms = unfolded(text.removeprefix(BY_CELLS)).split("+")
    return tuple(replace(FormulaTerm.of(term), by_cells=text.startswith(BY_CELLS)) for term in terms)


def unfolded(formula: str) -> str:
    """Return the formula without brackets: `age:region + age:sex` of `age:(region + sex)`."""
    return _FOLDED.sub(
        lambda match: " + ".join(f"{match['first']}:{other.strip()}" for other in match["others"].split("+")), formula
    )


def folded(terms: Sequence[FormulaTerm]) -> list[str]:
    """Return the texts of the terms; pairs that begin with one column are joined: `age:(region + sex)`."""
    groups = dict[tuple[str, ...], list[FormulaTerm]]()
    for number, term in enumerate(terms):
        pair = len(term.columns) == 2 and not term.ways
        groups.setdefault((str(term.weight), term.columns[0]) if pair else (str(number),), []).append(term)
    return [
        f"{of[0].text.rpartition(':')[0]}:({' + '.join(term.columns[1] for term in of)})" if len(of) > 1 else of[0].text
        for of in groups.values()
    ]


def formula_of(terms: Sequence[FormulaTerm], columns: Sequence[str] = ()) -> str:
    """Return the text of a formula, with "all 1-way" for the tables of all columns, and "all 2-way with" for all pairs of one.

    Parameters
    ----------
    columns : of the release.
    """
    left, stars = list(terms), list[str]()
    for name in columns:  # a column all of whose pairs are measured, as those of an important one are
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
    """Return the formula of these tables with weights by their cells, in a release of these columns."""
    return formula_of(read_terms(f"{BY_CELLS} {' + '.join(tables)}"), columns)


def spelled_out(formula: str, layout: Layout) -> str:
    """Return the same formula with the weight of each table as a number, and without brackets."""
    if not formula.strip().startswith(BY_CELLS):
        return unfolded(formula)
    weighted = (pair for term in read_terms(formula) for pair in term.weighted(layout))
    return " + ".join(
        f"{float(weight):.12g} {':'.join(layout.columns[column] for column in table)}" for table, weight in weighted
    )


def _measures(formula: str) -> str:
    if not any(term.weight for term in read_terms(formula)):
        raise Unexpected("a table with a weight above 0", repr(formula))
    return formula


Formula = Annotated[str, Field(min_length=1, max_length=100_000), AfterValidator(_measures)]
"""The tables that a generator measures, at least one of them with a weight above 0."""


def unknown_columns(terms: Sequence[FormulaTerm], layout: Layout) -> Iterable[Mistake]:
    """Yield the mistakes in the columns that a formula names."""
    names = [name for term in terms for name in term.columns]
    for name in dict.fromkeys(names):
        if name not in layout.columns:
            guess = closest(name, layout.columns)
            yield Mistake(field="tables", expected=f"columns ({listing(layout.columns)})", found=repr(name), suggestion=guess)


@dataclass(frozen=True, kw_only=True)
class NoisyMarginal:
    """One measured sub-table.

    Attributes
    ----------
    columns : increasing indices of its columns.
    values : int64, one axis per column: counts plus independent noise per cell.
    cost : what it cost: an epsilon, or a rho where the noise is Gaussian.
    cells : how many noisy cells were added up in each of `values`; 1 as measured.
    kind : the kind of noise, whose scale follows from the cost.
    """

    columns: tuple[int, ...]
    values: np.ndarray
    cost: Fraction
    cells: np.ndarray
    kind: type[CountNoise] = DiscreteLaplace

    @cached_property
    def noise(self) -> CountNoise:
        """The law of the noise of one cell."""
        return self.kind.of_table(self.cost)

    def variance(self) -> np.ndarray:
        """Return the noise variance of each value; for Laplace noise that of the continuous distribution of the same scale,
        an upper bound.
        """
        return self.cells * self.noise.variance_above

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisyMarginal:
        """Return the same measurement on coarser bins. Post-processing."""
        values, cells = self.values, self.cells
        for axis, column in enumerate(self.columns):
            values, cells = (with_merged_bins(array, axis, maps[column], layout.sizes[column]) for array in (values, cells))
        return replace(self, values=values, cells=cells)


@dataclass(frozen=True, kw_only=True)
class NoisySum:
    """One measured sum of public scores over all rows.

    Attributes
    ----------
    text : its factors, as the configuration names them.
    columns : increasing indices of its columns.
    scores : one axis per column: what a row of each cell adds, from 0 to `scored_sums.STEPS`; on merged bins, in the mean.
    value : the sum plus discrete Laplace noise of scale `sensitivity` / epsilon, or its part of a noise that several share.
    epsilon : what it cost, or all that share its noise cost together.
    sensitivity : how far one replaced record moves the sum: the highest score as measured, the lowest being 0.
    exact : whether `value` is the sum of `scores` over the rows, but for its noise: not where bins of different scores were
        merged, nor where own values were added up.
    own : the sum of own values, where they were; `scores` are then what the numbers of bins lead to.
    together : how many sums share its noise (theory 9.18, one noise for many numbers); they stand one after the other.
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
        """Return the variance of its noise; for noise of its own that of continuous Laplace noise of the same scale, an
        upper bound.
        """
        scale = self.sensitivity / self.epsilon
        return 2.0 * float(scale) ** 2 if self.together == 1 else cube_sd(self.together, scale) ** 2

    def limit(self, risk: float) -> int:
        """Return the largest absolute noise, except with probability at most this risk."""
        return entry_limit(self.together, self.sensitivity / self.epsilon, risk)

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisySum:
        """Return the same measurement, with the scores of coarser bins. Post-processing."""
        if self.own is not None:
            return replace(self, scores=self.own.scores(layout))
        merged = merged_scores(self.scores, self.columns, layout.sizes, maps)
        same = np.array_equal(merged[np.ix_(*(maps[column] for column in self.columns))], self.scores)
        return replace(self, scores=merged, exact=self.exact and same)


@dataclass(frozen=True, kw_only=True)
class NoisyMarginals:
    """Everything that was measured of one table, over one layout. Already private: may be published.

    Attributes
    ----------
    n : how many rows the tables and sums are of: all of them, or about how many are in no bin that is counted apart.
    rare_bins : bins whose rows are in no table and no sum.
    agreements : of pairs of columns of two bins; None where none were measured.
    """

    layout: Layout
    n: int
    tables: tuple[NoisyMarginal, ...]
    sums: tuple[NoisySum, ...] = ()
    rare_bins: tuple[NoisyBin, ...] = ()
    agreements: NoisyAgreements | None = None

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> NoisyMarginals:
        """Return the same measurements on coarser bins: column c's bin b becomes `maps[c][b]`."""
        tables = tuple(table.merge(layout, maps) for table in self.tables)
        sums = tuple(noisy_sum.merge(layout, maps) for noisy_sum in self.sums)
        agreements = self.agreements and self.agreements.merge(layout, maps, self.n)
        return replace(
            self, layout=layout, tables=tables, sums=sums, rare_bins=merged(self.rare_bins, maps), agreements=agreements
        )
