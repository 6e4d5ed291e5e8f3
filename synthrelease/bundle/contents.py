"""All files of a bundle by name. What release.json does not hold is a function of it and of the released table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from synthrelease.bundle.card import markdown_bytes, page_bytes
from synthrelease.bundle.citation import citation_bytes
from synthrelease.bundle.datapackage import datapackage_bytes
from synthrelease.bundle.deployment import deployment_bytes
from synthrelease.bundle.document import release_document
from synthrelease.bundle.estimates_files import estimates_files, with_errors
from synthrelease.bundle.estimating import with_estimates
from synthrelease.bundle.further import files_of_rows, further_documents
from synthrelease.bundle.measurements import measurements_bytes
from synthrelease.bundle.options import made
from synthrelease.bundle.part import AcceptedRows
from synthrelease.bundle.planned import column_parts
from synthrelease.bundle.questions_sheet import questions_files
from synthrelease.bundle.sign_sheet import sign_files
from synthrelease.bundle.table_files import csv_pieces, members_csv_pieces, members_parquet_pieces, parquet_pieces
from synthrelease.published import measurements
from synthrelease.published.associations_file import associations_files
from synthrelease.published.base import Files, Keep, in_memory
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import page_name
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.tables import BundleTable
from synthrelease.spec import canonical

if TYPE_CHECKING:
    from synthrelease.releasing.release import Release


def release_files(release: Release, keep: Keep = in_memory) -> tuple[ReleasedTable, ReleaseDocument, Files]:
    """The released table, release.json, and by name the files that do not follow from these: data, and the specification.

    Parameters
    ----------
    keep : what becomes of the tables of rows, which are made piece by piece.
    """
    candidate, bundle = release.candidate, release.spec.bundle
    columns = column_parts(candidate.transformation)
    rows = AcceptedRows(
        table=replace(ReleasedTable.of(candidate), marked=bundle.synthetic_column),
        transformation=candidate.transformation,
        columns=columns,
        rules=release.spec.synthetic.merge(candidate.transformation),
        smallest=_promised_count(release),
        bundle=bundle,
    )
    of_rows = made(release.spec.parts, rows)
    table, document = of_rows.table, release_document(release, {}, of_rows.parts)
    tables = table_files(document, table)
    data = {**{name: keep(name, pieces) for name, pieces in tables.items()}, **of_rows.files}
    if release.measured is not None:
        bins = release.spec.space.common if release.spec.shared_measurements else candidate.transformation
        data[measurements.NAME] = measurements_bytes(release.measured, bins, candidate.transformation)
    files = Files(data)
    document = document.model_copy(update={"files": {name: files.sha256(name) for name in files}})
    document = with_estimates(document, files.get(measurements.NAME), release.spec.text)
    listed = estimates_files(document, files.get(measurements.NAME))
    return table, with_errors(document, listed), files | listed | {canonical.NAME: release.spec.text}


def _promised_count(release: Release) -> int:
    """How often each released row occurs at least: the projection's and the criteria's word."""
    promised = [criterion.promised_count for criterion in release.spec.criteria]
    return max(release.candidate.configuration.projection.promised_count, *promised, 1)


def table_files(document: ReleaseDocument, table: ReleasedTable) -> dict[str, Iterable[bytes]]:
    """The released rows in every format that was asked for, each as pieces that are made when they are asked for."""
    says_synthetic = document.bundle != BundleTable()
    (csv, members_csv), (parquet, members_parquet) = document.tables
    members = {}
    if document.linked is not None:
        members = {members_csv: members_csv_pieces(table), members_parquet: members_parquet_pieces(table, says_synthetic)}
    return {
        csv: csv_pieces(table),
        parquet: parquet_pieces(table, says_synthetic),
        **members,
        **files_of_rows(document, table),
    }


def written(document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """The documents that follow from release.json and the table; `verify` writes them again and compares.

    Parameters
    ----------
    sizes : lengths of the data files in bytes.
    """
    pages = {page_name(document, language): page_bytes(document, table, language) for language in document.card.languages}
    return {
        "datapackage.json": datapackage_bytes(document, sizes),
        **further_documents(document, table, sizes),
        "deployment.yaml": deployment_bytes(document),
        "CITATION.cff": citation_bytes(document),
        **pages,
        **associations_files(document),
        **questions_files(document),
        **sign_files(document),
        "README.md": markdown_bytes(document, table),
    }
