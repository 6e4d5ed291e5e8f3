"""The earlier releases that [series] names, as they lie on the disk: public files, read before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

from synthrelease.errors import Unexpected
from synthrelease.parts.series.table import SeriesTable
from synthrelease.specification.part import Building, Surroundings
from synthrelease.toml.problems import Problems
from synthrelease.toml.reading import beside, regular_file

MAX_BYTES = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Series:
    """A series with the content of each file release.json; `corrected` is that of the release which an erratum replaces."""

    name: str
    earlier: tuple[bytes, ...] = ()
    corrected: bytes | None = None
    reason: str = ""


class SeriesBuilding(Building[SeriesTable, Series]):
    def build(self, table: SeriesTable, around: Surroundings, problems: Problems) -> Series:
        """With the contents of the files that it names."""

        def content(named: str, place: str) -> bytes:
            try:
                readable, what = "the file release.json of a release", "a file"
                return regular_file(beside(around.file, named), ".json", MAX_BYTES, readable=readable, named=what)
            except Unexpected as error:
                problems.add(place, error.expected, error.found or "another")
                return b""

        earlier = tuple(content(named, f"series.earlier[{place}]") for place, named in enumerate(table.earlier))
        if len(set(earlier)) != len(earlier):
            problems.add("series.earlier", "each release once", "one that is named twice")
        corrected = None if table.corrects is None else content(table.corrects, "series.corrects")
        return Series(name=table.name, earlier=earlier, corrected=corrected, reason=table.reason)

    def check_new(self, value: Series, problems: Problems) -> None:
        """An erratum is no new release."""
        if value.corrected is not None:
            expected = "none: an erratum spends nothing, and `synthrelease card --bundle` writes it"
            problems.add("series.corrects", expected, "one")


BUILDING = SeriesBuilding()
