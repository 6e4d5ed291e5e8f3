"""Areas within areas in a public file: the question that a draft asks, and the draft that `--areas` makes."""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace, RoundedGaussian
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.column_draft import CodeDraft, ColumnDraft
from synthrelease.studio.drafting.columns import drafted_columns, with_areas
from synthrelease.studio.drafting.options import AreasDraft, AreaTables
from synthrelease.studio.drafting.public_file import read_public_file
from tests.helpers.drafts import draft, write_draft

N, TOWNS, REGIONS = 6_000, 60, 5
ASKED = "region > town"


def register(path: Path, *, wandering: bool = False) -> Path:
    """Towns in regions: every tenth one in the same; age and work are associated."""
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


@pytest.mark.slow
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
        ("town > region", "at most 200 areas"),
        ("region > village", "the file has no column 'village'"),
        ("town", "different columns"),
        ("age > town", "at most 200 areas"),
    ],
)
def test_what_is_no_answer(asked: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        draft("towns", register(tmp_path / "people.csv"), unit="row", areas=asked)


def test_areas_that_do_not_lie_within_one_another_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must lie in one"):
        draft("towns", register(tmp_path / "people.csv", wandering=True), unit="row", areas=ASKED)


def test_rows_without_an_area_say_nothing_about_where_the_others_lie(tmp_path: Path) -> None:
    """A gap in one column or in both; every town keeps the region that its other rows have."""
    people = pd.read_csv(register(tmp_path / "people.csv"))
    home = dict(zip(people["town"], people["region"], strict=True))
    people.loc[:5, "town"], people.loc[3:9, "region"] = "", ""
    people.to_csv(tmp_path / "gaps.csv", index=False)
    file = read_public_file(tmp_path / "gaps.csv")
    columns, left_out, *_ = drafted_columns(file, {})
    found, others, _ = with_areas(ASKED, file, {}, columns, left_out)
    assert found.column.levels == {"region": home}
    assert "town" not in {column.name for column in others}
    assert found.column.missing_rows == 6


@pytest.mark.slow
def test_households_with_their_persons_are_drafted_with_areas_and_the_ages_stay(tmp_path: Path) -> None:
    """Ages have an open bin under 5, whose mean is none of the bins that members have: the column was lost for it."""
    random, roots, members = np.random.default_rng(7), [], []
    for key in range(1_500):
        town, rooms = int(random.integers(0, 20)), int(random.integers(1, 5))
        roots.append((key, f"R{town % 4}", f"T{town:02d}", rooms))
        members += [
            (key, int(random.integers(0, 90)), "yes" if random.random() < rooms / 5 else "no") for _ in range(1 + key % 2)
        ]
    pd.DataFrame(roots, columns=["hh", "region", "town", "rooms"]).to_csv(tmp_path / "roots.csv", index=False)
    pd.DataFrame(members, columns=["hh", "age", "work"]).to_csv(tmp_path / "members.csv", index=False)
    configuration, _, found = write_draft(
        "homes", tmp_path / "roots.csv", tmp_path, unit="row", members=tmp_path / "members.csv", key="hh", areas=ASKED
    )
    assert found.members is not None
    assert [column.name for column in found.members.columns] == ["age", "work"]
    spec = load_spec(configuration)
    assert spec.parts["geography"].chain == ("region", "town")
    assert {"age_1", "work_2", "region", "town"} <= set(spec.space[0].transformation.layout.columns)
    assert "rows of each town" in {each.settings["name"] for each in found.criteria.criteria}
    assert "members" in {each.settings.get("of") for each in found.criteria.criteria}


BINS = {"region": 4, "town": 100, "rooms": 5, "age": 20, "sex": 2}
WHOLE = [("age", "rooms"), ("sex", "age")]


@pytest.mark.parametrize("noise", [RoundedGaussian, DiscreteLaplace])
def test_a_level_that_would_get_next_to_nothing_gets_a_tenth(noise: type[CountNoise]) -> None:
    """140 cells of the whole at 0.002 weigh 70,000, four regions at 0.01 only 400."""
    shares = AreaTables.of(WHOLE, {"region": [], "town": []}, BINS, noise).shares
    assert sum(shares.values()) == 1
    assert [float(shares[level]) for level in (("region",), ("town",))] == pytest.approx([0.1, 0.1], rel=0.05)


def test_levels_with_enough_are_left_as_they_are_wanted() -> None:
    """20,000 cells of a region at 0.01 weigh 2 million, 140 of the whole 70,000."""
    found = AreaTables.of(WHOLE, {"region": ["many"], "town": ["rooms"]}, {**BINS, "many": 5_000}, RoundedGaussian)
    assert found.wanted.split(" > ")[:2] == ["0.002", "0.01"]


@pytest.mark.parametrize("rho", [Fraction(1, 4), Fraction(1, 100), Fraction(1, 2_000), Fraction(1, 100_000)])
def test_areas_have_the_tables_of_which_a_mean_cell_bears_the_noise(rho: Fraction) -> None:
    """Gaussian noise has variance 1 over the rho of its table; with one more table of towns the largest does not bear it."""
    codes = {name: dict.fromkeys(map(str, range(BINS[name])), CodeDraft(label="", rows=1)) for name in ("region", "town")}
    region, town = (ColumnDraft(name=name, source=name, kind="code", remark="", codes=codes[name]) for name in codes)
    sizes, n_rows = {name: size for name, size in BINS.items() if name != "town"}, 20_000
    found = AreasDraft(levels=(region,), column=town).measured(["age:rooms", "sex:age"], sizes, n_rows, rho, RoundedGaussian)

    def part_of_cell(tables: AreaTables, table: tuple[str, ...]) -> float:
        return math.sqrt(1 / (rho * tables.shares[table])) / (n_rows / math.prod(BINS[name] for name in table))

    own = {level: [table[1] for table in found.shares if table[0] == level and len(table) == 2] for level in codes}
    for level, names in own.items():
        assert names == ["sex", "rooms", "age"][: len(names)]
        assert all(part_of_cell(found, (level, name)) <= 0.5 for name in names)
    if len(own["town"]) < 3:
        more = {**own, "town": ["sex", "rooms", "age"][: len(own["town"]) + 1]}
        assert part_of_cell(AreaTables.of(WHOLE, more, BINS, RoundedGaussian), ("town", more["town"][-1])) > 0.5
    assert len(own["town"]) == {4: 3, 100_000: 0}.get(rho.denominator, len(own["town"]))
