"""What is handed out: the same bytes from any folder at any time, and a wheel that works alone, without the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.helpers.late import library

pytestmark = pytest.mark.slow

library("hatchling", reason="needs hatchling, which builds the wheel")

MADE_HERE = (".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "site", "demo-release*", "wheelhouse*")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("dist_script", ROOT / "requirements" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def builds(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """Of two folders; files of the second are of another year, and others may not write them."""
    found = []
    for year in (2001, 2024):
        folder = tmp_path_factory.mktemp("sources") / "checkout"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*MADE_HERE))
        for path in folder.rglob("*"):
            if path.is_file():
                path.chmod(0o644 if year == 2001 else 0o664)
                os.utime(path, ((year - 1970) * 31_556_952,) * 2)
        found.append(script.built(folder, folder.parent / "built", moment=1_700_000_000))
    return found


@pytest.fixture(scope="module")
def alone(builds: list[dict[str, bytes]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel in a folder, as an installation has them."""
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = (name for name in builds[0] if name.endswith(".whl"))
    (folder / wheel).write_bytes(builds[0][wheel])
    with zipfile.ZipFile(folder / wheel) as files:
        files.extractall(folder / "installed")
    return folder / "installed"


def test_the_same_sources_give_the_same_bytes(builds: list[dict[str, bytes]]) -> None:
    assert [Path(name).suffix for name in builds[0]] == [".whl", ".gz"]
    assert builds[0] == builds[1]


def test_the_wheel_alone_releases_verifies_and_plans(alone: Path, tmp_path: Path) -> None:
    code = "import sys, synthrelease.cli; sys.exit(synthrelease.cli.main())"
    environment = dict(os.environ) | {"PYTHONPATH": str(alone)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = [sys.executable, "-c", "import synthrelease; print(synthrelease.__path__[0])"]
    found = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(found) == alone / "synthrelease"
    run("demo", "--out", "release")
    assert "release.json" in os.listdir(tmp_path / "release")
    run("verify", "release")
    assert "epsilon = 6.6978102" in run("plan", str(alone / "synthrelease" / "resources" / "configs" / "births.toml"))


def test_what_is_no_new_folder_is_left_alone(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(SystemExit, match="expected a new or empty folder"):
        script.make(tmp_path)
    assert os.listdir(tmp_path) == ["mine"]


def test_two_builds_that_differ_are_not_handed_out(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(script, "sources", lambda folder: folder.mkdir(parents=True))
    monkeypatch.setattr(script, "built", lambda folder, to, moment: {"a.whl": to.name.encode(), "a.tar.gz": b"same"})
    with pytest.raises(SystemExit, match=r"same bytes twice, found others: \['a\.whl'\]"):
        script.make(tmp_path / "dist")
    assert not (tmp_path / "dist").exists()
