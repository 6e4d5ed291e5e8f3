"""Coverage of bounds under hard selection: most rounds are rejected, and what is accepted is often only lucky.

Candidates come from real attempts; the noise of their figures, and with it the selection, is drawn again and again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synthrelease.answers.bounds import bound
from synthrelease.answers.limits import limits
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria.marginals_mechanism import largest_difference
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, RejectedRound
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.noise import laplace_figure
from synthrelease.privacy.plan import Guarantee
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.published import PublishedRelease, load
from synthrelease.releasing.attempt import attempt, prepare
from synthrelease.releasing.release import Release
from synthrelease.spec.load import load_spec
from tests.helpers.queries import random_query
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

CONFIDENCE, CANDIDATES, EPSILON = 0.8, 30, Fraction(1, 2)


@dataclass(frozen=True)
class Candidate:
    """A candidate as it would be published, its true error, and the original table."""

    release: PublishedRelease
    error: float
    original: Counts

    def figure(self, entropy: SeededEntropy, threshold: float) -> PublishedRelease | None:
        """The release with a freshly drawn figure; None when that is above the threshold."""
        score = self.release.criteria[0]
        value = laplace_figure(self.error, sensitivity=score.sensitivity or 0.0, epsilon=EPSILON, entropy=entropy).value
        fresh = replace(score, value=value, threshold=threshold)
        return replace(self.release, criteria=(fresh, *self.release.criteria[1:])) if value <= threshold else None


@pytest.fixture(scope="module")
def candidates(tmp_path_factory: pytest.TempPathFactory) -> list[Candidate]:
    folder = tmp_path_factory.mktemp("candidates")
    spec = load_spec(write_config(folder, {"generation = 10": "generation = 1"}))
    public = read_public(write_data(folder), spec.schema, spec.input, spec.raw)
    private = PrivateCounts(public, Meter(())).rehearsed(SeededEntropy(11))
    prepared, configuration = prepare(spec, private), spec.space[0]
    original = public.merge(configuration.transformation.layout, configuration.transformation.maps)
    found: list[Candidate] = []
    while len(found) < CANDIDATES:
        try:
            result = attempt(spec, configuration, private, prepared)
        except RejectedRound:
            continue
        release = Release(
            spec=spec,
            guarantee=Guarantee(epsilon=spec.plan.total.epsilon),
            charges=spec.plan.total,
            candidate=result.candidate,
            scores=result.scores,
        )
        published = load(write_bundle(release, folder / f"release{len(found)}"))
        found.append(Candidate(published, largest_difference(original, result.candidate.counts, 2) / public.total, original))
    return found


def accepted(candidates: list[Candidate], threshold: float, wanted: int) -> list[tuple[Candidate, PublishedRelease]]:
    """Releases of a search over these candidates, drawn uniformly, with this threshold."""
    entropy, random = SeededEntropy(5), np.random.default_rng(7)
    found: list[tuple[Candidate, PublishedRelease]] = []
    while len(found) < wanted:
        candidate = candidates[random.integers(len(candidates))]
        release = candidate.figure(entropy, threshold)
        if release is not None:
            found.append((candidate, release))
    return found


def test_limits_hold_as_often_as_stated_where_naive_ones_do_not(candidates: list[Candidate]) -> None:
    errors = [candidate.error for candidate in candidates]
    scale = (candidates[0].release.criteria[0].noise_sd or 0.0) / math.sqrt(2)
    for threshold in (min(errors) - 2 * scale, float(np.median(errors)), max(errors) + 10 * scale):
        found = accepted(candidates, threshold, 1000)
        held = [candidate.error <= limits(release, CONFIDENCE)[0].limit for candidate, release in found]
        assert np.mean(held) >= CONFIDENCE - 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / len(found))
        if threshold < min(errors):  # every accepted candidate is one that should have been rejected
            naive = [
                candidate.error <= r.criteria[0].value + scale * math.log(1 / (2 - 2 * CONFIDENCE)) for candidate, r in found
            ]
            assert np.mean(naive) < 0.3


def test_all_queries_of_a_release_are_covered_together(candidates: list[Candidate]) -> None:
    random, covered, informative = np.random.default_rng(2), [], 0
    for candidate, release in accepted(candidates, max(c.error for c in candidates) + 0.02, 40):
        informative += math.isfinite(limits(release, CONFIDENCE)[0].limit)
        wrong = 0
        for _ in range(8):
            query = random_query(release, candidate.original, random)
            try:
                found = bound(release, confidence=CONFIDENCE, **query.arguments)  # type: ignore[arg-type]
            except InputError:
                continue  # no released row meets the condition
            if not math.isnan(query.truth):
                wrong += not found.low - 1e-9 <= query.truth <= found.high + 1e-9
        covered.append(wrong == 0)
    assert informative > 30
    assert np.mean(covered) >= CONFIDENCE


def test_a_folder_can_be_asked_by_its_name(candidates: list[Candidate]) -> None:
    release = candidates[0].release
    assert isinstance(release.folder, Path)
    assert bound(str(release.folder), "year < 3").answer == bound(release, "year < 3").answer
