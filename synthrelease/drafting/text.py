"""The two TOML files of a draft as text, with remarks that a steward can work from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from synthrelease.candidates.generators import GENERATORS
from synthrelease.candidates.projections import PROJECTIONS
from synthrelease.drafting.bins import bin_texts
from synthrelease.drafting.columns import ColumnDraft, LeftOut
from synthrelease.drafting.criteria import AcceptanceDraft
from synthrelease.drafting.public_file import PublicFile
from synthrelease.specification.json_schema import ACCEPTANCE_NAME, CONFIGURATION_NAME

GENERATION = Fraction(4)
_WIDTH = 120


def configuration_text(
    name: str, file: PublicFile, columns: Sequence[ColumnDraft], left_out: Sequence[LeftOut], rows: Fraction, limit: Fraction
) -> str:
    """configs/NAME.toml"""
    lines = [
        *_marked(name, file, CONFIGURATION_NAME),
        f"title = {toml(name.replace('_', ' ').replace('-', ' ').capitalize())}",
        'description = """',
        'Say here what one row is, where the data come from, and which columns are released."""',
        f'acceptance = "../acceptance/{name}.toml"',
        "",
        "[input]",
        *([f"delimiter = {toml(file.delimiter)}"] if file.delimiter != "," else []),
        *([f"encoding = {toml(file.encoding)}"] if file.encoding != "utf-8" else []),
        'missing = "drop"                # a row with a missing value is left out; or "error"',
        'outside = "clip"                # a number outside the bounds counts as the nearest bound; or "drop", "error"',
        "",
        *_heading("Columns: public bounds and bins. Nothing here may be learned from the private file."),
        "",
    ]
    for column in columns:
        lines += [*_column(column), ""]
    for column_left in left_out:
        lines += _comment(f"Left out: {column_left.source!r}, because {column_left.because}.")
    lines += [
        "",
        *_heading("Plausibility: what must never occur"),
        "",
        *_example_rule(columns),
        "",
        *_heading("The space that configurations are drawn from"),
        "",
        '[transformations]               # which bins are tried; add "fine" where the rehearsal passes easily',
        *(f"{column.name} = {toml(['coarse'])}" for column in columns if column.bins),
        "",
        *_drafted("generators", "family", {name: family.draft for name, family in GENERATORS.items()}),
        *_drafted("projections", "kind", {name: projection.draft for name, projection in PROJECTIONS.items()}),
        *_heading("Budget and selection. How much epsilon may be spent is a decision of the organisation, not of this draft."),
        "",
        "[budget]",
        f"generation = {toml(GENERATION)}",
        f"rows = {toml(rows)}                     # of counting the rows that the rules keep; how many is not published",
        f"limit = {toml(limit)}",
        "",
        "[selection]",
        "stop_probability = 0.001        # a search that never finds anything ends after about 1000 rounds",
    ]
    return "\n".join(lines) + "\n"


def acceptance_text(name: str, file: PublicFile, draft: AcceptanceDraft, columns: Sequence[ColumnDraft]) -> str:
    """acceptance/NAME.toml"""
    whole = {column.name: column.kind == "integer" for column in columns}
    lines = [
        *_marked(name, file, ACCEPTANCE_NAME),
        *_comment("Agree on every threshold with the people who will use the data: they are promises about the release."),
        'description = "What the release must be good for, in one sentence."',
        "",
    ]
    if draft.groups:
        lines += ["# Bins for grouping, each made up of released bins", "[groups]"]
        lines += [f"{column} = {toml(bin_texts(limits, whole=whole[column]))}" for column, limits in draft.groups.items()]
        lines.append("")
    for criterion in draft.criteria:
        lines += [
            *_comment(criterion.remark),
            "[[criteria]]",
            *(f"{key} = {toml(value)}" for key, value in criterion.settings.items()),
            "",
        ]
    for text in draft.left_out:
        lines += _comment(f"Not drafted: {text}.")
    return "\n".join(lines).rstrip("\n") + "\n"


def _drafted(table: str, key: str, drafts: Mapping[str, Mapping[str, object]]) -> list[str]:
    """A table for each entry of a dict of classes that drafts something of itself."""
    lines = []
    for name, settings in drafts.items():
        if settings:
            lines += [f"[[{table}]]", *(f"{each} = {toml(value)}" for each, value in {key: name, **settings}.items()), ""]
    return lines


def toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return _number(float(value))
    if isinstance(value, int | float):
        return _number(float(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(inner) for inner in value) + "]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else f"{value:.12f}".rstrip("0")


def _marked(name: str, file: PublicFile, schema: str) -> list[str]:
    """The first lines of both files: the schema, for editors with Taplo's directive, and where the draft comes from."""
    return [
        f"#:schema ./{schema}",
        *_comment(
            f"DRAFT of the release {name}, by `synthrelease init` from the PUBLIC file {file.name!r} ({file.n_rows} rows)."
        ),
        *_comment(
            "Bounds, bins, categories and thresholds below were read off that file. They are published with the release and "
            "are not covered by its privacy guarantee. If the file was not public, delete this draft and do not use it."
        ),
        "# Go through every line, then delete this notice.",
        "",
    ]


def _heading(text: str) -> list[str]:
    return [f"# --- {text} ".ljust(_WIDTH, "-")]


def _comment(text: str) -> list[str]:
    lines, line = [], "#"
    for word in text.split():
        if len(line) + 1 + len(word) > _WIDTH:
            lines.append(line)
            line = "#"
        line += f" {word}"
    return [*lines, line]


def _column(column: ColumnDraft) -> list[str]:
    lines = [f"[columns.{column.name}]".ljust(31) + f" # {column.remark}", f"kind = {toml(column.kind)}", 'description = ""']
    if column.source != column.name:
        lines.append(f"source = {toml(column.source)}")
    if column.part:
        lines.append(f"part = {toml(column.part)}")
    if column.bins:
        whole, bins = column.kind == "integer", column.bins
        lines += [
            f"bounds = {toml([bins.low, bins.high])}".ljust(31)
            + ("" if column.part == "month" else " # widen to what is possible"),
            f"alternatives.coarse = {toml(bin_texts(bins.coarse, whole=whole))}",
        ]
        if bins.fine != bins.coarse:
            lines.append(f"alternatives.fine = {toml(bin_texts(bins.fine, whole=whole))}")
        return lines
    plain = all(label == text for label, (text, _) in column.categories.items())
    texts = {label: [text] for label, (text, _) in column.categories.items()}
    lines += ['outside = "drop"                # a row with another text is left out; or "error"']
    return [*lines, f"categories = {toml(list(texts) if plain else texts)}"]


def _example_rule(columns: Sequence[ColumnDraft]) -> list[str]:
    """A rule in comments that would be valid, to show how one is written."""
    parts = [f"{column.name} < {_number(column.bins.coarse[0])}" for column in columns if column.bins][:2]
    parts += [f"{column.name} == '{next(iter(column.categories))}'" for column in columns if column.categories]
    rule = toml(" and ".join(parts[:2])) if len(parts) > 1 else toml(parts[0])
    return ["# For example:", "# [[rules]]", f"# never = {rule}"]
