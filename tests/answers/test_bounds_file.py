"""Bounds of the file: every table of drawn rows that the figures allow, with every few rows that were not drawn beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from synthrelease.answers.bounds import bound
from synthrelease.answers.facts import Knowledge
from synthrelease.answers.limits import RISK, KeptRows
from synthrelease.answers.questions import tells_values
from synthrelease.criteria.facts import outward
from synthrelease.errors import InputError
from synthrelease.privacy.charges import Charge, RowsRule
from synthrelease.privacy.subsets import PartitionRule
from synthrelease.published import DomainPart, PublishedRelease
from tests.answers.test_bounds import CELLS, N, Table, allowed, release_with, true_answer
from tests.helpers.published import integer_column, never

COUNTED = RowsRule(way="counted", epsilon=Fraction(4))
WIDE = integer_column("b", [0, 1, 2, 5], unit="grams")
LIMITS = {"absolute": 0.15, "ratio": 1.6}


def of_file(release: PublishedRelease, rule: RowsRule, n_file: int | None) -> PublishedRelease:
    """A release whose number of rows comes from this rule."""
    charges = Charge(name="release", epsilon=Fraction(1), because="a test", parts=(rule.charge,) if rule.charge else ())
    return replace(release, domain=DomainPart.of(rule, n_file, ()), charges=charges)


def files(more: int) -> Iterator[Table]:
    """Every file whose drawn rows the figures allow, with up to so many others."""
    for drawn in allowed(**LIMITS):
        for left_out in range(more + 1):
            for others in combinations_with_replacement(CELLS, left_out):
                yield (*drawn, *others)


QUERIES = [
    {"query": "a == 0"},
    {"query": "a == 0 and b == 0", "minus": "a == 1 and b == 2"},
    {"query": "b == 2", "given": "a == 1"},
    {"query": "b == 2", "given": "a == 1", "minus": "b == 0"},
    {"mean": "b"},
    {"mean": "b", "query": "a == 1", "minus": "a == 0"},
]


@pytest.mark.slow
@pytest.mark.parametrize("asked", QUERIES, ids=str)
def test_no_file_that_the_figures_and_the_number_of_rows_allow_is_outside_the_bound(asked: dict[str, str]) -> None:
    release = of_file(release_with(**LIMITS), COUNTED, 100)
    more = Knowledge(release, 0.95).more
    assert more == 2
    found, drawn = (bound(each, **asked) for each in (release, release_with(**LIMITS)))  # type: ignore[arg-type]
    answers = [true_answer(file, asked) for file in files(more)]
    assert found.low <= min(answers) + 1e-9
    assert found.high >= max(answers) - 1e-9
    assert min(answers) < drawn.low - 1e-9 or max(answers) > drawn.high + 1e-9  # the rows that were drawn are not the file
    if found.kind == "count":
        assert (found.low, found.high) == (min(answers), max(answers))
        shares = [true_answer(file, asked) / len(file) for file in files(more)]
        assert found.shares == pytest.approx((min(shares), max(shares)))


@pytest.mark.slow
def test_a_mean_of_the_file_leaves_room_for_where_in_its_bin_each_value_lies() -> None:
    """Rows of the last bin have 2, 3 or 4: the least and the largest mean have all 2 or all 4."""
    release = replace(release_with(**LIMITS), schema=(release_with(**LIMITS).schema[0], WIDE))
    found = bound(release, mean="b")
    means = [sum(largest if b == 2 else b for _, b in table) / N for table in allowed(**LIMITS) for largest in (2, 4)]
    assert found.low <= min(means) + 1e-9
    assert found.high == pytest.approx(max(means), abs=1e-6)
    assert (found.binned_low, found.binned_high) != (found.low, found.high)
    [line] = [line for line in str(found).splitlines() if line.startswith("  the file")]
    assert "(exact values)" in line
    assert "(representative values)" in line
    assert bound(release_with(**LIMITS), mean="b").binned_low is None


def test_open_bins_end_at_the_public_bounds() -> None:
    column = replace(WIDE, lower=(-np.inf, 1.0, 2.0), upper=(1.0, 2.0, np.inf), bounds=(-3.0, 7.0))
    assert [end.tolist() for end in column.value_limits] == [[-3.0, 1.0, 2.0], [0.0, 1.0, 7.0]]
    real = replace(column, kind="real")
    assert [end.tolist() for end in real.value_limits] == [[-3.0, 1.0, 2.0], [1.0, 2.0, 7.0]]
    assert tells_values(integer_column("c", [0, 1, 2]))
    assert not tells_values(column)


DRAWN = [
    (COUNTED, 100, "counted", 7 + COUNTED.margin, 100),
    (COUNTED, N, "counted", N, N),  # more were counted than the file has
    (RowsRule(way="stated", stated=7), 12, "stated", 7, 12),
    (RowsRule(way="exact"), None, "exact", 7, 7),
    (RowsRule(), 7, "whole", 7, 7),
]


@pytest.mark.parametrize(("rule", "n_file", "way", "number", "most"), DRAWN)
def test_the_number_of_kept_rows_follows_from_what_is_published(
    rule: RowsRule, n_file: int | None, way: str, number: int, most: int
) -> None:
    kept = KeptRows.of(of_file(release_with(**LIMITS), rule, n_file))
    assert (kept.way, kept.number, kept.most, kept.few) == (way, number, most, False)
    assert kept.known == (way in ("exact", "whole"))
    assert kept.left_out == pytest.approx(1 - 7 / (most if way == "stated" else number))
    low, high = kept.limits(0.01)
    assert 0 <= low <= number <= high <= most
    assert kept.more(0.01) == min(most, 7 + kept.margin + 1 if way == "counted" else most) - 7


def test_of_a_number_that_was_cut_to_one_row_only_the_largest_is_known() -> None:
    one = replace(of_file(release_with(**LIMITS), COUNTED, 100), n_rows=1)
    kept = KeptRows.of(one)
    assert kept.few
    assert kept.limits(0.01)[0] == 0


def test_a_piece_is_drawn_from_all_kept_rows() -> None:
    """Of 20 rows that the release worked with the figures are about 7: so many more are not among them."""
    assert PartitionRule(fit=Fraction(13, 20)).sizes(20) == (13, 7)
    kept = KeptRows.of(replace(of_file(release_with(**LIMITS), COUNTED, 100), divided_rows=20))
    assert kept.number == 20 + COUNTED.margin
    assert kept.left_out == pytest.approx(1 - 7 / (20 + COUNTED.margin))


def test_the_number_of_kept_rows_is_within_its_limits_as_often_as_stated() -> None:
    """Over the law of its noise, for every number of kept rows, cut or not; a number above those kept is the shortfall."""
    a, n_file = np.exp(-4.0), 30
    law = {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-20, 21)}
    for number in range(1, n_file + 1):
        held = filled = beyond = 0.0
        for z, probability in law.items():
            drawn = min(max(number + z - COUNTED.margin, 1), n_file)
            kept = KeptRows.of(replace(of_file(release_with(**LIMITS), COUNTED, n_file), n_rows=drawn))
            low, high = kept.limits(0.02)
            held += probability * (low <= number <= high)
            filled += probability * (drawn > number)
            beyond += probability * (number > drawn + kept.more(0.01))
        assert filled <= kept.shortfall
        assert held >= 1 - 0.02 - kept.shortfall
        assert beyond <= 0.01


def test_a_confidence_that_the_fillers_do_not_allow_is_refused() -> None:
    counted = of_file(release_with(**LIMITS), COUNTED, 100)
    with pytest.raises(InputError, match="The confidence 0.9995 is too high: it must be below 0.999"):
        bound(counted, "a == 0", confidence=0.9995)
    assert bound(release_with(**LIMITS), "a == 0", confidence=0.9995).confidence == 0.9995


def test_the_risk_of_the_number_of_rows_is_taken_from_that_of_the_figures() -> None:
    counted, whole = of_file(release_with(**LIMITS), COUNTED, 100), release_with(**LIMITS)
    risks = [sum(limit.risk for limit in Knowledge(each, 0.95).limits) for each in (counted, whole)]
    assert risks == pytest.approx([(0.05 - 0.001) * (1 - RISK), 0.05])
    assert "over all noise of the run" in str(bound(counted, "a == 0"))


def test_both_ends_can_be_on_the_other_side_of_the_released_answer() -> None:
    """Two released rows are in a cell that no row of the file can be in: both ends are below the released answer."""
    release = replace(release_with(absolute=0.45), rules=(never("a == 0 and b < 1"),))
    found = bound(release, "a == 0 and b == 0")
    assert (found.answer, found.low, found.high) == (2, 0, 0)


def test_rows_that_were_not_drawn_are_in_no_cell_that_the_rules_exclude() -> None:
    """More rows of the file than were drawn: they can be counted, or taken away, only where the rules keep a row."""
    counted = replace(of_file(release_with(absolute=0.45), COUNTED, 100), rules=(never("a == 0 and b < 1"),))
    assert Knowledge(counted, 0.95).more > 0
    excluded = bound(counted, "a == 0 and b == 0")
    assert (excluded.low, excluded.high) == (0, 0)
    assert bound(counted, "a == 1 and b == 0").high > bound(release_with(absolute=0.45), "a == 1 and b == 0").high
    less = bound(counted, "a == 0 and b == 0", minus="a == 1 and b == 0")
    assert less.high <= 0 > less.low


def test_outward_of_a_bound_is_never_below_it() -> None:
    assert outward(0.0) == 0
    for size in (1e-9, 5.0, 1e300):
        for bound_ in (-size, size):
            assert 0 < outward(bound_) - bound_ <= 1e-11 * size
