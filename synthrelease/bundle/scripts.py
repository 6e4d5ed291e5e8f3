"""Write read.R and read.do, which load the table with labels, bin numbers and criterion values into R and Stata."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synthrelease.bundle.card.numbers import environment, labelled_title
from synthrelease.bundle.formats import STATA, Variable, further_labels, key_name, renamed, variables
from synthrelease.criteria.facts import words
from synthrelease.data.weights import WEIGHT
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE
from synthrelease.settings.tables import SYNTHETIC

R_NAME, STATA_NAME = "read.R", "read.do"


def scripts(document: ReleaseDocument) -> dict[str, bytes]:
    """Return the scripts that `formats` in [bundle] requests, by file name."""
    chosen, files = document.bundle.formats, dict[str, bytes]()
    if "r" in chosen:
        files[R_NAME] = _r(document)
    if "stata" in chosen:
        files[STATA_NAME] = _stata(document)
    return files


def _script(name: str, document: ReleaseDocument, **values: Any) -> str:
    title, template = labelled_title(document), environment().get_template(name)
    text = template.render(document=document, title=title, notice=NOTICE, weight=WEIGHT, **values)
    return re.sub(r"\n{2,}", "\n", text).strip() + "\n"


def _r(document: ReleaseDocument) -> bytes:
    def label_of(column: ColumnPart) -> str:
        text = document.card.columns.get(column.name) or column.description or words(column.name)
        return " ".join((f"{text} ({column.unit})" if column.unit else text).split())

    values = zip(*_figures(document), strict=True)
    figures = dict(zip(("value", "threshold", "low", "high"), values, strict=True))
    labels = further_labels(document)
    return _script(R_NAME, document, label_of=label_of, figures=figures, further_labels=labels).encode("ascii")


def _figures(document: ReleaseDocument) -> list[tuple[float | int | None, ...]]:
    lines = []
    for criterion in document.criteria:
        ends = (None, None) if criterion.interval is None else (criterion.interval.low, criterion.interval.high)
        lines.append((criterion.value, criterion.threshold, *ends))
    return lines


@dataclass(frozen=True, kw_only=True)
class NumberedVariable:
    """A variable of a Stata file whose bins have representative values, which the script adds as a second variable.

    Attributes
    ----------
    of_numbers : the name of the second variable.
    numbers : the code and the representative value of each bin that has a representative value.
    """

    name: str
    of_numbers: str
    numbers: Sequence[tuple[int, float | int]]


def _stata(document: ReleaseDocument) -> bytes:
    names = renamed([criterion.name for criterion in document.criteria], STATA, ())
    of_rows, *of_members = [variables(document, STATA, file) for file in document.table_files]
    tables = [_numbered(columns) for columns in (of_rows, *of_members)]
    roles = {document.role_of(variable.column): variable.name for variable in reversed(of_rows)}
    text = _script(
        STATA_NAME,
        document,
        tables=tables,
        design_weight=next((table.of_numbers for table in tables[0] if table.name == roles.get("weight")), ""),
        stratum=roles.get("stratum", ""),
        member_key=key_name(document.table_files[-1].key, STATA) if document.linked else "",
        figures=_figures(document),
        rows=[names[criterion.name] for criterion in document.criteria],
    )
    return text.encode("utf-8")


def _numbered(columns: Sequence[Variable]) -> list[NumberedVariable]:
    """Find the variables whose bins have representative values, each with an unused name for these values."""
    numbers = {
        variable.name: [(at, bin_.number) for at, bin_ in enumerate(variable.column.bins, start=1) if bin_.number is not None]
        for variable in columns
    }
    new_names = {name: f"{name}_number" for name, listed in numbers.items() if listed}
    names = renamed(list(new_names.values()), STATA, [*numbers, WEIGHT, SYNTHETIC])
    return [NumberedVariable(name=name, of_numbers=names[new], numbers=numbers[name]) for name, new in new_names.items()]
