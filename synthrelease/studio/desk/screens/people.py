"""Whom the guarantee protects, and how many rows a person has."""

from __future__ import annotations

from typing import Any

from synthrelease.spec.members import IN_WORDS
from synthrelease.spec.record import QUESTION, guarantee_in_words
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.drafting.edits import Guesses
from synthrelease.studio.drafting.public_file import PublicFile


def gathered(spec: ReleaseSpec, public: PublicFile | None, guesses: Guesses) -> dict[str, Any]:
    """Whom the guarantee protects, in the words of the plan. Members have a key of their own, and then [unit] has none."""
    unit, linked = spec.unit, spec.schema.linked
    words = guarantee_in_words(unit, spec.plan.total)
    if linked is not None:
        words.append(IN_WORDS)
    repeated = [each for each in guesses.left_out if each.rows_of_one > 1]
    key = public.columns.get(unit.key) if public is not None and unit.key else None
    return {
        "unit": unit,
        "records": str(unit.records) if unit.answered else "",
        "question": "" if unit.answered or unit.key else QUESTION,
        "words": words,
        "members": linked,
        "keys": [] if unit.key else [(each.source, each.rows_of_one) for each in repeated],
        "sources": [] if public is None or unit.key else list(public.columns),
        "most": max(key.values(), default=0) if key else None,
        "public_rows": spec.rows.way in ("exact", "whole"),
    }
