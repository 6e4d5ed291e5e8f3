"""How the browser gets the address: a file of its owner alone has the token, no command line, and the desk answers by then."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from starlette.testclient import TestClient

from synthrelease.studio.desk.pages import entrance
from tests.conftest import ROOT
from tests.helpers.tiny import write_config
from tests.studio.desk.browser import until
from tests.studio.desk.opened import ORIGIN, Opened

FOREGROUND = """#!{python}
import json, os, re, sys, urllib.parse, urllib.request
(address,) = sys.argv[1:]
page = urllib.request.url2pathname(urllib.parse.urlsplit(address).path)
modes = [os.stat(path).st_mode & 0o777 for path in (page, os.path.dirname(page))]
(leads,) = re.findall('url=([^"]*)"', open(page, encoding="utf-8").read())
status = urllib.request.urlopen(leads, timeout=20).status
with open("{told}.new", "w") as file:
    json.dump(dict(given=address, page=page, modes=modes, leads=leads, status=status), file)
os.rename("{told}.new", "{told}")
"""
"""A browser that stays in the foreground: it returns when it has the page."""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs Unix")
def test_the_browser_is_given_a_file_of_its_owner_alone_that_leads_to_a_desk_that_answers(tmp_path: Path) -> None:
    config, told, program = write_config(tmp_path), tmp_path / "told", tmp_path / "browser"
    program.write_text(FOREGROUND.format(python=sys.executable, told=told), encoding="utf-8")
    program.chmod(0o700)
    command = [sys.executable, "-m", "synthrelease", "desk", str(config)]
    known = {**os.environ, "BROWSER": str(program), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=known) as desk:
        try:
            address = desk.stdout.readline().strip() if desk.stdout else ""
            assert until(told.is_file)
            found = json.loads(told.read_text(encoding="utf-8"))
            assert found["leads"] == address
            assert address.partition("token=")[2] not in found["given"]
            assert len(address.partition("token=")[2]) == 64
            assert found["status"] == 200
            assert found["modes"] == [0o600, 0o700]
        finally:
            desk.send_signal(signal.SIGTERM)
            desk.wait()
    assert not Path(found["page"]).parent.exists()


@pytest.mark.skipif(os.name != "posix", reason="needs Unix")
def test_a_wide_mask_widens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = os.umask(0)
    try:
        with entrance("http://127.0.0.1:1/?token=a&b") as page:
            assert [stat.S_IMODE(path.stat().st_mode) for path in (page, page.parent)] == [0o600, 0o700]
            assert 'url=http://127.0.0.1:1/?token=a&amp;b"' in page.read_text(encoding="utf-8")
    finally:
        os.umask(before)
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_comes_from_a_file_gets_the_cookie_and_a_page_that_leads_on(tmp_path: Path) -> None:
    """A redirect would take the site of the file along, and the browser would keep the cookie back."""
    opened = Opened(tmp_path)
    opened.guard._used = False
    stranger = TestClient(opened.guard, base_url=ORIGIN, follow_redirects=False)
    from_a_file = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert stranger.get("/people", headers=from_a_file).status_code == 403
    assert stranger.get(f"/?token={opened.guard.token[:-1]}x", headers=from_a_file).status_code == 403
    twice = f"/?token={opened.guard.token}&token={opened.guard.token}"
    assert stranger.get(twice, headers=from_a_file).status_code == 403
    entered = stranger.get(f"/?token={opened.guard.token}", headers=from_a_file)
    assert (entered.status_code, entered.headers.get("location")) == (200, None)
    assert 'content="0; url=/people"' in entered.text
    assert stranger.get("/people", headers={"sec-fetch-site": "same-origin"}).status_code == 200
    assert stranger.get(f"/?token={opened.guard.token}", headers=from_a_file).status_code == 403
