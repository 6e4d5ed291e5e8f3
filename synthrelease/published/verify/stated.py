"""Compare release.json with the published specification, independently of the code that plans a release.

The two files are read without the classes of criteria and generators. `bundle.verify_plan`, which uses these classes,
checks that the whole plan follows from the specification.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from synthrelease.data.linked import in_slots
from synthrelease.data.schema import Binning, Column
from synthrelease.errors import Unexpected, so_many
from synthrelease.privacy.cap import SCOUT, UNKNOWN
from synthrelease.privacy.charges import (
    GENERATION,
    HIDDEN_ROUNDS,
    JOINT_TEST,
    MODELS,
    NUMBER_OF_ROWS,
    ONE_ROUND,
    PRICED,
    SELECTION,
)
from synthrelease.published.charges import ChargePart, CriterionPart
from synthrelease.published.columns import BinPart, ColumnPart
from synthrelease.published.commitment import CommitmentPart, read_commitment
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import NAME as MEASUREMENTS
from synthrelease.published.verify.checks import Check
from synthrelease.published.verify.options import fixed, not_in_specification
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile
from synthrelease.spec.canonical import NAME, read_tables
from synthrelease.spec.columns import build_column, group_binning

# Comparison of a release with a commitment from before the run.


@dataclass(frozen=True, kw_only=True)
class Commitment:
    """A commitment given to `verify`: the name of its file, its content, and its digest in groups of digits."""

    name: str
    part: CommitmentPart
    digest: str

    @classmethod
    def read(cls, path: Path) -> Commitment:
        part, digest = read_commitment(path)
        return cls(name=path.name, part=part, digest=" ".join(digest[start : start + 16] for start in range(0, 64, 16)))

    def covers(self, document: ReleaseDocument) -> bool:
        """Return whether the commitment was made for this year and run of the multi-year plan.

        It is True if the commitment or the release belongs to no plan.
        """
        planned, years = self.part.years, _years(document)
        if planned is None or years is None:
            return True
        return (years.year, years.again) == (planned.year, bool(planned.again))


def committed(document: ReleaseDocument, commitment: Commitment) -> Check:
    """Check that a release agrees with the commitment made before the run: specification, program, charges, selection and
    criteria.

    For another year of the multi-year plan, check only what the commitment fixes for all years. The head of the ledger is
    not part of a release; the steward's logbook shows it.
    """
    whole = commitment.covers(document)
    problems = _of_the_run(document, commitment.part) if whole else _of_the_plan(document, commitment.part)
    problems_told = tuple(f"release.json and the commitment {commitment.name}: {problem}" for problem in problems)
    scope = "" if whole else "multi-year plan, names, kinds and thresholds of the criteria "
    apart = "" if whole else " (the commitment does not contain the specification of this release)"
    summary = f"{scope}as committed to{apart}; compare this digest with the published one: {commitment.digest}"
    return Check(name="commitment", found=summary, problems=problems_told)


def compared(document: ReleaseDocument, commitment: Commitment) -> tuple[str, bool]:
    """Return sentences that say what a matching commitment confirms, and whether it covers the specification of this
    release.
    """
    compare = f"Compare the digest of the commitment with the published one: {commitment.digest}."
    planned, years = commitment.part.years, _years(document)
    if planned is None or years is None or commitment.covers(document):
        which = "" if planned is None else f" of {_run(planned.year, bool(planned.again))}"
        return f"The specification{which} equals the commitment. {compare}", True
    return (
        f"The commitment is for {_run(planned.year, bool(planned.again))}. This is {_run(years.year, years.again)}. The "
        "multi-year plan and the names, kinds and thresholds of the criteria equal the commitment. Bins, rules and budgets "
        f"of this release were not compared. {compare}"
    ), False


def _run(year: int, again: bool) -> str:
    return f"the second release of {year}" if again else f"the release of {year}"


def _years(document: ReleaseDocument) -> Any:
    return None if document.series is None else document.series.years


def _of_the_plan(document: ReleaseDocument, part: CommitmentPart) -> Iterator[str]:
    """Yield a sentence for each fact fixed for all years in which a release differs from a commitment for another year."""
    yield from _plan_problems(document, part)
    planned, years = part.years, _years(document)
    if planned is not None and planned.again is not None and planned.year == years.year:
        released = _run(years.year, years.again)
        yield f"series: this is {released}, but the commitment is for {_run(planned.year, planned.again)}"
    of_release, of_commitment = (
        [(criterion.name, criterion.kind, criterion.threshold) for criterion in source.criteria] for source in (document, part)
    )
    if of_release != of_commitment:
        yield "criteria: names, kinds or thresholds differ"


def _of_the_run(document: ReleaseDocument, part: CommitmentPart) -> Iterator[str]:
    yield from _plan_problems(document, part)
    if document.specification != part.specification:
        yield f"specification: the digest is not {part.specification[:16]}..., which the commitment states"
    program = document.versions.get("synthrelease", document.written_by)
    if program != part.program:
        yield f"versions: synthrelease {program} made the release, but the commitment names synthrelease {part.program}"
    if document.charges != part.charges:
        yield "charges: the charges differ"
    if document.selection != part.selection:
        yield "selection: the settings of the selection differ"
    facts = [(criterion.name, criterion.kind, criterion.threshold, criterion.epsilon_exact) for criterion in document.criteria]
    if facts != [(criterion.name, criterion.kind, criterion.threshold, criterion.epsilon_exact) for criterion in part.criteria]:
        yield "criteria: names, kinds, thresholds or epsilons differ"


def _plan_problems(document: ReleaseDocument, part: CommitmentPart) -> Iterator[str]:
    years = _years(document)
    if part.years is None:
        if years is not None:
            yield "series: release.json has a multi-year plan, but the commitment has none"
        return
    values = None if years is None else years.model_dump()
    plan = part.years.model_dump(exclude={"year", "again"})
    if values is None or any(values[name] != value for name, value in plan.items()):
        found = "none" if values is None else "another one"
        yield f"series: the commitment has a multi-year plan, but release.json has {found}"


def specification(document: ReleaseDocument, files: Mapping[str, bytes]) -> Check:
    """Check that the specification has the stated digest, and agrees with the release in columns, rules, criteria and
    charges.
    """
    content = files.get(NAME)
    if content is None:
        return Check(name="specification", problems=(f"{NAME}: this file is missing",))
    digest = hashlib.sha256(content).hexdigest()
    problems = []
    if digest != document.specification:
        problems.append(f"{NAME}: the checksum of this file is not the checksum in release.json")
    try:
        tables = read_tables(content)
        if (json.dumps(json.loads(content), indent=2, ensure_ascii=False) + "\n").encode() != content:
            problems.append(f"{NAME}: this file does not have the layout that synthrelease writes")
        settings = {name: value for name, value in tables.items() if name not in ("specification", "acceptance", "shortlist")}
        release = ReleaseFile.model_validate({**settings, "acceptance": NAME}).wide()
        acceptance = AcceptanceFile.model_validate(tables.get("acceptance"))
    except (Unexpected, ValidationError):
        problems.append(f"{NAME}: the specification is not as `synthrelease release` writes it")
    else:
        problems += _problems(document, release, acceptance, tables)
    groups = " ".join(digest[start : start + 16] for start in range(0, 64, 16))
    limits = tuple(not_in_specification(document, content)) if not problems else ()
    summary = f"as release.json says, with the digest {groups}"
    return Check(name="specification", found=summary, problems=tuple(problems), limits=limits)


def _problems(
    document: ReleaseDocument, release: ReleaseFile, acceptance: AcceptanceFile, tables: Mapping[str, Any]
) -> Iterator[str]:
    if (document.title, document.description) != (release.title, release.description.strip()):
        yield "title or description: these texts differ from the specification"
    rules = [(rule.never, rule.applies_to, rule.why) for rule in release.rules]
    if [(rule.never, rule.applies_to, rule.why) for rule in document.rules] != rules:
        yield f"rules: they are not the {so_many(len(rules), 'rule')} of the specification in their order"
    yield from _column_problems(document, release, acceptance)
    yield from _criteria_problems(document.criteria, acceptance.criteria)
    yield from _drawn_problems("generator", document, release.generators)
    yield from _drawn_problems("projection", document, release.projections)
    yield from _selection_problems(document, release, tables)
    yield from _charge_problems(document, release, acceptance)
    yield from fixed(document, release)


def _column_problems(document: ReleaseDocument, release: ReleaseFile, acceptance: AcceptanceFile) -> Iterator[str]:
    if [part.name for part in document.columns] != list(release.columns):
        yield "schema: its columns are not the columns of the specification in their order"
        return
    groups = in_slots(acceptance.groups, release.linked, release.columns)
    if list(document.groups) != list(groups):
        yield "groups: they differ from the groups of the specification"
        return
    for part in document.columns:
        listed = groups.get(part.name)
        bins = None if isinstance(listed, str) else listed
        has_grid = part.step is not None  # `bundle.verify_plan` checks this, because only the class of a criterion knows
        column = build_column(part.name, release.columns[part.name], release.input, [], bins, own_values=has_grid)
        binning = column.alternatives.get(part.binning)
        if binning is None or ColumnPart.of(column, binning) != part:
            yield f"schema: column {part.name!r}: its settings or bins differ from the specification"
        alternatives = release.transformations.get(part.name, part.alternatives)
        if part.binning not in alternatives:
            yield f"schema: column {part.name!r}: its bins {part.binning!r} are not among {', '.join(alternatives)}"
        if listed is not None and document.groups[part.name] != _groups(column, listed):
            yield f"groups: {part.name}: they differ from the groups of the specification"


def _groups(column: Column, listed: Any) -> list[BinPart]:
    binning: Binning = column.alternatives[listed] if isinstance(listed, str) else group_binning(column, listed)
    return list(BinPart.all_of(column, binning))


def _criteria_problems(parts: Sequence[CriterionPart], tables: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = [str(table.get("name")) for table in tables]
    if [part.name for part in parts] != names:
        yield f"criteria: they are not the criteria of the specification ({', '.join(names)})"
        return
    for part, table in zip(parts, tables, strict=True):
        values = {"kind": part.kind, "threshold": part.threshold, "epsilon": part.epsilon_exact, **part.parameters}
        settings: dict[str, Any] = {**table} | (
            {"tables": _each_table(table["tables"])} if isinstance(table.get("tables"), list) else {}
        )
        wrong = [
            name for name, value in settings.items() if name not in ("name", "reason") and not _same(value, values.get(name))
        ]
        if wrong:
            yield f"criterion {part.name!r}: {', '.join(wrong)}: these settings differ from the specification"


def _each_table(tables: Sequence[Any]) -> list[Any]:
    """Expand formulas that name several tables: `age:(sex + region)` becomes `age:sex` and `age:region`."""
    single = []
    for text in tables:
        folded = re.fullmatch(r"\s*(.*?)\s*:\s*\((.*)\)\s*", text) if isinstance(text, str) else None
        single += [f"{folded[1]}:{factor.strip()}" for factor in folded[2].split("+")] if folded else [text]
    return single


def _drawn_problems(name: str, document: ReleaseDocument, tables: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence if the specification does not allow the generator or projection of the release with its settings.

    Parameters
    ----------
    name : "generator" or "projection".
    tables : the settings in the specification, in which a list stands for several possible values.
    """
    configuration = document.configuration.get(name, {})

    def fits(table: Mapping[str, Any]) -> bool:
        return all(
            any(_same(value, configuration.get(key)) for value in (listed if isinstance(listed, list) else [listed]))
            for key, listed in table.items()
        )

    if not any(fits(table) for table in tables):
        yield f"configuration: {name}: the specification does not list these settings"


def _selection_problems(document: ReleaseDocument, release: ReleaseFile, tables: Mapping[str, Any]) -> Iterator[str]:
    settings, selection = release.selection, document.selection
    rounds = None if settings.rounds is None else {number: str(share) for number, share in settings.rounds.items()}
    stop = None if settings.rounds is not None else str(settings.stop_probability)
    shape = str(settings.shape) if settings.mode == "truncated_negative_binomial" else None
    if (selection.rounds, selection.stop_probability, selection.shape) != (rounds, stop, shape):
        yield "selection: the distribution of the number of rounds differs from the specification"
    if (MEASUREMENTS in document.files) != settings.publish_measurements:
        yield f"{MEASUREMENTS}: this file must exist if, and only if, [selection] publishes measurements"
    if selection.shared_measurements != (settings.measurements == "shared"):
        yield "selection: the measurements differ from the specification"
    test = selection.joint_test
    joint = None if test is None else (test.epsilon_exact, test.false_acceptance)
    if joint != (None if settings.test_epsilon is None else (str(settings.test_epsilon), str(settings.false_acceptance))):
        yield "selection: joint test: its epsilon or its false acceptance differs from the specification"
    bins = math.prod(len(release.transformations.get(part.name, part.alternatives)) for part in document.columns)
    generators, projections = (
        sum(math.prod(len(value) if isinstance(value, list) else 1 for value in table.values()) for table in listed)
        for listed in (release.generators, release.projections)
    )
    drawn_from = len(tables["shortlist"]) if "shortlist" in tables else bins * generators * projections
    if selection.configurations != drawn_from:
        counted = so_many(selection.configurations, "configuration")
        yield f"selection: release.json states {counted}, but the specification gives {drawn_from:,}"
    bounds = selection.bounds
    if bounds is not None and (bounds.risk_exact, bounds.transformations) != (str(settings.bound_risk), bins):
        yield "selection: bounds: the risk or the number of transformations differs from the specification"


def _charge_problems(document: ReleaseDocument, release: ReleaseFile, acceptance: AcceptanceFile) -> Iterator[str]:
    """Yield a sentence unless each budget of the specification is charged exactly once, and nothing else is.

    The charges of a round must be below the selection.
    """
    costs = {leaf.name: leaf for leaf in document.charges.planned()}
    shared, joint = release.selection.measurements == "shared", release.selection.test_epsilon
    budgets: dict[str, Fraction] = {GENERATION: release.budget.generation}
    if document.domain.way == "counted":
        budgets[NUMBER_OF_ROWS] = release.budget.rows
    if release.scout is not None:
        budgets |= {SCOUT: release.scout.cap.cost} | ({UNKNOWN: Fraction(0)} if release.scout.rare else {})
    if joint is not None:
        budgets[JOINT_TEST] = joint
    if release.budget.models is not None:
        budgets[MODELS] = release.budget.models
    of_criteria = {f"{word}: {table.get('name')}": table for table in acceptance.criteria for word in _words(costs)}
    for name, leaf in costs.items():
        cost = _cost(leaf)
        if name in budgets:
            if cost != budgets[name]:
                yield f"charge {name!r}: it is {cost}, but the specification states {budgets[name]}"
        elif name not in of_criteria:
            yield f"charge {name!r}: nothing in the specification has this charge"
        elif cost not in _budgets(of_criteria[name]):
            yield f"charge {name!r}: {cost} is not a budget of this criterion"
    yield from (f"charge {name!r}: this charge is missing" for name in budgets if name not in costs)
    for table in acceptance.criteria:
        paid = sorted(_cost(costs[name]) for name, criterion in of_criteria.items() if criterion is table and name in costs)
        if paid != sorted(_budgets(table)):
            yield f"criterion {table.get('name')!r}: its charges must be its budgets, each charged once"
    inside = {leaf.name for node in _rounds(document.charges) for leaf in node.planned()}
    for name, expected in ((GENERATION, not shared), (JOINT_TEST, True), (NUMBER_OF_ROWS, False), (MODELS, False)):
        if name in costs and (name in inside) != expected:
            yield f"charge {name!r}: it belongs {'in' if expected else 'outside of'} the rounds of the selection"
    if release.budget.limit is not None and Fraction(document.guarantee.epsilon_exact) > release.budget.limit:
        yield f"guarantee: its epsilon exceeds {release.budget.limit}, the limit in the specification"


def _rounds(node: ChargePart) -> Iterator[ChargePart]:
    """Yield the nodes of the charge tree that contain the charges of one round (attempt to make a table)."""
    if node.rule in (SELECTION, HIDDEN_ROUNDS, PRICED) or node.name == ONE_ROUND:
        yield node
        return
    for part in node.parts:
        yield from _rounds(part)


def _words(names: Iterable[str]) -> set[str]:
    """Return the kinds of charges, the words before the colon as in "criterion: NAME". Names without a colon are left out."""
    return {name.partition(": ")[0] for name in names if ": " in name}


def _budgets(criterion: Mapping[str, Any]) -> list[Fraction]:
    """Return all positive budgets of a criterion: `epsilon`, and settings whose names end with `_epsilon`."""
    budgets = [Fraction(str(value)) for name, value in criterion.items() if name == "epsilon" or name.endswith("_epsilon")]
    return [budget for budget in budgets if budget > 0]


def _cost(leaf: ChargePart) -> Fraction:
    return Fraction(leaf.epsilon_exact) if leaf.renyi is None else Fraction(leaf.renyi.rho)


def _same(left: Any, right: Any) -> bool:
    """Return whether two values of a setting are equal. Numbers are compared by value, not notation."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_same(*pair) for pair in zip(left, right, strict=True))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    numbers = [_number(value) for value in (left, right)]
    return bool(left == right or (None not in numbers and numbers[0] == numbers[1]))


def _number(value: Any) -> Fraction | None:
    if not isinstance(value, str | int | float | Decimal):
        return None
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return None
