"""The notebook with an analysis of a release runs as it stands, and its ranges hold the released answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.helpers.cards import rich_bundle, write_files
from tests.helpers.tiny import write_measured_release


@pytest.mark.parametrize("measured", [False, True])
def test_every_cell_of_the_notebook_runs(measured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((ROOT / "docs" / "notebooks" / "analysis.ipynb").read_text(encoding="utf-8"))
    if measured:
        write_measured_release(tmp_path, tmp_path / "release")
    else:
        write_files(rich_bundle(), tmp_path / "release")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)  # noqa: S102
    shares = names["shares"]
    assert list(shares["face"]) == ["head", "tail"]
    assert (shares["low"] <= shares["released share"]).all()
    assert (shares["released share"] <= shares["high"]).all()
    assert names["mean"].kind == "mean"
    assert len(names["figures"]) == len(json.loads((tmp_path / "release" / "release.json").read_bytes())["criteria"])
    assert (names["release"].measurements is not None) == measured
