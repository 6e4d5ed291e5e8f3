"""A commitment to a release, made from its specification (`published.commitment`)."""

from __future__ import annotations

from pathlib import Path

from synthrelease.bundle.document import own_version
from synthrelease.bundle.planned import selection_part
from synthrelease.privacy.ledger import load_ledger
from synthrelease.published.charges import ChargePart
from synthrelease.published.commitment import CommitmentPart, CommittedCriterionPart, CommittedYearsPart, LedgerHeadPart
from synthrelease.published.years import PlanOfYearsPart
from synthrelease.spec.release_spec import ReleaseSpec


def commitment(spec: ReleaseSpec, ledger: Path | None = None) -> CommitmentPart:
    """What is committed to. Reads no data; of the ledger its name and head alone.

    Parameters
    ----------
    spec : drawing from the shortlist alone, where one is given.

    Raises
    ------
    BudgetError, InputError : when the ledger cannot be read.
    """
    head = None
    if ledger is not None:
        statement = load_ledger(ledger).statement()
        head = LedgerHeadPart(dataset=statement.dataset, number=statement.head.number, head=statement.head.hash)
    return CommitmentPart(
        commitment=1,
        title=spec.title,
        specification=spec.digest,
        program=own_version(),
        ledger=head,
        charges=ChargePart.of(spec.plan.total),
        selection=selection_part(spec),
        criteria=[
            CommittedCriterionPart(name=one.name, kind=one.kind, threshold=one.threshold, epsilon_exact=str(one.epsilon))
            for one in spec.criteria
        ],
        years=None
        if spec.year is None
        else CommittedYearsPart(**PlanOfYearsPart.of_plan(spec.year).model_dump(), again=spec.year.again),
    )
