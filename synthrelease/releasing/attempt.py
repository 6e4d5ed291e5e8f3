"""Generate a candidate table with a configuration, and evaluate all criteria on it.

The module `releasing.selection` repeats such attempts, and decides which one is released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from synthrelease.criteria.base import Fitted
from synthrelease.criteria.facts import Score
from synthrelease.criteria.scoring import figures_of, fitted_before, scores_of
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Binning, Column, PublishedColumn, Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import BudgetError, InputError, listing
from synthrelease.generators.base import Background, MeasuringGenerator
from synthrelease.generators.candidate import Candidate, KeptModels, make_candidate
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Charge
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.plan import NEIGHBOURS, UNIT
from synthrelease.privacy.subsets import PartitionRule, of_piece
from synthrelease.published.base import sha256
from synthrelease.published.document import ReleaseDocument, read_leniently
from synthrelease.published.folder import load
from synthrelease.releasing.selection import one_thread
from synthrelease.resources import file_digest
from synthrelease.settings.base import RELEASED
from synthrelease.sources.source import Source
from synthrelease.spec.models import charge_of
from synthrelease.spec.release_spec import ReleaseSpec

if TYPE_CHECKING:
    from synthrelease.generators.measurements import NoisyMarginals
    from synthrelease.generators.row_functions import NoisyModels

# The table of a release, divided at random into two pieces. One piece is used for fitting the generator, the other for the
# criteria.
#
# In a whole table, `PrivateCounts.fit` and `.score` are the table itself. So the same code serves a whole table and pieces.


@dataclass(frozen=True)
class PrivatePieces:
    """The private table, divided at random into a part for the generator and a part for the criteria. Each part can be read
    once for each planned charge.
    """

    fit: PrivateCounts
    score: PrivateCounts

    def with_plan(self, planned: Sequence[Charge]) -> PrivatePieces:
        """Return the same parts with other planned charges, each part with those that concern it."""
        return PrivatePieces(self.fit.with_plan(of_piece(planned, "fit")), self.score.with_plan(of_piece(planned, "score")))

    def on(self, transformation: Transformation) -> PrivatePieces:
        """Recode the two parts to the bins of a transformation, with the same charges."""
        return PrivatePieces(self.fit.on(transformation), self.score.on(transformation))

    def rehearsed(self, entropy: SystemEntropy) -> PrivatePieces:
        """Return the two parts with another source of noise, which protects nobody: use it only for public data."""
        return PrivatePieces(self.fit.rehearsed(entropy), self.score.rehearsed(entropy))


PrivateTable = PrivateCounts | PrivatePieces
"""The private table of a release: the whole table, or its two parts."""


def divided(private: PrivateCounts, rule: PartitionRule | None, planned: Sequence[Charge]) -> PrivateTable:
    """Divide the private table at random into a part for the generator and one for the criteria, or return it if `rule` is
    None.

    A release does this once, before any code reads counts.

    Raises
    ------
    InputError : if the table has fewer than two rows (the number of rows is public).

    Privacy
    -------
    By the same argument as for `PrivateCounts.split`, the release costs as much as the more expensive part (theory 11.10,
    release from two pieces).
    """
    if rule is None:
        return private
    return PrivatePieces(*private.split(rule.sizes(private.n))).with_plan(planned)


# The rows of an earlier release of the same series, on the atomic bins of this one: a public table for its generators.
#
# A released folder is public, so its use is post-processing (theory 11.14, releases that build on releases). The checks here
# keep the stated sum true and the table usable: the loss of the earlier release is added up, it protects the same neighbours,
# and each of its bins is inside one bin of this release, under any name.

DOCUMENT = "release.json"


def released_rows(folder: Path, spec: ReleaseSpec, digest: str) -> Counts:
    """Return the rows of an earlier release in the finest (atomic) bins, each released bin as its first atomic bin.

    The choice has no effect, because every bin of a generator consists of whole released bins.

    Parameters
    ----------
    digest : the digest of release.json in `folder` when the specification was read.

    Raises
    ------
    InputError : if the folder is not a release that `[series] earlier` names, if it defines neighbours differently, if its
        rows do not agree with its release.json, or if its bins do not fit.
    """
    published = load(folder)
    content = (folder / DOCUMENT).read_bytes()
    document = read_leniently(content)
    if sha256(content) != digest or any(file_digest(folder / name) != document.files.get(name) for name in _tables(document)):
        raise InputError(f"{folder}: the files of this prior do not agree with its release.json.")
    if content not in spec.earlier:
        raise InputError(f"{folder}: [series] earlier must name this prior, so that its cost is counted.")
    _check_neighbours(folder, document, spec)
    missing = [name for name in spec.schema.names if name not in published.by_name]
    if missing:
        raise InputError(f"{folder}: this prior lacks {listing(missing)}. A prior needs all columns of the new release.")
    digits = []
    for column in spec.schema.columns:
        binnings = [column.alternatives[name] for name in spec.space.binnings[column.name]]
        atoms = _atoms(folder, published.by_name[column.name], column, binnings)
        digits.append(atoms[published.codes[:, published.layout.index(column.name)]])
    return Counts.of(spec.schema.layout, digits)


def _tables(document: ReleaseDocument) -> list[str]:
    return [name for name in document.tables[0] if name]


def _check_neighbours(prior: Path, document: ReleaseDocument, spec: ReleaseSpec) -> None:
    """Check that both releases define neighbours in the same way. Otherwise their privacy losses could not be added."""
    old = document.guarantee
    by_key = {True: "by a key", False: "row by row"}
    earlier = (old.neighbours, old.unit, old.person.unit, old.person.records, by_key[document.domain.persons is not None])
    expected = (NEIGHBOURS, UNIT, spec.unit.name, spec.unit.records, by_key[spec.unit.key is not None])
    names = (
        "the definition of neighbours",
        "the unit",
        "the name of a record",
        "the number of records of a person",
        "the way to identify persons",
    )
    for name, is_, was in zip(names, expected, earlier, strict=True):
        if is_ != was:
            raise InputError(f"{prior}: {name} is {was} in this prior, and {is_} in the new release. Both must be the same.")


def _atoms(prior: Path, old: PublishedColumn, column: Column, binnings: list[Binning]) -> np.ndarray:
    """Return the first atomic bin inside each bin of a released column, which must lie inside one bin of this release."""
    atoms_of_bins = np.zeros(len(old.labels), dtype=np.int64)
    if (old.kind == "category") != (column.kind == "category"):
        raise InputError(f"{prior}: in this prior, the column {column.name} has the kind {old.kind}. It must be {column.kind}.")
    for bin_number, label in enumerate(old.labels):
        held = np.flatnonzero(_touched(old, bin_number, column))
        whole = len(held) > 0 and all(len({binning.of_atom[atom] for atom in held}) == 1 for binning in binnings)
        if not whole:
            raise InputError(f"{prior}: the bin {label!r} of {column.name} is not inside one bin of the new release.")
        atoms_of_bins[bin_number] = held[0]
    return atoms_of_bins


def _touched(old: PublishedColumn, bin_number: int, column: Column) -> np.ndarray:
    """Return an (n_atoms,) mask of the atomic bins inside a released bin, or no bins if one of its categories no longer
    exists.
    """
    atoms = column.atoms
    if bin_number == old.missing:
        return np.arange(len(atoms)) == (-1 if atoms.missing is None else atoms.missing)
    if old.kind == "category":
        return np.isin(atoms.labels, old.categories[bin_number]) & (set(old.categories[bin_number]) <= set(atoms.labels))
    inside = np.zeros(len(atoms), dtype=bool)
    lower, upper = np.asarray(atoms.lower), np.asarray(atoms.upper)
    inside[: atoms.present] = (old.lower[bin_number] < upper) & (lower < old.upper[bin_number])
    return inside


# The largest number of rows of a release, up to which figures, generators and the joint test are each proved exact enough.


def check_rows(spec: ReleaseSpec, n: int, *, spent: bool = False) -> None:
    """Check that no part of the specification is limited to fewer rows than `n`.

    Parameters
    ----------
    n : the public number of rows.
    spent : whether the budget has already been reserved, for the message.

    Raises
    ------
    BudgetError : if there are too many rows.
    """
    for part, most in spec.row_limits():
        if n > most:
            ending = "Nothing was published. The whole planned budget counts as spent." if spent else "Nothing was spent."
            raise BudgetError(f"Refused: {part} supports at most {most:,} rows, but there are {n:,}. {ending}")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What is computed, and paid for, once before the first round, and used in all rounds.

    Attributes
    ----------
    fitted : the results that criteria compute once.
    priors : the public tables from which generators start, on atomic cells, by their names in the configuration.
    measured : the shared measurements, on bins that all configurations have in common, or None if every round makes its
        own.
    kept : a cache of the models that this process has fitted to the measurements.
    """

    fitted: Fitted
    priors: Mapping[str, Counts] = field(default_factory=dict)
    measured: NoisyMarginals | None = None
    kept: KeptModels = field(default_factory=KeptModels)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A candidate (a synthetic table that is not yet released), and the noisy criterion values or the joint test that
    decide on it.
    """

    candidate: Candidate
    scores: tuple[Score, ...] = ()
    joint_verdict: bool | None = None

    @property
    def accepted(self) -> bool:
        if self.joint_verdict is not None:
            return self.joint_verdict
        return bool(self.scores) and all(score.passed for score in self.scores)


def read_priors(spec: ReleaseSpec) -> dict[str, Counts]:
    """Return the public tables from which generators start.

    Raises
    ------
    InputError : if a table does not fit the specification.
    """
    return {
        name: released_rows(prior.path, spec, prior.digest)
        if name.startswith(RELEASED)
        else read_public(prior.path, spec.schema, spec.input, spec.raw, spec.unit)
        for name, prior in spec.priors.items()
    }


def public_digest(path: str | Path | Source, spec: ReleaseSpec, counts: Counts) -> str:
    """Return a digest of a public file, by which the program notices that it was given as the private file.

    With a key of persons, the digest covers all rows, because each reading may draw different rows of a person.

    Parameters
    ----------
    counts : the counts of the public file, as `spec` reads it.
    """
    return (read_public(path, spec.schema, spec.input, spec.raw) if spec.unit.key is not None else counts).digest()


@one_thread
def prepare(spec: ReleaseSpec, private: PrivateTable, priors: Mapping[str, Counts] | None = None) -> Prepared:
    """Compute what all rounds of a release share: shared measurements, and results that criteria need only once.

    Parameters
    ----------
    private : the private table on atomic cells, or its two parts, with meters for `spec.plan.once`.

    Privacy
    -------
    Spends the charges of the plan that are spent once.
    """
    measured = None
    if spec.shared_measurements:
        common, generator = spec.space.common, spec.space.generators[0]
        if not isinstance(generator, MeasuringGenerator):
            raise TypeError(f"{generator.family} makes no noisy tables apart from its model")
        measured = generator.measure(private.fit.on(common), spec.generation_charge)
    fitted = fitted_before(spec.criteria, private.score, spec.setting, spec.answers(measured))
    return Prepared(fitted=fitted, priors=priors or {}, measured=measured)


def generate(
    spec: ReleaseSpec, configuration: Configuration, private: PrivateTable, prepared: Prepared
) -> tuple[PrivateCounts, Candidate]:
    """Generate a candidate table. Return the private table on the same bins, for the remaining charges of the round, and
    the candidate.

    If the rows are divided into two parts, the returned table is the part for the criteria. The candidate has as many rows
    as the returned table.

    Raises
    ------
    RejectedRound : if no candidate can be made from the noisy model.
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
    """Run one round: generate a candidate table and judge it by the criteria.

    Every criterion that uses private counts is computed, even after another one has failed, so the duration of a round does
    not reveal which one.

    Raises
    ------
    RejectedRound : if no candidate can be made from the noisy model.

    Privacy
    -------
    Spends the charges of one round, `spec.plan.per_round`. The `Meter` of the round allows each charge at most once.
    """
    return judge(spec, *generate(spec, configuration, private, prepared), prepared)


def judge(spec: ReleaseSpec, merged: PrivateCounts, candidate: Candidate, prepared: Prepared) -> Attempt:
    """Decide by the acceptance criteria whether a candidate table is accepted: the second part of a round.

    With a joint test, a candidate that fails a criterion on public information is rejected before any private count is
    read. Whether this happens, and how much time it saves, depend only on the candidate and on shared measurements.

    Privacy
    -------
    Spends the charges of the criteria, or of the joint test, in `spec.plan.per_round`, each at most once.
    """
    if spec.joint_test is not None:
        queries = []
        for criterion in sorted(spec.criteria, key=lambda criterion: criterion.asks_something):  # public ones first
            answer = criterion.asked(merged.n, candidate, spec.setting, prepared.fitted)
            if isinstance(answer, Score) and not answer.passed:
                return Attempt(candidate=candidate, joint_verdict=False)
            queries.append((criterion, answer))
        return Attempt(candidate=candidate, joint_verdict=spec.joint_test.passes(merged, queries))
    return Attempt(candidate=candidate, scores=scores_of(spec.criteria, merged, candidate, spec.setting, prepared.fitted))


@one_thread
def released_models(spec: ReleaseSpec, accepted: Attempt, private: PrivateTable) -> NoisyModels | None:
    """Measure the noisy sums for the questions in [[models]] after a candidate was accepted, or return None without
    questions.

    Privacy
    -------
    Spends the charge of all models in `spec.plan.after`, by adaptive composition after the selection (theory 4.3, figures
    afterwards; theory 12.16, named models).
    """
    if spec.models is None:
        return None
    transformation = accepted.candidate.transformation
    merged = private.with_plan(spec.plan.after).score.on(transformation)
    return spec.models.measure(merged, charge_of(spec.models), transformation)


@one_thread
def released_figures(spec: ReleaseSpec, accepted: Attempt, private: PrivateTable, prepared: Prepared) -> tuple[Score, ...]:
    """Return the noisy criterion values that are published. After a joint test, noise is added now, and all criteria count
    as met.

    Privacy
    -------
    Spends `spec.plan.after`, by adaptive composition after the selection (theory 4.3, figures afterwards). Spends nothing
    if the noisy criterion values were already computed in the round. The values in `spec.noises` share one noise vector
    (theory 4.4, figures that share a noise).
    """
    if spec.joint_test is None:
        return accepted.scores
    transformation = accepted.candidate.transformation
    merged = private.with_plan(spec.plan.after).score.on(transformation)
    scores = figures_of(spec.criteria, merged, accepted.candidate, spec.setting, prepared.fitted, spec.noises)
    return tuple(replace(score, passed=True, decides=score.noise_sd is None) for score in scores)
