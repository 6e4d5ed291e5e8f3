"""A published folder: what `verify` says of it, its card, and an answer with its bound and estimate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthrelease.errors import InputError


def gathered(folder: Path | None, asked: Mapping[str, str]) -> dict[str, Any]:
    """What `verify` says of a published folder, and an answer with its bound and estimate."""
    if folder is None:
        return {"folder": None}
    from synthrelease.bundle.verify import verify_bundle

    found: dict[str, Any] = {
        "folder": folder.name,
        "report": None,
        "query": asked.get("query", ""),
        "wrong": "",
        "narrow": asked.get("width") == "phone",
    }
    try:
        if asked.get("verify"):
            found["report"] = verify_bundle(folder)
        if found["query"]:
            found |= _answers(folder, found["query"])
    except InputError as error:
        found["wrong"] = str(error)
    return found


def _answers(folder: Path, query: str) -> dict[str, Any]:
    from synthrelease.answers.bounds import bound
    from synthrelease.answers.estimates import estimate
    from synthrelease.published import load

    release = load(folder)
    bounded = bound(release, query)
    try:
        estimated = str(estimate(release, bounded.question if query == bounded.question else f"share {query}"))
    except InputError as error:
        estimated = f"None: {error}"
    return {"naive": f"{bounded.answer:,.6g}", "bounded": str(bounded), "estimated": estimated}
