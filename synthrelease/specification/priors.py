"""The public tables that generators start from: whether they are there, and their digests."""

from __future__ import annotations

from pathlib import Path

from synthrelease.generators.space import ConfigurationSpace
from synthrelease.resources import file_digest
from synthrelease.settings.base import RELEASED
from synthrelease.settings.mistakes import Problems
from synthrelease.sources.source import Source
from synthrelease.specification.canonical import BY_DIGEST

DOCUMENT = "release.json"
"""The file of a release that says what it is."""


def prior_files(space: ConfigurationSpace, folder: Path, problems: Problems) -> dict[str, Path]:
    """The public tables that generators start from: they must be there; they are read when a release begins."""
    found: dict[str, Path] = {}
    for name in dict.fromkeys(generator.prior_file for generator in space.generators):
        if name is None or name.removeprefix(RELEASED).startswith(BY_DIGEST):
            continue
        if name.startswith(RELEASED):
            found[name] = folder / name.removeprefix(RELEASED)
            if not (found[name] / DOCUMENT).is_file():
                problems.add("generators", "the folder of a release as prior", f"no file {found[name] / DOCUMENT}")
            continue
        path = folder / name
        if path.is_file() or path.is_dir():
            found[name] = path
        else:
            problems.add("generators", "a public file as prior", f"no file {path}")
    return found


def prior_digest(name: str, path: Path) -> str:
    """Of a public table; of an earlier release that of its release.json, which names the checksum of its rows."""
    if name.startswith(RELEASED):
        return file_digest(path / DOCUMENT)
    from synthrelease.enclave.ingest import digest_of

    return digest_of(Source.of(path))
