"""A draft: its two files and its codelists, as texts and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from synthrelease.drafting.column_draft import ColumnDraft, LeftOut
from synthrelease.drafting.criteria import AcceptanceDraft
from synthrelease.drafting.linked import MembersDraft
from synthrelease.drafting.persons import UnitAnswer


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The files as text, and what was made of the columns.

    Attributes
    ----------
    codelists : long codelists, by their path relative to the configuration.
    smaller : why the draft has fewer columns, or coarser bins, than the file would give; empty where it has not.
    plan : what it costs and keeps, in sentences.
    unit : how rows belong to persons; None where nobody has said it.
    members : the rows of a second table that belong to each of these; None where there are none.
    """

    configuration: str
    acceptance: str
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[LeftOut, ...]
    criteria: AcceptanceDraft
    n_rows: int
    source: str
    codelists: Mapping[str, str] = field(default_factory=dict)
    smaller: str = ""
    plan: str = ""
    unit: UnitAnswer | None = None
    members: MembersDraft | None = None

    @property
    def doubtful(self) -> tuple[ColumnDraft, ...]:
        """The columns that the steward is asked about."""
        return tuple(column for column in (*self.columns, *(self.members.columns if self.members else ())) if column.doubt)


def paths_of(into: Path, name: str) -> tuple[Path, Path]:
    return into / "configs" / f"{name}.toml", into / "acceptance" / f"{name}.toml"


def write_files(into: Path, name: str, found: Draft) -> tuple[Path, Path]:
    """The files of a draft under a folder; what is there already raises FileExistsError."""
    configuration, acceptance = paths_of(into, name)
    codelists = {configuration.parent / path: text for path, text in found.codelists.items()}
    for path, text in {configuration: found.configuration, acceptance: found.acceptance, **codelists}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return configuration, acceptance
