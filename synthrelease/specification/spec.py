"""From the two TOML files to one frozen, validated specification. Nothing here reads data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthrelease.errors import Problem, SpecError, Unexpected
from synthrelease.settings.mistakes import located, validated
from synthrelease.settings.reading import ConfigurationFile, beside, read_configuration, read_toml, toml_tables
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile
from synthrelease.sources.paths import checked_path
from synthrelease.specification.builder import SpecBuilder
from synthrelease.specification.canonical import NAME, PATHS, WORDS, is_fixed, read_tables
from synthrelease.specification.codelists import with_codelists
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.shortlist import narrowed_to


def load_spec(path: str | Path) -> ReleaseSpec:
    """Read a configuration and the acceptance file it names.

    Raises
    ------
    SpecError : with all problems that can be found at once.
    """
    return _loaded(read_configuration(checked_path(path)), read_toml)


def load_changed(path: Path, configuration: bytes, acceptance: bytes | None = None) -> ReleaseSpec:
    """The specification that there would be if its files held this; what the acceptance file holds where nothing is given.

    Raises
    ------
    SpecError : as `load_spec`.
    """
    file = read_configuration(path, configuration)
    return _loaded(file, read_toml if acceptance is None else lambda named: toml_tables(acceptance, named))


def _loaded(configuration: ConfigurationFile, read: Callable[[Path], dict[str, Any]]) -> ReleaseSpec:
    file = with_codelists(configuration)
    release = validated(ReleaseFile, file.tables, str(file.path))
    problems = release if isinstance(release, list) else []
    named = file.tables.get("acceptance")
    if not isinstance(named, str):
        raise SpecError(located(problems, file))
    acceptance_path = beside(file.file_of("acceptance"), named)
    acceptance = validated(AcceptanceFile, read(acceptance_path), str(acceptance_path))
    if isinstance(release, list) or isinstance(acceptance, list):
        raise SpecError(located(problems, file) + (acceptance if isinstance(acceptance, list) else []))
    return SpecBuilder(file, release, acceptance_path, acceptance).build()


def read_specification(content: bytes) -> ReleaseSpec:
    """The specification that a release publishes, from its text alone: no other file is opened.

    Its public tables are known by their digests, so that a plan follows from it, and no fit.

    Raises
    ------
    SpecError : with all problems that can be found at once.
    """
    problems: list[Problem] = []
    try:
        tables = dict(read_tables(content))
    except Unexpected as error:
        problems = [Problem(file=NAME, path="", expected=error.expected, found=error.found or "")]
    if problems:
        raise SpecError(problems)
    listed = [name for name in (*WORDS, *PATHS) if name in tables and not is_fixed(name, tables[name])]
    columns = tables.get("columns")
    listed += [
        f"columns.{name}.codes"
        for name, table in (columns.items() if isinstance(columns, dict) else ())
        if isinstance(table, dict) and isinstance(table.get("codes"), str)
    ]
    if listed:
        expected = "nothing that names another file, or that is no part of a specification"
        raise SpecError([Problem(file=NAME, path=path, expected=expected, found="a setting") for path in listed])
    shortlist, stated = tables.pop("shortlist", None), tables.pop("acceptance", {})
    del tables["specification"]
    release = validated(ReleaseFile, {**tables, "acceptance": NAME}, NAME)
    acceptance = validated(AcceptanceFile, stated if isinstance(stated, dict) else {}, NAME, "acceptance")
    if isinstance(release, list) or isinstance(acceptance, list):
        raise SpecError([each for found in (release, acceptance) if isinstance(found, list) for each in found])
    file = ConfigurationFile(path=Path(NAME), tables=tables, inherited=frozenset(), base=None)
    spec = SpecBuilder(file, release, Path(NAME), acceptance).build()
    return spec if shortlist is None else narrowed_to(spec, shortlist, NAME)
