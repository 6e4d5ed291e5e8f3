"""A desk over copies of the shipped files, and a browser without a window that has its cookie."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from starlette.testclient import TestClient

from synthrelease.studio.desk.files import DeskFiles, Rehearsals
from synthrelease.studio.desk.pages import Desk, Guard, application
from synthrelease.studio.desk.pages import Opened as Started
from synthrelease.studio.drafting.public_file import read_public_file
from tests.conftest import ROOT

ORIGIN = "http://127.0.0.1:8765"


class Opened:
    """A desk over copies of the shipped files, and a browser that has its cookie."""

    def __init__(self, folder: Path, name: str = "births.toml", data: Path | None = None):
        for each in ("configs", "acceptance"):
            shutil.copytree(ROOT / each, folder / each)
        self.config, self.acceptance = folder / "configs" / name, folder / "acceptance" / "births.toml"
        self.rehearsals = Rehearsals(self.config, None if data is None else str(data))
        public = None if data is None else read_public_file(data)
        started = Started(files=DeskFiles(self.config), public=public, rehearsals=self.rehearsals)
        self.guard: Guard = application(Desk(started), ORIGIN)
        self.browser = TestClient(self.guard, base_url=ORIGIN, follow_redirects=False)
        self.entered = self.browser.get(f"/?token={self.guard.token}")

    def seen(self) -> str:
        return re.findall(r'name="seen" value="(\w+)"', self.browser.get("/people").text)[0]

    def write(self, screen: str, place: str, seen: str | None = None, **values: str):
        form = {"seen": seen or self.seen(), "place": place, **values}
        return self.browser.post(f"/{screen}", data=form, headers={"origin": ORIGIN})

    def bytes(self) -> tuple[bytes, bytes]:
        return self.config.read_bytes(), self.acceptance.read_bytes()
