"""The digests of the configurations that come with synthrelease: `python -m tests.helpers.shipped` writes them."""

from __future__ import annotations

import json

from synthrelease.spec.load import load_spec
from synthrelease.spec.tried import SHIPPED, digest_of, digests
from tests.conftest import CONFIGURATIONS, ROOT


def shipped_text() -> str:
    """What configs/shipped.json has to hold."""
    names = {digest_of(digests(load_spec(path))): path.relative_to(ROOT / "configs").as_posix() for path in CONFIGURATIONS}
    return f"{json.dumps(names, indent=1)}\n"


if __name__ == "__main__":
    (ROOT / SHIPPED).write_text(shipped_text(), encoding="utf-8", newline="\n")
