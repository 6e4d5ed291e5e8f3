"""Areas within areas: the columns and rules that they add, what is refused, and a release that is checked level by level."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_plan import option_problems
from synthrelease.bundle.write import write_bundle
from synthrelease.data.counts import Counts
from synthrelease.errors import SpecError
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.options import GeographyPart, LevelPart
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.options import KnownFiles, of_geography
from synthrelease.releasing.release import release
from synthrelease.spec.geography import Geography
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec

CODELIST = "code,label,district,region\n1,Ash,D1,North\n2,Oak,D1,North\n3,Elm,D2,North\n4,Fir,D3,Lake's\n5,Yew,D3,Lake's\n"
HOMES = {
    "Ash": ("North", "D1"),
    "Oak": ("North", "D1"),
    "Elm": ("North", "D2"),
    "Fir": ("Lake's", "D3"),
    "Yew": ("Lake's", "D3"),
}
CONFIG = """
title = "Trees"
acceptance = "acceptance.toml"

[columns.face]
kind = "category"
categories = ["head", "tail"]

[columns.town]
kind = "code"
codes = "towns.csv"
missing = "bin"
outside = "bin"
outside_label = "elsewhere"

[geography]
column = "town"
levels = ["region", "district"]

[transformations]
town = ["codes"]

[input]
outside = "drop"
rows = 600

[[generators]]
family = "nested_pure"
areas = "region > district > town"
wanted = "0.01 > 0.05 > 0.1 > 0.2"
tables = "face + region:face + district + town:face"

[[projections]]
kind = "minimum_count"
minimum_count = 1

[budget]
generation = 4
limit = 12

[selection]
stop_probability = 0.01
measurements = "shared"
publish_measurements = true
test = "joint"
test_epsilon = 1
"""
ACCEPTANCE = """
[[criteria]]
name = "towns"
kind = "absolute_marginal_error"
tables = ["town", "region:face"]
threshold = 0.3
epsilon = 0.5
"""


def write(folder: Path, **changes: str) -> Path:
    text = CONFIG
    for old, new in changes.items():
        before = {"column": 'column = "town"', "levels": '["region", "district"]', "drawn": 'town = ["codes"]'}[old]
        assert before in text
        text = text.replace(before, new)
    (folder / "trees.toml").write_text(text, encoding="utf-8")
    (folder / "acceptance.toml").write_text(ACCEPTANCE, encoding="utf-8")
    (folder / "towns.csv").write_text(CODELIST, encoding="utf-8")
    return folder / "trees.toml"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write(tmp_path_factory.mktemp("trees")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spec: ReleaseSpec) -> Path:
    where, random = tmp_path_factory.mktemp("released"), np.random.default_rng(1)
    towns = random.choice(["1", "2", "3", "4", "5", "", "77"], 700, p=[0.3, 0.05, 0.2, 0.2, 0.15, 0.05, 0.05])
    faces = random.choice(["head", "tail"], 700)
    rows = "\n".join(f"{face},{town}" for face, town in zip(faces, towns, strict=True))
    (where / "trees.csv").write_text(f"face,town\n{rows}\n", encoding="utf-8")
    found = release(spec, where / "trees.csv")
    assert found is not None
    return write_bundle(found, where / "out")


@pytest.fixture(scope="module")
def document(folder: Path) -> ReleaseDocument:
    return read_strictly((folder / "release.json").read_bytes())


def test_each_level_is_a_column_that_the_town_decides(spec: ReleaseSpec) -> None:
    assert spec.schema.names == ("face", "region", "district", "town")
    assert spec.schema["region"].atoms.labels == ("North", "Lake's", "elsewhere", "missing")
    towns = spec.schema["town"].atoms.labels
    wanted = HOMES | {"elsewhere": ("elsewhere", "elsewhere"), "missing": ("missing", "missing")}
    for place, level in ((0, "region"), (1, "district")):
        home = spec.synthetic.home_of(spec.schema.layout.index(level), spec.schema.layout.index("town"))
        assert home is not None
        labels = spec.schema[level].atoms.labels
        assert {town: labels[area] for town, area in zip(towns, home, strict=True)} == {
            town: areas[place] for town, areas in wanted.items()
        }
    for text, town in spec.schema["town"].values.items():  # the file has one text, for all three columns
        assert [spec.schema[level].atoms.labels[spec.schema[level].values[text]] for level in ("region", "district")] == list(
            HOMES[towns[town]]
        )
    assert not spec.raw.masks  # no row of a file can break it, so nothing has to be counted


def test_the_plan_says_how_far_off_each_level_is(spec: ReleaseSpec) -> None:
    value = spec.parts["geography"]
    assert isinstance(value, Geography)
    text = value.in_words(600)
    assert text.startswith("Areas: region (4) > district (5) > town (7). Standard deviation")
    assert [line.split(":")[0] for line in text.splitlines()[1:]] == [f"  nested_pure, {name}" for name in value.chain]


@pytest.mark.parametrize(
    ("changes", "place", "told"),
    [
        ({"column": 'column = "face"'}, "geography.column", "a column of codes"),
        ({"column": 'column = "village"'}, "geography.column", "a column of codes"),
        ({"levels": '["county"]'}, "geography.levels", "'county' is not a level of the codelist"),
        ({"levels": '["district", "region"]'}, "geography.levels", "the largest areas first"),
        ({"levels": '["region", "region"]'}, "geography.levels", "different levels"),
        ({"drawn": ""}, "transformations.town", "one alternative for the smallest areas"),
        ({"drawn": 'town = ["region"]'}, "transformations.town", "one alternative for the smallest areas"),
    ],
)
def test_what_does_not_fit_the_codelist_is_told_with_its_place(
    changes: dict[str, str], place: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as caught:
        load_spec(write(tmp_path, **changes))
    assert [(problem.path, told in problem.message) for problem in caught.value.problems] == [(place, True)]


@pytest.mark.slow
def test_a_release_verifies_and_says_its_levels(folder: Path, document: ReleaseDocument) -> None:
    part = document.geography
    assert part == GeographyPart(
        levels=[LevelPart(column=name, areas=areas) for name, areas in (("region", 4), ("district", 5), ("town", 7))]
    )
    report = verify_bundle(folder)
    assert report.passed, report
    assert "the rows of the smaller areas add up to the rows of each area" in next(
        c.found for c in report.checks if c.name == "geography"
    )
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "counts of areas add up to the count of the larger area" in " ".join(page.split())
    assert "region (4, with 150 rows on average), district (5, with 120 rows on average)" in page
    assert len(document.rules) > 8
    assert "never" not in page.partition("Plausibility rules")[2].partition("Every row that occurs")[0]  # the section tells


@pytest.mark.slow
def test_a_row_in_another_region_than_its_towns_is_found(folder: Path, document: ReleaseDocument, spec: ReleaseSpec) -> None:
    part = document.geography
    assert part is not None
    layout = spec.schema.layout
    table = np.array([[0, 0, 0, 0], [0, 1, 2, 3], [1, 0, 1, 2]])

    def told(rows: np.ndarray, part: GeographyPart = part) -> list[str]:
        labels = tuple(column.atoms.labels for column in spec.schema.columns)
        released = ReleasedTable(counts=Counts.of(layout, list(rows.T)), labels=labels, ordered=(False,) * 4)
        return list(of_geography(part, KnownFiles(files={}, table=released, rules=spec.synthetic)).problems)

    assert told(table) == []
    moved = table.copy()
    moved[1, 1] = 0
    assert told(moved) == ["geography: 2 areas of 'region' and their smaller areas differ in their numbers of rows"]
    more = part.model_copy(update={"levels": [LevelPart(column="region", areas=3), *part.levels[1:]]})
    assert told(table, more) == ["geography: 'region' has 4 areas, but release.json states 3"]
    torn = part.model_copy(update={"levels": [part.levels[1], part.levels[0], part.levels[2]]})
    assert told(table, torn) == ["geography: an area lies in two areas of the level above"]
    assert list(option_problems(document, spec)) == []
    fewer = replace(spec, options=replace(spec.options, geography=Geography(chain=("region", "town"), areas=(4, 7), noise={})))
    told_of_both = "geography.levels: release.json has 3 entries, the specification gives 2 entries"
    assert list(option_problems(document, fewer)) == [told_of_both]
