"""Two groups against each other: exact without noise, held by intervals with it; and what is refused."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.answers import contrasts
from synthrelease.answers.averages import Ratio
from synthrelease.answers.estimates import estimate
from synthrelease.data.questions import is_question, split_question
from synthrelease.errors import InputError
from tests.answers.test_estimate import TABLE, release
from tests.benchmarks.contrasts import Design, asked, measured, study

a, b, c, d, g = TABLE.T
MEASURED = ("ac", "ab", "abd", "bd")
CERTAIN = Fraction(1000)


def test_contrasts_of_shares_are_those_of_the_table() -> None:
    found = estimate(release(TABLE, MEASURED, epsilon=CERTAIN), "share c == 1: a >= 1 against < 1")
    exposed, other = c[a >= 1].mean(), c[a < 1].mean()
    odds = exposed / (1 - exposed) / (other / (1 - other))
    assert [term.estimate for term in found.terms] == pytest.approx([exposed, other], abs=1e-6)
    assert [term.estimate for term in found.contrasts] == pytest.approx([exposed - other, exposed / other, odds], abs=1e-5)
    assert [term.name for term in found.contrasts] == ["risk difference", "risk ratio", "odds ratio"]


@pytest.mark.parametrize(
    ("group", "first", "second"),
    [
        ("a == 2 against the rest", a == 2, a != 2),
        ("a == 2 against a < 1", a == 2, a == 0),
        ("a in [1, 2] against in [0]", a >= 1, a == 0),
        ("a == 2 against == 0 where d == 'x'", (a == 2) & (d == 0), (a == 0) & (d == 0)),
    ],
)
def test_a_difference_of_means_is_that_of_the_table(group: str, first: np.ndarray, second: np.ndarray) -> None:
    [term] = estimate(release(TABLE, MEASURED, epsilon=CERTAIN), f"mean b: {group}").contrasts
    assert term.estimate == pytest.approx(b[first].mean() - b[second].mean(), abs=1e-6)
    assert term.unit == "grams"
    assert None not in (term.low, term.high, term.binned_low, term.binned_high)
    assert term.low < term.binned_low <= term.binned_high < term.high  # type: ignore[operator]


def test_a_difference_of_medians_is_between_the_limits_of_their_bins() -> None:
    [term] = estimate(release(TABLE, MEASURED, epsilon=CERTAIN), "median b: a == 2 against == 0").contrasts
    assert term.low <= np.median(b[a == 2]) - np.median(b[a == 0]) <= term.high  # type: ignore[operator]


def test_a_ratio_whose_denominator_may_be_none_has_no_number() -> None:
    """The unexposed have no case: the difference is told, the ratios are not."""
    tables = [np.array([[500, 450], [0, 50]]), np.ones((2, 5), dtype=int)]
    noisy = measured(tables, Fraction(1, 10), np.random.default_rng(3))
    found = estimate(noisy, "share outcome == 1: exposed == 1 against == 0")
    difference, *ratios = found.contrasts
    assert difference.low is not None
    assert all((term.estimate, term.low, term.high, term.population_high) == (None,) * 4 for term in ratios)
    assert re.search("risk ratio +not estimable *\n", str(found))
    assert f"risk ratio,,,False{',' * 17}0.95,individual" in found.csv


def test_the_groups_of_one_table_have_what_the_total_moves_in_common() -> None:
    """Cells are moved to add up to n. Without what both groups have of that, the standard error would be another one."""
    release_ = measured([np.array([[96, 96], [4, 4]]), np.full((2, 5), 20)], Fraction(1, 5), np.random.default_rng(2))
    [difference, *_] = asked(release_)
    terms = estimate(release_, "share outcome == 1: exposed == 1 against == 0").terms
    apart = sum((term.standard_error or 0) ** 2 for term in terms) ** 0.5
    assert difference.standard_error != pytest.approx(apart, rel=1e-3)
    together = (difference.high - difference.low) / (2 * 1.96)
    assert abs(together - difference.standard_error) < abs(together - apart)


def test_the_same_noise_is_told_from_independent_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, correlation = list[tuple[Ratio, Ratio]](), contrasts._correlation
    monkeypatch.setattr(contrasts, "_correlation", lambda one, other: seen.append((one, other)) or correlation(one, other))
    noisy = measured([np.array([[960, 960], [40, 40]]), np.full((2, 5), 200)], Fraction(1, 5), np.random.default_rng(2))
    estimate(noisy, "share outcome == 1: exposed == 1 against == 0")
    first, second = seen[0]  # for the file, where all that is unknown is noise
    assert correlation(first, first) == pytest.approx(1)
    assert abs(correlation(first, second)) < 0.5  # cells of two groups, but for what the total moves
    one, other = ((each.weights[0] - each.quotient * each.weights[1]) / each.denominator for each in (first, second))
    moved = (one - other)[None]  # by each noise, to first order, the difference as a whole
    assert contrasts._error(first, second) == pytest.approx(float(first.noises.covariance(moved, moved)[0, 0]) ** 0.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("share c == 1: a >= 1", "To compare two groups, write"),
        ("share c == 1 against a < 1", "To compare two groups, write"),
        ("share c == 1: a >= 1 against < 1 by d", "cannot have 'by'. Ask about one group at a time, with 'where'"),
        ("share c == 1: a >= 1 against >= 2", "the two groups overlap"),
        ("share c == 1: a >= 1 or b >= 1 against < 1", "Name the column again before '< 1'"),
        ("share c == 1: against < 1", "The column or condition after ':' is missing"),
        ("share c == 1: a >= 1 against b >= 1", "the two groups overlap"),
        ("share c == 1: g == 0 against == 1", "No published noisy table contains"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        estimate(release(TABLE, ("abc",)), text)
    assert said in str(caught.value)


def test_a_condition_on_a_column_that_is_called_like_a_word_is_no_question() -> None:
    assert not is_question("share >= 3 and age < 5")
    assert is_question("share age < 5: age >= 3 against < 3")
    assert is_question("shares age < 5")
    assert not is_question("age < 5")


def test_a_label_may_hold_the_words() -> None:
    words = split_question("share x == 'a: b against c': y == 'where' against == 'by'")
    assert words.head == "x == 'a: b against c'"
    assert words.groups == ("y == 'where'", "y == 'by'")


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        Design(sizes=(300, 3_000), shares=(0.05, 0.02), epsilon=Fraction(1, 5)),
        Design(sizes=(500, 500), shares=(0.1, 0.0), epsilon=Fraction(1, 5)),
    ],
    ids=["rare", "no case"],
)
def test_intervals_hold_the_file_and_the_population(design: Design) -> None:
    """Of 120 runs 104 or fewer hold with a probability of 0.1% at 95%: Binomial(120, 0.95)."""
    for (name, about), held in study(design, 120, seed=5).items():
        assert held.coverage * held.runs > 104, (name, about)
