"""Methods to compare with are no part of a release: no charge, no ledger, no private counts, and nothing imports them there."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.test_architecture import FLOORS, TREES, imported

FOLDER = "studio/baselines/"
ALLOWED = (
    "synthrelease.data.",
    "synthrelease.errors",
    "synthrelease.resources",
    "synthrelease.studio.baselines",
    "synthrelease.studio.rehearsal.surrogates",
)


def test_they_import_tables_and_each_other_alone() -> None:
    files = {path for path in TREES if path.startswith(FOLDER)}
    assert len(files) > 4
    for path in files:
        own = {name for name in imported(TREES[path]) if name.startswith("synthrelease")}
        assert {name for name in own if not name.startswith(ALLOWED)} == set(), path


@pytest.mark.slow
def test_no_room_of_a_release_imports_them() -> None:
    naming = {path: tree for path, tree in TREES.items() if "baselines" in (ROOT / "synthrelease" / path).read_text("utf-8")}
    users = {path for path, tree in naming.items() if any("studio.baselines" in name for name in imported(tree))}
    assert "studio/rehearsal/compare.py" in users
    assert {path for path in users if not path.startswith("studio/")} == set()
    assert FLOORS["studio"] > FLOORS["releasing"]  # nothing below it can
