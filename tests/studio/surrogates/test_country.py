"""The simulated country: sizes with a heavy tail, areas that are the same for every seed, and who can be what."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import ROOT

SCRIPT = runpy.run_path(str(ROOT / "public_data" / "simulate_country.py"))
FACTS = SCRIPT["read_facts"]()


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    found: pd.DataFrame = SCRIPT["simulate"](FACTS, 40_000, 3, 60, 5)
    return found


def test_the_same_seed_and_year_give_the_same_people_and_others_do_not() -> None:
    first, again, other, later = (
        SCRIPT["simulate"](FACTS, 300, seed, 20, 3, year) for seed, year in ((3, 2024), (3, 2024), (4, 2024), (3, 2025))
    )
    assert first.equals(again)
    assert not first.equals(other)
    assert not first.equals(later)
    with pytest.raises(ValueError, match="--people: expected at least 1, found 0"):
        SCRIPT["simulate"](FACTS, 0, 3, 20, 3)
    with pytest.raises(ValueError, match="--regions: expected from 1 to 20"):
        SCRIPT["simulate"](FACTS, 10, 3, 20, 21)


def test_many_municipalities_are_small_and_few_are_large() -> None:
    """Of 10,000 with 55 million people; nobody is drawn for it."""
    areas = SCRIPT["Areas"](FACTS, 10_000, 100)
    size = 55e6 * areas.size
    assert size.sum() == pytest.approx(55e6)
    assert 1000 < np.median(size) < 2000
    assert 400_000 < size.max() < 3_000_000
    assert (np.diff(areas.region) >= 0).all()
    assert len(np.unique(areas.region)) == 100


def test_the_codelist_that_ships_is_that_of_the_demonstration(tmp_path: Path) -> None:
    written = SCRIPT["write_codelist"](FACTS, 300, 20, tmp_path / "codelist.csv")
    assert written.read_bytes() == (ROOT / "configs" / "codes" / "country_municipality.csv").read_bytes()
    with written.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert (len(lines), len({line["region"] for line in lines})) == (300, 20)


def test_children_have_no_education_and_no_work_and_others_do(people: pd.DataFrame) -> None:
    child = people["age"] < 16
    assert set(people.loc[child, "education"]) == {"none"}
    assert set(people.loc[child, "employment"]) == {"child"}
    assert set(people.loc[~child, "education"]) == {"low", "middle", "high"}
    assert set(people.loc[~child, "employment"]) == {"employed", "unemployed", "student", "at home"}


def test_people_differ_with_the_size_of_their_municipality(people: pd.DataFrame) -> None:
    areas = SCRIPT["Areas"](FACTS, 60, 5)
    size = people["municipality"].map(dict(zip(areas.names, areas.size, strict=True)))
    large = size > size.median()
    assert (people["age"][large] >= 65).mean() < (people["age"][~large] >= 65).mean() - 0.02
    assert (people["education"][large] == "high").mean() > (people["education"][~large] == "high").mean() + 0.03
