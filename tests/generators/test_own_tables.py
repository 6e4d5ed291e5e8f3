"""Rows that contradict the noisy tables that they were made from give no release."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background
from synthrelease.generators.candidate import FAR, RISK, contradicts_its_tables, make_candidate
from synthrelease.generators.measured_noise import DiscreteLaplace
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals
from synthrelease.privacy.charges import GENERATION, Meter, mechanism
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config

LAYOUT = Layout(columns=("a", "b"), sizes=(2, 3))
NO_RULES = Plausibility(layout=LAYOUT, masks=())
EPSILON = Fraction(1, 2)


def measured(values: list[list[int]]) -> NoisyMarginals:
    table = np.array(values)
    cells = np.ones_like(table)
    one = NoisyMarginal(columns=(0, 1), values=table, cost=EPSILON, cells=cells)
    return NoisyMarginals(layout=LAYOUT, n=int(table.sum()), tables=(one,))


def rows(counts: list[list[int]]) -> Counts:
    table = np.array(counts)
    return Counts.of(LAYOUT, [axis.ravel() for axis in np.indices(table.shape)], table.ravel())


@pytest.mark.parametrize("sign", [1, -1])
def test_a_share_may_be_off_by_the_noise_and_a_tenth_and_no_more(sign: int) -> None:
    """To the row: of the bin of a column the counts of three cells were added up, of the other column of two."""
    noisy = measured([[2000, 2000, 2000], [2000, 1000, 1000]])
    limit = DiscreteLaplace.of_table(EPSILON).limit(RISK)
    most = FAR * 10_000 + limit * 3**0.5
    for moved, expected in ((int(most) - 1, False), (int(most) + 1, True)):
        here, there = (moved, 0) if sign > 0 else (0, moved)
        spread = [here // 3, here // 3, here - 2 * (here // 3)], [there // 3, there // 3, there - 2 * (there // 3)]
        found = np.array([[2000, 2000, 2000], [2000, 1000, 1000]])
        found = found + np.array(spread) - np.array([spread[1], spread[0]])
        assert contradicts_its_tables(rows(found.tolist()), noisy, NO_RULES) == expected


def test_cells_that_rules_exclude_are_not_compared() -> None:
    """Half of the original rows are against a rule for released rows: the others keep their shares."""
    never = np.array([[True, False, False], [False, False, False]])
    rule = Plausibility(layout=LAYOUT, masks=(Mask(columns=(0, 1), forbidden=never),))
    noisy, found = measured([[5000, 1000, 1000], [1000, 1000, 1000]]), rows([[0, 2000, 2000], [2000, 2000, 2000]])
    assert not contradicts_its_tables(found, noisy, rule)
    assert contradicts_its_tables(found, noisy, NO_RULES)


def test_tables_of_noise_alone_say_nothing() -> None:
    noisy = measured([[3, -2, 4], [1, 0, -1]])
    assert not contradicts_its_tables(rows([[1000, 0, 0], [0, 0, 0]]), noisy, NO_RULES)


@pytest.mark.parametrize("weight", [1, 10**9])
def test_a_prior_that_drowns_the_tables_gives_no_candidate(weight: int, tmp_path: Path) -> None:
    """The tables say that most are in the first bin, the prior that none is."""
    spec = load_spec(write_config(tmp_path))
    transformation = spec.space[0].transformation
    sizes = transformation.layout.sizes
    first = Counts.of(transformation.layout, [np.zeros(1, dtype=np.int64) for _ in sizes], np.array([1000]))
    last = Counts.of(transformation.layout, [np.array([size - 1]) for size in sizes], np.array([1000]))
    generator = GENERATORS["marginals"].model_validate({"tables": "face:year", "prior_weight": weight, "prior": "none"})
    configuration = replace(spec.space[0], generator=generator)
    charge = mechanism(GENERATION, Fraction(1), "")
    background = Background(
        plausibility=Plausibility(layout=transformation.layout, masks=()), prior=last, ordered=transformation.ordered
    )
    private = PrivateCounts(first, Meter([charge]))
    if weight == 1:
        assert make_candidate(configuration, private, background, charge).counts.total == 1000
    else:
        with pytest.raises(RejectedRound, match="contradict the noisy tables"):
            make_candidate(configuration, private, background, charge)
