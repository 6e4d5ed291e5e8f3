"""Define the table [card]: the steward's texts about a release, in one or more languages, and facts for data catalogues.

The texts are plain text, with an empty line before a new paragraph. They contain no results of the release, which the package
`bundle` adds to the card.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from synthrelease.errors import Unexpected
from synthrelease.settings.base import Line, SpecTable, checked

# The table [card.catalogue]: facts that data catalogues require and that no other part of a release states.

WEB_ADDRESS = re.compile(r"https?://[^\s<>\"'{}|\\^`]+")
_Line = Annotated[str, Field(max_length=2000)]
_Plain = Annotated[Line, Field(max_length=2000)]
_Terms = Annotated[
    tuple[_Line, ...],
    checked(lambda terms: all(map(WEB_ADDRESS.fullmatch, terms)), "addresses of terms that start with http:// or https://"),
]


class Stripped(SpecTable):
    """Base class of the tables in [card]. It removes spaces at the start and the end of each text."""

    model_config = ConfigDict(str_strip_whitespace=True)


class CatalogueTable(Stripped):
    """[card.catalogue]: facts that the publisher states for data catalogues (DCAT-AP, HealthDCAT-AP, Croissant, DDI,
    schema.org). Write each term of a vocabulary as its web address.

    Attributes
    ----------
    keywords : keywords for searches, in addition to "synthetic data" and "differential privacy". Example: `keywords =
        ["births"]`.
    themes : the themes of the data, from the EU vocabulary of data themes or another vocabulary. The default is the theme for
        the `sector` in [card]. Example: `themes = ["http://publications.europa.eu/resource/authority/data-theme/HEAL"]`.
    access : who can get the released files. "public" means everybody, and "restricted" means only people whom the publisher
        admits. Example: `access = "restricted"`.
    places : the places that the data describe. Write each place as the web address of a term. Example: `places =
        ["http://publications.europa.eu/resource/authority/country/ISR"]`.
    start : the first day of the period that the data describe. Example: `start = 2024-01-01`, `end = 2024-12-31`.
    end : the last day of the period that the data describe. Example: `start = 2024-01-01`, `end = 2024-12-31`.
    population : a description of the population that the data describe. Example: `population = "Mothers of live singletons"`.
    individuals : the number of persons in the original records. State it only if this number is already published. Example:
        `individuals = 170000`.
    minimum_age : the age of the youngest persons, in completed years. Example: `minimum_age = 15`, `maximum_age = 49`.
    maximum_age : the age of the oldest persons, in completed years. Example: `minimum_age = 15`, `maximum_age = 49`.
    health_categories : the categories of health data to which the data belong. Write each category as the web address of a
        term. HealthDCAT-AP requires at least one category. Example: `health_categories =
        ["https://example.org/health-category/registry"]`.
    health_themes : the health topics of the data, such as diseases or treatments. Write each topic as the web address of a
        term. Example: `health_themes = ["https://www.wikidata.org/wiki/Q34581"]`.
    coding_systems : the coding systems that the data use, such as ICD-10. Write each system as the web address of a term.
        Example: `coding_systems = ["https://www.wikidata.org/wiki/Q45127"]`.
    legislation : the laws under which the data are held or published. Write each law as a web address. Example:
        `legislation = ["http://data.europa.eu/eli/reg/2025/327/oj"]`.
    access_body : the name of the health data access body. Example: `access_body = "Health data access body"`,
        `access_body_contact = "https://example.org/access"`.
    access_body_contact : the web address of the health data access body. You must set either both `access_body` and
        `access_body_contact`, or neither. Example: `access_body = "Health data access body"`, `access_body_contact =
        "https://example.org/access"`.
    """

    keywords: tuple[_Plain, ...] = ()
    themes: _Terms = ()
    access: Literal["public", "restricted"] = "public"
    places: _Terms = ()
    start: datetime.date | None = None
    end: datetime.date | None = None
    population: _Plain = ""
    individuals: Annotated[int, Field(ge=0)] | None = None
    minimum_age: Annotated[int, Field(ge=0, le=150)] | None = None
    maximum_age: Annotated[int, Field(ge=0, le=150)] | None = None
    health_categories: _Terms = ()
    health_themes: _Terms = ()
    coding_systems: _Terms = ()
    legislation: _Terms = ()
    access_body: _Plain = ""
    access_body_contact: _Line = ""

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.start is not None and self.end is not None and self.end < self.start:
            yield "The end must not be before the start"
        if self.minimum_age is not None and self.maximum_age is not None and self.maximum_age < self.minimum_age:
            yield "The setting maximum_age must not be below minimum_age"
        if bool(self.access_body) != bool(self.access_body_contact):
            yield "Set both access_body and access_body_contact, or neither"
        if self.access_body_contact and not WEB_ADDRESS.fullmatch(self.access_body_contact):
            yield "The setting access_body_contact must be an address that starts with http:// or https://"


LANGUAGES = ("en", "he")
"""The languages in which the program can write the public part of a card. For each language, the folder bundle/card/words
contains a file with the program's own texts."""
RIGHT_TO_LEFT = ("he",)

Text = Annotated[str, Field(max_length=10_000)]
Language = Literal["en", "he"]
_EMAIL = re.compile(r"[^@\s<>\"']+@[^@\s<>\"']+\.[^@\s<>\"']+")
_URL = re.compile(r"https?://[^\s<>\"']+")
_Address = Annotated[
    str, checked(lambda address: not address or _URL.fullmatch(address), "an address that starts with https:// or http://")
]
_Contact = Annotated[
    Text,
    checked(
        lambda contact: not contact or is_email(contact) or _URL.fullmatch(contact),
        "an e-mail address, or an address that starts with https:// or http://",
    ),
]
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


def _is_secure(address: str) -> bool:
    return address.startswith("https://") and WEB_ADDRESS.fullmatch(address) is not None


def _paragraphs(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    if _NO_TEXT.search(text):
        raise Unexpected("The text contains a control character")
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text) if part.strip())


class ProgramTable(Stripped):
    """[card.program]: where readers can download the program that checks the release and answers questions about it. The
    program is not on any package index. Without this table, the documents of the release do not say where to get the program.

    Attributes
    ----------
    address : the web address of a file that contains the program, such as the source archive. Example: `address =
        "https://example.org/synthrelease-1.0.0.tar.gz"`.
    sha256 : the SHA-256 checksum of this file, as the command `sha256sum` prints it. Example: `sha256 =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`.
    """

    address: Annotated[_Line, checked(_is_secure, "an address that starts with https://")]
    sha256: Annotated[
        str,
        checked(re.compile("[0-9a-fA-F]{64}", re.ASCII).fullmatch, "64 hexadecimal digits, as sha256sum prints them"),
        AfterValidator(str.lower),
    ]


class CardTexts(Stripped):
    """[card.LANGUAGE]: the texts of the data card in an additional language. Write the texts in the main language of the card
    directly under [card].

    Attributes
    ----------
    title : the title of the released data. The default is the `title` of the configuration. Example: `title = "Synthetic live
        births"`.
    summary : a summary of the released data. The default is the `description` of the configuration. Example: `summary = "Births
        of one year."`.
    organisation : the organisation that publishes the release. Example: `organisation = "Office of Vital Statistics"`.
    source : the origin of the original records. Say who collected the records, how, when, and about whom. Example: `source =
        "The register of live births, kept by the hospitals."`.
    purpose : the purpose of the release. Example: `purpose = "To let the public study birth weight."`.
    funding : who paid for the release. Example: `funding = "The regular budget of the office."`.
    uses : the intended uses of the data, as a list of texts. Example: `uses = ["Teaching", "Shares of low birth weight"]`.
    unsuitable : uses for which the data are not suitable, as a list of texts. Example: `unsuitable = ["Clinical decisions"]`.
    ethics : information about the ethical review of the release and the consent of the persons in the data. Example: `ethics =
        "Reviewed by the committee on confidentiality."`.
    maintenance : whether the publisher will provide updates and corrections of the release, and for how long. Example:
        `maintenance = "Published once; errata under a new version."`.
    feedback : what feedback readers should send to the publisher. Example: `feedback = "Tell us what you missed."`.
    columns : a readable name for each column. Example: `columns.mother_age = "Mother's age"`.
    """

    title: Annotated[str, Field(max_length=300)] = ""
    summary: Text = ""
    organisation: Text = ""
    source: Text = ""
    purpose: Text = ""
    funding: Text = ""
    uses: tuple[Text, ...] = ()
    unsuitable: tuple[Text, ...] = ()
    ethics: Text = ""
    maintenance: Text = ""
    feedback: Text = ""
    columns: dict[str, Text] = Field(default_factory=dict)

    @field_validator("*")
    @classmethod
    def _plain_paragraphs(cls, value: Any) -> Any:
        """Join the lines of each paragraph, because line breaks within a paragraph have no meaning."""
        if isinstance(value, dict):
            return {key: _paragraphs(text) for key, text in value.items()}
        return tuple(map(_paragraphs, value)) if isinstance(value, tuple) else _paragraphs(value)


class CardTable(CardTexts):
    """[card]: the publisher's texts for the data card. You cannot state errors and privacy costs here, because the program
    computes them.

    Attributes
    ----------
    language : the language of the texts directly under [card]. Example: `language = "en"`.
    organisation_type : the type of the organisation that publishes the release, as used in OpenDP's deployments registry.
        Example: `organisation_type = "Government"`.
    contact : the e-mail address or web address to which readers can write. Example: `contact = "statistics@example.org"`.
    licence : the licence of the released data. Write an SPDX identifier such as "CC-BY-4.0". For another licence, write its
        name, and set `licence_url`. Example: `licence = "CC-BY-4.0"`.
    licence_url : the web address of the licence. Set it if the program does not know the name of the licence. Example:
        `licence_url = "https://example.org/licence"`, `licence = "Our own licence"`.
    version : the version number of this release, in any format. Example: `version = "1.0"`.
    published : the day of publication. The default is the day on which the command `release` starts. Example: `published =
        2026-01-31`.
    region : the region or population that the data describe, as it should appear in OpenDP's deployments registry. Example:
        `region = "Israel"`.
    sector : the sector to which the data belong, as used in OpenDP's deployments registry. Example: `sector = "Healthcare"`.
    url : the web address at which the release is published. Example: `url = "https://example.org/births"`.
    justification : the reasons why this epsilon, these thresholds and these bins were chosen. Example: `justification = "Agreed
        with the ministry."`.
    tuning : how the settings were tested before the release, and whether private or public data were used for these tests.
        Example: `tuning = "Rehearsed on public births alone."`.
    access : who has access to the private data, and how these data are protected. Example: `access = "Two named officers, off
        the network."`.
    signed_by : the names of the one or two persons who approved the release. Example: `signed_by = ["A. Levi, steward", "B.
        Cohen, reviewer"]`.
    registry_authors : the authors of the entry for this release in OpenDP's deployments registry. Example: `registry_authors =
        ["The office"]`.
    program : the web address and the checksum of the program with which readers can check the release. Example:
        `program.address = "https://example.org/synthrelease-1.0.0.tar.gz"`, `program.sha256 =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`.
    catalogue : additional facts for data catalogues. Example: `catalogue.keywords = ["births"]`.
    en : the texts in English, if `language` is another language. Example: `language = "he"`, `en.title = "Live births"`.
    he : the texts in Hebrew, if `language` is another language. Example: `he.title = "לידות חי"`.
    """

    language: Language = "en"
    organisation_type: Literal["Government", "Industry", "Nonprofit"] = "Government"
    contact: _Contact = ""
    licence: Annotated[str, Field(max_length=200)] = ""
    licence_url: _Address = ""
    version: Annotated[str, Field(max_length=50)] = "1.0"
    published: datetime.date = Field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date())
    region: Text = ""
    sector: Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"] = "Government"
    url: _Address = ""
    justification: Text = ""
    tuning: Text = ""
    access: Text = ""
    signed_by: Annotated[tuple[Annotated[Line, Field(min_length=1, max_length=200)], ...], Field(max_length=2)] = ()
    registry_authors: tuple[Text, ...] = ()
    program: ProgramTable | None = None
    catalogue: CatalogueTable = Field(default_factory=CatalogueTable.model_construct)
    en: CardTexts | None = None
    he: CardTexts | None = None

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.texts(self.language) is not self:
            yield f"Delete [card.{self.language}]: the texts of [card] are already in this language"

    @model_serializer(mode="wrap")
    def _what_there_is(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        left_out = {"catalogue"} if self.catalogue == CatalogueTable() else set()
        left_out |= {name for name in ("signed_by", "program") if not getattr(self, name)}
        return {name: value for name, value in dump(self).items() if name not in left_out}

    def texts(self, language: str) -> CardTexts | None:
        texts = {"en": self.en, "he": self.he}[language]
        return self if texts is None and language == self.language else texts

    @property
    def languages(self) -> tuple[str, ...]:
        """Return all languages in which the card has texts, the main language first."""
        further = [language for language in LANGUAGES if language != self.language and self.texts(language) is not None]
        return (self.language, *further)


def direction(language: str) -> str:
    return "rtl" if language in RIGHT_TO_LEFT else "ltr"


def is_email(contact: str) -> bool:
    return _EMAIL.fullmatch(contact) is not None


def gaps(card: CardTable, columns: tuple[str, ...]) -> Iterator[str]:
    """Yield the TOML paths of the texts that the card lacks, given the released columns. A release warns about them."""
    fields = ("contact", "licence", "region", "justification", "tuning", "access", "registry_authors")
    yield from (f"card.{name}" for name in fields if not getattr(card, name))
    if card.licence and card.licence not in LICENCES and not card.licence_url:
        yield "card.licence_url"
    for language in card.languages:
        texts, path = card.texts(language), "card" if language == card.language else f"card.{language}"
        for name, value in texts if texts else ():
            if name in CardTexts.model_fields and not value and not (name in ("title", "summary") and path == "card"):
                yield f"{path}.{name}"
            elif name == "columns":
                yield from (f"{path}.columns.{column}" for column in columns if column not in value)


LICENCES = {
    "CC0-1.0": ("Creative Commons Zero 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "CC-BY-4.0": ("Creative Commons Attribution 4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": ("Creative Commons Attribution-ShareAlike 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "CC-BY-NC-4.0": ("Creative Commons Attribution-NonCommercial 4.0", "https://creativecommons.org/licenses/by-nc/4.0/"),
    "ODbL-1.0": ("Open Database Licence 1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "ODC-By-1.0": ("Open Data Commons Attribution 1.0", "https://opendatacommons.org/licenses/by/1-0/"),
    "PDDL-1.0": ("Public Domain Dedication and Licence 1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
    "OGL-UK-3.0": ("Open Government Licence 3.0", "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/"),
    "etalab-2.0": ("Licence Ouverte 2.0", "https://www.etalab.gouv.fr/wp-content/uploads/2018/11/open-licence.pdf"),
    "CDLA-Permissive-1.0": ("Community Data Licence Agreement, Permissive 1.0", "https://cdla.dev/permissive-1-0/"),
}
"""The data licences that the program knows. The keys are SPDX identifiers, and the values are the full name and the web address
of each licence."""
