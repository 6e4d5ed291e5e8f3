"""Which associations rows carry: what is said of them holds for rows of models that were fitted to made-up tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import Unexpected
from synthrelease.generators import GENERATORS
from synthrelease.generators.associations import (
    LEAST_REPEATED,
    Associations,
    CarriedPairs,
    Function,
    Strengths,
    TableNoise,
    Ties,
    cramers_v,
    noisy_strength,
    weakest_of,
)
from synthrelease.generators.base import Background, Generator
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace, RoundedGaussian
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import NoNoise, SeededEntropy
from synthrelease.releasing.attempt import generate, prepare
from synthrelease.spec.associations import planned_associations
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.examples import COLUMNS, examples

NEAR = 0.012
"""Share of the rows that whole rows and the end of a fit may displace."""
FAR = 0.03
"""Share of the rows by which a pair is far from independence, in the made-up table."""

ROWS = 60_000
HOMES = np.array([0, 0, 1, 1])
"""The region of each town."""
LAYOUT = Layout(columns=("region", "town", "a", "b", "c", "d"), sizes=(2, 4, 3, 3, 3, 2))


def made_up() -> Counts:
    """Every two columns are associated, and no others explain it."""
    random = np.random.default_rng(53)
    town = random.choice(4, ROWS, p=[0.4, 0.3, 0.2, 0.1])
    hidden = random.random(ROWS) + 0.2 * town
    a, b, c = ((hidden + 0.35 * random.random(ROWS)) * 2.2 for _ in range(3))
    d = hidden + 0.3 * random.random(ROWS) > 0.9
    bins = [HOMES[town], town, *(np.minimum(one.astype(int), 2) for one in (a, b, c)), d.astype(int)]
    return Counts.of(LAYOUT, bins)


def in_regions(*further: Mask) -> Plausibility:
    forbidden = np.ones((2, 4), dtype=bool)
    forbidden[HOMES, np.arange(4)] = False
    return Plausibility(layout=LAYOUT, masks=(Mask(columns=(0, 1), forbidden=forbidden), *further))


def associations(generator: Generator, rules: Plausibility) -> Associations:
    ruled = tuple(mask.columns for mask in rules.masks)
    return Associations(layout=LAYOUT, ties=generator.ties(LAYOUT), ruled=ruled, functions=((0, (1,)),))


def fitted(generator: Generator, table: Counts, rules: Plausibility, prior: Counts | None = None) -> Counts:
    """Rows of a model of the table; without noise where that can be left out."""
    measures = bool(list(generator.fixed_tables(LAYOUT)))
    charge = generator.charge(Fraction(20))
    private = PrivateCounts(table, Meter([charge]), NoNoise() if measures else SeededEntropy(5))
    model = generator.fit(private, charge, Background(plausibility=rules, prior=prior))
    return rules.filter(model.sample(table.total, np.random.default_rng(1)))


def shares(rows: Counts, columns: Sequence[int]) -> np.ndarray:
    return np.asarray(rows.marginal(columns) / rows.total)


def from_independence(rows: Counts, first: int, second: int, given: Columns = ()) -> float:
    """Share of the rows that would have to change for two columns to be independent among rows that agree in others."""
    joint = shares(rows, (first, second, *given)).reshape(LAYOUT.sizes[first], LAYOUT.sizes[second], -1)
    total = joint.sum(axis=(0, 1))
    expected = joint.sum(axis=1)[:, None] * joint.sum(axis=0)[None] / np.where(total > 0, total, 1)
    return float(np.abs(joint - expected).sum() / 2)


GAUSSIAN = {"family": "gaussian_marginals", "tables": "town + a:b + b:c + d"}
STATED = [
    ({"family": "marginals", "tables": "town:a + a:b + b:c + d"}, 5, 5),
    (GAUSSIAN, 3, 11),
    ({"family": "marginals", "tables": "town:a:b + c:d + region:d"}, 8, 0),
    ({"family": "marginals", "tables": "town + a + b + c + d", "only_measured": "all 2-way"}, 1, 14),
    ({"family": "nested", "areas": "region > town", "tables": "region + town:a + town:b + c:d + a:c + region:c"}, 8, 3),
    ({"family": "nested", "areas": "region > town", "tables": "region + town:a + a:d + region:b + c"}, 5, 7),
    ({"family": "nested_pure", "areas": "region > town", "tables": "region + town:a + region:b:c + c:d"}, 7, 3),
]


@pytest.mark.parametrize(("settings", "carried", "independent"), STATED)
def test_what_is_said_of_rows_is_true_of_them(settings: Mapping[str, str], carried: int, independent: int) -> None:
    table, rules = made_up(), in_regions()
    generator = GENERATORS[settings["family"]].model_validate(settings)
    found, rows = associations(generator, rules), fitted(generator, table, rules)
    said = [one.carried for one in found.pairs]
    assert (said.count("yes"), said.count("no")) == (carried, independent)
    for one in found.pairs:
        first, second = map(LAYOUT.index, one.columns)
        through = tuple(map(LAYOUT.index, one.through))
        assert from_independence(table, first, second) > FAR  # or nothing below would say anything
        if one:
            assert np.abs(shares(rows, (first, second)) - shares(table, (first, second))).sum() / 2 < NEAR, one
        elif one.carried == "no":
            assert from_independence(rows, first, second) < NEAR, one
        else:
            assert one.how == "through other columns"
            assert from_independence(rows, first, second, through) < NEAR, one
    for one in found.triples:
        columns = tuple(map(LAYOUT.index, one.columns))
        assert np.abs(shares(rows, columns) - shares(table, columns)).sum() / 2 < NEAR, one


def test_a_rule_ties_its_columns_and_nothing_else_of_them_is_carried() -> None:
    table = made_up()
    forbidden = np.zeros((3, 2), dtype=bool)
    forbidden[2, 0] = True
    rules = in_regions(Mask(columns=(4, 5), forbidden=forbidden))
    table = rules.filter(table)
    generator = GENERATORS["marginals"].model_validate({"family": "marginals", "tables": "town + a:b + b:c + d"})
    found, rows = associations(generator, rules), fitted(generator, table, rules)
    assert str(found.of("c", "d")) == "c × d: in part, plausibility rules"
    assert str(found.of("a", "d")) == "a × d: in part, through other columns (b)"
    assert from_independence(rows, 2, 5, (3,)) < NEAR
    assert from_independence(rows, 2, 5) > from_independence(rows, 2, 5, (3,))
    assert not shares(rows, (4, 5))[2, 0]
    assert found.of("town", "d").carried == "no"
    assert from_independence(rows, 1, 5) < NEAR


def test_a_public_table_ties_what_was_not_measured_and_is_not_said_to_be_carried() -> None:
    table, rules = made_up(), in_regions()
    settings = {"family": "marginals", "tables": "town + a:b + 0 b:c + d", "prior": "public.csv"}
    generator = GENERATORS["marginals"].model_validate(settings)
    other = Counts.of(LAYOUT, [*table.bins[:4], 2 - table.bins[4], table.bins[5]], table.counts)  # of the other direction
    found, rows = associations(generator, rules), fitted(generator, table, rules, other)
    assert (found.of("b", "c").carried, found.of("b", "c").how) == ("in part", "public table")
    assert found.of("a", "c").through == ("b",)
    assert found.of("b", "d").carried == "no"
    joint, in_public = shares(rows, (3, 4)), shares(other, (3, 4))
    direction = (joint - np.outer(joint.sum(1), joint.sum(0))) * (in_public - np.outer(in_public.sum(1), in_public.sum(0)))
    assert direction.sum() > 0  # the association in the rows is that of the public table


def test_a_sum_is_one_number_of_a_pair() -> None:
    table, rules = made_up(), in_regions()
    settings = {"family": "marginals", "tables": "town + a + b + c + d", "sums": "a[0..2]:b[0..2]"}
    generator = GENERATORS["marginals"].model_validate(settings)
    found, rows = associations(generator, rules), fitted(generator, table, rules)
    assert (found.of("a", "b").carried, found.of("a", "b").how) == ("in part", "one sum measured")
    steps = np.outer(np.arange(3), np.arange(3))
    assert abs((steps * (shares(rows, (2, 3)) - shares(table, (2, 3)))).sum()) < NEAR
    assert np.abs(shares(rows, (2, 3)) - shares(table, (2, 3))).sum() / 2 > NEAR
    assert found.of("a", "c").carried == "no"


@pytest.mark.parametrize("family", ["adaptive", "adaptive_pure"])
def test_of_tables_that_are_chosen_privately_nobody_knows_and_of_others_that_they_are_not_carried(family: str) -> None:
    table, rules = made_up(), in_regions()
    generator = GENERATORS[family].model_validate({"family": family, "tables": "town:a + b:c"})
    found = associations(generator, rules)
    assert {str(found.of(*pair)) for pair in (("town", "a"), ("b", "c"))} == {
        "town × a: not known, chosen privately",
        "b × c: not known, chosen privately",
    }
    rows = fitted(generator, table, rules)
    for first, second in ((1, 3), (2, 3), (2, 4), (3, 5), (4, 5)):
        assert found.of(LAYOUT.columns[first], LAYOUT.columns[second]).carried == "no"
        assert from_independence(rows, first, second) < NEAR < FAR < from_independence(table, first, second)


@pytest.mark.parametrize("family", list(GENERATORS))
def test_a_family_carries_the_tables_of_every_fit_and_of_a_private_choice_says_that_nobody_knows(family: str) -> None:
    layout = Layout(columns=tuple(COLUMNS), sizes=tuple(most + 1 for most in COLUMNS.values()))
    for settings in examples("generators", family):
        generator = GENERATORS[family].model_validate({"family": family, **settings})
        found = Associations(layout=layout, ties=generator.ties(layout))
        fixed = [set(columns) for columns in generator.fixed_tables(layout)]
        for pair in combinations(range(len(layout.sizes)), 2):
            one = found.of(*(layout.columns[place] for place in pair))
            assert not one or any(set(pair) <= columns for columns in fixed)
            assert fixed or one.carried in ("not known", "no")


# --- Separating columns, by all paths


def paths(near: Mapping[int, set[int]], at: int, to: int, before: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """All simple paths, each as the columns between."""
    if at == to:
        return [before[1:]]
    return [path for other in near[at] if other not in before for path in paths(near, other, to, (*before, at))]


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True).map(sorted).map(tuple), max_size=6))
def test_columns_through_which_a_pair_is_carried_are_on_every_path_and_none_is_left_over(tables: list[Columns]) -> None:
    layout = Layout(columns=tuple("abcdef"), sizes=(2,) * 6)
    found = Associations(layout=layout, ties=Ties(measured=tuple(tables)))
    near = {one: {other for table in tables if one in table for other in table} - {one} for one in range(6)}
    for first, second in combinations(range(6), 2):
        one = found.of(layout.columns[first], layout.columns[second])
        through, every = {layout.index(name) for name in one.through}, paths(near, first, second)
        assert bool(one) == any({first, second} <= set(table) for table in tables)
        assert (one.carried == "no") == (not every)
        if one.carried == "in part":
            assert all(through & set(path) for path in every)
            assert all(any(not (through - {each}) & set(path) for path in every) for each in through)
    assert CarriedPairs.of([found]).carried == sum(map(bool, found.pairs))
    together = [triple for triple in combinations(range(6), 3) if any(set(triple) <= set(table) for table in tables)]
    assert [tuple(map(layout.index, one.columns)) for one in found.triples] == together


def test_three_columns_are_carried_by_a_table_of_all_three_alone() -> None:
    layout = Layout(columns=tuple("abcde"), sizes=(2,) * 5)
    found = Associations(layout=layout, ties=Ties(measured=((0, 1, 2), (2, 3), (0, 3), (4,))))
    assert found.of("c", "a", "b").how == "measured together"
    assert str(found.of("a", "c", "d")) == "a × c × d: in part, in pairs"
    assert str(found.of("a", "c", "e")) == "a × c × e: no, independent"
    with pytest.raises(KeyError):
        found.of("a", "z")


def test_a_pair_of_members_is_carried_where_it_is_of_every_member() -> None:
    linked = Linked(
        key="home", size="size", names=("age", "job"), slots=(("age_1", "job_1"), ("age_2", "job_2")), whole=frozenset()
    )
    layout = Layout(columns=("area", "size", "age_1", "job_1", "age_2", "job_2"), sizes=(2,) * 6)
    measured = ((0, 2), (0, 4), (2, 3), (4, 5), (1, 3), (2, 4))
    found = Associations(layout=layout, ties=Ties(measured=measured), linked=linked)
    assert found.names == ("area", "size", "age", "job")
    assert found.of("area", "age")
    assert found.of("age", "job")
    assert str(found.of("size", "job")) == "size × job: in part, some members"
    assert found.of("age_1", "age_2")
    assert not found.of("job_1", "job_2")
    assert [one.columns for one in found.pairs if one] == [("area", "age"), ("age", "job")]
    assert CarriedPairs.of([found]).carried == 2


def test_a_pair_that_is_measured_in_the_first_members_alone_is_said_to_be_carried_in_part() -> None:
    """Each word of the list is that of the whole answer: a partner in part is no lost one, and no column has none untruly."""
    slots = (("age_1", "job_1"), ("age_2", "job_2"))
    linked = Linked(key="home", size="size", names=("age", "job"), slots=slots, whole=frozenset())
    layout = Layout(columns=("area", "size", "age_1", "job_1", "age_2", "job_2"), sizes=(2,) * 6)
    found = Associations(layout=layout, ties=Ties(measured=((1, 3), (2, 3), (0, 1))), linked=linked)
    pairs = CarriedPairs.of([found])
    assert (pairs.carried, pairs.partial) == (1, 2)
    assert pairs.only
    listed = [{line.column, other} for line in pairs.columns for other in line.others]
    assert listed == [{*one.columns} for one in found.pairs if one.carried == "yes"]


def test_a_column_of_members_is_meant_in_the_member_that_another_name_says() -> None:
    linked = Linked(
        key="home", size="size", names=("age", "job"), slots=(("age_1", "job_1"), ("age_2", "job_2")), whole=frozenset()
    )
    layout = Layout(columns=("area", "size", "age_1", "job_1", "age_2", "job_2"), sizes=(2,) * 6)
    found = Associations(layout=layout, ties=Ties(measured=((0, 4, 5), (2, 4), (0, 2))), linked=linked)
    assert found.of("age", "job_2").carried == found.of("age_2", "job").carried == found.of("age_2", "job_2").carried == "yes"
    assert found.of("area", "age_2", "job").carried == "yes"
    assert found.of("age", "job").how == "some members"
    for names in (("age", "age_2"), ("age_2", "age"), ("age", "age_1", "age_2"), ("job", "age_1", "age_2"), ("area", "area")):
        with pytest.raises(Unexpected, match="are the same|name different members"):
            found.of(*names)
    alone = Linked(key="home", size="size", names=("age",), slots=(("age_1",),), whole=frozenset())
    with pytest.raises(Unexpected, match="are the same. Name different columns"):
        Associations(layout=Layout(columns=("size", "age_1"), sizes=(2, 2)), ties=Ties(), linked=alone).of("age", "age_1")


def test_of_several_generators_what_all_of_them_carry_is_said() -> None:
    layout = Layout(columns=tuple("abc"), sizes=(2,) * 3)
    first = Associations(layout=layout, ties=Ties(measured=((0, 1), (1, 2))))
    second = Associations(layout=layout, ties=Ties(measured=((0, 1), (2,))))
    both = CarriedPairs.of([first, second])
    assert (both.pairs, both.carried, both.unknown) == (3, 1, 0)
    assert both.only
    assert [(line.column, line.others) for line in both.columns] == [("a", ("b",))]
    every = CarriedPairs.of(
        [replace(first, ties=Ties(measured=((0, 1),)), layout=Layout(columns=tuple("abcd"), sizes=(2,) * 4))]
    )
    assert [(line.column, line.others) for line in every.columns] == [("a", ("b",))]
    one_less = CarriedPairs.of([first])
    assert not one_less.only
    assert [(line.column, line.others) for line in one_less.columns] == [("a", ("c",))]
    assert weakest_of([first.of("b", "c"), second.of("b", "c")]).carried == "no"
    unknown = Associations(layout=layout, ties=Ties(chosen=((0, 1, 2),)))
    assert CarriedPairs.of([unknown]).unknown == 3


TABLES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True).map(sorted).map(tuple), max_size=4)


@given(TABLES, TABLES, TABLES, st.sampled_from([(), ((0, (1,)),), ((5, (2, 3)),)]), st.booleans())
def test_all_pairs_are_those_that_are_asked_one_by_one(
    measured: list[Columns], chosen: list[Columns], ruled: list[Columns], functions: tuple[Function, ...], members: bool
) -> None:
    layout = Layout(columns=("area", "size", "age_1", "job_1", "age_2", "job_2"), sizes=(2,) * 6)
    slots = (("age_1", "job_1"), ("age_2", "job_2"))
    linked = Linked(key="home", size="size", names=("age", "job"), slots=slots, whole=frozenset()) if members else None
    ties = Ties(measured=tuple(measured), chosen=tuple(chosen))
    found = Associations(layout=layout, ties=ties, ruled=tuple(ruled), functions=functions, linked=linked)
    pairs = list(combinations(found.names, 2))
    assert list(found.pairs) == [found.of(*pair) for pair in pairs]
    assert {pair for pair in pairs if found.measured(*pair) is not None} <= set(found.in_tables())
    words = [found.measured(*pair) for pair in pairs]
    every, carried = CarriedPairs.of([found]), [pair for pair, word in zip(pairs, words, strict=True) if word == "yes"]
    assert (every.pairs, every.carried, every.unknown) == (len(pairs), len(carried), words.count("not known"))
    assert every.partial == words.count("in part")
    lines = {frozenset([line.column, other]) for line in every.columns for other in line.others}
    assert lines == {frozenset(pair) for pair in (carried if every.only else set(pairs) - set(carried))}


# --- Noise


@pytest.mark.parametrize("law", [DiscreteLaplace(30.0), RoundedGaussian(30.0)])
def test_noise_in_rows_is_what_noise_drawn_again_and_again_moves_a_cell_by(law: CountNoise) -> None:
    """Region, a function of the town, and a, summed over the cells of town:a:b, against the mean size of many draws."""
    table = (1, 2, 3)
    found = Associations(
        layout=LAYOUT, ties=Ties(measured=(table,)), functions=((0, (1,)),), noise={table: TableNoise(law=law)}, rows=3000
    )
    random = np.random.default_rng(5)
    shape = (600, *LAYOUT.subset(table).sizes)
    if isinstance(law, RoundedGaussian):
        drawn = np.rint(random.normal(0, law.scale, shape))
    else:
        drawn = np.subtract(*random.geometric(-np.expm1(-1 / law.scale), (2, *shape)))
    of_region = np.stack([drawn[:, region == HOMES].sum(axis=1) for region in (0, 1)], axis=1)
    for names, noise in (
        (("town", "a", "b"), drawn),
        (("town", "a"), drawn.sum(axis=3)),
        (("a", "b"), drawn.sum(axis=1)),
        (("region", "a", "b"), of_region),
        (("region", "a"), of_region.sum(axis=3)),
        (("region", "town", "a"), drawn.sum(axis=3)),
    ):
        one, cells = found.of(*names), np.prod(noise.shape[1:])
        assert one.noise == pytest.approx(np.abs(noise).mean(), rel=0.08)  # 1.06 for two Laplace numbers
        assert one.mean_cell == pytest.approx(3000 / cells)
        if len(names) == 3:
            noise_of_all_cells = np.abs(noise).sum() / len(noise)  # in rows; mostly noise is where these are more than all rows
            pairs = all(found.of(*pair) for pair in combinations(names, 2))
            assert one.carried == ("yes" if pairs and noise_of_all_cells < 3000 else "mostly noise")


def test_mostly_noise_is_not_carried_and_a_table_with_less_noise_decides() -> None:
    layout = Layout(columns=("town", "year", "face"), sizes=(40, 4, 2))
    ties = Ties(measured=((0, 1), (0, 1, 2)))
    loud = Associations(layout=layout, ties=ties, noise={(0, 1): TableNoise(law=DiscreteLaplace(67.0))}, rows=400)
    one = loud.of("town", "year")
    assert (one.carried, bool(one), loud.measured("town", "year")) == ("mostly noise", False, "mostly noise")
    assert str(one).endswith("measured together (noise of 67 rows on average makes a Cramer's V of 3.04)")
    both = CarriedPairs.of([loud])
    assert (both.carried, both.noisy) == (2, (("town", "year"),))  # the noise of the other table is not known
    assert [(line.column, line.others) for line in both.columns] == [("town", ("year",))]
    assert not replace(loud, rows=40_000).of("town", "year")  # noise of a V of 0.19: nobody knows that they are associated more
    assert replace(loud, rows=40_000, strengths=Strengths(pairs={"town:year": 0.3})).of("town", "year")
    assert replace(loud, rows=100_000).of("town", "year")
    assert not replace(loud, rows=100_000, strengths=Strengths(pairs={"town:year": 0.05})).of("town", "year")
    assert replace(loud, rows=None).of("town", "year").mean_cell is None
    second = replace(
        loud, noise={(0, 1): TableNoise(law=DiscreteLaplace(67.0)), (0, 1, 2): TableNoise(law=DiscreteLaplace(0.5))}
    )
    assert second.of("town", "year")
    assert CarriedPairs.of([loud, second]).noisy == (("town", "year"),)
    assert weakest_of([loud.of("town", "year"), second.of("town", "year")]).carried == "mostly noise"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "sizes", "n_rows", "scale"),
    [
        (1.0, (8, 8), 5000, 20),
        (0.6, (8, 8), 5000, 20),
        (0.6, (8, 8), 50_000, 60),
        (0.5, (12, 6), 5000, 20),
        (0.2, (3, 2), 5000, 60),
    ],
)
def test_an_association_is_carried_where_fits_come_nearer_to_it_than_independent_columns_and_show_none_where_there_is_none(
    ratio: float, sizes: tuple[int, int], n_rows: int, scale: int
) -> None:
    """Fits to columns of more and more association, again and again, against what the plan and the noisy tables say."""
    random, layout = np.random.default_rng(3), Layout(columns=("a", "b"), sizes=sizes)
    margins = [ratio ** np.arange(size) / (ratio ** np.arange(size)).sum() for size in sizes]
    drafted = {"prior_weight": 30, "draw": "evenly"}
    generator = GENERATORS["gaussian_marginals"].model_validate({"family": "gaussian_marginals", "tables": "a:b", **drafted})
    charge = generator.charge(Fraction(1, scale**2))  # a rho; the noise of a cell has this scale
    noise = generator.count_noise(layout, charge)
    (of_table,) = noise.values()
    step = np.subtract.outer(np.arange(sizes[0]) / sizes[0], np.arange(sizes[1]) / sizes[1]) ** 2
    seen = dict[bool, list[float]]()
    for weight in (0.0, 0.1, 0.5, 2.0, 8.0, 30.0):
        joint = np.outer(*margins) * np.exp(-weight * step)
        counts = random.multinomial(n_rows, (joint / joint.sum()).ravel()).reshape(sizes)
        strength = cramers_v(counts)
        known = Strengths(
            shares={"a": list(counts.sum(axis=1) / n_rows), "b": list(counts.sum(axis=0) / n_rows)}, pairs={"a:b": strength}
        )
        planned = Associations(layout=layout, ties=generator.ties(layout), noise=noise, rows=n_rows, strengths=known).of(
            "a", "b"
        )
        table = Counts.of(layout, list(np.indices(sizes).reshape(2, -1)), counts.ravel())
        errors, shown = list[float](), list[float]()
        for seed in range(8):
            private = PrivateCounts(table, Meter([charge])).rehearsed(SeededEntropy(seed))
            model = generator.fit(private, charge, Background(plausibility=Plausibility(layout=layout, masks=())))
            rows = model.sample(n_rows, np.random.default_rng(seed)).marginal((0, 1))
            errors.append(abs(cramers_v(rows) - strength))
            noisy = counts + np.rint(random.normal(0, math.sqrt(of_table.law.variance_above), sizes))
            shown.append(noisy_strength(noisy, np.full(sizes, of_table.law.variance_above)))
        if weight == 0:  # noise makes of independent columns about what is said, and is seldom taken for an association
            assert planned.noise_strength == pytest.approx(np.mean(errors), rel=0.45)
            assert sum(value > planned.noise_strength for value in shown) <= 2
        seen.setdefault(bool(planned), []).append(float(np.mean(errors)) / max(strength, 1e-9))
        if strength > 3 * (planned.noise_strength or 0):  # the noisy tables know it
            assert sum(value > (planned.noise_strength or 0) for value in shown) >= 7
    assert max(seen[True]) < 1 < max(seen[False])


def test_rows_repeat_of_an_association_about_what_is_said() -> None:
    """The mean of ten fits, at a growing noise, against the share that is said (theory 12.15, associations that rows carry)."""
    table = made_up()
    counts = Counts.of(LAYOUT, [column[:: ROWS // 3000] for column in np.repeat(table.bins, table.counts, axis=1)])
    generator = GENERATORS["marginals"].model_validate({"family": "marginals", "tables": "a:b"})
    true, said = _dependence(counts), list[str]()
    for part in (0.02, 0.1, 0.2, 0.5, 3.0):  # scale of the noise over the mean cell
        charge = generator.charge(Fraction(2 / (part * counts.total / 9)).limit_denominator(10**7))
        noise = generator.count_noise(LAYOUT, charge)
        one = Associations(layout=LAYOUT, ties=generator.ties(LAYOUT), noise=noise, rows=counts.total).of("a", "b")
        drawn = list[np.ndarray]()
        for seed in range(10):
            private = PrivateCounts(counts, Meter([charge]), SeededEntropy(seed))
            model = generator.fit(private, charge, Background(plausibility=Plausibility(layout=LAYOUT, masks=())))
            drawn.append(_dependence(model.sample(counts.total, np.random.default_rng(seed))))
        assert one.repeats is not None
        assert float((true * np.mean(drawn, axis=0)).sum() / (true**2).sum()) == pytest.approx(one.repeats, abs=0.1)
        assert bool(one) == (one.repeats >= LEAST_REPEATED)
        said.append(one.carried)
    assert said == ["yes", *["mostly noise"] * 4]


def _dependence(rows: Counts) -> np.ndarray:
    joint = shares(rows, (2, 3))
    return np.asarray(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0)))


def test_columns_with_rare_bins_counted_apart_are_named_with_what_is_carried() -> None:
    layout = Layout(columns=("parity", "age", "sex"), sizes=(4, 2, 2))
    settings = {"family": "marginals", "tables": "parity:age + age:sex", "rare_bins": "parity[0 0 0 1]"}
    generator = GENERATORS["marginals"].model_validate(settings)
    found = Associations(layout=layout, ties=generator.ties(layout), apart=generator.bins_apart(layout))
    assert str(found.of("parity", "age")) == "parity × age: yes, measured together, except for rare bins of parity"
    assert not found.of("age", "sex").apart


# --- A survey


@pytest.mark.slow  # 1.4 processor seconds
def test_rows_of_the_labour_survey_have_what_they_are_said_to_carry() -> None:
    """How far the rows repeat an association: the regression of their differences from independence on those of the file."""
    spec = load_spec(ROOT / "configs" / "labour.toml")
    counts = read_public(ROOT / "public_data" / "labour_surrogate.csv.gz", spec.schema, spec.input, spec.raw)
    private = PrivateCounts(counts, Meter([])).with_plan(spec.plan.once).rehearsed(SeededEntropy(53))
    _, candidate = generate(spec, spec.space[0], private, prepare(spec, private, {}))
    file = counts.merge(candidate.transformation.layout, candidate.transformation.maps)
    (found,) = planned_associations(spec, counts.total)

    def differences(rows: Counts, columns: Columns) -> np.ndarray:
        joint = rows.marginal(columns) / rows.total
        return np.asarray(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0)))

    repeated = dict[tuple[str, ...], float]()
    for one in found.pairs:
        columns = tuple(map(file.layout.index, one.columns))
        true, released = differences(file, columns), differences(candidate.counts, columns)
        repeated[one.columns] = float((true * released).sum() / (true**2).sum())
        if one.carried == "no":
            assert np.abs(released).sum() / 2 < 0.02, one
    carried = [repeated[one.columns] for one in found.pairs if one]
    others = [repeated[one.columns] for one in found.pairs if "municipality" in one.columns and not one]
    assert len(carried) == 35  # of 43 that are measured: the noise of 8 makes a Cramer's V above 0.1
    assert min(carried) > 0.8
    assert all(one.noise is not None and one.mean_cell is not None and one.noise < one.mean_cell for one in found.pairs if one)
    assert max(carried) < 1.3
    assert np.median(others) < 0.7
    wages = np.array([np.nan if one is None else one for one in candidate.transformation.binning("wage").numbers], dtype=float)

    def mean_wages(rows: Counts, by: str) -> np.ndarray:
        among = rows.marginal((rows.layout.index(by), rows.layout.index("wage")))[:, ~np.isnan(wages)]
        return np.asarray(among @ wages[~np.isnan(wages)] / among.sum(axis=1))

    alike = {
        by: np.corrcoef(mean_wages(file, by), mean_wages(candidate.counts, by))[0, 1] for by in ("education", "municipality")
    }
    assert found.of("wage", "education")
    assert alike["education"] > 0.8
    assert found.of("wage", "municipality").through == ("birth_country", "labour_status", "design_weight")
    assert alike["municipality"] < 0.5
    assert found.of("wage", "quarter").carried == "no"
