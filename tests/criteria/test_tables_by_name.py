"""Which tables a marginal criterion compares: by their number of columns, and by name."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA, explain, explanation_of
from synthrelease.criteria.columns import MAX_TABLES, usual_largest
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import CellError
from synthrelease.criteria.marginals import AbsoluteMarginalError
from synthrelease.criteria.marginals_mechanism import largest_difference
from synthrelease.data.counts import Counts
from tests.helpers.facts import facts_of
from tests.helpers.small import World, layout_of

WORLD = World({"age": 2, "sex": 1, "region": 2, "job": 1})


def error(**fields: object) -> AbsoluteMarginalError:
    fields = {"name": "it", "kind": "absolute_marginal_error", "threshold": 0.1, "epsilon": Fraction(1), **fields}
    return AbsoluteMarginalError.model_validate(fields)


@pytest.mark.parametrize("width", [1, 5, 8, 9, 30, 60, 84, 85, 300])
def test_where_nothing_is_said_all_tables_are_compared_of_few_columns_and_small_ones_of_many(width: int) -> None:
    largest = error().up_to(width)
    assert largest == (width if width <= 8 else 3 if width <= 84 else 2)
    assert sum(comb(width, size) for size in range(1, largest + 1)) <= MAX_TABLES


def test_tables_by_name_are_compared_beside_those_of_so_many_columns_and_alone_without() -> None:
    layout = WORLD.layout
    assert error(tables=["sex:age", "job"]).named(layout) == ((0, 1), (3,))
    assert error(tables=["sex:age", "job"]).up_to(4) == 0
    assert error(tables=["sex:age", "job"], largest=1).named(layout) == ((0, 1),)  # job is among those of one column
    assert error(tables=["all 3-way", "age:sex:job"]).named(layout) == tuple(combinations(range(4), 3))
    assert error(tables=["all columns"], largest=2).named(layout) == ((0, 1, 2, 3),)
    assert error(tables=["all columns"], largest=2).n_tables(layout) == 4 + 6 + 1


@pytest.mark.parametrize("text", ["2 age:sex", "age:age", "age + sex", "all 0-way", "all the columns", ""])
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a table|names a column twice|has a weight"):
        error(tables=[text])


def test_columns_that_do_not_exist_and_too_many_tables_are_mistakes() -> None:
    (mistake,) = error(tables=["age:sx"]).mistakes(WORLD.setting(), {})
    assert (mistake.field, mistake.suggestion) == ("tables", "sex")
    assert "'sx'" in mistake.text
    wide = World({f"c{number}": 1 for number in range(40)}).setting()
    (mistake,) = error(tables=["all 9-way"]).mistakes(wide, {})
    assert mistake.text.startswith(f"'all 9-way' means {comb(40, 9):,} tables.")
    assert [*error(tables=["all columns", "c1:c2:c3:c4:c5"], largest=3).mistakes(wide, {})] == []


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_the_figure_is_the_largest_over_just_these_tables(seed: int) -> None:
    """Against sums over rows. In these draws a table that is not named is further off."""
    generator = np.random.default_rng(seed)
    codes = [generator.integers(0, WORLD.layout.n_cells, 40) for _ in range(2)]
    left, right = (WORLD.counts(table.tolist()) for table in codes)

    def largest(columns: tuple[int, ...]) -> int:
        seen = [[tuple(row[list(columns)]) for row in table.expand()] for table in (left, right)]
        return max(abs(seen[0].count(cell) - seen[1].count(cell)) for cell in {*seen[0], *seen[1]})

    judged = error(tables=["age:region", "sex:region:job", "all columns"])
    found = largest_difference(left, right, judged.up_to(4), judged.named(WORLD.layout))
    assert found == max(largest((0, 2)), largest((1, 2, 3)), largest((0, 1, 2, 3)))
    assert found < max(largest((column,)) for column in range(4))


def test_whole_rows_of_sixty_columns_are_compared_at_the_price_of_one_table() -> None:
    """Far beyond what has a code; a cell that one side lacks counts."""
    layout, generator = layout_of(*[5] * 60), np.random.default_rng(3)
    rows = generator.integers(0, 5, (300, 60))
    left = Counts.of(layout, list(np.repeat(rows, 2, axis=0).T))
    right = Counts.of(layout, list(np.concatenate([rows, rows[:299], rows[:1]]).T))
    whole = error(tables=["all columns"])
    assert whole.n_tables(layout) == 1
    assert largest_difference(left, right, whole.up_to(60), whole.named(layout)) == 1
    assert largest_difference(left, Counts.of(layout, list(np.repeat(rows[:1], 600, axis=0).T)), 0, whole.named(layout)) == 598


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "any columns."),
        ({"largest": 2}, "at most 2 columns."),
        ({"tables": ["age:sex", "all columns"]}, "age by sex, all columns at once."),
        ({"largest": 1, "tables": ["age:sex", "all 3-way"]}, "single columns, age by sex and 3 columns."),
    ],
)
def test_the_card_says_which_tables(fields: dict[str, object], words: str) -> None:
    judged = error(**fields)
    assert explain(judged).sentence(facts_of(WORLD.candidate([0, 1]), WORLD.setting(judged))).endswith(f"all tables of {words}")


def test_the_card_of_a_wide_table_says_that_its_tables_are_small_ones() -> None:
    world = World({f"c{number}": 1 for number in range(9)})
    assert "at most 3 columns" in explain(error()).sentence(facts_of(world.candidate([0, 1]), world.setting()))


def test_bounds_take_the_named_tables_and_no_others() -> None:
    """The cells of a smaller table are sums of cells that are each off by so much: nothing is said of them."""
    judged = error(tables=["sex:age"], largest=1)
    found = explain(judged).known_error(0.5, facts_of(WORLD.candidate([0, 1]), WORLD.setting(judged)))
    assert found == CellError(rows=1, largest=1, tables=(frozenset({"age", "sex"}),), criterion="it")
    assert found.holds_for(["age", "sex"])
    assert found.holds_for(["job"])
    assert not found.holds_for(["age", "region"])
    assert not found.holds_for(["age", "sex", "job"])
    assert (explain(judged).every_cell_up_to(4), explain(error(tables=["sex:age"])).every_cell_up_to(4)) == (1, 0)


def test_only_the_absolute_error_says_something_of_every_cell() -> None:
    others = [explanation_of(kind) for kind in CRITERIA if kind != "absolute_marginal_error"]
    assert all(model.every_cell_up_to is Explanation.every_cell_up_to for model in others)


def test_the_usual_tables_are_at_least_those_of_single_columns() -> None:
    assert usual_largest(5_000) == 1


@pytest.mark.parametrize(
    ("judged", "said"),
    [({"largest": 1}, "single columns"), ({"largest": 2}, "at most 2 columns"), ({"largest": 4}, "any columns")],
)
def test_tables_in_words(judged: dict[str, int], said: str) -> None:
    assert error(**judged).tables_in_words(4) == said
    assert error(largest=1).tables_in_words(1) == "any columns"


def test_the_reason_is_shown_below_a_long_table() -> None:
    with pytest.raises(ValueError, match=r"\.\.\..* is not a table\. Write for example 'age:region'"):
        error(tables=["age sex " * 500])
