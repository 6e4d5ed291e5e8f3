"""What differs on Windows, as far as it can be tried elsewhere: line ends, folders in paths, the encoding of files."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from synthrelease.bundle.write import write_bundle
from synthrelease.enclave.ingest import read_public
from synthrelease.published import load
from synthrelease.releasing.release import release
from synthrelease.settings.reading import beside
from synthrelease.spec.load import load_spec
from synthrelease.spec.shortlist import narrowed
from tests.conftest import ROOT
from tests.helpers.late import tree_of
from tests.helpers.tiny import write_config, write_data

SHORTLIST = """[[configurations]]
transformation = { face = "categories", year = "pairs" }
generator = { family = "privbayes", flavour = "degree", degree = 1, epsilon_split = "1/2", selector = "permute_and_flip" }
projection = { kind = "minimum_count", minimum_count = 2 }
"""


def as_on_windows(path: Path) -> Path:
    """The same file with the line ends and the byte order mark that an editor on Windows leaves."""
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return path


def test_specifications_mean_the_same_with_line_ends_of_windows(tmp_path: Path) -> None:
    before = load_spec(write_config(tmp_path))
    as_on_windows(tmp_path / "acceptance.toml")
    after = load_spec(as_on_windows(tmp_path / "coins.toml"))
    assert after.digest == before.digest


def test_a_shortlist_means_the_same_with_line_ends_of_windows(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    (tmp_path / "shortlist.toml").write_text(SHORTLIST, encoding="utf-8")
    assert narrowed(spec, as_on_windows(tmp_path / "shortlist.toml")).space.shortlist == (0,)


def test_a_table_means_the_same_with_line_ends_of_windows(tmp_path: Path) -> None:
    spec, path = load_spec(write_config(tmp_path)), write_data(tmp_path)
    before = read_public(path, spec.schema, spec.input, spec.raw)
    after = read_public(as_on_windows(path), spec.schema, spec.input, spec.raw)
    assert (after.codes.tolist(), after.counts.tolist()) == (before.codes.tolist(), before.counts.tolist())


def test_a_release_is_loaded_with_whatever_line_ends_it_arrives(tmp_path: Path) -> None:
    result = release(load_spec(write_config(tmp_path)), write_data(tmp_path))
    assert result is not None
    folder = write_bundle(result, tmp_path / "out")
    before = load(folder).table()
    assert b"\r" not in (folder / "data.csv").read_bytes() + (folder / "release.json").read_bytes()  # the same on every system
    for name in ("data.csv", "release.json"):
        as_on_windows(folder / name)
    assert load(folder).table().equals(before)


@pytest.mark.parametrize("named", ["../acceptance/births.toml", "..\\acceptance\\births.toml"])
def test_a_file_is_found_beside_another_with_either_separator(named: str) -> None:
    assert beside(ROOT / "configs" / "births.toml", named).resolve() == ROOT / "acceptance" / "births.toml"


def test_absolute_paths_stay_what_they_are() -> None:
    assert beside(Path("/a/b.toml"), "/c/d.toml") == Path("/c/d.toml")
    # what `beside` does on Windows, with that system's rules
    assert PureWindowsPath("C:/a") / PureWindowsPath("D:\\c\\d.toml").as_posix() == PureWindowsPath("D:/c/d.toml")
    assert PureWindowsPath("C:/a") / PureWindowsPath("..\\d.toml").as_posix() == PureWindowsPath("C:/a/../d.toml")
    assert PurePosixPath("/a") / PureWindowsPath("..\\d.toml").as_posix() == PurePosixPath("/a/../d.toml")


def test_a_configuration_may_extend_and_name_others_with_backslashes(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    write_config(tmp_path / "base")
    (tmp_path / "mine.toml").write_text("extends = 'base\\coins.toml'\ntitle = 'Mine'\nacceptance = 'base\\acceptance.toml'\n")
    assert load_spec(tmp_path / "mine.toml").title == "Mine"


@pytest.mark.slow
def test_text_files_are_read_and_written_as_utf_8_and_not_as_the_system_would() -> None:
    """Every read_text, write_text and open in text mode names its encoding: Windows has another default."""
    silent = []
    for path in sorted((ROOT / "synthrelease").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and _is_text(node) and "encoding" not in {keyword.arg for keyword in node.keywords}:
                silent.append(f"{path.name}:{node.lineno}")
    assert silent == []


def _is_text(call: ast.Call) -> bool:
    """Whether a call opens, reads or writes a file as text; members of an archive are bytes, whatever the mode."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    owner = getattr(getattr(call.func, "value", None), "id", "")
    modes = [part.value for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if name in ("open", "fdopen"):
        return not (owner in ("gzip", "archive") or (owner, name) == ("os", "open") or any("b" in mode for mode in modes))
    return name in ("read_text", "write_text")


@pytest.mark.slow
def test_a_table_with_letters_of_all_kinds_can_be_shown_on_a_terminal_of_windows(tmp_path: Path) -> None:
    """Output goes through a code page that has few letters; what it lacks must not end the program."""
    config = write_config(tmp_path, {'title = "Coins"': 'title = "מטבעות – naïve"'})
    found = subprocess.run(
        [sys.executable, "-m", "synthrelease", "plan", str(config)],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        check=False,
    )
    assert found.returncode == 0, found.stderr
