"""verify finds edits of the published noisy tables, but for a noisy count, which follows from nothing; bounds read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synthrelease.answers.bounds import bound
from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_figures import measurements
from synthrelease.bundle.write import write_bundle
from synthrelease.errors import InputError
from synthrelease.published import load
from synthrelease.published.document import ReleaseDocument
from tests.published.test_measurements import released

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("measured")
    return write_bundle(released(where, 'publish_measurements = true\nmeasurements = "shared"'), where / "out")


def problems(folder: Path, edit: Edit) -> tuple[str, ...]:
    document = ReleaseDocument.model_validate_json((folder / "release.json").read_text())
    found = json.loads((folder / "measurements.json").read_text())
    edit(found)
    content = (json.dumps(found, ensure_ascii=False) + "\n").encode()
    return measurements(document, {"measurements.json": content}).problems


def test_a_release_with_measurements_verifies(folder: Path) -> None:
    report = verify_bundle(folder)
    (check,) = [one for one in report.checks if one.name == "measurements"]
    assert report.passed, [one.problems for one in report.checks]
    assert "noisy tables, as charged" in check.found
    assert problems(folder, lambda found: None) == ()
    assert problems(folder, lambda found: found["tables"][0]["counts"].__setitem__(0, found["tables"][0]["counts"][0])) == ()


EDITS: list[tuple[Edit, str]] = [
    (lambda found: found.update(n_rows=found["n_rows"] + 1), "rows, but release.json states"),
    (lambda found: found["tables"].pop(), "do not follow from the configuration"),
    (lambda found: found["tables"].append(found["tables"][0]), "do not follow from the configuration"),
    (lambda found: found["tables"][0].update(epsilon="1/100"), "do not follow from the configuration"),
    (lambda found: found["tables"][0].update(scale=1.0), "does not follow from its epsilon"),
    (lambda found: found["tables"][0].update(variance=1.0), "does not follow from its epsilon"),
    (lambda found: found["tables"][0]["counts"].pop(), "The counts must be whole numbers, one for each cell"),
    (lambda found: found["tables"][0]["counts"].__setitem__(0, 0.5), "The counts must be whole numbers, one for each cell"),
    (lambda found: found["tables"][0]["released"][0].reverse(), "another label"),
    (lambda found: found["tables"][0]["released"][0].__setitem__(0, 99), "must name a released bin for every measured bin"),
    (lambda found: found["tables"][0].update(extra=1), "The measurements are not as `synthrelease release` writes them"),
    (lambda found: found["tables"][0].update(noise="none"), "The measurements are not as `synthrelease release` writes them"),
    (lambda found: found.update(format=2), "This version reads format 1, and the file has format 2"),
]


@pytest.mark.parametrize("place", range(len(EDITS)))
def test_every_edit_is_found(folder: Path, place: int) -> None:
    edit, expected = EDITS[place]
    assert any(expected in problem for problem in problems(folder, edit)), problems(folder, edit)


def test_bounds_use_what_is_published(folder: Path, tmp_path: Path) -> None:
    release = load(folder)
    assert release.measurements is not None
    assert release.measurements.times == 1
    assert {table.columns for table in release.measurements.tables} <= {("face",), ("year",), ("face", "year")}
    found = bound(release, "face == 'head'")
    assert found.measured
    (tmp_path / "copy").mkdir()
    for path in folder.iterdir():
        (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    without = json.loads((folder / "measurements.json").read_text())
    del without["tables"][0]["released"]
    (tmp_path / "copy" / "measurements.json").write_text(json.dumps(without))
    with pytest.raises(
        InputError, match=r"tables\[0\]\.released: The measurements are not as `synthrelease release` writes them"
    ):
        load(tmp_path / "copy")
    (tmp_path / "copy" / "measurements.json").unlink()
    assert load(tmp_path / "copy").measurements is None
    (tmp_path / "copy" / "measurements.json").write_text("{}")
    with pytest.raises(InputError, match="The measurements are not as `synthrelease release` writes them"):
        load(tmp_path / "copy")
