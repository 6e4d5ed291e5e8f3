"""One line for each column, with what the public file has in its bins, and the columns that are not released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synthrelease.data.schema import Column
from synthrelease.settings.reading import ConfigurationFile
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.desk.strips import Strips
from synthrelease.studio.drafting.edits import Guesses, limits_of, table_of
from synthrelease.studio.drafting.public_file import GroupingError, PublicBins, PublicFile
from synthrelease.studio.drafting.toml_edit import Path_

FREQUENT = 3


def gathered(spec: ReleaseSpec, file: ConfigurationFile, strips: Strips, guesses: Guesses, wanted: str) -> dict[str, Any]:
    """One line for each column whose name or description holds the text; the columns of members once."""
    low, lines = wanted.lower(), {}
    for column in spec.schema.columns:
        table = table_of(spec, column.name)
        if low in f"{column.name} {column.description}".lower() and table not in lines:
            lines[table] = _line(spec, column, table, file, strips, guesses)
    return {
        "lines": list(lines.values()),
        "of": len({table_of(spec, column.name) for column in spec.schema.columns}),
        "wanted": wanted,
        "public": strips.public is not None,
        "base": file.base.name if file.base is not None and "columns" in file.inherited else "",
        "left_out": _not_released(spec, strips.public, guesses),
        "readable": strips.public.columns if strips.public is not None else {},
        "dates": guesses.dates,
        "key": spec.unit.key if spec.schema.linked is None else spec.schema.linked.key,
    }


def _line(
    spec: ReleaseSpec, column: Column, table: Path_, file: ConfigurationFile, strips: Strips, guesses: Guesses
) -> dict[str, Any]:
    found, pictures = strips.of(column, spec.input, spec.schema.linked)
    name = str(table[-1])
    return {
        "name": column.name,
        "title": name,
        "of_members": table[0] == "members",
        "written": name in file.tables.get("members", {}).get("columns", {})
        if table[0] == "members"
        else name in file.tables["columns"],
        "source": column.source,
        "is": _kind(column),
        "description": column.description,
        "bounds": None if column.bounds is None else [f"{bound:.15g}" for bound in column.bounds],
        "bounds_by": column.bounds_by,
        "ways": [
            {
                "name": key,
                "bins": len(column.alternatives[key]),
                "picture": pictures[key],
                "limits": ", ".join(f"{each:.12g}" for each in limits_of(column).get(key, ())),
            }
            for number, key in enumerate(column.alternatives)
            if number == 0 or column.bounds is not None
        ],
        "frequent": _frequent(strips.texts(column, spec.schema.linked)),
        "gaps": _gaps(column, found),
        "grouping": None if found is None or found.grouping is None else _off(found.grouping),
        "because": guesses.because.get(column.source, ""),
        "doubtful": guesses.doubtful.get(column.source, ""),
        "date": column.source in guesses.dates,
        "stand_ins": _stand_ins(column),
    }


def _gaps(column: Column, found: PublicBins | None) -> list[str]:
    """What becomes of the public rows without a value, and of those beyond the bounds or categories."""
    if found is None:
        return []
    rows = found.total + found.gaps + found.others
    kept = f"a bin of their own, {column.missing_label!r}" if column.missing == "bin" else "excluded"
    told = [f"{found.gaps / rows:.1%} of the public rows have no value: {kept}."] if found.gaps else []
    beyond = "beyond the limits" if column.bounds is not None else "in no category"
    return told + ([f"{found.others / rows:.1%} are {beyond}: excluded."] if found.others else [])


def _off(grouping: GroupingError) -> str:
    """What the numbers of bins do to the column, in words."""
    moved = f"{grouping.mean_moved:+.2g}" if grouping.mean_moved else "0"
    return (
        f"a value is {grouping.off:.2g} from the number of its bin on average (standard deviation of the column: "
        f"{grouping.spread:.3g}); the mean of all moves by {moved}"
    )


def _not_released(spec: ReleaseSpec, public: PublicFile | None, guesses: Guesses) -> list[tuple[str, str]]:
    """The columns of the public file that no released column is read from, and why a draft leaves them out."""
    read = {source for column in spec.schema.columns for source in column.sources}
    because = {each.source: each.because for each in guesses.left_out}
    names = dict.fromkeys([*(public.columns if public is not None else ()), *because])
    return [(name, because.get(name, "the configuration does not name it")) for name in names if name not in read]


def _kind(column: Column) -> str:
    if column.part is not None or column.minus is not None:
        return "date"
    return "number" if column.bounds is not None else "name"


def _frequent(texts: Mapping[str | None, int]) -> str:
    """The most frequent public values, with their shares."""
    total = sum(texts.values())
    ordered = sorted(texts.items(), key=lambda item: -item[1])[:FREQUENT]
    return ", ".join(f"{'(empty)' if not text else text[:40]} ({times / total:.0%})" for text, times in ordered)


def _stand_ins(column: Column) -> str:
    """The numbers that stand for the first bins of a column of numbers."""
    binning = next(iter(column.alternatives.values()))
    known = [(label, number) for label, number in zip(binning.labels, binning.numbers, strict=True) if number is not None]
    told = ", ".join(f"{label}: {number:.6g}" for label, number in known[:4])
    return told + (", …" if len(known) > 4 else "") if column.bounds is not None else ""
