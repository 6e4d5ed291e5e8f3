"""The screen of a published folder."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")

from synthrelease.studio.desk.files import DeskFiles
from synthrelease.studio.desk.pages import Desk, Opened
from tests.conftest import ROOT
from tests.helpers.tiny import write_measured_release


def test_a_folder_is_verified_and_its_card_is_shown(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    folder = write_measured_release(tmp_path / "work", tmp_path / "release")
    desk = Desk(Opened(files=DeskFiles(ROOT / "configs" / "births.toml"), folder=folder))
    page = bytes(desk.page("folder", {"verify": "yes"}).body).decode()
    assert "The files fit together" in page
    card = desk.card()
    assert card.headers["content-security-policy"].startswith("sandbox;")
    (folder / "data.csv").write_bytes((folder / "data.csv").read_bytes() + b"x\n")
    assert "do not fit together" in bytes(desk.page("folder", {"verify": "yes"}).body).decode()
