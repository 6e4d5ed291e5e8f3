"""The descriptions for catalogues, by the validators of their formats where these can be had, and by the mandatory fields.

The published shapes of DCAT-AP and the schema of DDI-Codebook are no part of this repository. `SYNTHRELEASE_SCHEMAS` names a
folder that has them as dcat-ap-SHACL.ttl (SEMICeu/DCAT-AP, releases/3.0.1/shacl), healthdcat-ap-SHACL.ttl (DG SANTE, release 5,
of data that are not public) and codebook.xsd with what it includes.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from synthrelease.bundle.catalogues import turtle_bytes
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import _sealed, release_files, written
from synthrelease.errors import InputError, SpecError
from synthrelease.settings.card import CardTable, CatalogueTable
from synthrelease.settings.tables import BundleTable
from synthrelease.spec.load import load_spec
from tests.helpers.cards import TITLE, Page, rich_release, write_files
from tests.helpers.tiny import write_config

rdflib = pytest.importorskip("rdflib", reason="needs the extra catalogue")

SCHEMAS = os.environ.get("SYNTHRELEASE_SCHEMAS", "")
needs_schemas = pytest.mark.skipif(not SCHEMAS, reason="SYNTHRELEASE_SCHEMAS names no folder with the published schemas")
NAMES = ["dcat.jsonld", "dcat.ttl", "croissant.json", "ddi.xml"]
STATED = CatalogueTable(
    keywords=("coins",),
    places=("http://publications.europa.eu/resource/authority/country/ISR",),
    start="2024-01-01",
    end="2024-12-31",
    population="Coins that were tossed & looked at",
    individuals=400,
    minimum_age=1,
    maximum_age=8,
    health_categories=("https://example.org/health-category/registry",),
    legislation=("http://data.europa.eu/eli/reg/2025/327/oj",),
    access_body="Health data access body",
    access_body_contact="https://example.org/access",
)
DCT, DCAT, RDF = "http://purl.org/dc/terms/", "http://www.w3.org/ns/dcat#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
HEALTH = "http://healthdataportal.eu/ns/health#"


@cache
def files_of(stated: bool = True) -> dict[str, bytes]:
    """A whole bundle with every description, of a publisher who states everything or nothing but an address."""
    release = rich_release()
    card = CardTable(url="https://example.org/nothing-else")
    card = release.spec.card.model_copy(update={"catalogue": STATED}) if stated else card
    bundle = BundleTable(catalogues=("dcat", "croissant", "ddi"), synthetic_column=True)
    table, document, data = release_files(replace(release, spec=replace(release.spec, card=card, bundle=bundle)))
    sizes = {name: len(content) for name, content in data.items()}
    return _sealed(data | {"release.json": document.dumped()} | written(document, table, sizes), None)


def document() -> dict[str, Any]:
    return json.loads(files_of()["release.json"])


def graph(files: dict[str, bytes] | None = None) -> Any:
    return rdflib.Graph().parse(data=(files or files_of())["dcat.ttl"].decode(), format="turtle")


def problems(files: dict[str, bytes]) -> str:
    return "\n".join(problem for check in verify_files(files).checks for problem in check.problems)


# --- DCAT


def test_both_files_of_dcat_say_the_same() -> None:
    from rdflib.compare import isomorphic

    other = rdflib.Graph().parse(data=files_of()["dcat.jsonld"].decode(), format="json-ld")
    assert isomorphic(graph(), other)
    assert turtle_bytes(files_of()["dcat.jsonld"]) == files_of()["dcat.ttl"]
    assert not [term for triple in graph() for term in triple if isinstance(term, rdflib.BNode)]


def test_dcat_has_what_its_profiles_demand_and_what_the_publisher_says() -> None:
    found = graph()
    (dataset,) = found.subjects(rdflib.URIRef(f"{RDF}type"), rdflib.URIRef(f"{DCAT}Dataset"))

    def said(name: str) -> list[str]:
        return sorted(str(value) for value in found.objects(dataset, rdflib.URIRef(name)))

    assert f"{TITLE} (synthetic data)" in said(f"{DCT}title")
    assert len(said(f"{DCT}title")) == len(said(f"{DCT}description")) == 2  # English and Hebrew
    assert said(f"{DCT}type") == ["http://publications.europa.eu/resource/authority/dataset-type/SYNTHETIC_DATA"]
    assert said(f"{HEALTH}numberOfRecords") == [str(document()["n_rows"])]
    assert said(f"{HEALTH}minTypicalAge") + said(f"{HEALTH}maxTypicalAge") == ["1", "8"]
    assert said(f"{HEALTH}healthCategory") == list(STATED.health_categories)
    assert said(f"{HEALTH}populationCoverage") == [STATED.population]
    distributions = list(found.objects(dataset, rdflib.URIRef(f"{DCAT}distribution")))
    assert len(distributions) == len(document()["files"]) == 2
    digest = rdflib.URIRef("http://spdx.org/rdf/terms#checksumValue")
    assert {str(value) for value in found.objects(None, digest)} == set(document()["files"].values())
    for one in distributions:
        assert list(found.objects(one, rdflib.URIRef(f"{DCAT}accessURL"))) == [rdflib.URIRef("https://example.org/coins")]
        assert [str(value) for value in found.objects(one, rdflib.URIRef(f"{DCT}license"))] == [
            "https://creativecommons.org/licenses/by/4.0/"
        ]


@needs_schemas
def test_dcat_passes_the_published_shapes_of_its_profile() -> None:
    pyshacl = pytest.importorskip("pyshacl")
    shapes = rdflib.Graph().parse(Path(SCHEMAS) / "dcat-ap-SHACL.ttl")
    for files in (files_of(), files_of(stated=False)):
        passed, _, text = pyshacl.validate(graph(files), shacl_graph=shapes)
        assert passed, text
    broken = graph()
    broken.remove((None, rdflib.URIRef(f"{DCAT}accessURL"), None))
    assert not pyshacl.validate(broken, shacl_graph=shapes)[0]


@needs_schemas
def test_dcat_passes_the_published_shapes_of_healthdcat_ap() -> None:
    """Those of data that are not public, which ask for more, but for the one value that says so."""
    pyshacl = pytest.importorskip("pyshacl")
    text = (Path(SCHEMAS) / "healthdcat-ap-SHACL.ttl").read_text(encoding="utf-8")
    shapes = rdflib.Graph().parse(data=text.replace("access-right/NON_PUBLIC", "access-right/PUBLIC"), format="turtle")
    passed, _, said = pyshacl.validate(graph(), shacl_graph=shapes)
    assert passed, said
    for name in (f"{DCAT}contactPoint", "http://data.europa.eu/r5r/applicableLegislation", f"{HEALTH}hdab"):
        broken = graph()
        broken.remove((None, rdflib.URIRef(name), None))
        assert not pyshacl.validate(broken, shacl_graph=shapes)[0], name


def test_files_and_agents_have_what_healthdcat_ap_asks_of_them() -> None:
    found = graph()
    law, contact = rdflib.URIRef("http://data.europa.eu/r5r/applicableLegislation"), rdflib.URIRef(f"{DCAT}contactPoint")
    for one in found.objects(None, rdflib.URIRef(f"{DCAT}distribution")):
        assert [str(value) for value in found.objects(one, law)] == list(STATED.legislation)
    publisher, body = (next(found.objects(None, rdflib.URIRef(name))) for name in (f"{DCT}publisher", f"{HEALTH}hdab"))
    kind, url = (rdflib.URIRef(f"http://www.w3.org/2006/vcard/ns#{name}") for name in ("Kind", "hasURL"))
    for agent in (publisher, body):
        (reached,) = found.objects(agent, contact)
        assert (reached, rdflib.URIRef(f"{RDF}type"), kind) in found
    assert [str(value) for value in found.objects(reached, url)] == [STATED.access_body_contact]


# --- Croissant


def test_croissant_is_read_by_its_own_library(tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    folder = write_files(files_of(), tmp_path / "bundle")
    found = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    assert not found.metadata.issues.errors
    first = next(iter(found.records("rows")))
    assert {name.removeprefix("rows/"): value for name, value in first.items()} == {
        "face": b"head", "year": b"1-2", "synthetic": 1,
    }  # fmt: skip
    bins = [record["year_bins/label"] for record in found.records("year_bins")]
    assert sorted(bins) == ["1-2", "3-4", "5-6", "7-8"]


def test_croissant_names_every_file_with_its_checksum_and_every_column_with_its_bins() -> None:
    found = json.loads(files_of()["croissant.json"])
    assert {one["name"]: one["sha256"] for one in found["distribution"]} == document()["files"]
    rows, *bins = found["recordSet"]
    assert [field["name"] for field in rows["field"]] == ["face", "year", "synthetic"]
    labels = [[record[f"{one['name']}/label"] for record in one["data"]] for one in bins]
    assert labels == [[one["label"] for one in column["bins"]] for column in document()["schema"]]
    assert found["conformsTo"] == "http://mlcommons.org/croissant/1.0"


# --- DDI


def ddi() -> ElementTree.Element:
    return ElementTree.fromstring(files_of()["ddi.xml"])


def test_ddi_has_the_categories_with_their_frequencies_in_the_table() -> None:
    space = {"": "ddi:codebook:2_5"}
    lines = [line.split(",") for line in files_of()["data.csv"].decode().splitlines()[1:]]
    variables = ddi().findall("dataDscr/var", space)
    assert [one.get("name") for one in variables] == ["face", "year", "synthetic"]
    for place, variable in enumerate(variables[:2]):
        for category in variable.findall("catgry", space):
            label = category.findtext("catValu", namespaces=space)
            frequency = category.find("catStat[@type='freq']", space)
            assert frequency is not None
            assert int(str(frequency.text)) == sum(line[place] == label for line in lines)
    titles = [element.text for element in ddi().iter("{ddi:codebook:2_5}titl")]
    assert titles == [f"Codebook of {TITLE} (synthetic data)", f"{TITLE} (synthetic data)"]
    assert ddi().findtext("stdyDscr/stdyInfo/sumDscr/universe", namespaces=space) == STATED.population


@needs_schemas
def test_ddi_passes_the_published_schema_of_its_format() -> None:
    xmlschema = pytest.importorskip("xmlschema")
    schema = xmlschema.XMLSchema(str(Path(SCHEMAS) / "codebook.xsd"), allow="local", validation="lax")
    for files in (files_of(), files_of(stated=False)):
        assert [error.reason for error in schema.iter_errors(files["ddi.xml"].decode())] == []
    assert list(schema.iter_errors(files_of()["ddi.xml"].decode().replace("catValu", "catValue")))


# --- All


def test_the_head_of_the_card_has_the_dataset_for_search_engines_and_nothing_ends_it() -> None:
    text = Page(files_of()["README.html"]).text("script")
    found = json.loads(text)
    assert "<" not in text
    assert (found["@type"], found["name"]) == ("Dataset", f"{TITLE} (synthetic data)")
    assert [one["name"] for one in found["variableMeasured"]] == ["face", "year"]
    assert {one["name"]: one["sha256"] for one in found["distribution"]} == document()["files"]


def test_every_document_says_first_that_the_data_are_synthetic() -> None:
    notice = b"Synthetic data. No row is a person."
    for name in ("dcat.ttl", "deployment.yaml", "CITATION.cff"):
        assert files_of()[name].split(b"\n")[0] == b"# " + notice
    assert files_of()["ddi.xml"].split(b"\n")[1] == b"<!-- " + notice + b" -->"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_any_edit_is_found_also_when_the_checksums_are_made_anew(name: str) -> None:
    assert problems(files_of()) == ""
    content = files_of()[name]
    for old, new in ((b"CC-BY", b"CC-BX") if b"CC-BY" in content else (b"2026-03-04", b"2026-03-05"), (b"coins", b"Coins")):
        edited = {key: value for key, value in files_of().items() if key != "SHA256SUMS"}
        edited[name] = content.replace(old, new, 1)
        assert edited[name] != content
        assert f"{name}: line " in problems(_sealed(edited, None))
    missing = {key: value for key, value in files_of().items() if key not in (name, "SHA256SUMS")}
    assert f"{name}: this file is missing" in problems(_sealed(missing, None))


def test_what_a_catalogue_demands_is_asked_for_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"stop_probability = 0.001\n": 'stop_probability = 0.001\n[bundle]\ncatalogues = ["dcat"]\n'}
    with pytest.raises(SpecError, match=r"card.url: State the address of the release, because DCAT-AP requires it"):
        load_spec(write_config(tmp_path, asked))
    import sys

    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(InputError, match=r"library rdflib is needed .*extra \"catalogue\""):
        turtle_bytes(b"{}")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"places": ("Israel",)}, "addresses of terms that start with http:// or https://"),
        ({"start": "2024-02-01", "end": "2024-01-01"}, "The end must not be before the start"),
        ({"minimum_age": 9, "maximum_age": 8}, "maximum_age must not be below minimum_age"),
        ({"access_body": "Somebody"}, "Set both access_body and access_body_contact, or neither"),
        ({"keywords": ("a\nb",)}, "one line of printable characters"),
        ({"health_categories": ("https://a b",)}, "addresses of terms that start with http:// or https://"),
    ],
)
def test_words_that_no_catalogue_can_use_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CatalogueTable.model_validate(wrong)
