"""The descriptions that [bundle] asks for, by the names of their files."""

from __future__ import annotations

from collections.abc import Mapping

from synthrelease.bundle.catalogues.croissant import croissant_bytes
from synthrelease.bundle.catalogues.dcat import jsonld_bytes, turtle_bytes
from synthrelease.bundle.catalogues.ddi import ddi_bytes
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable


def catalogue_documents(document: ReleaseDocument, table: ReleasedTable, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """The files.

    Parameters
    ----------
    sizes : lengths of the data files in bytes.

    Raises
    ------
    InputError : when a library is missing.
    """
    found, asked = dict[str, bytes](), document.bundle.catalogues
    if "dcat" in asked:
        found["dcat.jsonld"] = jsonld_bytes(document, sizes)
        found["dcat.ttl"] = turtle_bytes(found["dcat.jsonld"])
    if "croissant" in asked:
        found["croissant.json"] = croissant_bytes(document, sizes)
    if "ddi" in asked:
        found["ddi.xml"] = ddi_bytes(document, table, sizes)
    return found
