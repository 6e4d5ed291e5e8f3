"""Whether a release is the one that was committed to before it was run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from synthrelease.published.commitment import CommitmentPart, read_commitment
from synthrelease.published.document import ReleaseDocument
from synthrelease.verification.checks import Check


def committed(document: ReleaseDocument, path: Path) -> Check:
    """Specification, program, charges, selection and criteria are those of the commitment.

    The head of the ledger does not stand in a release; the steward's logbook shows it.

    Raises
    ------
    InputError : when the file is no commitment.
    """
    part, digest = read_commitment(path)
    problems = tuple(f"release.json: {problem} of the commitment {path.name}" for problem in _problems(document, part))
    shown = " ".join(digest[start : start + 16] for start in range(0, 64, 16))
    found = f"as committed to; compare this digest with the published one: {shown}"
    return Check(name="commitment", found=found, problems=problems)


def _problems(document: ReleaseDocument, part: CommitmentPart) -> Iterator[str]:
    said: Any = document.parts.get("series")
    stated = None if said is None or said.years is None else said.years.model_dump()
    if part.years is not None:
        plan = part.years.model_dump(exclude={"year"})
        if stated is None or any(stated[name] != value for name, value in plan.items()):
            yield "series: expected the plan over years, and not that"
        elif stated["year"] != part.years.year or stated["again"]:  # another year: its own specification and program
            if [(one.name, one.kind, one.threshold) for one in document.criteria] != [
                (one.name, one.kind, one.threshold) for one in part.criteria
            ]:
                yield "criteria: expected the names, kinds and thresholds"
            return
    if document.specification != part.specification:
        yield f"specification: expected {part.specification[:16]}..., that"
    program = document.versions.get("synthrelease", document.written_by)
    if program != part.program:
        yield f"versions: expected synthrelease {part.program}, found {program}, and not that"
    if document.charges != part.charges:
        yield "charges: expected those"
    if document.selection != part.selection:
        yield "selection: expected that"
    figures = [(one.name, one.kind, one.threshold, one.epsilon_exact) for one in document.criteria]
    if figures != [(one.name, one.kind, one.threshold, one.epsilon_exact) for one in part.criteria]:
        yield "criteria: expected the names, kinds, thresholds and epsilons"
