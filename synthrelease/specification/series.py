"""The earlier releases that [series] names, as they lie on the disk: public files, read before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from synthrelease.errors import Unexpected
from synthrelease.toml.problems import Problems
from synthrelease.toml.reading import beside, regular_file
from synthrelease.toml.series import SeriesTable

MAX_BYTES = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Series:
    """A series with the content of each file release.json; `corrected` is that of the release which an erratum replaces."""

    name: str
    earlier: tuple[bytes, ...] = ()
    corrected: bytes | None = None
    reason: str = ""


def read_series(table: SeriesTable | None, file: Path, problems: Problems) -> Series | None:
    """The series, with mistakes added to the problems.

    Parameters
    ----------
    file : the configuration that has the table.
    """
    if table is None:
        return None

    def content(named: str, place: str) -> bytes:
        try:
            readable, what = "the file release.json of a release", "a file"
            return regular_file(beside(file, named), ".json", MAX_BYTES, readable=readable, named=what)
        except Unexpected as error:
            problems.add(place, error.expected, error.found or "another")
            return b""

    earlier = tuple(content(named, f"series.earlier[{place}]") for place, named in enumerate(table.earlier))
    if len(set(earlier)) != len(earlier):
        problems.add("series.earlier", "each release once", "one that is named twice")
    corrected = None if table.corrects is None else content(table.corrects, "series.corrects")
    return Series(name=table.name, earlier=earlier, corrected=corrected, reason=table.reason)
