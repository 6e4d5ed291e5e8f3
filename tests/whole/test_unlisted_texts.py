"""Codes that a public list does not know, and codes that are the beginning of a text, from the file to the bundle."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import synthrelease
from synthrelease.bundle.verify import verify_bundle
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Column, Schema
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import SpecError
from synthrelease.settings.columns import InputTable
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import ACCEPTANCE, PIPELINE

PLACE = """
[columns.place]
kind = "code"
codes = { "01" = "Aach", "02" = "Bern", "99" = "unknown" }
alternatives.side = { west = ["01"], east = ["02", "99"] }
alternatives.known = { known = ["01", "02"], "all others" = ["99"] }
outside = "bin"
outside_label = "all others"
"""
DIAGNOSIS = """
[columns.diagnosis]
kind = "code"
characters = 1
codes = { I = "Circulation", J = "Respiration" }
missing_values = ["J99.9"]
outside = "bin"
"""
HEAD = """
title = "Stays"
acceptance = "acceptance.toml"

[input]
missing = "bin"

[transformations]
place = ["side"]
"""
RULE = """
[[rules]]
never = "place.side == 'all others' and diagnosis == 'other'"
applies_to = ["synthetic"]
"""
TEXTS = ["01", " 02", "99", "99.0", "3", "", "Aach"]
MEANT = ["Aach", "Bern", "unknown", "unknown", "all others", "missing", "all others"]


def config(folder: Path, columns: str = PLACE + DIAGNOSIS, rule: str = RULE) -> Path:
    (folder / "acceptance.toml").write_text(ACCEPTANCE)
    (folder / "stays.toml").write_text(HEAD + columns + rule + PIPELINE)
    return folder / "stays.toml"


def mistake(folder: Path, columns: str) -> str:
    with pytest.raises(SpecError) as caught:
        load_spec(config(folder, columns, ""))
    return str(caught.value).removeprefix(f"{folder}/stays.toml: ")


def read_as(folder: Path, column: Column, texts: list[str]) -> list[str]:
    """What each text becomes, read alone."""
    found = []
    for text in texts:
        (folder / "one.csv").write_text(f'{column.source},more\n"{text}",\n')
        schema = Schema(columns=(column,))
        counts = read_public(folder / "one.csv", schema, InputTable(), Plausibility(layout=schema.layout, masks=()))
        found += [column.atoms.labels[digit] for digit in counts.digits(0)]
    return found


def test_a_text_that_is_not_listed_becomes_the_category_of_all_others(tmp_path: Path) -> None:
    column = load_spec(config(tmp_path)).schema["place"]
    assert read_as(tmp_path, column, TEXTS) == MEANT


def test_the_first_characters_are_the_code_and_the_whole_text_says_what_is_missing(tmp_path: Path) -> None:
    column = load_spec(config(tmp_path)).schema["diagnosis"]
    texts = ["I", "I21.4", " J10", "J99.9", " J99.9 ", "Z", "i21", ""]
    meant = ["Circulation", "Circulation", "Respiration", "missing", "missing", "other", "other", "missing"]
    assert read_as(tmp_path, column, texts) == meant


def test_of_a_number_that_was_written_with_a_point_the_digits_count(tmp_path: Path) -> None:
    digits = (
        PLACE.replace('"01" =', '"12" =')
        .replace('["01"', '["12"')
        .replace('outside = "bin"', 'characters = 2\noutside = "bin"')
    )
    column = load_spec(config(tmp_path, digits + DIAGNOSIS)).schema["place"]
    assert read_as(tmp_path, column, ["12", "12.0", "1234", "1234.0", "1.0", "99.5"]) == [
        *["Aach"] * 4,
        "all others",
        "unknown",
    ]


def test_a_group_of_its_name_takes_it_in_and_otherwise_it_is_a_group_by_itself(tmp_path: Path) -> None:
    column = load_spec(config(tmp_path)).schema["place"]
    unlisted = column.atoms.labels.index("all others")
    grouped = {name: binning.labels[binning.of_atom[unlisted]] for name, binning in column.alternatives.items()}
    assert grouped == {"side": "all others", "known": "all others"}
    assert column.alternatives["side"].labels == ("west", "east", "all others", "missing")
    assert column.alternatives["known"].of_atom[2] == column.alternatives["known"].of_atom[unlisted]


def test_a_listed_category_may_take_the_others_in(tmp_path: Path) -> None:
    listed = PLACE.replace('"all others"', '"unknown"').replace('outside_label = "all others"', 'outside_label = "unknown"')
    column = load_spec(config(tmp_path, listed + DIAGNOSIS, "")).schema["place"]
    assert column.atoms.labels == ("Aach", "Bern", "unknown", "missing")
    assert read_as(tmp_path, column, ["17", "99"]) == ["unknown", "unknown"]


def test_nothing_is_left_out_so_nothing_is_counted(tmp_path: Path) -> None:
    assert load_spec(config(tmp_path)).rows.way == "whole"
    dropping = PLACE.replace('outside = "bin"\noutside_label = "all others"', 'outside = "drop"')
    assert load_spec(config(tmp_path, dropping + DIAGNOSIS, "")).rows.way == "counted"


MISTAKES = [
    (
        PLACE.replace('"bin"', '"drop"') + DIAGNOSIS,
        "columns.place.outside_label: `outside_label` needs outside = 'bin'. Here, outside = 'drop'.",
    ),
    (
        PLACE.replace("all others", "02") + DIAGNOSIS,
        "columns.place.outside_label: The label '02' is already the code of another label.",
    ),
    (
        PLACE + DIAGNOSIS.replace("J =", '"J10" ='),
        "columns.diagnosis.codes: The code 'J10' has more characters than `characters` states (1).",
    ),
    (
        PLACE + '[columns.age]\nkind = "integer"\nbounds = [0, 9]\noutside = "bin"\nalternatives.each = ["0..9"]\n',
        "columns.age.outside: expected 'clip', 'drop' or 'error' in a column of numbers, found 'bin'.",
    ),
    (
        PLACE + '[columns.size]\nkind = "category"\ncategories = ["S", "M"]\nordered = true\noutside = "bin"\n',
        "columns.size.outside_label: expected one of the ordered categories, found 'other'.",
    ),
    (
        PLACE + '[columns.size]\nkind = "category"\ncategories = ["S", "M"]\ncharacters = 1\n',
        "columns.size.characters: Delete `characters`: a column of categories cannot have it.",
    ),
]


@pytest.mark.parametrize(("columns", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_what_cannot_be_is_refused(tmp_path: Path, columns: str, message: str) -> None:
    assert mistake(tmp_path, columns) == message


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, drawn = tmp_path_factory.mktemp("stays"), random.Random(1)
    rows = [(drawn.choice(["01", "02", "77", ""]), drawn.choice(["I21", "J10.0", "K35", "J99.9"])) for _ in range(400)]
    (folder / "stays.csv").write_text("place,diagnosis\n" + "".join(f"{place},{code}\n" for place, code in rows))
    assert synthrelease.release(config(folder), folder / "stays.csv", folder / "release") is not None
    return folder


def problems(folder: Path) -> str:
    return " ".join(problem for check in verify_bundle(folder).checks for problem in check.problems)


@pytest.mark.slow
def test_the_release_has_them_follows_its_rules_and_says_so(folder: Path) -> None:
    assert problems(folder / "release") == ""
    table = pd.read_csv(folder / "release/data.csv")
    assert set(table["place"]) == {"west", "east", "all others", "missing"}
    assert set(table["diagnosis"]) == {"Circulation", "Respiration", "other", "missing"}
    assert not np.any((table["place"] == "all others") & (table["diagnosis"] == "other"))
    document = json.loads((folder / "release/release.json").read_text())
    assert document["format"] == 1
    assert [(one["outside"], one["outside_label"]) for one in document["schema"]] == [("bin", "all others"), ("bin", "other")]
    assert document["schema"][1]["characters"] == 1
    card = (folder / "release/README.md").read_text()
    assert "Of the original codes, only the first character is used." in card
    assert "| all others | any text that no other category lists |" in card
    sentence = (
        "Texts that no category lists were counted in a separate category of these columns: place ('all others'); diagnosis "
        "('other')."
    )
    for name in ("README.md", "README.html", "deployment.yaml"):
        text = " ".join((folder / "release" / name).read_text().replace("&#39;", "'").replace("''", "'").split())
        assert sentence in text, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outside_label": "nowhere"}, "a category for unlisted texts is required"),
        ({"outside": "drop"}, "a category for unlisted texts is required"),
    ],
)
def test_a_document_that_says_otherwise_is_found(folder: Path, tmp_path: Path, change: dict[str, str], message: str) -> None:
    for path in (folder / "release").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    document = json.loads((tmp_path / "release.json").read_text())
    document["schema"][0].update(change)
    (tmp_path / "release.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    assert message in problems(tmp_path)
