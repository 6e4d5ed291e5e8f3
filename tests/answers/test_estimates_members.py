"""Estimates over all members against the members themselves, who stand in roots of different sizes and are alike in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from synthrelease.answers import averages
from synthrelease.answers.averages import Ratio, of_roots, parts_of
from synthrelease.answers.estimates import estimate
from synthrelease.answers.listed import listed
from synthrelease.answers.questions import parse_question
from synthrelease.answers.tables import PublishedTables
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from tests.answers.test_estimate import ends
from tests.helpers.published import HOMES, category_column, integer_column, noisy_tables, published


def of_slot(column: PublishedColumn, name: str, absent: str) -> PublishedColumn:
    labels = (*column.labels, absent)
    return replace(column, name=name, labels=labels, numbers=(*column.numbers, None), missing=len(labels) - 1)


AGE, WORK = integer_column("age", [0, 1, 2, 3]), category_column("work", {"yes": ["yes"], "no": ["no"]})
COLUMNS = (
    integer_column("rent", [0, 1, 2]),
    integer_column("persons", [0, 1, 2, 3]),
    of_slot(AGE, "age_1", "absent"),
    of_slot(WORK, "work_1", "missing"),
    of_slot(AGE, "age_2", "absent"),
    of_slot(WORK, "work_2", "missing"),
)
NAMES = [column.name for column in COLUMNS]
TOGETHER = tuple(names for number in (1, 2, 3, 4) for names in combinations(NAMES, number))
APART = (
    ("age_1",),
    ("age_2",),
    ("rent", "age_1", "work_1"),
    ("rent", "age_2", "work_2"),
    ("persons", "work_1"),
    ("persons", "work_2"),
)


def homes(n: int, seed: int = 0) -> np.ndarray:
    """(n, 6) wide rows: half of the second persons are as old as the first, who works more often where rent is high."""
    random = np.random.default_rng(seed)
    rent, persons = random.integers(0, 2, n), random.choice(3, n, p=[0.1, 0.4, 0.5])
    first = random.integers(0, 3, n)
    second = np.where(random.random(n) < 0.5, first, random.integers(0, 3, n))
    works = [np.where(random.random(n) < 0.1, 2, random.random(n) < 0.7 - 0.3 * rent) for _ in range(2)]
    there = [persons > place for place in range(2)]
    slots = [
        np.where(there[place], values, absent)
        for place, own in enumerate(zip((first, second), works, strict=True))
        for values, absent in zip(own, (3, 2), strict=True)
    ]
    return np.column_stack([rent, persons, *slots])


def release(
    table: np.ndarray,
    measured: Sequence[Sequence[str]],
    random: np.random.Generator | None = None,
    epsilon: Fraction = Fraction(1),
) -> PublishedRelease:
    """A release whose noisy tables are of these columns; without a generator they have no noise, as if by chance."""
    found = noisy_tables(COLUMNS, table, measured, epsilon, random)
    made = published(COLUMNS, np.zeros((len(table), len(COLUMNS)), dtype=int), ())
    return replace(made, measurements=Measurements(tables=found, times=1.0), linked=HOMES)


def members(table: np.ndarray) -> np.ndarray:
    """(n_members, 5) home, rent, persons, age and work of everybody."""
    own = [
        np.column_stack([np.arange(len(table)), table[:, :2], table[:, 2 + 2 * place : 4 + 2 * place]]) for place in range(2)
    ]
    there = [rows[rows[:, 2] > place] for place, rows in enumerate(own)]
    return np.concatenate(there)


TABLE = homes(2000)
home, rent, persons, age, work = members(TABLE).T
ASKED: list[tuple[str, list[float]]] = [
    ("share age >= 1", [(age >= 1).mean()]),
    ("share age == 1 by rent", [(age[rent == value] == 1).mean() for value in range(2)]),
    ("share work == 'yes'", [(work == 0).mean()]),
    ("share work is missing", [(work == 2).mean()]),
    ("share work is missing where rent >= 1", [(work[rent == 1] == 2).mean()]),
    ("share work == 'yes' by age", [(work[age == value] == 0).mean() for value in range(3)]),
    ("share rent >= 1 where work == 'yes'", [(rent[work == 0] == 1).mean()]),
    ("mean age", [age.mean()]),
    ("mean age by persons", [age[persons == value].mean() for value in (1, 2)]),
    ("mean age where work == 'no'", [age[work == 1].mean()]),
    ("mean age: rent >= 1 against < 1", [age[rent == 1].mean(), age[rent == 0].mean()]),
    ("median age", [float(np.median(age))]),
]


def line(y: np.ndarray, *columns: np.ndarray) -> list[float]:
    """The slopes of the least-squares line, without the intercept."""
    found = np.linalg.lstsq(np.column_stack([np.ones(len(y)), *columns]), y, rcond=None)[0]
    return [float(slope) for slope in found[1:]]


yes = work == 0
ASKED += [
    ("slope age on rent", line(age, rent)),
    ("slope age on rent, persons", line(age, rent, persons)),
    ("slope rent on age", line(rent, age)),
    ("slope age on rent where work == 'yes'", line(age[yes], rent[yes])),
]
ALL_FOUR = (("rent", "persons", "age_1", "age_2"),)
BY_TWOS = (("rent", "persons"), *((name, slot) for slot in ("age_1", "age_2") for name in ("rent", "persons")))
"""Noisy tables of which none holds three columns."""


@pytest.mark.parametrize(("asked", "truth"), ASKED)
def test_without_noise_the_estimate_is_the_number_of_all_members(asked: str, truth: list[float]) -> None:
    found = estimate(release(TABLE, TOGETHER, epsilon=Fraction(1000)), asked)
    assert found.of == "members"
    assert [term.estimate for term in found.terms] == pytest.approx(truth, abs=1e-6)


def test_a_share_counts_members_and_not_roots() -> None:
    [found] = estimate(release(TABLE, APART, epsilon=Fraction(1000)), "share age >= 1").terms
    assert found.rows == (age >= 1).sum()
    assert found.rows_low == found.rows_high == found.rows


@pytest.mark.parametrize(
    "asked", ["share age == 1 by rent", "share work == 'yes'", "mean age where work == 'no'", "slope rent on age"]
)
def test_intervals_hold_the_number_of_all_members(asked: str) -> None:
    """At a confidence of 80% in 60 runs: fewer than 38 or all 60 would each happen less often than once in 2,000."""
    random, truth = np.random.default_rng(3), dict(ASKED)[asked]
    held = 0
    for _ in range(60):
        low, high = ends(estimate(release(TABLE, APART, random, Fraction(1, 5)), asked, confidence=0.8).terms[-1])
        held += low <= truth[-1] <= high
    assert 38 <= held < 60


def twins(n: int, random: np.random.Generator) -> np.ndarray:
    """Homes of two persons who are of the same age."""
    ages = random.integers(0, 2, n)
    return np.column_stack([np.zeros(n), np.full(n, 2), ages, np.zeros(n), ages, np.zeros(n)]).astype(int)


def opposites(n: int, random: np.random.Generator) -> np.ndarray:
    """Homes of two persons, the one older, the younger the other is; one of them works."""
    ages = random.integers(0, 3, n)
    return np.column_stack([np.zeros(n), np.full(n, 2), ages, np.zeros(n), 2 - ages, np.ones(n)]).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("measured", [TOGETHER, APART])
def test_the_population_s_interval_counts_roots_where_members_are_alike(measured: Sequence[Sequence[str]]) -> None:
    """200 samples of 300 homes at 80%: by chance 142 to 178. As if members were drawn one by one, 126 are expected."""
    random, held = np.random.default_rng(5), 0
    for _ in range(200):
        made = release(twins(300, random), measured, epsilon=Fraction(1000))
        [found] = estimate(made, "share age == 1", confidence=0.8).terms
        assert found.population_low is not None
        assert found.population_high is not None
        held += found.population_low <= 0.5 <= found.population_high
    assert 142 <= held <= 178


def neighbours_in_rent(n: int, random: np.random.Generator) -> np.ndarray:
    """Homes of one or two persons of the same age, whatever the rent is."""
    rent, persons, ages = random.integers(0, 2, n), random.integers(1, 3, n), random.integers(0, 3, n)
    second = [np.where(persons == 2, own, absent) for own, absent in ((ages, 3), (np.zeros(n), 2))]
    return np.column_stack([rent, persons, ages, np.zeros(n), *second]).astype(int)


def slopes_of_samples(n: int, names: Sequence[str]) -> float:
    """The deviation of the first slope of age over samples of so many homes: 400 of them, known to 4%."""
    random, found = np.random.default_rng(7), []
    for _ in range(400):
        own = dict(zip(("home", "rent", "persons", "age"), members(neighbours_in_rent(n, random)).T, strict=False))
        found.append(line(own["age"], *(own[name] for name in names))[0])
    return float(np.std(found))


@pytest.mark.parametrize(
    ("asked", "measured", "most"),
    [("slope age on rent", ALL_FOUR, 1.1), ("slope age on rent", APART, 2), ("slope age on rent, persons", BY_TWOS, 2)],
)
def test_slopes_of_a_population_count_roots(asked: str, measured: Sequence[Sequence[str]], most: float) -> None:
    """Beside the spread of the slope over samples of homes: wider where no table holds two members, and never narrower. Of
    members who are drawn one by one it would be three quarters of it."""
    made = release(neighbours_in_rent(3000, np.random.default_rng(8)), measured, epsilon=Fraction(1000))
    found = estimate(made, asked, confidence=0.8).terms[0]
    assert found.population_low is not None
    assert found.population_high is not None
    spread = 1.2816 * slopes_of_samples(300, asked.removeprefix("slope age on ").split(", ")) / math.sqrt(10)
    assert 0.9 < (found.population_high - found.population_low) / (2 * spread) < most


def test_slopes_from_tables_of_two_columns_are_those_of_all_members() -> None:
    found = estimate(release(TABLE, BY_TWOS, epsilon=Fraction(1000)), "slope age on rent, persons")
    assert [term.estimate for term in found.terms] == pytest.approx(line(age, rent, persons), abs=1e-6)
    assert [term.unit for term in found.terms] == ["per unit of rent", "per unit of persons"]
    assert any("equal variances" in said for said in found.approximate)


def test_drawing_homes_moves_two_groups_who_live_together_apart() -> None:
    """A home adds its older person's age less the younger's, 2 - 2 a: the error is twice that of a mean of a, and not the root
    of 2 times it, as of groups who have nothing in common."""
    homes = opposites(300, np.random.default_rng(9))
    [found] = estimate(release(homes, APART, epsilon=Fraction(1000)), "mean age: work == 'yes' against == 'no'").contrasts
    assert found.population_standard_error == pytest.approx(2 * np.std(homes[:, 2]) / math.sqrt(300), rel=0.05)


@pytest.mark.slow
def test_two_groups_whose_members_live_together_may_differ_more() -> None:
    """The mean age of who works less that of who does not: drawing moves both, apart. Without that 64% are expected."""
    random, held = np.random.default_rng(6), 0
    for _ in range(200):
        made = release(opposites(300, random), APART, epsilon=Fraction(1000))
        [found] = estimate(made, "mean age: work == 'yes' against == 'no'", confidence=0.8).contrasts
        low, high = found.population_binned_low, found.population_binned_high
        low, high = (found.population_low, found.population_high) if low is None else (low, high)
        assert low is not None
        assert high is not None
        held += low <= 0 <= high
    assert 142 <= held <= 178


def test_the_sum_of_squares_over_roots_is_exact_with_both_slots_in_a_table_and_never_too_small() -> None:
    for measured, exact in ((TOGETHER, True), (APART, False)):
        tables = PublishedTables(release(TABLE, measured))
        parts = parts_of(tables, parse_question("mean age", tables.release))
        numbers = [0.0, 1.0, 2.0, 0.0]
        figures, own, true = [], [], np.zeros((2, 2))
        sums = np.zeros((len(TABLE), 2))
        for place, part in enumerate(parts):
            of_bin = np.array([numbers, [1.0, 1.0, 1.0, 0.0]])
            axis = part.names.index(f"age_{place + 1}")
            shaped = of_bin.reshape(2, *[-1 if each == axis else 1 for each in range(len(part.shape))])
            figures.append(np.broadcast_to(shaped, (2, *part.shape)).reshape(2, -1))
            of_row = of_bin[:, TABLE[:, 2 + 2 * place]].T
            own.append(of_row.T @ of_row)
            sums += of_row
        true = sums.T @ sums
        found = of_roots(tables, parts, figures, np.array(own))
        if exact:
            assert found == pytest.approx(true)
        else:
            assert np.linalg.eigvalsh(found - true).min() > -1e-6
            assert not np.allclose(found, true)


def test_how_many_members_a_cell_allows_is_that_of_all_wide_rows() -> None:
    """Against every wide row there can be, for every table of the columns; also where each root has members."""
    for least in (0, 1):
        linked = replace(HOMES, least=least)
        sizes = {name: len(column.labels) for name, column in zip(NAMES, COLUMNS, strict=True)} | {"persons": 3 - least}
        wide = [
            (cell, least + cell[1])
            for cell in product(*(range(sizes[name]) for name in NAMES))
            if all(
                (cell[2 + 2 * place] < 3) == (place < least + cell[1]) and (cell[3 + 2 * place] == 2 or place < least + cell[1])
                for place in range(2)
            )
        ]
        for number in (1, 2, 3):
            for names in combinations(NAMES, number):
                shape = [sizes[name] for name in names]
                low, high = np.full(shape, 9), np.full(shape, -9)
                for cell, members in wide:
                    at = tuple(cell[NAMES.index(name)] for name in names)
                    low[at], high[at] = min(low[at], members), max(high[at], members)
                found_low, found_high = linked.between(names, shape)
                possible = low <= high
                assert np.array_equal(possible, found_low <= found_high), names
                assert np.array_equal(low[possible], found_low[possible]), names
                assert np.array_equal(high[possible], found_high[possible]), names


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("share work is missing", "contains 'work_1' and 'persons' together, because such a table shows which members exist"),
        ("mean age by rent", "all these columns ('rent', 'age_1')"),
        ("slope age on rent", "contains 'rent' and 'persons' together, because such a table shows which members exist"),
        ("mean agee", "'agee' is not a column"),
        ("share age < 1: work == 'yes' against age < 2", "the two groups overlap"),
    ],
)
def test_what_cannot_be_told_of_members_is_said(asked: str, message: str) -> None:
    made = release(
        TABLE,
        (("age_1", "work_1"), ("age_2", "work_2"))
        if "against" in asked
        else (("age_1",), ("age_2",), ("work_1",), ("work_2",)),
    )
    with pytest.raises(InputError) as caught:
        estimate(made, asked)
    assert message in str(caught.value)


def test_the_list_has_every_column_of_members_over_all_of_them() -> None:
    """As the questions one by one; nothing where no table tells who is there."""
    made = release(TABLE, APART)
    lines = [line for line in listed(made) if line.column in HOMES.names]
    assert {(line.statistic, line.column, line.value) for line in lines} >= {
        *(("share", "age", label) for label in ("0", "1", "2")),
        *(("share", "work", label) for label in ("yes", "no", "missing")),
        ("mean", "age", ""),
    }
    assert not any(line.value == "absent" for line in lines)
    [listed_share] = [line for line in lines if (line.statistic, line.column, line.value) == ("share", "work", "missing")]
    [asked] = estimate(made, "share work is missing").terms
    assert (listed_share.estimate, listed_share.lower, listed_share.upper) == (asked.estimate, asked.low, asked.high)
    apart = release(TABLE, (("age_1",), ("age_2",), ("work_1",), ("work_2",)))
    assert {line.column for line in listed(apart)} & set(HOMES.names) == {"age"}


def test_the_words_say_that_members_are_counted() -> None:
    text = str(estimate(release(TABLE, APART), "share age >= 1"))
    assert "members of the file" in text
    assert "the members (the first 2 of each root) of all its 2,000 rows" in " ".join(text.split())
    assert "treated as identical" in " ".join(text.split())
    first = estimate(release(TABLE, APART), "share age_1 >= 1")
    assert first.of == "rows"


@pytest.mark.parametrize(("alike", "effect"), [(True, 2.0), (False, 1.0)], ids=["members of a root are alike", "are not"])
def test_drawing_roots_of_two_is_drawing_one_or_two_members(alike: bool, effect: float) -> None:
    """100 roots of two members, of whom 3 in 10 meet a condition: of sums over drawn roots, the plain covariance matrix."""
    pairs = [(1, 1)] * 30 + [(0, 0)] * 70 if alike else [(1, 1)] * 9 + [(1, 0)] * 42 + [(0, 0)] * 49
    met = np.array([[sum(pair), 2] for pair in pairs], dtype=float)
    share = Ratio(numerator=60.0, denominator=200.0, weights=np.zeros((2, 0)), noises=None)  # type: ignore[arg-type]
    assert averages._design_effect(share, met.T @ met, 200, 200, 2) == pytest.approx(effect)
    assert averages._design_effect(share, met.T @ met, 200, 200, 1) == 1.0


def test_a_share_of_the_second_members_is_said_to_be_among_all_roots() -> None:
    """The estimate counts roots without a second member in the denominator, and its text says so."""
    made = release(TABLE, [("persons", "age_2")])
    found = estimate(made, "share age_2 >= 1")
    assert found.terms[0].estimate == pytest.approx(np.isin(TABLE[:, 4], [1, 2]).mean())
    assert "The share of age_2 is a share of all roots, with and without that member" in found.about
    assert "among all roots" not in estimate(made, "share age_2 >= 1 where persons >= 2 and age_2 >= 0").about
    assert "among all roots" not in estimate(made, "mean age_2").about
