"""Gather everything that a machine without a network needs to install synthrelease.

    python requirements/wheelhouse.py wheelhouse                                   for a machine like this one
    python requirements/wheelhouse.py wheelhouse --system windows --python 3.12    for another one

The folder then holds the wheels of requirements/core.txt at their locked versions, the wheel of synthrelease itself, a
requirements.txt with the SHA-256 of each, and INSTALL.txt. Needs a network, pip and `packaging` (both are in .venv).
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "core.txt"
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {
    "linux": ("linux", "Linux", "posix", "x86_64", tuple(f"manylinux_2_{minor}_x86_64" for minor in range(5, 29))),
    "windows": ("win32", "Windows", "nt", "AMD64", ("win_amd64",)),
    "macos": ("darwin", "Darwin", "posix", "arm64", tuple(f"macosx_{major}_0_arm64" for major in range(11, 16))),
}
"""For each system: sys_platform, platform_system, os_name and machine, and the tags of wheels that it can install."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The machine that the wheels are for."""

    python: str
    system: str

    def environment(self) -> dict[str, str]:
        """What the markers of the locked versions look at."""
        sys_platform, platform_system, os_name, machine, _ = SYSTEMS[self.system]
        return {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "sys_platform": sys_platform,
            "platform_system": platform_system,
            "os_name": os_name,
            "platform_machine": machine,
        }

    def options(self) -> list[str]:
        """Options of `pip download`. Wheels only: nothing is built, here or there."""
        chosen = [f"--platform={tag}" for tag in SYSTEMS[self.system][-1]]
        return ["--only-binary=:all:", f"--python-version={self.python}", "--implementation=cp", *chosen]


def here() -> Target:
    """This machine."""
    systems = {values[0]: name for name, values in SYSTEMS.items()}
    return Target(python="{}.{}".format(*sys.version_info[:2]), system=systems[sys.platform])


def locked(text: str, target: Target) -> list[str]:
    """The pins of a lock file that the target needs, without their markers."""
    requirements = [Requirement(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    wanted = [r for r in requirements if r.marker is None or r.marker.evaluate(target.environment())]
    return [f"{requirement.name}{requirement.specifier}" for requirement in wanted]


def hashed(folder: Path) -> str:
    """The text of requirements.txt: every wheel of the folder with its SHA-256."""
    lines = []
    for wheel in sorted(folder.glob("*.whl")):
        name, version, _, _ = parse_wheel_filename(wheel.name)
        lines.append(f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}")
    return "\n".join(lines) + "\n"


def instructions(target: Target, digest: str) -> str:
    """The text of INSTALL.txt."""
    windows = target.system == "windows"
    python = f"py -{target.python}" if windows else f"python{target.python}"
    bin_ = r"synthrelease-env\Scripts" + "\\" if windows else "synthrelease-env/bin/"
    shell = "PowerShell" if windows else "a terminal"
    sums = "Get-FileHash requirements.txt" if windows else "sha256sum requirements.txt"
    return f"""\
synthrelease on a machine without a network
for {target.system}, Python {target.python}

Open {shell} in this folder.

1. Compare the SHA-256 of requirements.txt with the one that was printed when this folder was made.
   It holds the hashes of all other files, and step 3 refuses a file that does not match.

       {sums}
       {digest}

2. Make an environment. It needs Python {target.python} and nothing else.

       {python} -m venv synthrelease-env

3. Install. No package index is asked.

       {bin_}python -m pip install --no-index --find-links . --require-hashes -r requirements.txt

4. Try it: a whole release of simulated births that come with it.

       {bin_}synthrelease demo --out demo-release

To remove it, delete the folder synthrelease-env.
"""


def gather(folder: Path, target: Target) -> str:
    """Fill an empty or new folder; returns the SHA-256 of its requirements.txt."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder}: expected a new or empty folder, found files in it. Remove it, or name another one.")
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    pins = locked(LOCK.read_text(encoding="utf-8"), target)
    _run([*pip, "download", "--no-deps", "--dest", str(folder), *target.options(), *pins])
    _run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    text = hashed(folder)
    if len(text.splitlines()) != len(pins) + 1:
        raise SystemExit(f"{folder}: expected {len(pins) + 1} wheels, found {len(text.splitlines())}.")
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "requirements.txt").write_text(text, encoding="utf-8", newline="\n")
    lines = "\r\n" if target.system == "windows" else "\n"
    (folder / "INSTALL.txt").write_text(instructions(target, digest), encoding="utf-8", newline=lines)
    return digest


def _run(command: Sequence[str]) -> None:
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"{' '.join(command[2:5])} ended with an error (above).")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", choices=PYTHONS, default=here().python)
    parser.add_argument("--system", choices=SYSTEMS, default=here().system)
    options = parser.parse_args()
    target = Target(python=options.python, system=options.system)
    digest = gather(options.folder, target)
    print(f"{options.folder}: everything for {target.system} with Python {target.python}. For your records, the SHA-256 of its")
    print(f"requirements.txt: {digest}")
    if target == here() and platform.machine() != SYSTEMS[target.system][3]:
        print(f"These wheels are for {SYSTEMS[target.system][3]}; this machine is {platform.machine()}.")


if __name__ == "__main__":
    main()
