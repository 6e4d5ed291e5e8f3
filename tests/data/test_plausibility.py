"""Plausibility masks against the rules' text evaluated cell by cell in plain Python, before and after merging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.rules import Domain, Rule, RuleError, comparisons, parse_rule
from synthrelease.data.schema import Schema, Transformation
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column
from tests.helpers.plain_rules import DOMAINS, Tree, evaluated, rendered, trees
from tests.helpers.small import integer_column

pytestmark = pytest.mark.slow

TABLES = {
    "age": ColumnTable(
        kind="integer", bounds=(0, 9), alternatives={"years": ["0..9"], "three": ["<4", "4-6", ">6"], "two": ["<=4", ">=5"]}
    ),
    "wage": ColumnTable(kind="real", bounds=(0, 4), alternatives={"one": ["<1", ">=1"], "two": ["0 to 0.5", "0.5 to 4"]}),
    "sector": ColumnTable(
        kind="category",
        categories=["farm", "shop", "it's", "Q&A"],
        alternatives={
            "each": {"farm": ["farm"], "shop": ["shop"], "it's": ["it's"], "Q&A": ["Q&A"]},
            "two": {"land": ["farm"], "town": ["shop", "it's", "Q&A"]},
        },
    ),
}
CHOICES = list(product(*(table.alternatives for table in TABLES.values())))


def parsed_forest(forest: Sequence[Tree], missing: Sequence[str] = ()) -> list[Rule]:
    return [parse_rule(rendered(tree), {n: replace(d, missing=n in missing) for n, d in DOMAINS.items()}) for tree in forest]


def world(forest: Sequence[Tree], missing: Sequence[str] = ()) -> tuple[Schema, Plausibility]:
    """The schema and the rules; the columns named in `missing` have a bin of missing values."""
    rules = parsed_forest(forest, missing)
    tables = {
        name: table.model_copy(update={"missing": "bin" if name in missing else "error"}) for name, table in TABLES.items()
    }
    schema = Schema(columns=tuple(build_column(name, table, InputTable(), rules, None) for name, table in tables.items()))
    return schema, Plausibility.from_rules(rules, schema.columns, schema.layout)


def atomic_values(schema: Schema, column: str) -> list[list[float | str | None]]:
    """Some values of every atomic bin: all whole numbers, the ends and the middle of real bins, the category; None: a gap."""
    atoms = schema[column].atoms
    missing = [] if atoms.missing is None else [[None]]
    if column == "sector":
        return [[label] for label in atoms.labels[: atoms.present]] + missing
    pairs = zip(atoms.lower, atoms.upper, strict=True)
    if column == "age":
        return [[float(value) for value in range(10) if lower <= value < upper] for lower, upper in pairs] + missing
    return [[lower, (lower + upper) / 2] for lower, upper in pairs] + missing


def forbidden_by_text(forest: Sequence[Tree], schema: Schema) -> np.ndarray:
    """(sizes) whether some rule holds for a cell, checking that it holds for all its rows or for none."""
    answers = np.zeros(schema.layout.sizes, dtype=bool)
    values = [atomic_values(schema, name) for name in schema.names]
    for cell in np.ndindex(*schema.layout.sizes):
        rows = product(*(values[axis][place] for axis, place in enumerate(cell)))
        said = {any(evaluated(tree, dict(zip(schema.names, row, strict=True))) is True for tree in forest) for row in rows}
        assert len(said) == 1, "an atomic cell lies partly inside a rule"
        answers[cell] = said.pop()
    return answers


def mask_of(plausibility: Plausibility) -> np.ndarray:
    """(sizes) forbidden, asked for every cell at once."""
    sizes = plausibility.layout.sizes
    return plausibility.forbidden([axis.ravel() for axis in np.indices(sizes)]).reshape(sizes)


def merged_slowly(forbidden: np.ndarray, transformation: Transformation) -> np.ndarray:
    """A coarse cell is forbidden just when every atomic cell in it is."""
    result = np.ones(transformation.layout.sizes, dtype=bool)
    for cell in np.ndindex(*forbidden.shape):
        into = tuple(int(of_atom[place]) for of_atom, place in zip(transformation.maps, cell, strict=True))
        result[into] &= forbidden[cell]
    return result


FORESTS = st.lists(trees(), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(FORESTS)
def test_an_atomic_cell_is_forbidden_just_when_the_text_of_a_rule_says_so(forest: list[Tree]) -> None:
    schema, plausibility = world(forest)
    np.testing.assert_array_equal(mask_of(plausibility), forbidden_by_text(forest, schema))


@settings(max_examples=60, deadline=None)
@given(FORESTS, st.sampled_from(CHOICES))
def test_a_coarse_cell_is_forbidden_just_when_all_its_atomic_cells_are(forest: list[Tree], names: tuple[str, ...]) -> None:
    schema, plausibility = world(forest)
    binnings = tuple(column.alternatives[name] for column, name in zip(schema.columns, names, strict=True))
    transformation = Transformation(schema=schema, binnings=binnings)
    expected = merged_slowly(forbidden_by_text(forest, schema), transformation)
    np.testing.assert_array_equal(mask_of(plausibility.merge(transformation)), expected)


GAPS = st.sets(st.sampled_from(list(TABLES)), min_size=1)


@settings(max_examples=80, deadline=None)
@given(st.data(), GAPS, st.sampled_from(CHOICES))
def test_with_missing_values_a_cell_is_forbidden_just_when_a_rule_is_true_and_not_unknown(
    data: st.DataObject, missing: set[str], names: tuple[str, ...]
) -> None:
    trees_here = trees(missing=missing == set(TABLES))
    forest = data.draw(st.lists(trees_here, min_size=1, max_size=3))
    schema, plausibility = world(forest, sorted(missing))
    expected = forbidden_by_text(forest, schema)
    np.testing.assert_array_equal(mask_of(plausibility), expected)
    binnings = tuple(column.alternatives[name] for column, name in zip(schema.columns, names, strict=True))
    transformation = Transformation(schema=schema, binnings=binnings)
    np.testing.assert_array_equal(mask_of(plausibility.merge(transformation)), merged_slowly(expected, transformation))


@pytest.mark.parametrize("text", ["age < 3", "not age < 3", "sector != 'farm'", "not sector in ['farm', 'shop']", "wage >= 1"])
def test_neither_a_comparison_nor_its_negation_forbids_a_missing_value(text: str) -> None:
    rule = parse_rule(text, DOMAINS)
    columns = [build_column(name, table, InputTable(missing="bin"), [rule], None) for name, table in TABLES.items()]
    schema = Schema(columns=tuple(columns))
    forbidden = mask_of(Plausibility.from_rules([rule], schema.columns, schema.layout))
    axis = list(TABLES).index(next(comparisons(rule)).column)
    assert forbidden.any()
    assert not np.moveaxis(forbidden, axis, 0)[-1].any()


def test_a_rule_may_ask_whether_a_value_is_missing() -> None:
    _, plausibility = world([("and", ("<", "age", 3), ("not", ("is missing", "wage")))], ["age", "wage"])
    forbidden = mask_of(plausibility)  # a wage below the age of three, where both are known
    assert forbidden[0, 0].all()
    assert not forbidden[0, -1].any()
    assert not forbidden[-1].any()
    with pytest.raises(RuleError, match="'is missing' needs a column with missing = 'bin'. 'wage' has another setting"):
        world([("is missing", "wage")])


@settings(max_examples=60, deadline=None)
@given(FORESTS, st.permutations(range(3)), st.integers(1, 3))
def test_a_structural_zero_leaves_no_plausible_row_in_its_cell(forest: list[Tree], order: list[int], length: int) -> None:
    schema, plausibility = world(forest)
    forbidden = mask_of(plausibility)
    chosen = order[:length]
    others = tuple(axis for axis in range(3) if axis not in chosen)
    wholly = forbidden.all(axis=others).transpose([sorted(chosen).index(column) for column in chosen])
    zeros = plausibility.structural_zeros(chosen)
    assert zeros.shape == wholly.shape
    assert not (zeros & ~wholly).any()
    if all(set(mask.columns) <= set(chosen) for mask in plausibility.masks):
        np.testing.assert_array_equal(zeros, wholly)  # all rules look at these columns: nothing is missed


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_structural_zeros_follow_the_order_in_which_columns_are_asked_for(order: tuple[int, ...]) -> None:
    _, plausibility = world([("and", ("<", "age", 3), (">=", "wage", 1), ("!=", "sector", "farm"))])
    np.testing.assert_array_equal(plausibility.structural_zeros(order), mask_of(plausibility).transpose(order))


@given(FORESTS, st.lists(st.integers(0, 39), max_size=30))
@settings(max_examples=40, deadline=None)
def test_the_filter_keeps_the_plausible_rows_and_their_counts(forest: list[Tree], draws: list[int]) -> None:
    schema, plausibility = world(forest)
    table = Counts(schema.layout, np.array([draw % schema.layout.n_cells for draw in draws], dtype=np.int64))
    allowed = {int(code) for code in np.flatnonzero(~mask_of(plausibility))}
    expected = {int(code): int(count) for code, count in zip(table.codes, table.counts, strict=True) if int(code) in allowed}
    kept = plausibility.filter(table)
    assert dict(zip(kept.codes.tolist(), kept.counts.tolist(), strict=True)) == expected


def parsed(*texts: str) -> list[Rule]:
    return [parse_rule(text, {name: Domain(kind="integer", bounds=(0, 999)) for name in "abcd"}) for text in texts]


def test_rules_that_share_a_column_are_joined_and_others_are_not() -> None:
    schema = Schema(columns=tuple(integer_column(name, 0, 9) for name in "abcd"))
    rules = parsed("a < 3 and b < 3", "d < 3", "c < 3 and b > 5")
    masks = Plausibility.from_rules(rules, schema.columns, schema.layout).masks
    assert sorted(mask.columns for mask in masks) == [(0, 1, 2), (3,)]


@settings(max_examples=150, deadline=None)
@given(st.data(), st.lists(trees(), min_size=2, max_size=4), st.sampled_from(CHOICES))
def test_rules_that_are_joined_only_where_needed_forbid_the_same_cells(
    data: st.DataObject, forest: list[Tree], names: tuple[str, ...]
) -> None:
    missing = sorted(data.draw(st.sets(st.sampled_from(list(TABLES)))))
    schema, joined = world(forest, missing)
    apart = Plausibility.from_rules(parsed_forest(forest, missing), schema.columns, schema.layout, apart=True)
    expected = forbidden_by_text(forest, schema)
    np.testing.assert_array_equal(mask_of(apart), expected)
    binnings = tuple(column.alternatives[name] for column, name in zip(schema.columns, names, strict=True))
    transformation = Transformation(schema=schema, binnings=binnings)
    np.testing.assert_array_equal(mask_of(apart.merge(transformation)), merged_slowly(expected, transformation))
    assert len(joined.masks) <= len(apart.masks) <= len(forest)


def test_questions_that_follow_from_one_another_stay_small_masks() -> None:
    """Four columns of a thousand values would be a mask of 10^12 cells; of gaps alone each rule has its two columns."""
    names = "abcd"
    domains = {name: Domain(kind="integer", bounds=(0, 999), missing=True) for name in names}
    rules = [parse_rule(f"a is missing and {name} is not missing", domains) for name in "bcd"]
    table = ColumnTable(kind="integer", bounds=(0, 999), missing="bin", alternatives={"two": ["<500", ">=500"]})
    schema = Schema(columns=tuple(build_column(name, table, InputTable(), rules, None) for name in names))
    masks = Plausibility.from_rules(rules, schema.columns, schema.layout, apart=True).masks
    assert [mask.columns for mask in masks] == [(0, 1), (0, 2), (0, 3)]


def test_rules_whose_limits_lie_inside_the_same_bins_are_joined() -> None:
    """a is 3 in one rule and 4 in the other, and <5 is one bin: together they leave no row there, though each leaves some."""
    rules = parsed("a < 4 and b < 5", "a >= 4 and a < 5 and c < 5", "c < 2 and d < 2")
    table = ColumnTable(kind="integer", bounds=(0, 999), alternatives={"two": ["<5", ">=5"]})
    schema = Schema(columns=tuple(build_column(name, table, InputTable(), rules, None) for name in "abcd"))
    apart = Plausibility.from_rules(rules, schema.columns, schema.layout, apart=True)
    assert sorted(mask.columns for mask in apart.masks) == [(0, 1, 2), (2, 3)]
    two = Transformation(schema=schema, binnings=tuple(column.alternatives["two"] for column in schema.columns))
    assert mask_of(apart.merge(two))[0, 0, 0].all()


def test_rules_that_connect_too_many_cells_are_refused_before_a_mask_is_made() -> None:
    schema = Schema(columns=tuple(integer_column(name, 0, 999) for name in "abc"))
    rules = parsed("a < 3 and b < 3", "b < 4 and c < 4")
    with pytest.raises(RuleError, match="'a', 'b', 'c', whose bins have 1,000,000,000 combinations. At most 50,000,000 are"):
        Plausibility.from_rules(rules, schema.columns, schema.layout)


def test_without_rules_everything_is_plausible() -> None:
    schema = Schema(columns=(integer_column("a", 0, 9),))
    plausibility = Plausibility.from_rules([], schema.columns, schema.layout)
    assert not mask_of(plausibility).any()
    assert not plausibility.structural_zeros([0]).any()
