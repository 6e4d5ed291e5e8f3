"""The release of a country that ships: every command, as its demonstration runs them, and what its areas are worth."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.cli import releasing as demonstrating
from synthrelease.cli.releasing import Shipped
from synthrelease.spec.geography import Geography
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.demonstrations import shown as demonstration

pytestmark = pytest.mark.slow
CONFIG = ROOT / "configs" / "country.toml"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the demonstration, and what it printed."""
    questions = demonstrating.DEMONSTRATIONS[Shipped.country].questions[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demonstrating, "PEOPLE", 100_000)
        return demonstration(tmp_path_factory, Shipped.country, minutes=0.01, planned=100_000, questions=questions)


@pytest.fixture(scope="module")
def tables(shown: tuple[Path, str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The confidential people with the labels of the release, and the released ones."""
    with (ROOT / "configs" / "codes" / "country_municipality.csv").open(encoding="utf-8", newline="") as file:
        areas = pd.DataFrame(list(csv.DictReader(file))).set_index("code")
    people = pd.read_csv(shown[0] / "confidential" / "people.csv", dtype={"municipality": str})
    people["region"] = people["municipality"].map(areas["region"])
    people["municipality"] = people["municipality"].map(areas["label"])
    return people, pd.read_csv(shown[0] / "release" / "data.csv")


def test_every_command_says_what_the_levels_are(shown: tuple[Path, str]) -> None:
    output = " ".join(shown[1].split())
    assert "Areas: region (20) > municipality (300)" in output
    assert "areas with rows: 20 of 20 region" in output
    assert "Areas within areas" in (shown[0] / "release" / "README.md").read_text(encoding="utf-8")


def test_every_row_has_the_region_of_its_municipality(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    people, released = tables
    homes = people.drop_duplicates("municipality").set_index("municipality")["region"]
    assert (
        released["municipality"].map(homes).dropna() == released["region"][released["municipality"].isin(homes.index)]
    ).all()


def test_areas_are_as_far_off_as_the_plan_says(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Root mean square over all areas, beside one standard deviation."""
    people, released = tables
    value = load_spec(CONFIG).parts["geography"]
    assert isinstance(value, Geography)
    for level in value.noise["nested"]:
        counts = (table[level.column].value_counts() for table in (people, released))
        there, here = next(counts).align(next(counts), fill_value=0)
        assert len(there) > 0.9 * level.areas
        off = float(np.sqrt(((there - here) ** 2).mean()))
        assert 0.3 * level.rows < off < 1.7 * level.rows, (level.column, off, level.rows)
