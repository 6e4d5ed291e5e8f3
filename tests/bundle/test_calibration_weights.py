"""Weights of a released table in the files of its bundle."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import synthrelease
from synthrelease.bundle.preview import preview, rewritten
from synthrelease.bundle.verify import verify_files
from synthrelease.errors import OtherRelease
from synthrelease.published.document import read_strictly
from tests.bundle.verify.test_verify import resealed
from tests.helpers.cards import rich_bundle, rich_release, write_files
from tests.helpers.weighting import weighted_bundle, weighted_spec

CAPPED = {"cap = 4": "cap = 1.01"}
"""Limits within which no table of this release has the totals."""


@cache
def bundle() -> Mapping[str, bytes]:
    return weighted_bundle()


def rows(files) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files["data.csv"].decode())))


def test_the_table_has_the_totals_by_a_further_last_column() -> None:
    """Counted from the texts of the file."""
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows(bundle()):
        sums["face", row["face"]] += float(row["weight"])
        sums["year", row["year"]] += float(row["weight"])
    assert list(rows(bundle())[0])[-1] == "weight"
    assert sums["face", "head"] == pytest.approx(6000, rel=1e-7)
    assert sums["face", "tail"] == pytest.approx(4000, rel=1e-7)
    assert sums["year", "1-2"] + sums["year", "3-4"] == pytest.approx(7000, rel=1e-7)
    assert (sums["year", "5-6"], sums["year", "7-8"]) == pytest.approx((2000, 1000), rel=1e-7)


def test_equal_rows_have_equal_weights_and_nothing_else_of_the_release_changes() -> None:
    of_rows = defaultdict(set)
    for row in rows(bundle()):
        of_rows[row["face"], row["year"]].add(row["weight"])
    assert all(len(weights) == 1 for weights in of_rows.values())
    assert [(row["face"], row["year"]) for row in rows(bundle())] == [(row["face"], row["year"]) for row in rows(rich_bundle())]
    with_weights, without = (json.loads(files["release.json"]) for files in (bundle(), rich_bundle()))
    part = with_weights.pop("calibration")
    assert part["source"] == "The mint's <yearbook>, table 2."
    assert with_weights["flavour"]["scope"].pop("published_figures") == ["calibration.margins"]
    assert without["flavour"]["scope"].pop("published_figures") == []
    assert {key for key in without if with_weights[key] != without[key]} == {"files"}
    assert rich_release().spec.digest == with_weights["specification"]


def test_the_figures_are_those_of_the_column() -> None:
    weights = pd.Series([float(row["weight"]) for row in rows(bundle())])
    stated = json.loads(bundle()["release.json"])["calibration"]["weights"]
    assert (stated["smallest"], stated["largest"]) == (weights.min(), weights.max())
    assert stated["design_effect"] == pytest.approx(1 + weights.var(ddof=0) / weights.mean() ** 2, rel=1e-9)
    assert stated["deviation"] < 1e-7


def test_every_document_names_the_column() -> None:
    fields = json.loads(bundle()["datapackage.json"])["resources"][0]["schema"]["fields"]
    assert (fields[-1]["name"], fields[-1]["type"]) == ("weight", "number")
    assert "raked from the released rows to published totals" in " ".join(bundle()["deployment.yaml"].decode().split())
    for name in ("README.html", "README.md"):
        text = bundle()[name].decode()
        assert (
            "number of records that a row represents" in text or "how many records of the population a row represents" in text
        )
        assert "yearbook" in text
    assert "The mint&#39;s &lt;yearbook&gt;, table 2." in bundle()["README.html"].decode()


def test_frictionless_reads_the_weights_as_numbers(tmp_path: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    report = frictionless.validate(str(write_files(bundle(), tmp_path / "bundle") / "datapackage.json"))
    assert report.valid, report.flatten()


def test_a_loaded_release_has_the_weights_beside_its_rows(tmp_path: Path) -> None:
    found = synthrelease.load(write_files(bundle(), tmp_path / "bundle"))
    assert found.weights is not None
    assert found.table().columns.tolist() == ["face", "year"]
    assert found.weights.tolist() == [float(row["weight"]) for row in rows(bundle())]
    assert synthrelease.load(write_files(rich_bundle(), tmp_path / "other")).weights is None


def test_a_table_that_cannot_have_the_totals_is_released_without_weights() -> None:
    """What was paid for is not lost, and what is missing is said."""
    found = weighted_bundle(CAPPED)
    assert found["data.csv"] == rich_bundle()["data.csv"]
    part = json.loads(found["release.json"])["calibration"]
    assert part["weights"] is None
    assert "because of the cap" in part["failed"]
    assert part["failed"] in found["README.html"].decode().replace("&#39;", "'")
    assert "The table has no weights" in found["README.md"].decode()
    assert verify_files(found).passed


def test_a_mistake_in_raking_loses_no_release_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> None:
        raise ZeroDivisionError("of a value")

    monkeypatch.setattr("synthrelease.published.options.raked", failing)
    part = json.loads(weighted_bundle()["release.json"])["calibration"]
    assert part["failed"] == "the weights could not be computed (ZeroDivisionError)"


def test_other_totals_are_put_into_a_finished_bundle(tmp_path: Path) -> None:
    """From none, from other ones, and back to none: as if the release had been written so at once."""
    again = rewritten(rich_bundle(), weighted_spec(tmp_path))
    assert again == {name: bundle()[name] for name in again}
    assert {"data.csv", "data.parquet", "release.json", "README.html"} <= set(again)
    (tmp_path / "other").mkdir()
    capped = rewritten(bundle(), weighted_spec(tmp_path / "other", CAPPED))
    assert capped["data.csv"] == rich_bundle()["data.csv"]
    assert verify_files(resealed({**bundle(), **capped})).passed
    back = rewritten(bundle(), rich_release().spec)
    assert back == {name: rich_bundle()[name] for name in back}


def test_totals_are_not_put_into_a_release_of_another_specification(tmp_path: Path) -> None:
    spec = weighted_spec(tmp_path)
    config = tmp_path / "coins.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("generation = 10", "generation = 9"), encoding="utf-8")
    assert spec.digest == rich_release().spec.digest
    with pytest.raises(OtherRelease):
        rewritten(bundle(), synthrelease.spec.load.load_spec(config))  # type: ignore[attr-defined]


def test_the_preview_of_a_calibrated_release_has_a_section_on_weights(tmp_path: Path) -> None:
    assert "how many records of the population a row represents" in preview(weighted_spec(tmp_path))["README.html"].decode()


def test_what_release_json_says_about_weights_is_read_as_it_was_written() -> None:
    for files in (bundle(), weighted_bundle(CAPPED)):
        document = read_strictly(files["release.json"])
        assert document.dumped() == files["release.json"]
        part = document.calibration
        assert part is not None
        assert part.calibration(document.columns).margins[1].labels == (("<=4", "5-6", ">6"),)
    assert read_strictly(rich_bundle()["release.json"]).calibration is None
