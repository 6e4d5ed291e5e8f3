"""Each line of the table of small files that would cost much (docs/audit.md) is within its limits of time and memory."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("processor time of another process is read from /proc", allow_module_level=True)

from tests.conftest import ROOT
from tests.whole.hostile.small_files import MAKERS, Case, cases, outcome, wrong


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return cases(tmp_path_factory.mktemp("small"))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(MAKERS)))
def test_a_small_file_costs_little(made: list[Case], number: int) -> None:
    assert wrong(made[number], outcome(made[number])) == ""


@pytest.mark.slow
def test_the_page_has_a_line_for_each(made: list[Case]) -> None:
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    for case in made:
        assert [line for line in lines if line.startswith(f"| {case.name} | ")], case.name
