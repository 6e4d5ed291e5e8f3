"""What a bundle asks of an option that is a folder (`synthrelease.parts`): the hooks of `writing.py`
and `files`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation
from synthrelease.errors import SynthreleaseError
from synthrelease.published.base import Part
from synthrelease.published.columns import ColumnPart, RulePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import FileKind
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.tables import BundleTable

Value = TypeVar("Value")
Said = TypeVar("Said", bound=Part)


class OtherRelease(SynthreleaseError):
    """A bundle that was not made by the configuration at hand."""


@dataclass(frozen=True, kw_only=True)
class CardStatement:
    """A sentence of the card beside the guarantee."""

    heading: str
    text: str


class CardColumn(NamedTuple):
    """Of a table of the card: its heading, and how it is set."""

    heading: str
    kind: Literal["", "number", "wide"] = ""


@dataclass(frozen=True, kw_only=True)
class CardSection:
    """A section of the card: sentences, and a table where there are rows.

    Attributes
    ----------
    place : after which other sections it stands: those of the rows, or those of the guarantee and the charges.
    label : of the table, for readers who do not see it.
    rows : the first cell of each is its heading.
    """

    anchor: str
    heading: str
    place: Literal["rows", "guarantee"]
    sentences: tuple[str, ...]
    label: str = ""
    columns: tuple[CardColumn, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the command says of an option after a release is written."""

    text: str
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class AcceptedRows:
    """The released table, for what is made of it.

    Attributes
    ----------
    transformation : from atomic bins to the released ones.
    columns : with the released bins.
    rules : for released rows, on these bins.
    smallest : how often every released row occurs at least.
    bundle : how files are named and marked.
    """

    table: ReleasedTable
    transformation: Transformation
    columns: Sequence[ColumnPart]
    rules: Plausibility
    smallest: int
    bundle: BundleTable


@dataclass(frozen=True, kw_only=True)
class Made(Generic[Said]):
    """What was made of the released rows: a part of release.json, files by name, and weights.

    Attributes
    ----------
    weights : (n_cells,) of a row of each cell, a further column of the table; None for no such column.
    """

    part: Said
    files: Mapping[str, bytes] = field(default_factory=dict)
    weights: np.ndarray | None = None


class Writing(Generic[Value, Said]):
    """The hooks, with what most options answer. An option has `planned` or `part`, or, made
    of the rows, `make` and `placeholder`.

    Attributes
    ----------
    made_anew : whether what is made of the rows is a function of them and of words, made again when these are others; what is
        drawn stays.
    files : what each of its files is for, in a line, by the plain name.
    """

    made_anew: bool = False
    files: Mapping[str, str] = MappingProxyType({})

    def make(self, value: Value, rows: AcceptedRows) -> Made[Said] | None:
        """What is made of the released rows, once."""
        return None

    def placeholder(self, value: Value, rows: AcceptedRows) -> Said | None:
        """The part in a preview, for what is made of released rows."""
        return None

    def rewritten_files(
        self, part: Said, files: Mapping[str, bytes], before: BundleTable, now: BundleTable
    ) -> dict[str, bytes]:
        """Its files in a bundle that is written anew, from those of the bundle until now."""
        return {}

    def resource(self, part: Said, name: str, table: dict[str, Any]) -> dict[str, Any]:
        """What datapackage.json says of one of its files, where `table` is said of data.csv."""
        return {}

    def planned(self, value: Value, rows: int) -> Said | None:
        """Its part of release.json, where that follows from the specification and the rows that the release works with."""
        return None

    def part(self, value: Value, document: ReleaseDocument) -> Said | None:
        """Its part of release.json, from what the specification holds and the rest of the document."""
        return None

    def rewritten(self, value: Value, document: ReleaseDocument, before: bytes) -> Said | None:
        """The part in a bundle that is written anew, where words alone may be others; `before` is its release.json until now.

        Raises
        ------
        OtherRelease : when that is not the release it should be.
        """
        return self.part(value, document)

    def statement(self, part: Said) -> CardStatement | None:
        """What the card says beside the guarantee."""
        return None

    def about_figures(self, part: Said, document: ReleaseDocument) -> list[str]:
        """What readers of every figure must know; nothing where figures are about all rows."""
        return []

    def section(self, part: Said, document: ReleaseDocument) -> CardSection | None:
        """What the card of a release says in a section of its own."""
        return None

    def tells(self, part: Said, rule: RulePart) -> bool:
        """Whether its section says what a rule says, so that the card's list of rules leaves it out."""
        return False

    def outcome(self, part: Said) -> Outcome | None:
        """What the command says after a release is written."""
        return None


class FurtherFiles:
    """The hooks: what writes the files that a list in [bundle] asks for. `chosen` are the names in the list. `verify` calls
    them again and compares.

    Attributes
    ----------
    check : what `verify` calls the comparison of the files with rows; empty where there are none.
    found : what it found when all is well.
    """

    check: str = ""
    found: str = ""

    def of_rows(self, chosen: Collection[str], document: ReleaseDocument, table: ReleasedTable) -> dict[str, Iterable[bytes]]:
        """Files that hold rows, by name, each as pieces. Raises InputError when a library is missing."""
        return {}

    def of_estimates(self, kind: FileKind, frame: Any, labels: Mapping[str, str]) -> bytes | None:
        """The table of estimates as a file of this kind, with labels of its columns; None for a kind of another option."""
        return None

    def documents(
        self, chosen: Collection[str], document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]
    ) -> dict[str, bytes]:
        """Files that follow from release.json and the table, by name; `sizes` are lengths of the data files in bytes.

        Raises
        ------
        InputError : when a library is missing.
        """
        return {}

    def warnings(self, chosen: Collection[str], columns: Sequence[str]) -> list[str]:
        """What is said before a release about the names of its columns, a line each."""
        return []
