"""Estimates of the file: over every noise and every drawing of rows its numbers are in the intervals, values and all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from synthrelease.answers.estimates import answered as with_every_interval
from synthrelease.answers.estimates import estimate
from synthrelease.answers.words import Term
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.privacy.charges import Charge, RowsRule
from synthrelease.published import DomainPart, PublishedRelease
from synthrelease.published.folder import Measurements
from synthrelease.published.measurements import PublishedMeasurement
from tests.helpers.published import category_column, integer_column, published

YES = category_column("c", {"yes": ["yes"], "no": ["no"]})


def release(
    counts: np.ndarray, columns: list[PublishedColumn], rule: RowsRule, n: int, n_file: int, epsilon: Fraction
) -> PublishedRelease:
    """One noisy table of all columns, on n rows of a file."""
    charges = Charge(name="release", epsilon=Fraction(1), because="a test", parts=(rule.charge,) if rule.charge else ())
    names = tuple(column.name for column in columns)
    table = PublishedMeasurement(columns=names, values=counts, cells=np.ones_like(counts), cost=epsilon)
    made = published(columns, np.zeros((1, len(columns)), dtype=int), ())
    return replace(
        made,
        n_rows=n,
        domain=DomainPart.of(rule, n_file, ()),
        charges=charges,
        measurements=Measurements(tables=(table,), times=1.0),
    )


def discrete_laplace(scale: float, reach: int) -> dict[int, float]:
    a = math.exp(-1 / scale)
    return {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-reach, reach + 1)}


@cache
def differences(scale: float, reach: int) -> dict[int, float]:
    """The law of the difference of two noises: the estimate of one of two cells depends on it alone."""
    law, found = discrete_laplace(scale, reach), dict[int, float]()
    for (first, p), (second, q) in product(law.items(), law.items()):
        found[first - second] = found.get(first - second, 0.0) + p * q
    return {z: p for z, p in found.items() if p > 1e-7}


def outcomes(kept: int, met: int, rule: RowsRule, n_file: int, scale: float) -> Iterator[tuple[float, int, int]]:
    """Every outcome of a release: its probability, the rows that it works with, and the difference of the two noisy cells.

    Fillers are "yes" and "no" by turns, which nobody has to know.
    """
    laws = discrete_laplace(float(1 / rule.epsilon), 12) if rule.epsilon else {0: 1.0}
    for z, p in laws.items():
        n = min(max(kept + z - rule.margin, 1), n_file) if rule.epsilon else rule.stated or kept
        fillers = max(0, n - kept)
        for drawn in range(max(0, n - fillers - (kept - met)), min(met, n - fillers) + 1):
            ways = math.comb(met, drawn) * math.comb(kept - met, n - fillers - drawn) / math.comb(kept, n - fillers)
            counted = drawn + (fillers + 1) // 2
            for noise, q in differences(scale, 8).items():
                yield p * ways * q, n, 2 * counted - n + noise


CASES = [
    (RowsRule(way="counted", epsilon=Fraction(2)), 40, 3, 60),
    (RowsRule(way="counted", epsilon=Fraction(4)), 40, 34, 60),
    (RowsRule(way="counted", epsilon=Fraction(2)), 40, 12, 41),  # the number is often cut to the rows of the file
    (RowsRule(way="stated", stated=20), 40, 6, 50),  # half of the rows are left out
    (RowsRule(way="stated", stated=20), 40, 1, 40),
]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "kept", "met", "n_file"), CASES)
def test_intervals_hold_the_file_s_share_and_count_in_the_stated_part_of_all_outcomes(
    rule: RowsRule, kept: int, met: int, n_file: int
) -> None:
    """The exact law, by going through every number of rows, every subset and every noise; also of intervals that are so wide
    that they are not given."""
    epsilon = Fraction(2)

    @cache
    def answered(n: int, difference: int) -> Term:
        """Of two noisy cells only the difference counts, n being known."""
        cells = np.array([n + difference, n - difference]) // 2 + np.array([difference % 2 and (n + difference) % 2, 0])
        made = release(cells, [YES], rule, n, n_file, epsilon)
        shift = int(cells[0] - cells[1]) - difference
        assert abs(shift) <= 1
        [term] = with_every_interval(made, "share c == 'yes'", confidence=0.95, as_first=True).terms
        return term

    whole = share = count = 0.0
    for probability, n, difference in outcomes(kept, met, rule, n_file, float(2 / epsilon)):
        term = answered(n, difference)
        whole += probability
        share += probability * (_ends(term.low, term.high, met / kept))
        count += probability * (_ends(term.rows_low, term.rows_high, met))
    assert whole > 0.999
    assert share / whole >= 0.95
    assert count / whole >= 0.95


def _ends(low: float | None, high: float | None, truth: float) -> bool:
    assert low is not None
    assert high is not None
    return low - 1e-9 <= truth <= high + 1e-9


def test_the_count_of_all_rows_has_the_noise_of_their_number_alone() -> None:
    """T, more or less what its noise is at most: the interval of a discrete Laplace variable."""
    rule = RowsRule(way="counted", epsilon=Fraction(1, 5))
    made = release(np.array([900, 50]), [YES], rule, 950, 2000, Fraction(1))
    [term] = estimate(made, "share c == 'yes' or c == 'no'").terms
    assert (term.estimate, term.low, term.high) == (1, 1, 1)
    assert term.rows == 950 + rule.margin
    assert term.rows_low is not None
    law = discrete_laplace(5.0, 400)
    held = sum(p for z, p in law.items() if abs(z) <= term.rows - term.rows_low)
    inside = sum(p for z, p in law.items() if abs(z) <= term.rows - term.rows_low - 2)
    assert inside < 0.95 + float(rule.epsilon or 0) / 100 <= held + 0.01
    assert held >= 0.95


def test_a_number_of_rows_that_is_published_has_no_error() -> None:
    for rule, n_file in ((RowsRule(), 950), (RowsRule(way="exact"), None)):
        made = release(np.array([900, 50]), [YES], rule, 950, n_file or 950, Fraction(1000))
        [term] = estimate(made, "share c == 'yes'").terms
        assert (term.rows, term.rows_low, term.rows_high) == (900, 900, 900)
        assert "drawn" not in " ".join(estimate(made, "share c == 'yes'").approximate)


def test_drawing_makes_the_interval_of_the_file_wider_and_never_wider_than_that_of_a_population() -> None:
    counts = np.array([300, 650])
    ends, rows = [], []
    for n_file in (950, 1900, 10**6):
        made = release(counts, [YES], RowsRule(way="stated", stated=950), 950, n_file, Fraction(20))
        [term] = estimate(made, "share c == 'yes'").terms
        assert term.low is not None
        assert term.high is not None
        assert term.population_high is not None
        ends.append((term.high - term.low, term.population_high - (term.population_low or 0.0)))
        rows.append((term.rows_low, term.rows_high))
    widths, population = [width for width, _ in ends], ends[0][1]
    assert widths == sorted(widths)
    half = math.sqrt(300 * 650 / 950**3 / 2)
    assert widths[1] == pytest.approx(2 * 1.96 * half, rel=0.1)
    assert widths[2] == pytest.approx(population, rel=1e-3)
    # so are numbers of rows: of 950 to 1,900 kept ones
    assert rows[1] == pytest.approx((300 - 1.96 * 950 * half, 2 * (300 + 1.96 * 950 * half)), abs=4)


WIDE = replace(
    integer_column("b", [0, 1, 4, 9], unit="grams"),
    lower=(-math.inf, 1.0, 4.0),
    upper=(1.0, 4.0, math.inf),
    numbers=(-4.0, 2.0, 15.0),
    bounds=(-5.0, 20.0),
    clipped=True,
)


@pytest.mark.parametrize("corner", ["lowest", "highest", "between"])
def test_a_mean_of_the_file_s_own_values_is_in_its_interval(corner: str) -> None:
    """Without noise the interval is that of the limits of the bins: all values at the lowest, at the highest, and between."""
    counts, random = np.array([200, 500, 300]), np.random.default_rng(0)
    lowest, highest = np.repeat([-5, 1, 4], counts), np.repeat([0, 3, 20], counts)
    values = {"lowest": lowest, "highest": highest, "between": random.integers(lowest, highest + 1)}[corner]
    made = release(counts, [WIDE], RowsRule(), 1000, 1000, Fraction(1000))
    [term] = estimate(made, "mean b").terms
    assert term.low is not None
    assert term.high is not None
    assert term.low - 1e-6 <= values.mean() <= term.high + 1e-6
    assert (term.low, term.high) == pytest.approx((lowest.mean(), highest.mean()), abs=0.01)
    assert term.estimate == pytest.approx((-4 * 200 + 2 * 500 + 15 * 300) / 1000)
    assert (term.binned_low, term.binned_high) == pytest.approx((term.estimate, term.estimate), abs=0.01)


def test_a_mean_or_a_slope_of_representative_values_says_so() -> None:
    exact = integer_column("a", [0, 1, 2])
    made = release(np.array([[100, 10, 5], [20, 90, 60]]), [exact, WIDE], RowsRule(), 285, 285, Fraction(10))
    text = " ".join(str(estimate(made, "mean b")).split())
    assert "estimate, the file, representative representative the file, exact values values values" in text
    assert "Values of b below -5 or above 20 count as these bounds." in text
    found = estimate(made, "slope b on a")
    assert "Slope of representative values:" in str(found)
    assert (found.terms[0].low, found.terms[0].population_low) == (None, None)
    plain = estimate(made, "mean a")
    assert "representative" not in str(plain)
    assert plain.terms[0].binned_low is None
    assert "original table" not in f"{text}{found}{plain}"


MEDIANS = [(np.array([200, 500, 300]), "1-3"), (np.array([600, 300, 100]), "0"), (np.array([0, 100, 400]), "4-8")]


@pytest.mark.parametrize(("counts", "label"), MEDIANS)
def test_the_median_is_in_the_bin_that_holds_it(counts: np.ndarray, label: str) -> None:
    total = int(counts.sum())
    made = release(counts, [WIDE], RowsRule(), total, total, Fraction(1000))
    [term] = estimate(made, "median b").terms
    assert term.bins == (label,) * 3
    place = WIDE.labels.index(label)
    assert (term.low, term.high) == ((-5, 0), (1, 3), (4, 20))[place]
    assert f"{label}" in str(estimate(made, "median b"))


@pytest.mark.parametrize("part", [0.05, 0.2, 0.25, 0.5, 0.7, 0.95])
def test_a_quantile_is_in_the_bin_of_the_row_that_has_this_part_of_the_rows_up_to_it(part: float) -> None:
    """Against the sorted rows."""
    column, counts = integer_column("b", list(range(9))), np.array([100, 150, 50, 300, 130, 70, 110, 90])
    made = release(counts, [column], RowsRule(), 1000, 1000, Fraction(1000))
    rows = np.repeat(np.arange(8), counts)
    [term] = estimate(made, f"quantile {part} b").terms
    assert term.bins is not None
    assert term.bins[1] == str(rows[math.ceil(1000 * part) - 1])
    assert term.low is not None
    assert term.high is not None
    assert term.low <= np.quantile(rows, part, method="inverted_cdf") <= term.high
    other = estimate(made, f"quantile {part} b: b < 4 against b >= 4")
    assert [of.name for of in other.contrasts] == ["difference of quantiles"]
    assert estimate(made, "quantile 0.5 b").terms == estimate(made, "median b").terms


@pytest.mark.parametrize("question", ["quantile b", "quantile 1.5 b", "quantile 0 b", "quantile 0.5", "quantile b 0.5"])
def test_a_quantile_without_its_part_is_refused(question: str) -> None:
    made = release(np.array([500, 400, 100]), [WIDE], RowsRule(), 1000, 1000, Fraction(1))
    with pytest.raises(InputError, match="'quantile' needs a number between 0 and 1 and a column"):
        estimate(made, question)


def test_a_median_between_two_bins_is_between_them() -> None:
    """Half of the rows are in the first bin: every number from 0 on is a median. Of three bins it is half of all steps."""
    column = integer_column("b", [0, 1, 4, 9, 16])
    made = release(np.array([500, 400, 60, 40]), [column], RowsRule(), 1000, 1000, Fraction(1000))
    [term] = estimate(made, "median b").terms
    assert term.bins == ("0", "0", "1-3")
    assert (term.low, term.high) == (0, 3)
    made = release(np.array([500, 400, 100]), [WIDE], RowsRule(), 1000, 1000, Fraction(1000))
    assert not estimate(made, "median b").terms[0].estimable


@pytest.mark.slow
@pytest.mark.parametrize(("question", "edge"), [("median d", 3), ("quantile 0.16 d", 1)])
def test_a_quantile_is_between_its_bins_as_often_as_stated(question: str, edge: int) -> None:
    """Of six bins, with the quantile at the edge of one: at a confidence of 80% in 80 runs, 55 by chance at the least."""
    column = integer_column("d", list(range(7)))
    counts = np.array([80, 80, 88, 92, 80, 80])
    random, held, narrow = np.random.default_rng(5), 0, 0
    stop = 1 - math.exp(-1 / 10)
    for _ in range(80):
        noise = random.geometric(stop, 6) - random.geometric(stop, 6)
        made = release(counts + noise, [column], RowsRule(), 500, 500, Fraction(1, 5))
        [term] = estimate(made, question, confidence=0.8).terms
        assert term.low is not None
        assert term.high is not None
        held += term.low <= edge <= term.high
        narrow += term.high - term.low < 5
    assert held >= 55
    assert narrow == 80


def test_a_median_of_bins_without_an_order_is_refused() -> None:
    made = release(np.array([5, 6]), [YES], RowsRule(), 11, 11, Fraction(1))
    with pytest.raises(InputError, match="The bins of the column 'c' have no order"):
        estimate(made, "median c")
    with pytest.raises(InputError, match="a column of the release"):
        estimate(made, "median x")


def test_what_the_fillers_may_spoil_is_taken_from_the_risk() -> None:
    """An interval of 95% beside a shortfall of 0.1% is one of 95.1% without."""
    rule = RowsRule(way="counted", epsilon=Fraction(50))
    counted, exact = (
        release(np.array([300, 650]), [YES], each, 950, 950, Fraction(1, 5)) for each in (rule, RowsRule(way="exact"))
    )
    assert rule.margin == 0
    [first], [second] = (
        estimate(made, "share c == 'yes'", confidence=confidence).terms
        for made, confidence in ((counted, 0.95), (exact, 0.951))
    )
    assert (first.low, first.high) == pytest.approx((second.low, second.high), rel=1e-6)
    with pytest.raises(InputError, match=r"The confidence 0.9995 is too high: it must be below 0.999"):
        estimate(counted, "share c == 'yes'", confidence=0.9995)


def test_the_sentence_claims_a_release_and_a_miss_together() -> None:
    made = release(np.array([300, 650]), [YES], RowsRule(), 950, 950, Fraction(1))
    text = " ".join(str(estimate(made, "share c == 'yes'")).split())
    assert "Each interval misses its true value in at most 5% of runs (runs without a release count, too)." in text


def test_what_is_counted_in_both_sums_of_a_share_has_the_same_noise() -> None:
    """All rows of a group are in it, whatever the noise of their number is."""
    made = release(np.array([300, 650]), [YES], RowsRule(), 950, 950, Fraction(1, 5))
    [term] = estimate(made, "share c == 'yes' where c == 'yes'").terms
    assert (term.low, term.estimate, term.high) == pytest.approx((1, 1, 1))
