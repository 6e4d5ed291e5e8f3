"""From a release to release.json: the guarantee, the charges, the released figures, the schema and the steward's texts."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.answers.estimates import answered
from synthrelease.answers.limits import measured_times
from synthrelease.answers.stated import in_words
from synthrelease.bundle.limits import LEVEL, FigureInterval, laplace_interval, one_noise_interval, with_file_ends
from synthrelease.bundle.options import packages, planned, with_parts
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import Score
from synthrelease.data.schema import Transformation
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import cube_sd
from synthrelease.generators.measurements import NoisyMarginals, NoisySum
from synthrelease.generators.space import Configuration
from synthrelease.privacy.grids import laplace_sd
from synthrelease.privacy.plan import Guarantee
from synthrelease.published import PublishedRelease
from synthrelease.published.base import Number, Part, number
from synthrelease.published.charges import (
    BoundsPart,
    ChargePart,
    CriterionPart,
    DomainPart,
    GuaranteePart,
    How,
    IntervalPart,
    JointTestPart,
    SelectionPart,
)
from synthrelease.published.columns import BinPart, ColumnPart, RulePart
from synthrelease.published.document import FORMAT, FlavourPart, ReleaseDocument
from synthrelease.published.folder import measurements_of, release_of
from synthrelease.published.measurements import FORMAT as MEASUREMENTS_FORMAT
from synthrelease.published.measurements import (
    EstimatesPart,
    IntendedEstimatePart,
    MeasuredSumPart,
    MeasuredTablePart,
    MeasurementsPart,
    NotSample,
    RatioPart,
)
from synthrelease.resources import VERSION
from synthrelease.settings.questions import QuestionTable
from synthrelease.settings.tables import BundleTable
from synthrelease.spec.release_spec import ReleaseSpec

if TYPE_CHECKING:
    from synthrelease.releasing.release import Release

# The estimates of release.json, computed from measurements.json alone.

ESTIMATED_LEVEL = 0.95


def estimates_part(
    document: ReleaseDocument, measured: bytes, not_a_sample: Sequence[NotSample] | None
) -> EstimatesPart | None:
    """What can be estimated; None where nothing can, because the search might have measured without end.

    Parameters
    ----------
    measured : the content of measurements.json.
    not_a_sample : why there is no interval for a population; None for the part as release 1.0.0 wrote it.

    Raises
    ------
    Unexpected : for measurements that are not as they are written.
    """
    columns = tuple(part.published() for part in document.columns)
    measurements = measurements_of(measured, document, columns)
    release = release_of(document, np.zeros((0, len(columns)), dtype=np.int64), measurements=measurements)
    release = replace(release, not_a_sample=tuple(not_a_sample or ()))
    if measured_times(release, None) is None:
        return None
    return EstimatesPart(
        level=ESTIMATED_LEVEL,
        together=[list(table.columns) for table in measurements.tables],
        intended=[_estimated(release, asked, not_a_sample is None) for asked in document.intended_queries],
        not_a_sample=None if not_a_sample is None else list(not_a_sample),
    )


def declared(document: ReleaseDocument, specification: bytes) -> tuple[NotSample, ...]:
    """Why the rows are no simple random sample of a population, by what release.json and specification.json declare."""
    columns = json.loads(specification).get("columns", {})
    return document.declared(design_weights=any(table.get("role") == WEIGHT for table in columns.values()))


def with_estimates(document: ReleaseDocument, measured: bytes | None, specification: bytes) -> ReleaseDocument:
    """The document with its estimates.

    They are made after a release that was paid for, from public values alone: whatever goes wrong, it must not stop the
    release, which is then written without them.
    """
    try:
        part = None if measured is None else estimates_part(document, measured, declared(document, specification))
    except Exception:
        part = None
    return document.model_copy(update={"estimates": part})


def _estimated(release: PublishedRelease, asked: QuestionTable, before: bool) -> IntendedEstimatePart | None:
    question = in_words(asked)
    counted = not asked.mean and not asked.given and question != asked.query
    try:
        found = answered(release, question, confidence=ESTIMATED_LEVEL, before=before)
    except InputError:
        return None
    if len(found.contrasts or found.terms) > 1 and not found.contrasts:
        return None  # one number for each bin or column: `estimate` tells them
    term = (found.contrasts or found.terms)[0]
    ratios = [
        RatioPart(name=one.name, estimate=_rounded(one.estimate), low=_rounded(one.low), high=_rounded(one.high))
        for one in found.contrasts[1:]
    ]
    numbers = (term.rows, term.rows_low, term.rows_high) if counted else (term.estimate, term.low, term.high)
    estimated, low, high = (_rounded(value) for value in numbers)
    return IntendedEstimatePart(
        question=question,
        estimate=estimated,
        low=low,
        high=high,
        binned_low=_rounded(term.binned_low),
        binned_high=_rounded(term.binned_high),
        unit="rows" if counted else term.unit,
        ratios=ratios,
    )


def _rounded(value: float | None) -> Number | None:
    """Six digits, so that release.json is the same on every machine."""
    return None if value is None else number(float(f"{value:.6g}"))


# From a release's noisy marginals to measurements.json (`published.measurements`).


def measurements_bytes(measured: NoisyMarginals, transformation: Transformation, released: Transformation) -> bytes:
    """The file.

    Parameters
    ----------
    transformation, released : the bins on which they were measured, and those of the released table.
    """
    bins = transformation, released
    tables = [
        MeasuredTablePart(
            **_bins_of(one.columns, measured, *bins),
            epsilon=str(one.cost) if one.kind.cost == "epsilon" else None,
            rho=str(one.cost) if one.kind.cost == "rho" else None,
            noise=one.kind.name,
            scale=one.noise.scale,
            variance=one.noise.variance,
            counts=one.values.tolist(),
        )
        for one in measured.tables
    ]
    sums = [
        MeasuredSumPart(
            **_bins_of(one.columns, measured, *bins),
            epsilon=str(one.epsilon),
            noise="discrete Laplace" if one.together == 1 else "one noise",
            scale=float(Fraction(one.sensitivity) / one.epsilon),
            variance=_variance(one),
            together=one.together if one.together > 1 else None,
            sum=one.text,
            steps=one.scores.tolist() if one.own is None else None,
            own_values=None if one.own is None else list(one.own.ends),
            value=one.value,
        )
        for one in measured.sums
    ]
    return MeasurementsPart(format=MEASUREMENTS_FORMAT, n_rows=measured.n, tables=tables, sums=sums or None).dumped()


def _variance(one: NoisySum) -> float:
    scale = Fraction(one.sensitivity) / one.epsilon
    return (laplace_sd(scale) if one.together == 1 else cube_sd(one.together, scale)) ** 2


def _bins_of(
    places: Sequence[int], measured: NoisyMarginals, transformation: Transformation, released: Transformation
) -> dict[str, Any]:
    """The columns of a table or of a sum, with their bins."""
    binnings = [(transformation.binnings[column], released.binnings[column]) for column in places]
    return {
        "columns": [measured.layout.columns[column] for column in places],
        "labels": [list(finer.labels) for finer, _ in binnings],
        "released": [finer.map_to(coarser).tolist() for finer, coarser in binnings],
    }


# The parts of release.json that follow from the specification, the drawn configuration and the numbers of rows.

_NO_PARAMETERS = {"name", "kind", "threshold", "epsilon", "reason"}
"""Fields of a criterion that stand elsewhere in release.json."""


def planned_parts(
    spec: ReleaseSpec, configuration: Configuration, guarantee: Guarantee, n_file: int | None, n: int
) -> dict[str, Any]:
    """Parts of a `ReleaseDocument`, by the names of its fields.

    Parameters
    ----------
    n_file : rows of the private file; None where the number of kept rows is published instead.
    n : rows that the release worked with.
    """
    return {
        "title": spec.title,
        "description": spec.description.strip(),
        "synthetic": True,
        "guarantee": GuaranteePart.of(guarantee),
        "domain": DomainPart.of(spec.rows, n_file, spec.input.missing_values, None if n_file is None else spec.persons(n_file)),
        "charges": ChargePart.of(spec.plan.total),
        "configuration": spec.described(configuration),
        "selection": selection_part(spec),
        "columns": column_parts(configuration.transformation),
        "groups": {name: list(BinPart.all_of(spec.schema[name], binning)) for name, binning in spec.setting.groups.items()},
        "rules": [RulePart(never=rule.never, applies_to=rule.applies_to, why=rule.why) for rule in spec.rules],
        "specification": spec.digest,
        "not_promised": spec.not_promised,
        **planned(spec.parts, n),
        **({"intended_queries": list(spec.questions)} if spec.questions else {}),
    }


def column_parts(transformation: Transformation) -> list[ColumnPart]:
    """The columns of a released table with its bins."""
    return [
        ColumnPart.of(column, binning)
        for column, binning in zip(transformation.schema.columns, transformation.binnings, strict=True)
    ]


def parameters(criterion: Criterion) -> dict[str, Any]:
    """What stands in the acceptance file about a criterion, beside name, kind, threshold and epsilon."""
    return criterion.model_dump(mode="json", exclude=_NO_PARAMETERS, exclude_none=True)


def selection_part(spec: ReleaseSpec) -> SelectionPart:
    """How rounds are repeated, what decides one, and how many configurations are drawn from."""
    test = spec.joint_test
    return SelectionPart(
        configurations=len(spec.space),
        stop_probability=None if spec.rounds is not None else str(spec.stop_probability),
        shape=None if spec.shape is None else str(spec.shape),
        rounds=None if spec.rounds is None else {str(rounds): str(share) for rounds, share in spec.rounds.atoms},
        shared_measurements=spec.shared_measurements,
        joint_test=None
        if test is None
        else JointTestPart(
            epsilon_exact=str(test.epsilon), false_acceptance=str(test.false_acceptance), margin=number(test.margin)
        ),
        bounds=BoundsPart(risk_exact=str(spec.bound_risk), transformations=len(spec.space.transformations))
        if spec.setting.answered
        else None,
    )


_PACKAGES = ("numpy", "scipy", "networkx", "joblib", "pydantic", "pyarrow")


def release_document(
    release: Release,
    files: dict[str, str],
    made_of_rows: Mapping[str, Part] = MappingProxyType({}),
) -> ReleaseDocument:
    """Everything in release.json. `files` are the data files of the bundle with their sha256, `made_of_rows` the
    parts that options made of the released rows."""
    spec = release.spec
    criteria = {criterion.name: criterion for criterion in spec.criteria}
    n = release.candidate.n
    planned = planned_parts(spec, release.candidate.configuration, release.guarantee, release.n_file, release.n or n)
    judged = [criterion_part(score, criteria[score.name], n, planned["selection"].bounds) for score in release.scores]
    document = ReleaseDocument(
        **planned,
        format=FORMAT,
        n_rows=n,
        criteria=judged,
        files=files,
        versions=versions(spec),
        written_by=own_version(),
        card=spec.card,
        flavour=FlavourPart.of(release.guarantee, planned["domain"]),
        bundle=spec.bundle,
    )
    document = with_file_ends(with_parts(document, spec.parts, made_of_rows), release.candidate.counts)
    return with_flavour(document)


def with_flavour(document: ReleaseDocument) -> ReleaseDocument:
    """The document with the building blocks of its guarantee, which follow from all that is stated of the file."""
    return document.model_copy(
        update={"flavour": FlavourPart.of(document.guarantee.guarantee(), document.domain, list(document.parts.values()))}
    )


def criterion_part(score: Score, criterion: Criterion, n: int, bounds: BoundsPart | None = None) -> CriterionPart:
    """A criterion with its figure, and what follows from the figure and its noise."""
    part = CriterionPart.of(score, criterion.figure_range, parameters(criterion))
    return part.model_copy(update={"interval": interval_part(part, n, bounds)})


def interval_part(part: CriterionPart, n: int, bounds: BoundsPart | None = None) -> IntervalPart | None:
    """What the released figure says about the exact one; from the other fields of the criterion, from n, the number of released
    rows, and from `bounds` where measurements answer.

    A figure without noise is exact. One whose noise is not added to it has an interval from redrawn noise, an estimate;
    None where there is no such estimate.
    """
    epsilon, level = part.epsilon_exact, number(float(LEVEL))
    if part.answered and bounds is not None:
        together = number(float(1 - Fraction(bounds.risk_exact)))
        return IntervalPart(level=together, low=part.best, high=part.value, how="measurements")
    if part.noise_sd is None and part.noise_bound is None and epsilon == "0":
        return IntervalPart(level=1, low=part.value, high=part.value, how="exact")
    if part.sensitivity is not None and part.noise_sd is not None:
        found = _figure_interval(part, float(part.sensitivity), n)
        how: How = "noise and selection" if part.decides else "noise"
        high = None if found.high is None else number(found.high)
        return IntervalPart(level=level, low=number(found.low), high=high, how=how)
    if part.noise_bound is not None:
        low, high = max(part.best, part.value - part.noise_bound), part.value + part.noise_bound
        return IntervalPart(level=level, low=number(low), high=number(high), how="redrawn noise")
    return None


def _figure_interval(part: CriterionPart, sensitivity: float, n: int) -> FigureInterval:
    """By the law of its own noise, or of the one that it shares with others."""
    value, best, worst = float(part.value), float(part.best), None if part.worst is None else float(part.worst)
    if part.noise is not None:
        return one_noise_interval(value, part.noise, sensitivity=sensitivity, rows=n, best=best, worst=worst)
    return laplace_interval(
        value,
        sensitivity=sensitivity,
        epsilon=Fraction(part.epsilon_exact),
        rows=n,
        best=best,
        worst=worst,
        passed_below=float(part.threshold) if part.decides else None,
    )


def own_version() -> str:
    """The version of synthrelease that is running."""
    return VERSION


def versions(spec: ReleaseSpec) -> dict[str, str]:
    """Versions of Python and of the packages that a release rests on, with those of the libraries of its generators."""
    libraries = dict.fromkeys(package for generator in spec.space.generators for package in generator.packages)
    found = {"python": platform.python_version(), "synthrelease": own_version()}
    found |= {package: package_version(package) for package in (*_PACKAGES, *libraries)}
    return found | writers(spec.bundle)


def writers(bundle: BundleTable) -> dict[str, str]:
    """Versions of the packages that write the table and what the lists of [bundle] ask for, and the kind of processor: the
    compressed bytes of Parquet depend on it."""
    found = {package: package_version(package) for package in ("pyarrow", *packages(bundle))}
    return found | {"processor": processor()}


def processor() -> str:
    """The kind of processor, in one name for each kind."""
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


@cache
def package_version(package: str) -> str:
    """That of a package as it is installed, which does not change while a process runs."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
