"""Other limits between bins: the bins that are written, the numbers that stand for them, the groups, and what they hold."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from synthrelease.errors import SpecError
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.drafting.edits import MovedLimits, fill_numbers, limits_of, with_bounds, with_limits
from synthrelease.studio.drafting.public_file import PublicFile, public_bins, read_public_file
from tests.helpers.tiny import write_config

COLUMN = """
[columns.age]
kind = "integer"
bounds = [0, 99]
outside = "drop"
missing_values = ["777"]
missing = "bin"
missing_label = "none"
numbers = { "<20" = 11, "20-39" = 30.5 }
alternatives.coarse = ["<20", "20-39", "40-59", ">=60"]
alternatives.fine = ["<10", "10-19", "20-39", "40-59", ">=60"]
[columns.wage]
kind = "real"
bounds = [0.5, 9]
alternatives.all = ["0 to 2", "2 to 4", "4 to 9.5"]
"""
AGES = [0, 5, 19, 20, 21, 44, 45, 70, 99, 99]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    marker = "\n[[rules]]\nnever = \"face == 'tail' and year > 6\"\n"
    return load_spec(write_config(tmp_path_factory.mktemp("limits"), {marker: COLUMN}))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> PublicFile:
    path: Path = tmp_path_factory.mktemp("public") / "public.csv"
    rows = [*((str(age), "3") for age in AGES), ("777", "0.75"), ("", "12"), ("120", "1.25")]
    path.write_text("age,wage\n" + "".join(f"{age},{wage}\n" for age, wage in rows), encoding="utf-8")
    return read_public_file(path)


def moved(
    spec: ReleaseSpec, limits: list[float], groups: list[str] | None = None, public: PublicFile | None = None
) -> MovedLimits:
    numbers = {"<20": 11, "20-39": 30.5}
    return with_limits(spec.schema["age"], "coarse", limits, numbers=numbers, groups=groups, public=public, policy=spec.input)


def test_a_limit_that_moves_moves_everywhere_and_the_numbers_of_new_bins_are_their_means(spec, public) -> None:
    found = moved(spec, [20, 45, 60], ["<40", "40-59", ">=60"], public)
    assert found.alternatives == {
        "coarse": ["<20", "20-44", "45-59", ">=60"],
        "fine": ["<10", "10-19", "20-44", "45-59", ">=60"],
    }
    assert found.groups == ["<45", "45-59", ">=60"]
    means = {"20-44": np.mean([20, 21, 44]), "45-59": 45}
    assert found.numbers.keys() == {"<20", "20-44", "45-59"}
    assert found.numbers["<20"] == 11
    assert all(found.numbers[label] == pytest.approx(mean, abs=1) for label, mean in means.items())


def test_a_limit_more_or_less_is_of_one_alternative_and_one_that_goes_leaves_the_groups(spec) -> None:
    found = moved(spec, [20, 60], ["<20", "20-39", ">=40"])
    assert found.alternatives == {"coarse": ["<20", "20-59", ">=60"]}
    assert found.groups == ["<20", ">=20"]
    assert found.numbers == {"<20": 11, "20-39": 30.5}  # the fine bins still have one that is called so
    assert moved(spec, [20, 30, 40, 60]).alternatives == {"coarse": ["<20", "20-29", "30-39", "40-59", ">=60"]}


def test_a_limit_that_would_meet_another_one_of_the_fine_bins_moves_alone(spec) -> None:
    assert moved(spec, [10, 40, 60]).alternatives == {"coarse": ["<10", "10-39", "40-59", ">=60"]}


def test_closed_ends_stay_closed(spec) -> None:
    found = with_limits(spec.schema["wage"], "all", [2.5, 4], numbers={}, groups=None, public=None, policy=spec.input)
    assert found.alternatives == {"all": ["0 to 2.5", "2.5 to 4", "4 to 9.5"]}
    assert limits_of(spec.schema["face"]) == {}


def test_bins_that_end_at_the_bounds_follow_them(spec) -> None:
    """Else whoever widens the bounds of a draft has a file that cannot be loaded. Open bins, and ends beyond, stay."""
    assert with_bounds(spec.schema["age"], (0, 120), {"<20": 11}, None, spec.input).alternatives == {}
    wider = with_bounds(spec.schema["wage"], (0, 12), {"4 to 9.5": 5.5, "2 to 4": 3.1}, None, spec.input)
    assert wider.alternatives == {"all": ["0 to 2", "2 to 4", "4 to 12"]}
    assert wider.numbers == {"4 to 12": 5.5, "2 to 4": 3.1}
    assert with_bounds(spec.schema["wage"], (1, 9.2), {}, None, spec.input).alternatives == {}


@pytest.mark.parametrize("limits", [[], [0, 5], [20.5], [100]])
def test_limits_that_make_no_bins_are_refused(spec, limits: list[float]) -> None:
    with pytest.raises(ValueError, match="whole numbers above 0 and at most 99"):
        moved(spec, limits)


def test_what_the_public_file_has_in_the_bins(spec, public) -> None:
    age = public_bins(public, spec.schema["age"], spec.input)
    assert age is not None
    assert age.rows == (3, 2, 2, 3)
    assert (age.gaps, age.others) == (2, 1)  # 777 and the empty one; 120
    numbers = np.repeat([11, 30.5, 49.5, 60], age.rows)
    assert age.grouping is not None
    assert age.grouping.off == pytest.approx(np.abs(np.array(AGES) - numbers).mean())
    assert age.grouping.mean_moved == pytest.approx(numbers.mean() - np.mean(AGES))
    assert age.grouping.spread == pytest.approx(np.std(AGES))
    assert {20.0, 40.0, 60.0} < set(age.places)
    assert sum(age.between) == len(AGES)
    ends = zip(age.places, [*age.places[1:], 1e9], strict=True)
    assert list(age.between) == [sum(low <= one < high for one in AGES) for low, high in ends]
    assert public_bins(public, spec.schema["face"], spec.input) is None


def test_wages_of_a_few_have_places_that_grow(spec, tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text("wage\n" + "".join(f"{0.5 + (n % 97) ** 4 / 1e7:.4f}\n" for n in range(970)), encoding="utf-8")
    found = public_bins(read_public_file(path), spec.schema["wage"], spec.input)
    assert found is not None
    steps = np.diff(found.places)
    assert steps[0] < steps[-1] / 3
    assert len(found.rows) == 3


def test_bins_that_were_edited_by_hand_get_the_means_of_the_public_rows(tmp_path: Path, public: PublicFile) -> None:
    """Numbers of bins that are gone keep the file from being loaded; numbers that stand are the steward's."""
    marker = "\n[[rules]]\nnever = \"face == 'tail' and year > 6\"\n"
    edited = COLUMN.replace('"20-39", "40-59"', '"20-44", "45-59"  ,').replace('"45-59"  ,,', '"45-59",  # by hand\n')
    config = write_config(tmp_path, {marker: edited})
    with pytest.raises(SpecError, match="20-39"):
        load_spec(config)
    filled = fill_numbers(config, public)
    numbers = dict(tomllib.loads(config.read_text(encoding="utf-8"))["columns"]["age"]["numbers"])
    assert numbers["<20"] == 11
    assert "20-39" not in numbers
    inside = [age for age in AGES if 20 <= age < 45]
    assert load_spec(config).schema["age"].alternatives["coarse"].numbers[1] == pytest.approx(np.mean(inside), rel=0.02)
    assert "# by hand" in config.read_text(encoding="utf-8")
    assert (filled.removed, sorted(filled.added)) == (1, ["age", "wage"])
    assert fill_numbers(config, public).added == {}
