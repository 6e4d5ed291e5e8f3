"""The lines of estimates.csv: those of the table without noise; no number where the noise hides it; a limit to their number."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synthrelease.answers import listed as module
from synthrelease.answers.averages import count_error, counted_rows, groups, shares_of_bins, term_in
from synthrelease.answers.listed import EstimateLine, as_csv, listed, pairs, without_exponents
from synthrelease.answers.tables import PublishedTables
from synthrelease.bundle.estimates import read_lines
from tests.answers.test_estimate import TABLE, release
from tests.benchmarks.contrasts import measured

a, b, c, d, g = TABLE.T
CERTAIN = Fraction(1000)


def _one(lines: list[EstimateLine], **wanted: str) -> EstimateLine:
    [line] = [line for line in lines if all(getattr(line, name) == text for name, text in wanted.items())]
    return line


def test_lines_are_the_numbers_of_the_table() -> None:
    found = release(TABLE, ("ac", "ab"), epsilon=CERTAIN)
    lines = listed(found, ["share c == 1: a >= 1 against < 1"])
    value = found.by_name["c"].labels[1]
    group = found.by_name["a"].labels[2]
    share = _one(lines, statistic="share", column="c", value=value, by="a", group=group)
    assert share.estimate == pytest.approx(c[a == 2].mean(), abs=1e-6)
    assert share.lower is not None
    assert share.upper is not None
    assert share.lower <= c[a == 2].mean() <= share.upper
    count = _one(lines, statistic="count", column="c", value=value, by="a", group=group)
    assert count.estimate == pytest.approx(((a == 2) & (c == 1)).sum(), abs=1)
    mean = _one(lines, statistic="mean of bin numbers", column="b", by="a", group=group)
    assert mean.estimate == pytest.approx(b[a == 2].mean(), abs=1e-6)
    difference = _one(lines, statistic="risk difference")
    assert difference.estimate == pytest.approx(c[a >= 1].mean() - c[a < 1].mean(), abs=1e-6)
    assert not [line for line in lines if {line.column, line.by} == {"b", "c"}]  # not measured together


class _Nothing(np.random.Generator):
    """Every noise is 0."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(1))

    def geometric(self, p: Any, size: Any = None) -> Any:
        return np.ones(size, dtype=np.int64)


def test_what_the_noise_hides_has_no_number() -> None:
    """Ten rows in a group, noise of 28 in each of its cells, which happens to be 0."""
    lines = listed(measured([np.array([[9900, 90], [5, 5]]), np.ones((2, 5), dtype=int)], Fraction(1, 10), _Nothing()))
    small = [line for line in lines if line.statistic == "share" and line.by == "outcome" and line.group == "1"]
    assert small
    for line in small:
        assert line.told == "not estimable"
        assert {getattr(line, name) for name in module.NUMBERS} == {None}
    large = [line for line in lines if line.statistic == "share" and line.by == "outcome" and line.group == "0"]
    assert {line.told for line in large} == {"yes"}


def test_the_smallest_pairs_come_first_and_one_that_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = release(TABLE, ("abc",)).schema
    names = [{one.name, other.name} for one, other in pairs(schema, ["abc"])]
    assert names == [{"a", "b"}, {"a", "c"}, {"b", "c"}]
    cells = {frozenset((one.name, other.name)): len(one.labels) * len(other.labels) for one, other in pairs(schema, ["abc"])}
    largest = max(cells, key=lambda pair: cells[pair])
    monkeypatch.setattr(module, "MOST_CELLS", sum(cells.values()) - 1)
    assert {frozenset((one.name, other.name)) for one, other in pairs(schema, ["abc"])} == set(cells) - {largest}


def test_a_pair_is_listed_in_the_order_of_the_release_if_one_table_contains_it() -> None:
    schema = release(TABLE, ("abc",)).schema
    assert [(one.name, other.name) for one, other in pairs(schema, ["ca", "b", ["b", "a member's column"]])] == [("a", "c")]


@pytest.mark.parametrize("rules", [(), ("a == 1 and c == 1",)])
def test_the_shares_of_all_bins_are_those_of_one_question_each(rules: tuple[str, ...]) -> None:
    """Against the sums over every cell, which are made for each bin anew, and with all tables instead of those added up."""
    found = release(TABLE, ("ac", "ab", "abg"), random=np.random.default_rng(4), rules=rules)
    tables = PublishedTables(found)
    for name in "abcg":
        column = found.by_name[name]
        fast = list(shares_of_bins(tables.over([name]), name))
        assert len(fast) == len(column.labels)
        for place, (value, share) in enumerate(zip(column.labels, fast, strict=True)):
            asked = module._question("share", met=module._InBin(text="", rule=None, column=column, place=place))
            [(_, [slow])] = groups(tables, asked)
            assert share.file.estimate == pytest.approx(slow.file.estimate, rel=1e-9, abs=1e-12), value
            assert share.file.standard_error == pytest.approx(slow.file.standard_error, rel=1e-9)
            assert share.ends(0.95) == pytest.approx(slow.ends(0.95), rel=1e-9, abs=1e-12)
            assert counted_rows(tables, share, 0.9) == counted_rows(tables, slow, 0.9)
            assert count_error(tables, share) == pytest.approx(count_error(tables, slow), rel=1e-9)


def test_the_standard_error_of_a_count_is_the_spread_of_its_numbers() -> None:
    """Of 80 draws of the noise the spread is 8% off or so."""
    random, numbers, errors = np.random.default_rng(9), [], []
    for _ in range(80):
        tables = PublishedTables(release(TABLE, ("ab",), random=random))
        share = next(iter(shares_of_bins(tables.over(["a"]), "a")))
        numbers.append(share.file.numerator)
        errors.append(count_error(tables, share))
    assert np.std(numbers) == pytest.approx(np.mean(errors), rel=0.25)


def test_tables_added_up_to_the_columns_of_a_question_answer_it_alike() -> None:
    found = release(TABLE, ("ac", "ab", "abg"), random=np.random.default_rng(5))
    tables, asked = PublishedTables(found), module._question("mean", column="b", by="a")
    view = tables.over({"a", "b"})
    assert view.noises.count.size < tables.noises.count.size
    for (group, whole), (other, part) in zip(groups(tables, asked), groups(view, asked), strict=True):
        assert group == other
        one, two = (term_in(each, asked, group, averages, 0.95) for each, averages in ((tables, whole), (view, part)))
        assert one.estimate == pytest.approx(two.estimate, rel=1e-9)
        assert (one.low, one.high, one.standard_error) == pytest.approx((two.low, two.high, two.standard_error), rel=1e-9)


def test_of_very_many_bins_the_numbers_of_rows_alone_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = release(TABLE, ("ac",), random=np.random.default_rng(6))
    every = listed(found)
    monkeypatch.setattr(module, "MOST_CELLS", len(found.by_name["a"].labels) - 1)
    few = listed(found)
    of_a = [line for line in few if line.column == "a" and not line.by and line.statistic in ("share", "count")]
    assert {line.statistic for line in of_a} == {"count"}
    assert of_a == [line for line in every if line.column == "a" and not line.by and line.statistic == "count"]


@pytest.mark.parametrize("number", [19_951_123.4, 1_234_567.8, 999_999.6, -2_500_000.3, 1e15 + 0.5, 3e-7, 12345.678, 7.0])
def test_a_table_that_is_read_and_written_again_is_the_same(number: float) -> None:
    """`verify` does so with every release: a mean of 19,951,123.4 was written in another way after it was read."""
    line = replace(listed(release(TABLE, ("ab",)))[0], estimate=number)
    written = as_csv([line])
    assert as_csv(read_lines(written)) == written
    [again] = read_lines(written)
    assert again.estimate == pytest.approx(number, rel=5e-6)
    assert without_exponents(written) == written


@pytest.mark.parametrize("number", [2.0**53, 1e15, 123_456_789_012_345_678.0, -(2.0**60)])
def test_whole_numbers_lose_no_digit(number: float) -> None:
    written = as_csv([replace(listed(release(TABLE, ("ab",)))[0], estimate=number)])
    assert f",{int(number)},".encode() in written
    assert read_lines(written)[0].estimate == number


@pytest.mark.parametrize("number", [19_951_123.4, -2_500_000.3, 1_234_567_890_123.5])
def test_a_table_of_an_earlier_version_is_read_and_compared_without_its_exponents(number: float) -> None:
    """Earlier versions wrote numbers that are not whole with six digits, and with an exponent above a million."""
    lines = [replace(listed(release(TABLE, ("ab",)))[0], estimate=number, lower=number)]
    ours = as_csv(lines)
    theirs = ours.replace(f"{float(f'{number:.6g}'):.0f}".encode(), f"{number:.6g}".encode())
    assert b"e+" in theirs
    assert as_csv(read_lines(theirs)) == without_exponents(theirs) == ours
