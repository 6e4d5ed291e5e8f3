"""What docs/appendix/baselines.md says is checked where: every test, mutation and case that it names is there."""

from __future__ import annotations

import re

from tests.conftest import ROOT
from tests.mutations.machinery import read_table

PAGE = (ROOT / "docs" / "appendix" / "baselines.md").read_text(encoding="utf-8").split("## What is checked, and where")[1]
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "checked by" not in line and "caught by" not in line]


def test_every_row_names_a_test_a_mutation_or_a_case_that_is_there() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py")))
    tests = set(re.findall(r"def (test_\w+)", code))
    mutations = {row["mistake"] for row in read_table()}
    cases = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "whole" / "drawn").glob("*.py")))
    assert len(ROWS) > 35
    for row in ROWS:
        named, others = re.findall(r"`(test_\w+)`", row), re.findall(r"\*([^*]+)\*", row)
        assert named or others or "refused" in row, row
        assert set(named) <= tests, row
        assert all(other in mutations or f'"{other}' in cases for other in others), row
