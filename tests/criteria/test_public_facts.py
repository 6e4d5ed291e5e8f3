"""What criteria say about the original table at a limit of their figure, and what they read off released bins."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA, explain, explanation_of, published_criterion
from synthrelease.criteria.base import Criterion, Fitted
from synthrelease.criteria.facts import CellError, MeanError, PublicFacts, Query, RatioError, SumErrors, Unmatched
from synthrelease.studio.audit.sweep import Sweep
from synthrelease.studio.audit.worlds import SWEEPS
from tests.helpers.facts import facts_of
from tests.helpers.small import World

WORLD = World({"a": 1, "b": 2, "c": 3})
ROWS = [0, 0, 1, 5, 5, 5, 7, 13, 22, 23]


def criterion(kind: str, **fields: object) -> Criterion:
    return CRITERIA[kind].model_validate({"name": "it", "kind": kind, "threshold": 1.2, "epsilon": "0.7", **fields})


def facts(*criteria: Criterion) -> PublicFacts:
    return facts_of(WORLD.candidate(ROWS), WORLD.setting(*criteria))


@pytest.mark.parametrize(("largest", "columns"), [(None, 3), (2, 2)])
def test_an_absolute_error_is_a_whole_number_of_rows_in_tables_of_so_many_columns(largest: int | None, columns: int) -> None:
    found = explain(criterion("absolute_marginal_error", largest=largest)).known_error(0.29, facts())
    assert found == CellError(rows=2, largest=columns, criterion="it")


def test_a_ratio_at_its_clip_says_nothing() -> None:
    ratio = criterion("relative_marginal_error", clip=3)
    assert explain(ratio).known_error(2.99, facts()) == RatioError(factor=2.99, criterion="it")
    assert explain(ratio).known_error(3.0, facts()) is None
    assert explain(ratio).known_error(5.0, facts()) is None


BOUNDS_SUMS = [kind for kind in CRITERIA if explanation_of(kind).known_error.__annotations__["return"] == "SumErrors"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sweep",
    [sweep for kind in BOUNDS_SUMS for sweep in SWEEPS.get(kind, ()) if sweep.linked is None],
    ids=lambda each: f"{each.kind}: {each.name}",
)
def test_sums_that_a_figure_bounds_are_within_it_for_every_original_table(sweep: Sweep) -> None:
    """At the exact figure as limit; some sum attains it."""
    world, judged, widest = sweep.world, sweep.criteria[-1], -np.inf
    tables = world.all_tables(3)
    originals = [world.counts(table) for table in tables]

    @cache
    def of_original(place: int, columns: tuple[str, ...]) -> np.ndarray:
        return originals[place].marginal([world.layout.index(name) for name in columns])

    for synthetic in tables[:: len(tables) // 12]:
        candidate, setting = world.candidate(synthetic), world.setting(*sweep.criteria)
        public = facts_of(candidate, setting)
        query = judged.query(3, candidate, setting, Fitted())
        assert isinstance(query, Query)
        for place, counts in enumerate(originals if not query.void else ()):
            known = explain(judged).known_error(query.figure(counts), public)
            assert isinstance(known, SumErrors)
            for one in known.sums:
                found = of_original(place, tuple(one.columns)).reshape(one.weights[0].shape)
                over = [float((weights * found).sum()) - most for weights, most in zip(one.weights, one.most, strict=True)]
                assert max(over) <= 1e-9
                widest = max(widest, *over)
    assert widest > -1e-9


def test_a_mean_says_what_it_is_taken_over() -> None:
    mean = criterion("conditional_mean", column="c", by=["a"], range=[0, 3], size_margin=0.1, overall=False)
    found = explain(mean).known_error(0.5, facts())
    assert isinstance(found, MeanError)
    assert (found.most, found.column, found.by, found.overall, found.criterion) == (0.5, "c", ("a",), False, "it")
    assert (found.lowest, found.highest, found.size_margin) == (0, 3, 0.1)
    assert [limit.tolist() for limit in found.values] == [[0, 1, 2, 3]] * 2  # single values
    narrow = explain(criterion("conditional_mean", column="c", by=["a"], range=[1, 2], size_margin=0.1)).known_error(
        0.5, facts()
    )
    assert isinstance(narrow, MeanError)
    assert [limit.tolist() for limit in narrow.values] == [[1, 1, 2, 2]] * 2  # clipped to the range


def test_pairs_say_which_bins_are_similar() -> None:
    """Those of the columns that must be equal are left out; without tolerance none is similar to another."""
    tolerant = criterion("faithfulness", exact=["a", "b"], within_one_bin=["c"])
    assert explain(tolerant).known_error(0.35, facts()) == Unmatched(
        rows=3, steps={"c": (True, True, True, False)}, criterion="it"
    )
    strict = criterion("faithfulness", exact=["a", "b"], within_one_bin=["c"], at_most=0)
    assert explain(strict).known_error(0.35, facts()) == Unmatched(rows=3, steps={}, criterion="it")


@pytest.mark.parametrize("names", [("a",), ("c", "a"), ("b", "c", "a"), ("a", "b", "c")], ids=str)
def test_cells_of_some_columns_are_counted_in_the_order_of_their_names(names: tuple[str, ...]) -> None:
    """By counting rows one by one."""
    layout = WORLD.layout
    wanted = np.zeros([layout.sizes[layout.index(name)] for name in names], dtype=int)
    for row in WORLD.counts(ROWS).expand():
        wanted[tuple(row[layout.index(name)] for name in names)] += 1
    assert facts().cells(names).tolist() == wanted.ravel().tolist()


def test_a_criterion_is_read_back_from_what_is_published_of_it() -> None:
    """And one of a kind that is not known here is none."""
    for made in (criterion("faithfulness", exact=["a"], within_one_bin=["b"]), criterion("absolute_marginal_error")):
        parameters = made.model_dump(mode="json", exclude={"name", "kind", "threshold", "epsilon", "reason"}, exclude_none=True)
        same = published_criterion(made.kind, name=made.name, threshold=1.2, epsilon="7/10", parameters=parameters)
        assert same == made
    assert published_criterion("magic", name="it", threshold=1, epsilon="1", parameters={}) is None
    with pytest.raises(ValueError, match="largest"):
        published_criterion("absolute_marginal_error", name="it", threshold=1, epsilon="1", parameters={"largest": "many"})
