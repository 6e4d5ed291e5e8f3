"""Sums of public scores over the rows: one number in place of a table of many noisy cells.

A product moment, a mean or the size of one rare bin is a sum over all rows of a score that each row's bins have. Measured as
one number it has the noise of one number; added up from a measured table it has that of all cells of the table, and in cells
far from the middle it counts most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from synthrelease.domain.axes import with_merged_bins
from synthrelease.domain.schema import Layout
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.toml.fields import Mistake

STEPS = 2**12
"""The scores of all cells lie on so many equal steps between the lowest and the highest."""

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_FACTOR = re.compile(rf"\s*(?P<column>\w+)\s*\[\s*(?P<scores>{_NUMBER}\s*\.\.\s*{_NUMBER}|{_NUMBER}(?:\s+{_NUMBER})*)\s*\]\s*")
_WEIGHT = re.compile(r"\s*(?P<weight>[0-9]+(?:\.[0-9]+)?)\s+(?P<factors>.*)", re.DOTALL)
_WITHIN = re.compile(rf"(?P<factors>.*\])\s*within\s+(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})\s*", re.DOTALL)
_EXPECTED = (
    "terms such as 'children[0 0 0 1]', '2 age[18 25 40]:weight[-2000..2000]' or 'age[-20..20]:weight[-9..9] within -50..50', "
    "joined by +, of different columns"
)


@dataclass(frozen=True, kw_only=True)
class Factor:
    """Scores of the bins of one column: one for each, or two limits between which they are evenly spread."""

    column: str
    scores: tuple[Fraction, ...]
    spread: bool

    def of_bins(self, size: int) -> list[Fraction]:
        """One score per bin."""
        if not self.spread or size == 1:
            return list(self.scores[:size])
        low, high = self.scores
        return [low + (high - low) * bin_ / (size - 1) for bin_ in range(size)]

    @property
    def text(self) -> str:
        return f"{self.column}[{('..' if self.spread else ' ').join(f'{float(score):g}' for score in self.scores)}]"


@dataclass(frozen=True, kw_only=True)
class ScoredSum:
    """One sum: the product of the scores of a row's bins, added up over all rows; and its weight in the budget.

    Attributes
    ----------
    limits : what every row's product is clipped to; None where it is not.
    """

    factors: tuple[Factor, ...]
    weight: Fraction
    limits: tuple[Fraction, Fraction] | None = None

    @classmethod
    def of(cls, text: str) -> ScoredSum:
        """Read "children[0 0 0 1]" or "2 age[18 25 40]:weight[-2000..2000]". Raises Unexpected for anything else."""
        weighted = _WEIGHT.fullmatch(text)
        weight = Fraction(weighted["weight"]) if weighted else Fraction(1)
        product = weighted["factors"] if weighted else text
        within = _WITHIN.fullmatch(product)
        limits = None if within is None else (Fraction(within["low"]), Fraction(within["high"]))
        matches = [_FACTOR.fullmatch(part) for part in (product if within is None else within["factors"]).split(":")]
        factors = [_factor(match) for match in matches if match is not None]
        if len(factors) < len(matches) or len({factor.column for factor in factors}) < len(matches) or not weight:
            raise Unexpected(_EXPECTED, repr(text.strip()))
        return cls(factors=tuple(factors), weight=weight, limits=limits)

    @cached_property
    def text(self) -> str:
        within = "" if self.limits is None else f" within {float(self.limits[0]):g}..{float(self.limits[1]):g}"
        return ":".join(factor.text for factor in self.factors) + within

    def columns(self, layout: Layout) -> tuple[int, ...]:
        """Increasing indices of its columns."""
        return tuple(sorted(layout.index(factor.column) for factor in self.factors))

    def scores(self, layout: Layout) -> np.ndarray:
        """(sizes of its columns) whole numbers from 0 to STEPS: what a row of each cell adds. Exact, and public; read only."""
        return _steps(self, layout)

    def mistakes(self, layout: Layout) -> Iterable[Mistake]:
        """What is wrong with its columns, or with how many scores they have."""
        for factor in self.factors:
            if factor.column not in layout.columns:
                guess = closest(factor.column, layout.columns)
                expected = f"columns ({listing(layout.columns)})"
                yield Mistake(field="sums", expected=expected, found=repr(factor.column), suggestion=guess)
                return
            size = layout.sizes[layout.index(factor.column)]
            if not factor.spread and len(factor.scores) != size:
                expected = (
                    f"{size} scores of {factor.column!r}, one for each bin on which it is measured, or two with .. between"
                )
                yield Mistake(field="sums", expected=expected, found=str(len(factor.scores)))
                return
        if not np.ptp(self.scores(layout)):
            yield Mistake(field="sums", expected="scores that differ", found=f"the same for all rows in {self.text}")


@lru_cache(maxsize=1_000)
def _steps(one: ScoredSum, layout: Layout) -> np.ndarray:
    columns = one.columns(layout)
    by_column = {
        layout.index(factor.column): factor.of_bins(layout.sizes[layout.index(factor.column)]) for factor in one.factors
    }
    cells = [Fraction(1)]
    for column in columns:
        cells = [before * score for before in cells for score in by_column[column]]
    if one.limits is not None:
        cells = [min(max(cell, one.limits[0]), one.limits[1]) for cell in cells]
    low, high = min(cells), max(cells)
    width = (high - low) or Fraction(1)
    steps = [round((cell - low) / width * STEPS) for cell in cells]
    found = np.array(steps, dtype=np.int64).reshape([layout.sizes[column] for column in columns])
    found.flags.writeable = False
    return found


def read_sums(text: str) -> tuple[ScoredSum, ...]:
    """The terms of a formula. Raises Unexpected."""
    return tuple(ScoredSum.of(term) for term in text.split("+"))


def merged_scores(scores: np.ndarray, columns: Sequence[int], sizes: Sequence[int], maps: Sequence[np.ndarray]) -> np.ndarray:
    """Scores on coarser bins: the mean score of the measured bins that make one."""
    for axis, column in enumerate(columns):
        added = with_merged_bins(scores.astype(float), axis, maps[column], sizes[column])
        number = np.bincount(maps[column], minlength=sizes[column])
        scores = added / np.maximum(number, 1).reshape([-1 if one == axis else 1 for one in range(len(columns))])
    return scores


def _factor(match: re.Match[str]) -> Factor:
    spread = ".." in match["scores"]
    texts = match["scores"].split("..") if spread else match["scores"].split()
    return Factor(column=match["column"], scores=tuple(Fraction(text.strip()) for text in texts), spread=spread)
