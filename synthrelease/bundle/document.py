"""Create release.json and measurements.json."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from synthrelease.bundle.limits import LEVEL, FigureInterval, laplace_interval, one_noise_interval, with_file_ends
from synthrelease.bundle.options import planned, with_parts
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import Score
from synthrelease.data.schema import Transformation
from synthrelease.generators.measured_noise import cube_sd
from synthrelease.generators.space import Configuration
from synthrelease.privacy.grids import laplace_sd
from synthrelease.privacy.plan import Guarantee
from synthrelease.published.base import Part, number
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
from synthrelease.published.measurements import FORMAT as MEASUREMENTS_FORMAT
from synthrelease.published.measurements import MeasuredSumPart, MeasuredTablePart, MeasurementsPart
from synthrelease.published.names import packages
from synthrelease.resources import VERSION, commit
from synthrelease.settings.tables import RANDOM, BundleTable
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.tried import WITHHELD, kept_in_trial

if TYPE_CHECKING:
    from synthrelease.generators.measurements import NoisyMarginals, NoisySum
    from synthrelease.releasing.release import Release

# measurements.json (`published.measurements`), from the noisy marginals of a release.


def measurements_bytes(measured: NoisyMarginals, transformation: Transformation, released: Transformation) -> bytes:
    """Return the content of measurements.json.

    Parameters
    ----------
    transformation, released : the bins on which the marginals were measured, and the bins of the released table.
    """
    bins = transformation, released
    tables = [
        MeasuredTablePart(
            **_bins_of(table.columns, measured, *bins),
            epsilon=str(table.cost) if table.kind.cost == "epsilon" else None,
            rho=str(table.cost) if table.kind.cost == "rho" else None,
            noise=table.kind.name,
            scale=table.noise.scale,
            variance=table.noise.variance,
            counts=table.values.tolist(),
        )
        for table in measured.tables
    ]
    sums = [
        MeasuredSumPart(
            **_bins_of(table.columns, measured, *bins),
            epsilon=str(table.epsilon),
            noise="discrete Laplace" if table.together == 1 else "one noise",
            scale=float(Fraction(table.sensitivity) / table.epsilon),
            variance=_variance(table),
            together=table.together if table.together > 1 else None,
            sum=table.text,
            steps=table.scores.tolist() if table.own is None else None,
            own_values=None if table.own is None else list(table.own.ends),
            value=table.value,
        )
        for table in measured.sums
    ]
    return MeasurementsPart(format=MEASUREMENTS_FORMAT, n_rows=measured.n, tables=tables, sums=sums or None).dumped()


def _variance(noisy: NoisySum) -> float:
    scale = Fraction(noisy.sensitivity) / noisy.epsilon
    return (laplace_sd(scale) if noisy.together == 1 else cube_sd(noisy.together, scale)) ** 2


def _bins_of(
    columns: Sequence[int], measured: NoisyMarginals, transformation: Transformation, released: Transformation
) -> dict[str, Any]:
    """Return the names of columns, the labels of their measured bins, and the index of the released bin that contains each."""
    binnings = [(transformation.binnings[column], released.binnings[column]) for column in columns]
    return {
        "columns": [measured.layout.columns[column] for column in columns],
        "labels": [list(finer.labels) for finer, _ in binnings],
        "released": [finer.map_to(coarser).tolist() for finer, coarser in binnings],
    }


# The parts of release.json that follow from the specification, the drawn configuration and the numbers of rows.

# Settings of a criterion that release.json states in separate fields, or that are not published.
_NO_PARAMETERS = {"name", "kind", "threshold", "epsilon", "reason"}


def planned_parts(
    spec: ReleaseSpec, configuration: Configuration, guarantee: Guarantee, n_file: int | None, n: int
) -> dict[str, Any]:
    """Return the sections of release.json that can be written before any row is generated.

    Parameters
    ----------
    n_file : number of rows in the private file, or None if the number of rows that the rules keep is published instead.
    n : number of rows that the release used.
    """
    persons = None if n_file is None else spec.persons(n_file)
    first_by = None if persons is None else spec.unit.first_by or RANDOM
    return {
        "title": spec.title,
        "description": spec.description.strip(),
        "synthetic": True,
        "guarantee": GuaranteePart.of(guarantee),
        "domain": DomainPart.of(spec.rows, n_file, spec.input.missing_values, persons, first_by, spec.unit.missing_keys),
        "charges": ChargePart.of(spec.plan.total),
        "configuration": spec.described(configuration),
        "selection": selection_part(spec),
        "columns": column_parts(configuration.transformation),
        "groups": {name: list(BinPart.all_of(spec.schema[name], binning)) for name, binning in spec.setting.groups.items()},
        "rules": [RulePart(never=rule.never, applies_to=rule.applies_to, why=rule.why) for rule in spec.rules],
        "specification": spec.digest,
        "not_promised": spec.not_promised,
        **planned(spec, n),
        **({"intended_queries": list(spec.questions)} if spec.questions else {}),
        **({"plugins": list(spec.plugins)} if spec.plugins else {}),
    }


def column_parts(transformation: Transformation) -> list[ColumnPart]:
    binned = zip(transformation.schema.columns, transformation.binnings, strict=True)
    return [ColumnPart.of(column, binning) for column, binning in binned]


def parameters(criterion: Criterion) -> dict[str, Any]:
    """Return the settings of a criterion in the acceptance file except name, kind, threshold and epsilon."""
    return criterion.model_dump(mode="json", exclude=_NO_PARAMETERS, exclude_none=True)


def selection_part(spec: ReleaseSpec) -> SelectionPart:
    test, rule = spec.joint_test, spec.selection_rule
    return SelectionPart(
        configurations=len(spec.space),
        stop_probability=None if rule.rounds is not None else str(rule.stop_probability),
        shape=None if rule.shape is None else str(rule.shape),
        rounds=None if rule.rounds is None else {str(rounds): str(share) for rounds, share in rule.rounds.atoms},
        shared_measurements=spec.shared_measurements,
        joint_test=None if test is None else JointTestPart.like(test, margin=number(test.margin)),
        bounds=BoundsPart(risk_exact=str(spec.bound_risk), transformations=len(spec.space.transformations))
        if spec.setting.answered
        else None,
    )


_PACKAGES = ("numpy", "scipy", "networkx", "joblib", "pydantic", "pyarrow")


def release_document(
    release: Release, files: dict[str, str], made_of_rows: Mapping[str, Part] = MappingProxyType({})
) -> ReleaseDocument:
    """Return the complete release.json of a release.

    Parameters
    ----------
    files : the SHA-256 checksum of each data file of the bundle, by file name.
    made_of_rows : the sections that were computed from the released rows, such as weights.
    """
    spec = release.spec
    criteria = {criterion.name: criterion for criterion in spec.criteria}
    n = release.candidate.n
    planned = planned_parts(spec, release.candidate.configuration, release.guarantee, release.n_file, release.n or n)
    if kept_in_trial(spec) == WITHHELD:
        planned["not_promised"] = spec.not_promised.model_copy(update={"kept": ""})
    judged = [criterion_part(score, criteria[score.name], n, planned["selection"].bounds) for score in release.scores]
    document = ReleaseDocument(
        **planned,
        format=FORMAT,
        n_rows=n,
        criteria=judged,
        files=files,
        versions=versions(spec),
        written_by=VERSION,
        card=spec.card,
        flavour=FlavourPart.of(release.guarantee, planned["domain"]),
        bundle=spec.bundle,
        attacks=spec.attacks,
    )
    document = with_file_ends(with_parts(document, spec, made_of_rows), release.candidate.counts)
    return with_flavour(document)


def with_flavour(document: ReleaseDocument) -> ReleaseDocument:
    """Add the description of the guarantee by five components, such as its unit."""
    return document.model_copy(
        update={"flavour": FlavourPart.of(document.guarantee.guarantee(), document.domain, list(document.parts.values()))}
    )


def criterion_part(score: Score, criterion: Criterion, n: int, bounds: BoundsPart | None = None) -> CriterionPart:
    part = CriterionPart.of(score, criterion.figure_range, parameters(criterion))
    return part.model_copy(update={"interval": interval_part(part, n, bounds)})


def interval_part(part: CriterionPart, n: int, bounds: BoundsPart | None = None) -> IntervalPart | None:
    """Compute an interval for the exact value of a criterion, or return None if its noise gives none.

    The interval depends on the other fields of the criterion, the number n of released rows and, for a value from
    measurements, on `bounds`. A value without noise is exact. If the noise is not added to the value itself, the interval
    is an estimate from redrawn noise.
    """
    epsilon, level = part.epsilon_exact, number(float(LEVEL))
    if part.answered and bounds is not None:
        together = number(float(1 - Fraction(bounds.risk_exact)))
        return IntervalPart(level=together, low=part.best, high=part.value, how="measurements")
    if part.noise_sd is None and part.noise_bound is None and epsilon == "0":
        return IntervalPart(level=1, low=part.value, high=part.value, how="exact")
    if part.sensitivity is not None and part.noise_sd is not None:
        ends = _figure_interval(part, float(part.sensitivity), n)
        how: How = "noise and selection" if part.decides else "noise"
        high = None if ends.high is None else number(ends.high)
        return IntervalPart(level=level, low=number(ends.low), high=high, how=how)
    if part.noise_bound is not None:
        low, high = max(part.best, part.value - part.noise_bound), part.value + part.noise_bound
        return IntervalPart(level=level, low=number(low), high=number(high), how="redrawn noise")
    return None


def _figure_interval(part: CriterionPart, sensitivity: float, n: int) -> FigureInterval:
    """Compute an interval for the exact value of a criterion from the distribution of its own or shared noise."""
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


def versions(spec: ReleaseSpec) -> dict[str, str]:
    """Return the versions of Python, synthrelease and the libraries that the release used, and the commit if it is known."""
    libraries = dict.fromkeys(package for generator in spec.space.generators for package in generator.packages)
    installed = {"python": platform.python_version(), "synthrelease": VERSION}
    installed |= {"commit": commit()} if commit() else {}
    installed |= {package: package_version(package) for package in (*_PACKAGES, *libraries)}
    return installed | writers(spec.bundle)


def writers(bundle: BundleTable) -> dict[str, str]:
    """Return the versions of the libraries that write the files, and the kind of processor.

    The compressed bytes of Parquet files depend on both.
    """
    installed = {package: package_version(package) for package in ("pyarrow", *packages(bundle))}
    return installed | {"processor": processor()}


def processor() -> str:
    """Return the kind of processor of this machine, with one name for each kind."""
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


@cache
def package_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
