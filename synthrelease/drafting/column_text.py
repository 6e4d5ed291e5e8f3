"""A drafted column as lines of a configuration, and its codelist where that is long."""

from __future__ import annotations

import csv
import io
import re

from synthrelease.drafting.column_draft import ColumnDraft
from synthrelease.drafting.criteria import OTHERS
from synthrelease.drafting.toml_text import comment, toml

INLINE_CODES = 40
"""A longer codelist gets a file of its own."""


def column_lines(release: str, column: ColumnDraft, table: str = "columns") -> list[str]:
    """The lines of a column in a configuration."""
    lines = [
        f"[{table}.{column.name}]".ljust(31) + f" # {_one_line(column.remark)}",
        *(comment(f"DOUBTFUL: {column.doubt}.") if column.doubt else []),
        f"kind = {toml(column.kind)}",
        f"description = {toml(column.description or _nameless(column.source))}",
    ]
    settings = {"source": column.source if column.source != column.name else None, "part": column.part, "minus": column.minus}
    settings["format"] = column.format if column.format != "%Y-%m-%d" else None
    settings["role"] = "weight" if column.weight else None
    lines += [f"{key} = {toml(value)}" for key, value in settings.items() if value]
    if column.missing_values:
        lines.append(f"missing_values = {toml(column.missing_values)}")
    if column.keeps_missing:
        lines.append('missing = "bin"'.ljust(31) + f" # {column.missing_rows} rows of the public file")
        lines.append(f"missing_label = {toml(column.missing_label)}")
    if column.bins:
        bounds = f"bounds = {toml([column.bins.low, column.bins.high])}"
        lines.append(bounds if column.part == "month" else f"{bounds.ljust(31)} # widen to what is possible")
        alternatives = column.bins.texts(whole=column.kind == "integer", weight=column.weight)
        lines += [f"alternatives.{name} = {toml(texts)}" for name, texts in alternatives.items()]
        if column.facts and column.facts.numbers:
            lines.append(f"numbers = {toml(column.facts.numbers)}")
        if column.facts and column.facts.step:
            step = f"step = {toml(column.facts.step)}"
            lines.append(f"{step.ljust(31)} # own values count as multiples of it: in a coarser grid means would move")
        return lines
    if column.characters:
        lines.append(f"characters = {column.characters}".ljust(31) + " # of a text in the file are its code")
    if column.common:
        lines.append(
            'outside = "bin"                 # a text that is not listed is counted under this label; or "drop", "error"'
        )
        lines.append(f"outside_label = {toml(OTHERS)}")
    else:
        lines.append('outside = "drop"                # a row with another text is left out; or "bin", "error"')
    if column.kind == "category":
        labels = {draft.label: [text, *draft.spellings] for text, draft in column.codes.items()}
        plain = all([label] == texts for label, texts in labels.items())
        return [*lines, f"categories = {toml(list(labels) if plain else labels)}"]
    if codelist_name(release, column) and table == "columns":
        return [*lines, f"codes = {toml(codelist_name(release, column))}"]
    return [*lines, f"codes = {toml({text: draft.label for text, draft in column.codes.items()})}"]


def codelist_name(release: str, column: ColumnDraft) -> str:
    """The file of a long codelist, relative to the configuration; empty for a short one."""
    long = column.kind == "code" and (column.common or column.levels or len(column.codes) > INLINE_CODES)
    return f"codes/{release}-{column.name}.csv" if long else ""


def codelist_text(column: ColumnDraft) -> str:
    """A codelist as CSV: the code, its label, the group that it is in where rare codes are grouped, and larger areas."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["code", "label", *(["common"] if column.common else []), *column.levels])
    for text, draft in column.codes.items():
        group = [draft.label if text in column.common else OTHERS] if column.common else []
        writer.writerow([text, draft.label, *group, *(level[text] for level in column.levels.values())])
    return lines.getvalue()


def _nameless(source: str) -> str:
    """What the file calls a column of whose name no letter can be kept, as of one in Hebrew: `column_2` says nothing."""
    return "" if re.search(r"\w", source, re.ASCII) else _one_line(source)


def _one_line(text: str) -> str:
    """A remark of a readable length."""
    plain = " ".join(text.split())
    return plain if len(plain) <= 300 else f"{plain[:300]} ..."
