"""Everything for a machine without a network: what is gathered, and that it installs by its own instructions."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path, PureWindowsPath
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("wheelhouse_script", ROOT / "requirements" / "wheelhouse.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


LOCK = """
# a comment
colorama==0.4.6 ; sys_platform == 'win32'
numpy==2.4.6 ; python_full_version < '3.12'
numpy==2.5.5 ; python_full_version >= '3.12'
click==8.1
"""


@pytest.mark.parametrize(
    ("system", "python", "expected"),
    [
        ("linux", "3.11", ["numpy==2.4.6", "click==8.1"]),
        ("windows", "3.11", ["colorama==0.4.6", "numpy==2.4.6", "click==8.1"]),
        ("windows", "3.13", ["colorama==0.4.6", "numpy==2.5.5", "click==8.1"]),
        ("macos", "3.12", ["numpy==2.5.5", "click==8.1"]),
    ],
)
def test_the_versions_are_those_of_the_machine_that_will_install_them(
    script: ModuleType, system: str, python: str, expected: list[str]
) -> None:
    assert script.locked(LOCK, script.Target(python=python, system=system)) == expected


def test_every_package_of_the_lock_is_wanted_once_on_every_machine(script: ModuleType) -> None:
    text = script.LOCK.read_text(encoding="utf-8")
    for system in script.SYSTEMS:
        for python in script.PYTHONS:
            names = [pin.partition("==")[0] for pin in script.locked(text, script.Target(python=python, system=system))]
            assert len(names) == len(set(names))
            assert {"numpy", "scipy", "pyarrow"} <= set(names)
            assert "opendp" not in names
            assert ("colorama" in names) == (system == "windows")


def test_every_file_is_listed_with_its_hash(script: ModuleType, tmp_path: Path) -> None:
    for name in ("one_package-1.0-py3-none-any.whl", "two-2.1.post1-cp311-cp311-win_amd64.whl"):
        (tmp_path / name).write_bytes(name.encode())
    sums = {name: hashlib.sha256(name.encode()).hexdigest() for name in sorted(os.listdir(tmp_path))}
    assert script.hashed(tmp_path).splitlines() == [
        f"one-package==1.0 --hash=sha256:{sums['one_package-1.0-py3-none-any.whl']}",
        f"two==2.1.post1 --hash=sha256:{sums['two-2.1.post1-cp311-cp311-win_amd64.whl']}",
    ]


def test_a_folder_with_files_in_it_is_left_alone(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(SystemExit, match="expected a new or empty folder"):
        script.gather(tmp_path, script.here())
    assert os.listdir(tmp_path) == ["mine"]


def commands(text: str) -> list[str]:
    """The commands of INSTALL.txt: indented lines, hashes apart."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("       ")]
    return [line for line in lines if " " in line]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_commands_of_the_page_gather_into_different_folders() -> None:
    """Each asks for a new or empty folder."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    commands = [shlex.split(line) for line in page.splitlines() if line.strip().startswith("make wheelhouse")]
    runs = [subprocess.run(["make", "-n", *one[1:]], cwd=ROOT, capture_output=True, text=True, check=True) for one in commands]
    folders = [re.findall(r"wheelhouse\.py (\S+)", run.stdout) for run in runs]
    assert folders == [["wheelhouse"], ["wheelhouse-windows"]]


def test_the_instructions_for_windows_use_its_paths_and_need_no_make(script: ModuleType) -> None:
    text = script.instructions(script.Target(python="3.12", system="windows"), "abc")
    programs = [command.split()[0] for command in commands(text)]
    assert programs[1] == "py"
    for program in programs[2:]:
        path = PureWindowsPath(program)
        assert path.parts[:2] == ("synthrelease-env", "Scripts")
        assert "/" not in program
    assert not {"make", "source", "bash", "sha256sum"} & set(text.split())


@pytest.mark.wheelhouse
def test_it_installs_and_runs_without_a_network_by_its_own_instructions(tmp_path: Path) -> None:
    """In a fresh environment, with no index; in a network namespace without any network where the system allows it."""
    folder = tmp_path / "carried over"
    shutil.copytree(os.environ["SYNTHRELEASE_WHEELHOUSE"], folder)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "VIRTUAL"))}
    environment |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "HOME": str(tmp_path)}
    isolated = ["unshare", "--net"] if shutil.which("unshare") and os.geteuid() == 0 else []
    found = commands((folder / "INSTALL.txt").read_text(encoding="utf-8"))
    assert len(found) == 4
    for command in found:
        result = subprocess.run(
            [*isolated, *shlex.split(command)], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, (command, result.stdout, result.stderr)
    assert (folder / "demo-release" / "release.json").is_file()

    changed = next(folder.glob("rich-*.whl"))
    with zipfile.ZipFile(changed, "a") as wheel:
        wheel.writestr("rich/added.py", "")
    refused = subprocess.run(
        [*isolated, *shlex.split(found[2]), "--force-reinstall"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode != 0
    assert "DO NOT MATCH THE HASHES" in refused.stdout + refused.stderr
