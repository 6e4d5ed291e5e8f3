"""An attempt makes the candidate of one given configuration and scores it by every criterion.

Drawing the configuration and deciding which attempt is released belong to `releasing.selection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from synthrelease.criteria.base import Fitted
from synthrelease.criteria.facts import Score
from synthrelease.criteria.scoring import figures_of, fitted_before, scores_of
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.generators.base import Background, MeasuringGenerator
from synthrelease.generators.candidate import Candidate, KeptModels, make_candidate
from synthrelease.generators.measurements import NoisyMarginals
from synthrelease.generators.space import Configuration
from synthrelease.releasing.pieces import PrivateTable
from synthrelease.releasing.released_rows import released_rows
from synthrelease.releasing.threads import one_thread
from synthrelease.settings.base import RELEASED
from synthrelease.spec.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What all rounds share: public once its charges are spent.

    Attributes
    ----------
    fitted : what the criteria prepared.
    priors : public tables over atomic cells that generators start from, by their name in the configuration.
    measured : shared measurements over the common bins of the space; None where every round measures afresh.
    kept : the models that this process has fitted to them.
    """

    fitted: Fitted
    priors: Mapping[str, Counts] = field(default_factory=dict)
    measured: NoisyMarginals | None = None
    kept: KeptModels = field(default_factory=KeptModels)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A judged candidate: by its noisy scores, or by a joint test, and then its figures are released after acceptance."""

    candidate: Candidate
    scores: tuple[Score, ...] = ()
    joint_verdict: bool | None = None

    @property
    def accepted(self) -> bool:
        if self.joint_verdict is not None:
            return self.joint_verdict
        return bool(self.scores) and all(score.passed for score in self.scores)


def read_priors(spec: ReleaseSpec) -> dict[str, Counts]:
    """The public tables that generators start from. Raises InputError when one does not fit the specification."""
    return {
        name: released_rows(path, spec, spec.prior_digests[name])
        if name.startswith(RELEASED)
        else read_public(path, spec.schema, spec.input, spec.raw, spec.unit)
        for name, path in spec.priors.items()
    }


@one_thread
def prepare(spec: ReleaseSpec, private: PrivateTable, priors: Mapping[str, Counts] | None = None) -> Prepared:
    """What the criteria fit, and the generators measure, once before the loop.

    Parameters
    ----------
    private : the private table on atomic cells, or its pieces, with meters for `spec.plan.once`.

    Privacy
    -------
    Spends the one-off charges of the plan.
    """
    measured = None
    if spec.shared_measurements:
        common, generator = spec.space.common, spec.space.generators[0]
        if not isinstance(generator, MeasuringGenerator):
            raise TypeError(f"{generator.family} does not measure apart from modelling")
        measured = generator.measure(private.fit.on(common), spec.generation_charge)
    fitted = replace(fitted_before(spec.criteria, private.score, spec.setting), answers=spec.answers(measured))
    fitted = fitted.with_lines({each.name: each.measured_columns(spec.setting) for each in spec.setting.measured_lines})
    return Prepared(fitted=fitted, priors=priors or {}, measured=measured)


def generate(
    spec: ReleaseSpec, configuration: Configuration, private: PrivateTable, prepared: Prepared
) -> tuple[PrivateCounts, Candidate]:
    """The candidate of a configuration, and the private table on its bins with what is left of the round's charges.

    The candidate has as many rows as the table, so that criteria compare tables of the same size. With pieces: as the piece
    that criteria ask, which is the table that is returned.

    Raises
    ------
    RejectedRound : when the noisy model yields no candidate.
    """
    transformation = configuration.transformation
    merged = private.with_plan(spec.plan.per_round).on(transformation)
    prior = prepared.priors.get(configuration.generator.prior_file or "")
    background = Background(
        plausibility=spec.synthetic.merge(transformation),
        prior=None if prior is None else prior.merge(transformation.layout, transformation.maps),
        ordered=transformation.ordered,
    )
    shared = prepared.measured
    if shared is not None:
        common = zip(spec.space.common.binnings, transformation.binnings, strict=True)
        shared = shared.merge(transformation.layout, [finer.map_to(coarser) for finer, coarser in common])
    score, charge = merged.score, spec.generation_charge
    return score, make_candidate(configuration, merged.fit, background, charge, shared, prepared.kept, score.n)


@one_thread
def attempt(spec: ReleaseSpec, configuration: Configuration, private: PrivateTable, prepared: Prepared) -> Attempt:
    """Generate and judge one candidate.

    Every criterion that asks something private is looked at whatever the others said, so that the time of a round does not tell
    which one failed.

    Raises
    ------
    RejectedRound : when the noisy model yields no candidate.

    Privacy
    -------
    Spends the charges of one round, `spec.plan.per_round`, each at most once (the fresh meter enforces it).
    """
    return judge(spec, *generate(spec, configuration, private, prepared), prepared)


def judge(spec: ReleaseSpec, merged: PrivateCounts, candidate: Candidate, prepared: Prepared) -> Attempt:
    """The verdict on a candidate: what is left of a round once there is one.

    Under a joint test a candidate that fails a public score is rejected before anything private is asked about it: that, and
    the time it saves, are functions of the candidate and of shared measurements alone.

    Privacy
    -------
    Spends the charges of the criteria, or of the joint test, in `spec.plan.per_round`, each at most once.
    """
    if spec.joint_test is not None:
        asked = []
        for each in sorted(spec.criteria, key=lambda each: each.asks_something):  # public ones first
            found = each.asked(merged.n, candidate, spec.setting, prepared.fitted)
            if isinstance(found, Score) and not found.passed:
                return Attempt(candidate=candidate, joint_verdict=False)
            asked.append((each, found))
        return Attempt(candidate=candidate, joint_verdict=spec.joint_test.passes(merged, asked))
    return Attempt(candidate=candidate, scores=scores_of(spec.criteria, merged, candidate, spec.setting, prepared.fitted))


@one_thread
def released_figures(spec: ReleaseSpec, accepted: Attempt, private: PrivateTable, prepared: Prepared) -> tuple[Score, ...]:
    """The figures of the accepted candidate. Those that a joint test accepted get their noise here, and count as passed.

    Privacy
    -------
    Spends `spec.plan.after`, by adaptive composition after the selection (theory 4.3, figures afterwards): nothing when figures
    decided. Those of `spec.noises` get one noise together (theory 4.4, figures that share a noise).
    """
    if spec.joint_test is None:
        return accepted.scores
    transformation = accepted.candidate.transformation
    merged = private.with_plan(spec.plan.after).score.on(transformation)
    scores = figures_of(spec.criteria, merged, accepted.candidate, spec.setting, prepared.fitted, spec.noises)
    return tuple(replace(score, passed=True, decides=score.noise_sd is None) for score in scores)
