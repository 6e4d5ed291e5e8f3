"""How strongly columns are associated, and the tables that a model should be told, against rows of frames."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.marginals import with_pairs
from synthrelease.data.plausibility import Plausibility
from synthrelease.generators.associations import mean_square_contingency
from synthrelease.generators.junction_tree import largest_clique
from synthrelease.generators.measured_noise import DiscreteLaplace, RoundedGaussian
from synthrelease.studio.rehearsal import dependence
from synthrelease.studio.rehearsal.dependence import (
    LEAST_MOVED,
    MODEL_CELLS,
    Pair,
    PairTables,
    Purse,
    distances,
    pairs_off,
    shares_of_pairs,
    strongest_pairs,
    telling_tables,
    tied_pairs,
    weight_of,
)

RANDOM = np.random.default_rng(2)
N = 4000


def table_of(columns: dict[str, np.ndarray], sizes: dict[str, int] | None = None) -> Counts:
    sizes = sizes or {name: int(values.max()) + 1 for name, values in columns.items()}
    layout = Layout(columns=tuple(columns), sizes=tuple(sizes[name] for name in columns))
    return Counts.of(layout, list(columns.values()))


def from_independence(left: np.ndarray, right: np.ndarray) -> float:
    """Rows that would have to change, pair of values by pair of values."""
    rows = 0.0
    for a in set(left.tolist()):
        for b in set(right.tolist()):
            rows += abs(int(((left == a) & (right == b)).sum()) - (left == a).sum() * (right == b).sum() / len(left)) / 2
    return rows


def pure(epsilon: float) -> Purse:
    return Purse(kind=DiscreteLaplace, cost=Fraction(epsilon).limit_denominator(10**6))


def gaussian(rho: float) -> Purse:
    return Purse(kind=RoundedGaussian, cost=Fraction(rho).limit_denominator(10**6))


def told_of(table: Counts, epsilon: float) -> tuple[tuple[int, ...], ...]:
    return telling_tables(table, Plausibility(layout=table.layout, masks=()), pure(epsilon)).tables


def made() -> dict[str, np.ndarray]:
    a, b = RANDOM.integers(0, 4, N), RANDOM.integers(0, 2, N)
    c = np.where(RANDOM.random(N) < 0.7, a % 3, RANDOM.integers(0, 3, N))
    d = np.where(RANDOM.random(N) < 0.9, b, 1 - b)
    return {"a": a, "b": b, "c": c, "d": d, "alone": RANDOM.integers(0, 3, N)}


def test_pairs_are_ordered_by_the_rows_that_would_have_to_change() -> None:
    columns = made()
    pairs = strongest_pairs(table_of(columns))
    expected = {(x, y): from_independence(columns[x], columns[y]) / N for x, y in combinations(columns, 2)}
    assert {pair.columns: pytest.approx(pair.distance) for pair in pairs} == expected
    assert [pair.distance for pair in pairs] == sorted(expected.values(), reverse=True)
    assert {pairs[0].columns, pairs[1].columns} == {("a", "c"), ("b", "d")}


def test_tables_of_all_pairs_are_those_counted_one_by_one() -> None:
    """Columns of several sizes, so that pairs with the same shape are not neighbours."""
    sizes = dict(zip("abcde", (2, 3, 2, 4, 3), strict=True))
    columns = {name: RANDOM.integers(0, size, 300) for name, size in sizes.items()}
    tables = PairTables.of(with_pairs(table_of(columns, sizes))).tables()
    assert len(tables) == 10
    for (first, second), table in zip(combinations("abcde", 2), tables, strict=True):
        cells = [
            [int(((columns[first] == i) & (columns[second] == j)).sum()) for j in range(sizes[second])]
            for i in range(sizes[first])
        ]
        assert table.tolist() == cells
    half = {name: values[::2] for name, values in columns.items()}
    apart = distances(shares_of_pairs(table_of(columns, sizes), "abcde"), shares_of_pairs(table_of(half, sizes), "abcde"))
    one, other = (shares_of_pairs(table_of(rows, sizes), ["b", "e"]).tables()[0] for rows in (columns, half))
    assert apart[list(combinations("abcde", 2)).index(("b", "e"))] == pytest.approx(np.abs(one - other).sum() / 2)


def test_columns_that_are_missing_together_do_not_hang_together_by_that() -> None:
    gone = RANDOM.random(N) < 0.5
    x, y = RANDOM.integers(0, 3, N), RANDOM.integers(0, 2, N)
    table = table_of({"x": np.where(gone, 3, x), "y": np.where(gone, 2, y)}, {"x": 4, "y": 3})
    assert strongest_pairs(table)[0].distance > 0.4
    (pair,) = strongest_pairs(table, missing=["x", "y"])
    assert pair.distance == pytest.approx(from_independence(x[~gone], y[~gone]) / N)
    assert pair.distance < 0.05


def test_a_model_is_told_what_hangs_together_and_every_column() -> None:
    columns = made()
    told = told_of(table_of(columns), epsilon=4.0)
    assert {(0, 2), (1, 3)} <= set(told)
    assert {column for table in told for column in table} == set(range(5))
    assert (4,) in told  # nothing is told of it but itself


def test_three_columns_that_only_together_say_something_are_found() -> None:
    """x and y give z up to chance, and each pair of them is weakly dependent only."""
    x, y = RANDOM.integers(0, 2, N), RANDOM.integers(0, 2, N)
    z = np.where(RANDOM.random(N) < 0.3, x, np.where(RANDOM.random(N) < 0.3, y, x ^ y))
    told = told_of(table_of({"x": x, "y": y, "z": z}), epsilon=4.0)
    assert (0, 1, 2) in told


def test_little_budget_or_independent_columns_are_told_column_by_column() -> None:
    assert told_of(table_of(made()), epsilon=0.0005) == ((0,), (1,), (2,), (3,), (4,))
    columns = {name: RANDOM.integers(0, 3, N) for name in "abcd"}
    assert told_of(table_of(columns), epsilon=4.0) == ((0,), (1,), (2,), (3,))


@pytest.mark.slow
def test_tables_that_come_first_are_measured_once_each_where_nothing_hangs_together() -> None:
    """All pairs with an important column, the others by themselves; and what is associated fills up."""
    independent = table_of({name: RANDOM.integers(0, 3, 2000) for name in "abcd"})
    first = [(0, 1), (1, 2), (1, 3)]
    rules = Plausibility(layout=independent.layout, masks=())
    assert sorted(telling_tables(independent, rules, pure(1.0), first=first).tables) == first
    tied = table_of(made())
    told = telling_tables(tied, Plausibility(layout=tied.layout, masks=()), pure(4.0), first=[(0, 2), (0, 4)]).tables
    assert {(0, 2), (0, 4), (1, 3)} <= {*told}
    assert len({*told}) == len(told)


def test_tables_stay_small_enough_for_a_model() -> None:
    base = RANDOM.integers(0, 60, 3 * N)
    columns = {f"c{i}": (base + RANDOM.integers(0, 3, 3 * N)) % 60 for i in range(6)}
    table = table_of(columns)
    told = told_of(table, epsilon=50.0)
    assert all(np.prod([table.layout.sizes[c] for c in columns]) <= MODEL_CELLS for columns in told)
    assert sum(len(columns) > 1 for columns in told) >= 3


def test_pairs_that_hang_together_by_a_few_odd_rows_alone_are_not_strong() -> None:
    """V is 1 for two rows of 20,000 that share what no other has; so few rows are nothing that a release could lose."""
    n = 20_000
    odd = np.zeros(n, dtype=np.int64)
    odd[:2] = 1
    half = RANDOM.integers(0, 2, n)
    told = np.where(RANDOM.random(n) < 0.3, half, RANDOM.integers(0, 2, n))
    pairs = strongest_pairs(table_of({"odd": odd, "same": odd, "half": half, "told": told}))
    by_name = {frozenset(pair.columns): pair for pair in pairs}
    rare, real = by_name[frozenset({"odd", "same"})], by_name[frozenset({"half", "told"})]
    assert rare.cramers_v > 0.9
    assert rare.distance < LEAST_MOVED
    assert tied_pairs(pairs) == [real]


def test_rows_in_a_wrong_cell_are_counted_table_by_table() -> None:
    columns = {name: RANDOM.integers(0, 3, 200) for name in "abc"}
    others = {name: RANDOM.integers(0, 3, 200) for name in "abc"}
    apart = []
    for first, second in combinations("abc", 2):
        cells = [(i, j) for i in range(3) for j in range(3)]
        mine, theirs = (
            [int(((table[first] == i) & (table[second] == j)).sum()) for i, j in cells] for table in (columns, others)
        )
        apart.append(sum(abs(a - b) for a, b in zip(mine, theirs, strict=True)) / 2 / 200)
    sizes = dict.fromkeys("abc", 3)
    mine, theirs = table_of(columns, sizes), table_of(others, sizes)
    pairs = strongest_pairs(mine)
    assert pairs_off(mine, theirs, pairs) == pytest.approx(np.mean(apart), abs=1e-12)
    (last,) = (pair for pair in pairs if set(pair.columns) == {"b", "c"})
    assert pairs_off(mine, theirs, [last]) == pytest.approx(apart[2], abs=1e-12)


@pytest.mark.slow
def test_the_strongest_pair_is_told_also_where_it_does_not_fit_beside_the_others() -> None:
    """A chain of wide columns fills the model; the pair that says most takes the place of others, or is told to be lost."""
    n, wide = 30_000, 60
    base = RANDOM.integers(0, wide, n)
    columns = {f"c{i}": (base + RANDOM.integers(0, 25 + i, n)) % wide for i in range(5)}
    columns["far"] = (columns["c0"] // 4 + RANDOM.integers(0, 2, n)) % 15
    table = table_of(columns)
    told = telling_tables(table, Plausibility(layout=table.layout, masks=()), pure(4.0))
    kept = {frozenset(pair) for columns in told.tables for pair in combinations([table.layout.columns[c] for c in columns], 2)}
    strongest = tied_pairs(strongest_pairs(table))[0]
    assert frozenset(strongest.columns) in kept
    assert all(frozenset(pair) not in kept for pair in told.lost)


def test_a_purse_is_shared_by_the_root_of_cells_and_squares_leave_less_noise() -> None:
    table = table_of(made())
    gaussian = Purse(kind=RoundedGaussian, cost=Fraction(1, 20))
    assert gaussian.noise(Fraction(1, 5)).scale == pytest.approx((5 * 20) ** 0.5)  # squared change 2 = 2 (rho / 5) variance
    assert pure(2).noise(Fraction(1, 5)).scale == 5.0
    sizes = (2, 20, 20, 31, 41)
    assert [float(weight_of(columns, sizes)) for columns in ((0, 2), (1, 2), (3, 4), (0,))] == [6.3, 20, 36, 2]
    tables = [(cells, weight_of(columns, sizes)) for cells, columns in ((4, (0,)), (40, (0, 1)), (400, (1, 2)))]
    for purse in (gaussian, pure(2)):
        whole = sum(weight for _, weight in tables)
        slow = sum(cells * purse.noise(weight / whole).mean_size for cells, weight in tables)  # table by table
        assert purse.rows_of_noise(purse.sharing(tables)) == pytest.approx(slow)
        assert slow < 0.95 * sum(cells * purse.noise(Fraction(1, 3)).mean_size for cells, _ in tables)
    told = telling_tables(table, Plausibility(layout=table.layout, masks=()), gaussian).tables
    assert {(0, 2), (1, 3)} <= set(told)
    assert {(column,) for column in range(5)} <= set(told)  # squares add up: a table of its own costs a column little
    assert (0,) not in told_of(table, 4.0)


def test_rare_marks_that_come_together_are_told_of_where_no_table_keeps_them() -> None:
    """By hand: 100 of 40,000 have both marks, 200 one of them; independent ones would have 1. Two odd rows say nothing."""
    n = 40_000
    one, other, odd = (np.zeros(n, dtype=np.int64) for _ in range(3))
    one[:200], other[100:300], odd[:2] = 1, 1, 1
    columns = {"one": one, "other": other, "odd": odd, "same": odd, "half": RANDOM.integers(0, 2, n)}
    table = table_of(columns)
    told = telling_tables(table, Plausibility(layout=table.layout, masks=()), gaussian(0.0001))
    assert [pair.columns for pair in told.faint] == [("one", "other")]
    assert told.faint[0].cramers_v == pytest.approx(0.5, abs=0.01)
    assert not told.lost


@pytest.mark.slow
def test_a_model_of_many_columns_has_smaller_cliques(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 8 columns that one number ties, were 8 many."""
    random = np.random.default_rng(2)
    hidden = random.normal(size=20_000)
    columns = [np.digitize(hidden + random.normal(size=20_000), [-1.5, -0.5, 0.5, 1.5]) for _ in range(8)]
    counts = Counts.of(Layout(columns=tuple("abcdefgh"), sizes=(5,) * 8), columns)
    rules = Plausibility(layout=counts.layout, masks=())
    largest = []
    for many, most in ((8, 5**6), (7, 5**3)):
        monkeypatch.setattr(dependence, "MANY_COLUMNS", many)
        monkeypatch.setattr(dependence, "MODEL_CELLS", 5**6)
        monkeypatch.setattr(dependence, "MODEL_CELLS_OF_MANY", 5**3)
        told = telling_tables(counts, rules, Purse(kind=RoundedGaussian, cost=Fraction(1)))
        largest.append(largest_clique(counts.layout.sizes, told.tables, 5**8))
        assert largest[-1] <= most
    assert largest[1] < largest[0]


def test_rare_bins_do_not_add_to_an_association_by_chance() -> None:
    """Shuffled columns are independent. Over all shuffles, the mean of chi-squared is what Cramer's V subtracts, however rare
    the bins are. Bins of ten rows, the rarest of a draft, make few pairs strong."""
    random = np.random.default_rng(3)
    for rows_of_first, rows_of_second in (
        ([300, 120, 60, 11, 5, 2, 1, 1], [400, 80, 15, 3, 1, 1]),
        ([380, 110, 10], [400, 90, 10]),
    ):
        first, second = (np.repeat(np.arange(len(rows)), rows) for rows in (rows_of_first, rows_of_second))
        figures, tables, n_rows = list[float](), list[np.ndarray](), len(first)
        for _ in range(1_000):
            table = np.zeros((len(rows_of_first), len(rows_of_second)))
            np.add.at(table, (first, random.permutation(second)), 1)
            expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n_rows
            subtracted = math.prod(size - 1 for size in table.shape) / (n_rows - 1)
            figures.append(float(((table - expected) ** 2 / expected).sum() / n_rows - subtracted))
            assert mean_square_contingency(table) == pytest.approx(max(0.0, figures[-1]), abs=1e-12)
            tables.append(table)
        pairs = Pair.of([("a", "b")] * len(tables), np.array(tables), n_rows)
        assert abs(np.mean(figures)) < 4 * np.std(figures) / math.sqrt(len(figures))
        assert min(rows_of_first + rows_of_second) < 10 or sum(pair.strong for pair in pairs) <= 0.05 * len(pairs)


def test_of_many_columns_only_the_triples_with_the_most_associated_pairs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(made())
    search = dependence._Search(table, Plausibility(layout=table.layout, masks=()), pure(4.0), (), lambda doing: None)
    for pair in ((0, 1), (0, 2), (1, 3), (3, 4)):
        search._put(pair)
    every = search.triples()
    assert len(every) > 2
    monkeypatch.setattr(dependence, "_MOST_TRIPLES", 2)
    assert search.triples() == every  # few columns
    monkeypatch.setattr(dependence, "_FEW_COLUMNS", 4)
    assert search.triples() == [(0, 1, 2), (0, 1, 3)]  # with the pairs of `a` and `c`, and of `b` and `d`
