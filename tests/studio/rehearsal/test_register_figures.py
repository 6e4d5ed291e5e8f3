"""What the page of registers says of the dependence that a release keeps."""

from __future__ import annotations

import math

import pytest

from tests.benchmarks.register_figures import Compared


@pytest.mark.parametrize(
    ("release", "half", "independent", "words"),
    [
        (0.02, 0.01, 0.11, "90%"),
        (0.0465, 0.0408, 0.0407, "none: worse than independent columns"),
        (0.0030, 0.0032, 0.0027, "too few rows to tell"),  # another half of the same people is further off than either
    ],
)
def test_nothing_is_told_where_another_half_is_further_off(release: float, half: float, independent: float, words: str) -> None:
    pairs = {"release": release, "half": half, "independent": independent}
    kept = 1 - (release - half) / (independent - half) if independent > half else math.nan
    distances = {name: (0.0, of_pairs, 0.0) for name, of_pairs in pairs.items()}
    found = Compared(distances=distances, kept=kept, strong=0, lost=[], accepted=(1, 1), n_kept=9)
    assert found.kept_in_words == words
