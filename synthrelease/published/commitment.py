"""Define a commitment: a document with all facts that are fixed before a release is made.

Its digest is published before the run, for example in an official gazette. Everybody can then check that columns, bins,
criteria, thresholds, budgets, the distribution of the number of rounds and the version of the program were fixed
beforehand. A commitment contains nothing about the private file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from synthrelease.errors import InputError, Unexpected
from synthrelease.published.base import ExactText, Number, Part, check_format, json_bytes, sha256
from synthrelease.published.charges import ChargePart, SelectionPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import NAME as MEASUREMENTS
from synthrelease.published.options import PlanOfYearsPart
from synthrelease.settings.reading import dotted

# Statements that nobody can check without the private file. Every verification lists them, and so does SIGN.md.


def beyond(document: ReleaseDocument, words: Sequence[str]) -> Iterator[str]:
    """Yield the statements of a release that nobody can check without the private file.

    Each statement is part of a sentence, such as "that noise was drawn as stated".

    Parameters
    ----------
    words : names of tables that the published specification leaves out (`spec.canonical.WORDS`).
    """
    rows, in_file = document.rows_worked_with, document.domain.file_rows
    if in_file is None:
        yield f"that {rows:,} rows of a private file pass the rules and were counted"
    elif (persons := document.domain.persons) is not None:
        yield f"that a private file of {persons:,} persons was counted, and that the release used {rows:,} of their rows"
        yield "that each key is one person, and that the first rows of each person were chosen as the specification says"
    else:
        yield f"that a private file of {in_file:,} rows was counted, and that the release used {rows:,} of them"
    yield "that noise was drawn as stated: somebody could have invented the released values"
    if any(part.noise_bound is not None for part in document.criteria):
        yield "the error of values that come from a noisy fitted line (their intervals are estimates)"
    which, drawn_from = "that the configuration", document.selection.configurations
    if drawn_from > 1:
        which = f"that the stated one of the {drawn_from:,} configurations was drawn, and that it"
    yield f"{which} made these rows: somebody could have invented rows that fit the bins, the rules and the counts"
    if MEASUREMENTS in document.files:
        yield "that the noisy tables count the private file: somebody could have invented counts that fit the number of rows"
    records = document.guarantee.person.records
    if document.domain.persons is None:
        yield f"that no person has more than {records} record{'s' if records > 1 else ''} in the file"
    options = (document.calibration, document.series, document.imputation)
    yield from (part.beyond for part in options if part is not None)
    if document.attacks is not None:
        yield "the results of attacks on public rows before the release"
    yield "which versions of programs made the run"
    fixed = {} if document.first_run else document.fixed_parts
    tables = ", ".join(f"[{name}]{' (except its plan)' * (name in fixed)}" for name in words if name != "card")
    yield f"the publisher's texts and settings outside the specification: the card, {tables}"


FORMAT: Literal[1] = 1
MAX_BYTES = 10_000_000


class LedgerHeadPart(Part):
    """The state of the ledger (the list of all charges to a dataset) from which the run must begin. `head` is a digest of
    all charges.
    """

    dataset: str
    number: int
    head: str


class CommittedCriterionPart(Part):
    """The facts about a criterion that a commitment fixes before the run."""

    name: str
    kind: str
    threshold: Number
    epsilon_exact: ExactText


class CommittedYearsPart(PlanOfYearsPart):
    """The multi-year plan in a commitment, and the year and run for which the commitment was made.

    Attributes
    ----------
    again : whether the run is the second release of its year, which needs its own commitment. Absent in version 1.0.0,
        whose commitments never cover a second release.
    """

    again: bool | None = None


class CommitmentPart(Part):
    """The content of a commitment: all facts that are fixed before a release is made.

    Attributes
    ----------
    specification : the digest of specification.json, the canonical text of the steward's two files, with the shortlist.
    program : the version of synthrelease.
    ledger : the state of the ledger, or null if no ledger was named.
    charges, selection, criteria : the planned charges, selection and criteria.
    years : the multi-year plan, or absent. With a plan, the commitment fixes the names, kinds and thresholds of the
        criteria for every year, and all other fields for the release of `year` (the second release of this year if
        `again`).
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
        return json_bytes(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        return sha256(self.dumped())


def read_commitment(path: Path) -> tuple[CommitmentPart, str]:
    """Read a commitment from a file. Return the commitment, and the SHA-256 digest of the file.

    Raises
    ------
    InputError : if the file is not a commitment.
    """
    problem = ""
    try:
        content = path.read_bytes()[: MAX_BYTES + 1]
        check_format(content, (FORMAT,))
        return CommitmentPart.model_validate_json(content), sha256(content)
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror})"
    except Unexpected as error:
        raise InputError(f"{path}: {error}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place, why = dotted(first["loc"]) or "the whole file", first["msg"]
        problem = f"this file is not a commitment ({place}: {why[:1].lower()}{why[1:]})"
    raise InputError(f"{path}: {problem}.")
