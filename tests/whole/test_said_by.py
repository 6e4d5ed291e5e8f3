"""Who said limits, agreed to thresholds and signed: in the plan, on the card and in release.json, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.cli import terminal
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from synthrelease.spec.shortlist import judged_digest
from tests.helpers.tiny import write_config, write_data

SAID = {
    "bounds = [1, 8]": 'bounds = [1, 8]\nbounds_by = "the mint"',
    "threshold = 0.9": 'threshold = 0.9\nagreed = { by = "the council", on = 2026-11-22 }',
    "[budget]": '[card]\nsigned_by = ["A. Levi", "B. Cohen"]\n\n[budget]',
}


@pytest.mark.slow
def test_who_said_what_stands_in_plan_card_and_release_json_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    spec = load_spec(write_config(tmp_path, SAID))
    found = release(spec, write_data(tmp_path))
    assert found is not None
    write_bundle(found, tmp_path / "out")
    document = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert document["schema"][1]["bounds_by"] == "the mint"
    assert "bounds_by" not in document["schema"][0]
    assert document["criteria"][0]["parameters"]["agreed"] == {"by": "the council", "on": "2026-11-22"}
    assert document["card"]["signed_by"] == ["A. Levi", "B. Cohen"]
    assert verify_bundle(tmp_path / "out").passed
    for name in ("README.md", "README.html"):
        card = (tmp_path / "out" / name).read_text(encoding="utf-8")
        for words in (
            "the mint",
            "Threshold agreed by the council on 2026-11-22",
            "approved the run of the release: A. Levi and B. Cohen",
        ):
            assert words in card.replace("\\", ""), (name, words)


def test_the_plan_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(terminal, "screen", Console(width=200))
    terminal.print_plan(load_spec(write_config(tmp_path, SAID)))
    shown = capsys.readouterr().out
    for words in ("year: the mint", "Threshold agreed by the council on 2026-11-22", "Signed by A. Levi and B. Cohen"):
        assert words in shown


def test_a_verdict_is_about_what_is_released_and_not_about_who_agreed(tmp_path: Path) -> None:
    before, after = load_spec(write_config(tmp_path)), load_spec(write_config(tmp_path, SAID))
    assert judged_digest(before.tables) == judged_digest(after.tables)
    assert before.digest != after.digest  # the commitment covers the words
    other = load_spec(write_config(tmp_path, {"threshold = 0.9": "threshold = 0.8"}))
    assert judged_digest(before.tables) != judged_digest(other.tables)


def test_what_nobody_said_is_written_nowhere(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    assert "signed_by" not in spec.card.model_dump(mode="json")
    assert b"agreed" not in spec.text
    assert b"bounds_by" not in spec.text
