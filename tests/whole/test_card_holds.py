"""What a card states holds for the file: a slice of tests/benchmarks/coverage_card.py, whole releases of 4,000 births."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.coverage_card import Study, table_of

pytestmark = pytest.mark.slow
RUNS = 8


@pytest.mark.parametrize("stated", [False, True])
def test_statements_of_a_card_hold_for_the_file(stated: bool, tmp_path: Path) -> None:
    """With little noise in the figures the drawing of the rows is what is left, and limits of the drawn rows do not hold.

    Of a statement that holds in 95% of the releases 3 misses in 8 have a probability of 0.6%, and 4 of 0.04%. There are so many
    intervals that 3 misses of one of them are no wonder. Seeds are fixed.
    """
    study = Study("small", table_of("small", None), tmp_path, stated=stated, sharp=True)
    runs = sum(study.run(seed) for seed in range(RUNS))
    assert runs >= 6
    held = {statement: float(np.mean(found.held)) for statement, found in study.found.items()}
    for_the_file = [
        name for name in held if name.startswith(("limit for the file", "all bands", "error of", "number of", "records"))
    ]
    assert len(for_the_file) >= 9
    assert {name: held[name] for name in for_the_file if held[name] < 1 - 2.5 / runs} == {}
    intervals = {
        name: share for name, share in held.items() if name.startswith(("interval", "estimate by", "bound by", "all bounds"))
    }
    assert len(intervals) >= 15
    assert {name: share for name, share in intervals.items() if share < 1 - 3.5 / runs} == {}
    assert held["joint test refuses a table just above a threshold"] >= 0.85
    assert held["as before: all bands at once"] < 0.8
