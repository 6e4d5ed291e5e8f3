"""Areas within areas in a public file: the question that a draft asks, and the draft that `--areas` makes."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.drafting import draft, write_draft
from synthrelease.errors import InputError
from synthrelease.specification.spec import load_spec

N, TOWNS, REGIONS = 6_000, 60, 5
ASKED = "region > town"


def register(path: Path, *, wandering: bool = False) -> Path:
    """Towns in regions: every tenth one in the same; age and work hang together."""
    random = np.random.default_rng(5)
    town = random.integers(0, TOWNS, N)
    age = random.integers(18, 90, N)
    region = town % REGIONS
    if wandering:
        region[17] += 1
    frame = pd.DataFrame(
        {
            "region": np.array(["North", "East", "South", "West", "Isles", "none"])[region],
            "town": [f"T{one:03d}" for one in town],
            "age": age,
            "work": np.where(age >= 65, "no", np.where(random.random(N) < 0.8, "yes", "no")),
            "sex": random.choice(["f", "m"], N),
        }
    )
    frame.to_csv(path, index=False)
    return path


def test_a_draft_asks_about_columns_of_which_one_tells_the_other(tmp_path: Path) -> None:
    found = draft("towns", register(tmp_path / "people.csv"), unit="row")
    [doubtful] = [column for column in found.columns if "areas within areas" in column.doubt]
    assert doubtful.source == "region"
    assert f"--areas {ASKED!r}" in doubtful.doubt
    assert "[geography]" not in found.configuration


def test_it_does_not_where_one_row_says_otherwise(tmp_path: Path) -> None:
    found = draft("towns", register(tmp_path / "people.csv", wandering=True), unit="row")
    assert not [column for column in found.columns if "areas within areas" in column.doubt]


def test_the_answer_drafts_all_areas_in_their_levels(tmp_path: Path) -> None:
    path = register(tmp_path / "people.csv")
    configuration, _, found = write_draft("towns", path, tmp_path, unit="row", areas=ASKED)
    spec = load_spec(configuration)
    layout = spec.space[0].transformation.layout
    sizes = dict(zip(layout.columns, layout.sizes, strict=True))
    assert (sizes["region"], sizes["town"]) == (REGIONS, TOWNS)
    assert spec.parts["geography"].chain == ("region", "town")
    generator = spec.space.generators[0]
    assert generator.family in ("nested", "nested_pure")
    measured = {tuple(layout.columns[one] for one in columns) for columns in generator.fixed_tables(layout)}
    assert any("town" in columns for columns in measured)
    assert any("region" in columns for columns in measured)
    assert any({"age", "work"} <= set(columns) for columns in measured)
    with (tmp_path / "configs" / "codes" / "towns-town.csv").open() as file:
        homes = {row["code"]: row["region"] for row in csv.DictReader(file)}
    people = pd.read_csv(path)
    assert homes == dict(zip(people["town"], people["region"], strict=True))
    assert "rows of each town" in {each.settings["name"] for each in found.criteria.criteria}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("town > region", "without gaps"),
        ("region > village", "columns of the file"),
        ("town", "different columns"),
        ("age > town", "without gaps"),
    ],
)
def test_what_is_no_answer(asked: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        draft("towns", register(tmp_path / "people.csv"), unit="row", areas=asked)


def test_areas_that_do_not_lie_within_one_another_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found one in several"):
        draft("towns", register(tmp_path / "people.csv", wandering=True), unit="row", areas=ASKED)
