"""What a draft costs: the cheapest plan that keeps enough, as fits to the public file show it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
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
from synthrelease.studio.baselines.base import independent_columns
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


def test_a_half_keeps_all_of_itself_and_independent_columns_keep_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure of a fit that gives back its rows is 1, and that of one whose columns are drawn one by one 0: not beside the
    rows that were fitted, but beside the others, as a slow count of these has it."""
    counts, random = table(12_000), np.random.default_rng(5)
    one = race(counts)
    raced = one.cheapest(Fraction(2), OTHERS)
    for kept, made in ((1.0, lambda rows: rows), (0.0, lambda rows: independent_columns(rows, random))):
        monkeypatch.setattr(one, "_drawn", lambda generator, charge, rows, background, number, made=made: made(rows))
        figure = one.figure(raced)
        assert figure is not None
        assert figure.every == pytest.approx(kept, abs=0.02)
        assert figure.strongest == pytest.approx(kept, abs=0.02)
        left, right = one._halves
        names = [pair.columns for pair in strongest_pairs(counts)]
        off = [_mean_distance(there, made(here), names) for here, there in ((left, right), (right, left))]
        assert figure.off == pytest.approx(np.mean(off), abs=0.002)
        strong = [pair for pair in strongest_pairs(counts) if pair.strong]
        assert figure.strong == len(strong)
        assert len(figure.lost) == (0 if kept else len(strong))


@pytest.mark.slow
def test_wider_bins_are_compared_in_the_narrower_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that gives back its rows in wider bins keeps less than all there, by a slow count of rows in narrower bins."""
    counts = table(6_000, columns=3, bins=6)
    places = np.array([0, 0, 1, 1, 2, 2])
    layout = replace(counts.layout, sizes=(3, 3, 3))
    wide = counts.merge(layout, [places] * 3)
    narrow = race(counts)
    one = PlanRace(
        wide, Plausibility(layout=layout, masks=()), strongest_pairs(wide), (), set(), Promise(), 1, (narrow, [places] * 3)
    )
    halves = [each.merge(layout, [places] * 3) for each in narrow._halves]
    for mine, theirs in zip(one._halves, halves, strict=True):
        assert same_rows(mine, theirs)
    monkeypatch.setattr(one, "_drawn", lambda generator, charge, rows, background, number: rows)
    kept = []
    for here, there in ((0, 1), (1, 0)):
        off = []
        for a, b in combinations(range(3), 2):
            true, spread = narrow._halves[there].marginal((a, b)) / narrow._halves[there].total, np.zeros((6, 6))
            rows, whole = one._halves[here].marginal((a, b)) / one._halves[here].total, [counts.marginal((c,)) for c in (a, b)]
            for i, j in product(range(6), range(6)):
                shares = [margin[k] / margin[places == places[k]].sum() for margin, k in zip(whole, (i, j), strict=True)]
                spread[i, j] = rows[places[i], places[j]] * shares[0] * shares[1]
            off.append(np.abs(true - spread).sum() / 2)
        kept.append(narrow._yardsticks[0].kept(float(np.mean(off))))
    assert one.keeps(Fraction(2), OTHERS) == pytest.approx(np.mean(kept), abs=1e-9)
    assert np.mean(kept) < 0.9 < (one.cheapest(Fraction(2), OTHERS).kept or 0)  # in its own bins it keeps nearly all


def same_rows(one: Counts, other: Counts) -> bool:
    return dict(zip(zip(*map(tuple, one.bins), strict=True), one.counts.tolist(), strict=True)) == dict(
        zip(zip(*map(tuple, other.bins), strict=True), other.counts.tolist(), strict=True)
    )


@pytest.mark.slow
def test_no_draft_is_beaten_by_another_that_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few rows in many bins: the draft is the one that keeps most at epsilon 2, and nobody pays more for less."""
    random = np.random.default_rng(3)
    factor = random.normal(size=(3_000, 2))
    made = {f"q{i}": np.digitize(factor[:, i % 2] + random.normal(0, 0.6, 3_000), np.linspace(-2, 2, 12)) for i in range(10)}
    pd.DataFrame({name: np.array(list("abcdefghijklm"))[each] for name, each in made.items()}).to_csv(
        tmp_path / "many.csv", index=False
    )
    tried: list[tuple[Fraction, float]] = []
    asked = PlanRace.keeps

    def keeps(self: PlanRace, total: Fraction, others: Fraction) -> float | None:
        tried.append((total, kept := asked(self, total, others)))  # type: ignore[arg-type]
        return kept

    monkeypatch.setattr(PlanRace, "keeps", keeps)
    configuration, _, found = write_draft("many", tmp_path / "many.csv", tmp_path, unit="row")
    limit = load_spec(configuration).limit
    assert limit is not None
    assert limit <= 2
    share = re.search(r"measured in the narrower bins it keeps (\d+)%", found.smaller)
    assert share is not None
    assert len(tried) > 1  # in wider bins, too
    assert int(share[1]) / 100 >= max(kept for total, kept in tried if total <= limit) - 0.05


def test_more_than_two_is_asked_about() -> None:
    one = race(table(250))
    raced = one.cheapest(Fraction(5), OTHERS, Fraction(3))
    kept = one.figure(raced)
    assert kept is not None
    words = plan_words(one, raced, kept, OTHERS, asks=True)
    assert re.search(r"QUESTION: is that worth an epsilon of 5\? At epsilon 2 fits keep \d+%\. `--epsilon 2` drafts it", words)
    assert "QUESTION" not in plan_words(one, raced, kept, OTHERS)


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
    counts = table(1_000, bins=4)
    wide = Counts.of(replace(counts.layout, sizes=(12, *counts.layout.sizes[1:])), _digits(counts))
    one = race(wide)
    raced = one.cheapest(Fraction(1), OTHERS)
    assert raced.kept is not None
    assert raced.kept < 0.8
    kept = one.figure(raced)
    assert kept is not None
    assert kept.share is not None
    words = plan_words(one, raced, kept, OTHERS)
    assert "costs at most epsilon 1, delta 1e-9" in words
    assert f"keeps {max(0, kept.share):.0%}" in words
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
    text = " ".join(configuration.read_text().replace("\n#", "").split())
    assert f"The plan costs at most epsilon {float(spec.limit):g}, delta {'0' if promise.pure else '1e-9'}. " in text
    assert spec.not_promised.kept in text  # the figure of the plan and of the card is that of `init`
    assert re.search(r"keeps \d+% of the pairwise associations .* would be, with a sample .* lost\.", spec.not_promised.kept)


@pytest.mark.slow
def test_a_generator_that_finds_its_own_tables_is_drafted_where_it_is_better(
    drafted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_race, "_BETTER", -10)
    monkeypatch.setattr(plan_race, "ENOUGH", 2.0)
    monkeypatch.setattr(plan_race, "PROMISED", 2.0)
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
