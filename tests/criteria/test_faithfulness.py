"""The maximum matching of cells equals the maximum matching of rows found by networkx's Hopcroft-Karp."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.criteria import CRITERIA, explain
from synthrelease.criteria import faithfulness_mechanism as matching
from synthrelease.criteria.base import Fitted
from synthrelease.criteria.facts import Query
from synthrelease.criteria.faithfulness_mechanism import Step, maximum_matching
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Transformation
from synthrelease.spec.load import load_spec
from synthrelease.studio.audit.sweep import criterion
from tests.helpers.facts import facts_of
from tests.helpers.small import World, layout_of

pytestmark = pytest.mark.slow

LAYOUT = layout_of(2, 4, 3)


def similar(left: np.ndarray, right: np.ndarray, steps: tuple[Step, ...]) -> bool:
    """The definition, row against row."""
    different = np.flatnonzero(left != right)
    if len(different) == 0:
        return True
    if len(different) > 1:
        return False
    (column,) = different
    low, high = sorted((left[column], right[column]))
    return high - low == 1 and any(step.column == column and step.allowed[low] for step in steps)


def matched_rows(left: Counts, right: Counts, steps: tuple[Step, ...]) -> int:
    rows, others = left.expand(), right.expand()
    graph = nx.Graph()
    top = [("left", i) for i in range(len(rows))]
    graph.add_nodes_from(top)
    graph.add_nodes_from(("right", j) for j in range(len(others)))
    graph.add_edges_from(
        (("left", i), ("right", j))
        for i, row in enumerate(rows)
        for j, other in enumerate(others)
        if similar(row, other, steps)
    )
    return len(nx.bipartite.hopcroft_karp_matching(graph, top)) // 2


codes = st.lists(st.integers(0, LAYOUT.n_cells - 1), min_size=1, max_size=40)


@settings(max_examples=150, deadline=None)
@given(codes, codes, st.lists(st.booleans(), min_size=4, max_size=4), st.booleans())
def test_matching_of_cells_equals_matching_of_rows(left: list[int], right: list[int], allowed: list[bool], both: bool) -> None:
    steps = (Step(column=1, allowed=np.array([*allowed[:3], False])),)
    if both:
        steps += (Step(column=2, allowed=np.array([True, allowed[3], False])),)
    a, b = Counts(LAYOUT, np.array(left)), Counts(LAYOUT, np.array(right))
    assert maximum_matching(a, b, steps) == matched_rows(a, b, steps)


@settings(max_examples=60, deadline=None)
@given(codes, codes, st.sampled_from([1, 4, 9]))
def test_networks_solved_one_by_one_have_the_matching_of_rows(left: list[int], right: list[int], part: int) -> None:
    """Columns 0 and 2 must agree: six components, of which one, about two or about three are solved together."""
    steps = (Step(column=1, allowed=np.array([True, True, True, False])),)
    a, b = Counts(LAYOUT, np.array(left)), Counts(LAYOUT, np.array(right))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_PART", part)
        assert maximum_matching(a, b, steps) == matched_rows(a, b, steps)


def from_nothing(left: Counts, right: Counts, steps: tuple[Step, ...]) -> int:
    """One network of all cells, without a greedy flow."""
    tails, heads = (np.concatenate(parts) for parts in zip(*matching._edges(left, right, steps), strict=True))
    flows, part = np.zeros(len(tails), dtype=np.int64), np.zeros(len(left) + len(right), dtype=np.int64)
    (network,) = matching.residual_networks(tails, heads, flows, left.counts, right.counts, part)
    return matching.residual_flow(network)


def flow_of_whole_numbers(left: Counts, right: Counts, steps: tuple[Step, ...]) -> int:
    """The same flow by networkx, which adds up Python's whole numbers."""
    graph = nx.DiGraph()
    for side, table in ((0, left), (1, right)):
        rows = [tuple(row) for row in np.stack(table.bins, axis=1).tolist()]
        for row, count in zip(rows, table.counts.tolist(), strict=True):
            graph.add_edge(*("source", (0, row)) if side == 0 else ((1, row), "sink"), capacity=count)
    cells = [[node[1] for node in graph if node[0] == side] for side in (0, 1)]
    graph.add_edges_from(
        ((0, row), (1, other)) for row in cells[0] for other in cells[1] if similar(np.array(row), np.array(other), steps)
    )
    return int(nx.maximum_flow_value(graph, "source", "sink")) if {"source", "sink"} <= set(graph) else 0


counts = st.lists(st.integers(0, 2**20) | st.integers(0, 40), min_size=LAYOUT.n_cells, max_size=LAYOUT.n_cells)


@settings(max_examples=25, deadline=None)
@given(counts, counts, st.sampled_from([9, 10]))
def test_capacities_in_units_have_the_flow_of_whole_numbers(left: list[int], right: list[int], bits: int) -> None:
    """Networks of capacities below 2^9 and 2^10 stand for those of scipy, so that two to twelve of them are needed."""
    steps = (Step(column=1, allowed=np.array([True, True, True, False])), Step(column=2, allowed=np.array([True, True, False])))
    a, b = (Counts(LAYOUT, np.arange(LAYOUT.n_cells), np.array(each)) for each in (left, right))
    a, b = a.keep(a.counts > 0), b.keep(b.counts > 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_CAPACITY_BITS", bits)
        assert maximum_matching(a, b, steps) == from_nothing(a, b, steps) == flow_of_whole_numbers(a, b, steps)


@pytest.mark.parametrize("power", [29, 31, 32, 40])
def test_a_trillion_rows_are_matched_exactly(power: int) -> None:
    """Counts, not rows: totals of 2^40, cells beyond 32 bits, and a last row that only the last network finds."""
    layout, random = layout_of(3, 8, 5), np.random.default_rng(power)
    steps = tuple(Step(column=c, allowed=np.arange(layout.sizes[c]) < layout.sizes[c] - 1) for c in (1, 2))
    for concentration in (0.1, 0.3, 1.0):
        a, b = (
            Counts(layout, np.arange(120), random.multinomial(2**power, random.dirichlet(np.full(120, concentration))))
            for _ in range(2)
        )
        wanted = flow_of_whole_numbers(a, b, steps)
        assert maximum_matching(a, b, steps) == wanted < 2**power


def test_a_large_matching_has_the_size_of_one_flow() -> None:
    """40,000 rows in 3,000 cells, several parts; the reference is one network of all cells, without a greedy flow."""
    layout, random = layout_of(10, 20, 15), np.random.default_rng(7)
    steps = tuple(Step(column=c, allowed=np.arange(layout.sizes[c]) < layout.sizes[c] - 1) for c in (1, 2))
    a, b = (Counts(layout, random.choice(3000, 40_000, p=random.dirichlet(np.full(3000, 0.2)))) for _ in range(2))
    whole = from_nothing(a, b, steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_PART", 500)
        assert maximum_matching(a, b, steps) == whole < 40_000


def test_matching_equal_cells_first_is_not_enough() -> None:
    """A chain where the greedy flow is not maximal: the augmentation must undo a pair."""
    layout = layout_of(4)
    left, right = Counts(layout, np.array([1, 2])), Counts(layout, np.array([0, 1]))
    step = (Step(column=0, allowed=np.array([True, True, False, False])),)
    assert maximum_matching(left, right, step) == matched_rows(left, right, step) == 2


@pytest.fixture
def births(root):
    return load_spec(root / "configs/births.toml")


def steps_of(births, alternative: str) -> Step:
    binnings = tuple(
        column.alternatives[alternative] if column.name == "mother_age" else next(iter(column.alternatives.values()))
        for column in births.schema.columns
    )
    faithfulness = next(criterion for criterion in births.criteria if criterion.kind == "faithfulness")
    steps = faithfulness.steps(Transformation(schema=births.schema, binnings=binnings))
    return next(step for step in steps if step.column == births.schema.names.index("mother_age"))


def test_a_bin_with_37_inside_must_match_exactly(births) -> None:
    """35-39 holds 37 strictly inside, so neither 30-34 nor 40-42 is similar to it; 37-39 and single years do not."""
    labels = births.schema["mother_age"].alternatives["nine"].labels
    blocked = {labels[i] for i, ok in enumerate(steps_of(births, "nine").allowed[:-1]) if not ok}
    assert blocked == {"30-34", "35-39"}  # the steps 30-34 to 35-39 and 35-39 to 40-42
    for alternative in ("ten", "single_years"):
        assert all(steps_of(births, alternative).allowed[:-1])


def test_all_columns_must_be_named_once() -> None:
    with pytest.raises(ValueError, match="named twice"):
        CRITERIA["faithfulness"].model_validate(
            {"name": "f", "kind": "faithfulness", "threshold": 1, "epsilon": 1, "exact": ["a"], "within_one_bin": ["a"]}
        )


@settings(max_examples=100, deadline=None)
@given(codes, codes)
def test_rows_are_paired_by_the_columns_that_are_not_ignored(left: list[int], right: list[int]) -> None:
    """Against pairs of rows; missing values of the tolerant column are similar to none but each other."""
    right = (right * len(left))[: len(left)]
    world = World({"a": 1, "b": 2, "c": 2}, missing=("b",))
    judged = criterion("faithfulness", exact=["a"], within_one_bin=["b"], ignored=["c"])
    query = judged.query(len(left), world.candidate(right), world.setting(judged), Fitted())
    assert isinstance(query, Query)
    step = Step(column=1, allowed=np.array([True, True, False, False]))
    kept = layout_of(2, 4)
    a, b = (Counts(kept, np.array(table) // 3) for table in (left, right))
    assert query.figure(world.counts(left)) == pytest.approx(1 - matched_rows(a, b, (step,)) / len(left))
    assert judged.steps(world.transformation)[0].allowed.tolist() == step.allowed.tolist()


def test_every_column_is_named_and_some_are_compared() -> None:
    world = World({"a": 1, "b": 2, "c": 2})
    (mistake,) = criterion("faithfulness", exact=["a"]).mistakes(world.setting(), {})
    assert mistake.field == "exact"
    assert "Every column must be in exact, within_one_bin or ignored. Add 'b', 'c'" in mistake.text
    assert [*criterion("faithfulness", exact=["a"], ignored=["b", "c"]).mistakes(world.setting(), {})] == []
    (mistake,) = criterion("faithfulness", ignored=["a", "b", "c"]).mistakes(world.setting(), {})
    assert (mistake.field, mistake.text) == (
        "exact",
        "All columns are ignored. Name at least one column in exact or within_one_bin",
    )


def test_the_card_says_what_is_compared_and_what_is_not() -> None:
    world = World({"a": 1, "b": 2, "c": 2})
    facts = facts_of(world.candidate([0]), world.setting())
    ending = {
        "a, b, except that 1 of b may differ by one bin. Not compared: c.": {
            "exact": ["a"], "within_one_bin": ["b"], "ignored": ["c"],
        },
        "a, b. Not compared: c.": {"exact": ["a", "b"], "ignored": ["c"]},
        "a, b, c.": {"exact": ["a"], "within_one_bin": ["b", "c"], "at_most": 0},
        "b, except that 1 of b may differ by one bin. Not compared: a, c.": {
            "within_one_bin": ["b"], "ignored": ["a", "c"],
        },
    }  # fmt: skip
    for words, fields in ending.items():
        assert explain(criterion("faithfulness", **fields)).sentence(facts).endswith(f"if they agree in {words}")
