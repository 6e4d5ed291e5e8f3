"""A closer look at one configuration on public data: where each error is, what could be reached, what nobody looks at."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthrelease.criteria.facts import Offender
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators.projections import MinimumCount
from synthrelease.generators.space import Configuration
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.rehearsal.attempts import AttemptResult
from synthrelease.rehearsal.baselines.independent import independent_columns
from synthrelease.rehearsal.conclusions import Conclusion, conclusions
from synthrelease.rehearsal.dependence import pairs_off, strongest_pairs, tied_pairs
from synthrelease.rehearsal.intervals import ShareEstimate
from synthrelease.rehearsal.judging import PublicJudge, merged
from synthrelease.rehearsal.pair_map import PairMap
from synthrelease.rehearsal.projecting import ProjectionEffect, projection_effects
from synthrelease.rehearsal.rows_beside import RowsBeside
from synthrelease.rehearsal.unguarded import UnguardedPair, unguarded_pairs, with_gaps, worth_a_line
from synthrelease.rehearsal.verdicts import ThresholdProblem, verdicts
from synthrelease.rehearsal.yardsticks import Yardstick, yardsticks
from synthrelease.releasing.attempt import generate, prepare
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import VerdictTable, judged_digest

CANDIDATES = 5


@dataclass(frozen=True, kw_only=True)
class CriterionLook:
    """One criterion on a few candidates of one configuration.

    Attributes
    ----------
    figure : of the typical candidate, the one with the median figure; NaN where no candidate has one.
    offender : where its largest error is; None where the criterion names no part, or there is no error.
    places : where the largest error of each candidate is, the commonest place first, with the number of candidates.
    yardstick : what to hold the figure against.
    noiseless : the figure of a fit without noise; NaN where there is none.
    verdicts : what is wrong with the threshold.
    """

    figure: float
    offender: Offender | None
    places: tuple[tuple[str, int], ...]
    yardstick: Yardstick
    noiseless: float
    verdicts: tuple[ThresholdProblem, ...]


@dataclass(frozen=True, kw_only=True)
class CloserLook:
    """What a rehearsal found out about one configuration beside how often it is accepted.

    Attributes
    ----------
    configuration : its index.
    candidates : how many candidates it rests on.
    criteria : in the order of the specification.
    unguarded : pairs of columns that hang together and that nothing looks at.
    verdict : whether it is better than independent columns, and what it lost.
    projections : what the projection, and others, make of one candidate; empty without a candidate.
    pair_map : how all pairs hang together, in the public file, in the first candidate and were columns independent.
    conclusions : what a reader would take from the candidates for each intended question.
    rows : some rows of the public file and of the first candidate.
    """

    configuration: int
    candidates: int
    criteria: tuple[CriterionLook, ...]
    unguarded: tuple[UnguardedPair, ...]
    verdict: VerdictTable
    projections: tuple[ProjectionEffect, ...]
    pair_map: PairMap
    conclusions: tuple[Conclusion, ...]
    rows: RowsBeside

    @property
    def pairs(self) -> tuple[UnguardedPair, ...]:
        """Those of the pairs that are worth a line."""
        return worth_a_line(self.unguarded)


class NoiselessEntropy(SeededEntropy):
    """Repeatable draws in which measurements stay as they are: the model of public rows without noise, its choices apart."""

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return np.asarray(values, dtype=np.int64)

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return np.asarray(values, dtype=np.int64)


def typical_configuration(
    shortlist: Sequence[int],
    estimates: Sequence[ShareEstimate],
    results: Sequence[Sequence[AttemptResult]],
    thresholds: list[float],
) -> int:
    """The configuration to look at: accepted most often, and among equals the one whose worst criterion is nearest."""

    def worst(c: int) -> float:
        ratios = [
            max((figure / limit for figure, limit in zip(known, thresholds, strict=True) if limit > 0), default=0.0)
            for known in ([math.inf if figure is None else figure for figure in result.figures] for result in results[c])
        ]
        return float(np.median(ratios)) if ratios else math.inf

    return max(shortlist or range(len(estimates)), key=lambda c: (estimates[c].share, -worst(c)))


@one_thread
def closer_look(
    spec: ReleaseSpec,
    public: PrivateCounts,
    counts: Counts,
    priors: Mapping[str, Counts],
    seed: int,
    index: int,
    sensitivities: Sequence[float | None],
) -> CloserLook:
    """Look at one configuration.

    Parameters
    ----------
    public, counts : the same public rows, as generators take them and as figures do.
    sensitivities : typical ones of the figures, as the attempts showed them.
    """
    configuration = spec.space[index]
    judge, random = PublicJudge(spec, counts, configuration), SeededEntropy(seed, 3, index).generator()
    sticks = yardsticks(spec, counts, configuration, seed)
    exact = _exact_figures(spec, judge, public, priors, NoiselessEntropy(seed, 4, index), random)
    samples = [
        sample
        for number in range(CANDIDATES)
        if (sample := _sample(spec, configuration, public, priors, SeededEntropy(seed, 3, index, number))) is not None
    ]
    candidates = [table for sample in samples if (table := _projected(configuration, sample, random)) is not None]
    named = [judge.named(table) for table in candidates]
    criteria = tuple(
        _criterion(
            [each[place] for each in named],
            stick,
            exact[place],
            verdicts(criterion, spec.joint_test, sensitivities[place], stick, exact[place]),
        )
        for place, (criterion, stick) in enumerate(zip(spec.criteria, sticks, strict=True))
    )
    telling = [
        criterion
        for criterion, look in zip(spec.criteria, criteria, strict=True)
        if not any(verdict.kind == "says nothing" for verdict in look.verdicts)
    ]
    original = merged(counts, configuration)
    unguarded = unguarded_pairs(configuration, telling, original, candidates)
    first = candidates[0] if candidates else None
    return CloserLook(
        configuration=index,
        candidates=len(candidates),
        criteria=criteria,
        unguarded=unguarded,
        verdict=_verdict(spec, configuration, sticks, original, candidates, unguarded, random),
        projections=projection_effects(judge, samples[0], random) if samples else (),
        pair_map=PairMap.of(
            configuration, original, first, independent_columns(original, SeededEntropy(seed, 11, index).generator()), unguarded
        ),
        conclusions=conclusions(spec.questions, configuration, original, candidates),
        rows=RowsBeside.of(original, first, configuration, SeededEntropy(seed, 12, index).generator()),
    )


def _verdict(
    spec: ReleaseSpec,
    configuration: Configuration,
    sticks: Sequence[Yardstick],
    original: Counts,
    candidates: Sequence[Counts],
    unguarded: Sequence[UnguardedPair],
    random: np.random.Generator,
) -> VerdictTable:
    """What a release from this configuration would keep of how columns hang together, beside independent columns."""
    judged = [(stick, each.threshold) for stick, each in zip(sticks, spec.criteria, strict=True) if each.compares]
    tied = tied_pairs(strongest_pairs(original, missing=with_gaps(configuration)))
    off = [pairs_off(original, candidate, tied) for candidate in candidates]
    return VerdictTable(
        judged=judged_digest(spec.tables),
        hang_together=bool(tied),
        independent_columns_pass=all(stick.independent <= threshold for stick, threshold in judged),
        pairs_off=float(np.median(off)) if off else None,
        pairs_off_if_independent=pairs_off(original, independent_columns(original, random), tied),
        lost=tuple(":".join(pair.columns) for pair in unguarded if pair.lost),
    )


def _sample(
    spec: ReleaseSpec,
    configuration: Configuration,
    public: PrivateCounts,
    priors: Mapping[str, Counts],
    entropy: SystemEntropy,
) -> Counts | None:
    """Rows of a candidate before its projection; None where the model yields none."""
    as_drawn = replace(configuration, projection=MinimumCount(minimum_count=1))
    table = public.with_plan(spec.plan.once).rehearsed(entropy)
    try:
        return generate(spec, as_drawn, table, prepare(spec, table, priors))[1].counts
    except RejectedRound:
        return None


def _projected(configuration: Configuration, sample: Counts, random: np.random.Generator) -> Counts | None:
    try:
        return configuration.projection.project(sample, random)
    except RejectedRound:
        return None


def _exact_figures(
    spec: ReleaseSpec,
    judge: PublicJudge,
    public: PrivateCounts,
    priors: Mapping[str, Counts],
    entropy: SystemEntropy,
    random: np.random.Generator,
) -> tuple[float, ...]:
    """The figures of a fit without noise, projected; NaN where a library draws the noise, or there is no table."""
    nothing = (math.nan,) * len(spec.criteria)
    if judge.configuration.generator.by_library:
        return nothing
    sample = _sample(spec, judge.configuration, public, priors, entropy)
    table = None if sample is None else _projected(judge.configuration, sample, random)
    return nothing if table is None else judge.figures(table)


def _criterion(
    named: Sequence[tuple[float, Offender | None]], stick: Yardstick, noiseless: float, wrong: tuple[ThresholdProblem, ...]
) -> CriterionLook:
    known = sorted((each for each in named if not math.isnan(each[0])), key=lambda each: each[0])
    figure, offender = known[len(known) // 2] if known else (math.nan, None)
    places = Counter(each.where for _, each in known if each is not None)
    return CriterionLook(
        figure=figure,
        offender=offender,
        places=tuple(sorted(places.items(), key=lambda place: (-place[1], place[0]))),
        yardstick=stick,
        noiseless=noiseless,
        verdicts=wrong,
    )
