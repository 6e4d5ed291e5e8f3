"""What a public file of Stata, SAS or SPSS says about its columns: labels, codelists, and the codes that mean missing.

For public files alone. Of a private file nothing of this is read: its labels are words that somebody wrote about these very
records, and no public rule says what may stand in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synthrelease.enclave.statistical import object_text, read_package, writer
from synthrelease.sources.flat_tables import Package


@dataclass(frozen=True, kw_only=True)
class ColumnNotes:
    """What a file says about one column.

    Attributes
    ----------
    label : of the column; empty where it has none.
    value_labels : for texts of the column, what they mean.
    missing : texts that the file declares as missing values.
    missing_ranges : (lowest, highest), both included, of numbers that the file declares as missing values.
    """

    label: str = ""
    value_labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    missing_ranges: tuple[tuple[float, float], ...] = ()

    def means_missing(self, text: str) -> bool:
        """Whether the file declares that a text of the column means missing."""
        if text in self.missing:
            return True
        try:
            number = float(text)
        except ValueError:
            return False
        return any(low <= number <= high for low, high in self.missing_ranges)


def notes_of(package: Package, path: Path, encoding: str) -> dict[str, ColumnNotes]:
    """The notes on every column of a **public** file. Raises InputError as `package_batches`."""
    facts = read_package(package, path, encoding, metadataonly=True)[1]
    return {name: _notes(package, facts, name) for name in facts.column_names}


def _notes(package: Package, facts: Any, name: str) -> ColumnNotes:
    write = writer(package, facts, name)

    def texts(values: Sequence[Any]) -> list[str]:
        return [text for value in values if (text := object_text(value, write)) is not None]

    labels = facts.variable_value_labels.get(name, {})
    ranges = [(each["lo"], each["hi"]) for each in facts.missing_ranges.get(name, [])]
    single = [low for low, high in ranges if low == high]
    return ColumnNotes(
        label=facts.column_names_to_labels.get(name) or "",
        value_labels={text: str(label) for value, label in labels.items() for text in texts([value])},
        missing=tuple(texts([*single, *(package.letters if write else "")])),
        missing_ranges=tuple((float(low), float(high)) for low, high in ranges if low != high and not isinstance(low, str)),
    )
