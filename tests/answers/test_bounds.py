"""Bounds of queries against every original table that the figures allow, and against a second way of computing them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Literal

import numpy as np
import pytest
from scipy.optimize import linprog

from synthrelease.answers import facts as building
from synthrelease.answers import facts as program
from synthrelease.answers.bounds import Bound, bound
from synthrelease.answers.facts import Knowledge, build_facts, maximum
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from tests.helpers.published import category_column, integer_column, never, published, score

A, B = integer_column("a", [0, 1, 2]), integer_column("b", [0, 1, 2, 3], unit="grams")
WIDE = integer_column("b", [0, 1, 2, 5], unit="grams")
"""The same bins, but the last one holds 3 strictly inside: with `exact_around` it is not similar to the one below."""
CELLS = list(product(range(2), range(3)))
SYNTHETIC = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2), (1, 2), (1, 2)]
N = len(SYNTHETIC)

Table = tuple[tuple[int, int], ...]


def share(table: Table, *where: tuple[int, int]) -> float:
    """Share of rows with these values (place, value)."""
    return sum(all(row[place] == value for place, value in where) for row in table) / len(table)


def absolute_error(table: Table, other: Table, largest: int) -> float:
    one = [[(0, a)] for a in range(2)] + [[(1, b)] for b in range(3)]
    two = [[(0, a), (1, b)] for a, b in CELLS]
    return max(abs(share(table, *where) - share(other, *where)) for where in one + (two if largest == 2 else []))


def ratio(table: Table, other: Table) -> float:
    counts = [
        [round(share(t, where) * len(t)) + 1 for where in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]] for t in (table, other)
    ]
    return max(max(r / s, s / r) for r, s in zip(*counts, strict=True))


def mean_error(table: Table, other: Table, margin: float, *, overall: bool = True) -> float:
    """Of b in the groups of a and overall; groups that are too small are filled up with 1, the middle."""
    worst = 0.0
    for group in ({0}, {1}, {0, 1}) if overall else ({0}, {1}):
        numbers, others = ([b for a, b in t if a in group] for t in (table, other))
        size = max(1, len(others) - math.ceil(margin * len(table)))
        numbers += [1] * (size - len(numbers))
        worst = max(worst, abs(sum(numbers) / len(numbers) - sum(others) / len(others)))
    return worst


def unmatched(table: Table, other: Table) -> float:
    """Rows that agree on a and are at most one apart on b (0 and 1 count as one apart, 1 and 2 do not), by networkx."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(("r", i) for i in range(len(table)))
    for (i, row), (j, mate) in product(enumerate(table), enumerate(other)):
        if row[0] == mate[0] and (row[1] == mate[1] or {row[1], mate[1]} == {0, 1}):
            graph.add_edge(("r", i), ("s", j))
    pairs = nx.bipartite.maximum_matching(graph, top_nodes=[("r", i) for i in range(len(table))])
    return 1 - len(pairs) / 2 / len(table)


def quantile_excess(table: Table, within: int, quantiles: tuple[float, ...], groups: list[set[int]]) -> float:
    """Rows too many below or above the window around the released quantile, as a share of all rows; row by row."""
    worst = -1.0
    for group, q in product(groups, quantiles):
        released = sorted(b for a, b in SYNTHETIC if a in group)
        middle = next(b for b in range(3) if sum(one <= b for one in released) >= q * len(released))
        rows = [b for a, b in table if a in group]
        below, above = sum(b < middle - within for b in rows), sum(b > middle + within for b in rows)
        worst = max(worst, below - q * len(rows), above - (1 - q) * len(rows))
    return worst / len(table)


def share_error(table: Table, groups: list[list[int]], by: int, meets: Callable[[tuple[int, int]], bool]) -> float:
    """The largest error of the share of a condition, times the size of the group over its size in the release."""
    worst = 0.0
    for group in groups:
        rows, released = ([row for row in one if row[by] in group] for one in (table, SYNTHETIC))
        right = sum(map(meets, released)) / len(released)
        worst = max(worst, abs(sum(map(meets, rows)) - right * len(rows)) / len(released))
    return worst


def figures(**limits: float) -> list:
    """Criteria with practically no noise, so that their limits are these."""
    made = {
        "absolute": ("absolute_marginal_error", {}),
        "absolute_1_way": ("absolute_marginal_error", {"largest": 1}),
        "ratio": ("relative_marginal_error", {"clip": 1000}),
        "mean": ("conditional_mean", {"column": "b", "by": ["a"], "overall": True, "range": [0, 2], "size_margin": 0.2}),
        "mean_full_size": ("conditional_mean", {"column": "b", "by": ["a"], "range": [0, 2], "size_margin": 0.0}),
        "mean_by_a": ("conditional_mean", {"column": "b", "by": ["a"], "overall": False, "range": [0, 2], "size_margin": 0.2}),
        "unmatched": ("faithfulness", {"exact": ["a"], "within_one_bin": ["b"], "exact_around": {"b": 3}}),  # see `WIDE`
        "median": ("conditional_median", {"column": "b", "by": ["a"], "overall": True, "within": 0, "quantiles": [0.25, 0.5]}),
        "median_near": ("conditional_median", {"column": "b", "overall": True, "within": 1, "quantiles": [0.5]}),
        "share": ("difference_in_proportions", {"column": "b", "bins": ["2"], "by": ["a"], "overall": True}),
        "share_of_a": ("difference_in_proportions", {"column": "a", "bins": ["1"], "by": ["b"], "overall": False}),
        "absolute_of_a_and_b": ("absolute_marginal_error", {"tables": ["b:a"]}),
        "unmatched_by_a": ("faithfulness", {"exact": ["a"], "ignored": ["b"]}),
        "unmatched_by_b": ("faithfulness", {"within_one_bin": ["b"], "ignored": ["a"], "exact_around": {"b": 3}}),
    }
    return [(score(name, made[name][0], value, threshold=900), made[name][1]) for name, value in limits.items()]


def allowed(**limits: float) -> list[Table]:
    """Every original table that is within these limits: the slow reference."""
    checks: dict[str, Callable[[Table], float]] = {
        "absolute": lambda t: absolute_error(t, tuple(SYNTHETIC), 2),
        "absolute_1_way": lambda t: absolute_error(t, tuple(SYNTHETIC), 1),
        "ratio": lambda t: ratio(t, tuple(SYNTHETIC)),
        "mean": lambda t: mean_error(t, tuple(SYNTHETIC), 0.2),
        "mean_full_size": lambda t: mean_error(t, tuple(SYNTHETIC), 0.0),
        "mean_by_a": lambda t: mean_error(t, tuple(SYNTHETIC), 0.2, overall=False),
        "unmatched": lambda t: unmatched(t, tuple(SYNTHETIC)),
        "median": lambda t: quantile_excess(t, 0, (0.25, 0.5), [{0}, {1}, {0, 1}]),
        "median_near": lambda t: quantile_excess(t, 1, (0.5,), [{0, 1}]),
        "share": lambda t: share_error(t, [[0], [1], [0, 1]], 0, lambda row: row[1] == 2),
        "share_of_a": lambda t: share_error(t, [[0], [1], [2]], 1, lambda row: row[0] == 1),
        "absolute_of_a_and_b": lambda t: max(abs(t.count(cell) - SYNTHETIC.count(cell)) / N for cell in CELLS),
        "unmatched_by_a": lambda t: abs(sum(a for a, _ in t) - sum(a for a, _ in SYNTHETIC)) / N,  # a is 0 or 1
        "unmatched_by_b": lambda t: unmatched(tuple((0, b) for _, b in t), tuple((0, b) for _, b in SYNTHETIC)),
    }
    tables = list(combinations_with_replacement(CELLS, N))
    return [table for table in tables if all(checks[name](table) <= limit + 1e-9 for name, limit in limits.items())]


WORLDS = [
    {"absolute": 0.3},
    {"absolute": 0.15, "ratio": 1.6},
    {"absolute_1_way": 0.15},
    {"absolute": 0.45, "mean": 0.3},
    {"absolute": 0.6, "mean": 0.15},
    {"unmatched": 0.15},
    {"absolute": 0.3, "unmatched": 0.29, "ratio": 2.0},
    {"ratio": 1.4, "mean": 0.2},
    {"mean_full_size": 0.2},  # allows a table whose mean in a == 1 is off by 0.25: that group is filled up with a 1
    {"mean_by_a": 0.35},
    {"absolute_of_a_and_b": 0.15},
    {"unmatched_by_a": 0.15},
    {"unmatched_by_b": 0.15, "absolute": 0.3},
    {"median": 0.05},
    {"median": 0.15, "absolute": 0.3},
    {"median_near": 0.0, "absolute_1_way": 0.6},
    {"share": 0.2},
    {"share": 0.3, "absolute": 0.45},
    {"share_of_a": 0.25, "mean": 0.4},
]
MEETS: dict[str, Callable[[int, int], bool]] = {
    "": lambda a, b: True,
    "a == 0": lambda a, b: a == 0,
    "a == 1": lambda a, b: a == 1,
    "b == 0": lambda a, b: b == 0,
    "b == 2": lambda a, b: b == 2,
    "b >= 1": lambda a, b: b >= 1,
    "b <= 1": lambda a, b: b <= 1,
    "a == 0 and b < 2": lambda a, b: a == 0 and b < 2,
    "a == 1 or b == 2": lambda a, b: a == 1 or b == 2,
    "not (a == 1 and b == 2)": lambda a, b: (a, b) != (1, 2),
    "a == 0 and b == 0": lambda a, b: (a, b) == (0, 0),
    "a == 1 and b == 2": lambda a, b: (a, b) == (1, 2),
    "b == 0 and (a == 0 or a == 1)": lambda a, b: b == 0,
}
QUERIES: list[dict[str, str]] = [
    {"query": "a == 0"},
    {"query": "b >= 1"},
    {"query": "a == 0 and b < 2"},
    {"query": "a == 1 or b == 2"},
    {"query": "not (a == 1 and b == 2)"},
    {"query": "a == 0 and b == 0", "minus": "a == 1 and b == 2"},
    {"query": "b == 0 and (a == 0 or a == 1)", "minus": "b == 2"},  # tells all b apart and no a
    {"query": "b == 2", "given": "a == 1"},
    {"query": "b <= 1", "given": "a == 0"},
    {"query": "b == 2", "given": "a == 1", "minus": "b == 0"},
    {"mean": "b"},
    {"mean": "b", "query": "a == 1"},
    {"mean": "b", "query": "a == 1", "minus": "a == 0"},
    {"mean": "b", "query": "b >= 1"},
]


def release_with(**limits: float) -> PublishedRelease:
    return published([A, WIDE if "unmatched" in limits else B], np.array(SYNTHETIC), figures(**limits))


def true_answer(table: Table, asked: dict[str, str]) -> float:
    """The query on rows, written out."""

    def one(condition: str) -> float:
        meets, group = MEETS[condition], [row for row in table if MEETS[asked.get("given", "")](*row)]
        if "mean" in asked:
            numbers = [row[1] for row in table if meets(*row)]
            return sum(numbers) / len(numbers) if numbers else math.nan
        if "given" in asked:
            return sum(meets(*row) for row in group) / len(group) if group else math.nan
        return sum(meets(*row) for row in table)

    query = asked.get("query", "")
    return one(query) - (one(asked["minus"]) if "minus" in asked else 0)


def ask(release: PublishedRelease, asked: dict[str, str]) -> Bound:
    if release.schema[1] is WIDE:
        asked = {key: text.replace("b == 2", "b >= 2") for key, text in asked.items()}
    return bound(release, **asked)  # type: ignore[arg-type]


@cache
def asked_once(limits: tuple[tuple[str, float], ...], query: tuple[tuple[str, str], ...]) -> Bound:
    """The bound of a query in a world, which several tests look at."""
    return ask(release_with(**dict(limits)), dict(query))


def cases() -> Iterator[object]:
    for world, limits in enumerate(WORLDS):
        for query in QUERIES:
            yield pytest.param(limits, query, id=f"{world}-{'-'.join(query.values()).replace(' ', '')}")


@pytest.fixture(scope="module")
def tables() -> Callable[[dict[str, float]], list[Table]]:
    """Found once for each limits."""
    found = cache(lambda limits: allowed(**dict(limits)))
    return lambda limits: found(tuple(limits.items()))


@pytest.mark.slow
@pytest.mark.parametrize(("limits", "query"), list(cases()))
def test_no_table_that_the_figures_allow_is_outside_the_bound(tables, limits: dict[str, float], query: dict[str, str]) -> None:
    found = asked_once(tuple(limits.items()), tuple(query.items()))
    answers = [answer for answer in (true_answer(table, query) for table in tables(limits)) if not math.isnan(answer)]
    assert tuple(SYNTHETIC) in tables(limits)
    assert found.answer == pytest.approx(true_answer(tuple(SYNTHETIC), query))
    assert found.low <= min(answers) + 1e-9
    assert found.high >= max(answers) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("query", [query for query in QUERIES if set(query) == {"query"}], ids=str)
def test_counts_are_bounded_no_wider_than_they_can_be(tables, query: dict[str, str]) -> None:
    for limits in ({"absolute": 0.3}, {"absolute": 0.15, "ratio": 1.6}):
        found = ask(release_with(**limits), query)
        answers = [true_answer(table, query) for table in tables(limits)]
        assert (found.low, found.high) == (min(answers), max(answers))


def test_the_bound_of_a_group_that_a_criterion_names_is_the_limit_of_that_criterion() -> None:
    # the group a == 1 has 4 rows in S and, within the errors of cells, at least as many as the criterion's public size
    found = ask(release_with(absolute=0.15, mean=0.3), {"mean": "b", "query": "a == 1"})
    assert (found.low, found.high) == (pytest.approx(found.answer - 0.3, abs=1e-6), pytest.approx(2.0, abs=0.06))


def charnes_cooper(release: PublishedRelease, asked: dict[str, str], sign: float) -> float:
    """Largest (sign 1) or smallest ratio by one linear program in y = t R, t = 1 / (size . R)."""
    knowledge = Knowledge(release, 0.95)
    group = np.array([MEETS[asked.get("given", asked.get("query", ""))](*cell) for cell in CELLS])
    facts = build_facts(knowledge, ["a", "b"], [group], keep="b")
    number = np.array([b if "mean" in asked else MEETS[asked["query"]](a, b) for a, b in CELLS], dtype=float)
    size = group.astype(float)
    n_cells = len(CELLS)
    inequalities = [np.append(row, -limit) for row, limit in zip(facts.rows.toarray(), facts.row_limits, strict=True)]
    inequalities += [np.append(np.eye(n_cells)[c], -facts.high[c]) for c in range(n_cells)]
    inequalities += [np.append(-np.eye(n_cells)[c], facts.low[c]) for c in range(n_cells)]
    equalities = [np.append(size, 0), np.append(np.ones(n_cells), -N)]
    objective = np.append(-sign * number * size, 0)
    solved = linprog(objective, inequalities, np.zeros(len(inequalities)), equalities, [1, 0])
    return float(-sign * solved.fun)


@pytest.mark.slow
@pytest.mark.parametrize("limits", WORLDS[:4], ids=str)
@pytest.mark.parametrize("query", QUERIES[7:9] + QUERIES[10:12], ids=str)
def test_ratios_are_those_of_one_linear_program(limits: dict[str, float], query: dict[str, str]) -> None:
    found = ask(release_with(**limits), query)
    if found.note == "the group may have no row in the file":
        pytest.skip("no bound")
    highest, lowest = (charnes_cooper(release_with(**limits), query, sign) for sign in (1.0, -1.0))
    assert (found.low, found.high) == (pytest.approx(lowest, abs=1e-5), pytest.approx(highest, abs=1e-5))


def test_a_bound_is_valid_whatever_the_solver_says(tables, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    facts = build_facts(Knowledge(release_with(**WORLDS[6]), 0.95), ["a", "b"], [])
    rows = [np.array([table.count(cell) for cell in CELLS], dtype=float) for table in tables(WORLDS[6])]
    for _ in range(30):
        answer = random.exponential(size=len(facts.row_limits)) * (random.random(len(facts.row_limits)) < 0.2), random.normal()
        monkeypatch.setattr(program, "_solve", lambda *_, answer=answer: (*answer, facts.synthetic))
        figure = random.normal(size=len(CELLS))
        found = maximum(facts, figure)
        assert found.value >= max(float(figure @ table) for table in rows) - 1e-9


def test_facts_that_no_table_meets_still_give_an_answer() -> None:
    """Limits can be wrong, with a small probability; the program must not fail then."""
    release = published([A, B], np.array(SYNTHETIC), figures(absolute=0.0), rules=[never("a == 1", "raw", "synthetic")])
    found = bound(release, "a == 1")
    assert math.isfinite(found.high)


@pytest.mark.slow
@pytest.mark.parametrize("limits", WORLDS, ids=str)
def test_merged_bins_give_bounds_that_are_no_narrower(limits: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_with(**limits)
    fine = [asked_once(tuple(limits.items()), tuple(query.items())) for query in QUERIES]
    monkeypatch.setattr(building, "MAX_CELLS", 1)
    merged = [ask(release, query) for query in QUERIES]
    same = 0
    for one, other in zip(fine, merged, strict=True):
        assert other.answer == pytest.approx(one.answer)
        assert other.low <= one.low + 1e-6
        assert other.high >= one.high - 1e-6
        same += (other.low, other.high) == (pytest.approx(one.low, abs=1e-5), pytest.approx(one.high, abs=1e-5))
    assert same >= 4  # and many are as narrow


def test_rules_for_original_rows_empty_cells_and_those_for_synthetic_rows_do_not() -> None:
    cases: list[tuple[tuple[Literal["raw", "synthetic"], ...], int]] = [
        (("raw",), 0),
        (("raw", "synthetic"), 0),
        (("synthetic",), 2),
    ]
    for kinds, highest in cases:
        release = published([A, B], np.array(SYNTHETIC), figures(absolute=0.3), rules=[never("a == 0 and b > 1", *kinds)])
        assert bound(release, "a == 0 and b == 2").high == highest


def test_rules_count_inside_merged_bins_too(monkeypatch: pytest.MonkeyPatch) -> None:
    release = published([A, B], np.array(SYNTHETIC), figures(absolute=0.3), rules=[never("a == 0 and b == 0")])
    fine = bound(release, "a == 0 and b <= 1")
    monkeypatch.setattr(building, "MAX_CELLS", 1)
    merged = bound(release, "a == 0 and b <= 1")
    assert (merged.low, merged.high) == (fine.low, fine.high) == (0, 3)  # one row, and at most two more


@pytest.mark.parametrize("rule", ["b >= 1", "b < 1", "not b >= 1", "not b < 1", "b == 1", "b != 1"])
def test_a_rule_that_cuts_a_bin_does_not_empty_it(rule: str) -> None:
    wide = integer_column("b", [0, 2, 3])
    rows = np.array([(0, 0), (0, 0), (1, 1), (1, 1)])
    release = published([A, wide], rows, figures(absolute=0.5), rules=[never(f"a == 0 and {rule}")])
    assert bound(release, "a == 0 and b < 2").high == 4
    met_by_2 = rule in ("b >= 1", "not b < 1", "b != 1")
    assert bound(release, "a == 0 and b >= 2").high == (0 if met_by_2 else 2)


def test_a_group_that_may_be_empty_has_no_bound_and_says_so() -> None:
    found = ask(release_with(absolute=0.6), {"mean": "b", "query": "a == 0"})
    assert (found.low, found.high) == (0, 2)
    assert found.note == "the group may have no row in the file"
    assert "There is no bound, because the group may have no row in the file." in str(found)


def test_categories_of_a_rule_are_those_inside_a_released_bin() -> None:
    kind = category_column("k", {"x": ["x", "y"], "z": ["z"]})
    rows = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    # the last rule is true for all of the bin, but for none of its comparisons alone: only what is sure is excluded
    for rule, highest in (("k == 'x'", 4), ("k != 'z'", 0), ("not k == 'z'", 0), ("k in ['x', 'y']", 4)):
        release = published([A, kind], rows, figures(absolute=0.9), rules=[never(rule)])
        assert bound(release, "k == 'x'").high == highest, rule


def test_a_cut_bin_is_refused_with_the_bins() -> None:
    release = published([integer_column("age", [0, 18, 30, 45])], np.zeros((9, 1)), figures(absolute_1_way=0.1))
    with pytest.raises(InputError, match=r"'age >= 20' divides the bin '18-29'.*'0-17', '18-29', '30-44'.*18 or 30"):
        bound(release, "age >= 20")
    assert bound(release, "age >= 18").answer == 0
    assert bound(release, "not age < 18 and age != 50").high == bound(release, "age >= 18").high


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"query": "agee > 3"}, "'agee'.*Did you mean"),
        ({"query": "a >"}, "end of the condition"),
        ({"query": ""}, "The query is empty"),
        ({"mean": "c"}, "column of the release"),
        ({"mean": "b", "query": "a == 0 and b == 2"}, "no released row meets this condition"),
        ({"query": "b == 1", "given": "a == 0 and b == 2"}, "no released row meets this condition"),
    ],
)
def test_queries_that_cannot_be_answered_are_refused(asked: dict[str, str], message: str) -> None:
    release = published(
        [A, B, integer_column("age", [0, 9])], np.array([(*row, 0) for row in SYNTHETIC]), figures(absolute=0.3)
    )
    with pytest.raises(InputError, match=message):
        ask(release, asked)


def test_a_column_without_numbers_has_no_mean() -> None:
    release = published([category_column("k", {"x": ["x"]})], np.zeros((4, 1)), figures(absolute=0.3))
    with pytest.raises(InputError, match="has a bin without a number"):
        bound(release, mean="k")


def test_the_text_gives_answer_bound_and_limits() -> None:
    text = str(bound(release_with(absolute=0.15, mean=0.3), "a == 0 and b == 0"))
    assert "released table   28.57% of the released rows: 2 of 7" in text
    assert "the file         14.29% to 42.86% of its rows, or 1 to 3 rows, confidence 0.95" in text
    assert "mean: the exact value is at most 0.3" in text
