"""Agreements of pairs: what they cost, for every two records of small worlds; what the model makes of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from pydantic import ValidationError

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.generators.agreements import AgreeingPairs, AgreementTerms, NoisyAgreements
from synthrelease.generators.base import Background
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.generators.marginals import GaussianMarginals, Marginals
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace, RoundedGaussian
from synthrelease.generators.measurements import NoisyMarginals
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import NoNoise, SeededEntropy
from synthrelease.studio.audit.enumeration import Recording
from tests.helpers.small import World

ROUNDED = Fraction(1, 10**9)
"""Of scales, which are floats."""
FIVE = World(dict.fromkeys("abcde", 1))
MIXED = World({"a": 1, "b": 2, "c": 1, "d": 1})
CHAIN, STAR = "a:b + b:c + c:d + d:e", "a:b + a:c + a:d + a:e"


def measured(
    world: World, kind: type[Marginals], tables: str, rows: list[int], entropy: SystemEntropy | None = None, **fields: object
) -> NoisyMarginals:
    generator = kind.model_validate({"tables": tables, "pairs": "agreements", **fields})
    charge = generator.charge(Fraction(1))
    return generator.measure(world.private(rows, [charge], entropy or NoNoise()), charge)


def largest_loss(world: World, kind: type[Marginals], tables: str) -> Fraction:
    """Return the largest loss of files that differ in one record, or its rho: by the scales of all noises that are drawn."""
    answers, scales = [], list[float]()
    for record in range(world.layout.n_cells):
        recorder = Recording()
        measured(world, kind, tables, [0, 3, record], recorder)
        answers.append(recorder.values)
        scales = recorder.scales
    losses = []
    for one, other in combinations(answers, 2):
        changes = [np.abs(first - second) for first, second in zip(one, other, strict=True)]
        if kind is GaussianMarginals:
            parts = [Fraction(int((each**2).sum())) / (2 * Fraction(s) ** 2) for each, s in zip(changes, scales, strict=True)]
        else:
            parts = [Fraction(int(each.sum())) / Fraction(s) for each, s in zip(changes, scales, strict=True)]
        losses.append(sum(parts, Fraction(0)))
    return max(losses)


@pytest.mark.parametrize(
    ("world", "tables", "least"),
    [
        (FIVE, "all 2-way", 1),
        (FIVE, "all 2-way + 2 all 1-way", 1),
        (FIVE, CHAIN, Fraction(3, 4)),
        (FIVE, STAR, Fraction(3, 4)),
        (MIXED, "all 2-way", 1),
        (MIXED, "all 2-way + 3 a + b:c:d", 1),
        (World({"a": 1, "b": 1}), "a:b", 1),
    ],
)
@pytest.mark.parametrize("kind", [Marginals, GaussianMarginals])
def test_whoever_is_replaced_all_answers_together_cost_no_more(
    kind: type[Marginals], world: World, tables: str, least: Fraction
) -> None:
    """Theory 12.17, agreements of pairs, for all pairs of records; where all pairs are measured, some pair costs just that."""
    loss = largest_loss(world, kind, tables)
    assert least - ROUNDED <= loss <= 1 + ROUNDED


@pytest.mark.parametrize("ratio", [1, 2, 5])
@pytest.mark.parametrize("pairs", [[*combinations(range(6), 2)], [(0, 1), (1, 2), (4, 5)], [(0, 3), (0, 5), (2, 3)]])
def test_the_price_is_at_least_the_largest_cut(pairs: list[Columns], ratio: int) -> None:
    """The columns in which a record changes cut the graph of pairs: by all sets of columns."""
    agreeing = AgreeingPairs(pairs=tuple(pairs))
    cuts = [
        sum(ratio for column in agreeing.columns if inside[column]) + sum(inside[i] != inside[j] for i, j in pairs)
        for inside in product([False, True], repeat=6)
    ]
    assert max(cuts) <= agreeing.price(ratio)
    if len(pairs) == 15:
        assert max(cuts) == agreeing.price(ratio)
    assert agreeing.price(1) == (6 + 1) ** 2 // 4 or len(pairs) < 15


@pytest.mark.parametrize("kind", [DiscreteLaplace, RoundedGaussian])
def test_a_cell_has_the_noise_that_is_said(kind: type[CountNoise]) -> None:
    """(c_i + c_j + a_ij - n) / 2 has a quarter of the three variances, and less noise than a table at the same cost."""
    agreeing, part = AgreeingPairs(pairs=tuple(combinations(range(20), 2))), Fraction(1, 3)
    of_count, of_agreement = agreeing.laws(part, kind)
    cell = agreeing.of_cells(part, kind)[1]
    assert cell.scale**2 == pytest.approx((2 * of_count.scale**2 + of_agreement.scale**2) / 4)
    assert cell.scale < 0.75 * kind.of_table(part / len(agreeing.pairs)).scale


def test_rows_of_second_bins_and_rows_that_agree_are_counted() -> None:
    rows = [FIVE.layout.n_cells - 1, 0, 0, 1, 16]  # all bins 1; none, twice; only the last; only the first
    found = measured(FIVE, Marginals, "a:b + a:e", rows).agreements
    assert found is not None
    assert (found.columns, found.pairs) == ((0, 1, 4), ((0, 1), (0, 4)))
    assert (found.counts.tolist(), found.agreements.tolist()) == ([2, 1, 2], [4, 3])


def test_pairs_of_more_bins_and_larger_tables_stay_tables() -> None:
    found = measured(MIXED, Marginals, "all 2-way + a:c:d + all 1-way", [0, 5])
    assert found.agreements is not None
    assert found.agreements.pairs == ((0, 2), (0, 3), (2, 3))
    assert {table.columns for table in found.tables} == {(0, 1), (1, 2), (1, 3), (0, 2, 3), (1,)}


def test_columns_that_are_merged_to_one_bin_are_left_out() -> None:
    found = measured(MIXED, Marginals, "all 2-way", [0, 5, 23])
    maps = [np.arange(2), np.arange(3), np.zeros(2, dtype=int), np.arange(2)]
    merged = found.merge(Layout(columns=tuple("abcd"), sizes=(2, 3, 1, 2)), maps).agreements
    assert merged is not None
    assert (merged.columns, merged.pairs) == ((0, 3), ((0, 3),))
    assert (len(merged.counts), merged.agreements.tolist(), len(merged.variances)) == (2, [2], 3)


def test_merged_numbers_are_those_of_merged_rows() -> None:
    """The two bins of an alternative may stand the other way round: measured with no noise, on merged bins, and then merged."""
    rows, sizes = [0, 5, 5, 17, 20, 23], (2, 2, 1, 2)
    layout = Layout(columns=tuple("abcd"), sizes=sizes)
    for turn_a, turn_d in product([1, -1], repeat=2):
        maps = [np.arange(2)[::turn_a], np.array([0, 1, 1]), np.zeros(2, dtype=int), np.arange(2)[::turn_d]]
        found = measured(MIXED, Marginals, "all 2-way", rows).merge(layout, maps).agreements
        bins = [place[column] for place, column in zip(maps, MIXED.counts(rows).expand().T, strict=True)]
        assert found is not None
        assert found.pairs == ((0, 3),)
        assert found.counts.tolist() == [bins[0].sum(), bins[3].sum()]
        assert found.agreements.tolist() == [(bins[0] == bins[3]).sum()]


@pytest.mark.parametrize("sizes", [(1, 2), (1, 1)])
def test_a_model_of_merged_columns_without_a_pair_is_fitted(sizes: tuple[int, ...]) -> None:
    """A configuration may merge all bins of a column, after the budget was spent on its pairs."""
    world = World(dict.fromkeys("ab", 1))
    generator = Marginals(tables="all 2-way", pairs="agreements")
    layout = Layout(columns=("a", "b"), sizes=sizes)
    maps = [np.minimum(np.arange(2), size - 1) for size in sizes]
    found = measured(world, Marginals, "all 2-way", [0, 1, 3]).merge(layout, maps)
    model = generator.model(found, Background(plausibility=Plausibility(layout=layout, masks=())))
    assert model.sample(3, np.random.default_rng(1)).total == 3


@pytest.mark.parametrize("sets", [[(0, 1, 3), (1, 2), (3, 4, 5)], [(0, 1, 2, 3, 4, 5)]])
def test_shares_potentials_and_covariances_are_those_of_all_cells(sets: list[Columns]) -> None:
    """By a sum over all cells of the whole table, cell by cell. With several cliques covariances are estimated from rows."""
    sizes, generator = (2, 2, 3, 2, 2, 2), np.random.default_rng(3)
    pairs = ((0, 1), (0, 3), (1, 3), (3, 4), (4, 5))
    tree = JunctionTree.of(sizes, sets)
    numbers = NoisyAgreements(
        columns=(0, 1, 3, 4, 5),
        counts=np.zeros(5, dtype=np.int64),
        pairs=pairs,
        agreements=np.zeros(5, dtype=np.int64),
        laws=(DiscreteLaplace(1.0), DiscreteLaplace(2.0)),
    )
    terms, parameters = AgreementTerms(tree, numbers), generator.normal(size=10)
    tables = [np.zeros([sizes[column] for column in clique]) for clique in tree.cliques]
    for home, columns, table in terms.potentials(parameters):
        assert columns == tuple(column for column in tree.cliques[home] if column in columns)
        shape = [2 if column in columns else 1 for column in tree.cliques[home]]
        tables[home] = tables[home] + table.reshape(shape)
    beliefs = tree.calibrate(tables)[1]
    cells = np.array(list(product(*map(range, sizes))))
    counted = np.array([*(cells[:, c] == 1 for c in numbers.columns), *(cells[:, i] == cells[:, j] for i, j in pairs)])
    weights = np.exp(parameters @ counted) / np.exp(parameters @ counted).sum()
    cliques = [np.exp(belief) for belief in beliefs]
    assert terms.shares(cliques) == pytest.approx(counted @ weights)
    centred = counted - (counted @ weights)[:, None]
    layout = Layout(columns=tuple("abcdef"), sizes=sizes)

    def draw(n: int) -> Counts:
        return Counts.of(layout, list(cells.T), generator.multinomial(n, weights))

    near = 0.01 if len(sets) == 3 else 1e-9  # of 20,000 rows
    assert terms.covariances(cliques, draw) == pytest.approx((centred * weights) @ centred.T, abs=near)


def test_a_model_of_many_cliques_is_fitted_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds of one number, and marks of which a row has one at most: steps that take each clique alone go on and on."""
    monkeypatch.setattr("synthrelease.generators.marginals.DENSE_LIMIT", 2**9)
    monkeypatch.setattr("synthrelease.generators.agreements.ROOM", 2**6)
    random, n, steps = np.random.default_rng(7), 20_000, list[int]()
    hidden, number = random.normal(size=n), random.normal(size=n)
    category = np.clip((1.5 * number + hidden + 3).astype(int), 0, 6)
    bits = [(number > limit).astype(np.int64) for limit in (-1.5, -0.7, 0, 0.7, 1.4)]
    bits += [(category == place).astype(np.int64) for place in range(6)]
    bits += [(2 * hidden + random.normal(size=n) > place / 10).astype(np.int64) for place in range(3)]
    d = len(bits)
    calibrate = JunctionTree.calibrate
    monkeypatch.setattr(JunctionTree, "calibrate", lambda *given: (steps.append(1), calibrate(*given))[1])
    layout = Layout(columns=tuple(f"c{place}" for place in range(d)), sizes=(2,) * d)
    generator = GaussianMarginals(tables="all 2-way", pairs="agreements", prior_weight=30)
    charge = generator.charge(Fraction(1, 20))
    private = PrivateCounts(Counts.of(layout, bits), Meter([charge])).rehearsed(SeededEntropy(3))
    rows = generator.fit(private, charge, Background(plausibility=Plausibility(layout=layout, masks=()))).sample(n, random)
    assert len(steps) < 300
    for column in range(d):
        assert rows.marginal((column,))[1] == pytest.approx(bits[column].sum(), abs=150)


def _rows(world: World, n: int, seed: int) -> list[int]:
    """Return rows whose columns are associated."""
    generator = np.random.default_rng(seed)
    hidden = generator.random(n)
    bits = [(generator.random(n) < 0.1 + 0.7 * hidden * (place + 1) / 5).astype(int) for place in range(5)]
    return [int(row) for row in np.dot(np.transpose(bits), 2 ** np.arange(5)[::-1])]


def test_the_model_of_exact_numbers_is_that_of_exact_tables() -> None:
    """The table of largest entropy with given tables of all pairs is one: however they were told. And rules hold."""
    rows = _rows(FIVE, 2000, 4)
    never = np.array([[False, False], [False, True]])
    kept = [row for row in rows if not (row >> 4 & 1 and row & 1)]
    rules = Plausibility(layout=FIVE.layout, masks=(Mask(columns=(0, 4), forbidden=never),))
    drawn = []
    for pairs in ("agreements", None):
        generator = Marginals(tables="all 2-way", pairs=pairs, prior_weight=0.01)
        charge = generator.charge(Fraction(10))
        found = generator.measure(FIVE.private(kept, [charge], NoNoise()), charge)
        model = generator.model(found, Background(plausibility=rules))
        drawn.append(model.sample(100_000, np.random.default_rng(5)).dense())
    assert not drawn[0].reshape((2,) * 5)[1, :, :, :, 1].any()
    assert np.abs(drawn[0] - drawn[1]).max() <= 200


def test_a_model_without_room_for_all_pairs_takes_those_that_stand_out() -> None:
    """Thirty columns in pairs of twins, each a copy of the other in nine rows of ten: the pairs of twins are kept."""
    generator, n = np.random.default_rng(6), 4000
    first = generator.integers(2, size=(n, 15))
    twins = np.where(generator.random((n, 15)) < 0.9, first, 1 - first)
    bits = np.stack([first, twins], axis=2).reshape(n, 30)
    layout = Layout(columns=tuple(f"c{place}" for place in range(30)), sizes=(2,) * 30)
    family = GaussianMarginals(tables="all 2-way", pairs="agreements", prior_weight=10)
    assert family.ties(layout).chosen == tuple(combinations(range(30), 2))
    assert not list(family.mistakes(layout, ()))
    agreeing = family.agreeing(layout)
    laws = agreeing.laws(Fraction(1, 4), RoundedGaussian)
    alike = np.array([(bits[:, i] == bits[:, j]).sum() for i, j in agreeing.pairs])
    noisy = NoisyAgreements(
        columns=agreeing.columns,
        counts=bits.sum(axis=0) + np.rint(generator.normal(0, laws[0].scale, 30)).astype(np.int64),
        pairs=agreeing.pairs,
        agreements=alike + np.rint(generator.normal(0, laws[1].scale, len(alike))).astype(np.int64),
        laws=laws,
    )
    model = family.model(
        NoisyMarginals(layout=layout, n=n, tables=(), agreements=noisy),
        Background(plausibility=Plausibility(layout=layout, masks=())),
    )
    rows: Counts = model.sample(n, generator)
    for place in range(0, 30, 2):
        agreed = rows.counts[rows.bins[place] == rows.bins[place + 1]].sum() / n
        assert agreed == pytest.approx(0.9, abs=0.08)


def test_sums_beside_agreements_hold_where_there_is_no_table() -> None:
    """Rows of three columns that are alike: the second column is known by its agreements, and the sum says the same."""
    world = World(dict.fromkeys("abc", 1))
    generator = Marginals(tables="all 2-way", pairs="agreements", sums="a[0 5]:b[0 1]", prior_weight=0.01)
    charge = generator.charge(Fraction(10))
    found = generator.measure(world.private([0] * 30 + [7] * 70, [charge], NoNoise()), charge)
    assert not found.tables
    model = generator.model(found, Background(plausibility=Plausibility(layout=world.layout, masks=())))
    drawn = model.sample(10_000, np.random.default_rng(1)).dense().ravel()
    assert (drawn[0], drawn[7]) == (pytest.approx(3000, abs=20), pytest.approx(7000, abs=20))


def test_numbers_that_contradict_one_another_end_in_a_rejected_round() -> None:
    """Of four columns three agree in at least one pair: no row is as if none did. The budget is spent by then."""
    layout = Layout(columns=tuple("abcd"), sizes=(2,) * 4)
    family = Marginals(tables="all 2-way", pairs="agreements", prior_weight=0.001)
    agreeing, n = family.agreeing(layout), 10**8
    noisy = NoisyAgreements(
        columns=agreeing.columns,
        counts=np.full(4, n // 2),
        pairs=agreeing.pairs,
        agreements=np.zeros(6, dtype=np.int64),
        laws=agreeing.laws(Fraction(1000), DiscreteLaplace),
    )
    with pytest.raises(RejectedRound):
        family.model(
            NoisyMarginals(layout=layout, n=n, tables=(), agreements=noisy),
            Background(plausibility=Plausibility(layout=layout, masks=())),
        )


def test_rare_bins_and_agreements_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="Set either pairs or rare_bins, but not both"):
        Marginals(tables="all 2-way", pairs="agreements", rare_bins="a[0 1]")
