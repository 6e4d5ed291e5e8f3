"""Bins are read as people write them, and refused when they do not fill the line."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.data.schema import MAX_BINS, IntervalBin, parse_bins

pytestmark = pytest.mark.slow

INF = math.inf
CUTS = st.lists(st.integers(-1000, 1000), min_size=1, max_size=8, unique=True).map(sorted)


def whole(*texts: str) -> tuple[IntervalBin, ...]:
    return parse_bins(texts, whole_numbers=True)


def real(*texts: str) -> tuple[IntervalBin, ...]:
    return parse_bins(texts, whole_numbers=False)


def closed(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def contains(interval: IntervalBin, value: float) -> bool:
    return interval.lower <= value < interval.upper


@pytest.mark.parametrize(
    ("text", "lower", "upper", "number"),
    [
        ("<18", -INF, 18, 18),
        ("<=17", -INF, 18, 17),
        (">44", 45, INF, 44),
        (">=45", 45, INF, 45),
        ("7", 7, 8, 7),
        ("-7", -7, -6, -7),
        ("2-3", 2, 4, 2.5),
        ("18-24", 18, 25, 21),
        ("< 18", -INF, 18, 18),
        ("18 - 24", 18, 25, 21),
    ],
)
def test_a_bin_of_whole_numbers_is_read(text: str, lower: float, upper: float, number: float) -> None:
    assert whole(text) == (IntervalBin(label=text if " - " not in text else "18-24", lower=lower, upper=upper, number=number),)


@pytest.mark.parametrize(
    ("text", "lower", "upper", "number"),
    [("<2.5", -INF, 2.5, 2.5), (">=-0.5", -0.5, INF, -0.5), ("0 to 20", 0, 20, 10), ("-1.5 to 0.5", -1.5, 0.5, -0.5)],
)
def test_a_bin_of_real_numbers_is_read(text: str, lower: float, upper: float, number: float) -> None:
    assert real(text) == (IntervalBin(label=text, lower=lower, upper=upper, number=number),)


def test_a_range_that_starts_below_zero_gets_a_label_that_no_spreadsheet_computes() -> None:
    """The label may be written, too, because a scout and a card show it."""
    assert whole("-3--1") == whole("-3 to -1") == (IntervalBin(label="-3 to -1", lower=-3, upper=0, number=-2),)


def test_two_dots_stand_for_one_bin_per_whole_number() -> None:
    assert [interval.label for interval in whole("<18", "18..21", ">21")] == ["<18", "18", "19", "20", "21", ">21"]


def test_runs_that_make_very_many_bins_are_refused_before_they_are_made() -> None:
    assert len(whole("1..20000")) == 20_000
    for texts in (["1..20001"], ["1..20000", "20001..20002"], ["0-999999999999 by 1"]):
        with pytest.raises(ValueError, match="A column may have at most 20,000 bins"):
            whole(*texts)


def test_spaces_in_a_label_do_not_count() -> None:
    assert [interval.label for interval in parse_bins(["<  5", "5   to\t7", ">=\n7"], whole_numbers=False)] == [
        "< 5", "5 to 7", ">= 7",
    ]  # fmt: skip


def test_by_stands_for_bins_of_equal_width() -> None:
    intervals = whole("1500-1799 by 100")
    assert [interval.label for interval in intervals] == ["1500-1599", "1600-1699", "1700-1799"]
    assert [interval.number for interval in intervals] == [1549.5, 1649.5, 1749.5]


@given(CUTS)
def test_whole_numbers_between_any_cuts_lie_in_exactly_the_bin_that_is_written(cuts: list[int]) -> None:
    texts = [f"<{cuts[0]}", *(closed(a, b - 1) for a, b in zip(cuts, cuts[1:], strict=False)), f">{cuts[-1] - 1}"]
    intervals = whole(*texts)
    assert [interval.label.replace(" to ", "-") for interval in intervals] == texts
    assert whole(*(interval.label for interval in intervals)) == intervals
    for value in range(cuts[0] - 2, cuts[-1] + 3):
        expected = sum(cut <= value for cut in cuts)  # the bins below it
        assert [contains(interval, value) for interval in intervals] == [i == expected for i in range(len(intervals))]


@given(CUTS, st.integers(1, 1000))
def test_real_bins_between_any_cuts_touch(cuts: list[int], divisor: int) -> None:
    edges = [cut / divisor for cut in cuts]
    written = [f"{edge:.10f}" for edge in edges]
    texts = [f"<{written[0]}", *(f"{a} to {b}" for a, b in zip(written, written[1:], strict=False)), f">={written[-1]}"]
    intervals = real(*texts)
    assert [interval.lower for interval in intervals] == [-INF, *map(float, written)]
    assert [interval.upper for interval in intervals] == [*map(float, written), INF]


@given(CUTS, st.data())
def test_a_missing_bin_is_a_gap_and_a_repeated_one_an_overlap(cuts: list[int], data: st.DataObject) -> None:
    texts = [f"<{cuts[0]}", *(closed(a, b - 1) for a, b in zip(cuts, cuts[1:], strict=False)), f">{cuts[-1] - 1}"]
    place = data.draw(st.integers(0, len(texts) - 1))
    with pytest.raises(ValueError, match="overlap$"):
        whole(*texts[: place + 1], *texts[place:])
    if 0 < place < len(texts) - 1:
        with pytest.raises(ValueError, match="leave a gap between them$"):
            whole(*texts[:place], *texts[place + 1 :])


@given(CUTS.filter(lambda cuts: len(cuts) > 2))
def test_bins_from_high_to_low_are_out_of_order(cuts: list[int]) -> None:
    texts = [closed(a, b - 1) for a, b in zip(cuts, cuts[1:], strict=False)]
    with pytest.raises(ValueError, match="are not in increasing order$"):
        whole(*reversed(texts))


@given(st.integers(-50, 50), st.integers(1, 60), st.integers(1, 20))
def test_steps_are_refused_unless_they_fill_the_range(first: int, width: int, step: int) -> None:
    text = f"{first}-{first + width} by {step}"
    if (width + 1) % step:
        with pytest.raises(ValueError, match=f"^The range '{text}' must be increasing, and the step must divide it evenly$"):
            whole(text)
    else:
        intervals = whole(text)
        assert {interval.upper - interval.lower for interval in intervals} == {step}
        assert (intervals[0].lower, intervals[-1].upper) == (first, first + width + 1)


@pytest.mark.parametrize("text", ["", "18+", "18-", "eighteen", "18 to", "(18, 24]", "1e3-2e3", "nan"])
def test_an_unreadable_bin_of_whole_numbers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"a bin such as '<18', '18-19', '18..44' or '>44', found {text!r}") + "$"):
        whole(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("18-24 by 0", "must be increasing, and the step must divide it evenly"),
        ("18..17", "must be increasing, and the step must divide it evenly"),
        ("24-18", "must go from a lower to a higher number"),
        ("18-18", "must go from a lower to a higher number"),
        ("0..999999", f"makes too many bins. A column may have at most {MAX_BINS:,} bins"),
    ],
)
def test_an_impossible_range_of_whole_numbers_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' {message}$"):
        whole(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("18.5-20", "whole numbers, found '18.5-20'"),
        ("<18.5", "whole numbers, found '<18.5'"),
        ("1.5..3.5", "whole numbers, found '1.5..3.5'"),
        ("10 to 20", "In a column of whole numbers, write the bin '10 to 20' with a hyphen, as in '18-24'"),
        ("0-9 by 1.5", "whole numbers, found '0-9 by 1.5'"),
        ("<10000000000000000", "numbers between -1e15 and 1e15, found '<10000000000000000'"),
    ],
)
def test_whole_numbers_are_needed_for_a_column_of_whole_numbers(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"{message}$"):
        whole(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, f"column of real numbers, write the bin '{text}' as in '500 to 1000', '<500' or '>=1000'")
            for text in ("18-24", "18", "18..24", "0-9 by 5")
        ),
        ("<=18", "column of real numbers, write the first or last bin as in '<500' or '>=1000', not as '<=18'"),
        (">18", "column of real numbers, write the first or last bin as in '<500' or '>=1000', not as '>18'"),
        ("20 to 10", "The bin '20 to 10' must go from a lower to a higher number"),
        ("10 to 10", "The bin '10 to 10' must go from a lower to a higher number"),
    ],
)
def test_a_real_bin_whose_ends_could_be_misread_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"{message}$"):
        real(text)


def test_no_bins_are_refused() -> None:
    with pytest.raises(ValueError, match="The list of bins is empty"):
        whole()
