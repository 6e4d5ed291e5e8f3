"""A commitment: what a release will be, written down and published before it is run.

Its digest stands in an official gazette, say; the file itself may be kept until the release is out. Whoever has both can see
that columns, bins, criteria, thresholds, budgets and the law of the search were fixed before, and by which program. It holds
nothing about the private file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from synthrelease.bundle.document import own_version
from synthrelease.bundle.planned import selection_part
from synthrelease.errors import InputError
from synthrelease.ledger.account import load_ledger
from synthrelease.published.checksums import sha256
from synthrelease.published.costs import ChargePart
from synthrelease.published.document import SelectionPart
from synthrelease.published.parts import ExactText, Number, Part
from synthrelease.specification.release_spec import ReleaseSpec

MAX_BYTES = 10_000_000


class LedgerHeadPart(Part):
    """The ledger of the dataset before the run: its name, the number of its charges, and the head that the run must find."""

    dataset: str
    number: int
    head: str


class CommittedCriterionPart(Part):
    """A criterion as it will be applied."""

    name: str
    kind: str
    threshold: Number
    epsilon_exact: ExactText


class CommitmentPart(Part):
    """All of it.

    Attributes
    ----------
    specification : the digest of both files, without the words of the card, published totals, formats and the series.
    program : the version of synthrelease.
    ledger : null where none was named.
    shortlist : the SHA-256 checksum of the shortlist; null where configurations are drawn from the whole space.
    charges, selection, criteria : the planned law.
    """

    commitment: Literal[1]
    title: str
    specification: Annotated[str, Field(pattern="[0-9a-f]{64}")]
    program: str
    ledger: LedgerHeadPart | None
    shortlist: str | None
    charges: ChargePart
    selection: SelectionPart
    criteria: list[CommittedCriterionPart]

    def dumped(self) -> bytes:
        """The file, in the one way that has this digest."""
        tables: dict[str, Any] = self.model_dump(mode="json")
        return (json.dumps(tables, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")

    @property
    def digest(self) -> str:
        """The SHA-256 checksum of the file."""
        return sha256(self.dumped())


def commitment(spec: ReleaseSpec, ledger: Path | None = None, shortlist: Path | None = None) -> CommitmentPart:
    """What is committed to. Reads no data; of the ledger its name and head alone.

    Parameters
    ----------
    spec : drawing from the shortlist alone, where one is given.

    Raises
    ------
    BudgetError, InputError : when the ledger or the shortlist cannot be read.
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
        shortlist=None if shortlist is None else sha256(shortlist.read_bytes()),
        charges=ChargePart.of(spec.plan.total),
        selection=selection_part(spec),
        criteria=[
            CommittedCriterionPart(name=one.name, kind=one.kind, threshold=one.threshold, epsilon_exact=str(one.epsilon))
            for one in spec.criteria
        ],
    )


def read_commitment(path: Path) -> tuple[CommitmentPart, str]:
    """A commitment with the digest of its file.

    Raises
    ------
    InputError : when this is none.
    """
    found = ""
    try:
        content = path.read_bytes()[: MAX_BYTES + 1]
        return CommitmentPart.model_validate_json(content), sha256(content)
    except OSError as error:
        found = f"a file that cannot be read ({error.strerror})"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        found = f"a mistake: {first['msg'].lower()} at {'.'.join(map(str, first['loc'])) or 'the whole'}"
    raise InputError(f"{path}: expected what `synthrelease commit` writes, found {found}.")
