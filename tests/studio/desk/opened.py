"""A desk over copies of the shipped files, and a browser without a window that has its cookie."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import httpx
from starlette.testclient import TestClient

from synthrelease.studio.desk.files import DeskFiles, Rehearsals
from synthrelease.studio.desk.pages import BY_BUTTON, Desk, Guard, application
from synthrelease.studio.desk.pages import Opened as Started
from synthrelease.studio.drafting.public_file import read_public_file
from tests.conftest import ROOT

ORIGIN = "http://127.0.0.1:8765"


def pressed(browser: TestClient, screen: str, place: str, seen: str | None = None, /, **values: str) -> httpx.Response:
    """Open a screen, type the values into the fields of a control and press Save, or the control's own button.

    A criterion can be named by its place. A value for which there is no field is the button's own.
    """
    page = html.unescape(browser.get(f"/{screen}").text)
    names = re.findall(r' name="([^"]+/\w+)"', page)
    shown = re.findall(r'name="seen" value="(\w+)"', page) or [browser.get("/seen").text]
    if at := re.fullmatch(r"(threshold|agreed|drop):(\d+)", place):
        criteria = [name for name in names if name.startswith("threshold:")]
        place = f"{at[1]}:{criteria[int(at[2])][10:-6] if int(at[2]) < len(criteria) else 'nobody'}"
    typed = {f"{place}/{key}": value for key, value in values.items()}
    form = {"seen": seen or shown[0], "place": f"{place}=" if place in BY_BUTTON else "save="} | typed
    if not typed.keys() & {*names}:
        form = {"seen": form["seen"], "place": f"{place}={values.get('value', '')}"}
    return browser.post(f"/{screen}", data=form, headers={"origin": ORIGIN})


class Opened:
    """A desk over copies of the shipped files, and a browser that has its cookie."""

    def __init__(self, folder: Path, name: str = "births.toml", data: Path | None = None):
        for name_of_folder in ("configs", "acceptance"):
            shutil.copytree(ROOT / name_of_folder, folder / name_of_folder)
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
        return pressed(self.browser, screen, place, seen, **values)

    def bytes(self) -> tuple[bytes, bytes]:
        return self.config.read_bytes(), self.acceptance.read_bytes()
