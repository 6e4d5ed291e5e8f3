"""A whole audit: the parts that are asked for, one after the other."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from itertools import chain
from typing import Literal

import numpy as np

from synthrelease.errors import InputError
from synthrelease.privacy.noise import SYSTEM
from synthrelease.privacy.selection import SelectionRule
from synthrelease.published.document import ReleaseDocument
from synthrelease.releasing.selection import select_by
from synthrelease.studio.audit.cases import Case, lower_bounds
from synthrelease.studio.audit.enumeration import (
    MOST_RECORDS,
    NUMBER_OF_ROWS,
    Enumeration,
    criterion_cases,
    enumerate_numbers,
    enumerate_sweep,
    expanded_case,
    scoring_case,
    shared_case,
    sweeps,
)
from synthrelease.studio.audit.losses import LossFinding, audit_losses, faulty_losses, loss_cases
from synthrelease.studio.audit.model_sensitivity import enumerate_models
from synthrelease.studio.audit.noise_cases import (
    SENSITIVITY,
    biased_case,
    choice_case,
    choice_cases,
    even_draws,
    figure_case,
    gaussian_case,
    laplace_case,
    laplace_vectors,
    low_bits_case,
    noise_cases,
    vector_cases,
)
from synthrelease.studio.audit.piece_cases import (
    by_value_case,
    faulty_register_cases,
    piece_cases,
    register_cases,
    same_piece_case,
)
from synthrelease.studio.audit.pipelines import (
    ANSWERED_BY,
    FAULTY_DRAWS,
    LEFT_OUT,
    left_out,
    pipeline_case,
    pipeline_cases,
    pipelines,
)
from synthrelease.studio.audit.running import (
    CONFIDENCE,
    Direction,
    Effort,
    Finding,
    Progress,
    audit_cases,
    count,
    prepare,
    side_by_side,
)
from synthrelease.studio.audit.selection_cases import (
    FiniteRound,
    chosen_law_case,
    first_to_finish_case,
    parallel_cases,
    selection_cases,
)
from synthrelease.studio.audit.selection_law import LawCheck, check_laws
from synthrelease.studio.audit.worlds import ENUMERATED

# Mechanisms with a known fault, claimed to be right: the audit must find each of them, in every run.
#
# Most are the real mechanism run with another budget or sensitivity than is claimed; the rest are the mistakes that are
# known from other programs.

SCALE_ERROR = Fraction(1, 10)


def faulty_cases() -> Iterator[Case]:
    """Every fault, with the claim that it breaks."""
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2)):
        yield small_scale_case(epsilon)
        yield small_scale_choice(epsilon)
    yield laplace_case("a moved record counted once", (5, 0), (4, 1), epsilon=Fraction(1), sensitivity=1)
    yield _reused_noise()
    yield coarse_noise_case()
    yield biased_case(10)
    yield low_bits_case(_textbook_laplace, faulty=True)
    yield choice_case("exponential", "factor 2 forgotten", (0, -20), (-10, -10), SENSITIVITY, Fraction(2), spent=Fraction(4))
    yield scoring_case("absolute, 2 x 3, all tables", Fraction(1), spent=Fraction(2))
    yield scoring_case("joint test, five criteria, 2 x 3", Fraction(1), spent=Fraction(2))
    yield shared_case(Fraction(1), spent=Fraction(2))
    for name in (
        "mean of tables, 2 x 3",
        "median of b by a, 2 x 3",
        "proportion of b by a, with missing values, 2 x 2",
        "logistic step, 1, 2 x 2",
    ):
        yield scoring_case(name, Fraction(1), spent=Fraction(2))
    yield expanded_case(Fraction(1))
    yield gaussian_case("one count, by 50", 2, spent=Fraction(11, 5))
    yield _published_rounds()
    yield chosen_law_case()
    yield first_to_finish_case()
    yield by_value_case()
    yield same_piece_case()
    yield from faulty_register_cases()
    faithful = next(pipeline for pipeline in pipelines() if pipeline.name == "faithfulness, a record turns")
    yield pipeline_case(faithful, run=replace(faithful, name="generation noise of a fiftieth", generation="25"))
    exact = tuple((name, text.replace("epsilon = 0.25", "epsilon = 500")) for name, text in faithful.criteria)
    yield pipeline_case(faithful, run=replace(faithful, name="a criterion without noise", criteria=exact))
    answered = next(pipeline for pipeline in pipelines() if pipeline.name == ANSWERED_BY)
    looking = tuple((name, text.replace('answered_by = "measurements"', "epsilon = 500")) for name, text in answered.criteria)
    yield pipeline_case(answered, run=replace(answered, name="an answer that looks at the original table", criteria=looking))
    for reason in LEFT_OUT:
        yield published_number_case(reason)


def published_number_case(reason: str) -> Case:
    """The number of kept rows published as it is, with the guarantee claimed for replacing any row of the file."""
    return replace(pipeline_case(left_out(reason, '"exact"')), draws=FAULTY_DRAWS, faulty=True)


def small_scale_case(epsilon: Fraction) -> Case:
    """Integer noise whose scale is a tenth too small."""
    return laplace_case("scale a tenth too small", (0,), (1,), epsilon=epsilon, spent=epsilon / (1 - SCALE_ERROR))


def small_scale_choice(epsilon: Fraction) -> Case:
    """A private choice at a scale a tenth too small."""
    scores = (0, -2 * SENSITIVITY), (-SENSITIVITY, -SENSITIVITY)
    return choice_case(
        "permute_and_flip",
        "scale a tenth too small",
        *scores,
        SENSITIVITY,
        epsilon,
        draws=even_draws(epsilon),
        spent=epsilon / (1 - SCALE_ERROR),
    )


def small_scale_figure(epsilon: Fraction) -> Case:
    """A released figure with noise whose scale is a tenth too small."""
    return figure_case("a mean in grams", epsilon, spent=epsilon / (1 - SCALE_ERROR), draws=even_draws(epsilon))


def _reused_noise() -> Case:
    """Two counts, each moved by a record, with the same draw of noise: their difference is exact."""
    return Case(
        family="discrete Laplace",
        name="two counts with one draw of noise",
        claim=1.0,
        draw=_same_noise,
        sides=((5, 0), (4, 1)),
        features=("count 0", "count 1", "difference"),
        draws=2_000,
        faulty=True,
    )


def _same_noise(counts: tuple[int, ...], draws: int) -> np.ndarray:
    noise = laplace_vectors((0,), draws, sensitivity=2, epsilon=Fraction(1))
    noisy = noise + np.array(counts)
    return np.column_stack([noisy, noisy[:, 0] - noisy[:, 1]])


def coarse_noise_case() -> Case:
    """Noise in bulk of scale 40 that leaves out its lowest digit: it moves a count by multiples of 256."""
    return Case(
        family="discrete Laplace",
        name="noise without its lowest digit",
        claim=1 / 40,
        draw=_without_lowest_digit,
        sides=(0, 1),
        features=("count",),
        draws=2_000,
        faulty=True,
    )


def _without_lowest_digit(count: int, draws: int) -> np.ndarray:
    """The digits beyond the lowest are those of a geometric variable of a scale 256 times smaller (theory 9.12, digits of a
    geometric variable)."""
    return (256 * SYSTEM.add_laplace(np.zeros(draws, dtype=np.int64), 40 / 256) + count).astype(float)


def _textbook_laplace(value: float, draws: int) -> np.ndarray:
    """Noise as textbooks draw it, from the logarithm of a double."""
    generator = SYSTEM.generator()
    magnitude = -np.log(1 - generator.random(draws))
    return value + np.where(generator.random(draws) < 0.5, magnitude, -magnitude)


def _published_rounds() -> Case:
    """The loop with the number of rounds among its outputs, as a log line or a time would show it."""
    return Case(
        family="selection",
        name="the number of rounds is published",
        claim=2 * math.log(2),
        draw=_outputs_with_rounds,
        sides=(FiniteRound(weights=(50,), total=100), FiniteRound(weights=(25,), total=100)),
        features=("output", "rounds"),
        draws=5_000,
        faulty=True,
    )


def _outputs_with_rounds(run: FiniteRound, draws: int) -> np.ndarray:
    outputs = []
    for _ in range(draws):
        rounds: list[None] = []

        def counted(rounds: list[None] = rounds) -> int | None:
            rounds.append(None)
            return run()

        outputs.append([select_by(SelectionRule(), counted), len(rounds)])
    return np.array(outputs, dtype=float)


# Which parts of the audit are asked for: those with a text in their name, or those that a published release rests on.


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The scope of an audit; everything, unless something is said.

    Attributes
    ----------
    text : what the family or the name of a case, or the name of an enumeration, must contain, whatever the case.
    generators, enumerated : names of generators, and kinds of enumerations; None for all.
    """

    text: str = ""
    generators: frozenset[str] | None = None
    enumerated: frozenset[str] | None = None

    @classmethod
    def of(cls, document: ReleaseDocument) -> Scope:
        """Return what a release rests on: its generator, its criteria, the joint test of these, and the number of its rows."""
        generator = str(document.configuration["generator"]["family"])
        criteria = {criterion.kind for criterion in document.criteria}
        kinds = {NUMBER_OF_ROWS, *criteria, *ENUMERATED.get(generator, ())}
        for kind in criteria:
            kinds.update(ENUMERATED.get(kind, ()))
        if document.selection.joint_test is not None:
            kinds.add("joint test")
        return cls(generators=frozenset({generator}), enumerated=frozenset(kinds))

    def named(self, *texts: str) -> bool:
        """Return whether something of these names has the text in it."""
        return self.text.lower() in " ".join(texts).lower()

    def has_generator(self, name: str) -> bool:
        """Return whether losses of this generator are asked for."""
        return self.generators is None or name in self.generators

    def has_kind(self, kind: str) -> bool:
        """Return whether enumerations of this kind are asked for."""
        return self.enumerated is None or kind in self.enumerated


# Every case of the audit.


def all_cases() -> list[Case]:
    """The mechanisms as they are released, then those with a known fault.

    Raises
    ------
    ValueError : when two cases have the same name.
    """
    cases = list(
        chain(
            noise_cases(),
            vector_cases(),
            choice_cases(),
            criterion_cases(),
            selection_cases(),
            parallel_cases(),
            piece_cases(),
            register_cases(),
            pipeline_cases(),
            faulty_cases(),
        )
    )
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"expected names that differ, found twice: {sorted(twice)}")
    return cases


# How surely the audit finds a scale that is a tenth too small: the whole audit of a faulty unit case, many times over.

REPEATS = 300
"""As many as show a power of 0.99 with 95% confidence when every one of them finds the fault."""


@dataclass(frozen=True, kw_only=True)
class Power:
    """The power of the audit: in `found` of `repeats` audits a fault was found; `at_least` is a 95% lower bound of that
    probability."""

    name: str
    draws: int
    repeats: int
    found: int

    @property
    def at_least(self) -> float:
        return float(lower_bounds(np.array([self.found]), self.repeats, 0.05)[0])


def unit_faults() -> Iterator[Case]:
    """Unit cases with noise a tenth too small."""
    for epsilon in (Fraction(1), Fraction(2), Fraction(4)):
        yield small_scale_case(epsilon)
    yield small_scale_choice(Fraction(2))
    yield small_scale_figure(Fraction(2))


def measure_power(
    case: Case,
    n_cases: int,
    *,
    repeats: int = REPEATS,
    jobs: int = 1,
    progress: Progress = lambda phase, done, total: None,
) -> Power:
    """Audit one faulty case again and again, with the error of one case among `n_cases`."""
    error = (1 - CONFIDENCE) / (2 * n_cases)
    successes = 0
    for done, exceeded in enumerate(side_by_side(_found, [(case, error)] * repeats, jobs)):
        successes += exceeded
        progress(f"power: {case.name}", done + 1, repeats)
    return Power(name=case.name, draws=case.draws, repeats=repeats, found=successes)


def _found(case: Case, error: float) -> bool:
    return count(case, prepare(case, case.draws, error), case.draws, error).exceeded


# What an audit found, as one document that programs can read.


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """Everything that was enumerated, compared and counted. Parts that were not asked for are empty."""

    sensitivities: tuple[Enumeration, ...] = ()
    laws: tuple[LawCheck, ...] = ()
    losses: tuple[LossFinding, ...] = ()
    findings: tuple[Finding, ...] = ()
    power: tuple[Power, ...] = ()

    @property
    def violations(self) -> list[str]:
        """List what contradicts a claim, in words."""
        names = [f"sensitivity: {part.name}" for part in self.sensitivities if not part.sound]
        names += [f"selection: {law.claim}, {_repeated(law)}" for law in self.laws if law.exceeded]
        losses = [loss for loss in self.losses if loss.exceeded and not loss.case.faulty]
        names += [f"{loss.case}: {loss.leak}" if loss.leak else str(loss.case) for loss in losses]
        names += [finding.case.name for finding in self.findings if finding.exceeded and not finding.case.faulty]
        return names

    @property
    def missed(self) -> list[str]:
        """List known faults that were not found: the audit could not have found such a fault in the real mechanism either."""
        names = [str(loss.case) for loss in self.losses if loss.case.faulty and not loss.exceeded]
        return names + [finding.case.name for finding in self.findings if finding.case.faulty and not finding.exceeded]

    @property
    def passed(self) -> bool:
        return not self.violations and not self.missed

    def document(self) -> dict[str, object]:
        """Plain values for a JSON file."""
        return {
            "program": f"synthrelease {version('synthrelease')}",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.system()} {platform.machine()}, Python {'.'.join(map(str, sys.version_info[:3]))}",
            "passed": self.passed,
            "violations": self.violations,
            "missed_faults": self.missed,
            "confidence_of_all_cases": CONFIDENCE,
            "sensitivities": [_sensitivity(part) for part in self.sensitivities],
            "selection_laws": [_law(law) for law in self.laws],
            "losses": [_loss(loss) for loss in self.losses],
            "cases": [_finding(finding) for finding in self.findings],
            "power": [
                {
                    "fault": part.name,
                    "draws": part.draws,
                    "audits": part.repeats,
                    "found": part.found,
                    "at_least": part.at_least,
                }
                for part in self.power
            ],
        }


def _sensitivity(part: Enumeration) -> dict[str, object]:
    return {
        "what": part.name,
        "kind": part.kind,
        "most_records": part.most_records,
        "cells": part.cells,
        "figures": part.figures,
        "triples": part.triples,
        "triples_of_files": part.files,
        "coupled_tables": part.coupled,
        "violations": part.violations,
        "disagreements": part.disagreements,
        "largest_share_of_bound": str(part.largest),
        "claimed_tight": part.tight,
    }


def _repeated(law: LawCheck) -> str:
    return f"stop probability {law.stop_probability}" if law.rounds is None else law.rounds.words


def _law(law: LawCheck) -> dict[str, object]:
    return {
        "exp_epsilon_of_a_round": str(law.ratio),
        "rounds": _repeated(law),
        "cap": law.cap,
        "claim": law.claim,
        "pairs": law.pairs,
        "exceeded": law.exceeded,
        "largest_share_of_claim": law.share,
    }


def _loss(loss: LossFinding) -> dict[str, object]:
    return {
        "generator": loss.case.generator,
        "case": loss.case.name,
        "unit": loss.unit,
        "claimed": loss.claimed,
        "shown": loss.shown,
        "share": loss.share,
        "known_fault": loss.case.faulty,
        "exceeded": loss.exceeded,
        "noise": loss.noise,
        "choices": loss.choices,
        "standard_error": loss.error,
        "beside_the_answers": loss.leak,
        "because": loss.case.because,
        "seconds": round(loss.seconds, 2),
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "family": finding.case.family,
        "name": finding.case.name,
        "claim": finding.case.claim,
        "unit": "mu" if finding.case.gaussian else "epsilon",
        "known_fault": finding.case.faulty,
        "proven": finding.epsilon if finding.epsilon > float("-inf") else None,
        "exceeded": finding.exceeded,
        "held_out_draws": finding.held_out,
        "events": [_direction(direction) for direction in finding.directions],
        "seconds": round(finding.seconds, 2),
    }


def _direction(direction: Direction) -> dict[str, object]:
    return {
        "event": direction.event,
        "hits": [direction.more.hits, direction.less.hits],
        "draws": [direction.more.draws, direction.less.draws],
        "proven": direction.epsilon if direction.epsilon > float("-inf") else None,
    }


Part = Literal["sensitivity", "selection", "losses", "cases", "power"]
PARTS: tuple[Part, ...] = ("sensitivity", "selection", "losses", "cases", "power")
USUAL: tuple[Part, ...] = ("sensitivity", "selection", "losses", "cases")
"""Without the power, which takes longer than the rest and says the same on every machine."""
OF_A_RELEASE: tuple[Part, ...] = ("sensitivity", "selection", "losses")
"""What tells the kinds apart that a release used."""
RECORDS_OF_A_RELEASE = 4
"""Records of the largest tables that are then enumerated: every bound that is claimed to be tight is attained, in minutes."""

LAW_SIZES = ((40, 2), (24, 3))
"""(parts of a probability, outputs) of the finite rounds."""


def run_audit(
    *,
    parts: Collection[Part] = USUAL,
    effort: Effort = Effort(),  # noqa: B008 (frozen)
    jobs: int = 1,
    scope: Scope = Scope(),
    most_records: int = MOST_RECORDS,
    progress: Progress = lambda phase, done, total: None,
) -> AuditResult:
    """Audit the program.

    Parameters
    ----------
    effort : of the cases.
    scope : which of them; of the cases those with its text alone.
    most_records : records of the largest tables that are enumerated.

    Raises
    ------
    InputError : when nothing of the parts is in the scope.
    """
    # enumerate: every tiny table, every neighbour
    sensitivities = _sensitivities(scope, most_records, jobs, progress) if "sensitivity" in parts else []
    laws = _laws(progress) if "selection" in parts and not scope.text else []

    # compute: all answers of a fit, with their exact loss; known faults beside the real generators
    every_loss = (*loss_cases(), *faulty_losses()) if "losses" in parts else ()
    losses = [case for case in every_loss if scope.has_generator(case.generator) and scope.named(str(case))]

    # draw: every mechanism on neighbours; known faults beside the real mechanisms
    every_case = all_cases() if "cases" in parts else ()
    cases = [case for case in every_case if scope.named(case.family, case.name)]
    faults = [fault for fault in unit_faults() if "power" in parts and scope.named(fault.family, fault.name)]
    result = AuditResult(
        sensitivities=tuple(sensitivities),
        laws=tuple(laws),
        losses=tuple(audit_losses(losses, progress)),
        findings=tuple(audit_cases(cases, effort=effort, jobs=jobs, progress=progress)),
        power=tuple(measure_power(fault, len(all_cases()), jobs=jobs, progress=progress) for fault in faults),
    )
    if result == AuditResult():
        raise InputError(
            f"--only {scope.text}: expected a part of the name of a case or an enumeration, found none that has it."
        )
    return result


def _sensitivities(scope: Scope, most_records: int, jobs: int, progress: Progress) -> list[Enumeration]:
    of_kinds = [sweep for sweep in sweeps() if scope.has_kind(sweep.kind)]
    every = [world for sweep in of_kinds for world in (sweep, *sweep.moved())]
    chosen = [sweep for sweep in every if scope.named(sweep.kind, sweep.name)]
    parts: list[Enumeration] = []
    for part in side_by_side(enumerate_sweep, [(sweep, most_records) for sweep in chosen], jobs):
        parts.append(part)
        progress("enumerating sensitivities", len(parts), len(chosen))
    order = [sweep.name for sweep in chosen]
    parts.sort(key=lambda part: order.index(part.name))
    numbers = [enumerate_numbers(most_records)] if scope.has_kind(NUMBER_OF_ROWS) and scope.named(NUMBER_OF_ROWS) else []
    models = enumerate_models(most_records, lambda kind, name: scope.has_kind(kind) and scope.named(name))
    return [*parts, *models, *numbers]


def _laws(progress: Progress) -> list[LawCheck]:
    checks: list[LawCheck] = []
    for done, (parts, outputs) in enumerate(LAW_SIZES):
        checks += check_laws(parts, outputs)
        progress("selection laws", done + 1, len(LAW_SIZES))
    return checks
