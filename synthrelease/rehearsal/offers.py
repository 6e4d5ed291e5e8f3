"""The options that are a folder, as a rehearsal offers them."""

from __future__ import annotations

from collections.abc import Mapping

from synthrelease.parts import each
from synthrelease.rehearsal.part import Rehearsing
from synthrelease.spec.release_spec import ReleaseSpec


def offered(spec: ReleaseSpec) -> list[str]:
    """What is said of all options that the specification does without and that would pay."""
    hooks: Mapping[str, Rehearsing] = each("rehearsing")
    return [text for one in hooks.values() for text in one.offered(spec)]
