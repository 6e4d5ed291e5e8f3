"""Build the domain of records (columns, groups and rules), check the settings about persons, and describe the guarantee."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from synthrelease.criteria.base import Criterion
from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.rules import Count, Domain, Rule, RuleError, by_number, has_many_numbers, of_records, parse_rule
from synthrelease.data.schema import Binning, Column, Schema, Transformation
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import SpecError, closest, cut, listing
from synthrelease.generators.space import ConfigurationSpace
from synthrelease.privacy.charges import Charge, RowsRule, decimal_text
from synthrelease.privacy.plan import loss_of_group
from synthrelease.privacy.subsets import PartitionRule
from synthrelease.settings.columns import ColumnTable, RuleTable, unlisted_label, unlisted_member, with_unlisted
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.tables import NOT_ANSWERED, ReleaseFile, UnitTable
from synthrelease.spec.columns import ColumnError, build_column, group_binning, with_counted

# Columns of design weights: for how many persons of a population a row of the file stands.


def check_design_weights(release: ReleaseFile, transformations: Sequence[Transformation], problems: Problems) -> None:
    marked = [name for name, table in release.columns.items() if table.role == WEIGHT]
    if marked and release.input.one_row_per is None:
        problems.add(
            "input.one_row_per",
            f"Set one_row_per = 'respondent', because {marked[0]!r} is a weight. The guarantee does not cover rows that are "
            "repeated by their weight",
        )
    for name in marked:
        binnings = {binning.name: binning for binning in (transformation.binning(name) for transformation in transformations)}
        numbers = [number for binning in binnings.values() for number in binning.numbers]
        if not all(number is not None and 0 < number < math.inf for number in numbers):
            fault = "Every bin of a weight needs a number above 0, and some bins have none"
            problems.add(f"columns.{name}.role", f"{fault}. Categories need `numbers`; missing values cannot have a number")


# The rows of a file that a release keeps: what is public about their number, and what decides which rows are kept.


def rows_rule(release: ReleaseFile, schema: Schema, raw: Plausibility) -> RowsRule:
    """Return the rule for the number of rows of a release.

    A stated number is used first. Otherwise it is the number of rows of the file, if all are certainly used, or else the
    exact number of used rows (`rows` = "exact") or a noisy count.
    """
    dropped = any("drop" in (column.missing, column.outside) for column in schema.columns if column.counts is None)
    setting = release.input.rows
    if isinstance(setting, int):
        return RowsRule(way="stated", stated=setting)
    several = release.unit.key is not None and release.unit.records > 1  # the number of rows of a person is private
    every = not dropped and not raw.masks and not several
    if every and release.split is None:
        return RowsRule(way="whole")
    if setting == "exact":
        return RowsRule(way="exact")
    return RowsRule(way="counted", epsilon=release.budget.rows)


def division(release: ReleaseFile) -> PartitionRule | None:
    return None if release.partition is None else PartitionRule(fit=release.partition.fit)


def check_stated(
    release: ReleaseFile, rows: RowsRule, space: ConfigurationSpace, criteria: Sequence[Criterion], problems: Problems
) -> None:
    promised = max(
        min(projection.promised_count for projection in space.projections),
        max((criterion.promised_count for criterion in criteria), default=1),
    )
    if rows.stated is None:
        return
    rule = division(release)
    if rule is not None and rows.stated < 2:
        problems.add("input.rows", f"[partition] divides the rows, so there must be at least 2, not {rows.stated}")
    elif (released := rows.stated if rule is None else rule.sizes(rows.stated)[1]) < promised:
        of_all = "" if rule is None else f" that the criteria use, of {rows.stated:,} in all,"
        fault = f"The number of rows{of_all} is {released:,}. It must be at least {promised:,}"
        problems.add("input.rows", f"{fault}, the promised minimum count of each released row")


def _formats_of(column: Column) -> list[str]:
    return list(dict.fromkeys(dates.text for dates in (column.dates, column.minus_dates) if dates is not None))


def domain_digest(release: ReleaseFile, schema: Schema) -> str:
    """Return a digest of all settings that determine which rows of a file are used, such as bounds, missing values and rules.

    Rules contain released names and categories, so the digest also covers these names, and the category of each text in the
    file.
    """
    read: list[list[object]] = [
        [column.name, column.source, column.part, column.kind, column.bounds, _texts_of(column), column.missing, column.outside]
        + [part for part in (sorted(column.missing_values), column.minus, *_formats_of(column)) if part]
        + [[name, how] for name, how in (("unlisted", column.outside_label), ("characters", column.characters)) if how]
        for column in schema.columns
    ]
    raw = sorted(rule.never for rule in release.rules if "raw" in rule.applies_to)
    content = [sorted(read, key=str), sorted(release.input.missing_values), raw]
    content += [[","]] if release.input.decimal == "," else []
    if release.input.encoding != "utf-8":  # the encoding decides which category the bytes of a file mean
        content.append(release.input.encoding)
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def _texts_of(column: Column) -> list[tuple[str, str]]:
    return sorted((text, column.atoms.labels[index]) for text, index in column.values.items())


# Rules that name a level of a column: `occupation.major == 'Managers'` stands for the four occupations of that group.
#
# Levels are written out before any other use: release.json, `verify` and everybody who reads a rule find the labels of the
# codes, and need no codelist to understand the rule.
#
#     column.level == 'group'            column in ['label', ...]
#     column.level != 'group'            not column in ['label', ...]
#     column.level in ['group', ...]     column in ['label', ...]

_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_PLACE = re.compile(rf"(?P<text>{_QUOTED})|(?P<column>[A-Za-z_]\w*)\s*\.\s*(?P<level>[A-Za-z_]\w*)")
_ASKED = re.compile(rf"\s*(?:(?P<operator>==|!=)\s*(?P<one>{_QUOTED})|in\s*\[\s*(?P<many>{_QUOTED}(?:\s*,\s*{_QUOTED})*)\s*\])")


def with_levels_written_out(rule: str, columns: Mapping[str, ColumnTable]) -> str:
    """Rewrite a rule so that it names only released categories.

    A comparison with a group of a level of a codelist, such as `diagnosis.chapter == "injuries"`, becomes a comparison with
    the categories in this group.

    Raises
    ------
    RuleError : if the column does not have the level, if the level does not have the group, or if the comparison is not
        `==`, `!=` or `in`.
    """
    parts, at = [], 0
    while reference := _PLACE.search(rule, at):
        parts.append(rule[at : reference.start()])
        at = reference.end()
        if reference["text"]:
            parts.append(reference["text"])
            continue
        comparison = _ASKED.match(rule, at)
        name = f"{reference['column']}.{reference['level']}"
        groups = _groups(reference["column"], reference["level"], columns)
        if comparison is None:
            fault = f"Compare {name!r} only by ==, != or in, with groups in quotes"
            raise RuleError(f"{fault}. The rule has {rule[at : at + 20].strip()!r}")
        at = comparison.end()
        groups_named = [text[1:-1] for text in re.findall(_QUOTED, comparison["one"] or comparison["many"])]
        for group in groups_named:
            if group not in groups:
                fault = f"{group!r} is not a group of {name!r}: {listing(groups)}"
                raise RuleError(fault, suggestion=closest(group, groups))
        labels = dict.fromkeys(label for group in groups_named for label in groups[group])
        negation = "not " if comparison["operator"] == "!=" else ""
        parts.append(f"{negation}{reference['column']} in [{', '.join(_quoted(labels))}]")
    return "".join([*parts, rule[at:]])


def _groups(name: str, level: str, columns: Mapping[str, ColumnTable]) -> dict[str, list[str]]:
    """Return the groups of a level of a column, such as chapters of diagnoses, with the labels of their categories.

    Raises RuleError if the column or the level is unknown.
    """
    table = columns.get(name)
    if table is None:
        raise RuleError(f"{name!r} is not a column ({listing(columns)})", suggestion=closest(name, columns))
    alternatives = (table.alternatives or {}).items()
    levels = {of_level: groups for of_level, groups in alternatives if isinstance(groups, Mapping)}
    if level not in levels:
        fault = f"{level!r} is not a level of {name!r}, which has {listing(levels)}" if levels else f"{name!r} has no levels"
        raise RuleError(fault, suggestion=closest(level, levels))
    codes = table.codes if isinstance(table.codes, Mapping) else {}
    groups = with_unlisted(levels[level], unlisted_member(table))
    return {group: [codes.get(member, member) for member in members] for group, members in groups.items()}


def _quoted(labels: Iterable[str]) -> Iterable[str]:
    for label in labels:
        if "'" in label and '"' in label:
            raise RuleError(f"A label in a rule must not contain both kinds of quotes: {label}")
        yield f'"{label}"' if "'" in label else f"'{label}'"


# Checks of [unit], the guarantee in words, and the question that has to be answered before anything is spent: how do rows
# belong to persons?

QUESTION = (
    "State how many rows one person can have. The guarantee protects all these rows together. "
    "If every row is a different person, write `records_per_person = 1` under [unit]. If a column identifies the person, write "
    '`key = "COLUMN"` and `records_per_person = 1`. The release then uses one row of each person, and protects all rows of the '
    'person (with 3, it uses up to three rows, at three times the epsilon). Write `first_by = ["DATE"]` for the first row, or '
    '`first_by = "random"` for any row'
)
"""The message that asks the steward how many rows a person can have. It contains the TOML lines for each possible answer."""
WHICH_ROW = (
    'State which row of a person is used. Write `first_by = ["COLUMN"]` under [unit], with a column that orders the rows of a '
    'person, such as a date (released or not). Or write `first_by = "random"`, which draws one row at random'
)
"""The message that asks the steward which row of a person to use. It is shown if a key identifies persons and no setting orders
the rows of a person."""


def check_unit(release: ReleaseFile, schema: Schema, problems: Problems) -> None:
    unit = release.unit
    if unit.key is None:
        return
    if unit.records_per_person == NOT_ANSWERED:
        problems.add("unit.records_per_person", "State a number of rows for each person, because [unit] has a key")
    released = [column.name for column in schema.columns if unit.key in column.sources]
    if released:
        fault = f"The key {unit.key!r} must not be released. Remove [columns.{released[0]}], which reads it"
        problems.add("unit.key", fault)
    if unit.key in unit.order:
        fault = f"Remove the key {unit.key!r}, because all rows of a person have the same key"
        problems.add("unit.first_by", fault)
    elif len(set(unit.order)) < len(unit.order):
        problems.add("unit.first_by", f"A column is named twice: {listing(unit.order)}")
    if release.split is not None:
        why = "because record numbers could divide the rows of a person among pieces"
        problems.add("split", f"[split] cannot be combined with a key in [unit], {why}")
    if release.input.rows == "exact":
        why = "because the exact number of used rows reveals how many rows persons have"
        problems.add("input.rows", f"rows = 'exact' cannot be combined with a key in [unit], {why}")


def check_unit_answered(unit: UnitTable, path: str) -> None:
    """Raise SpecError if the configuration does not say how rows belong to persons.

    Call it before any guarantee is stated, any commitment is made, or any budget is spent.
    """
    if unit.records_per_person == NOT_ANSWERED:
        raise SpecError.at(path, "unit.records_per_person", QUESTION)
    if not unit.answered:
        raise SpecError.at(path, "unit.first_by", WHICH_ROW)


def without_key(missing_keys: Sequence[str]) -> str:
    """Return a noun phrase for rows without a key, which lists the texts that mean "no key"."""
    keys = "the key" if len(missing_keys) == 1 else "the keys"
    return "rows without a key" + f" (and with {keys} {listing(missing_keys)})" * bool(missing_keys)


def used_rows(records: int, order: Sequence[str]) -> tuple[str, str]:
    """Return a text on which rows of a person the release uses, and a text on how this choice biases statistics.

    Parameters
    ----------
    order : the columns by which the rows of a person are sorted; empty if rows are drawn at random.
    """
    if order:
        first = "the first row" if records == 1 else f"the first {records} rows"
        chosen = f"{first} of each person that the rules keep, ordered by {listing(order)} (ties at random)"
        later = ", and later rows are missing"
    else:
        first = "one row" if records == 1 else f"up to {records} rows"
        chosen, later = f"{first} of each person that the rules keep, drawn at random", ""
    counts = "one row of each person is" if records == 1 else f"at most {records} rows of each person are"
    return chosen, (
        f"Statistics describe persons, not all rows of the file: {counts} used. The statistics are biased "
        f"towards persons with few rows{later}."
    )


def guarantee_in_words(unit: UnitTable, total: Charge) -> list[str]:
    """Return sentences that state the guarantee of a plan, for a record and for a person with several records.

    Examples
    --------
    >>> from synthrelease.privacy.charges import mechanism
    >>> guarantee_in_words(UnitTable(name="birth"), mechanism("all", 1, "a sum"))
    ['Guarantee: pure differential privacy; neighbouring files differ in one replaced birth.']
    """
    kind = "pure" if total.delta == 0 else "approximate"
    differ = f"one replaced {unit.name}"
    if unit.key is not None:
        differ = "the rows of one person, replaced by any other rows"
        differ += "" if unit.records == 1 else f"; epsilon is for one {unit.name} of them"
    sentences = [f"Guarantee: {kind} differential privacy; neighbouring files differ in {differ}."]
    return sentences if unit.key is None and unit.records == 1 else [*sentences, _person(unit, total)]


def _person(unit: UnitTable, total: Charge) -> str:
    loss = loss_of_group(total.epsilon, total.delta, unit.records)
    level = "not protected: delta would reach 1" if loss is None else f"protected with epsilon = {decimal_text(loss.epsilon)}"
    level += f", delta = {float(loss.delta):.3g}" if loss is not None and loss.delta else ""
    why = f" ({unit.why})" if unit.why else ""
    if unit.key is None:
        return f"A person has at most {unit.records} records{why} and is {level}."
    rows, lean = used_rows(unit.records, unit.order)
    return (
        f"Persons: {unit.key!r} identifies the person of each row. The release uses {rows}. All other rows, and "
        f"{without_key(unit.missing_keys)}, are excluded{why}. {lean} All rows of a person together are {level}. The key is "
        "never released. The number of persons is published; the number of their rows stays secret."
    )


Rules = list[tuple[Rule, tuple[str, ...]]]
"""Parsed rules. With each rule, there is a tuple of the kinds of rows ("raw" or "synthetic") to which the rule applies."""


def _compared_in_bins(rule: Rule, domains: Mapping[str, Domain], *, linked: bool) -> list[str]:
    """Return the columns that a rule such as `age < years_of_school` compares by bins instead of exact numbers.

    In rows of the private file, only rules for roots with their members can compare exact numbers of several columns.
    """
    finely_valued = {
        name
        for name in by_number(rule)
        if has_many_numbers(domains[name].bounds or (0, 0), whole_numbers=domains[name].kind == "integer")
    }
    return sorted(finely_valued if linked else by_number(rule))


def read_rules(
    release: ReleaseFile, written: ReleaseFile, problems: Problems, *, linked: bool
) -> tuple[Rules, list[RuleTable]]:
    """Parse the rules, and return each with the kinds of rows (private or released) to which it applies.

    Also return the tables of the rules, in which each group of a level is replaced by its released categories.

    Parameters
    ----------
    release, written : the configuration with and without the columns and rules that optional tables add.
    """
    added_by, domains = _added_by(written), domains_of(release)
    parsed, written_out = Rules(), list[RuleTable]()
    for index, table in enumerate(release.rules):
        is_written = not added_by[index]
        try:
            never = with_levels_written_out(table.never, release.columns)
            rule = parse_rule(never, domains, of_records=True)
            of_members = linked or not is_written
            if not of_members and any(isinstance(part, Count) for part in of_records(rule)):
                raise RuleError("A rule with count(...) needs [members]")
            if "raw" in table.applies_to and (in_bins := _compared_in_bins(rule, domains, linked=of_members)):
                fault = f"In rows of the private file, {listing(in_bins)} cannot be compared with another column or a count"
                raise RuleError(f"{fault}. Set applies_to = ['synthetic']")
            parsed.append((rule, table.applies_to))
            written_out.append(table.model_copy(update={"never": never}))
        except RuleError as error:
            option = added_by[index]
            if not is_written and "rules" in type(written.parts[option]).model_fields:
                option += ".rules"
            path = f"rules[{index}].never" if is_written else f"{option}, as a rule of each record: {cut(table.never, 100)!r}"
            problems.add_error(path, error)
    return parsed, written_out


def domains_of(release: ReleaseFile) -> dict[str, Domain]:
    return {
        name: Domain(
            kind="category" if table.kind == "code" else table.kind,
            bounds=table.bounds,
            categories=_labels_of(table),
            missing=(table.missing or release.input.missing) == "bin",
        )
        for name, table in release.columns.items()
    }


def _added_by(written: ReleaseFile) -> list[str]:
    """Return, for each rule, the optional table that adds it, such as "geography", or "" for a written rule."""
    options = [""] * len(written.rules)
    for name, _, rules in written.widened():
        options += [name] * (len(rules) - len(options))
    return options


def _labels_of(table: ColumnTable) -> tuple[str, ...]:
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
    """Return the schema of columns with their atomic (finest) bins, and the groups of bins that criteria use, by column.

    Parameters
    ----------
    listed_groups : the table [groups] of the acceptance file: for each column, the groups or the name of an alternative.
    own_values : the columns whose exact values a criterion, a generator or a question in [[models]] uses.
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
            path = f"groups.{name}" if in_groups else f"columns.{name}.{error.place}"
            problems.add_error(path, error, acceptance if in_groups else None)
    if problems.found:
        return Schema(columns=()), {}
    schema = Schema(columns=with_counted(columns, release.columns), linked=linked)
    groups: dict[str, Binning] = {}
    for name, bins in listed_groups.items():
        if not isinstance(bins, str):
            groups[name] = group_binning(schema[name], bins)
        elif alternative := schema[name].alternatives.get(bins):
            groups[name] = replace(alternative, name="groups")
        else:
            alternatives = schema[name].alternatives
            fault = f"{bins!r} is not an alternative of the column: {listing(alternatives)}. Name one of them, or list bins"
            problems.add(f"groups.{name}", fault, None, closest(bins, alternatives), acceptance)
    return schema, groups


def _alike(release: ReleaseFile, own_values: Collection[str], linked: Linked) -> dict[str, tuple[str, ...]]:
    """Return the columns that need the same atomic bins, by column: those of all members if exact values of one are used."""
    alike = dict[str, tuple[str, ...]]()
    for name in own_values:
        slots = linked.slots_of(name, release.columns)
        alike |= dict.fromkeys(slots, slots) if slots != (name,) else {}
    return alike


def plausibility_of(
    schema: Schema, rules: Rules, kind: Literal["raw", "synthetic"], linked: Linked | None, problems: Problems
) -> Plausibility:
    """Return the combinations of atomic (finest) bins that the rules allow, in the private file or in released rows.

    Adds a problem if the rules exclude every possible row.
    """
    chosen = [rule for rule, applies_to in rules if kind in applies_to]
    try:
        masks = Plausibility.from_rules(chosen, schema.columns, schema.layout, apart=kind == "synthetic")
        masks = masks if kind == "synthetic" else replace(masks, linked=linked, counted=schema.counted)
        if kind == "raw" and (masks.records or masks.counted):
            from synthrelease.data.plausibility import FillerRows

            FillerRows(masks)  # raises an error for impossible rules; rules are public, and no file is read yet
        present = [np.arange(column.atoms.present) for column in schema.columns]
        if any(mask.forbidden[np.ix_(*(present[i] for i in mask.columns))].all() for mask in masks.masks):
            every = "possible row of the private file" if kind == "raw" else "possible released row"
            problems.add("rules", f"The rules exclude every {every}. Delete or change rules")
        return masks
    except RuleError as error:
        problems.add_error("rules", error)
        return Plausibility(layout=schema.layout, masks=())
