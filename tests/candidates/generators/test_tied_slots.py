"""What slots of members lend one another: which tables, what of them, and what a fit makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.candidates.generators.adaptive.rounds import RoundsPlan, learned
from synthrelease.candidates.generators.adaptive.tied_slots import Lending, TiedSlots
from synthrelease.candidates.generators.base import Background
from synthrelease.candidates.generators.consistent_tables import Target
from synthrelease.candidates.generators.junction_tree import Columns, JunctionTree
from synthrelease.candidates.generators.maximum_entropy import base_potentials
from synthrelease.candidates.generators.proportional_fitting import ProportionalFit, tolerances_of
from synthrelease.domain.counts import Counts
from synthrelease.domain.plausibility import Mask, Plausibility
from synthrelease.domain.schema import Layout
from synthrelease.linked import Linked

NAMES = ("region", "size", *(f"{name}_{place}" for place in (1, 2, 3, 4) for name in ("age", "work")))
SIZES = (2, 4, *((4, 4) * 4))
LINKED = Linked(
    key="home",
    size="size",
    names=("age", "work"),
    slots=tuple((f"age_{place}", f"work_{place}") for place in (1, 2, 3, 4)),
    whole=frozenset({"age"}),
    least=1,
)
SLOTS = TiedSlots.of(LINKED, NAMES)
RULES = Plausibility(layout=Layout(columns=NAMES, sizes=SIZES), masks=())
SECOND, THIRD, FOURTH = (4, 5), (6, 7), (8, 9)
"""The table of age and work of the second member, and so on."""


def lending(maps: Sequence[np.ndarray] | None = None, cells: int = 10**6, slots: TiedSlots = SLOTS) -> Lending:
    return Lending(slots, maps or [np.arange(size) for size in SIZES], cells)


def pairs_lent(*measured: Columns) -> list[tuple[Columns, Columns]]:
    return [(each.columns, each.source) for each in SLOTS.lent(measured)]


def odds(table: np.ndarray) -> np.ndarray:
    """Logarithms of the odds ratios of the cells where a member is there, against the first of them."""
    logs = np.log(table[:3])
    return np.asarray(logs - logs[:1] - logs[:, :1] + logs[0, 0])


def test_columns_are_grouped_by_what_slots_after_the_first_have_together() -> None:
    tables = [np.full(size, 10 * column) for column, size in enumerate(SIZES)]
    tables[6] = np.array([-5, 1, 2, 3])
    counts, variances = SLOTS.together(tables, [float(column) for column in range(len(SIZES))])
    together = [40 + 80, 41 + 80, 42 + 80, 43 + 80]  # columns 4, 6 and 8; nobody counts as less than nobody
    assert [counts[column].tolist() for column in (4, 6, 8)] == [together] * 3
    assert [variances[column] for column in (4, 6, 8)] == [4 + 6 + 8] * 3
    assert counts[2].tolist() == [20] * 4
    assert variances[:4] == [0, 1, 2, 3]


def test_without_members_nothing_is_lent_and_nothing_changes() -> None:
    slots = TiedSlots.of(None, NAMES)
    tables, variances = [np.arange(size) for size in SIZES], [1.0] * len(SIZES)
    counts, noise = slots.together(tables, variances)
    assert all(map(np.array_equal, counts, tables))
    assert noise == variances
    structure = [(column,) for column in range(len(SIZES))] + [SECOND]
    assert lending(slots=slots).tree(SIZES, structure, structure) == JunctionTree.of(SIZES, structure)


def test_the_last_slot_before_that_was_measured_lends() -> None:
    assert pairs_lent(SECOND) == [(THIRD, SECOND), (FOURTH, SECOND)]
    assert pairs_lent(THIRD, SECOND) == [(THIRD, SECOND), (FOURTH, THIRD)]
    assert pairs_lent((0, 5)) == [((0, 7), (0, 5)), ((0, 9), (0, 5))]  # region with the member's work
    assert pairs_lent((2, 7)) == [((2, 9), (2, 7))]  # the first member's age with the third one's work


@pytest.mark.parametrize("columns", [(0, 1), (0, 3), (2, 3), (2, 5), SECOND + (6,), (4, 7), FOURTH, (0, 9), (5,)])
def test_what_is_of_the_first_member_or_of_no_later_one_is_not_lent(columns: Columns) -> None:
    """Nor the first member with the second: who lives with whom is another matter for a third."""
    assert pairs_lent(columns) == []


def test_interactions_have_no_margins_and_do_not_know_the_absent() -> None:
    """What is added to a row or to a column makes no difference; what is left has mean 0 in each, by the shares."""
    generator = np.random.default_rng(1)
    shares, parameters = generator.dirichlet(np.ones(16)).reshape(4, 4), generator.normal(size=(4, 4))
    found = SLOTS.interaction(SECOND, parameters, shares)
    assert not found[-1].any()  # age has its last bin for those who are not there; work also for those it is missing for
    means = [(shares * found)[:3].sum(axis=axis) / shares[:3].sum(axis=axis) for axis in (0, 1)]
    assert np.abs(np.concatenate(means)).max() < 1e-4
    moved = parameters + generator.normal(size=(4, 1)) + generator.normal(size=(1, 4))
    assert np.allclose(SLOTS.interaction(SECOND, moved, shares), found, atol=1e-4)
    assert np.allclose(odds(np.exp(found)), odds(np.exp(parameters)))
    assert np.abs(SLOTS.interaction(SECOND, 100 * parameters, shares)).max() == 4


def test_a_later_slot_has_the_odds_of_the_one_before_and_its_own_margins() -> None:
    """The model of largest entropy with these margins, whose factors are those of the second slot, has its odds ratios."""
    second = np.array([[300, 100, 50, 50], [50, 200, 100, 50], [20, 60, 150, 70], [0, 0, 0, 800]]) + 1.0
    age, work = np.array([50, 150, 100, 1700]) + 1.0, np.array([80, 90, 100, 1734]) + 1.0
    scale = second.sum() / np.array([age.sum(), work.sum()])
    targets = [
        Target(columns=columns, values=values, variance=np.full(values.shape, 1e-3))
        for columns, values in ((SECOND, second), ((6,), age * scale[0]), ((7,), work * scale[1]))
    ]
    n, lends, structure = int(second.sum()), lending(), [*((column,) for column in range(len(SIZES))), SECOND]
    for _ in range(2):  # what is lent comes from the fit before
        tree = lends.tree(SIZES, structure, [target.columns for target in targets])
        base = base_potentials(tree, RULES, None)
        lends.add_to(base, tree)
        fit = ProportionalFit(tree, base, targets, n, 50.0)
        fit.solve(tolerances_of(targets, 0.2, 0.001), 500)
        lends.learn(fit)
    assert np.allclose(n * fit.table((6,)), age * scale[0], rtol=0.01)
    assert np.allclose(n * fit.table((7,)), work * scale[1], rtol=0.01)
    assert np.allclose(odds(fit.table(THIRD)), odds(second), atol=0.05)
    assert np.allclose(odds(fit.table(FOURTH)), odds(second), atol=0.05)  # which nothing was measured of


def test_what_a_slot_was_lent_and_its_own_deviation_are_lent_on() -> None:
    lends, own = lending(), {SECOND: np.ones((4, 4)), THIRD: np.full((4, 4), 2.0)}
    tree = lends.tree(SIZES, [(column,) for column in range(len(SIZES))], [SECOND, THIRD])
    lends._own = own
    base = [np.zeros([SIZES[column] for column in clique]) for clique in tree.cliques]
    lends.add_to(base, tree)
    assert {columns: float(base[tree.home(columns)].max()) for columns in (THIRD, FOURTH)} == {THIRD: 1, FOURTH: 3}


def test_nothing_is_lent_that_makes_a_clique_too_large_or_where_groups_differ() -> None:
    structure = [(column,) for column in range(len(SIZES))] + [SECOND, (6, 8)]
    tree = lending(cells=16).tree(SIZES, structure, [SECOND])
    assert tree.largest == 16
    assert any({6, 7} <= set(clique) for clique in tree.cliques)
    assert lending(cells=1).tree(SIZES, [(column,) for column in range(len(SIZES))], [SECOND]).largest == 4
    maps = [np.arange(size) for size in SIZES]
    maps[7] = np.array([0, 0, 1, 2])
    tree = lending(maps).tree(SIZES, structure, [SECOND])
    assert not any({6, 7} <= set(clique) for clique in tree.cliques)
    assert any({8, 9} <= set(clique) for clique in tree.cliques)


class _Exact:
    """Answers without noise, the table of the second member where there is a choice; then the budget is used up."""

    mean_error = 0.8

    def __init__(self, counts: Counts):
        self.left, self._counts = Fraction(1), counts

    def table(self, columns: Columns, part: Fraction) -> np.ndarray:
        self.left -= part
        return self._counts.marginal(columns)

    def choice(self, asked: Sequence[object], part: Fraction) -> int:
        self.left -= part
        return [getattr(each, "columns", None) for each in asked].index(SECOND)

    def merge(self, layout: Layout, maps: Sequence[np.ndarray]) -> None:
        self._counts = self._counts.merge(layout, maps)

    @classmethod
    def variance(cls, part: Fraction) -> float:
        return 1.0


def test_a_third_member_is_like_the_second_where_only_that_one_was_measured() -> None:
    """Work follows from age for every member; of the third nothing is measured but each column. Alone it stays independent."""
    generator, n = np.random.default_rng(2), 4000
    size = generator.choice(4, n, p=[0.2, 0.4, 0.3, 0.1])
    bins = [generator.integers(0, 2, n), size]
    for place in range(4):
        age = np.where(size >= place, generator.integers(0, 3, n), 3)
        bins += [age, np.where(size >= place, np.where(generator.random(n) < 0.8, age, generator.integers(0, 3, n)), 3)]
    counts = Counts.of(RULES.layout, bins)
    absent = [
        Mask(columns=(1, column), forbidden=(np.arange(4) >= place)[:, None] == (np.arange(4) == 3)[None, :])
        for place in range(4)
        for column in SLOTS.slots[place]
    ]
    plan = RoundsPlan(
        tables={SECOND: 1, (2, 4): 1},
        first=Fraction(1, 4),
        last=Fraction(0),
        choice=Fraction(1, 10),
        rounds=3,
        growth=0.0,
        cells=10**5,
        weight=1.0,
    )
    off = []
    for linked in (LINKED, None):
        background = Background(plausibility=Plausibility(layout=RULES.layout, masks=tuple(absent)), linked=linked)
        found = learned(_Exact(counts), RULES.layout, n, background, plan)  # type: ignore[arg-type]
        tree = found.fit.tree
        model = found.fit.table(THIRD) if any(set(THIRD) <= set(clique) for clique in tree.cliques) else None
        if model is None:
            model = np.outer(found.fit.table((6,)), found.fit.table((7,)))
        off.append(
            float(np.abs(model[:3, :3] / model[:3, :3].sum() - counts.marginal(THIRD)[:3, :3] / (size >= 2).sum()).sum() / 2)
        )
    assert off[0] < 0.06
    assert off[1] > 0.4
