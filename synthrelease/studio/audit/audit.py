"""Run the requested parts of the audit, and collect their results for reading and for JSON."""

from __future__ import annotations

import platform
import sys
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Literal

from synthrelease.errors import InputError
from synthrelease.published.document import ReleaseDocument
from synthrelease.studio.audit.enumeration import (
    MOST_RECORDS,
    NUMBER_OF_ROWS,
    Enumeration,
    enumerate_numbers,
    enumerate_sweep,
    sweeps,
)
from synthrelease.studio.audit.losses import LossFinding, audit_losses, faulty_losses, loss_cases
from synthrelease.studio.audit.model_sensitivity import enumerate_models
from synthrelease.studio.audit.selection_law import LawCheck, check_laws
from synthrelease.studio.audit.worlds import ENUMERATED
from synthrelease.studio.parallel import Progress, running

# The scope of an audit: parts whose names contain a text, or parts that a published release depends on.


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The parts of the program to audit; by default all parts.

    Attributes
    ----------
    text : a text that the family or name of a case, or the name of an enumeration, must contain, in small or capital letters.
    generators, enumerated : the names of the generators whose losses are computed, and the kinds of enumerations. None
        means all.
    """

    text: str = ""
    generators: frozenset[str] | None = None
    enumerated: frozenset[str] | None = None

    @classmethod
    def of(cls, document: ReleaseDocument) -> Scope:
        generator = str(document.configuration["generator"]["family"])
        criteria = {criterion.kind for criterion in document.criteria}
        kinds = {NUMBER_OF_ROWS, *criteria, *ENUMERATED.get(generator, ())}
        for kind in criteria:
            kinds.update(ENUMERATED.get(kind, ()))
        if document.selection.joint_test is not None:
            kinds.add("joint test")
        if document.models is not None:
            kinds.add("named models")
        return cls(generators=frozenset({generator}), enumerated=frozenset(kinds))

    def named(self, *texts: str) -> bool:
        return self.text.lower() in " ".join(texts).lower()

    def has_generator(self, name: str) -> bool:
        return self.generators is None or name in self.generators

    def has_kind(self, kind: str) -> bool:
        return self.enumerated is None or kind in self.enumerated


# The results of an audit, as one document for programs.


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """The results of an audit; a part that was not requested is empty."""

    sensitivities: tuple[Enumeration, ...] = ()
    laws: tuple[LawCheck, ...] = ()
    losses: tuple[LossFinding, ...] = ()

    @property
    def violations(self) -> list[str]:
        """A description of each result that contradicts a claim, such as "sensitivity: conditional mean, 2 x 3"."""
        names = [f"sensitivity: {part.name}" for part in self.sensitivities if not part.sound]
        names += [f"selection: {law.claim}, {_repeated(law)}" for law in self.laws if law.exceeded]
        losses = [loss for loss in self.losses if loss.exceeded and not loss.case.faulty]
        names += [f"{loss.case}: {loss.leak}" if loss.leak else str(loss.case) for loss in losses]
        return names

    @property
    def missed(self) -> list[str]:
        """A description of each known fault that the audit did not find."""
        return [str(loss.case) for loss in self.losses if loss.case.faulty and not loss.exceeded]

    @property
    def passed(self) -> bool:
        return not self.violations and not self.missed

    def document(self) -> dict[str, object]:
        return {
            "program": f"synthrelease {version('synthrelease')}",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.system()} {platform.machine()}, Python {'.'.join(map(str, sys.version_info[:3]))}",
            "passed": self.passed,
            "violations": self.violations,
            "missed_faults": self.missed,
            "sensitivities": [_sensitivity(part) for part in self.sensitivities],
            "selection_laws": [_law(law) for law in self.laws],
            "losses": [_loss(loss) for loss in self.losses],
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


Part = Literal["sensitivity", "selection", "losses"]
PARTS: tuple[Part, ...] = ("sensitivity", "selection", "losses")
RECORDS_OF_A_RELEASE = 4
"""Number of records of the largest tables in the audit of a release. For tables of this size, the largest change reaches every
bound that is claimed to be tight.
"""

LAW_SIZES = ((40, 2), (24, 3))
"""Sizes of the rounds whose distributions are enumerated: N, where probabilities are multiples of 1/N, and the number of
outputs.
"""


def run_audit(
    *,
    parts: Collection[Part] = PARTS,
    jobs: int = 1,
    scope: Scope = Scope(),
    most_records: int = MOST_RECORDS,
    progress: Progress = lambda phase, done, total: None,
) -> AuditResult:
    """Run the requested parts of the audit, and return their results.

    Parameters
    ----------
    most_records : number of records of the largest enumerated tables.

    Raises
    ------
    InputError : if the scope leaves nothing to audit in the requested parts.
    """
    # enumerate: every tiny table, every neighbour
    sensitivities = _sensitivities(scope, most_records, jobs, progress) if "sensitivity" in parts else []
    laws = _laws(progress) if "selection" in parts and not scope.text else []

    # compute: all answers of a fit, with their exact loss; known faults beside the real generators
    every_loss = (*loss_cases(), *faulty_losses()) if "losses" in parts else ()
    losses = [case for case in every_loss if scope.has_generator(case.generator) and scope.named(str(case))]

    result = AuditResult(sensitivities=tuple(sensitivities), laws=tuple(laws), losses=tuple(audit_losses(losses, progress)))
    if result == AuditResult():
        nothing = "there is nothing to audit in the chosen parts. Choose other parts (--part)"
        if scope.text:
            nothing = "in the chosen parts, no case and no enumeration has this text in its name"
        raise InputError(f"{f'--only {scope.text}' if scope.text else '--release'}: {nothing}.")
    return result


def _sensitivities(scope: Scope, most_records: int, jobs: int, progress: Progress) -> list[Enumeration]:
    of_kinds = [sweep for sweep in sweeps() if scope.has_kind(sweep.kind)]
    every = [world for sweep in of_kinds for world in (sweep, *sweep.moved())]
    chosen = [sweep for sweep in every if scope.named(sweep.kind, sweep.name)]
    parts: list[Enumeration] = []
    for part in running(jobs)(enumerate_sweep, [(sweep, most_records) for sweep in chosen]):
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
