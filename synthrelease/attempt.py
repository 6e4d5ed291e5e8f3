"""One whole attempt: draw nothing, decide nothing; make the candidate of one configuration and score it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synthrelease.candidate import Candidate, make_candidate
from synthrelease.configuration import Configuration
from synthrelease.criteria import Score
from synthrelease.private import PrivateCounts
from synthrelease.spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A candidate with its noisy scores. Accepted when every criterion passed."""

    candidate: Candidate
    scores: tuple[Score, ...]

    @property
    def accepted(self) -> bool:
        return all(score.passed for score in self.scores)


def prepare(spec: ReleaseSpec, private: PrivateCounts) -> dict[str, object]:
    """What the criteria compute once before the loop (spends the one-off charges of the plan)."""
    return {criterion.name: criterion.prepare(private, spec.setting) for criterion in spec.criteria}


def attempt(spec: ReleaseSpec, configuration: Configuration, private: PrivateCounts, prepared: Mapping[str, object]) -> Attempt:
    """Generate and score one candidate.

    Every criterion is scored whatever the others said, so that the time of a round does not tell which one failed.

    Raises
    ------
    RejectedRound : when the noisy model yields no candidate.

    Privacy
    -------
    Spends the charges of one round, `spec.plan.per_round`, each once (the fresh meter enforces it).
    """
    transformation = configuration.transformation
    merged = private.with_plan(spec.plan.per_round).merge(transformation.layout, transformation.maps)
    candidate = make_candidate(configuration, merged, spec.synthetic.merge(transformation), spec.generation_epsilon)
    earlier = dict(prepared)
    scores = tuple(criterion.score(merged, candidate, spec.setting, earlier) for criterion in spec.criteria)
    return Attempt(candidate=candidate, scores=scores)
