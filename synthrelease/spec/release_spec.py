"""Define `ReleaseSpec`, everything that is fixed and public before private data are read, with the plan of privacy costs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthrelease.criteria.base import Criterion, MeasuredAnswers, Setting
from synthrelease.criteria.scoring import JointTest, none_can_fail
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Binning, Schema
from synthrelease.errors import InputError, SpecError
from synthrelease.generators.space import Configuration, ConfigurationSpace
from synthrelease.privacy.charges import (
    GENERATION,
    Charge,
    RowsRule,
    decimal_text,
    gaussian,
    invariants,
    mechanism,
    rounded_down,
    zero_concentrated,
)
from synthrelease.privacy.plan import Guarantee, Loss, Plan, pure_epsilon
from synthrelease.privacy.selection import SelectionRule
from synthrelease.settings.card import CardTable, gaps
from synthrelease.settings.columns import InputTable, RuleTable
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import PluginTable
from synthrelease.settings.questions import QuestionTable
from synthrelease.settings.reading import ConfigurationFile
from synthrelease.settings.tables import AttacksTable, BudgetTable, BundleTable, NotPromisedTable, UnitTable
from synthrelease.spec.canonical import PriorTable, canonical_text, with_digests
from synthrelease.spec.models import charge_of
from synthrelease.spec.options import Options
from synthrelease.spec.record import check_unit_answered
from synthrelease.spec.series import check_new

if TYPE_CHECKING:
    from synthrelease.criteria.facts import OneNoise
    from synthrelease.generators.measurements import NoisyMarginals
    from synthrelease.generators.models import Measured
    from synthrelease.privacy.plan import YearOfSeries


@dataclass(frozen=True, kw_only=True)
class ReleaseSpec:
    """The specification of a release: everything that is fixed and public before private data are read.

    Attributes
    ----------
    raw, synthetic : the plausibility rules for rows of the private file and for released rows, as allowed combinations of
        atomic bins.
    groups : for each column, the groups into which criteria divide the rows.
    budget : the table [budget]. `generation` is the budget of one fit of a generator: an epsilon, or a rho, converted to
        epsilon at `delta`, if a family is zero-concentrated.
    tables : the settings of the configuration and the acceptance file, as JSON values (`spec.canonical.canonical_tables`).
    joint_test : the noisy test of all criteria together, or None if each is tested separately. With a joint test, the
        criterion values are measured after acceptance (theory 4, joint test).
    shared_measurements : whether the noisy tables are measured only once, before the rounds (theory 5, shared measurements).
    bound_risk : an upper bound on the probability, over the noise of the shared measurements, that a bound on some
        criterion value is wrong.
    priors : the public tables from which generators start, by their names in the configuration.
    rows : the rule that determines the number of rows, with its charge.
    exact_domain : a digest of all settings that determine which rows are used, if their exact number is published, or None.
        It prevents two releases with different rules from publishing exact numbers, whose difference would be exact, too.
    shares_noise : whether criterion values after acceptance share one noise vector, if this makes the noise smaller (theory
        4.4, figures that share a noise). It is False only if `verify` recomputes the plan of an older bundle.
    models : the sums that are measured for the questions in [[models]], or None.
    attacks : the results of attacks on public rows in the rehearsal, for the card, or None.
    """

    title: str
    description: str
    path: str
    tables: Mapping[str, Any]
    input: InputTable
    schema: Schema
    rules: tuple[RuleTable, ...]
    raw: Plausibility
    synthetic: Plausibility
    space: ConfigurationSpace
    criteria: tuple[Criterion, ...]
    groups: Mapping[str, Binning]
    budget: BudgetTable
    selection_rule: SelectionRule
    card: CardTable
    joint_test: JointTest | None = None
    shared_measurements: bool = False
    publish_measurements: bool = False
    bound_risk: Fraction = Fraction(1, 100)
    priors: Mapping[str, PriorTable] = field(default_factory=dict)
    rows: RowsRule = RowsRule()
    exact_domain: str | None = None
    unit: UnitTable = UnitTable()
    bundle: BundleTable = BundleTable()
    not_promised: NotPromisedTable = NotPromisedTable()
    shares_noise: bool = True
    options: Options = Options()
    questions: tuple[QuestionTable, ...] = ()
    models: Measured | None = None
    plugins: tuple[PluginTable, ...] = ()
    attacks: AttacksTable | None = None
    base: Path | None = None
    acceptance: Path

    @cached_property
    def setting(self) -> Setting:
        return Setting(
            schema=self.schema,
            groups=self.groups,
            raw=self.raw,
            transformations=self.space.transformations,
            criteria={criterion.name: criterion for criterion in self.criteria},
            joint_test=self.joint_test is not None,
        )

    @property
    def parts(self) -> dict[str, object]:
        held = {"members": self.schema.linked, **vars(self.options)}
        return {name: value for name, value in held.items() if value is not None}

    def with_budget(self, **changes: Fraction | None) -> ReleaseSpec:
        return replace(self, budget=self.budget.model_copy(update=changes))

    @property
    def text(self) -> bytes:
        """The canonical text of the specification, with the shortlist. Its digest identifies the specification."""
        listed = None if self.space.shortlist is None else [self.described(configuration) for configuration in self.space]
        return canonical_text(self.tables, listed)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text).hexdigest()

    def described(self, configuration: Configuration) -> dict[str, Any]:
        """Return a configuration as it is published: public tables are named by digests and not by paths."""
        description: dict[str, Any] = configuration.describe()
        return description | {"generator": with_digests(description["generator"], self.priors)}

    @cached_property
    def noises(self) -> dict[str, OneNoise]:
        """The noise of the criterion values that share one noise vector after acceptance, by criterion; empty if none do.

        With a Renyi curve (`shape`), noise is not shared: one shared noise then costs half the square of the sum of the
        epsilons, separate noise only half the sum of their squares.
        """
        if self.joint_test is None or not self.shares_noise or self.selection_rule.shape is not None:
            return {}
        from synthrelease.criteria.facts import shared_noise

        return shared_noise({criterion.name: criterion.epsilon for criterion in self.criteria if criterion.own_noise})

    @cached_property
    def _charges(self) -> tuple[tuple[Charge, ...], tuple[Charge, ...], tuple[Charge, ...]]:
        once = [
            *([self.rows.charge] if self.rows.charge else []),
            *(replace(charge, reason=criterion.reason) for criterion in self.criteria for charge in criterion.once()),
        ]
        figures = [replace(charge, reason=criterion.reason) for criterion in self.criteria for charge in criterion.per_score()]
        generation = [replace(self.generation_charge, reason=self.budget.reason)]
        if self.shared_measurements:
            once, generation = [*once, *generation], []
        figures_after: list[Charge] = []
        if self.joint_test is not None:
            figures, figures_after = [self.joint_test.charge], figures
        if self.models is not None:
            figures_after = [*figures_after, charge_of(self.models)]
        return tuple(once), (*generation, *figures), tuple(figures_after)

    @cached_property
    def plan(self) -> Plan:
        once, per_round, figures = self._charges
        sharing = (criterion for criterion in self.criteria if criterion.name in self.noises)
        shared = {criterion.charge.name: self.noises[criterion.name] for criterion in sharing}
        figures = tuple(
            replace(charge, because=shared[charge.name].because(charge.epsilon)) if charge.name in shared else charge
            for charge in figures
        )
        return Plan.of(
            once=once,
            per_round=per_round,
            after=figures,
            rule=self.selection_rule,
            delta=self.budget.delta,
            partition=self.options.partition,
            sharing=shared,
            cap=None if self.options.scout is None else self.options.scout.cap,
        )

    def row_limits(self) -> Iterator[tuple[str, int]]:
        """Yield each part that limits the number of rows, such as "a joint test", with its limit (docs/threat-model.md)."""
        if self.joint_test is not None:
            yield "a joint test", self.joint_test.most_rows
        for generator in self.space.generators:
            yield f"the generator {generator.family!r}", generator.most_rows
        if self.models is not None:
            from synthrelease.generators.row_functions import MOST_ROWS  # here, because few configurations have models

            yield "a list of [[models]]", MOST_ROWS

    def answers(self, measured: NoisyMarginals | None) -> MeasuredAnswers | None:
        """Return the object that computes criterion values from the shared noisy tables, or None without such tables."""
        if measured is None:
            return None
        return MeasuredAnswers(
            measured=measured, common=self.space.common, risk=self.bound_risk, transformations=len(self.space.transformations)
        )

    def check_unit_answered(self) -> None:
        """Raise SpecError if the configuration does not say how rows belong to persons.

        Call it before any guarantee is stated or any budget is spent.
        """
        check_unit_answered(self.unit, self.path)

    def check_limit(self) -> None:
        """Raise BudgetError if the plan costs more than `limit` of [budget]; the message states a generation budget that
        fits.
        """
        limit = self.budget.limit
        above = limit is not None and self.plan.total.epsilon > limit
        self.plan.check_limit(limit, self._fitting_words() if above else "")

    def _fitting_words(self) -> str:
        low, high = Fraction(0), self.budget.generation
        for _ in range(20):
            middle = (low + high) / 2
            fits = self.with_budget(generation=middle).plan.total.epsilon <= (self.budget.limit or 0)
            low, high = (middle, high) if fits else (low, middle)
        if not low:
            return "The other parts of the plan already cost the whole limit, so no generation budget fits. "
        return f"With generation = {decimal_text(rounded_down(low))} ({self.generation_unit}), the plan would meet the limit. "

    @property
    def unstated(self) -> list[str]:
        """The TOML paths of the texts that are missing from the data card."""
        texts = self.card.texts(self.card.language)
        described = self.description.strip() or (texts is not None and texts.summary)
        return [*([] if described else ["description"]), *gaps(self.card, self.schema.names)]

    def persons(self, n_file: int) -> int | None:
        """Return the number of persons in a file with n_file records, or None if the file has no key."""
        return None if self.unit.key is None else n_file // self.unit.records

    @property
    def most_rows(self) -> int | None:
        """The maximum number of rows of the file: the size of [population], or None."""
        return None if self.options.population is None else self.options.population.size

    def check_rows(self, n_file: int) -> None:
        if self.most_rows is not None and n_file > self.most_rows:
            raise InputError(f"The file has {n_file:,} rows, but [population] size is only {self.most_rows:,}.")

    @property
    def earlier(self) -> tuple[bytes, ...]:
        return () if self.options.series is None else self.options.series.earlier

    @property
    def year(self) -> YearOfSeries | None:
        return None if self.options.series is None else self.options.series.year

    def check_new(self) -> None:
        problems = Problems(ConfigurationFile(path=Path(self.path), tables={}, inherited=frozenset(), base=None))
        if self.options.series is not None:
            check_new(self.options.series, Loss(self.plan.total.epsilon, self.plan.total.delta), problems)
        problems.stop()

    def check_can_fail(self) -> None:
        if reasons := none_can_fail(self.criteria):
            needed = "At least one criterion must be able to reject a table. It must compare with the original rows, and its"
            needed += " threshold must be below its largest possible value"
            raise SpecError.at(self.path, "criteria", f"{needed}. The criteria are {reasons}")

    def scored_rows(self, n: int) -> int:
        """Return the number of rows that are scored and released if n are used: n, or one piece's size with [partition]."""
        return n if self.options.partition is None else self.options.partition.sizes(n)[1]

    @property
    def generation_charge(self) -> Charge:
        """The privacy charge of one fit of the generator or, if all rounds share its noisy tables, of measuring them once."""
        families = ", ".join(sorted({generator.family for generator in self.space.generators}))
        because = f"measured once for all rounds ({families})" if self.shared_measurements else ""
        because = because or f"one fit of the drawn generator ({families})"
        first = self.space.generators[0]
        if first.by_library and families == first.family:
            return first.charge(self.budget.generation)  # the charge of the library names the library
        if self.generation_unit == "rho":
            exactly = self.selection_rule.shape is None and all(generator.gaussian for generator in self.space.generators)
            charge = (gaussian if exactly else zero_concentrated)(GENERATION, self.budget.generation, because)
            if pure := sorted({generator.family for generator in self.space.generators if generator.guarantee == "pure"}):
                beside = f"{charge.because}; {', '.join(pure)} at epsilon = {decimal_text(pure_epsilon(charge))}"
                return replace(charge, because=beside)
            return charge
        return mechanism(GENERATION, self.budget.generation, because, self.budget.generation_delta)

    @property
    def generation_unit(self) -> str:
        """The unit of the generation budget: "rho" if a generator is zero-concentrated, otherwise "epsilon"."""
        return "rho" if any(generator.guarantee == "zCDP" for generator in self.space.generators) else "epsilon"


def stated_guarantee(spec: ReleaseSpec, n_file: int, n: int) -> Guarantee:
    """Return the guarantee of a release that used n rows of a file with n_file rows (theory 10, statement of the guarantee)."""
    return Guarantee(
        epsilon=spec.plan.total.epsilon,
        delta=spec.plan.total.delta,
        invariants=invariants(spec.rows.way, n_file, n, spec.persons(n_file)),
        unit_name=spec.unit.name,
        records_per_person=spec.unit.records,
        why=spec.unit.why,
    )
