"""The machine-readable documents of a bundle, by the validators of their formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.dataset import Dataset, slug
from synthrelease.bundle.document import release_document
from synthrelease.bundle.metadata import citation_bytes, datapackage_bytes, deployment_bytes
from synthrelease.bundle.write import write_bundle, written
from synthrelease.published.charges import JointTestPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable, read_csv
from synthrelease.releasing.release import release
from synthrelease.settings.card import LICENCES, CardTable
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.cards import TITLE, rich_bundle, rich_release, write_files
from tests.helpers.published import read_parquet
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

yaml = pytest.importorskip("yaml")


def document() -> dict[str, Any]:
    return json.loads(rich_bundle()["release.json"])


def with_card(card: CardTable) -> ReleaseDocument:
    release = rich_release()
    return release_document(replace(release, spec=replace(release.spec, card=card)), {"data.csv": "0" * 64})


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
    else:
        yield str(value)


# --- Data package


def test_the_data_package_and_its_rows_pass_the_validator_of_frictionless(tmp_path: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    folder = write_files(rich_bundle(), tmp_path / "bundle")
    report = frictionless.validate(str(folder / "datapackage.json"))
    assert report.valid, report.flatten()
    (table,) = [task for task in report.tasks if task.name == "data-csv"]
    assert table.stats["rows"] == 400


def test_labels_that_look_like_numbers_in_the_first_rows_are_texts_for_frictionless_too(tmp_path: Path) -> None:
    """Without a schema it guesses the types of the Parquet file from its first rows, and finds "2-3" to be no number."""
    frictionless = pytest.importorskip("frictionless")
    changes = {
        'categories = ["head", "tail"]': 'categories = { 1 = ["head"], 2-3 = ["tail"] }',
        "face == 'tail'": "face == '2-3'",
    }
    found = release(load_spec(write_config(tmp_path, changes)), write_data(tmp_path))
    assert found is not None
    report = frictionless.validate(str(write_bundle(found, tmp_path / "bundle") / "datapackage.json"))
    assert report.valid, report.flatten()
    assert [task.name for task in report.tasks] == ["data-csv", "data-parquet"]


def test_frictionless_finds_a_row_that_the_schema_does_not_have(tmp_path: Path) -> None:
    """The validation above looks at the rows."""
    frictionless = pytest.importorskip("frictionless")
    files = dict(rich_bundle())
    files["data.csv"] = files["data.csv"].replace(b"head", b"edge", 1)
    report = frictionless.validate(str(write_files(files, tmp_path / "bundle") / "datapackage.json"))
    assert not report.valid
    assert "constraint-error" in {error[0] for error in report.flatten(["type"])}


def test_the_data_package_states_the_schema_the_sizes_and_the_checksums() -> None:
    package = json.loads(rich_bundle()["datapackage.json"])
    assert (package["title"], package["version"]) == (f"{TITLE} (synthetic data)", "2.1")
    assert package["licenses"][0]["name"] == "CC-BY-4.0"
    resources = {resource["path"]: resource for resource in package["resources"]}
    assert set(resources) == {"data.csv", "data.parquet"}
    for name, resource in resources.items():
        assert resource.get("bytes", len(rich_bundle()[name])) == len(rich_bundle()[name])
        assert resource["hash"] == f"sha256:{document()['files'][name]}"
    assert resources["data.parquet"]["schema"] == resources["data.csv"]["schema"]
    fields = resources["data.csv"]["schema"]["fields"]
    assert [field["constraints"]["enum"] for field in fields] == [["head", "tail"], ["1-2", "3-4", "5-6", "7-8"]]
    assert [field["categoriesOrdered"] for field in fields] == [False, True]


@pytest.mark.parametrize(
    ("title", "version", "expected"),
    [("Live births, 2014", "1.0", "live-births-2014-1-0"), ("מטבעות", "1", "release-1"), ("A", "ב", "a-1")],
)
def test_the_name_of_a_package_has_small_letters_digits_and_hyphens(title: str, version: str, expected: str) -> None:
    assert slug(with_card(CardTable(title=title, version=version))) == expected


# --- Citation


def cff_problems(content: bytes) -> list[str]:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "tests" / "bundle" / "schemas" / "cff-1.2.0.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    return [error.message for error in validator.iter_errors(yaml.safe_load(content))]


def test_the_citation_passes_the_schema_of_its_format() -> None:
    assert cff_problems(rich_bundle()["CITATION.cff"]) == []
    found = yaml.safe_load(rich_bundle()["CITATION.cff"])
    assert (found["title"], found["version"], found["date-released"]) == (f"{TITLE} (synthetic data)", "2.1", "2026-03-04")
    assert found["authors"] == [{"name": "Mint <i>& Sons</i>", "email": "mint@example.org"}]


@pytest.mark.parametrize("licence", sorted(LICENCES))
def test_every_licence_that_has_a_name_here_has_one_in_the_citation_format(licence: str) -> None:
    assert cff_problems(citation_bytes(Dataset.of(with_card(CardTable(licence=licence))))) == []


def test_a_citation_without_anything_stated_passes_too() -> None:
    assert cff_problems(citation_bytes(Dataset.of(with_card(CardTable())))) == []
    own = CardTable(licence="House rules", licence_url="https://example.org/rules", contact="https://example.org")
    assert cff_problems(citation_bytes(Dataset.of(with_card(own)))) == []


def test_the_schema_of_the_citation_format_does_find_mistakes() -> None:
    assert cff_problems(b"cff-version: 1.2.0\ntitle: x\n") != []
    assert cff_problems(rich_bundle()["CITATION.cff"].replace(b"CC-BY-4.0", b"House rules")) != []


# --- Deployment


BASIC = {"name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
         "data_product_sector", "publication_date"}  # fmt: skip
FIELDS = {
    "basic": BASIC,
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
                     "privacy_parameters_details"},
    "deployment_model": {"model_name", "model_name_details", "trust_assumptions", "actors", "release_type",
                         "release_type_details", "data_source_type", "data_source_type_details", "access_type",
                         "access_type_details"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing",
                       "justification", "utility", "additional_information"},
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip
"""The fields of the registry's schema, as of September 2026; it allows no others."""


def test_the_deployment_record_has_every_field_of_the_registry_and_nothing_is_left_open() -> None:
    found = yaml.safe_load(rich_bundle()["deployment.yaml"])
    assert set(found) == {"url_slug", "deployment"}
    assert {name: set(part) for name, part in found["deployment"].items()} == FIELDS
    for text in texts(found):
        assert text.strip()
        assert not any(word in text.lower() for word in ("pending", "todo", "tbd", "not stated"))


def test_the_deployment_record_uses_the_words_of_the_registry() -> None:
    parts = yaml.safe_load(rich_bundle()["deployment.yaml"])["deployment"]
    assert parts["basic"]["data_product_type"] == "Synthetic data"
    assert parts["basic"]["data_curators"] == [{"data_curator_name": "Mint <i>& Sons</i>", "data_curator_type": "Government"}]
    assert parts["basic"]["publication_date"] == "2026-03-04"
    assert parts["dp_variant"]["variant_name"] == "Pure DP"
    model = parts["deployment_model"]
    assert [model[name] for name in ("model_name", "release_type", "data_source_type", "access_type")] == [
        "Central", "One release", "Static", "Non-interactive",
    ]  # fmt: skip
    assert (parts["administrative"]["status"], parts["administrative"]["tier"]) == ("Draft", 3)


def test_the_deployment_record_says_by_which_test_rounds_end() -> None:
    found = release_document(rich_release(), {})
    test = JointTestPart(epsilon_exact="1", false_acceptance="1/50", margin=4)
    joint = found.model_copy(update={"selection": found.selection.model_copy(update={"joint_test": test})})
    assert b"until one meets all criteria" in b" ".join(deployment_bytes(found, Dataset.of(found)).split())
    assert b"until one passes one noisy test of all criteria together" in b" ".join(
        deployment_bytes(joint, Dataset.of(joint)).split()
    )


def test_the_deployment_record_states_what_release_json_states() -> None:
    parts = yaml.safe_load(rich_bundle()["deployment.yaml"])["deployment"]
    loss = parts["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": document()["guarantee"]["epsilon"]}
    assert loss["number_of_privacy_units"] == document()["domain"]["file_rows"] == 401
    for leaf in ("generation: epsilon 10 ", "criterion: pairs: epsilon 0.3333333334 ", "selection: epsilon 43.6666666667 "):
        assert leaf in loss["privacy_parameters_details"]
    assert "N = 401" in parts["dp_variant"]["unprotected_quantities"]
    assert "face == 'tail' and year > 6" in parts["dp_variant"]["data_domain"]
    for word in ("Floating point", "Timing", "Laplace mechanism", "PrivBayes", "functional mechanism", "A locked drawer."):
        assert word in parts["implementation"]["mechanisms"]
    assert len(parts["implementation"]["utility"].strip().splitlines()) == len(document()["criteria"])


def test_a_card_without_texts_gives_documents_too() -> None:
    found = with_card(CardTable())
    contents = written(found, ReleasedTable.of(rich_release().candidate), {"data.csv": 1})
    record = yaml.safe_load(contents["deployment.yaml"])["deployment"]
    assert record["implementation"]["justification"] == "Not stated by the publisher."
    assert json.loads(datapackage_bytes(found, Dataset.of(found, {"data.csv": 1})))["title"] == "Coins (synthetic data)"


# --- Markdown


def test_signs_that_mean_something_in_markdown_are_escaped() -> None:
    text = rich_bundle()["README.md"].decode()
    first, *rest = text.splitlines()
    assert first == "# " + r"\<b\>Coins\</b\> \& " + '"more"' + r" 'of' them \| \*all\*"
    assert "<b>" not in text
    tables = [line for line in rest if line.startswith("|")]
    widths = {line.replace(r"\|", "").count("|") for line in tables}
    assert widths == {3, 4, 6, 13}  # criteria: twelve columns, with the limit for the file


def test_markdown_shows_the_title_as_it_is_written() -> None:
    markdown_it = pytest.importorskip("markdown_it")
    html = markdown_it.MarkdownIt("commonmark").enable("table").render(rich_bundle()["README.md"].decode())
    escaped = TITLE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    assert f"<h1>{escaped}</h1>" in html
    for figure in ("46.6666666667", "0.3333333334", "140/3"):
        assert figure in html


# --- Tables


def test_both_tables_read_back_as_the_released_rows() -> None:
    table = ReleasedTable.of(rich_release().candidate)
    for name, read in (("data.csv", read_csv), ("data.parquet", read_parquet)):
        found = read(rich_bundle()[name], table.shape)
        assert found.counts.codes.tolist() == table.counts.codes.tolist()
        assert found.counts.counts.tolist() == table.counts.counts.tolist()


def test_parquet_keeps_the_order_of_bins_and_the_labels_that_do_not_occur() -> None:
    import io

    import pandas as pd

    frame = pd.read_parquet(io.BytesIO(rich_bundle()["data.parquet"]))
    assert frame["year"].cat.ordered
    assert not frame["face"].cat.ordered
    assert frame["year"].cat.categories.tolist() == ["1-2", "3-4", "5-6", "7-8"]
    tails = frame[frame["face"] == "tail"]["year"]
    assert "7-8" not in tails.unique()
    assert "7-8" in tails.cat.categories
