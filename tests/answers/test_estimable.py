"""Which numbers are given: one rule for text, JSON, CSV, estimates.csv and Python; what an answer of many lines promises."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from synthrelease.answers.estimates import estimate, trend
from synthrelease.answers.listed import listed
from synthrelease.answers.questions import parse_condition
from synthrelease.answers.words import Estimate, Term
from synthrelease.data.questions import Kind
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from tests.answers.test_estimate import COLUMNS, TABLE, release
from tests.helpers.published import integer_column, noisy_tables, published

FEW = np.concatenate([TABLE[TABLE[:, 0] < 2], TABLE[TABLE[:, 0] == 2][:15]])
"""Fifteen rows have a = 2, in cells with a noise of 14."""


def noisy(
    seed: int = 1, table: np.ndarray = TABLE, measured: tuple[str, ...] = ("abd", "ac", "bc", "cg", "abc")
) -> PublishedRelease:
    return release(table, measured, Fraction(1, 10), np.random.default_rng(seed))


@pytest.mark.parametrize("question", ["share c == 1 by a", "mean b by a", "median b by a"])
def test_every_way_to_ask_gives_the_same_numbers(question: str) -> None:
    """What estimates.csv does not give is not estimable in the text, in JSON, in CSV and in Python."""
    hidden = 0
    for seed in range(2):
        made = noisy(seed, FEW, ("ac", "ab"))
        found = estimate(made, question)
        statistic, column = question.split()[0], question.split()[1]
        shown = found.short.splitlines()[1:]
        text = {line.strip().split("  ")[0]: line for line in reversed(shown)}  # of each name its first line
        table = {row["group"]: row for row in csv.DictReader(found.csv.splitlines())}
        if statistic != "median":
            lines = {
                line.group: line
                for line in listed(made)
                if (line.statistic, line.column, line.by) == (statistic, column, "a") and line.value in ("", "1")
            }
            assert {group: line.told == "yes" for group, line in lines.items()} == {
                term.group: term.estimable and term.low is not None for term in found.terms
            }
        for term in found.terms:
            assert ("not estimable" not in text[term.group][:30]) == term.estimable
            assert table[term.group]["estimable"] == str(term.estimable)
            numbers = {name: value for name, value in asdict(term).items() if isinstance(value, float)}
            assert bool(numbers) == term.estimable
            assert bool(table[term.group]["estimate"]) == term.estimable
            hidden += not term.estimable
    assert hidden or statistic == "median"


VACUOUS = ["a >= 0", "a < 3", "d in ['x', 'y']", "a >= 0 and d in ['x', 'y']", "a == 1 or a != 1", "not a > 7"]


@pytest.mark.parametrize("condition", VACUOUS)
def test_a_condition_that_every_row_meets_changes_nothing(condition: str) -> None:
    """Other columns in it would leave fewer noisy tables, and so another answer to the same question."""
    made = noisy()
    for asked in ("share c == 1", "mean b", "median b", "slope c on b"):
        assert estimate(made, f"{asked} where {condition}").terms == estimate(made, asked).terms
    both = estimate(made, f"share c == 1 where b >= 1 and ({condition})")
    assert both.terms == estimate(made, "share c == 1 where b >= 1").terms


def test_a_condition_that_a_rule_makes_every_row_meet_changes_nothing() -> None:
    made = release(TABLE[TABLE[:, 0] > 0], ("ac", "bc", "c"), Fraction(1, 10), np.random.default_rng(3), rules=["a < 1"])
    assert estimate(made, "share c == 1 where a >= 1").terms == estimate(made, "share c == 1").terms


def test_the_mean_of_rows_of_one_bin_is_known_whatever_the_noise() -> None:
    """Numerator and denominator have the same noise: their terms cancel but for what floats lose."""
    column = replace(integer_column("x", [0, 2, 5, 31]), numbers=(0.7, 2.4, 10.1))
    for seed in range(20):
        random = np.random.default_rng(seed)
        table = random.integers(0, 3, 3000)[:, None]
        found = noisy_tables((column,), table, ["x"], Fraction(1, 20), random)
        made = replace(published((column,), table, ()), measurements=Measurements(tables=found, times=1.0))
        [term] = estimate(made, "mean x where x >= 2 and x < 5").terms
        assert (term.binned_low, term.binned_high, term.low, term.high) == pytest.approx((2.4, 2.4, 2, 4), abs=1e-9)
        assert (term.population_low, term.population_high) == pytest.approx((2, 4), abs=1e-9)


LINKED = ["a >= 2 and d == 'x'", "c >= 1 and b < 1 and a < 2", "a < 2 and b < 1 and c < 1"]
"""No row has a = 2 with d = x; nor b = 0 with another a, of which the last two rules have one half each."""
ALLOWED = TABLE[~((TABLE[:, 0] == 2) & (TABLE[:, 3] == 0)) & ~((TABLE[:, 0] < 2) & (TABLE[:, 1] == 0))]


@pytest.mark.parametrize(
    "condition", ["a < 2 or d == 'y'", "not (a == 2 and d == 'x')", "b >= 1 or a == 2", "b >= 1 or d == 'y' or a < 1"]
)
def test_a_condition_that_rules_over_several_columns_make_every_row_meet_changes_nothing(condition: str) -> None:
    made = release(ALLOWED, ("abd", "ac", "bc", "c", "b"), Fraction(1, 10), np.random.default_rng(4), rules=LINKED)
    for asked in ("share c == 1", "mean b", "median b", "slope c on b"):
        assert estimate(made, f"{asked} where {condition}").terms == estimate(made, asked).terms
    both = estimate(made, f"share c == 1 where a >= 1 and ({condition})")
    assert both.terms == estimate(made, "share c == 1 where a >= 1").terms
    [term] = estimate(made, f"share {condition}").terms
    assert (term.low, term.estimate, term.high) == (1.0, 1.0, 1.0)


Cell = tuple[int, ...]
SIZES = [len(column.labels) for column in COLUMNS]
CELLS: list[Cell] = list(product(*map(range, SIZES)))


def drawn(random: np.random.Generator, parts: int) -> tuple[str, Callable[[Cell], bool]]:
    """A condition without a negation, as a text, and whether a row in a cell meets it, one comparison at a time."""
    words, tests = [], list[Callable[[Cell], bool]]()
    for axis in random.choice(len(COLUMNS), parts, replace=False).tolist():
        column, bin_ = COLUMNS[axis], int(random.integers(COLUMNS[axis].present))
        if column.kind == "category":
            words.append(f"{column.name} == '{column.labels[bin_]}'")
            tests.append(lambda cell, axis=axis, bin_=bin_: cell[axis] == bin_)  # type: ignore[misc]
        elif random.random() < 0.5:
            words.append(f"{column.name} >= {column.lower[bin_]:.0f}")
            tests.append(lambda cell, axis=axis, bin_=bin_, n=column.present: bin_ <= cell[axis] < n)  # type: ignore[misc]
        else:
            words.append(f"{column.name} < {column.upper[bin_]:.0f}")
            tests.append(lambda cell, axis=axis, bin_=bin_: cell[axis] <= bin_)  # type: ignore[misc]
    every = random.random() < 0.7
    return (" and " if every else " or ").join(words), lambda cell: (all if every else any)(test(cell) for test in tests)


def decides(met: dict[Cell, bool], axes: Sequence[int]) -> bool:
    """Whether these columns tell of each possible cell whether it is met."""
    known: dict[Cell, bool] = {}
    return all(known.setdefault(tuple(cell[axis] for axis in axes), value) == value for cell, value in met.items())


@pytest.mark.slow
def test_a_narrowed_condition_needs_as_few_columns_as_the_rules_allow_and_is_met_by_the_same_rows() -> None:
    """Random rules and conditions; every cell of all columns, one by one, is the reference."""
    random, made, constant = np.random.default_rng(5), noisy(), 0
    for _ in range(150):
        rules = [drawn(random, int(random.integers(1, 4))) for _ in range(random.integers(0, 9))]
        text, meets = drawn(random, int(random.integers(1, 4)))
        met = {cell: meets(cell) for cell in CELLS if not any(never(cell) for _, never in rules)}
        whole = parse_condition(text, made)
        narrowed = whole.narrowed(made, [rule for rule, _ in rules], 10**6)
        if not met:  # no row follows the rules, and there is no such release
            continue
        mask = narrowed.mask(COLUMNS)
        assert all(mask[cell] == value for cell, value in met.items())
        axes = [axis for axis, column in enumerate(COLUMNS) if column.name in narrowed.columns]
        small = narrowed.mask(tuple(COLUMNS[axis] for axis in axes))
        assert all(small[tuple(cell[axis] for axis in axes)] == mask[cell] for cell in CELLS)
        assert decides(met, axes)
        assert not any(decides(met, [other for other in axes if other != axis]) for axis in axes)
        constant += len(set(met.values())) < len({meets(cell) for cell in CELLS})
    assert constant >= 10


def test_missing_values_do_not_meet_a_condition_of_all_values() -> None:
    made = noisy(measured=("cg", "c"))
    assert estimate(made, "share c == 1 where g >= 0").terms != estimate(made, "share c == 1").terms
    everybody = estimate(made, "share c == 1 where g >= 0 or g is missing")
    assert everybody.terms == estimate(made, "share c == 1").terms


@pytest.mark.parametrize("text", [*VACUOUS, "a == 1", "a == 1 and b < 4", "a == 1 or (b >= 1 and d == 'x')", "g >= 0", "a < 0"])
def test_a_narrowed_condition_is_met_where_it_was(text: str) -> None:
    """Over every cell of all columns, one by one; and a column that is left out never decides."""
    made = noisy()
    whole = parse_condition(text, made)
    narrowed = whole.narrowed(made, [], 10**6)
    assert (narrowed.mask(COLUMNS) == whole.mask(COLUMNS)).all()
    own = tuple(column for column in COLUMNS if column.name in narrowed.columns)
    small, full = narrowed.mask(own), whole.mask(COLUMNS)
    for cell in product(*(range(len(column.labels)) for column in COLUMNS)):
        place = tuple(bin_ for bin_, column in zip(cell, COLUMNS, strict=True) if column in own)
        assert small[place] == full[cell]


def test_an_interval_that_reaches_nothing_or_all_says_at_most_or_at_least() -> None:
    column = integer_column("c", [0, 1, 2])
    counts = np.array([990, 10])
    tables = noisy_tables([column], np.repeat([[0], [1]], counts, axis=0), ["c"], Fraction(1, 10))
    made = replace(published([column], np.zeros((1000, 1), dtype=int), ()), measurements=Measurements(tables=tables, times=1.0))
    rare, common = str(estimate(made, "share c == 1")), str(estimate(made, "share c == 0"))
    assert "1.0%      at most " in rare
    assert "10 (at most " in rare
    assert "99.0%     at least " in common


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("share c == 1 by a", 6),
        ("mean b by a", 6),
        ("mean c by a", 3),
        ("median b", 1),
        ("slope b on a, c", 2),
        ("share c == 1: a == 2 against < 2", 7),
    ],
)
def test_intervals_together_share_the_risk_among_all_of_them(question: str, number: int) -> None:
    """Bonferroni: each of them is an interval by itself at a confidence of 1 - 0.05 / number."""
    made = noisy(measured=("ab", "ac", "bc"))
    alone, together = estimate(made, question), estimate(made, question, together=True)
    assert alone.n_intervals == together.n_intervals == number
    assert together.terms == estimate(made, question, confidence=1 - 0.05 / number).terms
    if number > 1:
        text = " ".join(str(alone).split())
        assert f"Of these {number} intervals for the file, at most {0.05 * number:.2g} miss on average" in text
        assert f"One or more of {number} intervals for the file miss" in " ".join(str(together).split())
    assert {row["intervals"] for row in csv.DictReader(together.csv.splitlines())} == {"together"}


@pytest.mark.slow
def test_intervals_together_hold_at_once_as_often_as_stated() -> None:
    """Of three means by groups, at a confidence of 80% in 80 runs: 55 or more, but for one time in 1,000."""
    truth = [TABLE[TABLE[:, 0] == value, 2].mean() for value in range(3)]
    held = {False: 0, True: 0}
    for seed, together in product(range(80), (False, True)):
        terms = estimate(noisy(seed, measured=("ac",)), "mean c by a", confidence=0.8, together=together).terms
        held[together] += all(term.low <= true <= term.high for term, true in zip(terms, truth, strict=True))  # type: ignore[operator]
    assert held[True] >= 55 > held[False]


def test_intervals_of_several_years_together_share_the_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two years with a share and its rows in three groups, a change and a level of each: 18 intervals."""
    names = iter(["2021", "2022"] * 2)
    monkeypatch.setattr("synthrelease.answers.estimates._name", lambda folder: next(names))
    years = [noisy(seed, measured=("ac",)) for seed in (1, 2)]
    alone, together = (trend(years, "share c == 1 by a", together=each) for each in (False, True))
    assert alone.n_intervals == together.n_intervals == 18
    single = estimate(years[0], "share c == 1 by a", confidence=1 - 0.05 / 18)
    assert [term.low for term in together.terms[:3]] == [term.low for term in single.terms]
    widths = [[term.high - term.low for term in found.contrasts] for found in (alone, together)]  # type: ignore[operator]
    assert all(one < other for one, other in zip(*widths, strict=True))
    levels = [line for line in alone.short.splitlines() if line.strip().startswith("level")]
    assert len(levels) == 3
    assert not any("not estimable" in line for line in levels)


def _wages(highest: float, clipped: bool = True) -> tuple[PublishedRelease, np.ndarray]:
    """A tenth of the rows is in an open bin; the file's own values."""
    wage = replace(
        integer_column("wage", [0, 1000, 2000, 3000, 4000]),
        lower=(0.0, 1000.0, 2000.0, 3000.0),
        upper=(1000.0, 2000.0, 3000.0, math.inf),
        numbers=(500.0, 1500.0, 2500.0, 4000.0),
        bounds=(0.0, highest),
        clipped=clipped,
    )
    bins = np.repeat(range(4), [200, 400, 300, 100])
    values = np.minimum(np.array([900, 1900, 2900, 9000])[bins], highest)
    tables = noisy_tables([wage], bins[:, None], [("wage",)], Fraction(1000))
    made = published([wage], np.zeros((1000, 1), dtype=int), ())
    return replace(made, measurements=Measurements(tables=tables, times=1.0)), values


def test_a_mean_with_an_open_bin_needs_a_cap_that_is_published() -> None:
    wide, _ = _wages(99_996)
    found = estimate(wide, "mean wage")
    assert not found.terms[0].estimable
    assert "not estimable" in found.short
    assert "The open bins of wage ('3000-3999') end at the public bounds 0 and 99996 of the column." in " ".join(
        str(found).split()
    )
    [line] = [line for line in listed(wide) if line.statistic.startswith("mean")]
    assert (line.told, line.estimate) == ("not estimable", None)
    capped, values = _wages(6_000)
    [term] = estimate(capped, "mean wage").terms
    assert term.low is not None
    assert term.high is not None
    assert term.low <= values.mean() <= term.high


@pytest.mark.parametrize("question", ["share c == 1 by a", "mean b", "median b", "slope c on b", "mean c: a == 2 against < 2"])
def test_rows_that_are_no_simple_random_sample_have_no_interval_of_a_population(question: str) -> None:
    made = replace(noisy(), not_a_sample=("design weights", "calibration to totals"))
    found: Estimate = estimate(made, question)
    of_population = [
        value
        for term in (*found.terms, *found.contrasts)
        for name, value in asdict(term).items()
        if name.startswith("population")
    ]
    assert of_population
    assert set(of_population) == {None}
    text = " ".join(str(found).split())
    assert "population" not in found.short
    assert "Population: no interval. The release declares design weights and calibration to totals" in text
    plain = estimate(noisy(), question)
    assert [(term.estimate, term.low, term.high) for term in found.terms] == [
        (term.estimate, term.low, term.high) for term in plain.terms
    ]


@pytest.mark.slow
def test_estimates_csv_has_no_interval_of_a_population_either() -> None:
    made = noisy(measured=("ac",))
    with_population = [line for line in listed(made) if line.population_lower is not None]
    assert with_population
    lines = listed(replace(made, not_a_sample=("several rows of a person",)))
    assert {(line.population_lower, line.population_upper) for line in lines} == {(None, None)}


def test_a_question_whose_group_the_rules_leave_empty_is_refused() -> None:
    made = release(TABLE[TABLE[:, 0] > 0], ("ac",), rules=["a < 1"])
    with pytest.raises(InputError, match="the rules allow no row in this group"):
        estimate(made, "share c == 1: a == 1 against a == 0")


WIDE = ["a short group", "a group whose label is much longer than a terminal has room for beside three intervals", ""]


@pytest.mark.parametrize("unit", ["", "grams", "grams of weight per unit of gestation_week (completed weeks)"])
@pytest.mark.parametrize("label", WIDE)
@pytest.mark.parametrize("kind", ["share", "mean", "median", "slope"])
def test_the_text_fits_a_terminal_of_80_columns_and_keeps_every_number(kind: Kind, label: str, unit: str) -> None:
    """Whatever the length of labels and units: each interval stands in a line that begins as its group does."""
    ends = {"low": 0.125, "high": 0.25, "population_low": 0.0625, "population_high": 0.5}
    binned = {"binned_low": 0.1875, "binned_high": 0.21875} if kind == "mean" else {}
    bins = ("<1500", "1500-1999", ">4499") if kind == "median" else None
    rows = {"rows": 1_234_567, "rows_low": 1_234_000, "rows_high": 1_235_000} if kind == "share" else {}
    term = Term(
        name=kind,
        group=label,
        unit="" if kind == "share" else unit,
        estimate=0.2,
        standard_error=0.001,
        bins=bins,
        **ends,
        **binned,
        **rows,
    )
    found = Estimate(
        question=f"{kind} a question of many words " * 5, kind=kind, by="a", terms=(term, term), confidence=0.95, n_rows=9,
        about="all rows", binned="Bins." if binned else "", approximate=("No more than eighty columns. " * 9,),
    )  # fmt: skip
    assert [line for line in str(found).splitlines() if len(line) > 80] == []
    shown = " ".join(found.short.split())
    values = ("12.50% to 25.00%", "6.25% to 50.00%") if kind == "share" else ("0.1250 to 0.2500", "0.0625 to 0.5000")
    if kind == "median":
        values = ("0.125 to 0.25", "0.0625 to 0.5")
    begins = (label or kind).split()[0]
    for value in values:
        lines = [line for line in found.short.splitlines() if value[:5] in line]
        assert len(lines) == 2, (value, shown)
        assert all(line.strip().startswith(begins) or kind == "slope" for line in lines)
