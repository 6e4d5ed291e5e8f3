"""The specification of a release, fixed and public before private data are read: one frozen value, with its plan."""

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
from synthrelease.generators.models import Measured
from synthrelease.generators.row_functions import MOST_ROWS
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
    from synthrelease.privacy.plan import YearOfSeries


@dataclass(frozen=True, kw_only=True)
class ReleaseSpec:
    """Everything that is fixed, and public, before private data are read.

    Attributes
    ----------
    raw, synthetic : plausibility rules over atomic cells, for rows of the private file and for released rows.
    groups : the bins that criteria group by, by column.
    budget : `generation` is that of one generator fit: epsilon, or rho where a family is zero-concentrated; zero-concentrated
        guarantees are stated at `delta`.
    selection_rule : how rounds are repeated.
    tables : both files as `spec.canonical` writes them down.
    joint_test : decides rounds in place of the noisy figures, which are then released after acceptance (theory 4, joint
        test).
    shared_measurements : the generators' measurements are made once, before the loop (theory 5, shared measurements).
    bound_risk : probability, over the noise of shared measurements, that they bound some criterion that they answer wrongly.
    publish_measurements : they become part of the release.
    priors : the public tables that generators start from, by the name in the configuration.
    rows : how many rows a release works with, and what that costs.
    exact_domain : where the number of kept rows is published exactly, a digest of all that decides which rows are kept;
        None otherwise. Exact releases of one dataset on different domains would give away an exact difference.
    unit : what a record is, in how many records a person can stand, and the key that tells the rows of a person.
    bundle : further formats of the release.
    not_promised : what the publisher knows that the release does not keep.
    shares_noise : whether figures after acceptance share one noise where that is less (theory 4.4, figures that share a noise).
        No setting: False for a bundle from before, which `verify` plans once more.
    options : what is held of options that are used.
    questions : what the release is meant to answer.
    models : what is measured on purpose for named questions; None without [[models]].
    plugins : packages whose criteria or generators may be named.
    attacks : what attacks of the rehearsal got on public rows, for the card; None without a shortlist that says so.
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

    @cached_property
    def setting(self) -> Setting:
        """The public facts that criteria use."""
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
        """Return the values of the options that are used, by name."""
        held = {"members": self.schema.linked, **vars(self.options)}
        return {name: value for name, value in held.items() if value is not None}

    @property
    def generation_budget(self) -> Fraction:
        """Return the budget of one fit of a generator: epsilon, or rho where a family is zero-concentrated."""
        return self.budget.generation

    def with_budget(self, **changes: Fraction | None) -> ReleaseSpec:
        """Return the specification with other settings of [budget], such as another `generation`."""
        return replace(self, budget=self.budget.model_copy(update=changes))

    @property
    def text(self) -> bytes:
        """Return the canonical text that decides a release, shortlist included; its digest identifies the specification."""
        listed = None if self.space.shortlist is None else [self.described(configuration) for configuration in self.space]
        return canonical_text(self.tables, listed)

    @property
    def digest(self) -> str:
        """The SHA-256 checksum of the text."""
        return hashlib.sha256(self.text).hexdigest()

    def described(self, configuration: Configuration) -> dict[str, Any]:
        """Return a configuration in its published form: a public table that a generator starts from is named by its content."""
        description: dict[str, Any] = configuration.describe()
        return description | {"generator": with_digests(description["generator"], self.priors)}

    @cached_property
    def noises(self) -> dict[str, OneNoise]:
        """Return the common noise of criterion values after acceptance, by the names of the criteria.

        Not where a law of rounds is accounted as a curve: there one noise for the sum of some epsilons costs half the square of
        the sum, and noises of their own half the sum of the squares.
        """
        if self.joint_test is None or not self.shares_noise or self.selection_rule.shape is not None:
            return {}
        from synthrelease.criteria.facts import shared_noise

        return shared_noise({criterion.name: criterion.epsilon for criterion in self.criteria if criterion.own_noise})

    @cached_property
    def _charges(self) -> tuple[tuple[Charge, ...], tuple[Charge, ...], tuple[Charge, ...]]:
        """Return the charges spent once, per round, and after acceptance."""
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
        """The charge tree of a release."""
        once, per_round, figures = self._charges
        shared = {
            criterion.charge.name: self.noises[criterion.name] for criterion in self.criteria if criterion.name in self.noises
        }
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
        """Yield the parts that work only up to a number of rows, in words, each with that number (docs/threat-model.md)."""
        if self.joint_test is not None:
            yield "a joint test", self.joint_test.most_rows
        for generator in self.space.generators:
            yield f"the generator {generator.family!r}", generator.most_rows
        if self.models is not None:
            yield "a list of [[models]]", MOST_ROWS

    def answers(self, measured: NoisyMarginals | None) -> MeasuredAnswers | None:
        """Return the answers of the shared measurements; None where nothing is measured before the rounds."""
        if measured is None:
            return None
        return MeasuredAnswers(
            measured=measured, common=self.space.common, risk=self.bound_risk, transformations=len(self.space.transformations)
        )

    def check_unit_answered(self) -> None:
        """Raise SpecError where the configuration does not say how rows belong to persons; everything that promises or spends
        calls this.
        """
        check_unit_answered(self.unit, self.path)

    def check_limit(self) -> None:
        """Raise BudgetError where the plan costs more than [budget] limit, with the generation budget that would fit."""
        limit = self.budget.limit
        above = limit is not None and self.plan.total.epsilon > limit
        self.plan.check_limit(limit, self._fitting_words() if above else "")

    def _fitting_words(self) -> str:
        """Return the largest generation budget that the limit allows, found by bisection: the total grows with the budget."""
        low, high = Fraction(0), self.generation_budget
        for _ in range(20):
            middle = (low + high) / 2
            fits = self.with_budget(generation=middle).plan.total.epsilon <= (self.budget.limit or 0)
            low, high = (middle, high) if fits else (low, middle)
        if not low:
            return "No generation budget fits: the other parts of the plan leave no room for one. "
        return f"generation = {decimal_text(rounded_down(low))} ({self.generation_unit}) would fit. "

    @property
    def unstated(self) -> list[str]:
        """Return the missing texts of the data card, as paths of the configuration."""
        texts = self.card.texts(self.card.language)
        described = self.description.strip() or (texts is not None and texts.summary)
        return [*([] if described else ["description"]), *gaps(self.card, self.schema.names)]

    def persons(self, n_file: int) -> int | None:
        """Return how many persons have n_file records at most; None without a key."""
        return None if self.unit.key is None else n_file // self.unit.records

    @property
    def most_rows(self) -> int | None:
        """Return the largest number of rows of the private file, where it is a sample of a population."""
        return None if self.options.population is None else self.options.population.size

    def check_rows(self, n_file: int) -> None:
        """Raise InputError for a file of more rows, a public number, than the population has."""
        if self.most_rows is not None and n_file > self.most_rows:
            raise InputError(f"expected a file of at most {self.most_rows} rows, as [population] states, found {n_file}.")

    @property
    def earlier(self) -> tuple[bytes, ...]:
        """The files release.json of the releases before this one that [series] names."""
        return () if self.options.series is None else self.options.series.earlier

    @property
    def year(self) -> YearOfSeries | None:
        """Return the year of the release in a plan over years; None where it is in none."""
        return None if self.options.series is None else self.options.series.year

    def check_new(self) -> None:
        """Raise SpecError for a setting that a release which spends must not have, such as an erratum."""
        problems = Problems(ConfigurationFile(path=Path(self.path), tables={}, inherited=frozenset(), base=None))
        if self.options.series is not None:
            check_new(self.options.series, Loss(self.plan.total.epsilon, self.plan.total.delta), problems)
        problems.stop()

    def check_can_fail(self) -> None:
        """Raise SpecError for criteria that accept every table, however unlike the original one: they are no acceptance."""
        if reasons := none_can_fail(self.criteria):
            expected = "one that compares with the original rows, at a threshold below the worst figure that is possible"
            raise SpecError.at(self.path, "criteria", expected, reasons)

    def scored_rows(self, n: int) -> int:
        """Return how many of n rows criteria ask: as many as the released table has."""
        return n if self.options.partition is None else self.options.partition.sizes(n)[1]

    @property
    def generation_charge(self) -> Charge:
        """Return the charges of one fit; those of shared measurements are paid once."""
        families = ", ".join(sorted({generator.family for generator in self.space.generators}))
        because = f"measured once for all rounds ({families})" if self.shared_measurements else ""
        because = because or f"one fit of the drawn generator ({families})"
        first = self.space.generators[0]
        if first.by_library and families == first.family:
            return first.charge(self.generation_budget)  # its own charge shows the library's part
        if self.generation_unit == "rho":
            exactly = self.selection_rule.shape is None and all(generator.gaussian for generator in self.space.generators)
            charge = (gaussian if exactly else zero_concentrated)(GENERATION, self.generation_budget, because)
            if pure := sorted({generator.family for generator in self.space.generators if generator.guarantee == "pure"}):
                beside = f"{charge.because}; {', '.join(pure)} at epsilon = {decimal_text(pure_epsilon(charge))}"
                return replace(charge, because=beside)
            return charge
        return mechanism(GENERATION, self.generation_budget, because, self.budget.generation_delta)

    @property
    def generation_unit(self) -> str:
        """Return the unit of the budget of a fit: "epsilon", or "rho" where a generator is zero-concentrated."""
        return "rho" if any(generator.guarantee == "zCDP" for generator in self.space.generators) else "epsilon"


def stated_guarantee(spec: ReleaseSpec, n_file: int, n: int) -> Guarantee:
    """Return the guarantee of a release that worked with n rows of a file of n_file (theory 10, statement of the guarantee)."""
    return Guarantee(
        epsilon=spec.plan.total.epsilon,
        delta=spec.plan.total.delta,
        invariants=invariants(spec.rows.way, n_file, n, spec.persons(n_file)),
        unit_name=spec.unit.name,
        records_per_person=spec.unit.records,
        why=spec.unit.why,
    )
