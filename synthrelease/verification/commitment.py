"""Whether a release is the one that was committed to before it was run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthrelease.published.commitment import CommitmentPart, read_commitment
from synthrelease.published.document import ReleaseDocument
from synthrelease.verification.checks import Check


@dataclass(frozen=True, kw_only=True)
class Commitment:
    """A commitment that was given: the name of its file, what it says, and its digest in groups of digits."""

    name: str
    part: CommitmentPart
    digest: str

    @classmethod
    def read(cls, path: Path) -> Commitment:
        """Raises InputError when the file is no commitment."""
        part, digest = read_commitment(path)
        return cls(name=path.name, part=part, digest=" ".join(digest[start : start + 16] for start in range(0, 64, 16)))

    def covers(self, document: ReleaseDocument) -> bool:
        """Whether it is about this very run, and not about another year of the same plan or another release of its year."""
        planned, own = self.part.years, _years(document)
        if planned is None or own is None:
            return True
        return (own.year, own.again) == (planned.year, bool(planned.again))


def committed(document: ReleaseDocument, given: Commitment) -> Check:
    """Specification, program, charges, selection and criteria are those of the commitment; of another year of its plan, the
    plan over years and the names, kinds and thresholds of the criteria.

    The head of the ledger does not stand in a release; the steward's logbook shows it.
    """
    whole = given.covers(document)
    problems = _of_the_run(document, given.part) if whole else _of_the_plan(document, given.part)
    told = tuple(f"release.json: {problem} of the commitment {given.name}" for problem in problems)
    what = "" if whole else "plan over years, names, kinds and thresholds of the criteria "
    apart = "" if whole else "; the specification of this release is not in the commitment"
    found = f"{what}as committed to{apart}; compare this digest with the published one: {given.digest}"
    return Check(name="commitment", found=found, problems=told)


def compared(document: ReleaseDocument, given: Commitment) -> tuple[str, bool]:
    """What a commitment shows when all is well, and whether that is the specification."""
    compare = f"Compare the digest of the commitment with the published one: {given.digest}."
    planned, own = given.part.years, _years(document)
    if planned is None or own is None or given.covers(document):
        which = "" if planned is None else f" of {_run(planned.year, bool(planned.again))}"
        return f"The specification{which} is the one that was committed to. {compare}", True
    return (
        f"The commitment is to {_run(planned.year, bool(planned.again))}, and this is {_run(own.year, own.again)}: the plan "
        "over years and the names, kinds and thresholds of the criteria are the ones that were committed to. The specification "
        f"of this release was not compared: its bins, rules and budgets may be others. {compare}"
    ), False


def _run(year: int, again: bool) -> str:
    return f"the second release of {year}" if again else f"the release of {year}"


def _years(document: ReleaseDocument) -> Any:
    """The plan over years in release.json; None without one."""
    said: Any = document.parts.get("series")
    return None if said is None else said.years


def _of_the_plan(document: ReleaseDocument, part: CommitmentPart) -> Iterator[str]:
    """What was fixed for every year. A second release of the year that was committed to has a commitment of its own."""
    yield from _plan_problems(document, part)
    planned, own = part.years, _years(document)
    if planned is not None and planned.again is not None and planned.year == own.year:
        yield f"series: expected {_run(planned.year, planned.again)}, found {_run(own.year, own.again)}, and not the release"
    found, stated = ([(one.name, one.kind, one.threshold) for one in each.criteria] for each in (document, part))
    if found != stated:
        yield "criteria: expected the names, kinds and thresholds"


def _of_the_run(document: ReleaseDocument, part: CommitmentPart) -> Iterator[str]:
    """What was fixed for this run."""
    yield from _plan_problems(document, part)
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


def _plan_problems(document: ReleaseDocument, part: CommitmentPart) -> Iterator[str]:
    own = _years(document)
    if part.years is None:
        if own is not None:
            yield "series: expected no plan over years, as there is none in it, and found one; not that"
        return
    stated = None if own is None else own.model_dump()
    plan = part.years.model_dump(exclude={"year", "again"})
    if stated is None or any(stated[name] != value for name, value in plan.items()):
        yield "series: expected the plan over years, and not that"
