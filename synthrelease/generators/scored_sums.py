"""Parse formulas that give each row a public score, and sum these scores over all rows. Such a sum is measured as one
number.

A product moment, a mean or the size of a rare bin is a sum of scores of rows, which depend on their bins or exact values.
Measured as one number, it has the noise of one number; computed from a measured table, it has the noise of all cells,
mostly of those with extreme scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from synthrelease.data.layout import Layout
from synthrelease.data.marginals import with_merged_bins
from synthrelease.data.schema import STEPS, OwnValue, Transformation
from synthrelease.errors import Unexpected, closest, listing, so_many
from synthrelease.generators.measured_noise import MOST_NUMBERS
from synthrelease.settings.base import Mistake

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_FACTOR = re.compile(rf"\s*(?P<column>\w+)\s*\[\s*(?P<scores>{_NUMBER}\s*\.\.\s*{_NUMBER}|{_NUMBER}(?:\s+{_NUMBER})*)\s*\]\s*")
_OWN = re.compile(
    rf"\s*(?P<column>\w+)\s*\(\s*(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})\s*(?:-\s*(?P<centre>{_NUMBER})\s*)?\)\s*"
)
_WEIGHT = re.compile(r"\s*(?P<weight>[0-9]+(?:\.[0-9]+)?)\s+(?P<rest>.*)", re.DOTALL)
_PLUS = re.compile(r"\+(?![^{}]*\})")
_GROUP = re.compile(r"\s*(?:(?P<weight>[0-9]+(?:\.[0-9]+)?)\s*)?\{(?P<rest>[^{}]*)\}\s*", re.DOTALL)
_WITHIN = re.compile(rf"(?P<factors>.*[\])])\s*within\s+(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})\s*", re.DOTALL)
_EXAMPLES = (
    "Write for example 'children[0 0 0 1]', '2 age[18 25 40]:weight[-2000..2000]', 'income(0..9000)' or 'age(15..90 - 40)'. "
    "Join sums by +. Limits are written from the lower to the higher number (docs/settings.md)"
)


@dataclass(frozen=True, kw_only=True)
class ScoreFactor:
    """Scores for the bins of one column: one for each bin, or two limits between which they are evenly spaced (`spread`)."""

    column: str
    scores: tuple[Fraction, ...]
    spread: bool

    def of_bins(self, size: int) -> list[Fraction]:
        if not self.spread or size == 1:
            return list(self.scores[:size])
        low, high = self.scores
        return [low + (high - low) * bin_ / (size - 1) for bin_ in range(size)]

    @property
    def text(self) -> str:
        return f"{self.column}[{('..' if self.spread else ' ').join(f'{float(score):g}' for score in self.scores)}]"


@dataclass(frozen=True, kw_only=True)
class ScoredSum:
    """A measured sum over all rows, such as "age[18 25 40]:weight(0..200)": each row adds the product of the scores of its
    bins, or its exact values.

    Attributes
    ----------
    limits : the limits to which each row's product is clipped, or None.
    """

    factors: tuple[ScoreFactor | OwnValue, ...]
    limits: tuple[Fraction, Fraction] | None = None

    @classmethod
    def of(cls, text: str) -> ScoredSum:
        """Parse a sum such as "children[0 0 0 1]" or "age[18 25 40]:weight(0..200 - 70)". Raises Unexpected."""
        within = _WITHIN.fullmatch(text)
        limits = None if within is None else (Fraction(within["low"]), Fraction(within["high"]))
        parts = (text if within is None else within["factors"]).split(":")
        factors = [factor for factor in map(_factor, parts) if factor is not None]
        if len(factors) < len(parts) or len({factor.column for factor in factors}) < len(parts):
            problem = "names a column twice" if len(factors) == len(parts) else "is not a sum of scores or values"
            raise Unexpected(f"{text.strip()!r} {problem}. {_EXAMPLES}")
        return cls(factors=tuple(factors), limits=limits)

    @cached_property
    def text(self) -> str:
        within = "" if self.limits is None else f" within {float(self.limits[0]):g}..{float(self.limits[1]):g}"
        return ":".join(factor.text for factor in self.factors) + within

    @property
    def own_values_of(self) -> tuple[str, ...]:
        return tuple(factor.column for factor in self.factors if isinstance(factor, OwnValue))

    def columns(self, layout: Layout) -> tuple[int, ...]:
        return tuple(sorted(layout.index(factor.column) for factor in self.factors))

    def scores(self, layout: Layout) -> np.ndarray:
        """Return the public score of a row in each cell, from 0 to STEPS, with one axis per column.

        Without exact values, the scores are whole numbers in a read-only array. With exact values, they are floats from
        representative values; in a layout without these, each row has the score of a row without values.
        """
        if not self.own_values_of:
            return _steps(self, layout)
        from synthrelease.generators.own_totals import in_steps

        of_bins = [self._of_numbers(factor, layout) for factor in self._in_order(layout)]
        return in_steps(_product(of_bins), self.ends)

    def own_steps(self, transformation: Transformation) -> list[np.ndarray]:
        """Return the factors of the product that a row adds: for each column, in the order of the layout, (n_atoms,)
        factors by atomic bin.
        """
        layout, factors = transformation.layout, []
        for factor in self._in_order(layout):
            binning = transformation.binning(factor.column)
            if isinstance(factor, OwnValue):
                factors.append(factor.of(transformation.schema[factor.column].atoms.known_numbers))
            else:
                factors.append(np.array([float(score) for score in factor.of_bins(len(binning))])[list(binning.of_atom)])
        return factors

    def _in_order(self, layout: Layout) -> list[ScoreFactor | OwnValue]:
        return sorted(self.factors, key=lambda factor: layout.index(factor.column))

    def _of_numbers(self, factor: ScoreFactor | OwnValue, layout: Layout) -> np.ndarray:
        column = layout.index(factor.column)
        if isinstance(factor, ScoreFactor):
            return np.array([float(score) for score in factor.of_bins(layout.sizes[column])])
        numbers = layout.numbers[column] if layout.numbers else (None,) * layout.sizes[column]
        return factor.of(np.array([np.nan if number is None else number for number in numbers], dtype=float))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest product of a row, after clipping."""
        low, high = 1.0, 1.0
        for factor in self.factors:
            scores = factor.ends if isinstance(factor, OwnValue) else [float(score) for score in factor.scores]
            products = [end * score for end in (low, high) for score in (min(scores), max(scores))]
            low, high = min(products), max(products)
        if self.limits is None:
            return low, high
        return tuple(min(max(end, float(self.limits[0])), float(self.limits[1])) for end in (low, high))  # type: ignore[return-value]

    def mistakes(self, layout: Layout) -> Iterable[Mistake]:
        """Yield the first mistake: an unknown column, a column without numbers, a wrong number of scores, or equal scores
        for all rows.
        """
        for factor in self.factors:
            if factor.column not in layout.columns:
                guess = closest(factor.column, layout.columns)
                problem = f"There is no column {factor.column!r}. The columns are {listing(layout.columns)}"
                yield Mistake(field="sums", text=problem, suggestion=guess)
                return
            if isinstance(factor, OwnValue):
                if layout.numbers and all(number is None for number in layout.numbers[layout.index(factor.column)]):
                    problem = f"{factor.text!r} needs a column of numbers. One of its alternatives must refine all others"
                    yield Mistake(field="sums", text=problem)
                    return
                continue
            size = layout.sizes[layout.index(factor.column)]
            if not factor.spread and len(factor.scores) != size:
                problem = f"{factor.column!r} has {so_many(size, 'measured bin')}, but {factor.text!r} has"
                text = f"{problem} {so_many(len(factor.scores), 'number')}. Write one number for each bin"
                yield Mistake(field="sums", text=text)
                return
        if self.own_values_of:
            if not self.ends[0] < self.ends[1]:
                yield Mistake("sums", f"With the limits in {self.text!r}, all rows have the same value. Widen the limits")
        elif not np.ptp(self.scores(layout)):
            yield Mistake(field="sums", text=f"All scores in {self.text!r} are equal. Write different scores")


@dataclass(frozen=True, kw_only=True)
class SumGroup:
    """One sum, or several sums that share one noise vector and so cost less (theory 9.18, one noise for many numbers).

    Attributes
    ----------
    weight : the weight of all these sums together in the budget, above 0.
    """

    sums: tuple[ScoredSum, ...]
    weight: Fraction

    @classmethod
    def of(cls, text: str) -> SumGroup:
        """Parse a group such as "2 children[0 0 0 1]" or "3 {age[0 1] + income(0..9000)}". Raises Unexpected."""
        weighted = _GROUP.fullmatch(text) or _WEIGHT.fullmatch(text)
        weight = Fraction((weighted and weighted["weight"]) or 1)
        sums = tuple(ScoredSum.of(term) for term in terms_of(weighted["rest"] if weighted else text))
        if not weight or len(sums) > MOST_NUMBERS:
            limit = f"has more than {MOST_NUMBERS:,} sums, the limit for a group. Divide it into smaller groups"
            raise Unexpected(f"{text.strip()!r} {limit if weight else 'has weight 0. A weight must be above 0'}")
        return cls(sums=sums, weight=weight)


def _product(factors: Sequence[np.ndarray]) -> np.ndarray:
    product = np.array(1.0)
    for factor in factors:
        product = product[..., None] * factor
    return product


@lru_cache(maxsize=1_000)
def _steps(scored: ScoredSum, layout: Layout) -> np.ndarray:
    columns = scored.columns(layout)
    by_column = {
        layout.index(factor.column): factor.of_bins(layout.sizes[layout.index(factor.column)])
        for factor in scored.factors
        if isinstance(factor, ScoreFactor)
    }
    cells = [Fraction(1)]
    for column in columns:
        cells = [product * score for product in cells for score in by_column[column]]
    if scored.limits is not None:
        cells = [min(max(cell, scored.limits[0]), scored.limits[1]) for cell in cells]
    low, high = min(cells), max(cells)
    width = (high - low) or Fraction(1)
    steps = [round((cell - low) / width * STEPS) for cell in cells]
    scores = np.array(steps, dtype=np.int64).reshape([layout.sizes[column] for column in columns])
    scores.flags.writeable = False
    return scores


def read_sums(text: str) -> tuple[SumGroup, ...]:
    return tuple(SumGroup.of(term) for term in terms_of(text))


def terms_of(formula: str) -> list[str]:
    return _PLUS.split(formula)


def merged_scores(scores: np.ndarray, columns: Sequence[int], sizes: Sequence[int], maps: Sequence[np.ndarray]) -> np.ndarray:
    """Return the scores of cells after bins are merged: the mean score of the merged bins."""
    for axis, column in enumerate(columns):
        added = with_merged_bins(scores.astype(float), axis, maps[column], sizes[column])
        number = np.bincount(maps[column], minlength=sizes[column])
        scores = added / np.maximum(number, 1).reshape([-1 if axis_ == axis else 1 for axis_ in range(len(columns))])
    return scores


def own_values_of(text: str) -> set[str]:
    """Return the columns that a formula for sums, valid or not, uses with exact values."""
    return {match["column"] for match in _OWN.finditer(text)}


def _factor(text: str) -> ScoreFactor | OwnValue | None:
    if own_value := _OWN.fullmatch(text):
        low, high, centre = (float(own_value[name] or 0) for name in ("low", "high", "centre"))
        return OwnValue(column=own_value["column"], low=low, high=high, centre=centre) if low < high else None
    match = _FACTOR.fullmatch(text)
    if match is None:
        return None
    spread = ".." in match["scores"]
    texts = match["scores"].split("..") if spread else match["scores"].split()
    return ScoreFactor(column=match["column"], scores=tuple(Fraction(text.strip()) for text in texts), spread=spread)
