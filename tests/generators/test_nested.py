"""Areas within areas: least squares on a tree, rows that are allotted level by level, and the division of the budget."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators import nested_model as model
from synthrelease.generators.base import Background
from synthrelease.generators.nested import Nested, NestedGenerator, NestedPure
from synthrelease.generators.nested_model import AreaTable, agreed, combined, divided_rows, homes, levels_of, placed, raked
from synthrelease.privacy.charges import Meter, exact
from synthrelease.privacy.public_entropy import NoNoise

REGION_OF = np.array([0, 0, 1, 1, 1, 2])
LAYOUT = Layout(columns=("region", "town", "age", "sex"), sizes=(3, 6, 4, 2))


def tied(layout: Layout = LAYOUT) -> Plausibility:
    """Each town in its region."""
    forbidden = np.ones((3, 6), dtype=bool)
    forbidden[REGION_OF, np.arange(6)] = False
    return Plausibility(layout=layout, masks=(Mask(columns=(0, 1), forbidden=forbidden),))


def area_table(values: np.ndarray, variance: np.ndarray | float) -> AreaTable:
    return AreaTable(columns=(), values=values, variance=np.broadcast_to(np.asarray(variance, dtype=float), values.shape))


# --- The tree


def dense_least_squares(towns: np.ndarray, regions: np.ndarray, of_towns: np.ndarray, of_regions: np.ndarray) -> np.ndarray:
    """(towns,) weighted least squares over all towns at once, from its normal equations."""
    above = (REGION_OF[None, :] == np.arange(3)[:, None]).astype(float)
    design = np.concatenate([np.eye(6), above])
    weights = np.diag(1 / np.concatenate([of_towns, of_regions]))
    return np.linalg.solve(design.T @ weights @ design, design.T @ weights @ np.concatenate([towns, regions]))


@given(st.integers(0, 2**32 - 1))
def test_up_and_down_the_tree_is_least_squares_of_all_areas_at_once(seed: int) -> None:
    random = np.random.default_rng(seed)
    towns, regions = random.normal(50, 20, 6), random.normal(100, 20, 3)
    of_towns, of_regions = random.uniform(0.5, 20, 6), random.uniform(0.5, 20, 3)
    levels, told = levels_of([0, 1], {0: [area_table(regions, of_regions)], 1: [area_table(towns, of_towns)]}, tied())
    root = told[0].values  # nothing else was measured of the whole
    of_region = placed(levels[0].tables[0].values, levels[0].tables[0].variance, root)
    found = np.concatenate(
        [
            placed(levels[1].tables[0].values[region == REGION_OF], levels[1].tables[0].variance[region == REGION_OF], total)
            for region, total in enumerate(of_region)
        ]
    )
    dense = dense_least_squares(towns, regions, of_towns, of_regions)
    assert found == pytest.approx(dense, abs=1e-9)
    assert float(root[()] if root.ndim == 0 else root[0]) == pytest.approx(dense.sum(), abs=1e-9)


def test_figures_of_one_count_are_weighed_by_their_precision_and_empty_cells_stay_empty() -> None:
    one, two = area_table(np.array([10.0, 5.0]), np.array([1.0, 0.0])), area_table(np.array([20.0, 7.0]), np.array([1.0, 2.0]))
    (found,) = combined([one, two])
    assert found.values.tolist() == [15.0, 0.0]
    assert found.variance.tolist() == [0.5, 0.0]


def test_which_area_lies_in_which_is_what_the_rules_say_also_over_three_levels() -> None:
    layout = Layout(columns=("region", "town", "country"), sizes=(3, 6, 2))
    country = np.ones((2, 6), dtype=bool)
    country[np.array([0, 1, 1])[REGION_OF], np.arange(6)] = False
    rules = Plausibility(layout=layout, masks=(*tied(layout).masks, Mask(columns=(1, 2), forbidden=country.T)))
    assert [each.tolist() for each in homes([2, 0, 1], rules)] == [[0, 0], [0, 1, 1], REGION_OF.tolist()]
    with pytest.raises(RejectedRound, match="do not assign each area"):
        homes([0, 1], Plausibility(layout=LAYOUT, masks=()))


# --- Rows of an area


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 12))
def test_whole_rows_add_up_are_near_and_are_nowhere_where_none_is_expected(seed: int, areas: int, combinations: int) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 30, combinations)
    expected = random.gamma(0.3, size=(areas, combinations)) * (random.random((areas, combinations)) < 0.7)
    expected[0] += expected.sum(axis=0) == 0
    expected *= counts / expected.sum(axis=0)
    whole = divided_rows(expected, counts, random)
    assert np.array_equal(whole.sum(axis=0), counts)
    assert (whole >= 0).all()
    assert not whole[expected == 0].any()


def test_what_is_rounded_is_carried_on_so_that_an_area_has_its_number_of_rows() -> None:
    """Rounded one by one, 400 combinations of half a row each would be off by ten."""
    expected = np.full((4, 400), 0.5)
    whole = divided_rows(expected, np.full(400, 2), np.random.default_rng(0))
    assert np.abs(whole.sum(axis=1) - 200).max() <= 2


def test_raked_rows_have_the_counts_and_tables_that_agree() -> None:
    random = np.random.default_rng(3)
    truth = random.integers(1, 40, (3, 4, 2)).astype(float)  # areas, ages, sexes
    counts = truth.sum(axis=0).ravel().astype(np.int64)
    bins = [np.repeat(np.arange(4), 2), np.tile(np.arange(2), 4)]
    tables = [
        AreaTable(columns=(0,), values=truth.sum(axis=2), variance=np.ones((3, 4))),
        AreaTable(columns=(1,), values=truth.sum(axis=1), variance=np.full((3, 2), 0.5)),
    ]
    rows = raked(agreed(tables, bins, (4, 2), counts, 1.0), counts)
    assert rows.sum(axis=0) == pytest.approx(counts, abs=1e-9)
    by_cell = rows.reshape(3, 4, 2)
    assert by_cell.sum(axis=2) == pytest.approx(truth.sum(axis=2), abs=0.3)
    assert by_cell.sum(axis=1) == pytest.approx(truth.sum(axis=1), abs=0.3)


# --- The generator


def people(n: int = 4000) -> Counts:
    """Towns of very different sizes, in each of which age and sex have laws of their own."""
    random = np.random.default_rng(5)
    town = random.choice(6, n, p=[0.4, 0.02, 0.3, 0.15, 0.03, 0.1])
    age = (random.random(n) * 4 * (0.5 + town / 12)).astype(int)
    sex = (random.random(n) < 0.3 + 0.06 * town + 0.05 * age).astype(int)
    return Counts.of(LAYOUT, [REGION_OF[town], town, age, sex])


TABLES = {"areas": "region > town", "tables": "age:sex + region:age:sex + town:age + town:sex"}


def sampled(generator: NestedGenerator, budget: str, *, noise: bool = True, n: int | None = None) -> Counts:
    counts, charge = people(), generator.charge(exact(budget))
    private = PrivateCounts(counts, Meter([charge])) if noise else PrivateCounts(counts, Meter([charge]), NoNoise())
    model = generator.fit(private, charge, Background(plausibility=tied()))
    return model.sample(n or counts.total, np.random.default_rng(0))


@pytest.mark.parametrize("family", [Nested, NestedPure])
@pytest.mark.parametrize("budget", ["0.01", "1"])
def test_every_row_is_in_the_region_of_its_town_whatever_the_noise(family: type[NestedGenerator], budget: str) -> None:
    found = sampled(family(**TABLES), budget)
    assert found.total == people().total
    assert not tied().forbidden(found.bins).any()


def test_without_noise_every_measured_table_is_met_to_the_rounding() -> None:
    found, file = sampled(Nested(**TABLES, prior_weight=1e-6), "1000000", noise=False), people()
    for columns, most in {(0, 2, 3): 5, (1, 2): 5, (1, 3): 5, (1,): 2, (0,): 3}.items():
        assert np.abs(found.marginal(columns) - file.marginal(columns)).max() <= most, columns


def test_what_is_not_measured_of_a_town_is_as_in_its_region() -> None:
    """Sex is measured in regions alone: of every age it has the share of the region in all of its towns."""
    generator = Nested(areas="region > town", tables="region:age:sex + town:age", prior_weight=1e-6)
    found = sampled(generator, "1000000", noise=False, n=400_000)
    of_town, of_region = found.marginal((1, 2, 3)), found.marginal((0, 2, 3))[REGION_OF]
    shares = (table[..., 1] / np.maximum(table.sum(axis=-1), 1) for table in (of_town, of_region))
    apart = np.abs(np.subtract(*shares))[of_town.sum(axis=-1) > 2000]
    assert len(apart) > 10
    assert apart.max() < 0.03


def test_a_table_of_towns_helps_its_region_and_the_whole() -> None:
    """Only towns are measured of age, so all that is known of ages in regions are their sums."""
    found, file = sampled(Nested(areas="region > town", tables="sex + region:sex + town:age"), "2"), people()
    assert np.abs(found.marginal((0, 2)) - file.marginal((0, 2))).max() < 40
    assert np.abs(found.marginal((2,)) - file.marginal((2,))).max() < 40


@pytest.mark.parametrize("at_once", [1, 50, 10**6])
def test_every_row_of_the_whole_goes_to_one_area_however_many_are_dealt_out_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_ROWS_AT_ONCE", at_once)
    generator = Nested(areas="region > town", tables="age:sex + region:age + town")  # sex is in no table of an area
    charge = generator.charge(exact("1"))
    fitted = generator.fit(PrivateCounts(people(), Meter([charge])), charge, Background(plausibility=tied()))
    assert isinstance(fitted, model.NestedModel)
    assert fitted.whole is not None
    found, whole = fitted.sample(3000, np.random.default_rng(4)), fitted.whole.sample(3000, np.random.default_rng(4))
    assert np.array_equal(found.marginal((2, 3)), whole.marginal((0, 1)))
    assert not tied().forbidden(found.bins).any()


# --- The division of the budget


def relative_errors(shares: Mapping[tuple[int, ...], Fraction], wanted: Mapping[tuple[int, ...], float], power: int) -> float:
    """Sum of squares of noise in a mean cell over what is wanted, by the definition; power 1 for rho, 2 for epsilon."""
    return sum((LAYOUT.subset(c).n_cells / wanted[c]) ** 2 / float(share) ** power for c, share in shares.items())


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.parametrize(("family", "power"), [(Nested, 1), (NestedPure, 2)])
def test_no_other_division_has_less_of_what_is_wanted(family: type[NestedGenerator], power: int, seed: int) -> None:
    generator = family(**TABLES, wanted="0.001 > 0.02 > 0.3")
    shares = generator.shares(LAYOUT)
    assert sum(shares.values()) == 1
    wanted = {(2, 3): 0.001, (0, 2, 3): 0.02, (1, 2): 0.3, (1, 3): 0.3}
    assert set(shares) == set(wanted)
    moved = np.exp(np.random.default_rng(seed).normal(0, 0.3, len(shares)))
    weights = {columns: float(share) * by for (columns, share), by in zip(shares.items(), moved, strict=True)}
    others = {columns: Fraction(weight / sum(weights.values())) for columns, weight in weights.items()}
    assert relative_errors(shares, wanted, power) <= relative_errors(others, wanted, power) * (1 + 1e-9)


@pytest.mark.parametrize("family", [Nested, NestedPure])
@pytest.mark.parametrize("wanted", [None, "0.001 > 0.02 > 0.3"])
def test_tables_of_all_levels_together_cost_the_budget(family: type[NestedGenerator], wanted: str | None) -> None:
    generator = family(**TABLES, wanted=wanted)
    part = generator.part(generator.charge(exact("0.7")))
    assert sum(generator.measured_tables(LAYOUT, part).values()) == part
    assert part <= exact("0.7")


def test_rounds_share_measurements_only_when_they_are_divided_alike() -> None:
    one, other = Nested(**TABLES, wanted="1 > 2 > 3"), Nested(**TABLES, wanted="1 > 2 > 4")
    assert one.same_measurements(Nested(**TABLES, wanted="1 > 2 > 3", prior_weight=7))
    assert not one.same_measurements(other)
    assert not one.same_measurements(Nested(**TABLES))
    assert not one.same_measurements(NestedPure(**TABLES, wanted="1 > 2 > 3"))


# --- What a replaced record moves


@pytest.mark.parametrize("family", [Nested, NestedPure])
def test_no_neighbour_tells_more_than_the_charge_and_some_tell_all_of_it(family: type[NestedGenerator]) -> None:
    """Every two records of a country of two regions with two towns each, one of which is replaced by the other, in exact
    arithmetic: the loss of all tables of all levels is a sum of |change| eps_t / 2, or of change^2 rho_t / 2."""
    layout = Layout(columns=("region", "town", "sex"), sizes=(2, 4, 2))
    records = [(town // 2, town, sex) for town in range(4) for sex in range(2)]
    generator = family(areas="region > town", tables="sex + 2 region:sex + town + town:sex", wanted="1 > 2 > 3")
    charge, told = generator.charge(exact("0.3")), list[Fraction]()
    measured = []
    for record in records:
        rows = Counts.of(layout, [np.array([bin_, other]) for bin_, other in zip(record, (1, 2, 0), strict=True)])
        measured.append(generator.measure(PrivateCounts(rows, Meter([charge]), NoNoise()), charge))
    power = 1 if family is NestedPure else 2
    for one in measured:
        for other in measured:
            pairs = zip(one.tables, other.tables, strict=True)
            told.append(sum((a.cost * int((np.abs(a.values - b.values) ** power).sum()) / 2 for a, b in pairs), Fraction(0)))
    assert max(told) == generator.part(charge)


# --- Mistakes


@pytest.mark.parametrize(
    ("changes", "field", "found"),
    [
        ({"areas": "region > village"}, "areas", "village"),
        ({"areas": "town > town"}, "areas", "town"),
        ({"tables": "age + town:age"}, "tables", "missing"),
        ({"tables": "region:age + region:town"}, "tables", "region:town"),
        ({"tables": "region:height + town"}, "tables", "height"),
        ({"wanted": "1 > 2"}, "wanted", "1 > 2"),
    ],
)
def test_a_mistake_in_areas_or_tables_is_told_before_anything_is_spent(changes: dict[str, str], field: str, found: str) -> None:
    mistakes = list(Nested(**(TABLES | changes)).mistakes(LAYOUT, [(0, 1)]))
    assert [(mistake.field, found in mistake.text) for mistake in mistakes] == [(field, True)]


def test_areas_that_no_rule_ties_and_tables_that_are_too_large_are_told() -> None:
    assert list(Nested(**TABLES).mistakes(LAYOUT, [(0, 1)])) == []
    (untied,) = Nested(**TABLES).mistakes(LAYOUT, [])
    assert "No rule assigns each 'town' to one 'region'" in untied.text
    wide = Layout(columns=("region", "town", "a", "b"), sizes=(3, 6, 2000, 2000))
    fields = [mistake.field for mistake in Nested(areas="region > town", tables="region:a + town:b").mistakes(wide, [(0, 1)])]
    assert fields == ["tables"]
    assert list(Nested(areas="region > town", tables="region:a + town:a").mistakes(wide, [(0, 1)])) == []


@pytest.mark.parametrize("wanted", ["a > b", "0 > 1", "nan > 1", "-1 > 1"])
def test_what_is_wanted_are_numbers_above_0(wanted: str) -> None:
    with pytest.raises(ValueError, match="is not a list of numbers above 0"):
        Nested(areas="town", tables="town", wanted=wanted)
