"""The two files, read and validated, become one specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion, Setting
from synthrelease.criteria.scoring import JointTest
from synthrelease.data.linked import in_slots
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import Problem, Unexpected, closest, listing
from synthrelease.privacy.selection import FiniteLaw
from synthrelease.settings.mistakes import Problems, validated
from synthrelease.settings.reading import ConfigurationFile
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile
from synthrelease.specification.answered import check_answered
from synthrelease.specification.bundle import check_bundle, check_lists
from synthrelease.specification.canonical import canonical_tables
from synthrelease.specification.design_weights import check_design_weights
from synthrelease.specification.kept_rows import check_stated, domain_digest, rows_rule
from synthrelease.specification.options import buildings, division, piece_of_register
from synthrelease.specification.part import Surroundings
from synthrelease.specification.persons import check_unit
from synthrelease.specification.priors import prior_digest, prior_files
from synthrelease.specification.rare_bins import check_lines
from synthrelease.specification.record import plausibility_of, read_rules, read_schema
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.space import build_space


def _own_values_of(sums: object) -> set[str]:
    from synthrelease.generators.scored_sums import own_values_of

    return own_values_of(str(sums))


class SpecBuilder:
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
        rules, written_out = read_rules(self.release, self.written, self.problems, of_records=self.linked is not None)
        if written_out:  # what nobody wrote stays unset
            self.release = self.release.model_copy(update={"rules": written_out})
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
        schema, groups = read_schema(
            self.release, rules, self.groups, own_values, self.linked, self.problems, self.acceptance_file
        )
        self.problems.stop()
        raw = plausibility_of(schema, rules, "raw", self.linked, self.problems)
        synthetic = plausibility_of(schema, rules, "synthetic", self.linked, self.problems)
        space = build_space(self.release, schema, synthetic, self.problems)
        priors = prior_files(space, self.configuration.file_of("generators").parent, self.problems)
        self.problems.found += of_criteria
        self.problems.stop()
        digests = {name: prior_digest(name, path) for name, path in priors.items()}
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
        check_lines(criteria, space, self.problems)
        check_unit(self.release, schema, self.problems)
        rows = rows_rule(self.release, schema, raw)
        check_stated(self.release, rows, space, criteria, self.problems)
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
            exact_domain=domain_digest(self.release, schema) if rows.way == "exact" else None,
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

    def _known_columns(self, where: str, table: Mapping[str, object], file: str) -> None:
        known = self.release.columns
        for name in table:
            if name not in known:
                self.problems.add(f"{where}.{name}", f"a column ({listing(known)})", repr(name), closest(name, known), file)

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
