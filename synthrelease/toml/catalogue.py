"""The table [card.catalogue]: what catalogues of data ask for and nothing else in a release says."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from synthrelease.errors import Unexpected

WEB_ADDRESS = re.compile(r"https?://[^\s<>\"'{}|\\^`]+")
_Line = Annotated[str, Field(max_length=2000)]


class CatalogueTable(BaseModel):
    """[card.catalogue]: the publisher's words for catalogues of data (DCAT-AP, HealthDCAT-AP, Croissant, DDI, schema.org).
    Terms of a vocabulary are given by their addresses.

    Attributes
    ----------
    keywords : words to be found by, beside "synthetic data" and "differential privacy". Example: `keywords = ["births"]`.
    themes : terms of the EU's data themes or of another vocabulary; left out, the theme that belongs to the card's sector.
        Example: `themes = ["http://publications.europa.eu/resource/authority/data-theme/HEAL"]`.
    access : to the released files: everybody's ("public"), or that of whom the publisher lets in ("restricted").
        Example: `access = "restricted"`.
    places : which places the data are about, as terms. Example:
        `places = ["http://publications.europa.eu/resource/authority/country/ISR"]`.
    start, end : the first and the last day that the data are about. Example: `start = 2024-01-01`, `end = 2024-12-31`.
    population : who the data are about, in words. Example: `population = "Mothers of live singletons"`.
    individuals : how many persons the original records are about, if it is published. Example: `individuals = 170000`.
    minimum_age, maximum_age : of the persons, in full years. Example: `minimum_age = 15`, `maximum_age = 49`.
    health_categories : terms of HealthDCAT-AP's categories of health data, which that profile demands.
        Example: `health_categories = ["https://example.org/health-category/registry"]`.
    health_themes : terms for diseases, treatments and the like. Example: `health_themes = ["https://www.wikidata.org/wiki/Q34581"]`.
    coding_systems : codelists that the data use, as terms. Example: `coding_systems = ["https://www.wikidata.org/wiki/Q45127"]`.
    legislation : laws under which the data are held or published, as terms.
        Example: `legislation = ["http://data.europa.eu/eli/reg/2025/327/oj"]`.
    access_body, access_body_contact : the health data access body, and its web address; the one needs the other.
        Example: `access_body = "Health data access body"`, `access_body_contact = "https://example.org/access"`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, defer_build=True)

    keywords: tuple[_Line, ...] = ()
    themes: tuple[_Line, ...] = ()
    access: Literal["public", "restricted"] = "public"
    places: tuple[_Line, ...] = ()
    start: datetime.date | None = None
    end: datetime.date | None = None
    population: _Line = ""
    individuals: Annotated[int, Field(ge=0)] | None = None
    minimum_age: Annotated[int, Field(ge=0, le=150)] | None = None
    maximum_age: Annotated[int, Field(ge=0, le=150)] | None = None
    health_categories: tuple[_Line, ...] = ()
    health_themes: tuple[_Line, ...] = ()
    coding_systems: tuple[_Line, ...] = ()
    legislation: tuple[_Line, ...] = ()
    access_body: _Line = ""
    access_body_contact: _Line = ""

    @field_validator("themes", "places", "health_categories", "health_themes", "coding_systems", "legislation")
    @classmethod
    def _terms(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if not all(WEB_ADDRESS.fullmatch(value) for value in values):
            raise Unexpected("addresses of terms, each of which starts with http:// or https://")
        return values

    @field_validator("keywords", "population", "access_body")
    @classmethod
    def _plain(cls, value: tuple[str, ...] | str) -> tuple[str, ...] | str:
        if any(not text.isprintable() for text in ((value,) if isinstance(value, str) else value)):
            raise Unexpected("one line of printable characters")
        return value

    @model_validator(mode="after")
    def _fits(self) -> CatalogueTable:
        if self.start is not None and self.end is not None and self.end < self.start:
            raise ValueError("end must not be before start")
        if self.minimum_age is not None and self.maximum_age is not None and self.maximum_age < self.minimum_age:
            raise ValueError("maximum_age must not be below minimum_age")
        if bool(self.access_body) != bool(self.access_body_contact):
            raise ValueError("access_body and access_body_contact need each other")
        if self.access_body_contact and not WEB_ADDRESS.fullmatch(self.access_body_contact):
            raise ValueError("access_body_contact must be an address that starts with http:// or https://")
        return self
