"""Other limits between the bins of a column of numbers, and what follows from them in both files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthrelease.data.schema import Column, IntervalBin, parse_bins
from synthrelease.drafting.bins import bin_texts
from synthrelease.drafting.numbers import bin_numbers
from synthrelease.drafting.public_bins import own_numbers
from synthrelease.drafting.public_file import PublicFile
from synthrelease.settings.columns import InputTable

Limits = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class MovedLimits:
    """What is written.

    Attributes
    ----------
    alternatives : the bins of each alternative that changes.
    numbers : what stands for bins, by their labels, as a whole.
    groups : the bins of [groups]; None where they stay as they are.
    """

    alternatives: Mapping[str, list[str]]
    numbers: Mapping[str, float]
    groups: list[str] | None


def limits_of(column: Column) -> dict[str, Limits]:
    """The limits between the bins of each alternative of a column of numbers; empty for others."""
    return {} if column.bounds is None else {name: each.lower[1:] for name, each in column.alternatives.items()}


def with_limits(
    column: Column,
    alternative: str,
    limits: Sequence[float],
    *,
    numbers: Mapping[str, Any],
    groups: Sequence[str] | None,
    public: PublicFile | None,
    policy: InputTable,
) -> MovedLimits:
    """Give one alternative other limits.

    A limit that only moves, moves in the other alternatives and in [groups], too, where these have it; one that goes leaves
    [groups]. A bin that is new has the mean of the public rows in it as its number, as in a draft.

    Parameters
    ----------
    limits : increasing, between the bounds.
    numbers : `numbers` of the column as they stand.
    groups : the bins of the column in [groups]; None where it has none, or names an alternative.
    public : the public file; without one new bins stand for their middle.
    policy : [input] of the configuration.

    Raises
    ------
    ValueError : for no limit, or one that is not between the bounds, or no whole number in a column of these.
    """
    whole, before = column.kind == "integer", limits_of(column)
    wanted = tuple(sorted(set(limits)))
    low, high = column.bounds or (-math.inf, math.inf)
    wrong = [each for each in wanted if not low < each <= high or (whole and each != int(each))]
    if wrong or not wanted:
        what = "whole numbers" if whole else "numbers"
        found = ", ".join(f"{each:.12g}" for each in wrong) or "none"
        raise ValueError(f"Expected limits that are {what} above {low:.12g} and at most {high:.12g}, found {found}.")
    old = before[alternative]
    moved = {a: b for a, b in zip(old, wanted, strict=True) if a != b} if len(old) == len(wanted) else {}
    after = {name: wanted if name == alternative else _moved(each, moved) for name, each in before.items()}
    texts = {name: _texts(column, name, after[name]) for name in before if after[name] != before[name]}
    labels = {name: [*column.alternatives[name].labels] for name in before} | {
        name: [one.label for one in parse_bins(each, whole_numbers=whole)] for name, each in texts.items()
    }
    every = {label for each in labels.values() for label in each}
    known = {label for binning in column.alternatives.values() for label in binning.labels}
    fresh = [one for each in texts.values() for one in parse_bins(each, whole_numbers=whole) if one.label not in known]
    kept = {label: number for label, number in numbers.items() if label in every}
    return MovedLimits(
        alternatives=texts,
        numbers=kept | _numbers(column, fresh, public, policy),
        groups=None if groups is None else _groups(groups, moved, set(old) - set(wanted), whole),
    )


def _moved(limits: Limits, moved: Mapping[float, float]) -> Limits:
    """Where a limit would meet another one, all stay."""
    found = tuple(sorted(moved.get(each, each) for each in limits))
    return found if len(set(found)) == len(limits) and not set(moved.values()) & set(limits) else limits


def _texts(column: Column, alternative: str, limits: Limits) -> list[str]:
    """The bins as they are written; the first and the last stay as closed as they were."""
    binning, whole = column.alternatives[alternative], column.kind == "integer"
    texts = bin_texts(limits, whole=whole)
    first, last = binning.lower[0], binning.upper[-1]
    if math.isfinite(first):
        texts[0] = _closed(first, limits[0], whole)
    if math.isfinite(last):
        texts[-1] = _closed(limits[-1], last, whole)
    return texts


def _closed(low: float, high: float, whole: bool) -> str:
    if not whole:
        return f"{low:.12g} to {high:.12g}"
    return f"{low:.0f}" if high == low + 1 else f"{low:.0f}-{high - 1:.0f}"


def _groups(groups: Sequence[str], moved: Mapping[float, float], gone: set[float], whole: bool) -> list[str] | None:
    bins = parse_bins([str(each) for each in groups], whole_numbers=whole)
    before = [one.lower for one in bins[1:]]
    after = sorted({moved.get(each, each) for each in before if each in moved or each not in gone})
    if after == before or not after:
        return None
    return bin_texts(after, whole=whole)


def _numbers(column: Column, fresh: Sequence[IntervalBin], public: PublicFile | None, policy: InputTable) -> dict[str, float]:
    if public is None or column.source not in public.columns or column.bounds is None or not fresh or column.dates is not None:
        return {}
    values, times = own_numbers(public, column, policy)
    if not len(values):
        return {}
    order = np.argsort(values)
    return bin_numbers(values[order], times[order], fresh, column.bounds, column.kind == "integer")
