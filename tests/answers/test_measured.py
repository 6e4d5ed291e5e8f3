"""Bounds from published noisy tables, against the law of their noise, all tables that they allow, and many draws of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from synthrelease.answers.bounds import bound
from synthrelease.answers.facts import Knowledge
from synthrelease.answers.limits import limits, sum_limit
from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import DiscreteLaplace
from synthrelease.generators.measurements import noise_limit
from synthrelease.published import PublishedRelease
from synthrelease.published.charges import BoundsPart
from synthrelease.published.document import read_strictly
from synthrelease.published.folder import Measurements, measurements_of
from synthrelease.published.measurements import MeasurementsPart, PublishedMeasurement
from tests.answers.test_bounds import CELLS, QUERIES, SYNTHETIC, A, B, N, Table, ask, figures, true_answer
from tests.helpers.cards import rich_bundle
from tests.helpers.published import category_column, published

ORIGINAL: Table = ((0, 0), (0, 1), (0, 1), (1, 0), (1, 2), (1, 2), (1, 2))
EPSILON = Fraction(3, 2)


@cache
def tails(scale: float, count: int) -> np.ndarray:
    """Pr[|sum of `count` discrete Laplace noises| > t] for t = 0, 1, ..., by convolving their laws."""
    a, reach = math.exp(-1 / scale), int(60 * scale) + 10
    one = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))
    law = np.ones(1)
    for _ in range(count):
        law = np.convolve(law, one)
    middle = len(law) // 2
    both = law[middle:] + np.where(np.arange(middle + 1) > 0, law[middle::-1], 0.0)
    return np.asarray(1 - np.cumsum(both))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 17.5])
@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("risk", [0.2, 0.01, 1e-4])
def test_the_limit_of_a_sum_holds_and_is_not_much_too_wide(scale: float, count: int, risk: float) -> None:
    t = sum_limit(DiscreteLaplace(scale), count, risk)
    tail = tails(scale, count)
    assert tail[t] <= risk + 1e-9
    if count == 1:
        assert t == 0 or tail[t - 1] > risk  # exact
    else:
        exact = int(np.argmax(tail <= risk))
        assert t <= (2.3 if risk > 0.1 else 1.7) * exact + 2


def measured(rows: Table, columns: str, noise: np.random.Generator | None, epsilon: Fraction = EPSILON) -> PublishedMeasurement:
    """The table of "a", "b" or "ab" of these rows, with its noise."""
    sizes, places = {"a": 2, "b": 3}, ["ab".index(name) for name in columns]
    counts = np.zeros([sizes[name] for name in columns], dtype=np.int64)
    for row in rows:
        counts[tuple(row[place] for place in places)] += 1
    if noise is not None:
        stop = 1 - math.exp(-float(epsilon) / 2)
        counts += noise.geometric(stop, counts.shape) - noise.geometric(stop, counts.shape)
    return PublishedMeasurement(columns=tuple(columns), values=counts, cells=np.ones_like(counts), cost=epsilon)


def release(*tables: PublishedMeasurement, times: float = 1.0, **criteria: float) -> PublishedRelease:
    made = published([A, B], np.array(SYNTHETIC), figures(**criteria))
    return replace(made, measurements=Measurements(tables=tables, times=times))


@cache
def all_tables() -> list[Table]:
    return list(combinations_with_replacement(CELLS, N))


def allows(table: PublishedMeasurement, rows: Table, each: float) -> bool:
    """Whether these rows agree with a noisy table in every sum that is used: the slow reference, sum by sum."""
    scale = float(2 / table.cost)
    axes = [[(name, value) for value in range({"a": 2, "b": 3}[name])] for name in table.columns]
    sums: list[tuple[list[tuple[int, ...]], int]] = []  # the measured cells of each sum, and how many they are
    cells = [tuple(value for _, value in cell) for cell in product(*axes)]
    for chosen in product(*([None, *[value for _, value in axis]] for axis in axes)):
        if any(value is not None for value in chosen):
            sums.append(([c for c in cells if all(v is None or v == w for v, w in zip(chosen, c, strict=True))], 0))
    for place, axis in enumerate(axes):
        sums += [([c for c in cells if c[place] <= last], 0) for last in range(len(axis) - 1)]
    columns = ["ab".index(name) for name in table.columns]
    for inside, _ in sums:
        noisy = sum(int(table.values[cell]) for cell in inside)
        true = sum(tuple(row[column] for column in columns) in inside for row in rows)
        if abs(true - noisy) > sum_limit(DiscreteLaplace(scale), len(inside), each):
            return False
    return all(abs(off) <= limit for off, limit in number_sums(table, rows, scale, each))


def number_sums(table: PublishedMeasurement, rows: Table, scale: float, each: float) -> Iterator[tuple[int, int]]:
    """How far each sum of numbers is off, and its limit; numbers in 4096 steps of their range, around its middle."""
    steps = {"a": [-2048, 2048], "b": [-2048, 0, 2048]}
    for name in table.columns if table.columns == ("a", "b") else ():
        by = "b" if name == "a" else "a"
        bins = range(len(steps[by]))
        for inside in [*([one] for one in bins), *(list(range(length)) for length in bins if length > 1), list(bins)]:
            cells = [(mine, other) for mine in range(len(steps[name])) for other in inside]
            found = [(steps[name][mine], (mine, other) if name == "a" else (other, mine)) for mine, other in cells]
            noisy = sum(step * int(table.values[cell]) for step, cell in found)
            true = sum(step for row in rows for step, cell in found if row == cell)
            moved = sum(step != 0 for step, _ in found)
            yield true - noisy, noise_limit(((DiscreteLaplace(scale), 2048, moved),), each)


@cache
def fitting(tables: tuple[str, ...], seed: int, each: float) -> list[Table]:
    """All rows that agree with these noisy tables of a seed."""
    random = np.random.default_rng(seed)
    noisy = [measured(ORIGINAL, name, random, Fraction(4)) for name in tables]
    return [rows for rows in all_tables() if all(allows(table, rows, each) for table in noisy)]


WORLDS = [("ab",), ("a", "b"), ("ab", "b"), ("b",)]


@pytest.mark.slow
@pytest.mark.parametrize("tables", WORLDS, ids=str)
@pytest.mark.parametrize("criteria", [{}, {"absolute": 0.45}, {"mean": 0.4, "absolute_1_way": 0.3}], ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_table_that_the_measurements_allow_is_outside_the_bound(
    tables: tuple[str, ...], criteria: dict[str, float], seed: int
) -> None:
    from tests.answers.test_bounds import allowed

    random = np.random.default_rng(seed)
    made = release(*(measured(ORIGINAL, name, random, Fraction(4)) for name in tables), **criteria)
    known = Knowledge(made, 0.95).measured
    assert known is not None
    within = set(allowed(**criteria))
    fit = [rows for rows in fitting(tables, seed, known.each) if rows in within]
    narrower = 0
    for query in QUERIES:
        found = ask(made, query)
        answers = [answer for answer in (true_answer(rows, query) for rows in fit) if not math.isnan(answer)]
        if answers:
            assert found.low <= min(answers) + 1e-9, query
            assert found.high >= max(answers) - 1e-9, query
        if set(query) == {"query"}:
            narrower += found.high - found.low < N
    assert narrower


def test_counts_are_bounded_no_wider_than_a_measured_cell_says() -> None:
    table = measured(ORIGINAL, "ab", None, Fraction(8))
    made = release(table)
    known = Knowledge(made, 0.95).measured
    assert known is not None
    t = sum_limit(DiscreteLaplace(0.25), 1, known.each)
    found = ask(made, {"query": "a == 1 and b == 2"})
    assert (found.low, found.high) == (max(0, 3 - t), min(N, 3 + t))


@pytest.mark.slow
def test_all_bounds_hold_together_as_often_as_stated_and_single_limits_do_not() -> None:
    """Draws of the noise at confidence 0.8: the bounds of all queries hold in at least 80 of 100; naive limits do not."""
    random, covered, naive, draws = np.random.default_rng(5), 0, 0, 120
    confidence, truths = 0.8, [true_answer(ORIGINAL, query) for query in QUERIES]
    single = sum_limit(DiscreteLaplace(float(2 / EPSILON)), 1, 1 - confidence)
    for _ in range(draws):
        table = measured(ORIGINAL, "ab", random)
        made = release(table)
        found = [bound(made, confidence=confidence, **query) for query in QUERIES]  # type: ignore[arg-type]
        covered += all(one.low - 1e-9 <= truth <= one.high + 1e-9 for one, truth in zip(found, truths, strict=True))
        exact = measured(ORIGINAL, "ab", None).values
        naive += bool((np.abs(table.values - exact) <= single).all())
    assert covered / draws >= confidence
    assert naive / draws < 0.6


def test_what_was_measured_in_every_round_has_the_risk_of_all_rounds() -> None:
    table = measured(ORIGINAL, "ab", None)
    shared, fresh = (Knowledge(release(table, times=times), 0.95).measured for times in (1.0, 1000.0))
    assert shared is not None
    assert fresh is not None
    assert fresh.each == pytest.approx(shared.each / 1000)
    told = Knowledge(release(table, times=1000.0), 0.95, acceptance=0.5).measured
    assert told is not None
    assert told.each == pytest.approx(shared.each / 2)
    assert Knowledge(release(table, times=math.inf, absolute=0.3), 0.95).measured is None
    with pytest.raises(InputError, match="this release has no criterion that limits errors"):
        Knowledge(release(table, times=math.inf), 0.95)


def test_the_risks_of_figures_and_measurements_add_up() -> None:
    made = release(measured(ORIGINAL, "ab", None), absolute=0.3, ratio=2.0)
    known = Knowledge(made, 0.9).measured
    assert known is not None
    assert known.risk + sum(limit.risk for limit in limits(made, 0.9)) == pytest.approx(0.1)
    # 6 cells of a x b, 2 + 3 of the columns, 1 + 2 runs of first bins;
    # sums of a in 3 bins and 2 runs of b, of b in 2 and 1 of a
    assert known.n_sums == 14 + 8
    assert known.each * known.n_sums == pytest.approx(known.risk)


def test_a_column_without_order_has_no_runs() -> None:
    kind = category_column("a", {"x": ["x"], "y": ["y"]})
    made = replace(release(measured(ORIGINAL, "ab", None)), schema=(kind, B))
    known = Knowledge(made, 0.9).measured
    assert known is not None
    assert known.n_sums == 13 + 2
    assert known.first_bins("a") is None
    assert known.first_bins("b") is not None


def test_the_text_says_what_the_statement_is_with_measurements() -> None:
    text = str(ask(release(measured(ORIGINAL, "ab", None), absolute=0.3), {"query": "a == 0"}))
    assert "1 published noisy table: the error of each cell is at most" in text
    assert (
        "With probability at most 0.05, over all noise of the run, the run releases a table and one of these limits is wrong"
        in text
    )


@pytest.mark.parametrize(
    ("shared", "configurations", "answered", "bins"),
    [(False, 8, None, 1), (True, 8, None, 6), (True, 4, None, 4), (True, 1, None, 1), (True, 8, 2, 2)],
)
def test_shared_measurements_could_be_released_on_the_bins_of_any_transformation(
    shared: bool, configurations: int, answered: int | None, bins: int
) -> None:
    """Columns with 2 and 3 alternatives; release.json has their exact number where measurements answer criteria."""
    document = read_strictly(rich_bundle()["release.json"])
    stated = None if answered is None else BoundsPart(risk_exact="1/100", transformations=answered)
    selection = document.selection.model_copy(
        update={"shared_measurements": shared, "configurations": configurations, "bounds": stated}
    )
    listed = (["one", "two"], ["one", "two", "three"])
    columns = [
        column.model_copy(update={"alternatives": names}) for column, names in zip(document.columns, listed, strict=True)
    ]
    changed = document.model_copy(update={"selection": selection, "columns": columns})
    empty = MeasurementsPart(format=1, n_rows=document.n_rows, tables=[]).dumped()
    assert measurements_of(empty, changed, [column.published() for column in columns]).bins == bins
