"""From the two TOML files to one frozen, validated specification. Nothing here reads data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.accounting.rows import RowsRule
from synthrelease.accounting.stopping_laws import FiniteLaw
from synthrelease.candidates.configuration import ConfigurationSpace
from synthrelease.connections import checked_path
from synthrelease.connections.source import Source
from synthrelease.criteria import CRITERIA, Criterion, JointTest, Setting
from synthrelease.domain.plausibility import Plausibility
from synthrelease.domain.rules import Domain, Rule, RuleError, parse_rule
from synthrelease.domain.schema import Binning, Column, Schema
from synthrelease.errors import Problem, SpecError, Unexpected, closest, cut, listing
from synthrelease.linked import in_slots
from synthrelease.resources import file_digest
from synthrelease.specification.answered import check_answered
from synthrelease.specification.bundle import check_bundle, check_lists
from synthrelease.specification.canonical import BY_DIGEST, NAME, PATHS, WORDS, canonical_tables, read_tables
from synthrelease.specification.categories import ColumnError
from synthrelease.specification.codelists import with_codelists
from synthrelease.specification.columns import build_column, group_binning, with_counted
from synthrelease.specification.design_weights import check_design_weights
from synthrelease.specification.level_rules import with_levels_written_out
from synthrelease.specification.options import buildings, division, piece_of_register
from synthrelease.specification.part import Surroundings
from synthrelease.specification.persons import check_unit
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.shortlist import narrowed_to
from synthrelease.specification.space import build_space
from synthrelease.toml.columns import ColumnTable
from synthrelease.toml.problems import Problems, located
from synthrelease.toml.reading import ConfigurationFile, beside, read_configuration, read_toml, toml_tables
from synthrelease.toml.released_prior import RELEASED
from synthrelease.toml.tables import AcceptanceFile, ReleaseFile
from synthrelease.toml.unlisted import unlisted_label
from synthrelease.toml.validation import validated

DOCUMENT = "release.json"
"""The file of a release that says what it is."""


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
    return _SpecBuilder(file, release, acceptance_path, acceptance).build()


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
    listed = [name for name in (*WORDS, *PATHS) if name in tables]
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
    spec = _SpecBuilder(file, release, Path(NAME), acceptance).build()
    return spec if shortlist is None else narrowed_to(spec, shortlist, NAME)


def _labels_of(table: ColumnTable) -> tuple[str, ...]:
    """The categories that rules may name."""
    listed = table.codes.values() if isinstance(table.codes, dict) else table.categories or ()
    unlisted = unlisted_label(table)
    return tuple(listed) if unlisted is None else tuple(dict.fromkeys([*listed, unlisted]))


def _digest_of(name: str, path: Path) -> str:
    """Of a public table; of an earlier release that of its release.json, which names the checksum of its rows."""
    if name.startswith(RELEASED):
        return file_digest(path / DOCUMENT)
    from synthrelease.enclave.same_file import digest_of

    return digest_of(Source.of(path))


def _own_values_of(sums: object) -> set[str]:
    from synthrelease.measurements.scored_sums import own_values_of

    return own_values_of(str(sums))


def _texts_of(column: Column) -> list[tuple[str, str]]:
    """Each text of the file that stands for a category, with that category."""
    return sorted((text, column.atoms.labels[index]) for text, index in column.values.items())


class _SpecBuilder:
    """Turns validated files into a spec, collecting mistakes; later steps run only when earlier ones found none."""

    def __init__(
        self,
        configuration: ConfigurationFile,
        release: ReleaseFile,
        acceptance_path: Path,
        acceptance: AcceptanceFile,
    ):
        self.configuration, self.file = configuration, str(configuration.path)
        self.acceptance_file, self.acceptance = str(acceptance_path), acceptance
        self.problems = Problems(configuration)
        hooks = buildings()
        for name, table in release.parts.items():
            hooks[name].check_columns(table, release, self.problems)
        self.problems.stop()
        self.written, self.release, self.linked = release, release.wide(), release.linked
        self.groups = in_slots(acceptance.groups, self.linked, self.release.columns)

    def build(self) -> ReleaseSpec:
        rules = self._rules()
        self._known_columns("transformations", self.release.transformations, self.file)
        self._known_columns("groups", self.groups, self.acceptance_file)
        for language in self.release.card.languages:
            path = "card.columns" if language == self.release.card.language else f"card.{language}.columns"
            texts = self.release.card.texts(language)
            self._known_columns(path, texts.columns if texts else {}, self.file)
        self._check_not_promised()
        parsed, of_criteria = self._criteria()  # before the schema, whose atoms follow from what criteria compute with
        own_values = {name for one in parsed if one is not None for name in one.own_values_of}
        own_values |= {name for table in self.release.generators if "sums" in table for name in _own_values_of(table["sums"])}
        schema, groups = self._schema(rules, own_values)
        self.problems.stop()
        raw, synthetic = (self._plausibility(schema, rules, kind) for kind in ("raw", "synthetic"))
        space = build_space(self.release, schema, [mask.columns for mask in synthetic.masks], self.problems)
        priors = self._priors(space)
        self.problems.found += of_criteria
        self.problems.stop()
        digests = {name: _digest_of(name, path) for name, path in priors.items()}
        criteria = [criterion for criterion in parsed if criterion is not None]
        setting = Setting(
            schema=schema,
            groups=groups,
            raw=raw,
            transformations=space.transformations,
            criteria={criterion.name: criterion for criterion in criteria},
        )
        self._check_criteria(criteria, setting)
        self.problems.stop()
        check_answered(self.release.selection, space, criteria, setting, self.problems, self.acceptance_file)
        check_unit(self.release, schema, self.problems)
        rows = self._rows_rule(schema, raw)
        self._check_stated(rows, space, criteria)
        check_design_weights(self.release, space.transformations, self.problems)
        law = self._law_of_rounds()
        parts = self._parts(setting, criteria, synthetic)
        check_lists(self.release.lists, self.release.card, schema, self.problems)
        check_bundle(self.release.bundle, self.release.card, schema, self.problems)
        self.problems.stop()
        return ReleaseSpec(
            title=self.release.title,
            description=self.release.description,
            path=self.file,
            tables=canonical_tables(self._as_written(), self.acceptance, digests),
            input=self.release.input,
            schema=schema,
            rules=tuple(self.release.rules),
            raw=raw,
            synthetic=synthetic,
            space=space,
            criteria=tuple(criteria),
            setting=setting,
            generation_budget=self.release.budget.generation,
            limit=self.release.budget.limit,
            stop_probability=self.release.selection.stop_probability,
            shape=self.release.selection.shape if self.release.selection.mode == "truncated_negative_binomial" else None,
            rounds=law,
            generation_delta=self.release.budget.generation_delta,
            delta=self.release.budget.delta,
            joint_test=self._joint_test(),
            shared_measurements=self.release.selection.measurements == "shared",
            publish_measurements=self.release.selection.publish_measurements,
            bound_risk=self.release.selection.bound_risk,
            priors=priors,
            prior_digests=digests,
            card=self.release.card,
            rows=rows,
            partition=division(self.release),
            split=piece_of_register(self.release),
            exact_domain=self._domain(schema) if rows.way == "exact" else None,
            unit=self.release.unit,
            budget_reason=self.release.budget.reason,
            bundle=self.release.bundle,
            lists=self.release.lists,
            not_promised=self.acceptance.not_promised,
            parts=parts,
        )

    def _as_written(self) -> ReleaseFile:
        """The configuration without what options add, its rules with their levels written out."""
        rules = self.release.rules[: len(self.written.rules)]
        return self.written.model_copy(update={"rules": rules}) if rules else self.written

    def _parts(self, setting: Setting, criteria: Sequence[Criterion], synthetic: Plausibility) -> dict[str, object]:
        """What options that are a folder make of their tables."""
        hooks, found = buildings(), dict[str, object]()
        for name, table in self.release.parts.items():
            around = Surroundings(
                file=self.configuration.file_of(name),
                acceptance=self.acceptance_file,
                criteria=criteria,
                release=self.release,
                schema=setting.schema,
                groups=setting.groups,
                transformations=setting.transformations,
                released=synthetic,
            )
            found[name] = hooks[name].build(table, around, self.problems)
        return found

    def _check_not_promised(self) -> None:
        """The columns of its pairs are columns."""
        for place, text in enumerate(self.acceptance.not_promised.pairs):
            for name in text.split(":"):
                known = self.release.columns
                if name not in known:
                    expected, path = f"columns ({listing(known)})", f"not_promised.pairs[{place}]"
                    self.problems.add(path, expected, repr(name), closest(name, known), self.acceptance_file)

    def _rows_rule(self, schema: Schema, raw: Plausibility) -> RowsRule:
        """Whether rows can be left out at all, and what then is public about how many."""
        dropped = any("drop" in (column.missing, column.outside) for column in schema.columns)
        stated = self.release.input.rows
        if isinstance(stated, int):
            return RowsRule(way="stated", stated=stated)
        several = self.release.unit.key is not None and self.release.unit.records > 1  # how many a person has is private
        every = not dropped and not raw.masks and not several
        if every and self.release.numbered is None:
            return RowsRule(way="whole")
        if stated == "exact":
            return RowsRule(way="exact")
        return RowsRule(way="counted", epsilon=self.release.budget.rows)

    def _check_stated(self, rows: RowsRule, space: ConfigurationSpace, criteria: Sequence[Criterion]) -> None:
        """A stated number of rows of which no table can keep what is promised about each of its rows."""
        promised = max(
            min(projection.promised_count for projection in space.projections),
            max((criterion.promised_count for criterion in criteria), default=1),
        )
        if rows.stated is None:
            return
        rule = division(self.release)
        if rule is not None and rows.stated < 2:
            self.problems.add("input.rows", "at least 2, because they are divided", str(rows.stated))
        elif (released := rows.stated if rule is None else rule.sizes(rows.stated)[1]) < promised:
            found = str(rows.stated) if rule is None else f"{rows.stated}, of which {released} are in the piece that is scored"
            self.problems.add("input.rows", f"at least {promised}, as often as each released row must occur", found)

    def _domain(self, schema: Schema) -> str:
        """A digest of everything in the configuration that decides which rows of a file are kept.

        Rules speak of released names and categories, so these are part of it, and which text of the file is which category.
        """
        read: list[list[object]] = [
            [each.name, each.source, each.part, each.kind, each.bounds, _texts_of(each), each.missing, each.outside]
            + [more for more in (sorted(each.missing_values), each.minus, each.dates and each.dates.text) if more]
            + [[name, how] for name, how in (("unlisted", each.outside_label), ("characters", each.characters)) if how]
            for each in schema.columns
        ]
        raw = sorted(rule.never for rule in self.release.rules if "raw" in rule.applies_to)
        content = [sorted(read, key=str), sorted(self.release.input.missing_values), raw]
        content += [[","]] if self.release.input.decimal == "," else []
        if self.release.input.encoding != "utf-8":  # in which letters a category is found in the file
            content.append(self.release.input.encoding)
        return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()

    def _known_columns(self, where: str, table: Mapping[str, object], file: str) -> None:
        known = self.release.columns
        for name in table:
            if name not in known:
                self.problems.add(f"{where}.{name}", f"a column ({listing(known)})", repr(name), closest(name, known), file)

    def _rules(self) -> list[tuple[Rule, tuple[str, ...]]]:
        policy = self.release.input.missing
        domains = {
            name: Domain(
                kind="category" if table.kind == "code" else table.kind,
                bounds=table.bounds,
                categories=_labels_of(table),
                missing=(table.missing or policy) == "bin",
            )
            for name, table in self.release.columns.items()
        }
        parsed: list[tuple[Rule, tuple[str, ...]]] = []
        written_out = []
        for index, table in enumerate(self.release.rules):
            own = index < len(self.written.rules)  # others were added by an option
            try:
                never = with_levels_written_out(table.never, self.release.columns)
                parsed.append((parse_rule(never, domains, of_records=self.linked is not None or not own), table.applies_to))
                written_out.append(table.model_copy(update={"never": never}))
            except RuleError as error:
                where = f"rules[{index}].never" if own else f"members.rules, of each member: {cut(table.never, 100)!r}"
                self.problems.add_error(where, error)
        if written_out:  # what nobody wrote stays unset
            self.release = self.release.model_copy(update={"rules": written_out})
        return parsed

    def _schema(
        self, rules: list[tuple[Rule, tuple[str, ...]]], own_values: Collection[str]
    ) -> tuple[Schema, dict[str, Binning]]:
        columns: list[Column] = []
        listed = {name: bins for name, bins in self.groups.items() if not isinstance(bins, str)}
        alike = {} if self.linked is None else self._alike(own_values)
        own_values = {*own_values, *alike}
        for name, table in self.release.columns.items():
            try:
                every = [rule for rule, _ in rules]
                grouped, edges_of = listed.get(name), alike.get(name, (name,))
                columns.append(build_column(name, table, self.release.input, every, grouped, name in own_values, edges_of))
            except ColumnError as error:
                in_groups = error.place == "groups"
                where = f"groups.{name}" if in_groups else f"columns.{name}.{error.place}"
                self.problems.add_error(where, error, self.acceptance_file if in_groups else None)
        if self.problems.found:
            return Schema(columns=()), {}
        schema = Schema(columns=with_counted(columns, self.release.columns), linked=self.linked)
        groups: dict[str, Binning] = {}
        for name, bins in self.groups.items():
            if not isinstance(bins, str):
                groups[name] = group_binning(schema[name], bins)
            elif found := schema[name].alternatives.get(bins):
                groups[name] = replace(found, name="groups")
            else:
                known = schema[name].alternatives
                expected = f"bins, or the name of an alternative of the column ({listing(known)})"
                self.problems.add(f"groups.{name}", expected, repr(bins), closest(bins, known), self.acceptance_file)
        return schema, groups

    def _alike(self, own_values: Collection[str]) -> dict[str, tuple[str, ...]]:
        """The columns of slots of which the own values of all members count, each with those of all slots: their atomic bins
        are the same ones."""
        found = dict[str, tuple[str, ...]]()
        for name in own_values if self.linked else ():
            slots = self.linked.slots_of(name, self.release.columns) if self.linked else ()
            found |= dict.fromkeys(slots, slots) if slots != (name,) else {}
        return found

    def _plausibility(self, schema: Schema, rules: list[tuple[Rule, tuple[str, ...]]], kind: str) -> Plausibility:
        chosen = [rule for rule, applies_to in rules if kind in applies_to]
        try:
            masks = Plausibility.from_rules(chosen, schema.columns, schema.layout, apart=kind == "synthetic")
            masks = masks if kind == "synthetic" else replace(masks, linked=self.linked, counted=schema.counted)
            if kind == "raw" and (masks.records or masks.counted):
                from synthrelease.enclave.resizing import FillerRows

                FillerRows(masks)  # public, and found before a file is read
            present = [np.arange(column.atoms.present) for column in schema.columns]
            if any(mask.forbidden[np.ix_(*(present[i] for i in mask.columns))].all() for mask in masks.masks):
                self.problems.add("rules", f"rules that leave some {kind} row possible", "rules that exclude every row")
            return masks
        except RuleError as error:
            self.problems.add_error("rules", error)
            return Plausibility(layout=schema.layout, masks=())

    def _criteria(self) -> tuple[list[Criterion | None], list[Problem]]:
        """The criteria, None for one that cannot be read, and what is wrong with these: told after the schema."""
        before, self.problems.found = self.problems.found, []
        parsed = [self._criterion(index, table) for index, table in enumerate(self.acceptance.criteria)]
        of_criteria, self.problems.found = self.problems.found, before
        return parsed, of_criteria

    def _criterion(self, index: int, table: Mapping[str, Any]) -> Criterion | None:
        model = self.problems.class_for(f"criteria[{index}]", "kind", table, CRITERIA, self.acceptance_file)
        if model is None:
            return None
        item = validated(model, table, self.acceptance_file, f"criteria[{index}]")
        if isinstance(item, Criterion):
            return item
        self.problems.found += item
        return None

    def _priors(self, space: ConfigurationSpace) -> dict[str, Path]:
        """The public tables that generators start from: they must be there; they are read when a release begins."""
        found: dict[str, Path] = {}
        for name in dict.fromkeys(generator.prior_file for generator in space.generators):
            if name is None or name.removeprefix(RELEASED).startswith(BY_DIGEST):
                continue
            if name.startswith(RELEASED):
                folder = self.configuration.file_of("generators").parent / name.removeprefix(RELEASED)
                found[name] = folder
                if not (folder / DOCUMENT).is_file():
                    self.problems.add("generators", "the folder of a release as prior", f"no file {folder / DOCUMENT}")
                continue
            path = self.configuration.file_of("generators").parent / name
            if path.is_file() or path.is_dir():
                found[name] = path
            else:
                self.problems.add("generators", "a public file as prior", f"no file {path}")
        return found

    def _law_of_rounds(self) -> FiniteLaw | None:
        rounds = self.release.selection.rounds
        if rounds is None:
            return None
        try:
            return FiniteLaw.of({int(number): probability for number, probability in rounds.items()})
        except Unexpected as mistake:
            place = f".{mistake.place}" if mistake.place else ""
            self.problems.add(f"selection.rounds{place}", mistake.expected, mistake.found or "")
            return None

    def _joint_test(self) -> JointTest | None:
        table = self.release.selection
        if table.test_epsilon is None:
            return None
        return JointTest(epsilon=table.test_epsilon, false_acceptance=table.false_acceptance)

    def _check_criteria(self, criteria: list[Criterion], setting: Setting) -> None:
        before: dict[str, Criterion] = {}
        faulty: set[str] = set()
        for index, criterion in enumerate(criteria):
            if criterion.name in before:
                self.problems.add(
                    f"criteria[{index}].name", "names that differ", repr(criterion.name), file=self.acceptance_file
                )
            if any(value in faulty for value in criterion.model_dump().values() if isinstance(value, str)):
                continue  # it builds on a criterion with a mistake: it is checked once that one is right
            where = f"criteria[{index}]"
            if self.problems.add_mistakes(where, criterion.mistakes(setting, before), self.acceptance_file):
                faulty.add(criterion.name)
            if self._joint_test():
                self.problems.add_mistakes(where, criterion.joint_test_mistakes(), self.acceptance_file)
            before[criterion.name] = criterion
