"""From a public file to the drafted files of a release.

Columns are drafted from how often each text occurs; then the file is read as a release would read it, and tables, rules and
criteria are drafted from its counts; then the draft is tried on it, which sets the thresholds.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from synthrelease.drafting.choosing import ALL, MOST_COLUMNS, AskedFor, chosen_columns
from synthrelease.drafting.codebook import read_codebook
from synthrelease.drafting.drafted import Draft, paths_of, write_files
from synthrelease.drafting.file_columns import drafted_columns, with_areas
from synthrelease.drafting.linked import AS_KEY_OF_ROOTS, read_members
from synthrelease.drafting.persons import AS_KEY, UnitAnswer
from synthrelease.drafting.public_file import names_of, read_public_file
from synthrelease.drafting.smaller import smaller_draft
from synthrelease.drafting.tried_areas import with_smallest_areas
from synthrelease.drafting.tried_draft import ANY, Drafting, Progress, no_draft
from synthrelease.drafting.tried_marks import counting_marks
from synthrelease.drafting.wider_bins import in_wider_bins
from synthrelease.errors import InputError, OutputError, Problem, SpecError, on_public_data
from synthrelease.rehearsal.plan_race import Promise
from synthrelease.spec.load import load_spec
from synthrelease.spec.reference import (
    ACCEPTANCE_NAME,
    CONFIGURATION_NAME,
    acceptance_schema,
    configuration_schema,
    schema_text,
)
from synthrelease.spec.tried import leave

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}", re.ASCII)
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))}


@on_public_data()
def draft(
    name: str,
    public: str | Path,
    table: str | None = None,
    codebook: str | Path | None = None,
    progress: Progress = lambda doing: None,
    wanted: AskedFor = ALL,
    unit: str | None = None,
    promise: Promise = ANY,
    members: str | Path | None = None,
    key: str | None = None,
    areas: str | None = None,
) -> Draft:
    """Draft a release from a **public** file.

    Parameters
    ----------
    name : of the release: letters, digits, - and _; the files are named after it.
    table : of a database.
    codebook : a JSON or CSV file that says what columns and codes mean (`codebook`).
    wanted : the columns of the file that are drafted. Of more than a release can have some are chosen (`chosen_columns`).
    unit : how rows belong to persons: "row", "KEY" or "KEY:3" (`persons.UnitAnswer`). None leaves the question open.
    promise : the most that the release may spend, and whether delta is 0; else the cheapest plan that keeps enough is drafted.
    members, key : a public file of the members of these rows, and the column of both that says whose member a row is; with a
        key alone the one file has a row for each member, with the columns of its root.
    areas : columns that are areas within areas, the largest first, as "region > municipality" (`areas.AreasDraft`).

    Raises
    ------
    InputError : when the name cannot be used, `unit` names no column, a file cannot be read, lacks a column that is wanted, or
        has fewer than two columns for a release.
    """
    if not _NAME.fullmatch(name) or name.lower() in _WINDOWS_DEVICES:
        device = ", which Windows takes for a device" if name.lower() in _WINDOWS_DEVICES else ""
        expected = "a name of letters, digits, - and _ that starts with a letter (two files get it)"
        raise InputError(f"expected {expected}, found {name!r}{device}.")
    book = read_codebook(codebook) if codebook else {}
    answer = None if unit is None else UnitAnswer.of(unit, names_of(public, table))
    progress("reading the public file")
    linked = None
    if key is not None:
        if answer is not None and answer.key is not None:
            raise InputError(f"--unit: expected `row` with --key (a record is a root with all its members), found {unit!r}.")
        file, linked = read_members(public, members, key, book, table, wanted)
    elif members is not None:
        raise InputError("--members: expected --key with it, the column of both files that says whose member a row is.")
    else:
        file = read_public_file(public, table, wanted)
    own_key, as_key = (key, AS_KEY_OF_ROOTS) if answer is None or answer.key is None else (answer.key, AS_KEY)
    columns, left_out, dated = drafted_columns(file, book, own_key, as_key)
    answer = answer and answer.ordered(file, dated)
    within = None
    if areas is not None:
        within, columns, left_out = with_areas(areas, file, book, columns, left_out)
    if len(columns) < 2 and (linked is None or not columns):
        reasons = "; ".join(f"{column.source!r}: {column.because}" for column in left_out)
        told = f" ({reasons})" if reasons else ""
        raise InputError(f"{public}: expected at least two columns that a release can have, found {len(columns)}{told}.")
    if len(columns) > MOST_COLUMNS:
        progress("choosing among the columns")
        columns, others = chosen_columns(columns, file.batches(), file.n_rows)
        left_out += others
    problems: tuple[Problem, ...] = ()
    try:
        return _tried(Drafting(name, file, columns, left_out, progress, answer, promise, linked, within))
    except SpecError as error:  # told of the file, not of a draft that nobody has seen
        problems = error.problems
    raise no_draft(file, problems)


def _tried(drafting: Drafting) -> Draft:
    """In steps: in wider bins, at a larger epsilon, with fewer columns, until it stands; then with its smallest areas."""
    total = drafting.promise.totals[0]
    tried = in_wider_bins(drafting, total) or drafting.tried(total)
    for most in drafting.promise.totals[1:]:
        if not tried.standing.good:
            tried = tried.drafting.tried(most, above=tried.choices.limit)
    if not tried.standing.good and drafting.members is None:
        tried = smaller_draft(drafting, tried)
    if drafting.members is None and drafting.areas is None and tried.choices.measures:
        tried = counting_marks(tried)
    if drafting.areas is not None:
        tried = with_smallest_areas(tried, drafting.areas, drafting.progress)
    choices, acceptance = tried.choices, tried.acceptance
    tried.drafting.loaded(choices, acceptance).plan.check_limit(choices.limit)
    return tried.drafting.draft(choices, acceptance)


def write_draft(
    name: str,
    public: str | Path,
    into: str | Path = ".",
    table: str | None = None,
    codebook: str | Path | None = None,
    progress: Progress = lambda doing: None,
    wanted: AskedFor = ALL,
    unit: str | None = None,
    promise: Promise = ANY,
    members: str | Path | None = None,
    key: str | None = None,
    areas: str | None = None,
) -> tuple[Path, Path, Draft]:
    """Write configs/NAME.toml and acceptance/NAME.toml under a folder; neither may be there already.

    The JSON Schema that the first line of each names for editors is put beside it, unless one is there; long codelists are put
    into configs/codes.

    Returns
    -------
    Both paths and the draft.

    Raises
    ------
    InputError : as `draft`.
    OutputError : when one of the files is there, or cannot be written.
    """
    into = Path(into)
    for path in paths_of(into, name):
        if os.path.lexists(path):
            raise OutputError(f"{path}: expected no such file, found one. Nothing was overwritten: choose another name.")
    found = draft(name, public, table, codebook, progress, wanted, unit, promise, members, key, areas)
    for codelist in (into / "configs" / name for name in found.codelists):
        if os.path.lexists(codelist):
            raise OutputError(f"{codelist}: expected no such file, found one. Nothing was written: choose another name.")
    problem = ""
    try:
        paths = write_files(into, name, found)
        leave(load_spec(paths[0]), "draft", found.n_rows)
        schemas = (CONFIGURATION_NAME, configuration_schema), (ACCEPTANCE_NAME, acceptance_schema)
        for beside, (schema_name, schema) in zip(paths, schemas, strict=True):
            path = beside.parent / schema_name
            if not os.path.lexists(path):
                path.write_text(schema_text(schema()), encoding="utf-8", newline="\n")
    except OSError as error:
        problem = f"{error.filename or into}: the draft could not be written ({error.strerror})."
    if problem:
        raise OutputError(problem)
    return *paths, found
