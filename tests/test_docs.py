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


INDEX, README = ROOT / "docs" / "index.md", ROOT / "README.md"
READERS = ("steward", "reviewer", "data user", "contributor")


def pages_in(text: str) -> list[str]:
    """Pages of docs/ that a text links to, in order."""
    links = [target.partition("#")[0].removeprefix("docs/") for target in _LINK.findall(text)]
    return [link for link in links if (ROOT / "docs" / link).is_file() and link.endswith(".md")]


def navigation() -> dict[str, list[str]]:
    """The groups of the site's navigation, each with its pages in order."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    parts = re.split(r"^  - ([^:\n]+):", nav, flags=re.MULTILINE)[1:]
    return {
        name: re.findall(r"([\w-]+\.md)$", pages, re.MULTILINE) for name, pages in zip(parts[::2], parts[1::2], strict=True)
    }


def section(page: Path, heading: str) -> str:
    return page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def groups(page: Path) -> dict[str, list[str]]:
    """The groups of the list of all pages."""
    parts = re.split(r"^- \*\*(.+?)\*\*:", section(page, "All pages"), flags=re.MULTILINE)[1:]
    return {name: pages_in(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def ways(page: Path) -> dict[str, list[str]]:
    """For each reader the numbered pages of their way."""
    parts = re.split(r"^\*\*For the (.+?)\*\*.*:$", section(page, "A way through"), flags=re.MULTILINE)[1:]
    return {
        reader: [link for number, line in enumerate(text.split("\n\n")[1].splitlines(), 1) for link in numbered(number, line)]
        for reader, text in zip(parts[::2], parts[1::2], strict=True)
    }


def numbered(number: int, line: str) -> list[str]:
    assert line.startswith(f"{number}. "), line
    found = pages_in(line)
    assert len(found) == 1, line
    return found


@pytest.mark.parametrize("page", [INDEX, README], ids=lambda page: page.name)
def test_a_list_of_all_pages_has_the_groups_and_the_order_of_the_navigation(page: Path) -> None:
    assert list(groups(page).items()) == [item for item in navigation().items() if item[0] != "Home"]


def test_every_reader_has_a_way_through_that_leaves_generated_tables_aside() -> None:
    assert tuple(ways(INDEX)) == READERS
    assert ways(README) == ways(INDEX)
    for pages in ways(INDEX).values():
        assert len(pages) == len(set(pages)) >= 3
    on_a_way = {page for pages in ways(INDEX).values() for page in pages}
    by_group = navigation()
    generated = set(by_group.pop("Generated tables"))
    assert on_a_way == {page for pages in by_group.values() for page in pages} - {"index.md"}
    assert not on_a_way & generated


@pytest.mark.slow
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
