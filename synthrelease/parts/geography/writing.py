"""What a release and its card say of areas within areas."""

from __future__ import annotations

from synthrelease.bundle.part import CardColumn, CardSection, Writing
from synthrelease.parts.geography.published import GeographyPart, LevelPart
from synthrelease.parts.geography.table import Geography
from synthrelease.published.document import ReleaseDocument

_COLUMNS = (CardColumn("Level"), CardColumn("Areas", "number"), CardColumn("Rows of an area, on average", "number"))


class GeographyWriting(Writing[Geography, GeographyPart]):
    def part(self, value: Geography, document: ReleaseDocument) -> GeographyPart:
        """The levels with their numbers of areas."""
        areas = zip(value.chain, value.areas, strict=True)
        return GeographyPart(levels=[LevelPart(column=name, areas=count) for name, count in areas])

    def section(self, part: GeographyPart, document: ReleaseDocument) -> CardSection:
        """Which levels there are, and how they belong together."""
        return CardSection(
            place="rows",
            anchor="geography",
            heading="Areas within areas",
            sentences=tuple(_sentences(part)),
            label="Levels of areas",
            columns=_COLUMNS,
            rows=tuple((level.column, f"{level.areas:,}", f"{document.n_rows / level.areas:,.0f}") for level in part.levels),
        )


def _sentences(part: GeographyPart) -> list[str]:
    names = [level.column for level in part.levels]
    return [
        f"{' and '.join(names[:-1])} {'follows' if len(names) == 2 else 'follow'} from {names[-1]} by a public list, in every "
        "row: counts of areas add up to those of the area they lie in.",
        "The smaller an area, the larger the noise beside its rows. Which tables of each level were measured stands with the "
        "measured tables and with the generator; all else is in an area as in the one it lies in.",
    ]


WRITING = GeographyWriting()
