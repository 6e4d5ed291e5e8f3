"""What one release says about the original table at one confidence: its limits, ready to be used for any columns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from synthrelease.bounds.building import build_facts
from synthrelease.bounds.facts import Facts
from synthrelease.bounds.limits import limits
from synthrelease.bounds.program import maximum
from synthrelease.criteria.known_errors import CellError, KnownError, MeanError, RatioError, Unmatched
from synthrelease.published import PublishedRelease
from synthrelease.published.facts import criterion_of, public_facts

_RAW_RULE = re.compile(r"(.*) \((?:raw|raw, synthetic|synthetic, raw)\)", re.DOTALL)


class Knowledge:
    """The facts that hold together with the stated confidence, for all queries on a release."""

    def __init__(self, release: PublishedRelease, confidence: float, acceptance: float | None = None):
        self.release, self.n = release, release.n_rows
        self.limits = limits(release, confidence, acceptance)
        self.raw_rules = tuple(match[1] for match in map(_RAW_RULE.fullmatch, release.rules) if match)

    @cached_property
    def errors(self) -> tuple[KnownError, ...]:
        """What every finite limit says, in the words of its criterion."""
        facts = public_facts(self.release)
        finite = [limit for limit in self.limits if math.isfinite(limit.limit)]
        asked = [(criterion_of(self.release, limit.index), limit.limit) for limit in finite]
        found = [criterion.known_error(limit, facts) for criterion, limit in asked if criterion is not None]
        return tuple(error for error in found if error is not None)

    @cached_property
    def cells(self) -> tuple[CellError, ...]:
        return tuple(error for error in self.errors if isinstance(error, CellError))

    @cached_property
    def ratios(self) -> tuple[RatioError, ...]:
        return tuple(error for error in self.errors if isinstance(error, RatioError))

    @cached_property
    def means(self) -> tuple[MeanError, ...]:
        return tuple(error for error in self.errors if isinstance(error, MeanError))

    @cached_property
    def unmatched(self) -> tuple[Unmatched, ...]:
        return tuple(error for error in self.errors if isinstance(error, Unmatched))

    def groups(self, name: str) -> tuple[np.ndarray, ...]:
        """(n_bins,) for each group of a column, which released bins it holds; single bins where there are no groups."""
        labels = self.release.by_name[name].labels
        groups = self.release.evaluation.groups.get(name)
        if groups is None:
            return tuple(np.eye(len(labels), dtype=bool))
        return tuple(np.isin(labels, group) for group in groups)

    @cached_property
    def smallest_groups(self) -> dict[str, tuple[int, ...]]:
        """How many original rows each group of a conditional mean has at least, from the 1-way table of its column."""
        found = {}
        for name in {name for error in self.means for name in error.by}:
            masks = self.groups(name)
            facts = build_facts(self, [name], masks, means=False)
            lowest = (-maximum(facts, -mask.astype(float)).value for mask in masks)
            found[name] = tuple(max(0, math.ceil(value - 1e-6)) for value in lowest)
        return found

    def facts(self, columns: Iterable[str], conditions: Sequence[np.ndarray], keep: str | None = None) -> Facts:
        """The facts about the cells of some columns.

        Parameters
        ----------
        conditions : boolean arrays over the combinations of bins of these columns, whose counts matter. In large tables only
            they are told apart.
        keep : a column whose bins are never merged, because it is averaged.
        """
        return build_facts(self, columns, conditions, keep)
