"""Which rows of a file a release keeps: what is public about how many, and what decides it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from synthrelease.criteria.base import Criterion
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Column, Schema
from synthrelease.generators.space import ConfigurationSpace
from synthrelease.privacy.charges import RowsRule
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import ReleaseFile
from synthrelease.specification.options import division


def rows_rule(release: ReleaseFile, schema: Schema, raw: Plausibility) -> RowsRule:
    """Whether rows can be left out at all, and what then is public about how many."""
    dropped = any("drop" in (column.missing, column.outside) for column in schema.columns if column.counts is None)
    stated = release.input.rows
    if isinstance(stated, int):
        return RowsRule(way="stated", stated=stated)
    several = release.unit.key is not None and release.unit.records > 1  # how many a person has is private
    every = not dropped and not raw.masks and not several
    if every and release.numbered is None:
        return RowsRule(way="whole")
    if stated == "exact":
        return RowsRule(way="exact")
    return RowsRule(way="counted", epsilon=release.budget.rows)


def check_stated(
    release: ReleaseFile, rows: RowsRule, space: ConfigurationSpace, criteria: Sequence[Criterion], problems: Problems
) -> None:
    """A stated number of rows of which no table can keep what is promised about each of its rows."""
    promised = max(
        min(projection.promised_count for projection in space.projections),
        max((criterion.promised_count for criterion in criteria), default=1),
    )
    if rows.stated is None:
        return
    rule = division(release)
    if rule is not None and rows.stated < 2:
        problems.add("input.rows", "at least 2, because they are divided", str(rows.stated))
    elif (released := rows.stated if rule is None else rule.sizes(rows.stated)[1]) < promised:
        found = str(rows.stated) if rule is None else f"{rows.stated}, of which {released} are in the piece that is scored"
        problems.add("input.rows", f"at least {promised}, as often as each released row must occur", found)


def domain_digest(release: ReleaseFile, schema: Schema) -> str:
    """A digest of everything in the configuration that decides which rows of a file are kept.

    Rules speak of released names and categories, so these are part of it, and which text of the file is which category.
    """
    read: list[list[object]] = [
        [each.name, each.source, each.part, each.kind, each.bounds, _texts_of(each), each.missing, each.outside]
        + [more for more in (sorted(each.missing_values), each.minus, each.dates and each.dates.text) if more]
        + [[name, how] for name, how in (("unlisted", each.outside_label), ("characters", each.characters)) if how]
        for each in schema.columns
    ]
    raw = sorted(rule.never for rule in release.rules if "raw" in rule.applies_to)
    content = [sorted(read, key=str), sorted(release.input.missing_values), raw]
    content += [[","]] if release.input.decimal == "," else []
    if release.input.encoding != "utf-8":  # in which letters a category is found in the file
        content.append(release.input.encoding)
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def _texts_of(column: Column) -> list[tuple[str, str]]:
    """Each text of the file that stands for a category, with that category."""
    return sorted((text, column.atoms.labels[index]) for text, index in column.values.items())
