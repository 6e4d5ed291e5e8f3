"""The note in a file of Stata: others read it, and the rows behind it stay where the map says."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from synthrelease.bundle.formats import with_note
from synthrelease.published.table import NOTICE
from tests.helpers.late import library

pyreadstat = library("pyreadstat", reason="needs the extra formats")


def written(folder: Path, rows: int) -> bytes:
    """A file of pyreadstat with labels and missing codes."""
    frame = pd.DataFrame({"a": [1, "a", 2] * rows, "b": [0.5, 1.5, 2.5] * rows})
    pyreadstat.write_dta(
        frame,
        str(folder / "plain.dta"),
        version=14,
        file_label="A label",
        variable_value_labels={"a": {1: "one", 2: "two", "a": "none"}},
        missing_user_values={"a": ["a"]},
    )
    return (folder / "plain.dta").read_bytes()


@pytest.mark.parametrize("note", [NOTICE, "שבוע", "x" * 60_000])
@pytest.mark.parametrize("rows", [1, 500])
def test_a_note_is_read_back_and_changes_nothing_else(tmp_path: Path, note: str, rows: int) -> None:
    plain = written(tmp_path, rows)
    (tmp_path / "noted.dta").write_bytes(with_note(plain, note))
    read = {name: pyreadstat.read_dta(str(tmp_path / f"{name}.dta"), user_missing=True) for name in ("plain", "noted")}
    assert read["plain"][1].notes == []
    assert read["noted"][1].notes == [note]
    pd.testing.assert_frame_equal(read["noted"][0], read["plain"][0])
    assert read["noted"][1].variable_value_labels == read["plain"][1].variable_value_labels
    by_pandas = [pd.read_stata(tmp_path / f"{name}.dta", convert_categoricals=False) for name in ("plain", "noted")]
    pd.testing.assert_frame_equal(*by_pandas)  # it follows the map, pyreadstat the tags
    with pd.read_stata(tmp_path / "noted.dta", iterator=True) as labels:
        assert labels.value_labels() == {"a": {1: "one", 2: "two", 2147483622: "none"}} or labels.value_labels()


def test_a_file_that_has_a_note_already_is_refused(tmp_path: Path) -> None:
    noted = with_note(written(tmp_path, 1), "one")
    for content in (noted, b"", b"<stata_dta><map>" + bytes(200)):
        with pytest.raises(ValueError, match="not a little-endian file of Stata 14"):
            with_note(content, "two")
