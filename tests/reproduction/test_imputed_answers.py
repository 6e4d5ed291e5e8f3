"""Answers from imputed tables: sensitivity, smoothness and exact losses over all datasets of a tiny universe."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from tests.helpers.donors import Dataset, Record, subsets, table_of
from tests.reproduction.cauchy_noise import CauchyNoise
from tests.reproduction.imputation import (
    Answer,
    GappedTable,
    ImputedAnswers,
    NearestNeighbours,
    Neighbours,
    order_by_distance,
    smoothness,
)
from tests.reproduction.test_cauchy_noise import exact_loss

LINE = order_by_distance(np.array([[0], [1], [3], [7]]))
UNIVERSE = [Record(0, 2, 3.0), Record(1, 5, 1.0), Record(3, 4, 3.0), Record(1, 1, 2.0),
            Record(0, 3, None), Record(1, 6, None), Record(2, 7, None)]  # fmt: skip
DATASETS = list(subsets(UNIVERSE))
EPSILON = 3.5
KINDS: tuple[Neighbours, Neighbours] = ("add or remove", "replace one")


def answers(neighbours: Neighbours, k: int = 1) -> ImputedAnswers:
    scheme = NearestNeighbours(order=LINE, k=k, default=2.0)
    return ImputedAnswers(scheme=scheme, neighbours=neighbours, low=1, high=3)


def everybody(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.ones(len(cells), dtype=bool)


def rich(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    return values > 1.5


def left(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    return cells < 2


class Middle:
    """Stands for a generator whose noise is 0: figures are exact."""

    def standard_gamma(self, shape: float, size: int) -> np.ndarray:
        return np.zeros(size) if shape < 0.5 else np.ones(size)

    def choice(self, signs: tuple[float, float], size: int) -> np.ndarray:
        return np.ones(size)


def count(of: ImputedAnswers, table: GappedTable, chosen: Callable, epsilon: float, generator: np.random.Generator) -> Answer:
    """The number of records that are chosen, as imputed: S = 1 + L_1, replacing 1 + 2 L_1."""
    meant = chosen(table.cells, of._imputed(table))
    return of._answer(float(np.count_nonzero(meant)), of.bound(table, 1, 1), epsilon, generator)


QUERIES = {
    "count": (lambda of, table, g: count(of, table, rich, EPSILON, g), 1, 1, 1),
    "mean": (lambda of, table, g: of.mean(table, left, 4.0, EPSILON, g), 3, 2, 4),
    "mean of the rich": (lambda of, table, g: of.mean(table, rich, 8.0, EPSILON, g, chosen_by_value=True), 3, 3, 8),
}
"""The exact figure, and what enters its bound: a record's own part, that of a changed donee, and what divides both."""


def neighbouring(first: Dataset, other: Dataset, neighbours: Neighbours) -> bool:
    if neighbours == "add or remove":
        return len(first ^ other) == 1
    return len(first) == len(other) and len(first ^ other) == 2


@pytest.fixture(scope="module")
def tables() -> list[GappedTable]:
    return [table_of(dataset) for dataset in DATASETS]


def pairs(neighbours: Neighbours) -> list[tuple[int, int]]:
    return [(i, j) for i, j in product(range(len(DATASETS)), repeat=2) if neighbouring(DATASETS[i], DATASETS[j], neighbours)]


def unclamped(of: ImputedAnswers, name: str, table: GappedTable) -> float:
    """The exact figure before a mean is cut off at the bounds: a sum over the public size."""
    if not name.startswith("mean"):
        return QUERIES[name][0](of, table, Middle()).value
    values = of.scheme.imputed(table)
    return float(values[(left if name == "mean" else rich)(table.cells, values)].sum()) / QUERIES[name][3]


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("neighbours", KINDS)
def test_no_neighbour_moves_a_figure_by_more_than_the_bound_which_is_smooth(
    neighbours: Neighbours, k: int, tables: list[GappedTable]
) -> None:
    of, growth = answers(neighbours, k), math.exp(smoothness(neighbours))
    largest = [of.scheme.largest_change(table) for table in tables]
    ratios = [largest[j] / largest[i] for i, j in pairs(neighbours)]
    assert max(ratios) <= growth * (1 + 1e-12)
    for name, (_, own, moved, size) in QUERIES.items():
        figures = [unclamped(of, name, table) for table in tables]
        bounds = [of.bound(table, own, moved) / size for table in tables]
        for i, j in pairs(neighbours):
            assert abs(figures[i] - figures[j]) <= bounds[i] * (1 + 1e-12), name
            assert bounds[j] <= growth * bounds[i] * (1 + 1e-12), name


def test_replacing_a_record_can_treble_the_largest_change() -> None:
    """A donor of one record makes room for one more incomplete record: the other donor has three. ln 2 is not enough then."""
    scheme = NearestNeighbours(order=order_by_distance(np.array([[0], [1]])), k=1, default=1.0)
    donor, *others = [Record(0, 1, 1.0), Record(0, 2, None), Record(1, 3, 1.0), Record(1, 4, None)]
    before, after = table_of([donor, *others]), table_of([*others, Record(1, 5, None)])
    assert (scheme.largest_change(before), scheme.largest_change(after)) == (1, 3)
    of = ImputedAnswers(scheme=scheme, neighbours="replace one", low=1, high=1)
    ratio = of.bound(after, 1, 1) / of.bound(before, 1, 1)
    assert 2 < ratio <= math.exp(smoothness("replace one")) == pytest.approx(3)
    assert smoothness("add or remove") == pytest.approx(math.log(2))


@pytest.mark.parametrize("neighbours", KINDS)
def test_exact_losses_stay_below_epsilon(neighbours: Neighbours, tables: list[GappedTable]) -> None:
    """All different pairs of (figure, bound) that neighbours have, for the count."""
    of = answers(neighbours)
    noise = of.noise(EPSILON)
    figures = [unclamped(of, "count", table) for table in tables]
    bounds = [of.bound(table, 1, 1) for table in tables]
    kinds = {(round(abs(figures[i] - figures[j]), 9), bounds[i], bounds[j]) for i, j in pairs(neighbours)}
    assert len(kinds) > 8
    worst = max(exact_loss(moved * noise.alpha / first, other / first, noise.gamma) for moved, first, other in kinds)
    assert worst <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize(("neighbours", "least"), [("add or remove", 2 * math.log(2)), ("replace one", 2 * math.log(3))])
def test_an_epsilon_with_a_gamma_below_2_is_refused(neighbours: Neighbours, least: float, tables: list[GappedTable]) -> None:
    generator = np.random.default_rng(0)
    assert isinstance(count(answers(neighbours), tables[-1], rich, least, generator), Answer)
    with pytest.raises(ValueError, match="gamma must be at least 2"):
        count(answers(neighbours), tables[-1], rich, least * 0.999, generator)


def test_an_answer_says_nothing_of_the_scale_of_its_noise(tables: list[GappedTable]) -> None:
    """The scale holds L_1, a fact of single records."""
    assert {field.name for field in dataclasses.fields(Answer)} == {"value", "epsilon", "neighbours"}
    of = answers("add or remove")
    few, many = (count(of, table, rich, EPSILON, Middle()) for table in (tables[0], tables[-1]))
    assert dataclasses.replace(few, value=many.value) == many
    assert of.noise(EPSILON) == CauchyNoise.printed(EPSILON, math.log(2))  # public: it follows from epsilon alone


class Draw(Middle):
    """A small known draw, so that no figure is cut off."""

    def standard_gamma(self, shape: float, size: int) -> np.ndarray:
        return np.full(size, 1e-6 if shape < 0.5 else 1.0)


@pytest.mark.parametrize(("neighbours", "steps"), [("add or remove", 1), ("replace one", 2)])
def test_the_noise_has_the_scale_of_the_bound(neighbours: str, steps: int, tables: list[GappedTable]) -> None:
    """With a known draw: the exact figure plus S / beta times it."""
    table, of = tables[-1], answers(neighbours)  # type: ignore[arg-type]
    largest = of.scheme.largest_change(table)
    for name, (query, own, moved, size) in QUERIES.items():
        exact, noisy = (query(of, table, each()) for each in (Middle, Draw))
        bound = (own + steps * largest * moved) / size
        drawn = bound / smoothness(of.neighbours) * (1e-6) ** (1 / of.noise(EPSILON).gamma)
        assert noisy.value - exact.value == pytest.approx(drawn), name


def test_the_bound_of_a_mean_by_what_is_imputed_is_needed() -> None:
    """Without their donor all four donees are poor: the sum of the rich falls by 3 for the donor and for each of them."""
    donor, *others = [Record(0, 10, 3.0), Record(0, 20, 1.0), *(Record(0, label, None) for label in range(4))]
    of = answers("add or remove")
    before, after = table_of([donor, *others]), table_of(others)
    fall = unclamped(of, "mean of the rich", before) - unclamped(of, "mean of the rich", after)
    assert fall == pytest.approx((3 + 3 * of.scheme.largest_change(before)) / 8)
    assert fall > (3 + 2 * of.scheme.largest_change(before)) / 8


def test_a_mean_stays_where_it_can_be() -> None:
    """Whatever the noise, and where the size is far too small."""

    class Negative(Middle):
        def standard_gamma(self, shape: float, size: int) -> np.ndarray:
            return np.full(size, 1e9 if shape < 0.5 else 1.0)

        def choice(self, signs: tuple[float, float], size: int) -> np.ndarray:
            return -np.ones(size)

    table = table_of(UNIVERSE)
    for generator in (Negative(), np.random.default_rng(1), Middle()):
        mean = answers("add or remove").mean(table, rich, 1.0, EPSILON, generator, chosen_by_value=True)  # type: ignore[arg-type]
        assert 1 <= mean.value <= 3


def test_impossible_questions_are_refused() -> None:
    of, table, generator = answers("add or remove"), table_of(UNIVERSE), np.random.default_rng(0)
    with pytest.raises(ValueError, match="the size must be above 0"):
        of.mean(table, left, 0, EPSILON, generator)
    with pytest.raises(ValueError, match="values are outside the bounds"):
        count(of, table_of([Record(0, 1, 9.0)]), rich, EPSILON, generator)
    with pytest.raises(ValueError, match="low <= default"):
        ImputedAnswers(scheme=of.scheme, neighbours="replace one", low=-1, high=3)
