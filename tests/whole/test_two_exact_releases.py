"""Two releases of one dataset under different raw rules: what the numbers of rows give away together."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateRows
from synthrelease.enclave.resizing import resize
from synthrelease.privacy.charges import RowsRule
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.releasing.release import read_private
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config

EXACT = {"rows = 400": 'rows = "exact"'}
LAYOUT = Layout(columns=("a",), sizes=(2,))
EPSILON = Fraction(1, 2)


class Shifted(SystemEntropy):
    """Noise that was decided beforehand."""

    def __init__(self, noise: int):
        self.noise = noise

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        assert scale == float(1 / EPSILON)
        return np.asarray(values, dtype=np.int64) + self.noise


def test_two_exact_numbers_give_away_how_many_break_one_rule(tmp_path: Path) -> None:
    """The guarantee of both is far from this: the difference is 1 with certainty here and 0 with certainty beside."""
    found = {}
    for last in ("tail,6", "tail,5"):
        (tmp_path / "coins.csv").write_text("face,year\n" + "head,1\n" * 200 + f"{last}\n")
        numbers = []
        for rule in ({}, {"year > 6": "year > 5"}):
            spec = load_spec(write_config(tmp_path, EXACT | rule))
            assert spec.plan.once == ()
            numbers.append(read_private(spec, tmp_path / "coins.csv").n)
        found[last] = numbers[0] - numbers[1]
    assert found == {"tail,6": 1, "tail,5": 0}


def law_of_number(kept: int, n_file: int) -> dict[int, float]:
    """Of the public number of rows, by the program, for every noise and its probability.

    Noise of 60 or more, and of -60 or less, is one case each: the number is at its end there.
    """
    rule = RowsRule(way="counted", epsilon=EPSILON)
    assert rule.charge is not None
    decay = math.exp(-float(EPSILON))
    law: Counter[int] = Counter()
    for noise in range(-60, 61):
        rows = PrivateRows(Counts(LAYOUT, np.zeros(kept, dtype=np.int64)), n_file, Shifted(noise))
        m = resize(rows, rule, Plausibility(layout=LAYOUT, masks=()), [rule.charge]).n
        law[m] += (1 if abs(noise) == 60 else 1 - decay) / (1 + decay) * decay ** abs(noise)
    return dict(law)


@pytest.mark.slow
@pytest.mark.parametrize("n_file", [16, 18])
def test_two_counted_numbers_stay_within_their_sum(n_file: int) -> None:
    """A row is kept under both rules, under the first alone, or under neither; all files up to order, and their neighbours."""
    laws = [law_of_number(kept, n_file) for kept in range(n_file + 1)]
    assert all(set(law) <= set(range(1, n_file + 1)) for law in laws)
    assert n_file in laws[n_file]  # noise that would lead beyond the file ends there
    kinds = ((1, 1), (1, 0), (0, 0))
    most, differences = 0.0, 0
    for both, first in ((b, f) for b in range(n_file) for f in range(n_file - b)):  # of the N - 1 rows that are shared
        for one, other in product(kinds, repeat=2):
            joint = [(laws[both + first + kind[0]], laws[both + kind[1]]) for kind in (one, other)]
            for m1, m2 in product(joint[0][0], joint[0][1]):
                left, right = (a.get(m1, 0.0) * b.get(m2, 0.0) for a, b in joint)
                most = max(most, math.log(left / right) if left and right else math.inf)
                differences += 1
    assert most <= 2 * float(EPSILON) + 1e-9
    assert most > 1.9 * float(EPSILON)
    assert differences > 1000
