"""Refuse to hand out what is no release: `make release` runs this before and after all tests, then `make dist`.

python requirements/release.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def git(root: Path, *command: str) -> str:
    """What git prints; it fails as git does."""
    return subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def problems(root: Path) -> Iterator[str]:
    """Yield what speaks against a release of the commit that is checked out: what was expected, and what was found."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    (own,) = re.findall(
        r'^VERSION = "(.*)"$', (root / "synthrelease" / "resources.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    if version != own:
        yield f"expected one version in pyproject.toml and synthrelease/resources.py, found {version} and {own}"
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"expected a version of three numbers, such as 1.1.0, found {version}: a version in development is not released"
    first = next(iter(re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)), "nothing")
    if not re.fullmatch(rf"{re.escape(version)}, \d{{1,2}} [A-Z][a-z]+ \d{{4}}", first):
        yield f"expected CHANGELOG.md to begin with the section {version!r} and its date, found {first!r}"
    if changed := git(root, "status", "--porcelain"):
        yield f"expected a tree without changes, found:\n{changed}"
    if git(root, "tag", "--list", f"v{version}"):
        yield f"expected a version that has no tag yet, found v{version}"


if __name__ == "__main__":
    found = list(problems(ROOT))
    sys.exit("\n".join(["This is not released:", *found]) if found else 0)
