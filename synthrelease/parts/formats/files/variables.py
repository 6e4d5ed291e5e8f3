"""The columns of a released table as variables of a statistical package: numbers from 1 with value labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from synthrelease.criteria.facts import words
from synthrelease.data.weights import WEIGHT
from synthrelease.parts.formats.files.names import SPSS, STATA, NamingRules, renamed
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.settings.tables import SYNTHETIC

VARIABLE_LABEL = {STATA.name: 80, SPSS.name: 256}
"""Characters of Stata, bytes of SPSS."""
FILE_LABEL = {STATA.name: 80, SPSS.name: 64}


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A column in a package.

    Attributes
    ----------
    column : the released column; its bins are the values 1, 2, ... in their order, without the bin of missing values.
    name, label : in the package.
    missing : which bin is that of missing values, counted from 0; None where there is none.
    """

    column: ColumnPart
    name: str
    label: str
    missing: int | None


def variables(
    document: ReleaseDocument, package: NamingRules, columns: Sequence[ColumnPart] | None = None, key: str = ""
) -> Iterator[Variable]:
    """The columns in their order. A column that is called otherwise in the package has its own name first in its label.

    Parameters
    ----------
    columns, key : of one of several tables (`ReleaseDocument.table_files`); left out, all of the one table.
    """
    columns = document.columns if columns is None else columns
    taken = [WEIGHT, SYNTHETIC, *([key_name(key, package)] if key else [])]
    names = renamed([column.name for column in columns], package, taken)
    for column in columns:
        text = document.card.columns.get(column.name) or column.description or words(column.name)
        text += f" ({column.unit})" if column.unit else ""
        label = text if names[column.name] == column.name else f"{column.name}: {text}"
        missing = next((place for place, one in enumerate(column.bins) if one.missing), None)
        name = names[column.name]
        yield Variable(column=column, name=name, label=cut_label(label, package, VARIABLE_LABEL), missing=missing)


def key_name(key: str, package: NamingRules) -> str:
    """What the key of a table is called in the package."""
    return renamed([key], package)[key]


def further_labels(document: ReleaseDocument) -> dict[str, str]:
    """The labels of the columns that are no bins: the weight, and the one that says that the table is synthetic."""
    found = {WEIGHT: "For how many a row stands"} if document.weighted else {}
    return found | ({SYNTHETIC: "Synthetic data: 1 in every row"} if document.bundle.synthetic_column else {})


def cut_label(text: str, package: NamingRules, limits: dict[str, int]) -> str:
    """A label as far as the package can hold it, with "..." at its end where it was longer."""
    measured: Callable[[str], int] = package.length
    text, limit = " ".join(text.split()), limits[package.name]
    if measured(text) <= limit:
        return text
    while measured(text) > limit - 3:
        text = text[:-1]
    return f"{text}..."
