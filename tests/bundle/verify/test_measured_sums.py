"""Published sums of scores: written with their steps and noise, checked by verify, and used by bounds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthrelease.answers.limits import MeasuredLimits
from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_figures import measurements
from synthrelease.bundle.write import write_bundle
from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import cube_limit, cube_sd
from synthrelease.privacy.grids import laplace_sd
from synthrelease.published import load
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import Measurements
from synthrelease.published.measurements import PublishedSum
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from tests.answers.test_bounds import QUERIES, ask, true_answer
from tests.answers.test_measured import ORIGINAL, all_tables, measured
from tests.answers.test_measured import release as made
from tests.helpers.tiny import write_config, write_data
from tests.published.test_measurements import PRIVBAYES

Edit = Callable[[dict[str, Any]], object]
SUMS = 'sums = "3 year[0 0 0 1] + 4 face[0 1]:year[-1..2] within -1..1"'
FAMILY = {
    PRIVBAYES: f'family = "marginals"\ntables = "face + 2 year"\n{SUMS}',
    "stop_probability = 0.001": 'stop_probability = 0.001\npublish_measurements = true\nmeasurements = "shared"',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("sums")
    result = release(load_spec(write_config(where, FAMILY)), write_data(where))
    assert result is not None
    return write_bundle(result, where / "out")


def problems(folder: Path, edit: Edit) -> tuple[str, ...]:
    document = ReleaseDocument.model_validate_json((folder / "release.json").read_text())
    found = json.loads((folder / "measurements.json").read_text())
    edit(found)
    return measurements(document, {"measurements.json": (json.dumps(found, ensure_ascii=False) + "\n").encode()}).problems


def test_sums_are_published_with_their_steps_and_noise_and_verify(folder: Path) -> None:
    report = verify_bundle(folder)
    assert report.passed, [one.problems for one in report.checks]
    (check,) = [one for one in report.checks if one.name == "measurements"]
    assert "2 noisy tables and 2 noisy sums" in check.found
    document = json.loads((folder / "measurements.json").read_text())
    rare, product = document["sums"]
    assert (rare["sum"], rare["columns"], rare["steps"]) == ("year[0 0 0 1]", ["year"], [0, 0, 0, 4096])
    assert product["steps"] == [[2048, 2048, 2048, 2048], [0, 2048, 4096, 4096]]
    assert [rare["epsilon"], product["epsilon"]] == ["3", "4"]  # of 10: weights 1, 2, 3 and 4
    for one in (rare, product):
        scale = Fraction(4096) / Fraction(one["epsilon"])
        assert (one["scale"], one["variance"]) == (float(scale), laplace_sd(scale) ** 2)
    assert abs(rare["value"] / 4096 - 40) < 9  # 40 rows, noise of scale 1/3
    loaded = load(folder).measurements
    assert loaded is not None
    assert [one.columns for one in loaded.sums] == [("year",), ("face", "year")]


EDITS: list[tuple[Edit, str]] = [
    (lambda found: found.pop("sums"), "its sums"),
    (lambda found: found["sums"].pop(), "its sums"),
    (lambda found: found["sums"].append(found["sums"][0]), "its sums"),
    (lambda found: found["sums"][0].update(epsilon="4"), "its sums"),
    (lambda found: found["sums"][0].update(sum="year[0 0 1 0]"), "its sums"),
    (lambda found: found["sums"][0].update(columns=["face"]), "its sums"),
    (lambda found: found["sums"][0]["steps"].reverse(), "its sums"),
    (lambda found: found["sums"][0].update(scale=1.0), "scale or variance"),
    (lambda found: found["sums"][0].update(variance=1.0), "scale or variance"),
    (lambda found: found["sums"][0]["released"][0].reverse(), "another label"),
    (lambda found: found["sums"][0]["released"][0].__setitem__(0, 99), "must name a released bin for every measured bin"),
    (lambda found: found["sums"][0]["labels"][0].pop(), "one for each cell"),
    (lambda found: found["sums"][0].update(value=0.5), "The measurements are not as `synthrelease release` writes them"),
    (lambda found: found["sums"][0].update(noise="none"), "The measurements are not as `synthrelease release` writes them"),
    (lambda found: found["sums"][0].update(extra=1), "The measurements are not as `synthrelease release` writes them"),
]


@pytest.mark.parametrize(("edit", "expected"), EDITS)
def test_edits_of_sums_are_found(folder: Path, edit: Edit, expected: str) -> None:
    found = problems(folder, edit)
    assert found
    assert expected in " ".join(found)


def test_a_sum_of_an_unknown_column_is_no_release(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    found = json.loads((tmp_path / "measurements.json").read_text())
    found["sums"][0]["columns"] = ["income"]
    (tmp_path / "measurements.json").write_text(json.dumps(found) + "\n")
    with pytest.raises(InputError, match="columns of the release"):
        load(tmp_path)


STEPS = np.array([[0, 3, 1], [2, 2, 0]])


def with_sum(value: int, epsilon: str) -> Any:
    one = PublishedSum(
        name="a:b", columns=("a", "b"), steps=STEPS, value=value, sensitivity=3, epsilon=Fraction(epsilon), together=1
    )
    table = measured(ORIGINAL, "b", None, Fraction(100))
    return replace(made(table), measurements=Measurements(tables=(table,), times=1.0, sums=(one,)))


@pytest.mark.slow
def test_bounds_hold_for_every_table_that_a_sum_allows_and_are_narrower_than_without() -> None:
    """With a noiseless table and a precise sum only tables with this very sum are left: enumerate them."""
    exact = sum(int(STEPS[row]) for row in ORIGINAL)
    published = with_sum(exact, "100")
    limits = MeasuredLimits.of(published, 0.05, None)
    assert limits is not None
    (error,) = limits.scored_sums()
    assert error.most == (exact, -exact)
    allowed = [each for each in all_tables() if sum(int(STEPS[row]) for row in each) == exact and _same_b(each)]
    assert len(allowed) > 1
    alone = replace(published, measurements=Measurements(tables=published.measurements.tables, times=1.0))
    narrower = 0
    for query in QUERIES:
        found, without = ask(published, query), ask(alone, query)
        answers = [answer for table in allowed if not math.isnan(answer := true_answer(table, query))]
        assert answers
        assert found.low - 1e-6 <= min(answers)
        assert max(answers) <= found.high + 1e-6
        narrower += found.high - found.low < without.high - without.low - 1e-6
    assert narrower


def _same_b(table: Any) -> bool:
    return sorted(row[1] for row in table) == sorted(row[1] for row in ORIGINAL)


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("grouped")
    shared = SUMS.replace('"3 ', '"7 {').replace("+ 4", "+").replace('1"', '1}"')
    result = release(
        load_spec(write_config(where, {**FAMILY, PRIVBAYES: FAMILY[PRIVBAYES].replace(SUMS, shared)})), write_data(where)
    )
    assert result is not None
    return write_bundle(result, where / "out")


def test_sums_that_share_a_noise_say_so_and_verify(grouped: Path) -> None:
    report = verify_bundle(grouped)
    assert report.passed, [one.problems for one in report.checks]
    sums = json.loads((grouped / "measurements.json").read_text())["sums"]
    scale = Fraction(4096, 7)
    for one in sums:
        assert (one["epsilon"], one["noise"], one["together"], one["scale"]) == ("7", "one noise", 2, float(scale))
        assert one["variance"] == cube_sd(2, scale) ** 2
    loaded = load(grouped)
    assert loaded.measurements is not None
    assert [one.together for one in loaded.measurements.sums] == [2, 2]
    limits = MeasuredLimits.of(loaded, 0.05, None)
    assert limits is not None
    for error, one in zip(limits.scored_sums(), loaded.measurements.sums, strict=True):
        assert error.most == (one.value + cube_limit(2, scale, limits.each), cube_limit(2, scale, limits.each) - one.value)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({"together": None, "noise": "discrete Laplace"}, "its sums"),
        ({"together": 3}, "its sums"),
        ({"noise": "discrete Laplace"}, "its noise, scale or variance"),
        ({"variance": laplace_sd(Fraction(4096, 7)) ** 2}, "its noise, scale or variance"),
    ],
)
def test_a_forged_noise_of_a_group_is_found(grouped: Path, edit: dict[str, Any], expected: str) -> None:
    found = problems(grouped, lambda read: read["sums"][1].update(edit))
    assert expected in " ".join(found)
