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

from synthrelease.errors import InputError, Unexpected
from synthrelease.published.checksums import sha256
from synthrelease.published.costs import ChargePart
from synthrelease.published.formats import check_format
from synthrelease.published.parts import ExactText, Number, Part
from synthrelease.published.selection import SelectionPart
from synthrelease.published.years import PlanOfYearsPart
from synthrelease.settings.reading import dotted

FORMAT: Literal[1] = 1
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


class CommittedYearsPart(PlanOfYearsPart):
    """The plan over years, and the run of it that the commitment is to.

    Attributes
    ----------
    again : whether that is the second release of its year, which has a commitment of its own; absent in commitments of version
        1.0.0, which are to no second release.
    """

    again: bool | None = None


class CommitmentPart(Part):
    """All of it.

    Attributes
    ----------
    specification : the digest of the canonical text of both files, the shortlist included: of specification.json in the bundle.
    program : the version of synthrelease.
    ledger : null where none was named.
    charges, selection, criteria : the planned law.
    years : the plan over years, for all of them; specification, program, charges and selection are those of its `year`, of the
        first release or the second (`again`), names, kinds and thresholds of criteria those of every year. Absent without a
        plan.
    """

    commitment: Literal[1]
    title: str
    specification: Annotated[str, Field(pattern="[0-9a-f]{64}")]
    program: str
    ledger: LedgerHeadPart | None
    charges: ChargePart
    selection: SelectionPart
    criteria: list[CommittedCriterionPart]
    years: CommittedYearsPart | None = None

    def dumped(self) -> bytes:
        """The file, in the one way that has this digest."""
        tables: dict[str, Any] = self.model_dump(mode="json")
        return (json.dumps(tables, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")

    @property
    def digest(self) -> str:
        """The SHA-256 checksum of the file."""
        return sha256(self.dumped())


def read_commitment(path: Path) -> tuple[CommitmentPart, str]:
    """A commitment with the digest of its file.

    Raises
    ------
    InputError : when this is none.
    """
    found = ""
    try:
        content = path.read_bytes()[: MAX_BYTES + 1]
        check_format(content, (FORMAT,))
        return CommitmentPart.model_validate_json(content), sha256(content)
    except OSError as error:
        found = f"a file that cannot be read ({error.strerror})"
    except Unexpected as error:
        raise InputError(f"{path}: {error}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        found = f"a mistake: {first['msg'].lower()} at {dotted(first['loc']) or 'the whole'}"
    raise InputError(f"{path}: expected what `synthrelease commit` writes, found {found}.")
