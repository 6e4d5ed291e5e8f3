"""The adaptive generator: what it spends, what it finds, rules as exact zeros, limits; its public parts against slow ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import PrivateFailure
from synthrelease.generators import adaptive, clique_tables
from synthrelease.generators import adaptive_mechanism as mechanism
from synthrelease.generators.adaptive import (
    Adaptive,
    AdaptiveGenerator,
    AdaptiveModel,
    AdaptivePure,
    _rounds_within_noise,
    learn,
)
from synthrelease.generators.adaptive_mechanism import ExactlyGaussian, Gaussian, Laplace, PrivateTables
from synthrelease.generators.base import Background
from synthrelease.generators.bin_groups import divided, grouped_rules, groups_of, rule_classes, split_masks
from synthrelease.generators.clique_tables import CompetingTables, are_apart, joining_sets, pair_shares
from synthrelease.generators.junction_tree import JunctionTree, spread
from synthrelease.generators.maximum_entropy import ProportionalFit, Target, consistent, summed_onto, tolerances_of
from synthrelease.privacy.charges import Charge, Meter, gaussian, zero_concentrated
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.studio.audit.enumeration import Recording
from tests.helpers.small import layout_of

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("family", [Adaptive, AdaptivePure])
SIZES = (3, 4, 2, 3)


def table_of(seed: int, sizes: tuple[int, ...] = SIZES, n: int = 4000) -> Counts:
    """Columns that depend on the one before each."""
    generator = np.random.default_rng(seed)
    bins = [generator.integers(0, sizes[0], n)]
    for size in sizes[1:]:
        kept = generator.random(n) < 0.8
        bins.append(np.where(kept, bins[-1] * size // max(1, bins[-1].max() + 1), generator.integers(0, size, n)))
    return Counts.of(layout_of(*sizes), bins)


def fitted(
    generator: AdaptiveGenerator, table: Counts, budget: Fraction, background: Background, entropy: SystemEntropy | None = None
) -> AdaptiveModel:
    charge = generator.charge(budget)
    private = PrivateCounts(table, Meter([charge]), entropy or SystemEntropy())
    return generator.fit(private, charge, background)  # type: ignore[attr-defined, no-any-return]


def no_rules(layout: Layout) -> Background:
    return Background(plausibility=Plausibility(layout=layout, masks=()))


def distance(left: Counts, right: Counts, columns: Columns) -> float:
    return float(np.abs(left.marginal(columns) - right.marginal(columns)).sum()) / 2 / left.total


# --- What is spent


@pytest.mark.parametrize("kind", [Gaussian, ExactlyGaussian, Laplace])
@pytest.mark.parametrize("tables", ["all 2-way", "all 2-way + all 3-way", "all 1-way"])
@pytest.mark.parametrize("budget", [Fraction(1, 50), Fraction(3)])
@pytest.mark.parametrize("spared", [2, 6_000])
def test_the_whole_budget_is_spent_and_nothing_more(
    kind: type[PrivateTables], tables: str, budget: Fraction, spared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of all parts that were taken is the budget, exactly; also where no table may be chosen."""
    monkeypatch.setattr(adaptive, "_SPARED", spared)
    table = table_of(0)
    for cells in (1, 2**16):
        private = kind(table, budget, SystemEntropy())
        plan = Adaptive(tables=tables, clique_cells=cells).plan(table.layout)
        learn(private, table.layout, table.total, no_rules(table.layout), plan)
        assert private.left == 0


FAMILIES = pytest.mark.parametrize(
    ("family", "kind"), [(Adaptive, Gaussian), (Adaptive, ExactlyGaussian), (AdaptivePure, Laplace)]
)


def least_part(family: type[AdaptiveGenerator], kind: type[PrivateTables], table: Counts, budget: Fraction) -> Fraction:
    """Of what is asked in the rounds, by proposition 12.11: c (1 - c) / 8 of a round's first part, c the share of a choice."""
    plan = family(tables="all 2-way").plan(table.layout)
    fresh = kind(table, budget, SeededEntropy(0))
    plan, _ = _rounds_within_noise(fresh, table.total, plan, len(table.layout.sizes))
    return plan.choice * (1 - plan.choice) / 8 * (1 - plan.first - plan.last) * budget / plan.rounds


@FAMILIES
@pytest.mark.parametrize("spared", [1, 6_000])
@pytest.mark.parametrize("taught", [0, 40])
@pytest.mark.parametrize("sought", ["the smallest table", "the largest table", "any table"])
def test_whatever_is_answered_every_part_is_a_fixed_share_of_the_budget(
    family: type[AdaptiveGenerator],
    kind: type[PrivateTables],
    taught: int,
    sought: str,
    spared: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Noise may choose any table and answer anything: also the smallest one again and again, which teaches nothing."""
    monkeypatch.setattr(adaptive, "_SPARED", spared)
    table = table_of(3, (2, 2, 2, 12, 12), n=20_000)
    parts, draws = list[Fraction](), np.random.default_rng(8)

    class Answering(kind):  # type: ignore[misc, valid-type]
        def choice(self, asked: CompetingTables, part: Fraction) -> int:
            self._pay(part)
            at = {"the smallest table": int(np.argmin(asked.sizes)), "the largest table": int(np.argmax(asked.sizes))}
            self.chosen_one = asked.some(np.array([found := at.get(sought, int(draws.integers(len(asked))))]))
            return found

        def table(self, columns: Columns, part: Fraction) -> np.ndarray:
            if len(columns) == 1:
                return super().table(columns, part)
            self._pay(part)
            (start,), (cells,), (handicap,) = self.chosen_one.starts, self.chosen_one.sizes, self.chosen_one.handicaps
            expected = self.chosen_one.expected[start : start + cells].reshape([table.layout.sizes[one] for one in columns])
            alternating = np.where(np.arange(expected.size) % 2, 1, -1).reshape(expected.shape)
            return expected + taught * handicap * alternating

        def _pay(self, part: Fraction) -> None:
            parts.append(part)
            assert len(parts) < 500  # parts that shrink go on and on
            self._take(part)

    private = Answering(table, Fraction(1), SeededEntropy(4))
    learn(private, table.layout, table.total, no_rules(table.layout), family(tables="all 2-way").plan(table.layout))
    assert private.left == 0
    assert len(parts) > 4
    assert min(parts) >= least_part(family, kind, table, Fraction(1))


@FAMILIES
def test_at_many_budgets_a_fit_ends_with_parts_of_a_fixed_share(
    family: type[AdaptiveGenerator], kind: type[PrivateTables]
) -> None:
    """By answers with noise, 504 fits in all: parts went down to 3e-10 of the budget, and some fits failed for it."""
    least = list[Fraction]()

    class Watched(kind):  # type: ignore[misc, valid-type]
        def _take(self, part: Fraction) -> None:
            least[-1] = min(least[-1], part)
            super()._take(part)

    for number in range(168):
        sizes = [(3, 4, 2, 3), (5, 2, 2, 9, 3), (2, 3, 6, 8), (2, 12, 7)][number % 4]
        table = table_of(number, sizes, n=[400, 4000][number % 2])
        budget = Fraction(number % 50 + 1, [1000, 50, 10][number % 3])
        least.append(budget)
        private = Watched(table, budget, SeededEntropy(number))
        learn(private, table.layout, table.total, no_rules(table.layout), family(tables="all 2-way").plan(table.layout))
        assert private.left == 0
        assert least[-1] >= least_part(family, kind, table, budget)


@pytest.mark.parametrize(("charge", "kind"), [(gaussian, ExactlyGaussian), (zero_concentrated, Gaussian)])
def test_choices_are_priced_as_the_charge_says(
    charge: Callable[..., Charge], kind: type[PrivateTables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the budget is the rho of the charge."""
    asked, table = list[tuple[type, Fraction]](), table_of(0)

    def within(counts: Counts, kind: type, budget: Fraction, **_: object) -> None:
        asked.append((kind, budget))
        raise ValueError

    monkeypatch.setattr(mechanism, "opened", within)
    paid = charge("generation", Fraction(1, 3), "")
    private = PrivateCounts(table, Meter([paid]), SystemEntropy())
    with pytest.raises(PrivateFailure):
        Adaptive().fit(private, paid, no_rules(table.layout))
    assert asked == [(kind, Fraction(1, 3))]


@BOTH
def test_the_public_part_is_a_function_of_the_answers(family: type[AdaptiveGenerator]) -> None:
    """The same noise and choices on the same table: the same model; rows depend on their generator alone."""
    table = table_of(1)
    models = [fitted(family(), table, Fraction(1), no_rules(table.layout), SeededEntropy(3)) for _ in range(2)]
    samples = [model.sample(500, np.random.default_rng(0)) for model in models]
    assert samples[0].same_as(samples[1])
    other = fitted(family(), table, Fraction(1), no_rules(table.layout), SeededEntropy(4)).sample(500, np.random.default_rng(0))
    assert not samples[0].same_as(other)


# --- What it finds


@BOTH
def test_it_finds_the_tables_that_matter(family: type[AdaptiveGenerator]) -> None:
    """Each column depends on the one before: with little noise all pairs are near, which no model of single columns is."""
    table = table_of(2)
    sample = fitted(family(), table, Fraction(20), no_rules(table.layout)).sample(table.total, np.random.default_rng(0))
    apart = np.outer(table.marginal((0,)), table.marginal((1,))) / table.total**2
    assert np.abs(apart - table.marginal((0, 1)) / table.total).sum() / 2 > 0.2
    assert max(distance(table, sample, pair) for pair in combinations(range(4), 2)) < 0.02


def test_weights_say_where_to_look_and_terms_of_weight_0_are_not_measured() -> None:
    layout = layout_of(2, 3, 2)
    generator = Adaptive(tables="0.5 all 2-way + 2 c0:c1 + c2 + 0 c0:c1:c2")
    assert generator.weights(layout) == {(0, 1): 5, (0, 2): 1, (1, 2): 1, (0, 1, 2): 0}
    assert generator.plan(layout).tables[0, 1, 2] == 0
    wide = Adaptive(tables="all 3-way + 0.5 all 2-way + 2 c0:c1:c2 + all 3-way with c0").weights(layout_of(2, 2, 2, 2))
    assert {columns: wide[columns] for columns in ((0, 1, 2), (0, 1, 3), (1, 2, 3), (2, 3))} == {
        (0, 1, 2): 8,
        (0, 1, 3): 4,
        (1, 2, 3): 2,
        (2, 3): 1,
    }
    assert (1, 2, 3) not in wide
    with pytest.raises(ValueError, match="All tables in .* have weight 0"):
        Adaptive(tables="0 all 2-way")
    told = [mistake.text.split(".")[0] for mistake in generator.mistakes(layout_of(2), [])]
    assert told == ["There is no column 'c1'", "There is no column 'c2'"]


@BOTH
@pytest.mark.parametrize("cells", [1, 6, 12, 24])
@pytest.mark.parametrize("spared", [1, 6_000])
def test_no_clique_grows_above_the_limit(
    family: type[AdaptiveGenerator], cells: int, spared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But single columns stay whole."""
    monkeypatch.setattr(adaptive, "_SPARED", spared)
    table = table_of(3)
    model = fitted(family(clique_cells=cells), table, Fraction(5), no_rules(table.layout))
    assert model.learned.fit.tree.largest <= max(cells, *SIZES)


@BOTH
def test_a_prior_is_where_the_model_starts(family: type[AdaptiveGenerator]) -> None:
    """With a prior of huge weight the model is the public table on what it keeps together, whatever the private one is."""
    public = table_of(4)
    private = Counts.of(
        public.layout, [(bins + 1) % size for bins, size in zip(public.bins, SIZES, strict=True)], public.counts
    )
    generator = family(tables="all 1-way + c0:c1 + 0 c0:c1:c2:c3", prior_weight=1e9, prior="public.csv")
    background = Background(plausibility=Plausibility(layout=public.layout, masks=()), prior=public)
    sample = fitted(generator, private, Fraction(2), background).sample(4000, np.random.default_rng(0))
    assert distance(public, sample, (0, 1, 2)) < 0.02 < 0.2 < distance(public, private, (0, 1, 2))


# --- Rules


def rules_of(layout: Layout) -> Plausibility:
    """c0 and c1 exclude each other in part, and so do c0 and c3; joined in one mask, as the domain makes them."""
    forbidden = np.zeros((3, 4, 3), dtype=bool)
    forbidden[0, 1:] = True
    forbidden[1:, 0] = True
    forbidden[2, :, 0] = True
    return Plausibility(layout=layout, masks=(Mask(columns=(0, 1, 3), forbidden=forbidden),))


@BOTH
@pytest.mark.parametrize("budget", ["0.001", "1"])
@pytest.mark.parametrize("ordered", [(), (3, 4, 0, 3)])
def test_rules_are_exact_zeros_before_any_filter(
    family: type[AdaptiveGenerator], budget: str, ordered: tuple[int, ...]
) -> None:
    """Also when bins are grouped, and however large the noise is."""
    table = table_of(5)
    rules = rules_of(table.layout)
    model = fitted(family(), table, Fraction(budget), Background(plausibility=rules, ordered=ordered))
    for seed in range(5):
        sample = model.sample(3000, np.random.default_rng(seed))
        assert not rules.forbidden(sample.bins).any()


def test_joined_rules_come_apart_into_as_few_pairs_as_needed() -> None:
    (mask,) = rules_of(layout_of(*SIZES)).masks
    parts = split_masks([mask])
    assert [part.columns for part in parts] == [(0, 1), (0, 3)]
    again = np.zeros((3, 4, 3), dtype=bool)
    again |= parts[0].forbidden[:, :, None]
    again |= parts[1].forbidden[:, None, :]
    assert np.array_equal(again, mask.forbidden)
    odd = np.indices((2, 2, 2)).sum(axis=0) % 2 == 1  # of no use in pairs: each pair of bins is allowed
    assert split_masks([Mask(columns=(0, 1, 2), forbidden=odd)])[0].columns == (0, 1, 2)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_row_of_groups_is_plausible_just_when_all_its_rows_of_bins_are(seed: int) -> None:
    generator = np.random.default_rng(seed)
    layout = layout_of(5, 4)
    mask = Mask(columns=(0, 1), forbidden=np.repeat(generator.random((3, 4)) < 0.4, [2, 2, 1], axis=0))
    maps = [
        groups_of(
            generator.integers(-5, 60, size).astype(float),
            rule_classes(column, size, [mask]),
            int(generator.integers(0, size + 1)),
            20,
            40,
        )
        for column, size in enumerate(layout.sizes)
    ]
    for into in maps:
        assert sorted(set(into.tolist())) == list(range(into.max() + 1))
        assert list(np.unique(into, return_index=True)[1]) == sorted(np.unique(into, return_index=True)[1])
    grouped = Layout(columns=layout.columns, sizes=tuple(int(into.max()) + 1 for into in maps))
    (coarse,) = grouped_rules([mask], maps, grouped).masks
    for a, b in product(range(5), range(4)):
        assert coarse.forbidden[maps[0][a], maps[1][b]] == mask.forbidden[a, b]


def test_neighbours_are_put_together_until_they_are_large_and_never_across_the_end_of_the_order() -> None:
    counts = np.array([50.0, 1, 2, 30, 9, 9, 9, 40])
    assert groups_of(counts, [0] * 8, 7, 5, 25).tolist() == [0, 1, 1, 1, 2, 2, 2, 3]
    assert groups_of(counts, [0] * 8, 0, 5, 25).tolist() == [0, 1, 1, 2, 3, 4, 5, 6]
    assert groups_of(counts, [0, 0, 1, 1, 1, 1, 1, 1], 8, 5, 25).tolist() == [0, 0, 1, 1, 2, 2, 2, 3]


def seen_by(
    family: type[AdaptiveGenerator], table: Counts, background: Background
) -> tuple[list[CompetingTables], list[tuple[Columns, Fraction]]]:
    """The tables that compete in every choice, and those that are measured, with their parts; rho or epsilon is 1."""
    competing, measured = list[CompetingTables](), list[tuple[Columns, Fraction]]()
    kind = Gaussian if family is Adaptive else Laplace

    class Watched(kind):  # type: ignore[misc, valid-type]
        def choice(self, asked, part):  # type: ignore[no-untyped-def]
            competing.append(asked)
            return super().choice(asked, part)

        def table(self, columns, part):  # type: ignore[no-untyped-def]
            measured.append((columns, part))
            return super().table(columns, part)

    plan = family(tables="all 2-way").plan(table.layout)
    learn(Watched(table, Fraction(1), SeededEntropy(4)), table.layout, table.total, background, plan)
    return competing, [each for each in measured if len(each[0]) > 1]


def test_larger_tables_get_larger_parts_where_more_rounds_are_to_come() -> None:
    """The l1 noise of k cells is k / sqrt(part): at a given sum of parts all tables together have the least at k^(2/3)."""
    table = table_of(1, (2, 3, 6, 8), n=20_000)
    measured = seen_by(Adaptive, table, no_rules(table.layout))[1]
    cells = [math.prod(table.layout.sizes[column] for column in columns) for columns, _ in measured[:-1]]
    parts = [float(part) for _, part in measured[:-1]]
    assert len(set(cells)) > 2
    scaled = [part / k ** (2 / 3) for part, k in zip(parts, cells, strict=True)]
    doubled = [round(math.log2(one / scaled[0])) for one in scaled]
    assert doubled == sorted(doubled)  # parts double when little is learned, and never shrink again
    assert [one / 2**times for one, times in zip(scaled, doubled, strict=True)] == pytest.approx(
        [scaled[0]] * len(scaled), rel=0.05
    )
    pure = seen_by(AdaptivePure, table, no_rules(table.layout))[1]
    assert [round(math.log2(part / pure[0][1]), 6) % 1 for _, part in pure[:-1]] == [0.0] * (len(pure) - 1)


def test_cells_that_the_rules_exclude_are_no_handicap() -> None:
    table = table_of(1, (2, 4, 4), n=20_000)
    forbidden = np.eye(4, dtype=bool)
    rules = Plausibility(layout=table.layout, masks=(Mask(columns=(1, 2), forbidden=forbidden),))
    asked = seen_by(AdaptivePure, table, Background(plausibility=rules))[0][0]
    handicaps = dict(zip(asked.columns, asked.handicaps.tolist(), strict=True))
    assert handicaps[1, 2] == pytest.approx(handicaps[0, 1] * 12 / 8, abs=2)


def test_a_large_bin_stays_alone_beside_neighbours_that_are_not_few() -> None:
    """With 25 rows for a group, 10 are not few: a spike after 12 rows and before 11 is a group of its own, but not after 9."""
    assert groups_of(np.array([6.0, 6, 90, 6, 5]), [0] * 5, 5, 5, 25).tolist() == [0, 0, 1, 2, 2]
    assert groups_of(np.array([5.0, 4, 90, 5, 4]), [0] * 5, 5, 5, 25).tolist() == [0, 0, 0, 0, 0]


def test_rows_are_divided_in_proportion_to_the_counts_inside_each_group() -> None:
    into, counts = np.array([0, 0, 1, 1, 1]), np.array([30, 10, -5, 20, 20])
    groups = np.repeat([0, 1], [400, 100])
    bins = divided(groups, into, counts, np.random.default_rng(0))
    assert np.array_equal(into[bins], groups)
    found = np.bincount(bins, minlength=5)
    assert found[0] - found[1] == 20 or abs(found[0] - 210) <= 1  # the nearest counts with this sum: both rise by the same
    assert found[2] <= 26
    assert found.sum() == 500


def test_a_few_rows_more_are_divided_as_all_of_them() -> None:
    """Rows are drawn in the place of some that break a rule: the bins of a group have the same shares there."""
    table = Counts.of(
        Layout(columns=("a", "b"), sizes=(5, 2)), [np.repeat(np.arange(5), [900, 60, 40, 30, 20]), np.arange(1050) % 2]
    )
    charge = Adaptive().charge(Fraction(1, 200))
    private = PrivateCounts(table, Meter([charge]), SeededEntropy(2))
    model = Adaptive().fit(private, charge, Background(plausibility=no_rules(table.layout).plausibility))
    into = model.learned.maps[0]
    group = int(np.bincount(into).argmax())
    members = np.flatnonzero(into == group)
    assert len(members) > 2
    generator = np.random.default_rng(1)
    whole = np.mean([model.sample(1050, generator).marginal((0,))[members] for _ in range(40)], axis=0)
    few = np.sum([model.sample(20, generator).marginal((0,))[members] for _ in range(2100)], axis=0)
    assert few / few.sum() == pytest.approx(whole / whole.sum(), abs=0.03)


def test_where_noise_is_loud_there_are_as_many_rounds_as_it_allows_and_choices_get_more() -> None:
    """The noise of a cell, sqrt(2 / pi / part), is 0.004 of 1,000 rows at a part of 1 / (8 pi); 3/4 of 3/5 goes to tables."""
    sizes = (2,) * 6
    plan = Adaptive().plan(Layout(columns=tuple("abcdef"), sizes=sizes))
    assert (plan.rounds, plan.choice) == (18, Fraction(1, 10))
    table = Counts.of(Layout(columns=("a",), sizes=(2,)), [np.zeros(1, dtype=np.int64)])

    def heard(rho: str, n: int) -> tuple[int, Fraction]:
        found, rows = _rounds_within_noise(Gaussian(table, Fraction(rho), SeededEntropy(1)), n, plan, len(sizes))
        assert rows == (2.5 if found.choice > plan.choice else 5)
        return found.rounds, found.choice

    quiet = 18 / 0.6 / 0.9 / (8 * math.pi)
    assert heard(f"{1.01 * quiet:.4f}", 1000) == (18, Fraction(1, 10))
    assert heard("1", 1000) == (math.floor(8 * math.pi * 0.6 * 0.75), Fraction(1, 4)) == (11, Fraction(1, 4))
    assert heard("1", 10) == (6, Fraction(1, 4))
    assert heard("0.25", 2000) == heard("1", 1000)


# --- Its parts against slow ones


def worlds(seed: int) -> tuple[JunctionTree, list[np.ndarray], np.ndarray] | None:
    """A random junction tree, its shares, and the whole table."""
    generator = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in generator.integers(1, 4, 6))
    chosen = [tuple(sorted(generator.choice(6, int(generator.integers(1, 4)), replace=False).tolist())) for _ in range(4)]
    tree = JunctionTree.of(sizes, chosen)
    potentials = [generator.normal(0, 2, [sizes[c] for c in clique]) for clique in tree.cliques]
    if seed % 2:
        potentials[0] = np.where(generator.random(potentials[0].shape) < 0.3, -np.inf, potentials[0])
    total, beliefs = tree.calibrate(potentials)
    if not np.isfinite(total):
        return None
    whole = sum(spread(table, clique, tuple(range(6))) for table, clique in zip(potentials, tree.cliques, strict=True))
    return tree, [np.exp(belief) for belief in beliefs], np.exp(np.broadcast_to(whole, sizes) - total)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), together=st.sampled_from([1, 20, 2**20]), limit=st.integers(1, 60))
def test_pairs_are_those_of_the_whole_table(monkeypatch: pytest.MonkeyPatch, seed: int, together: int, limit: int) -> None:
    """However many columns are passed along the tree together; with a limit, at least the pairs within the limit."""
    monkeypatch.setattr(clique_tables, "_TOGETHER", together)
    if (world := worlds(seed)) is None:
        return
    tree, shares, whole = world
    pairs, cells = pair_shares(tree, shares)
    assert set(pairs) == set(combinations(range(6), 2))
    for pair, table in pairs.items():
        np.testing.assert_allclose(table, whole.sum(axis=tuple(c for c in range(6) if c not in pair)), atol=1e-12)
    if min(tree.sizes) > 1:
        few, few_cells = pair_shares(tree, shares, limit)
        assert {pair for pair in pairs if cells[pair] <= limit} <= set(few)
        assert [few_cells[pair] for pair in few] == [cells[pair] for pair in few]
        for pair, table in few.items():
            np.testing.assert_allclose(table, pairs[pair], atol=1e-12)  # rounding depends on the width of a product
        assert all(few_cells[pair] > limit for pair in set(pairs) - set(few))


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_pairs_that_are_apart_make_no_larger_clique_than_each_alone(seed: int) -> None:
    """Any number of pairs join one tree together, each apart from those before."""
    if (world := worlds(seed)) is None:
        return
    tree, shares, _ = world
    pairs, cells = pair_shares(tree, shares)
    left, joined, limit = list(pairs), list(tree.cliques), tree.largest
    while left:
        chosen = left[seed % len(left)]
        joined += [chosen, *joining_sets(tree, chosen)]
        limit = max(limit, cells[chosen])
        left = [pair for pair, apart in zip(left, are_apart(tree, chosen, np.array(left)), strict=True) if apart]
        assert not any({*chosen} & {*pair} for pair in left)
    assert JunctionTree.of(tree.sizes, joined).largest <= limit


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_joining_a_pair_makes_no_larger_clique_than_was_said(seed: int) -> None:
    if (world := worlds(seed)) is None:
        return
    tree, shares, _ = world
    pairs, cells = pair_shares(tree, shares)
    for pair in pairs:
        sets = joining_sets(tree, pair)
        joined = JunctionTree.of(tree.sizes, [*tree.cliques, pair, *sets])
        assert joined.largest <= max(tree.largest, cells[pair])
        assert cells[pair] == max((math.prod(tree.sizes[c] for c in columns) for columns in sets), default=1)


def targets_of(seed: int, sets: list[Columns], sizes: tuple[int, ...], deviation: float = 8.0) -> tuple[list[Target], int]:
    generator = np.random.default_rng(seed)
    whole = generator.multinomial(2000, generator.dirichlet(np.full(math.prod(sizes), 2.0))).reshape(sizes)
    found = []
    for columns in sets:
        exact = whole.sum(axis=tuple(c for c in range(len(sizes)) if c not in columns))
        variance = np.full(exact.shape, deviation**2) * generator.integers(1, 4, exact.shape)
        found.append(Target(columns=columns, values=exact + generator.normal(0, np.sqrt(variance)), variance=variance))
    return found, int(whole.sum())


@pytest.mark.parametrize("seed", range(5))
def test_consistent_tables_are_those_of_least_squares_over_all_tables(seed: int) -> None:
    """Counts are far above 0 here, so that no cell is left empty: the reference solves for the whole signed table."""
    sizes, sets = (2, 3, 2), [(0, 1), (1, 2), (0,), (0, 2)]
    targets, n = targets_of(seed, sets, sizes)
    found, _ = consistent(targets, [np.ones(t.values.shape, dtype=bool) for t in targets], sizes, n)
    cells = list(product(*map(range, sizes)))
    rows, values = [], []
    for target in targets:
        for place in product(*map(range, target.values.shape)):
            inside = [all(cell[c] == p for c, p in zip(target.columns, place, strict=True)) for cell in cells]
            rows.append(np.array(inside) / math.sqrt(target.variance[place]))
            values.append(target.values[place] / math.sqrt(target.variance[place]))
    rows.append(np.ones(len(cells)) * 1e4)
    values.append(n * 1e4)
    table = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0].reshape(sizes)
    for target, given_back in zip(targets, found, strict=True):
        axes = tuple(c for c in range(3) if c not in target.columns)
        np.testing.assert_allclose(given_back, table.sum(axis=axes), atol=0.05)


@pytest.mark.parametrize("sizes", [(3, 2, 6, 3, 4, 4, 3, 11), (2,) * 16, (40_000,), (200, 1, 200)])
def test_large_tables_are_summed_onto_any_of_their_axes(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(1)
    table = generator.random(sizes)
    for number in range(4):
        kept = [bool(each) for each in generator.integers(0, 2, len(sizes))] if number > 1 else [bool(number)] * len(sizes)
        found = summed_onto(table, kept)
        expected = table.sum(axis=tuple(axis for axis, keep in enumerate(kept) if not keep))
        assert found.shape == expected.shape
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [500, 5 * 10**7])
def test_proportional_fitting_meets_the_conditions_of_the_minimum(seed: int, n: int) -> None:
    """weight * log(p / base) + sum of n (n p - y) / variance is the same in every cell, whatever n is."""
    sizes, sets, weight = (2, 3, 2), [(0, 1), (1, 2), (0, 2)], 20.0
    targets, of = targets_of(seed, sets, sizes)
    targets = [Target(columns=t.columns, values=t.values * (n / of), variance=t.variance * (n / of)) for t in targets]
    tree = JunctionTree.of(sizes, sets)
    fit = ProportionalFit(tree, [np.zeros(sizes)], targets, n, weight)
    assert fit.solve(tolerances_of(targets, 0.02, 0.0), 100 if n > 10**6 else 2000)  # tables share what they know more slowly
    (law,) = fit.shares
    slopes, allowed = weight * np.log(law), 0.0
    for target in targets:
        excess = n * (n * law.sum(axis=tuple(c for c in range(3) if c not in target.columns)) - target.values)
        slopes = slopes + spread(excess / target.variance, target.columns, (0, 1, 2))
        allowed += 2 * n * float((0.05 / np.sqrt(target.variance)).max())  # a twentieth of the noise in each cell, up or down
    assert np.ptp(slopes) <= allowed


@pytest.mark.parametrize(
    ("family", "columns", "budget"),
    [(AdaptivePure, 65, Fraction(1, 10**5)), (Adaptive, 65, Fraction(1, 10**5)), (Adaptive, 200, Fraction(1, 10**5))],
)
def test_more_columns_than_an_array_has_axes_lose_no_budget(
    family: type[AdaptiveGenerator], columns: int, budget: Fraction
) -> None:
    """Few rows and a small budget: the bins of most columns, or of all, become one group. A table comes out all the same."""
    table = table_of(5, (2,) * columns, 300)
    model = fitted(family(tables="all 2-way"), table, budget, no_rules(table.layout), SeededEntropy(7))
    made = model.sample(300, SeededEntropy(8).generator())
    assert made.layout == table.layout
    assert made.total == 300
    assert max(len(clique) for clique in model.learned.fit.tree.cliques) <= 32


@pytest.mark.parametrize(("kind", "scale"), [(Laplace, 7 * 4.0), (Gaussian, (7**2 / (2 / 4)) ** 0.5)])
def test_a_sum_of_scores_has_the_noise_of_their_range_and_takes_its_part(kind: type[PrivateTables], scale: float) -> None:
    """Scores from -3 to 4: a replaced record moves the sum by at most 7 (l1), and 49 (squared l2)."""
    entropy = Recording()
    tables = kind(Counts(Layout(columns=("a",), sizes=(2,)), np.array([0, 1, 1])), Fraction(1), entropy)
    tables.total((0,), np.array([-3, 4]), Fraction(1, 4))
    assert [values.tolist() for values in entropy.values] == [[-3 + 2 * 4]]
    assert entropy.scales == pytest.approx([scale])
    assert tables.left == Fraction(3, 4)
