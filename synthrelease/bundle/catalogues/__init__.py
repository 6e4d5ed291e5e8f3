"""Descriptions of a release for catalogues of data: functions of release.json, the table and the publisher's words alone."""

from synthrelease.bundle.catalogues.documents import catalogue_documents
from synthrelease.bundle.catalogues.schema_org import search_engines

__all__ = ["catalogue_documents", "search_engines"]
