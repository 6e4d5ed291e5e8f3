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
from synthrelease.audit.selection_law import LawCheck, check_laws
from synthrelease.audit.sensitivity import Enumeration, enumerate_sweep
from synthrelease.audit.summary import AuditResult
from synthrelease.audit.sweeps import MOST_RECORDS, sweeps
from synthrelease.errors import InputError

Part = Literal["sensitivity", "selection", "losses", "cases", "power"]
PARTS: tuple[Part, ...] = ("sensitivity", "selection", "losses", "cases", "power")
USUAL: tuple[Part, ...] = ("sensitivity", "selection", "losses", "cases")
"""Without the power, which takes longer than the rest and says the same on every machine."""

LAW_SIZES = ((40, 2), (24, 3))
"""(parts of a probability, outputs) of the finite rounds."""


def run_audit(
    *,
    parts: Collection[Part] = USUAL,
    effort: Effort = Effort(),  # noqa: B008 (frozen)
    jobs: int = 1,
    only: str | None = None,
    most_records: int = MOST_RECORDS,
    progress: Progress = lambda phase, done, total: None,
) -> AuditResult:
    """Audit the program.

    Parameters
    ----------
    effort : of the cases.
    only : a text that the family or the name of a case, or the name of an enumeration, must contain.
    most_records : records of the largest tables that are enumerated.

    Raises
    ------
    InputError : when nothing of the parts has `only` in its name.
    """
    wanted = (only or "").lower()
    cases = [case for case in all_cases() if wanted in f"{case.family} {case.name}".lower()]
    losses = [case for case in (*loss_cases(), *faulty_losses()) if wanted in str(case).lower()] if "losses" in parts else []
    result = AuditResult(
        sensitivities=tuple(_sensitivities(wanted, most_records, jobs, progress)) if "sensitivity" in parts else (),
        laws=tuple(_laws(progress)) if "selection" in parts and not wanted else (),
        losses=tuple(audit_losses(losses, progress)),
        findings=tuple(audit_cases(cases, effort=effort, jobs=jobs, progress=progress)) if "cases" in parts else (),
        power=tuple(
            measure_power(fault, len(all_cases()), jobs=jobs, progress=progress)
            for fault in unit_faults()
            if "power" in parts and wanted in f"{fault.family} {fault.name}".lower()
        ),
    )
    if result == AuditResult():
        raise InputError(f"--only {only}: expected a part of the name of a case or an enumeration, found none that has it.")
    return result


def _sensitivities(wanted: str, most_records: int, jobs: int, progress: Progress) -> list[Enumeration]:
    chosen = [sweep for sweep in sweeps() if wanted in f"{sweep.kind} {sweep.name}".lower()]
    found: list[Enumeration] = []
    for part in side_by_side(enumerate_sweep, [(sweep, most_records) for sweep in chosen], jobs):
        found.append(part)
        progress("enumerating sensitivities", len(found), len(chosen))
    order = [sweep.name for sweep in chosen]
    found.sort(key=lambda part: order.index(part.name))
    numbers = [enumerate_numbers(most_records)] if wanted in NUMBER_OF_ROWS else []
    return [*found, *enumerate_models(most_records, wanted), *numbers]


def _laws(progress: Progress) -> list[LawCheck]:
    found: list[LawCheck] = []
    for done, (parts, outputs) in enumerate(LAW_SIZES):
        found += check_laws(parts, outputs)
        progress("selection laws", done + 1, len(LAW_SIZES))
    return found
