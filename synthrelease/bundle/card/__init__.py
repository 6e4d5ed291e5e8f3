"""The data card: README.html, README.md and the pages in other languages, from release.json and the released table.

Here are the words of the public part, which `plan` prints as well: no template is loaded for them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from synthrelease.criteria.facts import figure
from synthrelease.generators.associations import CarriedPairs

MOST_NAMED = 10
"""Pairs that a sentence names, at most; associations.csv has all."""


@lru_cache(maxsize=8)
def sentences(language: str) -> Mapping[str, str]:
    """Return the framework's sentences in a language."""
    path = Path(__file__).parent / "words" / f"{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def uses_in_words(pairs: CarriedPairs | None) -> list[str]:
    """Return in English what the rows are good for and what not, for screens and sheets, in the words of the card."""
    return [] if pairs is None else [sentences("en")[key].format(**counts_of(pairs)) for key in uses_of(pairs)]


def uses_of(pairs: CarriedPairs) -> list[str]:
    """Return the keys of the sentences on what the rows are good for and what not; every screen and page uses the same keys."""
    if pairs.unknown == pairs.pairs:
        return ["carried_unknown"]
    if pairs.carried == pairs.pairs:
        return ["carried_all"]
    further = {"carried_unknown_some": pairs.unknown, "carried_noise": pairs.noisy, "carried_partial": pairs.partial}
    return ["carried_some" if pairs.carried else "carried_zero", "carried_limits", *(key for key, n in further.items() if n)]


def counts_of(pairs: CarriedPairs | None) -> dict[str, str]:
    """Return the figures in the sentences of the card."""
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
