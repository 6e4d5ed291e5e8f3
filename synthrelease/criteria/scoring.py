"""Score candidates by each criterion of a release, or by one joint test of all criteria. Also detect criteria that every or
no table meets.

Private regressions that are fitted only once are fitted before the rounds. With a joint test, criterion values are computed
after a candidate is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from synthrelease.criteria.base import Criterion, Fitted, MeasuredAnswers, Setting
from synthrelease.criteria.facts import MECHANISM, OneNoise, Query, Score, figure
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.privacy.charges import JOINT_TEST, Charge, mechanism
from synthrelease.privacy.grids import laplace_tail

if TYPE_CHECKING:
    from synthrelease.enclave.door import PrivateCounts

# One noisy test for all criteria of a round. The joint test adds one draw of noise to the smallest slack (theory 4.1, least
# slack).


@dataclass(frozen=True, kw_only=True)
class JointTest:
    """A joint test: one noisy number decides whether a candidate meets all criteria.

    Attributes
    ----------
    false_acceptance : the largest probability that a candidate passes although some exact value is above its threshold.
    """

    most_rows: ClassVar[int] = 2**30
    """Largest number of rows at which rounding errors of slacks are below a quarter of a grid step, which is 2^-12. The
    errors are 8 n 2^-53 sensitivities, or t n 2^-53 for the slack of a ratio with threshold t."""

    epsilon: Fraction
    false_acceptance: Fraction

    @property
    def charge(self) -> Charge:
        return mechanism(JOINT_TEST, self.epsilon, "Laplace mechanism on the least slack")

    @property
    def margin(self) -> float:
        """The smallest noisy slack (distance from failing, in units of the sensitivity) with which a candidate passes.
        Noise alone exceeds it with probability at most `false_acceptance`.
        """
        return laplace_tail(sensitivity=1.0, epsilon=self.epsilon, probability=self.false_acceptance)

    def passes(self, private: PrivateCounts, pairs: Sequence[tuple[Criterion, Query | Score]]) -> bool:
        return self.noisy_slack(private, pairs) >= self.margin and all(
            answer.passed for _, answer in pairs if isinstance(answer, Score)
        )

    def noisy_slack(self, private: PrivateCounts, pairs: Sequence[tuple[Criterion, Query | Score]]) -> float:
        """Return, with noise, the smallest slack (distance from failing) of all criteria that need the private table.

        Parameters
        ----------
        private : the private table on the candidate's bins, which records the charges that this round may spend.
        pairs : every criterion with its query, or with its score if it does not need the private table.

        Privacy
        -------
        The result is eps-DP; neighbours replace one record. Each slack has sensitivity 1 (`Query`). So the minimum of the
        slacks, which gets Laplace noise of scale 1 / eps, also has sensitivity 1 (Proposition 3). Scores are public:
        `passes` uses them without noise, and this method ignores them.
        """
        from synthrelease.criteria.base_mechanism import noisy_least_slack

        queries = [(criterion.threshold, query) for criterion, query in pairs if isinstance(query, Query)]
        least = partial(noisy_least_slack, queries=queries, epsilon=self.epsilon, entropy=private.entropy)
        noisy = private.spend(self.charge, least)
        return noisy.value


def fitted_before(
    criteria: Iterable[Criterion], private: PrivateCounts, setting: Setting, answers: MeasuredAnswers | None = None
) -> Fitted:
    """Fit the regressions that criteria need before the first round, at the charges in `once`. Return them with the limits
    from the shared noisy tables.
    """
    prepared = {criterion.name: criterion.prepare(private, setting, answers) for criterion in criteria}
    regressions = {name: regression for name, regression in prepared.items() if regression is not None}
    return Fitted(regressions=regressions, answers=answers)


def scores_of(
    criteria: Iterable[Criterion], private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted
) -> tuple[Score, ...]:
    """Score a candidate by every criterion, in order. Later criteria can use regressions that earlier criteria refitted.

    Privacy
    -------
    Spends `per_score` of every criterion, even if other criteria have failed. So the time does not reveal which criterion
    failed.
    """
    scores = []
    for criterion in criteria:
        fitted = criterion.refit(private, candidate, setting, fitted)
        scores.append(criterion.score(private, candidate, setting, fitted))
    return tuple(scores)


def figures_of(
    criteria: Sequence[Criterion],
    private: PrivateCounts,
    candidate: SyntheticTable,
    setting: Setting,
    fitted: Fitted,
    noises: Mapping[str, OneNoise],
) -> tuple[Score, ...]:
    """Score an accepted candidate by every criterion, in order. The values of the criteria in `noises` share one noise
    vector.

    Privacy
    -------
    Spends `per_score` of every criterion. First, all regressions are fitted again. Then all queries are made, so that no
    query depends on the value of another query. The vector of the criterion values that share noise costs the sum of their
    epsilons (`base_mechanism.noisy_figures`). The values of void queries are part of this vector.
    """
    for criterion in criteria:
        fitted = criterion.refit(private, candidate, setting, fitted)
    queries = {criterion.name: criterion.asked(private.n, candidate, setting, fitted) for criterion in criteria}
    sharing = [criterion for criterion in criteria if criterion.name in noises]
    shared = _together(sharing, private, queries, noises[sharing[0].name]) if sharing else {}
    return tuple(shared.get(criterion.name) or criterion.answer(private, queries[criterion.name]) for criterion in criteria)


def _together(
    criteria: Sequence[Criterion], private: PrivateCounts, all_queries: Mapping[str, Query | Score], noise: OneNoise
) -> dict[str, Score]:
    """Release the values of these criteria with one shared noise vector, at their charges."""
    from synthrelease.criteria.base_mechanism import noisy_figures  # readers of a release do not need this module

    queries = [query for criterion in criteria if isinstance(query := all_queries[criterion.name], Query)]
    vector = partial(noisy_figures, queries=queries, noise=noise, rows=private.n, entropy=private.entropy)
    noisy = private.spend([criterion.charge for criterion in criteria], vector)
    scores = [criterion.released(query, figure) for criterion, query, figure in zip(criteria, queries, noisy, strict=True)]
    return {score.name: replace(score, mechanism=MECHANISM, one_noise=noise) for score in scores}


# Criteria that test nothing: a threshold is compared with the range of the criterion value and with the noise.
#
# `synthrelease plan` checks this without data, as far as the settings determine it. A rehearsal also uses the sensitivities on
# public rows.

MOST_LUCK = 0.05
"""Largest accepted probability that a perfect candidate fails because of the noise."""


class NobodyPasses(str):
    """A reason why no table can meet a threshold, whatever generator is used."""

    __slots__ = ()


def none_can_fail(criteria: Iterable[Criterion]) -> str:
    """Return the reasons why none of these criteria can refuse a table, "" if some criterion can.

    A criterion can refuse a table if its threshold is below the worst possible criterion value, or if that is unknown.
    Criteria that use only released rows do not compare tables, and so do not count.
    """
    reasons = []
    for criterion in criteria:
        worst = criterion.worst_figure
        if not criterion.compares:
            reasons.append(f"{criterion.name!r}, which uses released rows only")
        elif criterion.threshold >= worst:
            threshold = figure(criterion.threshold)
            reasons.append(f"{criterion.name!r} with a threshold of {threshold} (worst value: {figure(worst)})")
        else:
            return ""
    return "; ".join(reasons)


def uninformative(criterion: Criterion, joint_test: JointTest | None, sensitivity: float | None) -> Iterator[str]:
    """Yield the reason why a criterion accepts every table, accepts no table, or depends mostly on noise, if it does.

    Parameters
    ----------
    joint_test : the joint test of the release, or None.
    sensitivity : the sensitivity of the criterion value, a lower limit on it, or None if unknown.
    """
    threshold, best, worst = criterion.threshold, criterion.best_figure, criterion.worst_figure
    if not criterion.compares:
        return
    if threshold >= worst:
        yield (
            f"the threshold is {figure(threshold)}, and the value of this criterion is never above {figure(worst)}. So every "
            "table passes. Choose a smaller threshold."
        )
        return
    if sensitivity is None or criterion.answered_by is not None:
        return
    room = threshold - best
    if room <= 0:
        yield NobodyPasses(
            f"the threshold is {figure(threshold)}, and the value of this criterion is never below {figure(best)}. So not even "
            "a perfect table can pass, except by chance because of the noise. Choose a larger threshold."
        )
    elif joint_test is not None:
        margin = joint_test.margin * sensitivity
        if margin >= room:
            yield NobodyPasses(
                f"the threshold is {figure(threshold)}, and the margin of the joint test for this criterion is at least "
                f"{figure(margin, 2)}. The threshold is only {figure(room, 2)} above the best possible value {figure(best)}. "
                "So not even a perfect table can pass. Choose a larger threshold or test_epsilon."
            )
        elif margin >= room / 2:
            yield (
                f"the margin of the joint test is at least {margin / room:.0%} of the distance between the best possible value "
                f"{figure(best)} and the threshold {figure(threshold)}. Tables with a value above "
                f"{figure(threshold - margin, 2)} mostly fail. Choose a larger threshold or test_epsilon."
            )
    elif criterion.figure_gets_noise and (luck := math.exp(-room * float(criterion.epsilon) / sensitivity) / 2) >= MOST_LUCK:
        enough = math.log(1 / (2 * MOST_LUCK)) * sensitivity / room
        yield (
            f"the noise of this criterion is large compared with its threshold {figure(threshold)}. A perfect table is "
            f"rejected in at least {luck:.0%} of cases. A table whose value is above the threshold by the same distance is "
            f"accepted equally often. Choose an epsilon of at least {figure(enough, 2)}, or a larger threshold."
        )


def unanswerable(criterion: Criterion, least: float) -> Iterator[str]:
    """Yield a reason if the noise of the measured tables alone lifts the bound of a criterion with `answered_by` above its
    threshold, or more than halfway to it.

    `least` is a lower limit on the bound of any table.
    """
    if least > criterion.threshold:
        yield NobodyPasses(
            f"the threshold is {figure(criterion.threshold)}, but the noise of the measurements alone makes the bound of this "
            f"criterion at least {figure(least, 2)}. So not even a perfect table can pass. Give the measured tables of this "
            "criterion more of the budget, or replace answered_by with an epsilon."
        )
    elif least - criterion.best_figure > (criterion.threshold - criterion.best_figure) / 2:
        yield (
            f"the noise of the measurements alone makes the bound of this criterion at least {figure(least, 2)}, which is more "
            f"than halfway to the threshold {figure(criterion.threshold)}. Give the measured tables of this criterion more of "
            "the budget, or replace answered_by with an epsilon."
        )
