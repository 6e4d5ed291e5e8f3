"""`verify` names a release whose noise a biased sampler drew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synthrelease.bundle.document import versions
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import _sealed
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.verify.checks import Report, read_files
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config

KEPT = Path(__file__).parents[2] / "kept" / "format-1" / "release"


def drawn_by(version: str | None) -> Report:
    """The kept release, as if another version had drawn its noise; None for none."""
    files = dict(read_files(KEPT))
    document = json.loads(files["release.json"])
    assert document["versions"].pop("opendp") == "0.14.2"
    if version is not None:
        document["versions"]["opendp"] = version
    content = ReleaseDocument.model_validate_json(json.dumps(document)).dumped()
    kept = {name: found for name, found in files.items() if name != "SHA256SUMS"}
    return verify_files(_sealed({**kept, "release.json": content}, None), documents=False)


@pytest.mark.parametrize("version", ["0.14.0", "0.14.1", "0.14.1.post1", "0.14.0+local"])
def test_a_release_by_a_biased_sampler_is_named(version: str) -> None:
    report = drawn_by(version)
    assert not report.passed
    (problem,) = [problem for check in report.checks for problem in check.problems]
    assert f"OpenDP {version}" in problem
    assert "2638" in problem
    assert "Ask the publisher" in problem


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.14.2", "OpenDP 0.14.2 drew the noise of short tables"),
        ("0.14.10", "OpenDP 0.14.10 drew the noise of short tables"),
        (None, "release.json names no version of OpenDP"),
        ("not installed as a package", "release.json names no version of OpenDP"),
    ],
)
def test_a_release_by_another_sampler_is_not(version: str | None, said: str) -> None:
    report = drawn_by(version)
    assert report.passed
    (found,) = [check.found for check in report.checks if check.name == "noise"]
    assert found.startswith(said)
    assert ("The noise of short tables may be biased" in report.closing) is said.startswith("release.json names no")


def test_a_release_of_today_names_no_library_that_draws(tmp_path: Path) -> None:
    """So that a version that is installed for something else is not blamed."""
    assert "opendp" not in versions(load_spec(write_config(tmp_path)))
