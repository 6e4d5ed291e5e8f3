"""The options that are a folder, in release.json and on the card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from synthrelease.bundle.part import AcceptedRows, CardSection, CardStatement, Outcome, Writing
from synthrelease.parts import each
from synthrelease.published.base import Part
from synthrelease.published.columns import RulePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import namings
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.tables import BundleTable

Found = TypeVar("Found")


def writings() -> Mapping[str, Writing]:
    """The hooks of every option, by its name."""
    return each("writing")


@dataclass(frozen=True, kw_only=True)
class MadeOfRows:
    """What options make of the released rows: the table, perhaps weighted, parts by the option, files by their names."""

    table: ReleasedTable
    parts: Mapping[str, Part]
    files: Mapping[str, bytes]


def made(values: Mapping[str, object], rows: AcceptedRows, *, anew: bool = False) -> MadeOfRows:
    """What options make of the released rows; `anew`: of a bundle that is finished, where what was drawn stays."""
    hooks = writings()
    asked = {name: value for name, value in values.items() if hooks[name].made_anew or not anew}
    found = {name: one for name, value in asked.items() if (one := hooks[name].make(value, rows)) is not None}
    weights = next((each.weights for each in found.values() if each.weights is not None), None)
    return MadeOfRows(
        table=replace(rows.table, weights=weights),
        parts={name: each.part for name, each in found.items()},
        files={name: content for each in found.values() for name, content in each.files.items()},
    )


def placeholders(values: Mapping[str, object], rows: AcceptedRows) -> dict[str, Part]:
    """The same parts in a preview."""
    hooks = writings()
    return {name: part for name, value in values.items() if (part := hooks[name].placeholder(value, rows)) is not None}


def planned(values: Mapping[str, object], rows: int) -> dict[str, Part]:
    """The parts that follow from the specification and from the rows that the release works with."""
    hooks = writings()
    return {name: part for name, value in values.items() if (part := hooks[name].planned(value, rows)) is not None}


def with_parts(document: ReleaseDocument, values: Mapping[str, object], made_of_rows: Mapping[str, Part]) -> ReleaseDocument:
    """A new release's document, which has the planned parts, with what each other option says.

    Parameters
    ----------
    values : by the name of the option, what the specification holds.
    made_of_rows : the parts that were made of the released rows.
    """
    hooks = writings()
    there = {*made_of_rows, *document.parts}
    said = {name: hooks[name].part(value, document) for name, value in values.items() if name not in there}
    return document.model_copy(update={**said, **made_of_rows})


def with_parts_anew(
    document: ReleaseDocument, values: Mapping[str, object], made_of_rows: Mapping[str, Part], before: bytes
) -> ReleaseDocument:
    """The document of a bundle that is written anew.

    Parameters
    ----------
    made_of_rows : the parts that were made again of the released rows.
    before : its release.json until now.

    Raises
    ------
    OtherRelease : when that is not the release it should be.
    """
    hooks = writings()
    kept = planned(values, document.rows_worked_with)
    plain = document.model_copy(update={**dict.fromkeys(hooks), **kept})
    others = {name: value for name, value in values.items() if name not in {*made_of_rows, *kept}}
    said = {name: hooks[name].rewritten(value, plain, before) for name, value in others.items()}
    return plain.model_copy(update={**said, **made_of_rows})


def files_anew(old: ReleaseDocument, files: Mapping[str, bytes], now: BundleTable) -> dict[str, bytes]:
    """The files of the options in a bundle that is written anew."""
    hooks = writings()
    found = (hooks[name].rewritten_files(part, files, old.bundle, now) for name, part in old.parts.items())
    return {name: content for each in found for name, content in each.items()}


def file_words() -> dict[str, str]:
    """What the files of options are for, in a line, by the plain name."""
    further = {name: text for naming in namings().values() for name, text in naming.words.items()}
    return further | {name: text for hooks in writings().values() for name, text in hooks.files.items()}


def packages(bundle: BundleTable) -> list[str]:
    """The libraries that write what the lists ask for, each once."""
    found = [(namings()[name].packages, one) for name, chosen in bundle.chosen.items() for one in chosen]
    return list(dict.fromkeys(packages[one] for packages, one in found if one in packages))


def resource(document: ReleaseDocument, name: str, table: dict[str, Any]) -> dict[str, Any]:
    """What datapackage.json says of a file of an option, where `table` is said of data.csv; empty for other files."""
    for option, hooks in writings().items():
        if (part := document.parts.get(option)) is not None and name in map(document.bundle.named, hooks.files):
            return hooks.resource(part, name, table)
    return {}


def statements(document: ReleaseDocument) -> list[CardStatement]:
    """What the options of a release say beside the guarantee."""
    hooks = writings()
    return list(_there(hooks[name].statement(part) for name, part in document.parts.items()))


def about_figures(document: ReleaseDocument) -> list[str]:
    """What readers of every figure must know where they are not about all rows; empty where they are."""
    hooks = writings()
    return [text for name, part in document.parts.items() for text in hooks[name].about_figures(part, document)]


def sections(document: ReleaseDocument) -> list[CardSection]:
    """The sections of the options of a release."""
    hooks = writings()
    return list(_there(hooks[name].section(part, document) for name, part in document.parts.items()))


def listed_rules(document: ReleaseDocument) -> list[RulePart]:
    """The rules that the card lists: those that no section of an option tells."""
    told = [(hooks, part) for name, hooks in writings().items() if (part := document.parts.get(name)) is not None]
    return [rule for rule in document.rules if not any(hooks.tells(part, rule) for hooks, part in told)]


def outcomes(document: ReleaseDocument) -> list[Outcome]:
    """What the command says of the options of a release."""
    hooks = writings()
    return list(_there(hooks[name].outcome(part) for name, part in document.parts.items()))


def _there(found: Iterator[Found | None]) -> Iterator[Found]:
    return (one for one in found if one is not None)
