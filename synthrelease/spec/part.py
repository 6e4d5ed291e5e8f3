"""What the specification asks of an option that is a folder (`synthrelease.parts`): the hooks of `building.py` and
`checking.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from synthrelease.criteria.base import Criterion
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Binning, Schema, Transformation
from synthrelease.privacy.plan import Loss
from synthrelease.settings.base import SpecTable
from synthrelease.settings.card import CardTable
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import ReleaseFile

if TYPE_CHECKING:
    from synthrelease.privacy.plan import YearOfSeries
    from synthrelease.privacy.subsets import PartitionRule, SplitRule

Table = TypeVar("Table", bound=SpecTable)
Value = TypeVar("Value")

Checking = Callable[[Any, CardTable, Schema, Problems], None]
"""Adds a problem for what does not go with a list: the names that were chosen of one in [bundle], or tables of an option that
may stand several times."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The rest of the two files, when an option is built.

    Attributes
    ----------
    file : the configuration that has the table of the option; paths in it are relative to this.
    acceptance, criteria : the acceptance file, and what it asks.
    groups : the bins of the acceptance file's [groups].
    transformations : of the configurations that a release may draw.
    released : the rules for released rows, over atomic bins.
    """

    file: Path
    acceptance: str
    criteria: Sequence[Criterion]
    release: ReleaseFile
    schema: Schema
    groups: Mapping[str, Binning]
    transformations: Sequence[Transformation]
    released: Plausibility


class Building(Generic[Table, Value]):
    """The hooks, in the order in which a release meets them, with what most options answer."""

    def build(self, table: Table, around: Surroundings, problems: Problems) -> Value:
        """What the specification holds of the table; every setting that does not go with it becomes a problem."""
        return cast(Value, table)

    def check_columns(self, table: Table, release: ReleaseFile, problems: Problems) -> None:
        """Add a problem for what does not go with the columns of the configuration, before a record is made of them."""

    def division(self, table: Table) -> PartitionRule | None:
        """How rows are divided at random into a piece for the generator and one for the criteria; None where they are not."""
        return None

    def piece_of_register(self, table: Table) -> SplitRule | None:
        """Which piece of a register that a secret key splits the release reads; None where it reads all rows."""
        return None

    def check_new(self, value: Value, total: Loss, problems: Problems) -> None:
        """Add a problem for what a new release, which costs `total`, must not say."""

    def earlier(self, value: Value) -> tuple[bytes, ...]:
        """The files release.json of the releases before this one that it names."""
        return ()

    def year(self, value: Value) -> YearOfSeries | None:
        """Which year of a plan over years the release is; None where there is none."""
        return None

    def most_rows(self, value: Value) -> int | None:
        """How many rows the private file has at most, where the table says so."""
        return None

    def functions(self, value: Value) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Columns of the table that it makes functions of others in the same row, each with these."""
        return ()

    def bytes_of_a_row(self, value: Value, longest: int, files: int) -> int:
        """What it adds for each released row, at most; a row has at most `longest` bytes in each of so many `files`."""
        return 0

    def rows_text(self, value: Value) -> str:
        """What a plan and a release say of the rows that it works with; empty for nothing."""
        return ""

    def plan_text(self, value: Value, total: Loss, rows: int) -> str:
        """What `plan` says of it, for a private file of so many rows; empty for nothing."""
        return ""
