"""A criterion of another package: its claim is tried, its noise is ours, and nothing that it writes stays."""

from __future__ import annotations

import numpy as np
import pytest

from synthrelease.criteria.base import Fitted
from synthrelease.criteria.outside import OutsideCriterion
from synthrelease.studio.audit.contracts import COLUMNS, check_kind
from synthrelease.studio.audit.tiny import World


class TooSmall(OutsideCriterion):
    """The range in place of the largest absolute value: right only where numbers begin at 0."""

    words = "The sum of a column."
    times: float = 1.0

    def figure(self, table, candidate, setting) -> float:
        numbers = np.array(setting.facts(candidate.transformation).by_name["c"].numbers)
        return abs(float((numbers[table.bins[2]] * table.counts).sum()))

    def sensitivity(self, n, candidate, setting) -> float:
        numbers = setting.facts(candidate.transformation).by_name["c"].numbers
        return self.times * (max(numbers) - min(numbers))

    @classmethod
    def examples(cls):
        return [{}]


@pytest.mark.slow
def test_a_claim_that_is_too_small_is_found_with_its_first_tables() -> None:
    half = type("Half", (TooSmall,), {"examples": classmethod(lambda cls: [{"times": 0.5}])})
    (problem,) = check_kind(half)
    assert "One replaced record changes the value by 3, but the class claims at most 1.5" in problem
    assert check_kind(TooSmall) == ()  # a sum of signed numbers moves by their range, wherever they begin


def test_the_noise_is_of_the_claimed_sensitivity() -> None:
    world = World(COLUMNS)
    criterion = TooSmall(name="sum", kind="x:y", threshold=1, epsilon=1)
    query = criterion.query(2, world.candidate([0, 1]), world.setting(criterion), Fitted())
    assert query.sensitivity == 3  # of the numbers 0 to 3 of column c


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, float("nan"), float("inf")])
def test_no_sensitivity_is_refused(sensitivity: float) -> None:
    world = World(COLUMNS)
    kind = type("Claims", (TooSmall,), {"sensitivity": lambda self, n, candidate, setting: sensitivity})
    criterion = kind(name="sum", kind="x:y", threshold=1, epsilon=1)
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        criterion.query(2, world.candidate([0, 1]), world.setting(criterion), Fitted())


class Writes(TooSmall):
    """Puts the table that it should be compared with into the candidate."""

    def figure(self, table, candidate, setting) -> float:
        np.copyto(candidate.counts.counts, table.counts)
        table.counts[:] = 0
        return 0.0


def test_what_a_package_writes_into_tables_stays_nowhere() -> None:
    world = World(COLUMNS)
    criterion = Writes(name="sum", kind="x:y", threshold=1, epsilon=1)
    candidate, table = world.candidate([0, 0, 5]), world.counts([1, 7, 7])
    before = candidate.counts.counts.copy(), table.counts.copy()
    criterion.query(3, candidate, world.setting(criterion), Fitted()).figure(table)
    assert (candidate.counts.counts == before[0]).all()
    assert (table.counts == before[1]).all()
