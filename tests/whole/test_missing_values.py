"""A release whose columns have bins of missing values, from the file to the bundle, its check and a bound."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import synthrelease
from synthrelease.answers.questions import parse_condition
from synthrelease.bundle.verify import verify_bundle
from synthrelease.errors import InputError
from synthrelease.published import load
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import ACCEPTANCE, PIPELINE

NO_LONG_ACCIDENT = """
[[rules]]
never = "reason == 'accident' and hours >= 24"
"""
CONFIG = (
    """
title = "Visits"
acceptance = "acceptance.toml"

[input]
missing = "bin"
outside = "error"

[columns.reason]
kind = "category"
categories = { accident = ["1"], illness = ["2"] }
missing_label = "not asked"
missing_values = ["8", "9"]

[columns.hours]
kind = "integer"
bounds = [0, 48]
alternatives.four = ["<6", "6-11", "12-23", ">=24"]
"""
    + NO_LONG_ACCIDENT
    + """
[[rules]]
never = "reason is missing and not hours is missing and hours < 6"
applies_to = ["synthetic"]
"""
    + PIPELINE.replace("stop_probability = 0.001", "stop_probability = 0")  # so that no price asks for a later format
)
GROUPS = """
[groups]
hours = ["<12", ">=12"]
"""
ROWS = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("visits")
    (folder / "visits.toml").write_text(CONFIG)
    (folder / "acceptance.toml").write_text(GROUPS + ACCEPTANCE)
    drawn = random.Random(1)
    rows = [(drawn.choice(["1", "2", "8", ""]), drawn.choice(["", "3", "7", "13"])) for _ in range(ROWS)]
    (folder / "visits.csv").write_text("reason,hours\n" + "".join(f"{reason},{hours}\n" for reason, hours in rows))
    assert synthrelease.release(folder / "visits.toml", folder / "visits.csv", folder / "release") is not None
    return folder


def problems(folder: Path) -> str:
    return " ".join(problem for check in verify_bundle(folder).checks for problem in check.problems)


def test_nothing_is_left_out_so_nothing_is_counted(folder: Path) -> None:
    (folder / "whole.toml").write_text(CONFIG.replace(NO_LONG_ACCIDENT, ""))
    assert load_spec(folder / "whole.toml").rows.way == "whole"
    assert load_spec(folder / "visits.toml").rows.way == "counted"  # the first rule leaves rows of the file out


def test_every_check_of_the_bundle_passes_and_its_documents_say_what_the_label_means(folder: Path) -> None:
    assert problems(folder / "release") == ""
    document = json.loads((folder / "release/release.json").read_text())
    reason, hours = document["schema"]
    assert (reason["missing"], reason["missing_values"]) == ("bin", ["8", "9"])
    assert reason["bins"][-1] == {"label": "not asked", "missing": True}
    assert hours["bins"][-1] == {"label": "missing", "missing": True}
    assert document["groups"]["hours"][-1] == {"label": "missing", "missing": True}
    package = json.loads((folder / "release/datapackage.json").read_text())
    fields = next(resource["schema"]["fields"] for resource in package["resources"] if resource["path"] == "data.csv")
    assert (fields[0]["missingValues"], fields[0]["categories"]) == (["not asked"], ["accident", "illness"])
    for name in ("README.md", "README.html", "deployment.yaml"):
        text = " ".join((folder / "release" / name).read_text().replace("&#39;", "'").replace("''", "'").split())
        assert "Missing values were counted in a separate bin of these columns" in text, name
        assert "reason ('not asked'); hours ('missing')" in text, name
    assert "no value (the original file may write 8, 9)" in (folder / "release/README.md").read_text()


def test_the_table_has_the_labels_and_follows_the_rules(folder: Path) -> None:
    table = pd.read_csv(folder / "release/data.csv", keep_default_na=False)
    assert set(table["reason"]) == {"not asked", "accident", "illness"}
    assert "missing" in set(table["hours"])
    assert not ((table["reason"] == "not asked") & (table["hours"] == "<6")).any()
    assert not ((table["reason"] == "accident") & (table["hours"] == ">=24")).any()


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("hours < 12", {"<6", "6-11"}),
        ("not hours < 12", {"12-23", ">=24"}),
        ("hours is missing", {"missing"}),
        ("hours is not missing", {"<6", "6-11", "12-23", ">=24"}),
        ("hours < 6 or hours is missing", {"<6", "missing"}),
        ("hours < 6 or not hours < 6", {"<6", "6-11", "12-23", ">=24"}),
        ("reason != 'illness'", {"accident"}),
        ("not reason in ['accident', 'illness']", set()),
    ],
)
def test_a_condition_never_holds_for_a_missing_value_unless_it_asks_for_it(folder: Path, condition: str, met: set[str]) -> None:
    release = load(folder / "release")
    column = release.by_name[condition.removeprefix("not ").split()[0]]
    mask = parse_condition(condition, release).mask((column,))
    assert {label for label, holds in zip(column.labels, mask, strict=True) if holds} == met


def test_a_mean_is_asked_over_the_rows_that_have_a_value(folder: Path) -> None:
    release = load(folder / "release")
    hours = release.table()["hours"].astype(str)
    known = {"<6": 6.0, "6-11": 8.5, "12-23": 17.5, ">=24": 24.0}
    found = synthrelease.bound(release, mean="hours")
    assert found.answer == pytest.approx(hours[hours != "missing"].map(known).mean())
    assert synthrelease.bound(release, "hours is missing").answer == (hours == "missing").sum()
    with pytest.raises(InputError, match="'not asked' is not a category of 'reason'. Its categories are 'accident', 'illness'"):
        synthrelease.bound(release, "reason == 'not asked'")


WRONG: list[tuple[Callable[[list[dict[str, Any]]], object], str]] = [
    (lambda schema: schema[1]["bins"].reverse(), "the last bin and no other must contain missing values"),
    (lambda schema: schema[1]["bins"].pop(), "the last bin and no other must contain missing values"),
    (
        lambda schema: schema[1]["bins"].append({"label": schema[1]["bins"].pop()["label"], "number": 0, "missing": True}),
        "a bin of missing values must contain nothing else",
    ),
    (
        lambda schema: [column.update(missing="drop") for column in schema],
        "the last bin and no other must contain missing values",
    ),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_document_with_a_wrong_missing_bin_is_found(
    folder: Path, tmp_path: Path, change: Callable[[list[dict[str, Any]]], object], message: str
) -> None:
    for path in (folder / "release").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    document = json.loads((tmp_path / "release.json").read_text())
    change(document["schema"])
    (tmp_path / "release.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    assert message in problems(tmp_path)
