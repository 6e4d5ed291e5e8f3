"""A release says what its columns are in the design of the sample: in release.json and every other file, and to Python."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from synthrelease.answers.estimates import estimate
from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_plan import option_problems
from synthrelease.bundle.write import write_bundle
from synthrelease.published import load
from synthrelease.published.document import read_leniently, read_strictly
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import MEASURED, write_config, write_data, write_measured_release

pytestmark = pytest.mark.slow

DESIGN = '[design]\nweight = "year"\nstrata = ["face"]\n\n'
IN_EVERY_FORM = '[bundle]\nformats = ["stata", "r"]\ncatalogues = ["ddi"]\n\n'
WEIGHT = {
    "rows = 400": 'rows = 400\none_row_per = "respondent"',
    'alternatives.pairs = ["1-2",': 'role = "weight"\nalternatives.pairs = ["1-2",',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("design")
    return write_measured_release(where, where / "bundle", {"[budget]": IN_EVERY_FORM + DESIGN + "[budget]", **WEIGHT})


GROUPS = """[design]
weight = "year"
weight_column = true
clusters = "tract"
groups = "part"

[columns.part]
kind = "category"
source = "tract"
role = "cluster_group"
categories = ["1", "2", "3", "4", "5", "6"]

"""


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a release with random groups of clusters and a column of weights; the file has the clusters."""
    work = tmp_path_factory.mktemp("clustered")
    changes = {**MEASURED, "[budget]": IN_EVERY_FORM + GROUPS + "[budget]", **WEIGHT}
    spec = load_spec(write_config(work, {old: new.replace("face:year", "face:year:part") for old, new in changes.items()}))
    lines = write_data(work).read_text().splitlines()
    lines = [f"{lines[0]},tract", *(f"{line},{place % 40}" for place, line in enumerate(lines[1:]))]
    (work / "coins.csv").write_text("\n".join(lines) + "\n")
    made = release(spec, work / "coins.csv")
    assert made is not None
    write_bundle(made, work / "bundle")
    return work / "bundle"


def test_groups_of_clusters_are_released_described_and_verified(clustered: Path) -> None:
    document = read_strictly((clustered / "release.json").read_bytes())
    assert [document.role_of(column) for column in document.columns] == ["answer", "weight", "cluster group"]
    assert "An answer has an interval for a population if its columns were measured together with part" in words(
        clustered / "README.md"
    )
    [term] = estimate(clustered, "share face == 'head' weighted").terms
    assert term.population_low < term.low  # type: ignore[operator]
    assert verify_bundle(clustered).passed


def test_the_released_rows_have_the_weight_as_a_number(clustered: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((clustered / "data.csv").read_text(encoding="utf-8"))))
    year = load(clustered).by_name["year"]
    numbers = dict(zip(year.labels, year.numbers, strict=True))
    assert all(float(row["weight"]) == numbers[row["year"]] for row in rows)
    fields = json.loads((clustered / "datapackage.json").read_text(encoding="utf-8"))["resources"][0]["schema"]["fields"]
    assert [field["description"] for field in fields if field["name"] == "weight"] == [
        "Weight: number of records that a row represents. Representative value of the row's class of year."
    ]
    variables = ElementTree.fromstring((clustered / "ddi.xml").read_bytes()).iter("{ddi:codebook:2_5}var")
    assert {variable.get("wgt-var") for variable in variables if variable.get("name") == "face"} == {"weight"}
    assert "svyset [pweight = weight]" in words(clustered / "read.do")
    document = read_strictly((clustered / "release.json").read_bytes())
    assert "calibration to totals" not in document.not_a_sample


def words(path: Path) -> str:
    return " ".join(path.read_text(encoding="utf-8").split())


def test_every_file_says_which_column_is_the_weight(folder: Path) -> None:
    pytest.importorskip("pyreadstat", reason="needs the extra formats")
    document = read_strictly((folder / "release.json").read_bytes())
    assert [document.role_of(column) for column in document.columns] == ["stratum", "weight"]
    fields = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))["resources"][0]["schema"]["fields"]
    assert [field.get("role") for field in fields] == ["stratum", "weight"]
    variables = ElementTree.fromstring((folder / "ddi.xml").read_bytes()).iter("{ddi:codebook:2_5}var")
    weights = {
        variable.get("name"): (variable.get("ID"), variable.get("wgt"), variable.get("wgt-var")) for variable in variables
    }
    assert weights["year"][1:] == ("wgt", None)
    assert weights["face"][2] == weights["year"][0]
    assert "svyset [pweight = year_number], strata(face)" in words(folder / "read.do")
    assert 'data[["year_number"]] <- unname(numbers[["year"]][as.character(data[["year"]])])' in words(folder / "read.R")
    assert "year is the number of persons that a respondent represents" in words(folder / "README.md")
    assert 'Statistics that begin with "weighted" weight every row of the original file by its `year`' in words(
        folder / "QUESTIONS.md"
    )


def test_python_has_the_weight_as_a_number(folder: Path) -> None:
    release = load(folder)
    numbers = dict(zip(release.by_name["year"].labels, release.by_name["year"].numbers, strict=True))
    assert release.design_weights is not None
    np.testing.assert_array_equal(release.design_weights, [numbers[label] for label in release.table()["year"]])


def test_weighted_answers_are_listed_and_verified(folder: Path) -> None:
    lines = list(csv.DictReader(io.StringIO((folder / "estimates.csv").read_text(encoding="utf-8"))))
    [line] = [
        line for line in lines if (line["statistic"], line["column"], line["value"]) == ("weighted share", "face", "head")
    ]
    [term] = estimate(folder, "share face == 'head' weighted").terms
    assert float(line["lower"]) == pytest.approx(term.low, rel=1e-5)
    assert float(line["population_upper"]) == pytest.approx(term.population_high, rel=1e-5)
    assert verify_bundle(folder).passed


def test_the_design_is_that_of_the_specification(folder: Path) -> None:
    document = read_strictly((folder / "release.json").read_bytes())
    spec = load_spec(folder.parent / "coins.toml")
    assert list(option_problems(document, spec)) == []
    assert document.design is not None
    forged = document.model_copy(update={"design": document.design.model_copy(update={"weight": "face"})})
    assert list(option_problems(forged, spec)) == ["design.weight: release.json has 'face', the specification gives 'year'"]
    assert read_leniently(forged.model_copy(update={"design": None}).dumped()).design is None
