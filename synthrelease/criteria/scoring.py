"""All criteria of a release in their order: what they fit before the loop, and their scores of a candidate."""

from __future__ import annotations

from collections.abc import Iterable

from synthrelease.criteria.base import Criterion, Setting
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.scores import Score
from synthrelease.domain.synthetic_table import SyntheticTable
from synthrelease.enclave.door import PrivateCounts


def fitted_before(criteria: Iterable[Criterion], private: PrivateCounts, setting: Setting) -> Fitted:
    """What criteria fit before the loop. Spends the charges of `once` of each."""
    found = {criterion.name: criterion.prepare(private, setting) for criterion in criteria}
    return Fitted(regressions={name: regression for name, regression in found.items() if regression is not None})


def scores_of(
    criteria: Iterable[Criterion], private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted
) -> tuple[Score, ...]:
    """Every criterion's score of a candidate, in order; what one fits anew, later ones can use.

    Privacy
    -------
    Spends `per_score` of every criterion, whatever the others said, so that the time does not tell which one failed.
    """
    found = []
    for criterion in criteria:
        fitted = criterion.refit(private, candidate, setting, fitted)
        found.append(criterion.score(private, candidate, setting, fitted))
    return tuple(found)
