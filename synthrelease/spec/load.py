"""Load a configuration and its acceptance file, check both, and combine them into a specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base import Criterion, Setting
from synthrelease.criteria.scoring import JointTest
from synthrelease.data.linked import in_slots
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.data.weights import Calibration
from synthrelease.errors import Problem, SpecError, Unexpected
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.privacy.subsets import SplitRule
from synthrelease.settings.card import CardTable
from synthrelease.settings.mistakes import Problems, located, validated
from synthrelease.settings.reading import ConfigurationFile, beside, read_configuration, read_toml, toml_tables
from synthrelease.settings.tables import SYNTHETIC, AcceptanceFile, BundleTable, ReleaseFile
from synthrelease.sources.paths import checked_path
from synthrelease.spec.canonical import NAME, PATHS, WORDS, PriorTable, canonical_tables, is_fixed, read_tables
from synthrelease.spec.columns import with_codelists
from synthrelease.spec.geography import build_geography, build_marks, check_geography, check_marks
from synthrelease.spec.members import check_members
from synthrelease.spec.models import read_models
from synthrelease.spec.options import Options, check_catalogues, check_formats, check_imputation, check_questions
from synthrelease.spec.plugins import check_named, check_trusted, load_plugins
from synthrelease.spec.record import (
    check_design_weights,
    check_stated,
    check_unit,
    division,
    domain_digest,
    plausibility_of,
    read_rules,
    read_schema,
    rows_rule,
)
from synthrelease.spec.register import check_design, check_partition, check_population, check_split
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.series import build_series
from synthrelease.spec.shortlist import narrowed_to
from synthrelease.spec.space import build_space, check_answered, check_lines, prior_digest, prior_files
from synthrelease.spec.totals import build_calibration

# Checks of [bundle] against the schema: a format that cannot hold the table is refused before anything is spent.


def check_bundle(table: BundleTable, card: CardTable, schema: Schema, problems: Problems) -> None:
    if table.synthetic_column and SYNTHETIC in schema.by_name:
        problems.add(f"columns.{SYNTHETIC}", f"Use another name for the column, because [bundle] adds a column {SYNTHETIC!r}")
    check_formats(table.formats, schema, problems)
    check_catalogues(table.catalogues, card, problems)


def _own_values_of(sums: object) -> set[str]:
    from synthrelease.generators.scored_sums import own_values_of

    return own_values_of(str(sums))


class SpecBuilder:
    """Builds a specification from the two validated files, and collects mistakes; a step runs only after steps without
    mistakes.
    """

    def __init__(
        self, configuration: ConfigurationFile, release: ReleaseFile, acceptance_path: Path, acceptance: AcceptanceFile
    ):
        self.configuration, self.file = configuration, str(configuration.path)
        self.acceptance_file, self.acceptance = str(acceptance_path), acceptance
        self.problems = Problems(configuration)
        named = {f"generators[{index}].family": table.get("family") for index, table in enumerate(release.generators)}
        check_named(release.plugins, named, self.problems)
        named = {f"criteria[{index}].kind": table.get("kind") for index, table in enumerate(acceptance.criteria)}
        check_named(release.plugins, named, self.problems, self.acceptance_file)
        if release.members is not None:
            check_members(release.members, release, self.problems)
        if release.geography is not None:
            check_geography(release.geography, release, self.problems)
        if release.marks is not None:
            check_marks(release.marks, release, self.problems)
        self.problems.stop()
        self.written, self.release, self.linked = release, release.wide(), release.linked
        self.groups = in_slots(acceptance.groups, self.linked, self.release.columns)

    def build(self) -> ReleaseSpec:
        rules, written_out = read_rules(self.release, self.written, self.problems, linked=self.linked is not None)
        if written_out:  # without written rules, the field stays unset
            self.release = self.release.model_copy(update={"rules": written_out})
        self._known_columns("transformations", self.release.transformations, self.file)
        self._known_columns("groups", self.groups, self.acceptance_file)
        for language in self.release.card.languages:
            path = "card.columns" if language == self.release.card.language else f"card.{language}.columns"
            texts = self.release.card.texts(language)
            self._known_columns(path, texts.columns if texts else {}, self.file)
        self._check_not_promised()
        # criteria are read first, because atomic bins depend on the values that criteria use
        parsed, of_criteria = self._criteria()
        own_values = {name for criterion in parsed if criterion is not None for name in criterion.own_values_of}
        own_values |= {name for table in self.release.generators if "sums" in table for name in _own_values_of(table["sums"])}
        models = read_models(self.release, self.problems)
        own_values |= set() if models is None else models.own_values_of
        conditions = [] if models is None else [(rule, ()) for rule in models.rules]
        schema, groups = read_schema(
            self.release, [*rules, *conditions], self.groups, own_values, self.linked, self.problems, self.acceptance_file
        )
        self.problems.stop()
        raw = plausibility_of(schema, rules, "raw", self.linked, self.problems)
        synthetic = plausibility_of(schema, rules, "synthetic", self.linked, self.problems)
        space = build_space(self.release, schema, synthetic, self.problems)
        files = prior_files(space, self.configuration.file_of("generators").parent, self.problems)
        self.problems.found += of_criteria
        self.problems.stop()
        priors = {name: PriorTable(path=path, digest=prior_digest(name, path)) for name, path in files.items()}
        criteria = [criterion for criterion in parsed if criterion is not None]
        setting = Setting(
            schema=schema,
            groups=groups,
            raw=raw,
            transformations=space.transformations,
            criteria={criterion.name: criterion for criterion in criteria},
            joint_test=self.release.selection.test_epsilon is not None,
        )
        self._check_criteria(criteria, setting)
        self.problems.stop()
        check_answered(self.release.selection, space, criteria, setting, self.problems, self.acceptance_file)
        check_lines(criteria, space, self.problems)
        check_unit(self.release, schema, self.problems)
        rows = rows_rule(self.release, schema, raw)
        check_stated(self.release, rows, space, criteria, self.problems)
        check_design_weights(self.release, space.transformations, self.problems)
        rule = self._selection_rule()
        options = self._options(setting, criteria, synthetic)
        weighted = self.release.design is not None and self.release.design.weight is not None
        check_questions(self.release.intended_queries, schema, self.problems, weighted=weighted)
        check_bundle(self.release.bundle, self.release.card, schema, self.problems)
        self.problems.stop()
        return ReleaseSpec(
            title=self.release.title,
            description=self.release.description,
            path=self.file,
            tables=canonical_tables(self._as_written(), self.acceptance, priors),
            input=self.release.input,
            schema=schema,
            rules=tuple(self.release.rules),
            raw=raw,
            synthetic=synthetic,
            space=space,
            criteria=tuple(criteria),
            groups=groups,
            budget=self.release.budget,
            selection_rule=rule,
            joint_test=self._joint_test(),
            shared_measurements=self.release.selection.measurements == "shared",
            publish_measurements=self.release.selection.publish_measurements,
            bound_risk=self.release.selection.bound_risk,
            priors=priors,
            card=self.release.card,
            rows=rows,
            exact_domain=domain_digest(self.release, schema) if rows.way == "exact" else None,
            unit=self.release.unit,
            bundle=self.release.bundle,
            questions=tuple(self.release.intended_queries),
            models=models,
            plugins=tuple(self.release.plugins),
            not_promised=self.acceptance.not_promised,
            options=options,
            base=self.configuration.base,
            acceptance=Path(self.acceptance_file),
        )

    def _as_written(self) -> ReleaseFile:
        """Return the configuration without the columns and rules that optional tables add, and with levels in rules written
        out.
        """
        rules = self.release.rules[: len(self.written.rules)]
        return self.written.model_copy(update={"rules": rules}) if rules else self.written

    def _options(self, setting: Setting, criteria: Sequence[Criterion], synthetic: Plausibility) -> Options:
        release, problems, file_of = self.release, self.problems, self.configuration.file_of
        if release.partition is not None:
            check_partition(release, criteria, self.acceptance_file, problems)
        if release.split is not None:
            check_split(release.split, release, setting.schema, problems)
        calibration = series = geography = marks = None
        if release.calibration is not None:
            file = file_of("calibration")
            calibration = build_calibration(release.calibration, file, release, setting, synthetic, problems)
        if release.series is not None:
            series = build_series(release.series, file_of("series"), release, problems)
        if release.population is not None:
            check_population(release.population, release, problems)
        if release.design is not None:
            check_design(release.design, release, setting.schema, problems)
            if release.design.weight_column:
                calibration = Calibration(source="", margins=(), start=release.design.weight)
        for column in setting.schema.columns:
            if column.by_digest and release.design is None:
                needed = "A column of random groups also needs [design] with `clusters` and `groups`"
                problems.add(f"columns.{column.name}.role", needed)
        if release.imputation is not None:
            check_imputation(release.imputation, setting.schema, problems)
        if release.geography is not None:
            geography = build_geography(release.geography, release, setting.transformations[0])
        if release.marks is not None:
            marks = build_marks(release.marks, release, setting, problems)
        split = release.split
        return Options(
            partition=division(release),
            split=None if split is None else SplitRule(by=split.by, piece=split.piece, of=split.of),
            calibration=calibration,
            series=series,
            population=release.population,
            design=release.design,
            imputation=release.imputation,
            geography=geography,
            marks=marks,
            scout=release.scout,
        )

    def _check_not_promised(self) -> None:
        for index, text in enumerate(self.acceptance.not_promised.pairs):
            path, columns = f"not_promised.pairs[{index}]", self.release.columns
            self.problems.add_unknown(path, "a column", text.split(":"), columns, self.acceptance_file)

    def _known_columns(self, table_path: str, table: Mapping[str, object], file: str) -> None:
        for name in table:
            self.problems.add_unknown(f"{table_path}.{name}", "a column", [name], self.release.columns, file)

    def _criteria(self) -> tuple[list[Criterion | None], list[Problem]]:
        """Return the parsed criteria, with None for each with a mistake, and the mistakes, which are reported after those
        in columns.
        """
        problems, parsed = Problems(self.configuration), list[Criterion | None]()
        for index, table in enumerate(self.acceptance.criteria):
            model = problems.class_for(f"criteria[{index}]", "kind", table, CRITERIA, self.acceptance_file)
            item = None if model is None else validated(model, table, self.acceptance_file, f"criteria[{index}]")
            if isinstance(item, list):
                problems.found += item
            parsed.append(item if isinstance(item, Criterion) else None)
        return parsed, problems.found

    def _selection_rule(self) -> SelectionRule:
        table, law = self.release.selection, None
        try:
            if table.rounds is not None:
                law = FiniteLaw.of({int(number): probability for number, probability in table.rounds.items()})
        except Unexpected as mistake:
            key = f".{mistake.place}" if mistake.place else ""
            self.problems.add_error(f"selection.rounds{key}", mistake)
        shape = table.shape if table.mode == "truncated_negative_binomial" else None
        return SelectionRule(stop_probability=table.stop_probability, shape=shape, rounds=law)

    def _joint_test(self) -> JointTest | None:
        table = self.release.selection
        if table.test_epsilon is None:
            return None
        return JointTest(epsilon=table.test_epsilon, false_acceptance=table.false_acceptance)

    def _check_criteria(self, criteria: list[Criterion], setting: Setting) -> None:
        earlier: dict[str, Criterion] = {}
        faulty: set[str] = set()
        for index, criterion in enumerate(criteria):
            if criterion.name in earlier:
                fault = f"An earlier criterion has the same name, {criterion.name!r}"
                self.problems.add(f"criteria[{index}].name", fault, file=self.acceptance_file)
            if any(value in faulty for value in criterion.model_dump().values() if isinstance(value, str)):
                continue  # this criterion depends on another one that has a mistake
            path = f"criteria[{index}]"
            if self.problems.add_mistakes(path, criterion.mistakes(setting, earlier), self.acceptance_file):
                faulty.add(criterion.name)
            earlier[criterion.name] = criterion


# From the two TOML files to one frozen, validated specification. Nothing here reads data.


def load_spec(path: str | Path, trusted: Sequence[str] | None = None) -> ReleaseSpec:
    """Load a configuration and its acceptance file, check both, and return the specification.

    Parameters
    ----------
    trusted : the packages of [[plugins]] that may run on a private file. Other packages are refused before they are loaded.
        Use None if the command reads only public files.

    Raises
    ------
    SpecError : with all problems that can be found at once.
    """
    return _loaded(read_configuration(checked_path(path)), read_toml, trusted)


def load_changed(path: Path, configuration: bytes, acceptance: bytes | None = None) -> ReleaseSpec:
    """Return the specification of a changed configuration, given as bytes. The files on the disk are not changed.

    Parameters
    ----------
    acceptance : the content to use instead of the acceptance file, or None to read this file.

    Raises
    ------
    SpecError : for the same reasons as in `load_spec`.
    """
    file = read_configuration(path, configuration)
    return _loaded(file, read_toml if acceptance is None else lambda named: toml_tables(acceptance, named))


def _loaded(
    configuration: ConfigurationFile, read: Callable[[Path], dict[str, Any]], trusted: Sequence[str] | None = None
) -> ReleaseSpec:
    file = with_codelists(configuration)
    release = validated(ReleaseFile, file.tables, str(file.path))
    problems = release if isinstance(release, list) else []
    acceptance_name = file.tables.get("acceptance")
    if not isinstance(acceptance_name, str):
        raise SpecError(located(problems, file))
    acceptance_path = beside(file.file_of("acceptance"), acceptance_name)
    acceptance = validated(AcceptanceFile, read(acceptance_path), str(acceptance_path))
    if isinstance(release, list) or isinstance(acceptance, list):
        raise SpecError(located(problems, file) + (acceptance if isinstance(acceptance, list) else []))
    if trusted is not None:
        check_trusted(str(file.path), release.plugins, trusted)
    _load_plugins(release, file)
    return SpecBuilder(file, release, acceptance_path, acceptance).build()


def _load_plugins(release: ReleaseFile, file: ConfigurationFile) -> None:
    problems = Problems(file)
    load_plugins(release.plugins, problems)
    problems.stop()


def read_specification(content: bytes, *, plugins: bool = False) -> ReleaseSpec:
    """Build the specification from the content of specification.json, which a release publishes, without any other file.

    The content has only digests of public tables, so the result is sufficient for a plan but not for a fit.

    Parameters
    ----------
    plugins : whether to load the packages that the specification names. Otherwise, only packages that were loaded before
        can be used.

    Raises
    ------
    SpecError : with all problems that can be found at once.
    """
    problems: list[Problem] = []
    try:
        tables = dict(read_tables(content))
    except Unexpected as error:
        problems = [Problem(NAME, "", error.message)]
    if problems:
        raise SpecError(problems)
    listed = [name for name in (*WORDS, *PATHS) if name in tables and not is_fixed(name, tables[name])]
    columns = tables.get("columns")
    listed += [
        f"columns.{name}.codes"
        for name, table in (columns.items() if isinstance(columns, dict) else ())
        if isinstance(table, dict) and isinstance(table.get("codes"), str)
    ]
    if listed:
        message = "A published specification cannot have this setting: it is not fixed before the run, or names another file"
        raise SpecError([Problem(NAME, path, message) for path in listed])
    shortlist, criteria = tables.pop("shortlist", None), tables.pop("acceptance", {})
    del tables["specification"]
    release = validated(ReleaseFile, {**tables, "acceptance": NAME}, NAME)
    acceptance = validated(AcceptanceFile, criteria if isinstance(criteria, dict) else {}, NAME, "acceptance")
    if isinstance(release, list) or isinstance(acceptance, list):
        raise SpecError([problem for mistakes in (release, acceptance) if isinstance(mistakes, list) for problem in mistakes])
    file = ConfigurationFile(path=Path(NAME), tables=tables, inherited=frozenset(), base=None)
    if plugins:
        _load_plugins(release, file)
    spec = SpecBuilder(file, release, Path(NAME), acceptance).build()
    return spec if shortlist is None else narrowed_to(spec, shortlist, NAME)
