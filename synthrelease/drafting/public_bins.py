"""What a public file has in the bins of a column: rows, gaps, what grouping does to its numbers, and where limits can be."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.data.misfits import MISSING
from synthrelease.data.schema import Column, Schema
from synthrelease.drafting.bins import round_step, skewed
from synthrelease.drafting.public_file import PublicFile
from synthrelease.enclave.counting import BinRule
from synthrelease.enclave.texts import Texts
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable

MOST_PLACES = 120
"""Between which limits can be moved."""
FACTORS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


@dataclass(frozen=True, kw_only=True)
class GroupingError:
    """What the numbers that stand for bins make of a column.

    Attributes
    ----------
    off : by how much a value is another number than its bin has, on average.
    mean_moved : the mean of all by the numbers of bins, minus their own.
    spread : the standard deviation of the values, beside which these are large or small.
    """

    off: float
    mean_moved: float
    spread: float


@dataclass(frozen=True, kw_only=True)
class PublicBins:
    """A column of the public file on its bins.

    Attributes
    ----------
    rows : (n_bins,) in each bin of the first alternative that holds values.
    gaps : without a value.
    others : outside the bounds or categories, which are left out.
    places : (n_places,) numbers between which limits can be moved, increasing; empty for categories.
    between : (n_places,) rows from each place up to the next.
    """

    rows: tuple[int, ...]
    gaps: int
    others: int
    grouping: GroupingError | None = None
    places: tuple[float, ...] = ()
    between: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.rows)

    def smaller_than(self, rows: float) -> int:
        """How many bins hold fewer rows."""
        return sum(each < rows for each in self.rows)


def public_bins(file: PublicFile, column: Column, policy: InputTable) -> PublicBins | None:
    """By the public rules of a release; None where texts alone do not tell, as of the days between two dates.

    Parameters
    ----------
    policy : [input] of the configuration.
    """
    if column.minus is not None or column.source not in file.columns:
        return None
    try:
        atoms, times, missing = _read(file, column, policy)
    except InputError:
        return None
    binning = next(iter(column.alternatives.values()))
    held = ~missing & (atoms >= 0)
    of_bin = np.array(binning.of_atom)[atoms[held]]
    rows = np.bincount(of_bin, weights=times[held], minlength=len(binning))[: binning.present]
    found = PublicBins(
        rows=tuple(rows.astype(int).tolist()),
        gaps=int(times[missing].sum()),
        others=int(times[~missing & ~held].sum()),
    )
    if column.bounds is None or column.dates is not None or not held.any():
        return found
    values = _clipped(file, column, held)
    places = _places(values, times[held], column)
    between = np.bincount([bisect_right(places, value) for value in values], weights=times[held], minlength=len(places) + 1)
    return replace(
        found,
        grouping=_grouping(values, times[held], binning.known_numbers[of_bin]),
        places=tuple(places),
        between=tuple(between[1:].astype(int).tolist()),
    )


def own_numbers(file: PublicFile, column: Column, policy: InputTable) -> tuple[np.ndarray, np.ndarray]:
    """(n_texts,) the numbers of a column that is no date, those beyond its bounds as these, and how often each occurs."""
    atoms, times, missing = _read(file, column, policy)
    held = ~missing & (atoms >= 0)
    return _clipped(file, column, held), times[held]


def _read(file: PublicFile, column: Column, policy: InputTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n_texts,) the atomic bin of each text by the rule that a release reads with, below 0 where it has none; how often it
    occurs; and whether it means a missing value.
    """
    texts = list(file.columns[column.source])
    given = Texts(texts=texts, codes=np.arange(len(texts)), typed=True)  # a public file's numbers have decimal points
    (digits,) = BinRule(Schema(columns=(column,)), policy).bins({column.source: given})
    times = np.fromiter(file.columns[column.source].values(), dtype=np.int64, count=len(texts))
    return digits.of_text, times, digits.of_text == (MISSING if column.atoms.missing is None else column.atoms.missing)


def _clipped(file: PublicFile, column: Column, held: np.ndarray) -> np.ndarray:
    numbers = [float(str(text)) for text, is_held in zip(file.columns[column.source], held, strict=True) if is_held]
    low, high = column.bounds or (-math.inf, math.inf)
    return np.clip(np.array(numbers, dtype=float), low, high)


def _grouping(values: np.ndarray, times: np.ndarray, numbers: np.ndarray) -> GroupingError | None:
    if not np.isfinite(numbers).all():
        return None
    mean = float(np.average(values, weights=times))
    return GroupingError(
        off=float(np.average(np.abs(values - numbers), weights=times)),
        mean_moved=float(np.average(numbers, weights=times)) - mean,
        spread=math.sqrt(float(np.average((values - mean) ** 2, weights=times))),
    )


def _places(values: np.ndarray, times: np.ndarray, column: Column) -> list[float]:
    """Round numbers over the bounds, and the limits that there are; the lower bound is the first."""
    low, high = column.bounds or (0.0, 0.0)
    whole = column.kind == "integer"
    limits = {each for binning in column.alternatives.values() for each in binning.lower[1:]}
    order = np.argsort(values)
    if skewed(values[order], times[order]) is not None:
        found = _factors(low, high, whole)
    else:
        step = round_step((high - low) / MOST_PLACES, whole=whole)
        step = step if (high - low) / step <= MOST_PLACES else 2 * step
        first = math.floor(low / step) + 1
        found = [float(f"{n * step:.12g}") for n in range(first, math.floor(high / step) + 1)]
    return sorted({low, *limits, *(each for each in found if low < each <= high)})


def _factors(low: float, high: float, whole: bool) -> list[float]:
    """Round numbers that grow by about a fifth, below and above 0."""
    most = max(abs(low), abs(high), 1e-12)
    powers = range(0 if whole else math.floor(math.log10(most)) - 4, math.floor(math.log10(most)) + 1)
    sizes = {float(f"{factor * 10.0**power:.12g}") for power in powers for factor in FACTORS}
    sizes = {each for each in sizes if not whole or each == int(each)}
    return sorted({0.0, *sizes, *(-each for each in sizes)})
