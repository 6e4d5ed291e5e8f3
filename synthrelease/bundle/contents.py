"""All files of a bundle by name. What release.json does not hold is a function of it and of the released table."""

from __future__ import annotations

from collections.abc import Mapping

from synthrelease.bundle import imputing, measurements
from synthrelease.bundle.card import markdown_bytes, page_bytes
from synthrelease.bundle.checksums import sha256
from synthrelease.bundle.citation import citation_bytes
from synthrelease.bundle.datapackage import datapackage_bytes
from synthrelease.bundle.deployment import deployment_bytes
from synthrelease.bundle.document import column_parts, release_document
from synthrelease.bundle.imputing import imputed
from synthrelease.bundle.measurements import measurements_bytes
from synthrelease.bundle.names import page_name
from synthrelease.bundle.table import ReleasedTable, csv_bytes, parquet_bytes
from synthrelease.bundle.weights import calibrated
from synthrelease.published.document import ReleaseDocument
from synthrelease.releasing.release import Release


def release_files(release: Release) -> tuple[ReleasedTable, ReleaseDocument, dict[str, bytes]]:
    """The released table, release.json, and the data files by name."""
    candidate = release.candidate
    columns = column_parts(candidate.transformation)
    calibration = None if release.spec.calibration is None else release.spec.calibration.on(candidate.transformation)
    table, weighting = calibrated(ReleasedTable.of(candidate), calibration, columns)
    data = table_files(table)
    rules = release.spec.synthetic.merge(candidate.transformation)
    copies, content = imputed(table, release.spec.imputation, columns, rules, _promised_count(release))
    if content is not None:
        data[imputing.NAME] = content
    if release.measured is not None:
        bins = release.spec.space.common if release.spec.shared_measurements else candidate.transformation
        data[measurements.NAME] = measurements_bytes(release.measured, bins, candidate.transformation)
    checksums = {name: sha256(content) for name, content in data.items()}
    return table, release_document(release, checksums, weighting, copies), data


def _promised_count(release: Release) -> int:
    """How often each released row occurs at least: the projection's and the criteria's word."""
    promised = [criterion.promised_count for criterion in release.spec.criteria]
    return max(release.candidate.configuration.projection.promised_count, *promised, 1)


def table_files(table: ReleasedTable) -> dict[str, bytes]:
    """The released rows in both formats."""
    return {"data.csv": csv_bytes(table), "data.parquet": parquet_bytes(table)}


def written(document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """The documents that follow from release.json and the table; `verify` writes them again and compares.

    Parameters
    ----------
    sizes : lengths of the data files in bytes.
    """
    pages = {page_name(document, language): page_bytes(document, table, language) for language in document.card.languages}
    return {
        "datapackage.json": datapackage_bytes(document, sizes),
        "deployment.yaml": deployment_bytes(document),
        "CITATION.cff": citation_bytes(document),
        **pages,
        "README.md": markdown_bytes(document, table),
    }
