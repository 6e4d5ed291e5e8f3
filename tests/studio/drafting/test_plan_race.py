"""What a draft costs: the cheapest plan that keeps enough, as fits to the public file show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import InputError
from synthrelease.generators.measured_noise import DiscreteLaplace, RoundedGaussian
from synthrelease.privacy.curves import epsilon_of
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.draft import write_draft
from synthrelease.studio.rehearsal import plan_race
from synthrelease.studio.rehearsal.dependence import Purse, strongest_pairs
from synthrelease.studio.rehearsal.plan_race import DELTA, ENOUGH, PlanRace, Promise, Raced, plan_words, rounded_down

OTHERS = Fraction(3, 10)


def table(rows: int, columns: int = 6, bins: int = 5) -> Counts:
    """A chain of columns, each of which mostly repeats the one before."""
    random = np.random.default_rng(rows)
    digits = [random.integers(0, bins, rows)]
    for _ in range(columns - 1):
        digits.append(np.where(random.random(rows) < 0.8, digits[-1], random.integers(0, bins, rows)))
    layout = Layout(columns=tuple(f"c{place}" for place in range(columns)), sizes=(bins,) * columns)
    return Counts.of(layout, digits)


def race(counts: Counts, promise: Promise | None = None) -> PlanRace:
    rules = Plausibility(layout=counts.layout, masks=())
    return PlanRace(counts, rules, strongest_pairs(counts), (), set(), promise or Promise(), 1)


def frame(rows: int) -> pd.DataFrame:
    counts = table(rows)
    digits = np.repeat(np.stack(counts.bins, axis=1), counts.counts, axis=0)
    return pd.DataFrame(np.array(list("vwxyz"))[digits], columns=list(counts.layout.columns))


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("race")
    frame(20_000).to_csv(folder / "public.csv", index=False)

    def made(name: str, promise: Promise) -> Path:
        configuration, _, _ = write_draft(name, folder / "public.csv", folder, unit="row", promise=promise)
        return configuration

    return made


@pytest.mark.slow
def test_more_rows_take_less_epsilon() -> None:
    found = {rows: race(table(rows)).cheapest(Fraction(2), OTHERS) for rows in (250, 8_000, 60_000)}
    totals = [raced.total for raced in found.values()]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] == 2 > totals[-1]
    assert not found[250].good
    assert found[60_000].good
    assert (found[60_000].kept or 0) >= ENOUGH
    assert found[250].adaptive is not None
    assert found[60_000].adaptive is None  # it publishes no tables: it is tried where they do not do


@pytest.mark.slow
def test_nothing_cheaper_than_what_was_not_enough() -> None:
    counts = table(60_000)
    assert race(counts).cheapest(Fraction(2), OTHERS, Fraction(7, 5)).total == 2
    assert race(counts).cheapest(Fraction(2), OTHERS).total < Fraction(7, 5)


@pytest.mark.slow
def test_what_is_kept_is_1_for_another_sample_and_0_for_independent_columns() -> None:
    random, counts = np.random.default_rng(5), table(40_000)
    same = table(40_001)
    alone = Counts.of(counts.layout, [random.permutation(column) for column in _digits(counts)])
    for other, kept in ((same, 1.0), (alone, 0.0)):
        for yardstick in race(counts)._yardsticks:
            distance = _mean_distance(counts, other, [pair.columns for pair in yardstick.pairs])
            assert yardstick.kept(distance) == pytest.approx(kept, abs=0.02)


def _digits(counts: Counts) -> list[np.ndarray]:
    return [np.repeat(column, counts.counts) for column in counts.bins]


def _mean_distance(first: Counts, second: Counts, pairs: list[tuple[str, str]]) -> float:
    """Pair by pair, row by row."""
    tables = [pd.DataFrame(dict(zip(each.layout.columns, _digits(each), strict=True))) for each in (first, second)]
    found = []
    for a, b in pairs:
        shares = [each.groupby([a, b]).size() / len(each) for each in tables]
        found.append(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)
    return float(np.mean(found))


def test_budgets_of_tables_have_three_digits_and_are_never_above_what_is_left() -> None:
    for epsilon in (Fraction("0.37"), Fraction("1.2345"), Fraction(17)):
        gaussian, pure = Promise().purse(epsilon), Promise(pure=True).purse(epsilon)
        assert (gaussian.kind, pure.kind) == (RoundedGaussian, DiscreteLaplace)
        assert epsilon_of(gaussian.cost, DELTA) <= epsilon < epsilon_of(gaussian.cost * Fraction(102, 100), DELTA)
        assert pure.cost <= epsilon < pure.cost * Fraction(102, 100)
    assert [rounded_down(Fraction(text)) for text in ("0.0273049", "1.2399", "12")] == [
        Fraction("0.0273"),
        Fraction("1.23"),
        12,
    ]


@pytest.mark.slow
def test_the_words_say_what_is_kept_at_which_epsilon_more_would_be_and_which_columns_take_most() -> None:
    counts = table(700, bins=4)
    wide = Counts.of(replace(counts.layout, sizes=(12, *counts.layout.sizes[1:])), _digits(counts))
    one = race(wide)
    raced = one.cheapest(Fraction(1), OTHERS)
    assert raced.kept is not None
    assert raced.kept < 0.8
    words = plan_words(one, raced, OTHERS)
    assert "costs at most epsilon 1, delta 1e-9" in words
    assert f"keep {max(0, raced.kept):.0%}" in words
    reached = one.reached(raced, OTHERS)
    assert reached is not None
    assert f"80% would take an epsilon of about {float(reached):g}" in words
    tables = [(columns, wide.marginal(columns).size) for columns in raced.told.tables]
    most = sorted(range(6), key=lambda column: -sum(cells for columns, cells in tables if column in columns))[:3]
    assert ", ".join(f"c{column} ({wide.layout.sizes[column]} bins)" for column in most) in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "family"),
    [
        (Promise(), "gaussian_marginals"),
        (Promise(pure=True), "marginals"),
        (Promise(epsilon=Fraction(1)), "gaussian_marginals"),
        (Promise(epsilon=Fraction(3), pure=True), "marginals"),
    ],
    ids=str,
)
def test_a_draft_costs_what_it_says_and_gives_the_tables_all_that_is_left(
    drafted: Callable[..., Path], promise: Promise, family: str
) -> None:
    configuration = drafted(f"d{promise.pure:d}{promise.epsilon}", promise)
    spec = load_spec(configuration)
    assert [each.family for each in spec.space.generators] == [family]
    assert spec.plan.total.delta == (0 if promise.pure else DELTA)
    assert spec.limit is not None
    assert spec.limit <= (promise.epsilon or (5 if promise.pure else 2))
    assert spec.limit * Fraction(9, 10) < spec.plan.total.epsilon <= spec.limit
    assert spec.rounds is not None  # one round, whose price is that of its test
    assert spec.plan.total.parts[-2].epsilon == spec.joint_test.charge.epsilon  # type: ignore[union-attr]
    assert f"The plan costs at most epsilon {float(spec.limit):g}" in configuration.read_text()


@pytest.mark.slow
def test_a_generator_that_finds_its_own_tables_is_drafted_where_it_is_better(
    drafted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_race, "_BETTER", -10)
    monkeypatch.setattr(plan_race, "ENOUGH", 2.0)
    spec = load_spec(drafted("own", Promise(epsilon=Fraction(2))))
    assert [each.family for each in spec.space.generators] == ["adaptive"]
    assert not spec.publish_measurements
    assert Fraction(9, 5) < spec.plan.total.epsilon <= 2


def test_five_points_more_are_what_published_tables_are_worth() -> None:
    purse = Purse(kind=RoundedGaussian, cost=Fraction(1, 50))
    told = race(table(500, columns=2, bins=2)).cheapest(Fraction(1, 2), OTHERS).told
    raced = Raced(total=Fraction(2), purse=purse, told=told, kept=0.6, good=False, prior_weight=30)
    assert [replace(raced, adaptive=kept).family for kept in (None, 0.64, 0.66)] == [
        "gaussian_marginals",
        "gaussian_marginals",
        "adaptive",
    ]


def test_the_prior_weight_that_keeps_most_is_drafted() -> None:
    """Few rows at much noise: by other fits, too, the chosen weight keeps as much as the best, and more than the usual."""
    raced = race(table(700, columns=4, bins=3), Promise(pure=True))
    best = raced.cheapest(Fraction(5), OTHERS)
    purse = Purse(kind=DiscreteLaplace, cost=Fraction(1, 2))
    start = replace(best, purse=purse, kept=None, good=False, prior_weight=3_000)
    kept = {
        weight: np.mean([min(raced._kept(raced.generator(best.told, purse, weight), purse, number)) for number in range(3, 9)])
        for weight in (*plan_race.PRIOR_WEIGHTS, 3_000)
    }
    assert max(kept.values()) > kept[3_000] + 0.1
    found = raced._weighted(start)
    assert kept[found.prior_weight] >= max(kept.values()) - 0.03
    assert found.kept == raced._kept(raced.generator(best.told, purse, found.prior_weight), purse)[0]
    assert raced._weighted(found).prior_weight == found.prior_weight


@pytest.mark.parametrize("typed", ["0", "-1", "two", "nan", "0.49", "101", "1e9"])
def test_an_epsilon_that_is_none_is_told(typed: str) -> None:
    with pytest.raises(InputError, match=r"--epsilon: expected a number from 0\.5 to 100"):
        Promise.of(typed, pure=False)
