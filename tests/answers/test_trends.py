"""A number in several releases: changes and levels are those of the tables, and their intervals hold them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synthrelease.answers.estimates import trend
from synthrelease.answers.words import Estimate, Term
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from tests.answers.test_estimate import MEASURED, TABLE, ends, release, rows

LATER = np.vstack([rows(2500, 1), rows(500, 2) * [0, 1, 1, 1, 1]])
LAST = rows(2000, 3)
TABLES = {"2021": TABLE, "2022": LATER, "2023": LAST}
EXACT = Fraction(1000)


def year(
    name: str, table: np.ndarray, epsilon: Fraction = EXACT, random: np.random.Generator | None = None
) -> PublishedRelease:
    return replace(release(table, MEASURED, epsilon=epsilon, random=random), folder=Path(name))


def asked(question: str, **settings: object) -> Estimate:
    return trend([year(name, table) for name, table in TABLES.items()], question, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("share c == 1 where a >= 1", lambda t: (t[t[:, 0] >= 1][:, 2] == 1).mean()),
        ("mean b where a < 2", lambda t: t[t[:, 0] < 2][:, 1].mean()),
    ],
)
def test_changes_and_the_level_are_those_of_the_tables(question: str, number: Callable[[np.ndarray], float]) -> None:
    found = asked(question)
    truth = {name: number(table) for name, table in TABLES.items()}
    whole = sum(map(len, TABLES.values()))
    level = sum(truth[name] * len(table) / whole for name, table in TABLES.items())
    assert found.releases == tuple(TABLES)
    assert [term.group for term in found.terms] == [*TABLES, "level, by rows"]
    assert [term.estimate for term in found.terms] == pytest.approx([*truth.values(), level], abs=1e-6)
    pairs = [("2021", "2022"), ("2022", "2023"), ("2021", "2023")]
    assert [term.name for term in found.contrasts] == [f"{one} to {other}" for one, other in pairs]
    changes = [truth[other] - truth[one] for one, other in pairs]
    assert [term.estimate for term in found.contrasts] == pytest.approx(changes, abs=1e-6)
    for term in (*found.terms, *found.contrasts):
        assert ends(term)[0] - 1e-9 <= term.estimate <= ends(term)[1] + 1e-9  # type: ignore[operator]


def test_there_is_a_change_for_each_bin_and_of_a_median_between_its_bins() -> None:
    found = asked("share b >= 1 by d")
    assert [term.name for term in found.contrasts][:2] == ["2021 to 2022, x", "2022 to 2023, x"]
    assert len(found.contrasts) == 6
    median = asked("median b where a == 2")
    assert all(term.group.startswith("20") for term in median.terms)
    truth = [float(np.median(table[table[:, 0] == 2][:, 1])) for table in TABLES.values()]
    for term, change in zip(median.contrasts, (truth[1] - truth[0], truth[2] - truth[1], truth[2] - truth[0]), strict=True):
        assert term.low <= change <= term.high  # type: ignore[operator]


def test_a_level_is_as_exact_as_its_years_weighted_by_their_rows() -> None:
    random = np.random.default_rng(1)
    years = [year("a", TABLE, Fraction(1, 10), random), year("b", LATER, Fraction(1), random)]
    one, other, level = trend(years, "share a == 1").terms
    parts, errors = np.array([len(TABLE), len(LATER)]), np.array([one.standard_error, other.standard_error])
    assert level.estimate == pytest.approx(parts @ [one.estimate, other.estimate] / parts.sum())
    assert level.standard_error == pytest.approx(math.hypot(*(parts * errors)) / parts.sum())
    half = [max(abs(end - term.estimate) for end in ends(term)) for term in (one, other, level)]  # type: ignore[operator]
    weights = parts / parts.sum()
    assert half[2] == pytest.approx(math.hypot(*(weights * half[:2])), rel=0.01)
    [change] = trend(years, "share a == 1").contrasts  # both years' noises are in it
    assert [change.high - change.estimate, change.estimate - change.low] == pytest.approx([math.hypot(*half[:2])] * 2, rel=0.02)  # type: ignore[operator]


def test_a_change_within_noise_is_said_to_be_so() -> None:
    random = np.random.default_rng(4)
    found = trend([year("2021", TABLE, Fraction(1), random), year("2022", TABLE, Fraction(1), random)], "share c == 1")
    [term] = found.contrasts
    assert found.within_noise(term)
    assert ["(within noise)" in line for line in found.short.splitlines()].count(True) == 1
    rising = trend([year("2021", TABLE), year("2022", np.where(TABLE == 0, 1, TABLE))], "share c == 1")
    assert not rising.within_noise(rising.contrasts[0])
    assert "within noise" not in rising.short
    assert Estimate.within_noise(Term(name="share", group="", unit=""))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("slope b on a", "2021: 'slope b on a': a trend can only be computed for a share, a mean, a median or a quantile"),
        ("share c == 1: a >= 1 against < 1", "2021: .*a trend can only be computed for a share"),
        ("share q == 7", "2021: .*q"),
    ],
)
def test_what_has_no_trend_is_refused_with_the_name_of_the_release(question: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        asked(question)


def test_releases_of_one_name_or_of_other_bins_are_refused() -> None:
    with pytest.raises(
        InputError, match="A trend needs two or more releases with different names or years. Their names are: 2021, 2021"
    ):
        trend([year("2021", TABLE), year("2021", LATER)], "share c == 1")
    with pytest.raises(InputError, match="releases with different names"):
        trend([year("2021", TABLE)], "share c == 1")


@pytest.mark.parametrize(
    ("column", "others", "question", "told"),
    [
        ("a", {"upper": (1.0, 2.0, 4.0)}, "share c == 1 by a", "in 2021 and 2022: the bins of a differ"),
        ("b", {"numbers": (0.0, 1.0, 3.5)}, "mean b", "in 2021 and 2022: the bins of b differ"),
        ("b", {"labels": ("0", "1", "2-4")}, "median b", "in 2021 and 2022: the bins of b differ"),
        (
            "b",
            {"unit": "ounces"},
            "share b >= 1",
            "in 2021 and 2022: the unit of b is 'grams' in the first and 'ounces' in the second",
        ),
        ("d", {"categories": (("x",), ("y", "z"))}, "share d == 'x'", "in 2021 and 2022: the bins of d differ"),
        ("d", {"categories": (("x",), ("y", "z"))}, "mean b where d == 'x'", "in 2021 and 2022: the bins of d differ"),
    ],
)
def test_the_same_words_about_other_bins_are_another_question(
    column: str, others: dict[str, object], question: str, told: str
) -> None:
    other = year("2022", LATER)
    changed = [replace(one, **others) if one.name == column else one for one in other.schema]  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"different meanings {told}"):
        trend([year("2021", TABLE), replace(other, schema=tuple(changed))], question)


def test_bins_that_a_question_does_not_ask_of_may_be_others() -> None:
    """A column that is not named, and the numbers of bins in a condition on values."""
    other = year("2022", LATER)
    changed = [replace(one, numbers=(0.0, 1.0, 3.5)) if one.name == "b" else one for one in other.schema]
    changed = [replace(one, unit="years") if one.name == "a" else one for one in changed]
    found, same = (
        trend([year("2021", TABLE), each], "share b >= 1") for each in (replace(other, schema=tuple(changed)), other)
    )
    assert found.contrasts == same.contrasts


def test_a_copy_is_no_further_year() -> None:
    """Its noise is that of the other one: a level of both would be no more exact than one of them."""
    with pytest.raises(InputError, match="2022 has the same noisy tables as 2021, so it is a copy or an erratum"):
        trend([year("2021", TABLE), year("2023", LAST), year("2022", TABLE)], "share c == 1")


@pytest.mark.slow
@pytest.mark.parametrize("question", ["share b >= 1 where a == 2", "mean b"])
def test_intervals_of_changes_and_levels_hold_the_true_ones(question: str) -> None:
    """20 pairs of releases: 95% intervals hold in at least 16 (by chance in fewer once in four hundred times)."""
    exact = trend([year("2021", TABLE), year("2022", LATER)], question)
    truth = np.array([term.estimate for term in exact.terms[:2]])
    held = np.zeros(2)
    random = np.random.default_rng(7)
    for _ in range(20):
        pair = [year("2021", TABLE, Fraction(1, 5), random), year("2022", LATER, Fraction(1, 10), random)]
        found = trend(pair, question)
        [*_, level], [change] = found.terms, found.contrasts
        sizes = [len(TABLE), len(LATER)]
        for place, (term, number) in enumerate([(level, np.average(truth, weights=sizes)), (change, truth[1] - truth[0])]):
            low, high = ends(term)
            held[place] += low <= number <= high
    assert min(held) >= 16, held
