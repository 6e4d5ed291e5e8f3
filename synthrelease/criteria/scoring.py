"""Score a candidate by all criteria of a release in their order, or by one joint test, and say which criteria can say anything.

Before the loop each criterion fits what it fits once; an accepted candidate gets its figures afterwards.
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

# One noisy test for all criteria of a round (theory 4.1, least slack): the least slack, with one draw of noise.


@dataclass(frozen=True, kw_only=True)
class JointTest:
    """Whether a candidate meets all criteria, decided by one noisy number.

    Attributes
    ----------
    epsilon : budget of one test.
    false_acceptance : largest probability that a round passes although some criterion is above its threshold.
    """

    most_rows: ClassVar[int] = 2**30
    """Its grid, of steps of 2^-12, is the same for any number of rows, so the rounding of slacks must stay below a quarter of a
    step: 8 n 2^-53 sensitivities, and for a ratio's slack, of counts times a threshold t, t n 2^-53."""

    epsilon: Fraction
    false_acceptance: Fraction

    @property
    def charge(self) -> Charge:
        return mechanism(JOINT_TEST, self.epsilon, "Laplace mechanism on the least slack")

    @property
    def margin(self) -> float:
        """Return the least accepted noisy slack, in sensitivities: noise alone reaches it with probability
        `false_acceptance` at most.
        """
        return laplace_tail(sensitivity=1.0, epsilon=self.epsilon, probability=self.false_acceptance)

    def passes(self, private: PrivateCounts, pairs: Sequence[tuple[Criterion, Query | Score]]) -> bool:
        """Return whether a candidate passes: the noisy least slack reaches the margin, and so does every public score."""
        return self.noisy_slack(private, pairs) >= self.margin and all(
            answer.passed for _, answer in pairs if isinstance(answer, Score)
        )

    def noisy_slack(self, private: PrivateCounts, pairs: Sequence[tuple[Criterion, Query | Score]]) -> float:
        """Return the least slack of all queries, with noise.

        Parameters
        ----------
        private : the private table on the candidate's bins, with this round's meter.
        pairs : every criterion with its query about the candidate, or its score where nothing private is asked.

        Privacy
        -------
        eps-DP, neighbours replace one record: each slack has sensitivity 1 (`Query`), so has their minimum (Proposition 3),
        and it gets Laplace noise of scale 1 / eps. Scores are public: they are left out here, and decide without noise.
        """
        from synthrelease.criteria.base_mechanism import noisy_least_slack

        queries = [(criterion.threshold, query) for criterion, query in pairs if isinstance(query, Query)]
        least = partial(noisy_least_slack, queries=queries, epsilon=self.epsilon, entropy=private.entropy)
        noisy = private.spend(self.charge, least)
        return noisy.value


def fitted_before(
    criteria: Iterable[Criterion], private: PrivateCounts, setting: Setting, answers: MeasuredAnswers | None = None
) -> Fitted:
    """Fit what criteria need before the loop, with the answers of the shared measurements. Spends the charges of `once` of
    each.
    """
    prepared = {criterion.name: criterion.prepare(private, setting, answers) for criterion in criteria}
    regressions = {name: regression for name, regression in prepared.items() if regression is not None}
    return Fitted(regressions=regressions, answers=answers)


def scores_of(
    criteria: Iterable[Criterion], private: PrivateCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted
) -> tuple[Score, ...]:
    """Return every criterion's score of a candidate, in order; a later criterion can use an earlier one's new fit.

    Privacy
    -------
    Spends `per_score` of every criterion, whatever the others said, so that the time does not tell which one failed.
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
    """Return every criterion's figure of an accepted candidate, in order; those in `noises` share that one noise.

    Privacy
    -------
    Spends `per_score` of every criterion. What is fitted anew is paid for first, for all of them; then all queries are made, so
    that none rests on the figure of another, and the vector of those that share a noise costs the sum of their epsilons
    (`base_mechanism.noisy_figures`). A void figure is part of it, whatever is then said of it.
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
    """Return the figures of these criteria with one noise, which spends the charges of all of them."""
    from synthrelease.criteria.base_mechanism import noisy_figures  # here, for readers of a release have no use for it

    queries = [query for criterion in criteria if isinstance(query := all_queries[criterion.name], Query)]
    vector = partial(noisy_figures, queries=queries, noise=noise, rows=private.n, entropy=private.entropy)
    noisy = private.spend([criterion.charge for criterion in criteria], vector)
    scores = [criterion.released(query, figure) for criterion, query, figure in zip(criteria, queries, noisy, strict=True)]
    return {score.name: replace(score, mechanism=MECHANISM, one_noise=noise) for score in scores}


# Whether a criterion can say anything at all: its threshold against what the figure can be, and against its noise.
#
# Known without data, as far as the settings tell (`synthrelease plan`); with the sensitivities that public rows showed, a
# rehearsal knows more.

MOST_LUCK = 0.05
"""Probability that noise decides about a candidate without any error; beyond it a criterion is a matter of luck."""


class NobodyPasses(str):
    """Why no table at all meets a threshold, whatever the generator does."""

    __slots__ = ()


def none_can_fail(criteria: Iterable[Criterion]) -> str:
    """Return why none of these criteria can refuse a table for being unlike the original one; empty where one can.

    A criterion can when its threshold is below the worst figure that is possible, or when that is not known
    (`Criterion.worst_figure` is infinite). One that looks at released rows alone says nothing about likeness. An answer
    from measurements may lie above the worst figure; a threshold there promises nothing either.
    """
    reasons = []
    for criterion in criteria:
        worst = criterion.worst_figure
        if not criterion.compares:
            reasons.append(f"{criterion.name!r}, which looks at released rows alone")
        elif criterion.threshold >= worst:
            reasons.append(
                f"{criterion.name!r} with a threshold of {figure(criterion.threshold)}, where {figure(worst)} is the worst"
            )
        else:
            return ""
    return "; ".join(reasons)


def uninformative(criterion: Criterion, joint_test: JointTest | None, sensitivity: float | None) -> Iterator[str]:
    """Yield why a criterion can refuse nothing, accept nothing, or decides by luck; nothing for a criterion that can say
    something.

    Parameters
    ----------
    joint_test : of the release, or None where every figure decides by itself.
    sensitivity : of the figure, or what it is at least; None where it is not known.
    """
    threshold, best, worst = criterion.threshold, criterion.best_figure, criterion.worst_figure
    if not criterion.compares:
        return
    if threshold >= worst:
        yield (
            f"its value cannot exceed {figure(worst)}, and the threshold is {figure(threshold)}. Every table passes, so the "
            "criterion tests nothing. Take a smaller threshold."
        )
        return
    if sensitivity is None or criterion.answered_by is not None:
        return
    room = threshold - best
    if room <= 0:
        yield NobodyPasses(
            f"its value cannot be below {figure(best)}, and the threshold is {figure(threshold)}. No table can pass, not even "
            "a perfect one, except by the luck of noise. Take a larger threshold."
        )
    elif joint_test is not None:
        margin = joint_test.margin * sensitivity
        if margin >= room:
            yield NobodyPasses(
                f"the margin of the joint test is {figure(margin, 2)} or more in its unit, and the threshold is "
                f"{figure(threshold)}. No table can pass, not even a perfect one. Take a larger threshold or test_epsilon."
            )
        elif margin >= room / 2:
            yield (
                f"the margin of the joint test takes {margin / room:.0%} or more of the threshold {figure(threshold)}. Tables "
                f"with a value above {figure(threshold - margin, 2)} mostly fail. Take a larger threshold or test_epsilon."
            )
    elif criterion.figure_gets_noise and (luck := math.exp(-room * float(criterion.epsilon) / sensitivity) / 2) >= MOST_LUCK:
        enough = math.log(1 / (2 * MOST_LUCK)) * sensitivity / room
        yield (
            f"its noise is large beside its threshold {figure(threshold)}. A perfect table is refused in {luck:.0%} of cases "
            f"or more, and a table with an error as far above the threshold passes as often. Take an epsilon of "
            f"{figure(enough, 2)} or more, or a larger threshold."
        )


def unanswerable(criterion: Criterion, least: float) -> Iterator[str]:
    """Yield why the noise of the measurements alone lets no table pass, or few; nothing for a criterion that can be answered.

    Parameters
    ----------
    least : what the bound is at least, whatever the tables.
    """
    if least > criterion.threshold:
        yield NobodyPasses(
            f"the noise of the measurements alone makes its bound {figure(least, 2)} or more, and the threshold is "
            f"{figure(criterion.threshold)}. No table can pass, not even a perfect one. Give its tables more of the budget, or "
            "the criterion an epsilon in place of answered_by."
        )
    elif least - criterion.best_figure > (criterion.threshold - criterion.best_figure) / 2:
        yield (
            f"the noise of the measurements alone makes its bound {figure(least, 2)} or more of the threshold "
            f"{figure(criterion.threshold)}. Give its tables more of the budget, or the criterion an epsilon in place of "
            "answered_by."
        )
