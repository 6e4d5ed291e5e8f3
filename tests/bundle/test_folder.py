"""What leaves the enclave: the files of a release, their permissions, and that nothing else is written."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import stat
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.bundle import write as folder
from synthrelease.bundle.write import check_free_name, write_bundle
from synthrelease.errors import OutputError
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import EPSILON, write_config, write_data


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> Release:
    where = tmp_path_factory.mktemp("coins")
    result = release(load_spec(write_config(where)), write_data(where))
    assert result is not None
    return result


@pytest.fixture
def bundle(coins: Release, tmp_path: Path) -> Path:
    return write_bundle(coins, tmp_path / "out")


def rows(bundle: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((bundle / "data.csv").read_text())))


def document(bundle: Path) -> dict:
    return json.loads((bundle / "release.json").read_text())


def test_the_table_has_the_labels_of_the_schema_in_sorted_order(bundle: Path) -> None:
    faces, years = ["head", "tail"], ["1-2", "3-4", "5-6", "7-8"]
    found = [(faces.index(row["face"]), years.index(row["year"])) for row in rows(bundle)]
    assert len(found) == document(bundle)["n_rows"] == 400
    assert found == sorted(found)
    assert min(Counter(found).values()) >= 2
    assert (1, 3) not in found  # tails after year 6 are implausible


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX permissions")
def test_only_the_owner_may_read_the_files(coins: Release, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        bundle = write_bundle(coins, tmp_path / "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in bundle.iterdir()} == {0o600}


def test_the_document_states_the_guarantee_the_charges_and_every_figure(bundle: Path) -> None:
    found = document(bundle)
    assert found["guarantee"]["epsilon"] == float(EPSILON)
    assert found["guarantee"]["delta"] == 0
    assert found["guarantee"]["neighbours"] == "replace one record"
    assert [leaf["epsilon"] for leaf in leaves(found["charges"])] == [10, 0.5]
    marginals, faces = found["criteria"]
    # one noisy figure: scale 1 / (n eps), on a grid fine enough to add less than 0.1%
    assert marginals["noise_sd"] == pytest.approx(2**0.5 / (400 * 0.5), rel=2e-3)
    assert marginals["sensitivity"] == 1 / 400
    assert marginals["value"] <= marginals["threshold"] == 0.9
    assert (faces["value"], faces["passed"], faces["epsilon"]) == (0, True, 0)
    assert found["configuration"]["transformation"] == {"face": "categories", "year": "pairs"}
    assert [label["label"] for label in found["schema"][1]["bins"]] == ["1-2", "3-4", "5-6", "7-8"]
    assert found["versions"]["numpy"]


def leaves(node: dict) -> list[dict]:
    return [leaf for part in node["parts"] for leaf in leaves(part)] if "parts" in node else [node]


def test_the_checksums_are_those_of_the_files(bundle: Path) -> None:
    def checksum(name: str) -> str:
        return hashlib.sha256((bundle / name).read_bytes()).hexdigest()

    assert document(bundle)["files"] == {name: checksum(name) for name in ("data.csv", "data.parquet")}
    listed = [line.split("  ") for line in (bundle / "SHA256SUMS").read_text().splitlines()]
    assert [name for _, name in listed] == sorted(path.name for path in bundle.iterdir() if path.name != "SHA256SUMS")
    assert all(checksum(name) == stated for stated, name in listed)


def test_the_document_tells_nothing_about_the_rounds(coins: Release, tmp_path: Path) -> None:
    """The same accepted output gives the same bytes, however long the search took and wherever the data were."""
    first, second = (write_bundle(coins, tmp_path / name) for name in ("first", "second"))
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    for name in names:
        content = (first / name).read_bytes()
        assert content == (second / name).read_bytes()
        hidden = (b"attempt", b"elapsed", b"seconds", b"coins.csv", str(tmp_path).encode())
        assert not [word for word in hidden if word in content], name


def test_an_existing_folder_or_link_is_not_overwritten(coins: Release, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="Nothing was overwritten"):
        write_bundle(coins, tmp_path / "out")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="Nothing was overwritten"):
        check_free_name(tmp_path / "link")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_failed_write_leaves_nothing_behind(coins: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder.os, "rename", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_bundle(coins, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_two_releases_of_the_same_data_differ(coins: Release, tmp_path: Path) -> None:
    """There is no seed: at a small budget two releases share neither their figures nor their tables."""
    config = write_config(tmp_path, {"generation = 10": "generation = 0.1"})
    data = write_data(tmp_path)
    first, second = (release(load_spec(config), data) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.guarantee.epsilon == Fraction("1.1987283")
    assert first.scores[0].value != second.scores[0].value
    assert first.candidate.counts.counts.tolist() != second.candidate.counts.counts.tolist()


def test_a_name_that_is_too_long_for_a_temporary_one_is_refused_beforehand(tmp_path: Path) -> None:
    """Not after the budget is spent."""
    with pytest.raises(OutputError, match="this name has more than 200 bytes"):
        check_free_name(tmp_path / ("é" * 101))
    assert check_free_name(tmp_path / ("x" * 200)) == tmp_path / ("x" * 200)


def test_the_files_bear_no_time(bundle: Path) -> None:
    """An archive of the folder would tell when the run ended, and so how long it took."""
    assert {path.stat().st_mtime for path in (bundle, *bundle.iterdir())} == {315_532_800}
