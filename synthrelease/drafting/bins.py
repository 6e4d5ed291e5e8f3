"""Bins with round limits for a column of numbers, as a person would choose them, so that none is nearly empty.

Limits are whole multiples of 1, 2 or 5 times a power of ten. Where most rows stand in a small part of the range, as with money,
the limits themselves go 1, 2, 5, 10, 20, 50, ... A zero that many rows have is a bin of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

LEAST_SHARE = 0.01
"""Of the rows, in every drafted bin: rarer bins are what a release is worst at."""

COARSE, FINE = 6, 14
"""About how many bins are wanted."""

OWN_ZERO = 0.05
"""Share of the rows with the value 0 from which on it is a bin of its own."""

_SKEWED = 8.0
"""The 97th percentile of the positive values over their median, above which limits are logarithmic."""
_STEPS = (1, 2, 5)


@dataclass(frozen=True, kw_only=True)
class NumberBins:
    """Limits between bins of one column.

    Attributes
    ----------
    low, high : bounds, a little wider than the public file's smallest and largest value.
    coarse, fine : inner limits, increasing; those of `coarse` are among those of `fine`.
    groups : limits of `coarse` that divide the rows into three groups, or two.
    """

    low: float
    high: float
    coarse: tuple[float, ...]
    fine: tuple[float, ...]
    groups: tuple[float, ...]

    def texts(self, *, whole: bool, weight: bool) -> dict[str, list[str]]:
        """The alternatives as a configuration has them; the fine one where it is another than the coarse one.

        Parameters
        ----------
        weight : whether a 0 stands for nobody: "<1" has the number 1, and "0" would have none above 0.
        """
        found = {"coarse": self.coarse, "fine": self.fine}
        low = None if weight else self.low
        return {
            name: bin_texts(limits, whole=whole, low=low)
            for name, limits in found.items()
            if name == "coarse" or limits != self.coarse
        }


def number_bins(values: np.ndarray, counts: np.ndarray, *, whole: bool) -> NumberBins:
    """Round bins for a column.

    Parameters
    ----------
    values, counts : (n_values,) different values, increasing, and how often each occurs.
    whole : True for whole numbers.
    """
    fixed = _zero(values, counts, whole)
    wanted = _logarithmic(values, counts, whole) or _even(values, counts, whole, fixed)
    coarse = _kept(values, counts, wanted[0], fixed)
    fine = _kept(values, counts, wanted[1], coarse)
    edge = round_step((values[-1] - values[0]) / 100, whole)
    low = _plain(math.floor(values[0] / edge) * edge)
    high = _plain(math.ceil((values[-1] + (1 if whole else 0)) / edge) * edge - (1 if whole else 0))
    groups = _groups(values, counts, coarse)
    return NumberBins(
        low=low,
        high=max(high, low + edge),
        coarse=coarse,
        fine=fine,
        groups=groups,
    )


def _zero(values: np.ndarray, counts: np.ndarray, whole: bool) -> tuple[float, ...]:
    """Limits that leave a frequent 0 alone: of whole numbers 0 and 1, of others 0 and a number below all positive ones."""
    at = int(np.searchsorted(values, 0))
    if at + 1 >= len(values) or values[at] != 0 or counts[at] < OWN_ZERO * counts.sum():
        return ()
    above = 1.0 if whole else _plain(10.0 ** math.floor(math.log10(values[at + 1])))
    return (above,) if at == 0 else (0.0, above)


def _even(values: np.ndarray, counts: np.ndarray, whole: bool, fixed: Sequence[float]) -> tuple[list[float], list[float]]:
    """Multiples of a step, for coarse and for fine bins; a frequent 0 has no say in the step."""
    inside = values > 0 if fixed else np.ones(len(values), dtype=bool)
    cumulated = np.cumsum(counts[inside]) / counts[inside].sum()
    first, last = (float(values[inside][np.searchsorted(cumulated, share)]) for share in (0.03, 0.97))
    step = round_step((last - first) / COARSE, whole)
    finer = min(_divisors(step, whole), key=lambda width: abs(math.log(width * FINE / max(last - first, width))))
    return _multiples(values, counts, step), _multiples(values, counts, finer)


def _logarithmic(values: np.ndarray, counts: np.ndarray, whole: bool) -> tuple[list[float], list[float]] | None:
    """1, 10, 100, ... or 1, 2, 5, 10, ... over the positive values, where these are skewed; None where they are not."""
    if (ends := skewed(values, counts)) is None:
        return None
    low, high = ends
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [_plain(10.0**power * factor) for power in powers for factor in _STEPS]
    fine = [limit for limit in fine if low <= limit <= high and (limit >= 1 or not whole)]
    every = next(step for step in (1, 2, 3, 6, 12) if len(fine) / step <= COARSE or step == 12)
    negative = [0.0] if values[0] < 0 else []
    return negative + fine[::every], negative + fine


def skewed(values: np.ndarray, counts: np.ndarray) -> tuple[float, float] | None:
    """The 3rd and the 97th percentile of the positive values, where most of these stand in a small part; None elsewhere."""
    positive = values > 0
    if counts[positive].sum() < counts.sum() / 20 or positive.sum() <= 20:
        return None
    cumulated = np.cumsum(counts[positive]) / counts[positive].sum()
    low, middle, high = (float(values[positive][np.searchsorted(cumulated, share)]) for share in (0.03, 0.5, 0.97))
    return (low, high) if high >= _SKEWED * middle else None


def _multiples(values: np.ndarray, counts: np.ndarray, step: float) -> list[float]:
    """Multiples of a step up to the largest value, at most a thousand, above the first below which a bin would be too empty: a
    single value far below all others would have the thousand for itself."""
    lowest = values[np.searchsorted(np.cumsum(counts) / counts.sum(), LEAST_SHARE / 2)]
    first = math.floor(lowest / step) + 1
    last = min(math.floor(values[-1] / step), first + 1000)
    return [multiple * step for multiple in range(first, last + 1)]


def _divisors(step: float, whole: bool) -> list[float]:
    """Round steps that a step is a multiple of."""
    parts = [step / part for part in (1, 2, 5, 10) if not whole or step % part == 0]
    return [part for part in parts if round_step(part, whole) == part] or [step]


def _kept(values: np.ndarray, counts: np.ndarray, limits: Sequence[float], fixed: Sequence[float]) -> tuple[float, ...]:
    """The fixed limits, and of the others those that leave no bin nearly empty."""
    kept = list(fixed)
    for limit in sorted({_plain(limit) for limit in limits if values[0] < limit <= values[-1]} - set(fixed)):
        trial = sorted([*kept, limit])
        at = trial.index(limit)  # only the two bins beside the new limit get smaller
        beside = _shares(values, counts, trial)[at : at + 2]
        if min(beside) >= LEAST_SHARE:
            kept = trial
    return tuple(kept)


def _groups(values: np.ndarray, counts: np.ndarray, limits: Sequence[float]) -> tuple[float, ...]:
    """The two limits whose smallest group is largest; the only limit where there is one."""
    pairs: list[tuple[float, ...]] = [*combinations(limits, 2)] or [tuple(limits)]
    return max(pairs, key=lambda pair: min(_shares(values, counts, pair)))


def _shares(values: np.ndarray, counts: np.ndarray, limits: Sequence[float]) -> list[float]:
    """Share of the rows in each bin between the limits."""
    rows = np.bincount(np.searchsorted(limits, values, side="right"), weights=counts, minlength=len(limits) + 1)
    return (rows / counts.sum()).tolist()


def round_step(width: float, whole: bool) -> float:
    """1, 2, 5 or 10 times a power of ten, near a width; at least 1 for whole numbers."""
    if not width > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    step = min((power * factor for factor in (1, 2, 5, 10)), key=lambda value: abs(math.log(value / width)))
    return max(1.0, step) if whole else step


def _plain(value: float) -> float:
    """A limit without the rounding errors of its multiplication."""
    return float(f"{value:.12g}")


def bin_texts(limits: Sequence[float], *, whole: bool, low: float | None = None) -> list[str]:
    """The bins between limits as they are written in a configuration, runs of single whole numbers as "18..44".

    Parameters
    ----------
    low : the lowest possible number. Where the first bin of whole numbers holds 0 alone it is written "0", since the number of
        "<1" in means is 1.
    """
    if not limits:
        raise ValueError("bins need at least one limit")
    first = f"<{_shown(limits[0])}"
    last = f">={_shown(limits[-1])}"
    if not whole:
        return [first, *(f"{_shown(a)} to {_shown(b)}" for a, b in zip(limits, limits[1:], strict=False)), last]
    texts: list[str] = []
    run: list[int] = []
    if low == 0 and limits[0] == 1:
        first, limits = "", [0, *limits]
    for a, b in zip(limits, limits[1:], strict=False):
        if b == a + 1:
            run.append(int(a))
            continue
        texts += _run_text(run)
        run = []
        texts.append(f"{int(a)}-{int(b) - 1}")
    return [*([first] if first else []), *texts, *_run_text(run), last]


def _run_text(run: Sequence[int]) -> list[str]:
    return [f"{run[0]}..{run[-1]}"] if len(run) > 1 else [str(value) for value in run]


def _shown(value: float) -> str:
    """A number without an exponent."""
    text = f"{value:.12f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
