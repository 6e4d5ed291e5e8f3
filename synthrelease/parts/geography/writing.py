"""What a release and its card say of areas within areas."""

from __future__ import annotations

from synthrelease.bundle.part import CardSection, Writing
from synthrelease.criteria.facts import figure
from synthrelease.parts.geography.building import Geography
from synthrelease.published.columns import RulePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.options import GeographyPart, LevelPart
from synthrelease.settings.wide import AREAS_WHY


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
            sentences=tuple(_sentences(part, document.n_rows)),
        )

    def tells(self, part: GeographyPart, rule: RulePart) -> bool:
        """The rules that put areas into areas name all of them."""
        levels = [level.column for level in part.levels]
        return rule.why == AREAS_WHY and any(rule.never.startswith(f"{name} ") for name in levels)


def _sentences(part: GeographyPart, rows: int) -> list[str]:
    names = [level.column for level in part.levels]
    sizes = ", ".join(
        f"{level.column} ({figure(level.areas)}, with {figure(rows // level.areas)} rows on average)" for level in part.levels
    )
    return [
        f"Levels, from the largest areas to the smallest: {sizes}.",
        f"{' and '.join(names[:-1])} {'follows' if len(names) == 2 else 'follow'} from {names[-1]} by a public list, in every "
        "row: counts of areas add up to those of the area they lie in. The rules that say so are in release.json.",
        "The smaller an area, the larger the noise beside its rows. Which tables of each level were measured stands with the "
        "generator; all else is in an area as in the one it lies in.",
    ]


WRITING = GeographyWriting()
