"""How a draft writes TOML: values, comments, and the first lines of both files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from synthrelease.data.texts import with_codes
from synthrelease.drafting.public_file import PublicFile

WIDTH = 120


def wrapped(terms: Sequence[str]) -> list[str]:
    """The terms of a formula in lines."""
    lines = [""]
    for index, term in enumerate(terms):
        text = term if index == len(terms) - 1 else f"{term} + "
        if len(lines[-1]) + len(text) > WIDTH and lines[-1]:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += text
    return lines


def toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return number_text(float(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, int | float):
        return number_text(float(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(inner) for inner in value) + "]"
    return with_codes(json.dumps(str(value), ensure_ascii=False))


def number_text(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else f"{value:.12f}".rstrip("0")


def marked(name: str, file: PublicFile, schema: str) -> list[str]:
    """The first lines of both files: the schema, for editors with Taplo's directive, and where the draft comes from."""
    return [
        f"#:schema ./{schema}",
        *comment(
            f"DRAFT of the release {name}, by `synthrelease init` from the PUBLIC file {file.name!r} ({file.n_rows} rows)."
        ),
        *comment(
            "Bounds, bins, categories and thresholds below were read off that file. They are published with the release and "
            "are not covered by its privacy guarantee. If the file was not public, delete this draft and do not use it."
        ),
        "# Go through every line, then delete this notice.",
        "",
    ]


def heading(text: str) -> list[str]:
    return [f"# --- {text} ".ljust(WIDTH, "-")]


def comment(text: str) -> list[str]:
    lines, line = [], "#"
    for word in text.split():
        if len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = "#"
        line += f" {word}"
    return [*lines, line]
