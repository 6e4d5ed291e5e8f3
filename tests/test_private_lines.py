"""Every line through which a private record can pass is in a file that docs/private-data.md names."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.conftest import ROOT
from tests.helpers.late import Trees
from tests.helpers.private_values import DOORS, NOISE, Followed

pytestmark = pytest.mark.slow

PACKAGE = ROOT / "synthrelease"
TREES = Trees({path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))})
MECHANISMS = {path for path in TREES if path.endswith("_mechanism.py")}

DOCUMENT = (ROOT / "docs" / "private-data.md").read_text(encoding="utf-8")
SECTION = DOCUMENT.partition("## Every private line")[2].partition("\n## ")[0]
NAMED = [
    path for files in re.findall(r"^\| (`[^|]+`) \|", SECTION, re.MULTILINE) for path in re.findall(r"`([\w/]+\.py)`", files)
]
LISTED = set(NAMED)

MOST_LINES = 8_100
"""What a steward can read in an afternoon, blank lines and docstrings included. The goal is 7,700: `make report` says how many
there are."""


def lines_of(files: set[str]) -> int:
    return sum(len((PACKAGE / file).read_text(encoding="utf-8").splitlines()) for file in files)


@cache
def followed() -> Followed:
    return Followed(TREES)


def test_the_document_names_every_file_that_a_private_value_is_handed_to_and_no_other() -> None:
    enclave = {
        path for path in TREES if path.startswith("enclave/") and not path.endswith("__init__.py")
    }  # where rows are read, every line counts
    assert followed().files | enclave | MECHANISMS == LISTED


def test_the_document_names_each_file_once() -> None:
    assert len(NAMED) == len(LISTED)


def test_private_lines_can_be_read_in_an_afternoon() -> None:
    assert lines_of(LISTED) <= MOST_LINES


def test_the_follower_sees_what_it_follows() -> None:
    """A room that is moved or renamed must not leave it with nothing to look at: what it never enters, it never reports."""
    assert len(followed().files) >= 20
    assert len(MECHANISMS) >= 14
    assert {path.split("/")[0] for path in MECHANISMS} == {"criteria", "generators", "scouting"}
    assert set(NOISE) <= followed().files


def test_what_is_handed_to_spend_stands_in_a_mechanism() -> None:
    assert followed().unknown == []
    assert {place.path for place in followed().handed} <= MECHANISMS


def test_private_halves_are_loaded_where_they_spend() -> None:
    """At the top of a file only another private half imports one; the audit, which has made-up tables, may."""

    def at_the_top(tree: ast.Module) -> set[str]:
        found = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
        return {module for module in found if module.endswith("_mechanism")}

    assert {path for path in TREES if at_the_top(TREES[path]) and not path.startswith("studio/audit/")} <= MECHANISMS


@pytest.mark.parametrize("path", sorted(MECHANISMS))
def test_a_private_half_says_what_goes_in_what_comes_out_and_why_it_is_private(path: str) -> None:
    said = ast.get_docstring(TREES[path]) or ""
    assert said.startswith("The private half of ")
    words = " ".join(said.split())
    assert "Private: " in words
    assert "Out: " in words
    assert re.search("[Nn]eighbours", words)
    assert re.search(r"sensitivity|\bmoves?\b", words)


def test_who_holds_a_closed_door() -> None:
    """They can open it with `spend` alone."""
    found = {
        path.split("/")[0].removesuffix(".py")
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.annotation and set(re.findall(r"\w+", ast.unparse(node.annotation))) & set(DOORS)
    }
    of_public_data = {"studio"}
    assert found - of_public_data == {"enclave", "generators", "criteria", "releasing"}


KIND = "from synthrelease.criteria.facts import Query\nfrom synthrelease.data.counts import Counts\n"


TAKING = [
    "def query():\n    return Query(sensitivity=1.0, figure=lambda counts: 0.0)",
    "def query():\n    def own(counts):\n        return 0.0\n    return Query(sensitivity=1.0, figure=own)",
    "class Mine:\n    def query(self):\n        return Query(sensitivity=1.0, figure=self.own)\n"
    "    def own(self, counts: Counts) -> float:\n        return 0.0",
    "def fit(private, charge):\n    return private.spend(charge, lambda counts: counts)",
    "from functools import partial\ndef own(counts, n):\n    return n\n"
    "def fit(private, charge):\n    asked = partial(own, n=1)\n    return private.spend(charge, asked)",
]
ADDED = {f"criteria/taking_{number}.py": KIND + code for number, code in enumerate(TAKING)} | {
    "criteria/handing_on.py": KIND + "from synthrelease.criteria.helping import helped\n"
    "def query():\n    return Query(sensitivity=1.0, figure=lambda counts: helped(1, counts.project((0,)).counts))",
    "criteria/helping.py": "def helped(n, values):\n    return values.sum()\ndef other(n):\n    return n",
    "criteria/with_noise.py": "from synthrelease.privacy.noise import discrete_laplace\n"
    "from synthrelease.criteria.noisy import told\n"
    "def own(counts):\n    return told(discrete_laplace(counts.counts, sensitivity=1, epsilon=1, entropy=None))\n"
    "def fit(private, charge):\n    return private.spend(charge, own)",
    "criteria/noisy.py": "def told(values):\n    return values",
    "criteria/unknown.py": "def fit(self, private, charge):\n    return private.spend(charge, self.kinds[0])",
}
"""New files, none of which imports another's names, so that all are followed at once."""


@cache
def followed_with_added() -> Followed:
    return Followed({**TREES} | {path: ast.parse(code) for path, code in ADDED.items()})


@pytest.mark.parametrize("number", range(len(TAKING)))
def test_a_new_file_that_takes_private_counts_is_found(number: int) -> None:
    assert f"criteria/taking_{number}.py" in followed_with_added().files


def test_what_a_private_half_hands_on_is_found_in_the_next_file() -> None:
    found = [place for place in followed_with_added().private if place.path == "criteria/helping.py"]
    assert [(place.name, place.private) for place in found] == [("helped", {"values"})]


def test_what_has_noise_is_not_followed() -> None:
    files = followed_with_added().files
    assert "criteria/with_noise.py" in files
    assert "criteria/noisy.py" not in files


def test_what_is_handed_to_spend_and_cannot_be_followed_is_found() -> None:
    assert followed_with_added().unknown == [("criteria/unknown.py", 2)]
