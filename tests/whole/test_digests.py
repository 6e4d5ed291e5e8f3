"""The digests of seeded releases are of the release alone: the same twice, and others for another seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.whole import digests

pytestmark = pytest.mark.slow


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    digests.print_digests("tiny", digests.cases()["tiny"])
    return capsys.readouterr().out.splitlines()


def test_a_seeded_release_has_the_same_bytes_twice(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = lines(capsys)
    assert {line.split()[2] for line in first} >= {"data.csv", "release.json", "specification.json", "README.html"}
    assert lines(capsys) == first
    monkeypatch.setattr(digests, "SEED", digests.SEED + 1)
    rows = {line for line in lines(capsys) if " data.csv " in line}
    assert rows
    assert rows.isdisjoint(first)


def test_every_family_and_every_shipped_configuration_is_among_the_cases() -> None:
    from synthrelease.generators import GENERATORS

    names = set(digests.cases())
    assert {name.rpartition("-")[0] for name in names} >= set(GENERATORS)
    assert {path.stem for path in (digests.ROOT / "configs").glob("*.toml")} <= names
    assert {"years", "visits", "country", "indicators", "database"} <= names


def test_what_changed_between_two_lists_is_said(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text("a 0 data.csv 1\nb 0 data.csv 2\n")
    after.write_text("a 0 data.csv 1\nb 0 data.csv 3\n")
    assert digests.compare(before, after) == "- b 0 data.csv 2\n+ b 0 data.csv 3"
    assert digests.compare(before, before) is None
