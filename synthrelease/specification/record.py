"""What a record can be: its columns with their atomic bins, the bins of groups, and what rules leave possible."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.rules import Domain, Rule, RuleError, parse_rule
from synthrelease.data.schema import Binning, Column, Schema
from synthrelease.errors import closest, cut, listing
from synthrelease.settings.columns import ColumnTable, RuleTable, unlisted_label
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import ReleaseFile
from synthrelease.specification.categories import ColumnError
from synthrelease.specification.columns import build_column, group_binning, with_counted
from synthrelease.specification.level_rules import with_levels_written_out

Rules = list[tuple[Rule, tuple[str, ...]]]
"""Rules, each with the kinds of rows that it applies to."""


def read_rules(
    release: ReleaseFile, written: ReleaseFile, problems: Problems, *, of_records: bool
) -> tuple[Rules, list[RuleTable]]:
    """The rules with what each applies to, and their tables with levels written out.

    Parameters
    ----------
    release, written : the configuration with and without what options add.
    """
    added_by = _added_by(written)
    policy = release.input.missing
    domains = {
        name: Domain(
            kind="category" if table.kind == "code" else table.kind,
            bounds=table.bounds,
            categories=_labels_of(table),
            missing=(table.missing or policy) == "bin",
        )
        for name, table in release.columns.items()
    }
    parsed, written_out = Rules(), list[RuleTable]()
    for index, table in enumerate(release.rules):
        own = not added_by[index]
        try:
            never = with_levels_written_out(table.never, release.columns)
            parsed.append((parse_rule(never, domains, of_records=of_records or not own), table.applies_to))
            written_out.append(table.model_copy(update={"never": never}))
        except RuleError as error:
            option = added_by[index]
            if not own and "rules" in type(written.parts[option]).model_fields:
                option += ".rules"
            where = f"rules[{index}].never" if own else f"{option}, as a rule of each record: {cut(table.never, 100)!r}"
            problems.add_error(where, error)
    return parsed, written_out


def _added_by(written: ReleaseFile) -> list[str]:
    """Of each rule of a record the option that adds it; nothing of those that are written in the file."""
    columns, rules, found = written.columns, written.rules, [""] * len(written.rules)
    for name, table in written.parts.items():
        columns, rules = table.widened(columns, rules, written.input.missing)
        found += [name] * (len(rules) - len(found))
    return found


def _labels_of(table: ColumnTable) -> tuple[str, ...]:
    """The categories that rules may name."""
    listed = table.codes.values() if isinstance(table.codes, dict) else table.categories or ()
    unlisted = unlisted_label(table)
    return tuple(listed) if unlisted is None else tuple(dict.fromkeys([*listed, unlisted]))


def read_schema(
    release: ReleaseFile,
    rules: Rules,
    listed_groups: Mapping[str, Any],
    own_values: Collection[str],
    linked: Linked | None,
    problems: Problems,
    acceptance: str,
) -> tuple[Schema, dict[str, Binning]]:
    """The columns with their atomic bins, and the bins of groups.

    Parameters
    ----------
    listed_groups : of the acceptance file: for a column bins, or the name of an alternative.
    own_values : columns whose own values a criterion or a generator computes with.
    acceptance : the name of the acceptance file.
    """
    columns: list[Column] = []
    listed = {name: bins for name, bins in listed_groups.items() if not isinstance(bins, str)}
    alike = {} if linked is None else _alike(release, own_values, linked)
    own_values = {*own_values, *alike}
    for name, table in release.columns.items():
        try:
            every = [rule for rule, _ in rules]
            grouped, edges_of = listed.get(name), alike.get(name, (name,))
            columns.append(build_column(name, table, release.input, every, grouped, name in own_values, edges_of))
        except ColumnError as error:
            in_groups = error.place == "groups"
            where = f"groups.{name}" if in_groups else f"columns.{name}.{error.place}"
            problems.add_error(where, error, acceptance if in_groups else None)
    if problems.found:
        return Schema(columns=()), {}
    schema = Schema(columns=with_counted(columns, release.columns), linked=linked)
    groups: dict[str, Binning] = {}
    for name, bins in listed_groups.items():
        if not isinstance(bins, str):
            groups[name] = group_binning(schema[name], bins)
        elif found := schema[name].alternatives.get(bins):
            groups[name] = replace(found, name="groups")
        else:
            known = schema[name].alternatives
            expected = f"bins, or the name of an alternative of the column ({listing(known)})"
            problems.add(f"groups.{name}", expected, repr(bins), closest(bins, known), acceptance)
    return schema, groups


def _alike(release: ReleaseFile, own_values: Collection[str], linked: Linked) -> dict[str, tuple[str, ...]]:
    """The columns of slots of which the own values of all members count, each with those of all slots: their atomic bins
    are the same ones."""
    found = dict[str, tuple[str, ...]]()
    for name in own_values:
        slots = linked.slots_of(name, release.columns)
        found |= dict.fromkeys(slots, slots) if slots != (name,) else {}
    return found


def plausibility_of(
    schema: Schema, rules: Rules, kind: Literal["raw", "synthetic"], linked: Linked | None, problems: Problems
) -> Plausibility:
    """What the rules of one kind leave possible."""
    chosen = [rule for rule, applies_to in rules if kind in applies_to]
    try:
        masks = Plausibility.from_rules(chosen, schema.columns, schema.layout, apart=kind == "synthetic")
        masks = masks if kind == "synthetic" else replace(masks, linked=linked, counted=schema.counted)
        if kind == "raw" and (masks.records or masks.counted):
            from synthrelease.data.plausibility import FillerRows

            FillerRows(masks)  # public, and found before a file is read
        present = [np.arange(column.atoms.present) for column in schema.columns]
        if any(mask.forbidden[np.ix_(*(present[i] for i in mask.columns))].all() for mask in masks.masks):
            problems.add("rules", f"rules that leave some {kind} row possible", "rules that exclude every row")
        return masks
    except RuleError as error:
        problems.add_error("rules", error)
        return Plausibility(layout=schema.layout, masks=())
