"""All criteria of a release in their order: what they fit before the loop, their scores of a candidate, and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from synthrelease.criteria.base import Criterion, Setting
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.one_noise import MECHANISM, OneNoise
from synthrelease.criteria.scores import Query, Score
from synthrelease.data.synthetic_table import SyntheticTable

if TYPE_CHECKING:
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


def figures_of(
    criteria: Sequence[Criterion],
    private: PrivateCounts,
    candidate: SyntheticTable,
    setting: Setting,
    fitted: Fitted,
    noises: Mapping[str, OneNoise],
) -> tuple[Score, ...]:
    """Every criterion's figure of an accepted candidate, in order, those in `noises` with the one noise that they share.

    Privacy
    -------
    Spends `per_score` of every criterion. What is fitted anew is paid for first, for all of them; then all queries are made, so
    that none rests on the figure of another, and the vector of those that share a noise costs the sum of their epsilons
    (`mechanism.noisy_figures`). A void figure is part of it, whatever is then said of it.
    """
    for criterion in criteria:
        fitted = criterion.refit(private, candidate, setting, fitted)
    asked = {each.name: each.asked(private.n, candidate, setting, fitted) for each in criteria}
    sharing = [each for each in criteria if each.name in noises]
    shared = _together(sharing, private, asked, noises[sharing[0].name]) if sharing else {}
    return tuple(shared.get(each.name) or each.answer(private, asked[each.name]) for each in criteria)


def _together(
    criteria: Sequence[Criterion], private: PrivateCounts, asked: Mapping[str, Query | Score], noise: OneNoise
) -> dict[str, Score]:
    """The figures of these criteria with one noise, which takes the charges of all of them off the plan."""
    from synthrelease.criteria.mechanism import noisy_figures  # here, for readers of a release have no use for it

    queries = [query for each in criteria if isinstance(query := asked[each.name], Query)]
    vector = partial(noisy_figures, queries=queries, noise=noise, rows=private.n, entropy=private.entropy)
    noisy = private.spend([each.charge for each in criteria], vector)
    found = [each.released(query, figure) for each, query, figure in zip(criteria, queries, noisy, strict=True)]
    return {score.name: replace(score, mechanism=MECHANISM, one_noise=noise) for score in found}
