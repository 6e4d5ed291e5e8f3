"""The site of the documents in the system's Chromium: axe finds nothing serious, light and dark."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.studio.desk.browser import Browser, browser, driver, missing

pytestmark = pytest.mark.slow
AXE = os.environ.get("SYNTHRELEASE_AXE", "")
"""The path of axe.min.js, of the npm package axe-core."""
if missing() or not AXE or importlib.util.find_spec("material") is None:
    pytest.skip(missing() or "needs SYNTHRELEASE_AXE and the extra docs", allow_module_level=True)

PAGES = ("index", "tutorial", "accounting", "estimates", "settings", "commands", "accuracy", "appendix/api", "sign")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with driver() as client, browser(client) as window:
        yield window


@pytest.mark.parametrize("scheme", ["default", "slate"])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious(chromium: Browser, site: Path, page: str, scheme: str) -> None:
    chromium.open((site / f"{page}.html").as_uri())
    chromium.run(f"document.body.setAttribute('data-md-color-scheme', '{scheme}')")
    changed = time.monotonic()
    while time.monotonic() - changed < 5 and chromium.run("return document.getAnimations().length"):
        pass  # colours change over a quarter of a second
    chromium.run(Path(AXE).read_text(encoding="utf-8") + "\nreturn 0")
    script = (
        "const done = arguments[0]; axe.run().then(found => done(found.violations.filter(each => "
        "['serious', 'critical'].includes(each.impact)).map(each => each.id + ' ' + each.nodes.map(node => node.target))))"
    )
    assert chromium.ask("execute/async", {"script": script, "args": []}) == []
