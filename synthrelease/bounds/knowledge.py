"""What one release says about its file at one confidence: its limits, ready to be used for any columns.

They are about the rows R that the release worked with, and about how many more rows of the file the rules keep.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from synthrelease.bounds.kept import RISK, KeptRows
from synthrelease.bounds.limits import check_confidence, divided_risk, limits
from synthrelease.bounds.measured import MeasuredLimits
from synthrelease.criteria.facts import CellError, KnownError, MeanError, RatioError, SumErrors, Unmatched
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import criterion_of, public_facts


class Knowledge:
    """The facts that hold together with the stated confidence, for all queries on a release."""

    def __init__(self, release: PublishedRelease, confidence: float, acceptance: float | None = None):
        if release.figures_about:
            raise InputError(
                f"{release.folder}: expected figures about all rows, found ones about {release.figures_about}: no bound for "
                "all rows follows from them."
            )
        self.release, self.n = release, release.n_rows
        check_confidence(confidence)
        self.kept = KeptRows.of(release)
        spare = self.kept.spare(confidence)
        counting = RISK * spare if self.kept.way == "counted" else 0.0
        self.more = self.kept.more(counting)
        """So many kept rows of the file are not among R, at most."""
        rest = 1 - (spare - counting)
        self.limits = limits(release, rest, acceptance)
        self.measured = MeasuredLimits.of(release, divided_risk(release, rest, acceptance)[1], acceptance)
        self.raw_rules = tuple(rule.never for rule in release.rules if "raw" in rule.applies_to)

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

    @cached_property
    def sums(self) -> tuple[SumErrors, ...]:
        return tuple(error for error in self.errors if isinstance(error, SumErrors))

    def groups(self, name: str) -> tuple[np.ndarray, ...]:
        """(n_bins,) for each group of a column, which released bins it holds; single bins where there are no groups."""
        labels = self.release.by_name[name].labels
        groups = self.release.evaluation.groups.get(name)
        if groups is None:
            return tuple(np.eye(len(labels), dtype=bool))
        return tuple(np.isin(labels, group) for group in groups)
