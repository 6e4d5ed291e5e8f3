"""From a release to release.json: the guarantee, the charges, the released figures, the schema and the steward's texts."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING

from synthrelease.bundle.file_ends import with_file_ends
from synthrelease.bundle.interval import LEVEL, FigureInterval, laplace_interval, one_noise_interval
from synthrelease.bundle.options import packages, with_parts
from synthrelease.bundle.planned import parameters, planned_parts
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import Score
from synthrelease.published.base import Part, number
from synthrelease.published.charges import BoundsPart, CriterionPart, How, IntervalPart
from synthrelease.published.document import FORMAT, FlavourPart, ReleaseDocument
from synthrelease.settings.tables import BundleTable
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.version import VERSION

if TYPE_CHECKING:
    from synthrelease.releasing.release import Release

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
