"""The pages of docs/: every link leads somewhere, the site needs no network."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
INDEX, README = DOCS / "index.md", ROOT / "README.md"

_LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@cache
def anchors(page: Path) -> set[str]:
    """Names of the headings of a page, as the site makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in _HEADING.findall(text)}


@cache
def links(page: Path) -> tuple[tuple[str, Path, str], ...]:
    """Of a page: each link as it stands there, the file that it leads to and the heading in it."""
    found = _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))
    parts = [(link, *link.partition("#")[::2]) for link in found]
    return tuple((link, (page.parent / target).resolve() if target else page, anchor) for link, target, anchor in parts)


@pytest.mark.parametrize("page", [*PAGES, README, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link, path, anchor in links(page):
        assert not link.startswith("http"), f"{page.name}: {link} needs a network"
        assert path.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(path), f"{page.name}: {link}"
        if page.is_relative_to(DOCS):
            assert path.is_relative_to(DOCS), f"{page.name}: {link} is not part of the site"


@cache
def navigation() -> dict[str, list[str]]:
    """The groups of the site's navigation, each with its pages in order."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    parts = re.split(r"^  - ([^:\n]+):", nav, flags=re.MULTILINE)[1:]
    return {
        name: re.findall(r"([\w/-]+\.md)$", pages, re.MULTILINE) for name, pages in zip(parts[::2], parts[1::2], strict=True)
    }


def test_every_page_is_in_the_navigation_once() -> None:
    named = [page for pages in navigation().values() for page in pages]
    assert sorted(named) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


def test_appendices_are_evidence_or_reference() -> None:
    appendices = {page.relative_to(DOCS).as_posix() for page in PAGES if page.parent != DOCS}
    assert {page.partition("/")[0] for page in appendices} == {"appendix"}
    assert appendices <= {*navigation()["Evidence"], *navigation()["Reference"]}


def test_the_page_to_sign_by_names_its_way_in_order() -> None:
    way = (DOCS / "sign.md").read_text(encoding="utf-8").partition("\n## Reading order\n")[2]
    assert re.findall(r"^\d\. .*?\]\(([\w-]+\.md)\)", way, re.MULTILINE) == ["glossary.md", *navigation()["Reviewers"][1:]]


def test_the_list_of_pages_has_the_groups_and_the_order_of_the_navigation() -> None:
    listed = INDEX.read_text(encoding="utf-8").partition("\n## The pages\n")[2]
    parts = re.split(r"^\*\*(\w+)\*\*", listed, flags=re.MULTILINE)[1:]
    found = {
        name: [link.partition("#")[0] for link in _LINK.findall(text)]
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }
    assert found == {name: pages for name, pages in navigation().items() if name != "Home"}


def test_the_readme_leads_to_the_list_of_pages_and_to_each_way() -> None:
    reached = {path for _, path, _ in links(README)}
    firsts = {DOCS / navigation()[way][0] for way in ("Start", "Stewards", "Users", "Reviewers")}
    assert firsts | {INDEX} <= reached


def test_every_page_is_reached_from_the_first_by_links() -> None:
    reached, ahead = {INDEX}, [INDEX]
    while ahead:
        for _, path, _ in links(ahead.pop()):
            if path.suffix == ".md" and path not in reached:
                reached.add(path)
                ahead.append(path)
    assert reached == set(PAGES)


def test_the_terms_of_the_glossary_are_in_order_and_used() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| (?!term \|)([^|-][^|]*) \| [^|]+ \|$", text, re.MULTILINE)
    assert terms == sorted(set(terms), key=str.lower)
    texts = [page.read_text(encoding="utf-8").lower() for page in PAGES if page.name != "glossary.md"]
    unused = [term for term in terms if not any(re.search(rf"\b{re.escape(term.lower())}", text) for text in texts)]
    assert terms
    assert unused == []


def test_every_page_that_the_program_or_a_test_names_is_there() -> None:
    files = [path for folder in ("synthrelease", "tests", "configs", "acceptance") for path in (ROOT / folder).rglob("*")]
    files += [ROOT / name for name in ("Makefile", "CONTRIBUTING.md", "SECURITY.md", "README.md", "public_data/README.md")]
    named = {
        (page, path.relative_to(ROOT).as_posix())
        for path in files
        if path.suffix in {".py", ".toml", ".html", ".md", ".js", ""} and path.is_file()
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    assert sorted(one for one in named if not (ROOT / one[0]).is_file()) == []


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
