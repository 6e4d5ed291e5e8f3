"""From a public file to the drafted files of a release."""

from __future__ import annotations

import math
import os
import re
import tempfile
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from synthrelease.accounting.rows import SHORTFALL
from synthrelease.drafting.columns import ColumnDraft, LeftOut, draft_column
from synthrelease.drafting.criteria import draft_acceptance
from synthrelease.drafting.public_file import read_public_file
from synthrelease.drafting.text import GENERATION, acceptance_text, configuration_text
from synthrelease.errors import InputError, OutputError, Problem, SpecError
from synthrelease.specification.json_schema import (
    ACCEPTANCE_NAME,
    CONFIGURATION_NAME,
    acceptance_schema,
    configuration_schema,
    schema_text,
)
from synthrelease.specification.spec import load_spec

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}", re.ASCII)
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}


@dataclass(frozen=True, kw_only=True)
class Draft:
    """Both files as text, and what was made of the columns."""

    configuration: str
    acceptance: str
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[LeftOut, ...]
    n_rows: int
    source: str


def draft(name: str, public: str | Path, table: str | None = None) -> Draft:
    """Draft a release from a **public** file.

    Parameters
    ----------
    name : of the release: letters, digits, - and _; the two files are named after it.
    table : of a database.

    Raises
    ------
    InputError : when the name cannot be used, the file cannot be read, or has fewer than two columns for a release.
    """
    if not _NAME.fullmatch(name) or name.lower() in _WINDOWS_DEVICES:
        raise InputError(
            f"expected a name of letters, digits, - and _ that starts with a letter (two files get it), found {name!r}."
        )
    file = read_public_file(public, table)
    columns: list[ColumnDraft] = []
    left_out: list[LeftOut] = []
    for source, texts in file.columns.items():
        found = draft_column(source, texts, [column.name for column in columns])
        if isinstance(found, LeftOut):
            left_out.append(found)
        else:
            columns += found
    if len(columns) < 2:
        reasons = "; ".join(f"{column.source!r}: {column.because}" for column in left_out)
        raise InputError(f"{public}: expected at least two columns that a release can have, found {len(columns)} ({reasons}).")
    acceptance = draft_acceptance(columns, file.n_rows)
    rows = rows_budget(file.n_rows)
    total = rows + 2 * (GENERATION + acceptance.epsilon)
    limit = Fraction(math.ceil(total * 10), 10)
    return Draft(
        configuration=configuration_text(name, file, columns, left_out, rows, limit),
        acceptance=acceptance_text(name, file, acceptance, columns),
        columns=tuple(columns),
        left_out=tuple(left_out),
        n_rows=file.n_rows,
        source=file.name,
    )


def rows_budget(n_rows: int) -> Fraction:
    """Epsilon of counting the kept rows: 0.05, or what leaves out at most about a fiftieth of so many rows.

    The margin of the count is about ln(1 / (2 SHORTFALL)) / epsilon.
    """
    wanted = math.log(float(1 / (2 * SHORTFALL))) / (n_rows / 50)
    return max(Fraction(1, 20), Fraction(math.ceil(wanted * 100), 100))


def write_draft(name: str, public: str | Path, into: str | Path = ".", table: str | None = None) -> tuple[Path, Path, Draft]:
    """Write configs/NAME.toml and acceptance/NAME.toml under a folder; neither may be there already.

    The JSON Schema that the first line of each names for editors is put beside it, unless one is there.

    Returns
    -------
    Both paths and the draft.

    Raises
    ------
    InputError : as `draft`.
    OutputError : when one of the files is there, or cannot be written.
    """
    into = Path(into)
    found = draft(name, public, table)
    paths = into / "configs" / f"{name}.toml", into / "acceptance" / f"{name}.toml"
    for path in paths:
        if os.path.lexists(path):
            raise OutputError(f"{path}: expected no such file, found one. Nothing was overwritten: choose another name.")
    _check(name, found)
    try:
        for path, text in zip(paths, (found.configuration, found.acceptance), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        schemas = (CONFIGURATION_NAME, configuration_schema), (ACCEPTANCE_NAME, acceptance_schema)
        for beside, (schema_name, schema) in zip(paths, schemas, strict=True):
            path = beside.parent / schema_name
            if not os.path.lexists(path):
                path.write_text(schema_text(schema()), encoding="utf-8", newline="\n")
    except OSError as error:
        problem = f"{path}: the draft could not be written ({error.strerror})."
    else:
        return *paths, found
    raise OutputError(problem)


def _check(name: str, found: Draft) -> None:
    """Load the draft as a release would, before anybody sees it. A mistake is told of the file that it would become."""
    problems: tuple[Problem, ...] = ()
    with tempfile.TemporaryDirectory() as folder:
        for room, text in (("configs", found.configuration), ("acceptance", found.acceptance)):
            (Path(folder) / room).mkdir()
            (Path(folder) / room / f"{name}.toml").write_text(text, encoding="utf-8", newline="\n")
        try:
            spec = load_spec(Path(folder) / "configs" / f"{name}.toml")
            spec.plan.check_limit(spec.limit)
        except SpecError as error:
            problems = tuple(
                replace(problem, file=f"{Path(problem.file).parent.name}/{name}.toml") for problem in error.problems
            )
    if problems:
        raise SpecError(problems)
