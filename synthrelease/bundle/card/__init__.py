"""Write the data card: README.html, README.md and pages in other languages, from release.json and the released table.

This module contains the sentences for everyone, of which `plan` prints some without loading a template.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from synthrelease.criteria.facts import figure
from synthrelease.generators.associations import CarriedPairs

MOST_NAMED = 10
"""Largest number of pairs of columns that a sentence names. associations.csv lists all pairs."""


@lru_cache(maxsize=8)
def sentences(language: str) -> Mapping[str, str]:
    """Return the fixed sentences of the card in a language, by keys that are the same in every language."""
    path = Path(__file__).parent / "words" / f"{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def uses_in_words(pairs: CarriedPairs | None) -> list[str]:
    """Return the English sentences about the associations that the rows preserve, or none if `pairs` is None."""
    return [] if pairs is None else [sentences("en")[key].format(**counts_of(pairs)) for key in uses_of(pairs)]


def uses_of(pairs: CarriedPairs) -> list[str]:
    """Return the keys of the sentences that say for which pairs of columns the rows preserve the association."""
    if pairs.unknown == pairs.pairs:
        return ["carried_unknown"]
    if pairs.carried == pairs.pairs:
        return ["carried_all"]
    further = {"carried_unknown_some": pairs.unknown, "carried_noise": pairs.noisy, "carried_partial": pairs.partial}
    return ["carried_some" if pairs.carried else "carried_zero", "carried_limits", *(key for key, n in further.items() if n)]


def counts_of(pairs: CarriedPairs | None) -> dict[str, str]:
    """Return the numbers for the sentences about preserved associations as strings, empty if `pairs` is None."""
    if pairs is None:
        names = ("pairs", "carried", "unknown_pairs", "noisy_pairs", "noisy_names", "partial_pairs", "triples")
        return dict.fromkeys((*names, "carried_triples"), "")
    return {
        "pairs": figure(pairs.pairs),
        "carried": figure(pairs.carried),
        "unknown_pairs": figure(pairs.unknown),
        "noisy_pairs": figure(len(pairs.noisy)),
        "noisy_names": "; ".join([*map(" × ".join, pairs.noisy[:MOST_NAMED]), *["…"] * (len(pairs.noisy) > MOST_NAMED)]),
        "partial_pairs": figure(pairs.partial),
        "triples": figure(pairs.triples),
        "carried_triples": figure(len(pairs.carried_triples)),
    }
