"""A number in several releases: changes and levels are those of the tables, and their intervals hold them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synthrelease.errors import InputError
from synthrelease.estimates import Estimate
from synthrelease.estimates.trends import trend
from synthrelease.estimates.words import Term
from synthrelease.published import PublishedRelease
from tests.estimates.test_estimate import MEASURED, TABLE, ends, release, rows

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


def test_the_most_exact_level_has_the_weights_of_the_inverse_variances() -> None:
    random = np.random.default_rng(1)
    years = [year("a", TABLE, Fraction(1, 10), random), year("b", LATER, Fraction(1), random)]
    terms = {weights: trend(years, "share a == 1", weights=weights).terms for weights in ("rows", "precision")}  # type: ignore[arg-type]
    one, other, level = terms["precision"]
    parts = np.array([1 / term.standard_error**2 for term in (one, other)])  # type: ignore[operator]
    assert level.estimate == pytest.approx(parts @ [one.estimate, other.estimate] / parts.sum())
    assert level.standard_error == pytest.approx(1 / math.sqrt(parts.sum()))
    assert level.standard_error < terms["rows"][2].standard_error  # type: ignore[operator]
    half = [max(abs(end - term.estimate) for end in ends(term)) for term in (one, other, level)]  # type: ignore[operator]
    weights = parts / parts.sum()
    assert half[2] == pytest.approx(math.hypot(*(weights * half[:2])), rel=0.01)


def test_a_change_within_noise_is_said_to_be_so() -> None:
    random = np.random.default_rng(4)
    found = trend([year("2021", TABLE, Fraction(1), random), year("2022", TABLE, Fraction(1), random)], "share c == 1")
    [term] = found.contrasts
    assert found.within_noise(term)
    assert "percentage points (within noise)" in str(found)
    rising = trend([year("2021", TABLE), year("2022", np.where(TABLE == 0, 1, TABLE))], "share c == 1")
    assert not rising.within_noise(rising.contrasts[0])
    assert "within noise" not in rising.short
    assert Estimate.within_noise(Term(name="share", group="", unit=""))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("slope b on a", "2021: 'slope b on a': expected a share, mean or median in several releases"),
        ("share c == 1: a >= 1 against < 1", "2021: .*found another question"),
        ("share q == 7", "2021: .*q"),
    ],
)
def test_what_has_no_trend_is_refused_with_the_name_of_the_release(question: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        asked(question)


def test_releases_of_one_name_or_of_other_bins_are_refused() -> None:
    with pytest.raises(InputError, match="at least two releases of different names or years, found 2021, 2021"):
        trend([year("2021", TABLE), year("2021", LATER)], "share c == 1")
    with pytest.raises(InputError, match="at least two releases"):
        trend([year("2021", TABLE)], "share c == 1")
    other = year("2022", LATER)
    shifted = [replace(one, upper=tuple(end + 1 for end in one.upper)) if one.name == "a" else one for one in other.schema]
    renamed = replace(other, schema=tuple(shifted))
    with pytest.raises(InputError, match="2022: expected the bins of a that 2021 has"):
        trend([year("2021", TABLE), renamed], "share c == 1 by a")


@pytest.mark.slow
@pytest.mark.parametrize("question", ["share b >= 1 where a == 2", "mean b"])
def test_intervals_of_changes_and_levels_hold_the_true_ones(question: str) -> None:
    """40 pairs of releases: 95% intervals hold in at least 34 (by chance in fewer once in three hundred times)."""
    exact = trend([year("2021", TABLE), year("2022", LATER)], question)
    truth = {term.name or term.group: term.estimate for term in (exact.terms[2], *exact.contrasts)}
    held = dict.fromkeys(truth, 0)
    random = np.random.default_rng(7)
    for _ in range(40):
        found = trend([year("2021", TABLE, Fraction(1, 5), random), year("2022", LATER, Fraction(1, 10), random)], question)
        for term in (found.terms[2], *found.contrasts):
            low, high = ends(term)
            held[term.name or term.group] += low <= truth[term.name or term.group] <= high  # type: ignore[operator]
    assert min(held.values()) >= 34, held
