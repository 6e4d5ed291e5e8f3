"""From a release to release.json: the guarantee, the charges, the released figures, the schema and the steward's texts."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from synthrelease.accounting.charges import Charge
from synthrelease.accounting.guarantee import Guarantee
from synthrelease.accounting.renyi import RenyiCurve
from synthrelease.accounting.rows import SHORTFALL
from synthrelease.bundle.interval import LEVEL, laplace_interval
from synthrelease.bundle.model import (
    FORMAT,
    BinPart,
    ChargePart,
    ColumnPart,
    CriterionPart,
    CurvePart,
    DatePart,
    DomainPart,
    GuaranteePart,
    How,
    IntervalPart,
    JointTestPart,
    Kind,
    MissingPolicy,
    OutsidePolicy,
    PersonPart,
    ReleaseDocument,
    RulePart,
    SelectionPart,
    number,
    upwards,
)
from synthrelease.criteria import Criterion, Score
from synthrelease.domain.schema import Binning, Column
from synthrelease.releasing.release import Release
from synthrelease.specification.spec import ReleaseSpec

_PACKAGES = ("synthrelease", "numpy", "pandas", "scipy", "networkx", "joblib", "opendp", "pydantic", "pyarrow")


def release_document(release: Release, files: dict[str, str]) -> ReleaseDocument:
    """Everything in release.json. `files` are the data files of the bundle with their sha256."""
    spec, transformation = release.spec, release.candidate.transformation
    criteria = {criterion.name: criterion for criterion in spec.criteria}
    return ReleaseDocument(
        format=FORMAT,
        title=spec.title,
        description=spec.description.strip(),
        synthetic=True,
        n_rows=release.candidate.n,
        guarantee=guarantee_part(release.guarantee),
        domain=domain_part(spec, release.n_file),
        charges=charge_part(release.charges),
        criteria=[criterion_part(score, criteria[score.name]) for score in release.scores],
        configuration={name: _table(part) for name, part in release.candidate.configuration.describe().items()},
        selection=selection_part(spec),
        columns=[
            column_part(column, binning)
            for column, binning in zip(transformation.schema.columns, transformation.binnings, strict=True)
        ],
        groups={name: list(_bins(spec.schema[name], binning)) for name, binning in spec.setting.groups.items()},
        rules=[RulePart(never=rule.never, applies_to=list(rule.applies_to), why=rule.why) for rule in spec.rules],
        specification=spec.digest,
        files=files,
        versions=versions(spec),
        written_by=own_version(),
        card=spec.card,
    )


def selection_part(spec: ReleaseSpec) -> SelectionPart:
    test = spec.joint_test
    return SelectionPart(
        configurations=len(spec.space),
        stop_probability=str(spec.stop_probability),
        shape=None if spec.shape is None else str(spec.shape),
        shared_measurements=spec.shared_measurements,
        joint_test=None
        if test is None
        else JointTestPart(
            epsilon_exact=str(test.epsilon), false_acceptance=str(test.false_acceptance), margin=number(test.margin)
        ),
    )


def _table(part: object) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise TypeError("a configuration is described by tables")
    return dict(part)


def guarantee_part(guarantee: Guarantee) -> GuaranteePart:
    return GuaranteePart(
        epsilon=upwards(guarantee.epsilon),
        epsilon_exact=str(guarantee.epsilon),
        delta=upwards(guarantee.delta),
        delta_exact=str(guarantee.delta),
        neighbours=guarantee.neighbours,
        unit=guarantee.unit,
        invariants=list(guarantee.invariants),
        person=person_part(guarantee),
    )


def person_part(guarantee: Guarantee) -> PersonPart:
    loss = guarantee.of_a_person
    return PersonPart(
        unit=guarantee.unit_name,
        records=guarantee.records_per_person,
        why=guarantee.why,
        epsilon_exact=None if loss is None else str(loss.epsilon),
        delta_exact=None if loss is None else str(loss.delta),
    )


def domain_part(spec: ReleaseSpec, n_file: int | None) -> DomainPart:
    counted = spec.rows.way == "counted"
    return DomainPart(
        rows=spec.rows.way,
        file_rows=n_file,
        margin=spec.rows.margin if counted else None,
        shortfall=str(SHORTFALL) if counted else None,
        missing_values=list(spec.input.missing_values),
    )


def charge_part(charge: Charge) -> ChargePart:
    return ChargePart(
        name=charge.name,
        rule=charge.rule,
        epsilon=upwards(charge.epsilon),
        epsilon_exact=str(charge.epsilon),
        delta=upwards(charge.delta),
        delta_exact=str(charge.delta),
        because=charge.because,
        reason=charge.reason,
        renyi=None if charge.renyi is None else curve_part(charge.renyi),
        parts=[charge_part(part) for part in charge.parts],
    )


def curve_part(curve: RenyiCurve) -> CurvePart:
    return CurvePart(rho=str(curve.rho), constant=str(curve.constant), log_mean=str(curve.log_mean))


def charge_tree(charge: Charge) -> dict[str, Any]:
    """A node of the charge tree as plain values."""
    return charge_part(charge).model_dump(mode="json")


_NO_PARAMETERS = {"name", "kind", "threshold", "epsilon", "reason"}
"""Fields of a criterion that stand elsewhere in release.json."""


def criterion_part(score: Score, criterion: Criterion) -> CriterionPart:
    """A criterion with its figure, and what follows from the figure and its noise."""
    best, worst = criterion.figure_range
    part = CriterionPart(
        name=score.name,
        kind=score.kind,
        threshold=number(score.threshold),
        value=number(score.value),
        epsilon=upwards(score.epsilon),
        epsilon_exact=str(score.epsilon),
        mechanism=score.mechanism,
        sensitivity=score.sensitivity,
        noise_sd=score.noise_sd,
        noise_bound=score.noise_bound,
        passed=score.passed,
        decides=score.decides,
        best=number(best),
        worst=number(worst) if math.isfinite(worst) else None,
        interval=None,
        parameters=criterion.model_dump(mode="json", exclude=_NO_PARAMETERS, exclude_none=True),
    )
    return part.model_copy(update={"interval": interval_part(part)})


def interval_part(part: CriterionPart) -> IntervalPart | None:
    """What the released figure says about the exact one; from the other fields of the criterion alone.

    A figure without noise is exact. One whose noise is not added to it has an interval from redrawn noise, an estimate;
    None where there is no such estimate.
    """
    epsilon, level = part.epsilon_exact, number(float(LEVEL))
    if part.noise_sd is None and part.noise_bound is None and epsilon == "0":
        return IntervalPart(level=1, low=part.value, high=part.value, how="exact")
    if part.sensitivity is not None and part.noise_sd is not None:
        found = laplace_interval(
            float(part.value),
            sensitivity=float(part.sensitivity),
            epsilon=Fraction(epsilon),
            best=float(part.best),
            worst=None if part.worst is None else float(part.worst),
            passed_below=float(part.threshold) if part.decides else None,
        )
        how: How = "noise and selection" if part.decides else "noise"
        high = None if found.high is None else number(found.high)
        return IntervalPart(level=level, low=number(found.low), high=high, how=how)
    if part.noise_bound is not None:
        low, high = max(part.best, part.value - part.noise_bound), part.value + part.noise_bound
        return IntervalPart(level=level, low=number(low), high=number(high), how="redrawn noise")
    return None


def column_part(column: Column, binning: Binning) -> ColumnPart:
    """A column of the released table with its bins; null edges are open."""
    return ColumnPart(
        name=column.name,
        kind=cast(Kind, column.kind),
        description=column.description,
        unit=column.unit,
        binning=binning.name,
        alternatives=list(column.alternatives),
        ordered=column.ordered,
        source=column.source,
        part=cast(DatePart, column.part),
        missing=cast(MissingPolicy, column.missing),
        outside=cast(OutsidePolicy, column.outside),
        texts=_texts(column) if column.kind == "category" else None,
        bounds=None if column.bounds is None else [number(bound) for bound in column.bounds],
        bins=list(_bins(column, binning)),
    )


def _texts(column: Column) -> dict[str, list[str]]:
    """Per category, the texts of the file that it stands for."""
    found: dict[str, list[str]] = {label: [] for label in column.atoms.labels}
    for text, index in column.values.items():
        found[column.atoms.labels[index]].append(text)
    return found


def _bins(column: Column, binning: Binning) -> Iterator[BinPart]:
    for index, label in enumerate(binning.labels):
        value = binning.numbers[index]
        shown = None if value is None else number(value)
        if binning.lower:
            edges = [number(edge) if math.isfinite(edge) else None for edge in (binning.lower[index], binning.upper[index])]
            yield BinPart(label=label, lower=edges[0], below=edges[1], number=shown)
        else:
            inside = [atom for atom, into in zip(column.atoms.labels, binning.of_atom, strict=True) if into == index]
            yield BinPart(label=label, categories=inside, number=shown)


def own_version() -> str:
    """The version of synthrelease that is running."""
    return _version("synthrelease")


def versions(spec: ReleaseSpec) -> dict[str, str]:
    """Versions of Python and of the packages that a release rests on, with those of the libraries of its generators."""
    libraries = dict.fromkeys(package for generator in spec.space.generators for package in generator.packages)
    return {"python": platform.python_version()} | {package: _version(package) for package in (*_PACKAGES, *libraries)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
