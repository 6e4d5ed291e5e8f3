"""From a release to release.json: the guarantee, the charges, the released figures, the schema and the steward's texts."""

from __future__ import annotations

import platform
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from synthrelease.bundle.interval import LEVEL, laplace_interval
from synthrelease.bundle.series import series_part
from synthrelease.criteria import Criterion, Score
from synthrelease.domain.schema import Transformation
from synthrelease.published.calibration import CalibrationPart
from synthrelease.published.columns import BinPart, ColumnPart, RulePart
from synthrelease.published.costs import ChargePart, DomainPart, GuaranteePart
from synthrelease.published.document import (
    BoundsPart,
    CriterionPart,
    How,
    IntervalPart,
    JointTestPart,
    ReleaseDocument,
    SelectionPart,
    format_of,
)
from synthrelease.published.flavour import FlavourPart
from synthrelease.published.imputation import ImputationPart
from synthrelease.published.partition import PartitionPart
from synthrelease.published.parts import number
from synthrelease.published.population import PopulationPart
from synthrelease.published.split import SplitPart
from synthrelease.releasing.release import Release
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.toml.bundle import BundleTable

_PACKAGES = ("synthrelease", "numpy", "pandas", "scipy", "networkx", "joblib", "opendp", "pydantic", "pyarrow")


def release_document(
    release: Release,
    files: dict[str, str],
    calibration: CalibrationPart | None = None,
    imputation: ImputationPart | None = None,
) -> ReleaseDocument:
    """Everything in release.json. `files` are the data files of the bundle with their sha256."""
    spec = release.spec
    criteria = {criterion.name: criterion for criterion in spec.criteria}
    columns, charges = column_parts(release.candidate.transformation), ChargePart.of(release.charges)
    selection = selection_part(spec)
    n = release.candidate.n
    judged = [criterion_part(score, criteria[score.name], n, selection.bounds) for score in release.scores]
    document = ReleaseDocument(
        format=format_of(columns, calibration, charges, judged, spec.bundle, split=spec.split is not None),
        title=spec.title,
        description=spec.description.strip(),
        synthetic=True,
        n_rows=n,
        guarantee=GuaranteePart.of(release.guarantee),
        domain=DomainPart.of(spec.rows, release.n_file, spec.input.missing_values),
        charges=charges,
        criteria=judged,
        configuration={name: _table(part) for name, part in release.candidate.configuration.describe().items()},
        selection=selection,
        columns=columns,
        groups={name: list(BinPart.all_of(spec.schema[name], binning)) for name, binning in spec.setting.groups.items()},
        rules=[RulePart(never=rule.never, applies_to=rule.applies_to, why=rule.why) for rule in spec.rules],
        specification=spec.digest,
        files=files,
        versions=versions(spec),
        written_by=own_version(),
        card=spec.card,
        calibration=calibration,
        imputation=imputation,
        flavour=FlavourPart.of(
            release.guarantee,
            spec.rows.way,
            calibration is not None,
            divided=spec.partition is not None,
            sampled=spec.population is not None,
            split=spec.split is not None,
        ),
        bundle=spec.bundle,
        partition=None if spec.partition is None else PartitionPart.of(spec.partition, release.n or release.candidate.n),
        split=None if spec.split is None else SplitPart.of_rule(spec.split),
        population=None
        if spec.population is None or release.n_file is None
        else PopulationPart.of(spec.population, release.guarantee, release.n_file),
        intended_queries=list(spec.intended_queries),
    )
    return document.model_copy(update={"series": series_part(spec.series, document)})


def column_parts(transformation: Transformation) -> list[ColumnPart]:
    """The columns of a released table with its bins."""
    return [
        ColumnPart.of(column, binning)
        for column, binning in zip(transformation.schema.columns, transformation.binnings, strict=True)
    ]


def selection_part(spec: ReleaseSpec) -> SelectionPart:
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


def _table(part: object) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise TypeError("a configuration is described by tables")
    return dict(part)


_NO_PARAMETERS = {"name", "kind", "threshold", "epsilon", "reason"}
"""Fields of a criterion that stand elsewhere in release.json."""


def criterion_part(score: Score, criterion: Criterion, n: int, bounds: BoundsPart | None = None) -> CriterionPart:
    """A criterion with its figure, and what follows from the figure and its noise."""
    parameters = criterion.model_dump(mode="json", exclude=_NO_PARAMETERS, exclude_none=True)
    part = CriterionPart.of(score, criterion.figure_range, parameters)
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
        found = laplace_interval(
            float(part.value),
            sensitivity=float(part.sensitivity),
            epsilon=Fraction(epsilon),
            rows=n,
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


def own_version() -> str:
    """The version of synthrelease that is running."""
    return package_version("synthrelease")


def versions(spec: ReleaseSpec) -> dict[str, str]:
    """Versions of Python and of the packages that a release rests on, with those of the libraries of its generators."""
    libraries = dict.fromkeys(package for generator in spec.space.generators for package in generator.packages)
    found = {"python": platform.python_version()} | {package: package_version(package) for package in (*_PACKAGES, *libraries)}
    return found | writers(spec.bundle)


def writers(bundle: BundleTable) -> dict[str, str]:
    """Versions of the packages that write the formats of [bundle]."""
    needed = ["pyreadstat"] if {"stata", "spss"} & set(bundle.formats) else []
    needed += ["rdflib"] if "dcat" in bundle.catalogues else []
    return {package: package_version(package) for package in needed}


def package_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
