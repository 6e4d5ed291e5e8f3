"""Build what is handed out: wheel and source archive, built twice to the same bytes, tried alone, with an SBOM and checksums.

    python requirements/dist.py dist

Everything is built from the last commit, never from files that are not in it, so whoever has the commit can build the same
bytes. The wheel is then installed into an environment of its own with what requirements/core-hashes.txt locks, away from
the checkout, where it makes, checks and plans a release. The SBOM (CycloneDX) names what that environment has, with versions
and licences.
Needs git, a network, and requirements/dist.txt.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
import venv
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
BINARIES = "Scripts" if os.name == "nt" else "bin"


def run(*command: str | Path, cwd: Path = ROOT, more: Mapping[str, str] | None = None) -> str:
    """What a command prints; its own words and the end where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | dict(more or {})
    done = subprocess.run([str(one) for one in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(str(one) for one in command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def sources(folder: Path) -> None:
    """The files of the last commit."""
    archive = folder.with_suffix(".tar")
    run("git", "archive", "--format=tar", "-o", archive, "HEAD")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")


def built(folder: Path, to: Path, moment: int) -> dict[str, bytes]:
    """Wheel and source archive of a folder of sources, by name; all in them has one time, in seconds of Unix."""
    run(sys.executable, "-m", "hatchling", "build", "-d", to, cwd=folder, more={"SOURCE_DATE_EPOCH": str(moment)})
    return {file.name: file.read_bytes() for file in sorted(to.iterdir()) if file.suffix in (".whl", ".gz")}


def tried(wheel: Path, folder: Path) -> Path:
    """An environment with the wheel and the locked core, in which a release was made, checked and planned; its Python."""
    home = folder / "environment"
    venv.create(home, with_pip=False)
    python, command = home / BINARIES / "python", home / BINARIES / "synthrelease"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    run(*install, "--no-deps", "--require-hashes", "-r", ROOT / "requirements" / "core-hashes.txt")
    run(*install, "--no-deps", wheel)
    run(command, "demo", "--out", folder / "release", cwd=folder)
    run(command, "verify", folder / "release", cwd=folder)
    shipped = run(python, "-c", "import synthrelease; print(synthrelease.__path__[0])", cwd=folder).strip()
    run(command, "plan", Path(shipped) / "resources" / "configs" / "births.toml", cwd=folder)
    return python


def bill_of_materials(python: Path, wheel: str) -> bytes:
    """What an environment has, as CycloneDX; the same bytes for the same environment, and no path of this machine."""
    text = run(
        *(sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "environment", "--output-reproducible", "--short-PURLs"),
        *("--pyproject", ROOT / "pyproject.toml", "--of", "JSON", python),
    )
    found = json.loads(text)
    found["components"] = [one for one in found["components"] if one["name"] != "synthrelease"]
    found.get("metadata", {})["properties"] = [
        {"name": "wheel", "value": wheel},
        {"name": "python", "value": platform.python_version()},
        {"name": "system", "value": f"{platform.system()} {platform.machine()}"},
    ]
    return (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode()


def make(folder: Path) -> None:
    """Write everything into a new or empty folder."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder}: expected a new or empty folder, found files in it")
    moment = int(run("git", "log", "-1", "--format=%ct"))
    with TemporaryDirectory() as name:
        work = Path(name)
        for place in ("one", "two"):
            sources(work / place)
        files, again = (built(work / place, work / f"built-{place}", moment) for place in ("one", "two"))
        different = [name for name in files if files[name] != again.get(name)]
        if different or len(files) != 2:
            raise SystemExit(
                f"expected a wheel and a source archive with the same bytes twice, found others: {different or [*files]}"
            )
        (wheel,) = (name for name in files if name.endswith(".whl"))
        python = tried(work / "built-one" / wheel, work)
        release, system = (
            wheel.split("-py3")[0],
            f"{platform.system()}-{platform.machine()}-py{sys.version_info[0]}{sys.version_info[1]}",
        )
        files[f"{release}-{system}.cdx.json"] = bill_of_materials(python, wheel)
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (files | {"SHA256SUMS": sums.encode()}).items():
        (folder / name).write_bytes(content)
    print(f"{sums}Built twice with these bytes from commit {run('git', 'rev-parse', 'HEAD').strip()}, tried alone: {folder}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a new or empty folder")
    make(parser.parse_args().folder)
