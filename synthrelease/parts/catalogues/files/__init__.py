"""Descriptions of a release for catalogues of data."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from synthrelease.bundle.part import FurtherFiles
from synthrelease.parts.catalogues.files.croissant import croissant_bytes
from synthrelease.parts.catalogues.files.dcat import jsonld_bytes, turtle_bytes
from synthrelease.parts.catalogues.files.ddi import ddi_bytes
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable


class CatalogueFiles(FurtherFiles):
    """dcat.jsonld, dcat.ttl, croissant.json and ddi.xml."""

    def documents(
        self, chosen: Collection[str], document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]
    ) -> dict[str, bytes]:
        found = dict[str, bytes]()
        if "dcat" in chosen:
            found["dcat.jsonld"] = jsonld_bytes(document, sizes)
            found["dcat.ttl"] = turtle_bytes(found["dcat.jsonld"])
        if "croissant" in chosen:
            found["croissant.json"] = croissant_bytes(document, sizes)
        if "ddi" in chosen:
            found["ddi.xml"] = ddi_bytes(document, table, sizes)
        return found


FILES = CatalogueFiles()
