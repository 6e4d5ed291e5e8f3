"""The pages of docs/: every link leads somewhere, every page is in the navigation, and the site needs no network."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))
_LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Names of the headings of a page, as the site makes them."""
    headings = re.findall(r"^#+ (.+)$", _CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for text in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = link.partition("#")
        assert not target.startswith("http"), f"{page.name}: {link} needs a network"
        path = (page.parent / target) if target else page
        assert path.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(path), f"{page.name}: {link}"
        if page.parent.name == "docs":
            assert path.parent == page.parent, f"{page.name}: {link} is not part of the site"


def test_every_page_is_in_the_navigation_once() -> None:
    named = re.findall(r"([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(page.name for page in PAGES)


@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="needs the extra docs (make docs)")
def test_the_site_builds_without_a_warning_and_takes_nothing_from_the_network(tmp_path: Path) -> None:
    # with --quiet it would count no warnings, and --strict would have no effect
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        outside = re.findall(
            r"<(?:script|img|iframe)[^>]+src=[\"']?https?:[^\"'>]+|<link[^>]+href=[\"']?https?:[^\"'>]+",
            page.read_text(encoding="utf-8"),
        )
        assert outside == [], page.name
