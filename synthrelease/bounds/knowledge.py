"""What one release says about the original table at one confidence: its limits, ready to be used for any columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from synthrelease.bounds.limits import Limit, limits
from synthrelease.published import PublishedRelease


@dataclass(frozen=True, kw_only=True)
class CellError:
    """No cell of a table of at most `largest` columns is off by more than `rows`."""

    rows: int
    largest: int
    criterion: str


@dataclass(frozen=True, kw_only=True)
class RatioError:
    """No bin of a 1-way table is off by more than this factor (of counts plus 1)."""

    factor: float
    criterion: str


@dataclass(frozen=True, kw_only=True)
class MeanError:
    """No mean of `column` is off by more than `most` in the groups of `by`, nor overall where `overall` says so.

    `lowest` and `highest` clip the numbers; `size_margin` gives the sizes below which a group is filled up.
    """

    most: float
    column: str
    by: tuple[str, ...]
    overall: bool
    lowest: float
    highest: float
    size_margin: float
    criterion: str


@dataclass(frozen=True, kw_only=True)
class Unmatched:
    """All but `rows` original rows have a similar released row for themselves.

    `steps`: for the columns that may be one bin apart, whether each bin is similar to the next one up.
    """

    rows: int
    steps: Mapping[str, tuple[bool, ...]]
    criterion: str


class Knowledge:
    """The facts that hold together with the stated confidence, for all queries on a release."""

    def __init__(self, release: PublishedRelease, confidence: float, acceptance: float | None = None):
        self.release, self.n = release, release.n_rows
        self.limits = limits(release, confidence, acceptance)
        self.raw_rules = tuple(rule.never for rule in release.rules if "raw" in rule.applies_to)

    def _of_kind(self, kind: str) -> Iterable[tuple[Limit, Mapping[str, Any]]]:
        """Finite limits of the criteria of one kind, with their settings."""
        settings = self.release.evaluation.settings
        for limit in self.limits:
            if limit.score.kind == kind and math.isfinite(limit.limit):
                yield limit, settings[limit.index]

    @cached_property
    def cells(self) -> tuple[CellError, ...]:
        everything = len(self.release.schema)
        return tuple(
            CellError(
                rows=math.floor(self.n * limit.limit),  # counts are whole numbers
                largest=int(settings.get("largest") or everything),
                criterion=limit.score.name,
            )
            for limit, settings in self._of_kind("absolute_marginal_error")
        )

    @cached_property
    def ratios(self) -> tuple[RatioError, ...]:
        """A limit at the clip says nothing: larger ratios were counted as the clip."""
        return tuple(
            RatioError(factor=limit.limit, criterion=limit.score.name)
            for limit, settings in self._of_kind("relative_marginal_error")
            if limit.limit < float(settings["clip"])
        )

    @cached_property
    def means(self) -> tuple[MeanError, ...]:
        return tuple(
            MeanError(
                most=limit.limit,
                column=settings["column"],
                by=tuple(settings.get("by", ())),
                overall=bool(settings.get("overall", True)),
                lowest=float(settings["range"][0]),
                highest=float(settings["range"][1]),
                size_margin=float(settings["size_margin"]),
                criterion=limit.score.name,
            )
            for limit, settings in self._of_kind("conditional_mean")
        )

    @cached_property
    def unmatched(self) -> tuple[Unmatched, ...]:
        return tuple(
            Unmatched(
                rows=math.floor(self.n * limit.limit),
                steps={name: tuple(allowed) for name, allowed in settings.get("similar_to_next", {}).items()},
                criterion=limit.score.name,
            )
            for limit, settings in self._of_kind("faithfulness")
        )

    def groups(self, name: str) -> tuple[np.ndarray, ...]:
        """(n_bins,) for each group of a column, which released bins it holds; single bins where there are no groups."""
        labels = self.release.by_name[name].labels
        groups = self.release.evaluation.groups.get(name)
        if groups is None:
            return tuple(np.eye(len(labels), dtype=bool))
        return tuple(np.isin(labels, group) for group in groups)
