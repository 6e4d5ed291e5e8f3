"""A whole audit: the parts that are asked for, one after the other."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from synthrelease.audit.catalogue import all_cases
from synthrelease.audit.loss_cases import loss_cases
from synthrelease.audit.loss_faults import faulty_losses
from synthrelease.audit.loss_findings import audit_losses
from synthrelease.audit.model_sensitivity import enumerate_models
from synthrelease.audit.number_sensitivity import NUMBER_OF_ROWS, enumerate_numbers
from synthrelease.audit.power import measure_power, unit_faults
from synthrelease.audit.running import Effort, Progress, audit_cases, side_by_side
from synthrelease.audit.scope import Scope
from synthrelease.audit.selection_law import LawCheck, check_laws
from synthrelease.audit.sensitivity import Enumeration, enumerate_sweep
from synthrelease.audit.summary import AuditResult
from synthrelease.audit.sweeps import MOST_RECORDS, sweeps
from synthrelease.errors import InputError

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
    scope: Scope = Scope(),  # noqa: B008 (frozen)
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
    cases = [case for case in all_cases() if scope.named(case.family, case.name)] if "cases" in parts else []
    losses = []
    if "losses" in parts:
        of_generators = [case for case in (*loss_cases(), *faulty_losses()) if scope.has_generator(case.generator)]
        losses = [case for case in of_generators if scope.named(str(case))]
    result = AuditResult(
        sensitivities=tuple(_sensitivities(scope, most_records, jobs, progress)) if "sensitivity" in parts else (),
        laws=tuple(_laws(progress)) if "selection" in parts and not scope.text else (),
        losses=tuple(audit_losses(losses, progress)),
        findings=tuple(audit_cases(cases, effort=effort, jobs=jobs, progress=progress)),
        power=tuple(
            measure_power(fault, len(all_cases()), jobs=jobs, progress=progress)
            for fault in unit_faults()
            if "power" in parts and scope.named(fault.family, fault.name)
        ),
    )
    if result == AuditResult():
        raise InputError(
            f"--only {scope.text}: expected a part of the name of a case or an enumeration, found none that has it."
        )
    return result


def _sensitivities(scope: Scope, most_records: int, jobs: int, progress: Progress) -> list[Enumeration]:
    chosen = [sweep for sweep in sweeps() if scope.has_kind(sweep.kind) and scope.named(sweep.kind, sweep.name)]
    found: list[Enumeration] = []
    for part in side_by_side(enumerate_sweep, [(sweep, most_records) for sweep in chosen], jobs):
        found.append(part)
        progress("enumerating sensitivities", len(found), len(chosen))
    order = [sweep.name for sweep in chosen]
    found.sort(key=lambda part: order.index(part.name))
    numbers = [enumerate_numbers(most_records)] if scope.has_kind(NUMBER_OF_ROWS) and scope.named(NUMBER_OF_ROWS) else []
    models = enumerate_models(most_records, lambda kind, name: scope.has_kind(kind) and scope.named(name))
    return [*found, *models, *numbers]


def _laws(progress: Progress) -> list[LawCheck]:
    found: list[LawCheck] = []
    for done, (parts, outputs) in enumerate(LAW_SIZES):
        found += check_laws(parts, outputs)
        progress("selection laws", done + 1, len(LAW_SIZES))
    return found
